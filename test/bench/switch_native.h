// SPDX-License-Identifier: MIT
#ifndef NB_TEST_BENCH_SWITCH_NATIVE_H
#define NB_TEST_BENCH_SWITCH_NATIVE_H

/* What a function pointer is swapped to, natively. */
typedef int bench_native_fn(void *ctx);

/*
 * bench_native_fresh - a function whose code the calling thread has just
 * written into fresh pages; NULL: it cannot be had here. Never freed.
 */
bench_native_fn *bench_native_fresh(void);

#endif
