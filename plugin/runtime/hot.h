// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_HOT_H
#define NB_PLUGIN_RUNTIME_HOT_H

/* Attributes for functions that NCCL's threads call often. */

#include <stddef.h>
#include <string.h>

/*
 * A stack canary costs a nanosecond for each call, and these functions have no
 * arrays of variable size.
 */
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
 * Zero a structure of up to 192 bytes in two halves. For a single memset of
 * this size gcc emits `rep stos`, whose microcode is slower than the stores.
 */
NB_INLINE void nb_clear(void *p, size_t size)
{
	memset(p, 0, size / 2);
	memset((char *)p + size / 2, 0, size - size / 2);
}

#endif
