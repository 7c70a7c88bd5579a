// SPDX-License-Identifier: MIT
// Bodies of the ring buffer helpers: core/map/ringbuf.h with the kernel's
// error numbers. The verifier has seen to it that a record is submitted or
// discarded once, and that its size is what was reserved.
#include "core/exec/bodies.h"

#include "core/map/ringbuf.h"

uint64_t nb_body_ringbuf_output(struct nb_run *run, uint64_t r1, uint64_t r2,
				uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)run, (void)r5;
	return nb_body_errno(
		nb_ringbuf_output(nb_body_ptr(r1), nb_body_ptr(r2), r3, r4));
}

uint64_t nb_body_ringbuf_reserve(struct nb_run *run, uint64_t r1, uint64_t r2,
				 uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)run, (void)r4, (void)r5;
	if (r3)
		return 0;
	return (uintptr_t)nb_ringbuf_reserve(nb_body_ptr(r1), r2);
}

uint64_t nb_body_ringbuf_submit(struct nb_run *run, uint64_t r1, uint64_t r2,
				uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)run, (void)r3, (void)r4, (void)r5;
	nb_ringbuf_submit(nb_body_ptr(r1), r2);
	return 0;
}

uint64_t nb_body_ringbuf_discard(struct nb_run *run, uint64_t r1, uint64_t r2,
				 uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)run, (void)r3, (void)r4, (void)r5;
	nb_ringbuf_discard(nb_body_ptr(r1), r2);
	return 0;
}

uint64_t nb_body_ringbuf_query(struct nb_run *run, uint64_t r1, uint64_t r2,
			       uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)run, (void)r3, (void)r4, (void)r5;
	return nb_ringbuf_query(nb_body_ptr(r1), r2);
}
