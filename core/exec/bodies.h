// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_BODIES_H
#define NB_EXEC_BODIES_H

#include <stdint.h>

#include "core/exec/exec.h"

/*
 * Helper bodies with a file of their own; helpers.c puts them under the names
 * of their rows in core/tbl/helpers.h. Private to core/exec.
 */

/* ring.c */
nb_helper_fn nb_body_ringbuf_output, nb_body_ringbuf_reserve,
	nb_body_ringbuf_submit, nb_body_ringbuf_discard, nb_body_ringbuf_query;

/* dynptr.c */
nb_helper_fn nb_body_dynptr_from_mem, nb_body_ringbuf_reserve_dynptr,
	nb_body_ringbuf_submit_dynptr, nb_body_ringbuf_discard_dynptr,
	nb_body_dynptr_read, nb_body_dynptr_write, nb_body_dynptr_data;

/* spin.c */
nb_helper_fn nb_body_spin_lock, nb_body_spin_unlock;

/* costs.c */
nb_helper_fn nb_body_nccl_cost, nb_body_nccl_cheapest_proto,
	nb_body_nccl_cheapest_algo;

/* text.c */
nb_helper_fn nb_body_strtol, nb_body_strtoul, nb_body_snprintf;

/* Registers hold pointers as numbers, and error numbers sign-extended. */
static inline void *nb_body_ptr(uint64_t r)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return (void *)(uintptr_t)r;
}

static inline uint64_t nb_body_errno(int64_t rc)
{
	return (uint64_t)rc;
}

#endif
