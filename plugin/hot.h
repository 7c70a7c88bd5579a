// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_HOT_H
#define NB_PLUGIN_HOT_H

/* For the functions that NCCL's threads are in. */

/* Locals are structs of fixed size; a canary on each call costs a nanosecond */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define NB_HOT __attribute__((no_stack_protector))
#endif
#endif
#ifndef NB_HOT
#define NB_HOT
#endif

#define NB_INLINE static inline __attribute__((always_inline))

#endif
