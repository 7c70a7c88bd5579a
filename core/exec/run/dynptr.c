// SPDX-License-Identifier: MIT
/*
 * The helpers of ring buffers and dynptrs. The verifier has proved that a
 * record is submitted or discarded once, and that accesses stay within the
 * reserved size. A dynptr lies in a program's stack. The verifier
 * rejects programs that read or write it directly, so only these helpers
 * change it. Offsets and sizes are 32 bits wide. Errors and their order are
 * the kernel's (bpf_dynptr_* in kernel/bpf/helpers.c, bpf_ringbuf_*_dynptr
 * in kernel/bpf/ringbuf.c).
 */
#include "core/exec/run/bodies.h"

#include <errno.h>
#include <string.h>

#include "core/map/ringbuf.h"

uint64_t helper_ringbuf_output(NB_HELPER_ARGS)
{
	return nb_body_errno(
		nb_ringbuf_output(nb_body_ptr(r1), nb_body_ptr(r2), r3, r4));
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

/* A dynptr as the helpers see it; @data is NULL if it refers to nothing. */
struct dynptr {
	unsigned char *data;
	uint32_t size, unused;
};

_Static_assert(sizeof(struct dynptr) == 16, "as policies declare it");

/* The kernel's limit: the upper bits of a dynptr's size are flags. */
enum { MAX_SIZE = (1 << 24) - 1 };

static void put(struct dynptr *d, void *data, uint32_t size)
{
	d->data = data;
	d->size = size;
	d->unused = 0;
}

static int check_part(const struct dynptr *d, uint32_t off, uint32_t size)
{
	return size > d->size || off > d->size - size ? -E2BIG : 0;
}

uint64_t helper_dynptr_from_mem(NB_HELPER_ARGS)
{
	struct dynptr *d = nb_body_ptr(r4);
	uint32_t size = (uint32_t)r2;

	put(d, NULL, 0);
	if (size > MAX_SIZE)
		return nb_body_errno(-E2BIG);
	if (r3)
		return nb_body_errno(-EINVAL);
	put(d, nb_body_ptr(r1), size);
	return 0;
}

uint64_t helper_ringbuf_reserve_dynptr(NB_HELPER_ARGS)
{
	struct dynptr *d = nb_body_ptr(r4);
	uint32_t size = (uint32_t)r2;
	void *sample;

	put(d, NULL, 0);
	if (r3)
		return nb_body_errno(-EINVAL);
	if (size > MAX_SIZE)
		return nb_body_errno(-E2BIG);
	sample = nb_ringbuf_reserve(nb_body_ptr(r1), size);
	if (!sample)
		return nb_body_errno(-EINVAL);
	put(d, sample, size);
	return 0;
}

/* Release the record of a dynptr, if it has one. */
static uint64_t finish(struct dynptr *d, void (*how)(void *sample, uint64_t),
		       uint64_t flags)
{
	if (d->data)
		how(d->data, flags);
	put(d, NULL, 0);
	return 0;
}

uint64_t helper_ringbuf_submit_dynptr(NB_HELPER_ARGS)
{
	return finish(nb_body_ptr(r1), nb_ringbuf_submit, r2);
}

uint64_t helper_ringbuf_discard_dynptr(NB_HELPER_ARGS)
{
	return finish(nb_body_ptr(r1), nb_ringbuf_discard, r2);
}

/* Read from a dynptr. The verifier counts the memory at r1 as written, so
 * errors zero it. */
uint64_t helper_dynptr_read(NB_HELPER_ARGS)
{
	const struct dynptr *d = nb_body_ptr(r3);
	uint32_t size = (uint32_t)r2, off = (uint32_t)r4;
	void *to = nb_body_ptr(r1);
	int rc = !d->data || r5 ? -EINVAL : check_part(d, off, size);

	if (!size)
		return rc ? nb_body_errno(rc) : 0;
	if (rc) {
		memset(to, 0, size);
		return nb_body_errno(rc);
	}
	memmove(to, d->data + off, size);
	return 0;
}

uint64_t helper_dynptr_write(NB_HELPER_ARGS)
{
	const struct dynptr *d = nb_body_ptr(r1);
	uint32_t off = (uint32_t)r2, size = (uint32_t)r4;

	if (!d->data)
		return nb_body_errno(-EINVAL);
	if (check_part(d, off, size))
		return nb_body_errno(-E2BIG);
	if (r5)
		return nb_body_errno(-EINVAL);
	memmove(d->data + off, nb_body_ptr(r3), size);
	return 0;
}

uint64_t helper_dynptr_data(NB_HELPER_ARGS)
{
	const struct dynptr *d = nb_body_ptr(r1);
	uint32_t off = (uint32_t)r2, size = (uint32_t)r3;

	if (!d->data || check_part(d, off, size))
		return 0;
	return (uintptr_t)(d->data + off);
}
