// SPDX-License-Identifier: MIT
/*
 * The list of references that a state holds, and what happens to pointers
 * when a reference ends. feature/resources.c checks whether a program may
 * acquire or release one.
 */
#include "core/bpf/verify/access/refs.h"

#include <assert.h>
#include <string.h>

#include "core/bpf/verify/access/labels.h"

const struct nb_ref *nb_ref_find(const struct nb_state *st, uint32_t id)
{
	for (uint32_t i = 0; id && i < st->nrefs; i++)
		if (st->refs[i].id == id)
			return &st->refs[i];
	return NULL;
}

uint32_t nb_ref_take(struct nb_env *env, struct nb_state *st, uint32_t pc, enum nb_ref_kind kind)
{
	struct nb_ref *ref = &st->refs[st->nrefs];

	assert(st->nrefs < NB_MAX_REFS);
	memset(ref, 0, sizeof(*ref));
	ref->id = ++env->walk.ids;
	ref->pc = pc;
	ref->kind = (uint8_t)kind;
	ref->frame = (uint8_t)(st->nframes - 1);
	st->nrefs++;
	return ref->id;
}

void nb_ref_step(struct nb_state *st, uint32_t id)
{
	for (uint32_t i = 0; i < st->nrefs; i++)
		if (st->refs[i].id == id)
			st->refs[i].steps++;
}

void nb_ref_keep(struct nb_state *st)
{
	for (uint32_t i = 0; i < st->nrefs; i++)
		if (st->refs[i].frame >= st->nframes)
			st->refs[i].frame = (uint8_t)(st->nframes - 1);
}

void nb_ref_drop(struct nb_state *st, uint32_t id)
{
	const struct nb_ref *ref = nb_ref_find(st, id);
	uint32_t at;

	if (!ref)
		return;
	at = (uint32_t)(ref - st->refs);
	st->nrefs--;
	memmove(&st->refs[at], &st->refs[at + 1], (st->nrefs - at) * sizeof(*ref));
}

static bool lives_on(const struct nb_reg *r, uint32_t id)
{
	return nb_reg_is_pointer(r) && r->ref == id;
}

/* Return the number that a dangling pointer becomes: an address without
 * meaning, different in every process. */
static struct nb_reg dangling_number(struct nb_env *env, uint32_t pc)
{
	struct nb_reg r = nb_reg_scalar(nb_range_unknown());

	nb_label_begin(env, &r, pc);
	r.ref = pc + 1;
	return r;
}

static void end_cell(struct nb_frame *f, uint32_t c, const struct nb_reg *n)
{
	struct nb_cell *x = &f->cells[c], *high = &f->cells[c - 1];

	x->reg = *n;
	x->local = high->local = n->label == NB_LABEL_LOCAL ? 0xf : 0;
	x->from = high->from = n->from;
}

void nb_ref_end(struct nb_env *env, struct nb_state *st, uint32_t pc, uint32_t id)
{
	struct nb_reg n = dangling_number(env, pc);

	nb_ref_drop(st, id);
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];

		for (unsigned r = 0; r < NB_R10; r++)
			if (lives_on(&f->regs[r], id))
				f->regs[r] = n;
		for (uint32_t c = 0; c < f->ncells; c++)
			if (f->cells[c].kind == NB_CELL_SPILL8 && lives_on(&f->cells[c].reg, id))
				end_cell(f, c, &n);
	}
}
