// SPDX-License-Identifier: MIT
// One end of a connection between a kernel and a peer or NCCL's proxy: eight
// slots, a count of filled slots (tail) and a count of emptied slots (head).
// The sender writes tail, the receiver writes head. The rules are those of
// prims_simple.h of NCCL 2.28.9 for buffers that are not registered.
#include "test/fakes/vgpu/vgpu.h"

#include "test/fakes/vgpu/layout.h"

enum { BUF_SIMPLE = CONN_BUFS + 2 * sizeof(char *) };

bool vg_end_mapped(const struct vg_end *e)
{
	return vg_mem_mapped(e->conn, CONN_SIZE) && vg_mem_mapped(e->head, sizeof *e->head) &&
	       vg_mem_mapped(e->tail, sizeof *e->tail) &&
	       (!e->fifo || vg_mem_mapped(e->fifo, (size_t)FIFO_SIZE * NSLOT));
}

bool vg_end_open(struct vg_end *e, uint64_t chunk_steps)
{
	if (!vg_mem_mapped(e->conn, CONN_SIZE))
		return false;
	e->buf = ptr_at(e->conn, BUF_SIMPLE);
	e->fifo = ptr_at(e->conn, CONN_FIFO);
	e->tail = (void *)ptr_at(e->conn, CONN_TAIL);
	e->head = (void *)ptr_at(e->conn, CONN_HEAD);
	e->step_size = u32_at(e->conn, CONN_STEP_SIZE);
	e->step = u64_at(e->conn, CONN_STEP);
	e->step = (e->step + chunk_steps - 1) / chunk_steps * chunk_steps;
	if (!vg_end_mapped(e))
		return false;
	if (!e->send) // slots that rounding up has skipped are empty
		__atomic_store_n(e->head, e->step, __ATOMIC_RELEASE);
	return true;
}

// A sender's head begins at -NSLOT where NCCL's proxy lends the slots.
bool vg_end_ready(const struct vg_end *e)
{
	uint64_t upto = e->step + e->steps;

	if (e->send)
		return __atomic_load_n(e->head, __ATOMIC_ACQUIRE) + NSLOT >= upto;
	return __atomic_load_n(e->tail, __ATOMIC_ACQUIRE) >= upto;
}

static char *fifo_entry(const struct vg_end *e)
{
	return e->fifo + (size_t)FIFO_SIZE * (e->step % NSLOT);
}

char *vg_end_slot(const struct vg_end *e, size_t bytes)
{
	char *at = e->buf + e->step % NSLOT * e->step_size;

	if (e->fifo && int_at(fifo_entry(e), FIFO_MODE) == FIFO_MODE_OFFSET)
		at = e->buf + int_at(fifo_entry(e), FIFO_OFFSET);
	return vg_mem_mapped(at, bytes) ? at : NULL;
}

void vg_end_post(struct vg_end *e, size_t bytes)
{
	if (e->send && e->fifo)
		__atomic_store_n((int64_t *)(void *)(fifo_entry(e) + FIFO_BYTES), (int64_t)bytes,
				 __ATOMIC_RELEASE);
	e->step += e->steps;
	__atomic_store_n(e->send ? e->tail : e->head, e->step, __ATOMIC_RELEASE);
}

void vg_end_close(const struct vg_end *e)
{
	memcpy(e->conn + CONN_STEP, &e->step, sizeof e->step);
}
