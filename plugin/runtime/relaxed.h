// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_RELAXED_H
#define NB_PLUGIN_RUNTIME_RELAXED_H

/* Atomic loads and stores that order no other accesses. */
#define GET(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
#define SET(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELAXED)
/* Add to a number that only this thread writes. */
#define ADD(p, n) SET(p, (p) + (n))

#endif
