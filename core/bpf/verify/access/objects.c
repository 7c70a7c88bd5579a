// SPDX-License-Identifier: MIT
/*
 * Objects on the stack: cells that no load, store or memory argument may
 * touch. An object holds a reference and stays until a helper ends it.
 */
#include "core/bpf/verify/access/objects.h"

#include <string.h>

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/access/refs.h"

const struct nb_cell *nb_object_at(const struct nb_state *st, const struct nb_reg *r)
{
	const struct nb_frame *f;
	int64_t off = r->r.smin;
	uint32_t c;

	if (r->kind != NB_REG_STACK || !nb_range_is_const(&r->r) || off < -NB_STACK_SIZE ||
	    off >= 0 || off & 7)
		return NULL;
	f = &st->frames[r->frame];
	c = nb_cell_at(off);
	return c < f->ncells && f->cells[c].kind == NB_CELL_OBJECT ? &f->cells[c] : NULL;
}

/* Return the first cell of the object that holds cell @c. */
static uint32_t first_of(const struct nb_frame *f, uint32_t c)
{
	while (f->cells[c].kind == NB_CELL_OBJECT_HI)
		c++;
	return c;
}

const struct nb_cell *nb_object_in(const struct nb_frame *f, int64_t lo, int64_t hi)
{
	if (lo < -NB_STACK_SIZE)
		lo = -NB_STACK_SIZE;
	for (int64_t off = lo & ~3ll; off < hi && off < 0; off += 4) {
		uint32_t c = nb_cell_at(off);

		if (c < f->ncells && nb_cell_is_object(&f->cells[c]))
			return &f->cells[first_of(f, c)];
	}
	return NULL;
}

void nb_object_end(struct nb_env *env, struct nb_state *st, uint32_t pc, uint32_t frame, int64_t lo,
		   int64_t hi)
{
	struct nb_frame *f = &st->frames[frame];
	const struct nb_cell *first;

	while ((first = nb_object_in(f, lo, hi))) {
		uint32_t c = (uint32_t)(first - f->cells);
		uint32_t ref = first->reg.ref;

		do {
			nb_note_write(env, pc, frame, c);
			memset(&f->cells[c], 0, sizeof(f->cells[0]));
		} while (c-- && f->cells[c].kind == NB_CELL_OBJECT_HI);
		nb_ref_end(env, st, pc, ref);
	}
}
