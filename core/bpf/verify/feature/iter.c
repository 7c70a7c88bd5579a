// SPDX-License-Identifier: MIT
/*
 * Iterators over numbers. An iterator is an object on the stack; its first
 * cell (struct nb_cell) describes it. @reg.delta says whether the walk counts
 * the iterator's steps. If the walk does not count them, @reg.r holds the
 * numbers that next may still return. If it counts them, @reg.r is the last
 * number returned and @reg.id the end of the range.
 *
 * Termination is as in callback.c. Each step uses up one number of its
 * iterator, so a state after a step is pruned by an earlier state after a step
 * of the *same* iterator, although paths from that state are still open.
 * Comparisons include the iterator's identity (held_fits in subsume.c);
 * without it, a loop that creates a new iterator in each iteration would seem
 * to end.
 *
 * An iterator ends early if the run has no iterations left. The first short
 * iterators are exempt (budget.c): the walk counts only their steps, and only
 * their end is the same on all ranks. An iterator inside another loop's
 * iteration is not exempt, because it is created again and again.
 *
 * Coherence. An iterator is rank-local if its bounds are, or if it was created
 * or stepped under local control. A call through a rank-local pointer makes
 * each iterator rank-local that this call may reach on any path. Then the
 * results of next are rank-local, and so is the number behind every pointer
 * that next returned: all of them point into the object.
 */
#include "core/bpf/verify/feature/iter.h"

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/access/objects.h"
#include "core/bpf/verify/access/refs.h"
#include "core/bpf/verify/access/stack.h"
#include "core/bpf/verify/feature/resources.h"
#include "core/bpf/verify/state/budget.h"

enum { ITER_SIZE = 8, COUNTED = NB_MAX_COUNTED_RANGE };

/*
 * Values of an iterator's @reg.delta. OPEN: it may end early. ENDED: it has
 * no more numbers. EXACT: the walk counts its steps. SURE: it reaches its
 * end in every run.
 */
enum { OPEN, ENDED, EXACT, SURE };

bool nb_is_iter(const struct nb_insn *insn)
{
	enum nb_effect e = nb_insn_effect(insn);

	return e == NB_EFFECT_ITER_NEW || e == NB_EFFECT_ITER_NEXT || e == NB_EFFECT_ITER_END;
}

int nb_check_iter_place(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	struct nb_mem_access x = { .reg = (int8_t)number,
				   .kind = NB_REG_STACK,
				   .frame = r->frame,
				   .size = ITER_SIZE,
				   .off = r->r };
	int rc;

	if (r->kind != NB_REG_STACK || !nb_range_is_const(&x.off) || x.off.smin & 7)
		return refuse(a, NB_RULE_ITER_PLACE, .reg = number);
	rc = nb_check_frame(a, &x);
	if (rc)
		return rc;
	if (nb_object_in(&a->st->frames[x.frame], x.off.smin, nb_access_end(&x)))
		return refuse(a, NB_RULE_ITER_TAKEN, .reg = number);
	return nb_check_room(a);
}

int nb_check_iter(const struct at *a, int number)
{
	const struct nb_cell *c = nb_object_at(a->st, reg(a, number));

	if (c)
		return 0;
	return refuse(a, NB_RULE_ITER, .reg = number);
}

static const struct nb_cell *const_cell(const struct nb_state *st)
{
	return nb_object_at(st, &st->frames[st->nframes - 1].regs[1]);
}

/* Return the first cell of the iterator in r1, which is checked. */
static struct nb_cell *cell(struct nb_state *st)
{
	const struct nb_reg *r = &nb_top(st)->regs[1];

	return &st->frames[r->frame].cells[nb_cell_at(r->r.smin)];
}

static void make_local(struct nb_cell *c, uint32_t from)
{
	if (!c->local)
		c->from = from;
	c->local = 0xf;
}

static struct nb_reg labelled(struct nb_reg r, const struct nb_cell *c)
{
	if (c->local)
		nb_label_taint(&r, c->from);
	return r;
}

static struct nb_range int_of(const struct nb_reg *r)
{
	struct nb_range v = nb_range_zext(&r->r, 32);

	return nb_range_sext(&v, 32);
}

/* Return the first cell of the iterator; NULL if @r is no iterator, or one
 * of a frame that has ended. */
static const struct nb_cell *iter_object(const struct nb_state *st, const struct nb_ref *r)
{
	const struct nb_frame *f = &st->frames[r->object_frame];
	const struct nb_cell *c = &f->cells[r->object_cell];

	return r->kind == NB_REF_ITER && r->object_frame < st->nframes &&
			       r->object_cell < f->ncells && c->kind == NB_CELL_OBJECT &&
			       c->reg.ref == r->id
		       ? c
		       : NULL;
}

static const struct nb_cell *cell_of(const struct nb_state *st, uint32_t ref)
{
	const struct nb_ref *r = nb_ref_find(st, ref);

	return r ? iter_object(st, r) : NULL;
}

/* Is @r an iterator whose steps the walk does not count? */
static bool is_uncounted(const struct nb_state *st, const struct nb_ref *r)
{
	const struct nb_cell *c = iter_object(st, r);

	return c && (c->reg.delta == OPEN || c->reg.delta == SURE);
}

static bool in_a_loop(const struct nb_state *st)
{
	for (uint32_t i = 0; i < st->nframes; i++)
		if (st->frames[i].callback)
			return true;
	for (uint32_t i = 0; i < st->nrefs; i++)
		if (is_uncounted(st, &st->refs[i]))
			return true;
	return false;
}

/* Begin the iterator that r1 to r3 describe, and return r0. */
static struct nb_reg iter_begin(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	struct nb_reg *regs = nb_top(st)->regs, at = regs[1];
	struct nb_range start = int_of(&regs[2]), end = int_of(&regs[3]);
	bool sure = nb_budget_iterator(env, st, end.smax - start.smin, in_a_loop(st), pc);
	uint32_t ref = nb_ref_take(env, st, pc, NB_REF_ITER);
	struct nb_cell *c;

	st->refs[st->nrefs - 1].object_frame = at.frame;
	st->refs[st->nrefs - 1].object_cell = (uint8_t)nb_cell_at(at.r.smin);
	nb_stack_put_object(env, st, pc, &at, ITER_SIZE, ref);
	c = cell(st);
	for (int i = 1; i <= 3; i++)
		if (regs[i].label == NB_LABEL_LOCAL)
			make_local(c, regs[i].from);
	if (st->region.open)
		make_local(c, st->region.pc);
	/*
	 * This iterator may use up steps that other iterators need to reach
	 * their end.
	 */
	if (c->local)
		nb_budget_spend_locally(env, st, NB_BUDGET_ITERATIONS);
	if (start.smin >= end.smax) {
		c->reg.delta = ENDED;
	} else if (env->walk.how.mode != NB_WALK_WIDEN && nb_range_is_const(&start) &&
		   nb_range_is_const(&end) && sure) {
		c->reg.delta = EXACT;
		c->reg.r = nb_range_s(start.smin - 1, start.smin - 1);
		c->reg.id = (uint32_t)end.smin;
	} else {
		c->reg.delta = sure ? SURE : OPEN;
		c->reg.r = nb_range_s(start.smin, end.smax - 1);
	}
	nb_budget_loop(env, st, (uint64_t)(end.smax - start.smin));
	/* The result is 0, -E2BIG or -EINVAL. */
	return labelled(nb_reg_scalar(nb_range_s(-22, 0)), c);
}

void nb_iter_step(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_reg *r = &nb_top(st)->regs[1];
	struct nb_reg r0 = { .kind = NB_REG_UNINIT };

	/* On other ranks this call began or ended another iterator. */
	if (r->label == NB_LABEL_LOCAL)
		nb_stack_smear_paths(env, st, pc, r->from);
	if (nb_insn_effect(&env->program.insns[pc]) == NB_EFFECT_ITER_NEW)
		r0 = iter_begin(env, st, pc);
	else
		nb_object_end(env, st, pc, r->frame, r->r.smin, r->r.smin + ITER_SIZE);
	nb_clobber(st);
	nb_top(st)->regs[0] = r0;
}

uint32_t nb_iter_times(const struct nb_state *st)
{
	const struct nb_reg *regs = st->frames[st->nframes - 1].regs;
	struct nb_range start = int_of(&regs[2]), end = int_of(&regs[3]);
	int64_t n = end.smin - start.smin;

	return nb_range_is_const(&start) && nb_range_is_const(&end) && n > 0 && n <= COUNTED
		       ? (uint32_t)n
		       : 0;
}

bool nb_iter_is_open(const struct nb_state *st, const struct nb_ref *ref)
{
	const struct nb_cell *c = iter_object(st, ref);

	return c && c->reg.delta != ENDED;
}

bool nb_iter_is_kept(const struct nb_state *st, uint32_t ref, uint32_t *times)
{
	const struct nb_cell *c = cell_of(st, ref);
	int64_t n = c ? c->reg.r.smax - c->reg.r.smin + 1 : 0;

	if (!c || c->reg.delta == OPEN)
		return false;
	if (c->reg.delta == SURE && *times < n)
		*times = (uint32_t)n;
	return true;
}

uint32_t nb_iter_ref(const struct nb_state *st)
{
	return const_cell(st)->reg.ref;
}

uint32_t nb_iter_begun_at(const struct nb_state *st)
{
	return nb_ref_find(st, nb_iter_ref(st))->pc;
}

static bool at_last(const struct nb_cell *c)
{
	return c->reg.r.smax + 1 >= (int32_t)c->reg.id;
}

bool nb_iter_may_go_on(const struct nb_state *st)
{
	const struct nb_cell *c = const_cell(st);

	return c->reg.delta == OPEN || c->reg.delta == SURE ||
	       (c->reg.delta == EXACT && !at_last(c));
}

bool nb_iter_may_end(const struct nb_state *st)
{
	const struct nb_cell *c = const_cell(st);

	return c->reg.delta != EXACT || at_last(c);
}

void nb_iter_next(struct nb_env *env, struct nb_state *st, uint32_t pc, bool more)
{
	const struct nb_reg at = nb_top(st)->regs[1];
	uint32_t low = nb_cell_at(at.r.smin);
	struct nb_reg r0 = nb_reg_scalar(nb_range_const(0));
	struct nb_cell *c = cell(st);

	nb_note_write(env, pc, at.frame, low);
	nb_note_write(env, pc, at.frame, low - 1);
	/* On other ranks this step took a number of another iterator. */
	if (at.label == NB_LABEL_LOCAL)
		nb_stack_smear_paths(env, st, pc, at.from);
	if (st->region.open)
		make_local(c, st->region.pc);
	if (nb_budget_is_short(env, st) && c->reg.delta == OPEN)
		make_local(c, pc);
	if (c->local)
		nb_budget_spend_locally(env, st, NB_BUDGET_ITERATIONS);
	if (!more) {
		c->reg.delta = ENDED;
		c->reg.r = nb_range_const(0);
		c->reg.id = 0;
	} else {
		if (c->reg.delta == EXACT)
			c->reg.r = nb_range_s(c->reg.r.smin + 1, c->reg.r.smin + 1);
		r0 = nb_reg_pointer(NB_REG_RDONLY);
		r0.size = 4;
		r0.ref = c->reg.ref;
		nb_ref_step(st, c->reg.ref);
	}
	nb_clobber(st);
	nb_top(st)->regs[0] = labelled(r0, c);
}

struct nb_reg nb_iter_load(const struct nb_state *st, uint32_t ref, const struct nb_mem_access *x)
{
	struct nb_reg v = nb_reg_unknown((unsigned)x->size * 8);
	const struct nb_cell *c = cell_of(st, ref);

	if (!c)
		return v;
	if (x->size == 4 && nb_range_is_const(&x->off) && !x->off.smin && c->reg.delta != ENDED)
		v.r = nb_range_zext(&c->reg.r, 32);
	return labelled(v, c);
}
