// SPDX-License-Identifier: MIT
/*
 * The helpers of ring buffers. The verifier has proved that a record is
 * submitted or discarded once, and that accesses stay within the reserved
 * size.
 */
#include "core/bpf/exec/run/bodies.h"

#include "core/bpf/map/ringbuf.h"

uint64_t helper_ringbuf_output(NB_HELPER_ARGS)
{
	return nb_body_errno(nb_ringbuf_output(nb_body_ptr(r1), nb_body_ptr(r2), r3, r4));
}

uint64_t helper_ringbuf_reserve(NB_HELPER_ARGS)
{
	if (r3)
		return 0;
	return (uintptr_t)nb_ringbuf_reserve(nb_body_ptr(r1), r2);
}

uint64_t helper_ringbuf_submit(NB_HELPER_ARGS)
{
	nb_ringbuf_submit(nb_body_ptr(r1), r2);
	return 0;
}

uint64_t helper_ringbuf_discard(NB_HELPER_ARGS)
{
	nb_ringbuf_discard(nb_body_ptr(r1), r2);
	return 0;
}

uint64_t helper_ringbuf_query(NB_HELPER_ARGS)
{
	return nb_ringbuf_query(nb_body_ptr(r1), r2);
}
