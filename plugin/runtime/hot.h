// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_HOT_H
#define NB_PLUGIN_RUNTIME_HOT_H

/* For the functions that NCCL's threads are in. */

#include <stddef.h>
#include <string.h>

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

/*
 * All zero, for structs of up to 192 bytes. In two: gcc makes `rep stos` of one
 * memset of their length, whose microcode takes longer than all their stores.
 */
NB_INLINE void nb_clear(void *p, size_t size)
{
	memset(p, 0, size / 2);
	memset((char *)p + size / 2, 0, size - size / 2);
}

#endif
