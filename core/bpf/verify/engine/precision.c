// SPDX-License-Identifier: MIT
/*
 * Precision: find which scalars of an explored state mattered. A later state
 * has to be included in the explored state in precise scalars only.
 *
 * Each known scalar of an explored state has a slot. Each value computed later
 * on the path lists in nb_reg.deps the slots that its range (or link) came
 * from. A conclusion from a value makes its slots precise, and also the slots
 * of earlier states that they came from, back to the start. Nothing is walked
 * backwards: dependencies travel with a value through moves, arithmetic,
 * spills, calls, refinement by jumps, and links.
 *
 * The walk draws a conclusion when it would do something else for an unknown
 * number: at a jump with one possible outcome, an offset added to a pointer,
 * an argument of a helper, a divisor that is not 0, stack bytes known to be 0,
 * two linked numbers whose difference is 0, and the constant that all exits
 * return. Pointers have no slots: a number added to a pointer is precise at
 * once, and so is a value that could change a label.
 *
 * Soundness. Let all paths from explored state S have ended. Let T be a later
 * state at the same slot, included in S except for scalars that are not
 * precise. Compare any run from T with the walk from S. A value with precise
 * slots alone lies in its range, because that range was computed from ranges
 * that hold. Only such values decided checks and jumps; a value with another
 * slot may be any number, and nothing was concluded from it. So the run
 * follows a walked path, to an exit or to a state that an older explored state
 * U pruned. That pruning was a conclusion from all values that are precise in
 * U, and marked them. An explored state with open paths (a may_goto loop)
 * prunes only states that are included in it as a whole. Then the whole state
 * is marked, because it is not known yet which values will matter.
 *
 * Explored states that were dropped are taken out of the chain (splice in
 * explored.c): nb_marks_skip then replaces two steps back by one.
 *
 * Stack cells that were overwritten before anything read them are exempt too.
 * Cells that hold other kinds always count as read.
 */
#include "core/bpf/verify/engine/precision.h"

#include <string.h>

#include "core/bpf/verify/flow/cfg.h"
#include "core/bpf/verify/state/operands.h"

enum { BYTES_A_UNIT = 8 };

void nb_marks_skip(struct nb_marks *m, const struct nb_marks *up)
{
	for (uint32_t i = 0; i < m->nslots; i++) {
		uint64_t from = 0;

		for (uint64_t d = m->deps[i]; d; d &= d - 1)
			from |= up->deps[nb_slot_lowest(d)];
		m->deps[i] = from;
	}
	for (uint32_t f = 0; f < m->nframes && f < up->nframes; f++)
		for (unsigned i = 0; i < NB_CELL_WORDS; i++)
			m->written[f].at[i] |= up->written[f].at[i];
	m->up = up->up;
}

void nb_mark_cells(struct nb_env *env, const struct nb_state *st, uint32_t frame,
		   struct nb_cells cells)
{
	const struct nb_cells *written = &st->frames[frame].written;
	struct nb_marks *m = env->walk.marks;

	/* All cells of a frame entered later count as overwritten. */
	while (m) {
		uint64_t any = 0;

		for (unsigned i = 0; i < NB_CELL_WORDS; i++)
			any |= cells.at[i] &= ~written->at[i];
		if (!any || frame >= m->nframes)
			return;
		any = 0;
		for (unsigned i = 0; i < NB_CELL_WORDS; i++) {
			any |= cells.at[i] &= ~m->read[frame].at[i];
			m->read[frame].at[i] |= cells.at[i];
		}
		if (!any)
			return;
		written = &m->written[frame];
		m = m->up;
	}
}

void nb_mark_read(struct nb_env *env, const struct nb_state *st, uint32_t frame, int64_t lo,
		  int64_t hi)
{
	struct nb_cells cells = { { 0 } };

	lo = lo < -NB_STACK_SIZE ? -NB_STACK_SIZE : lo;
	hi = hi > 0 ? 0 : hi;
	for (int64_t off = lo; off < hi; off = (off | 3) + 1)
		nb_cells_add(&cells, nb_cell_at(off));
	nb_mark_cells(env, st, frame, cells);
}

void nb_mark_all(struct nb_env *env, const struct nb_state *st)
{
	nb_mark(env, UINT64_MAX);
	for (uint32_t i = 0; i < st->nframes; i++)
		nb_mark_read(env, st, i, -NB_STACK_SIZE, 0);
}

static bool holds_number(const struct nb_cell *c)
{
	return c->kind == NB_CELL_SPILL4 || c->kind == NB_CELL_SPILL8 || nb_cell_narrow(c);
}

/* Is anything known about the value? */
static bool says_something(const struct nb_reg *r)
{
	return r->kind == NB_REG_SCALAR && (r->id || !nb_range_is_unknown(&r->r));
}

static uint32_t count_slots(const struct nb_state *st)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < st->nframes; i++) {
		const struct nb_frame *f = &st->frames[i];

		for (unsigned r = 0; r < NB_R10; r++)
			n += f->regs[r].kind == NB_REG_SCALAR;
		for (uint32_t c = 0; c < f->ncells; c++)
			n += holds_number(&f->cells[c]);
	}
	return n < NB_MAX_SLOTS ? n : NB_MAX_SLOTS;
}

size_t nb_marks_size(const struct nb_state *st)
{
	return count_slots(st) * sizeof(uint64_t) + 2 * st->nframes * sizeof(struct nb_cells);
}

static void give_slot(struct nb_env *env, struct nb_marks *m, uint32_t room, struct nb_reg *r)
{
	uint64_t deps = r->deps;

	r->deps = 0;
	if (!says_something(r))
		return;
	if (m->nslots == room) {
		/* A scalar beyond the last slot is always compared, so its
		 * sources are precise now. */
		nb_mark(env, deps);
		return;
	}
	m->deps[m->nslots] = deps;
	r->deps = (uint64_t)1 << m->nslots++;
}

void nb_marks_begin(struct nb_env *env, struct nb_marks *m, struct nb_state *st, void *mem)
{
	uint32_t room = count_slots(st);

	m->up = env->walk.marks;
	m->precise = 0;
	m->nslots = 0;
	m->nframes = st->nframes;
	m->deps = mem;
	m->read = (struct nb_cells *)(m->deps + room);
	m->written = m->read + st->nframes;
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];

		m->written[i] = f->written;
		memset(&m->read[i], 0, sizeof(m->read[i]));
		memset(&f->written, 0, sizeof(f->written));
		for (unsigned r = 0; r < NB_R10; r++)
			give_slot(env, m, room, &f->regs[r]);
		for (uint32_t c = 0; c < f->ncells; c++)
			if (holds_number(&f->cells[c]))
				give_slot(env, m, room, &f->cells[c].reg);
			else
				f->cells[c].reg.deps = 0;
	}
	env->walk.marks = m;
}

/* Charge the work of reading @size stack bytes, which the walk reads one by
 * one. */
static void charge(struct nb_env *env, int64_t size)
{
	env->walk.work += size > 0 ? (uint64_t)size / BYTES_A_UNIT : 0;
}

static void mark_reg(struct nb_env *env, const struct nb_reg *r)
{
	if (r->deps)
		nb_mark(env, r->deps);
}

/* Mark the stack bytes that the call may read through argument @arg. */
static void mark_memory(struct nb_env *env, const struct nb_state *st,
			const struct nb_helper_spec *h, unsigned arg)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[arg + 1];
	enum nb_arg kind = h ? h->arg[arg] : NB_ARG_NONE;
	bool writes = nb_arg_writes(kind);
	int64_t hi = 0;

	if (r->kind != NB_REG_STACK || kind == NB_ARG_CALLBACK_CTX)
		return; /* The callback's own loads mark these bytes. */
	if (writes || nb_arg_reads(kind)) {
		hi = (int64_t)nb_helper_extent(&env->program, st, h, arg).max;
		/* The call reads no byte, so the offset was not checked. */
		if (!hi)
			return;
	}
	if (writes) {
		charge(env, 4 * hi);
		return;
	}
	if (hi)
		hi += r->r.smax;
	charge(env, hi - r->r.smin);
	nb_mark_read(env, st, r->frame, r->r.smin, hi);
}

static void mark_call(struct nb_env *env, const struct nb_state *st, const struct nb_insn *insn)
{
	const struct nb_helper_spec *h = nb_spec_helper((int32_t)insn->imm);
	const struct nb_frame *f = &st->frames[st->nframes - 1];

	for (unsigned i = 0; i < 5; i++) {
		mark_reg(env, &f->regs[i + 1]);
		mark_memory(env, st, h, i);
	}
}

static void mark_alu(struct nb_env *env, const struct nb_frame *f, const struct nb_insn *insn)
{
	const struct nb_reg *a = &f->regs[insn->dst], *b = &f->regs[insn->src];

	if (insn->operand != NB_OPND_REG || nb_insn_copies(insn))
		return;
	/* Mark the numbers added to a pointer, and linked numbers that
	 * cancel out. */
	if (nb_reg_is_pointer(a) || nb_reg_is_pointer(b) ||
	    (insn->src != insn->dst && a->id && a->id == b->id)) {
		mark_reg(env, a);
		mark_reg(env, b);
	}
	/* Mark a divisor: the machine code may omit the test for 0. */
	if (insn->traits & NB_INSN_DIVIDE)
		mark_reg(env, b);
}

static void mark_load(struct nb_env *env, const struct nb_state *st, const struct nb_mem_access *x)
{
	if (x->kind != NB_REG_STACK)
		return;
	charge(env, x->off.smax - x->off.smin);
	nb_mark_read(env, st, x->frame, x->off.smin, nb_access_end(x));
}

static void mark_store(struct nb_env *env, const struct nb_frame *f, const struct nb_mem_access *x)
{
	/* The stack cell may record which of the stored bytes are 0. */
	if (x->value >= 0 && (x->size < 4 || !nb_range_is_const(&x->off)))
		mark_reg(env, &f->regs[x->value]);
	if (x->kind == NB_REG_STACK)
		charge(env, 4 * (x->off.smax - x->off.smin));
}

void nb_mark_uses(struct nb_env *env, const struct nb_state *st, uint32_t pc,
		  const struct nb_mem_access *x)
{
	const struct nb_frame *f = &st->frames[st->nframes - 1];
	const struct nb_insn *insn = &env->program.insns[pc];

	switch (insn->kind) {
	case NB_KIND_ALU:
		mark_alu(env, f, insn);
		break;
	case NB_KIND_LOAD:
	case NB_KIND_ATOMIC:
		mark_load(env, st, x);
		break;
	case NB_KIND_STORE:
		mark_store(env, f, x);
		break;
	case NB_KIND_CALL:
		if (!nb_insn_calls_func(insn))
			mark_call(env, st, insn);
		break;
	case NB_KIND_EXIT:
		/* r0 of a callback decides whether there is one more
		 * iteration. */
		if (f->callback)
			mark_reg(env, &f->regs[0]);
		break;
	}
}
