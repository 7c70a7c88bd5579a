// SPDX-License-Identifier: MIT
/* Abstract states: constructors and visitors of the values in them. */
#include "core/bpf/verify/state/state.h"

struct nb_reg nb_reg_scalar(struct nb_range r)
{
	struct nb_reg reg;

	memset(&reg, 0, sizeof(reg));
	reg.kind = NB_REG_SCALAR;
	reg.r = r;
	return reg;
}

struct nb_reg nb_reg_unknown(unsigned bits)
{
	struct nb_range any = nb_range_unknown();

	return nb_reg_scalar(nb_range_zext(&any, bits));
}

struct nb_reg nb_reg_pointer(enum nb_reg_kind kind)
{
	struct nb_reg reg;

	memset(&reg, 0, sizeof(reg));
	reg.kind = (uint8_t)kind;
	reg.r = nb_range_const(0);
	return reg;
}

bool nb_reg_is_pointer(const struct nb_reg *r)
{
	return r->kind != NB_REG_UNINIT && r->kind != NB_REG_SCALAR;
}

bool nb_reg_is_const(const struct nb_reg *r)
{
	return r->kind == NB_REG_SCALAR && nb_range_is_const(&r->r);
}

bool nb_reg_is_zero(const struct nb_reg *r)
{
	return nb_reg_is_const(r) && !r->r.t.value;
}

struct nb_frame *nb_frame_next(struct nb_state *st, uint32_t ret)
{
	struct nb_frame *f = &st->frames[st->nframes];

	f->ret = ret;
	f->ncells = 0;
	f->callback = f->counted = false;
	f->loop = f->invocations = 0;
	memset(&f->written, 0xff, sizeof(f->written));
	memset(f->regs, 0, sizeof(f->regs));
	f->regs[NB_R10] = nb_reg_pointer(NB_REG_STACK);
	f->regs[NB_R10].frame = (uint8_t)st->nframes;
	return f;
}

bool nb_cell_of_pointer(const struct nb_frame *f, uint32_t c)
{
	c += c < f->ncells && f->cells[c].kind == NB_CELL_SPILL8_HI;
	return c < f->ncells && f->cells[c].kind == NB_CELL_SPILL8 &&
	       nb_reg_is_pointer(&f->cells[c].reg);
}

void nb_frame_extend(struct nb_frame *f, uint32_t cell)
{
	if (cell < f->ncells)
		return;
	memset(&f->cells[f->ncells], 0, (cell + 1 - f->ncells) * sizeof(f->cells[0]));
	f->ncells = cell + 1;
}

void nb_state_each(struct nb_state *st, nb_reg_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];

		for (unsigned r = 0; r < NB_R10; r++)
			if (f->regs[r].kind != NB_REG_UNINIT)
				fn(arg, &f->regs[r]);
		for (uint32_t c = 0; c < f->ncells; c++)
			if (f->cells[c].kind == NB_CELL_SPILL4 ||
			    f->cells[c].kind == NB_CELL_SPILL8 || nb_cell_narrow(&f->cells[c]))
				fn(arg, &f->cells[c].reg);
	}
}
