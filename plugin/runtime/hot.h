// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_HOT_H
#define NB_PLUGIN_RUNTIME_HOT_H

/* For functions on the paths of NCCL's threads. */

#include <stddef.h>
#include <string.h>

/* A stack canary costs a nanosecond a call, and these functions have no arrays
 * of variable size. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define NB_HOT __attribute__((no_stack_protector))
#endif
#endif
#ifndef NB_HOT
#define NB_HOT
#endif

#define NB_INLINE static inline __attribute__((always_inline))

/*
 * Zero a struct of up to 192 bytes, in two halves: gcc turns one memset of that
 * length into `rep stos`, whose microcode is slower than the stores.
 */
NB_INLINE void nb_clear(void *p, size_t size)
{
	memset(p, 0, size / 2);
	memset((char *)p + size / 2, 0, size - size / 2);
}

#endif
