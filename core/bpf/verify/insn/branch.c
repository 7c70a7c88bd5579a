// SPDX-License-Identifier: MIT
/* Refine the values that a conditional jump compares. */
#include "core/bpf/verify/insn/branch.h"

#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/access/refs.h"
#include "core/bpf/verify/insn/operand.h"
#include "core/bpf/verify/state/budget.h"

struct linked {
	const struct nb_reg *to;
	bool impossible;
};

static void refine_linked(void *arg, struct nb_reg *r)
{
	struct linked *l = arg;
	struct nb_range was, v;

	if (r == l->to || r->kind != NB_REG_SCALAR || r->id != l->to->id)
		return;
	v = nb_range_plus(&l->to->r, (int64_t)r->delta - l->to->delta);
	was = r->r;
	if (!nb_range_meet(&r->r, &r->r, &v))
		l->impossible = true;
	else if (!nb_range_equal(&was, &r->r))
		r->deps |= l->to->deps;
}

/* Refine all scalars of @st that are linked to *@r; returns false for a
 * contradiction. */
static bool spread(struct nb_state *st, const struct nb_reg *r)
{
	struct linked l = { r, false };

	if (r->kind == NB_REG_SCALAR && r->id)
		nb_state_each(st, refine_linked, &l);
	return !l.impossible;
}

struct null_test {
	const struct nb_env *env;
	uint32_t id;
	bool null;
};

static bool may_be_null(const struct nb_reg *r)
{
	return r->kind == NB_REG_VALUE_OR_NULL || r->kind == NB_REG_MEM_OR_NULL;
}

static void branch_settle(void *arg, struct nb_reg *r)
{
	const struct null_test *t = arg;
	struct nb_reg zero;

	if (!may_be_null(r) || r->id != t->id)
		return;
	if (t->null) {
		zero = nb_reg_scalar(nb_range_const(0));
		nb_label_follow(&zero, r);
		*r = zero;
	} else if (r->kind == NB_REG_MEM_OR_NULL) {
		r->kind = NB_REG_MEM;
		r->id = 0;
	} else {
		r->kind = NB_REG_VALUE;
		r->id = 0;
	}
}

/*
 * Is @r certainly not NULL? A pointer into its memory, or to the end of it, is
 * not. A pointer that was moved out of its memory may have any value, including
 * NULL: the host decides where the memory lies.
 */
static bool is_not_null(const struct nb_program *program, const struct nb_reg *r)
{
	int64_t lo = 0, hi = 0;

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_UNINIT:
	case NB_REG_SCALAR:
	case NB_REG_VALUE_OR_NULL:
	case NB_REG_MEM_OR_NULL:
		return false;
	case NB_REG_MAP:
	/* A code address is the number of its slot, and nothing takes the
	 * address of the program itself, at slot 0. */
	case NB_REG_FUNC:
		return true;
	case NB_REG_CTX:
		hi = program->hook->ctx_size;
		break;
	case NB_REG_STACK:
		lo = -NB_STACK_SIZE;
		break;
	case NB_REG_VALUE:
		hi = program->img->maps[r->map].value_size;
		break;
	case NB_REG_MEM:
	case NB_REG_RDONLY:
		hi = r->size;
		break;
	}
	return r->r.smin >= lo && r->r.smax <= hi;
}

/*
 * Two pointers are equal and one of them is not NULL, so the other is not NULL
 * either. Pointers of a kind that may be NULL are never moved.
 */
static void branch_equal(const struct nb_env *env, struct nb_state *st, const struct nb_reg *a,
			 const struct nb_reg *b)
{
	const struct nb_reg *ptr = may_be_null(a) ? a : b;
	const struct nb_reg *other = ptr == a ? b : a;
	struct null_test t = { env, ptr->id, false };

	if (may_be_null(ptr) && is_not_null(&env->program, other))
		nb_state_each(st, branch_settle, &t);
}

/* Does the jump test whether two whole registers are equal? */
static bool is_equality(const struct nb_insn *insn)
{
	return insn->width == 64 && (insn->fn == NB_FN_JEQ || insn->fn == NB_FN_JNE);
}

/* Refine a pointer compared with 0, or with a pointer that is not NULL. */
static bool branch_pointer(const struct nb_env *env, struct nb_state *st,
			   const struct nb_insn *insn, bool taken, const struct nb_reg *a,
			   const struct nb_reg *b)
{
	const struct nb_reg *ptr = nb_reg_is_pointer(a) ? a : b;
	const struct nb_reg *num = ptr == a ? b : a;
	struct null_test t = { env, ptr->id, (insn->fn == NB_FN_JEQ) == taken };

	if (!is_equality(insn))
		return true;
	if (nb_reg_is_pointer(num) && t.null)
		branch_equal(env, st, a, b);
	if (!nb_reg_is_zero(num))
		return true;
	if (!may_be_null(ptr))
		return !t.null || !is_not_null(&env->program, ptr);
	if (t.null)
		nb_ref_drop(st, t.id);
	nb_state_each(st, branch_settle, &t);
	return true;
}

/* Return the outcome of comparing a number with itself. */
static bool branch_same(enum nb_fn fn, bool taken)
{
	bool holds = nb_spec_fn(fn)->holds & NB_ORDER_EQ;

	return fn == NB_FN_JSET || holds == taken;
}

bool nb_step_branch(struct nb_env *env, struct nb_state *st, uint32_t pc, bool taken)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	struct nb_reg *dst = &nb_top(st)->regs[insn->dst];
	struct nb_reg *src = NULL, b = nb_operand(st, insn);
	struct nb_range was;
	uint64_t deps;

	if (nb_reg_is_pointer(dst) || nb_reg_is_pointer(&b)) {
		struct nb_reg a = *dst;

		if (insn->operand == NB_OPND_REG && insn->src == insn->dst)
			return insn->width == 64 ? branch_same(insn->fn, taken) : true;
		return branch_pointer(env, st, insn, taken, &a, &b);
	}
	if (nb_same_number(insn, dst, &b) && insn->fn != NB_FN_JSET)
		return branch_same(insn->fn, taken);
	if (insn->operand == NB_OPND_REG && insn->src != insn->dst)
		src = &nb_top(st)->regs[insn->src];
	was = dst->r;
	if (!nb_range_branch(insn->fn, insn->width, taken, &dst->r, &b.r))
		return false;
	deps = dst->deps;
	if (!nb_range_equal(&was, &dst->r))
		dst->deps |= b.deps;
	if (!spread(st, dst))
		return false;
	if (!src)
		return true;
	/* If the two operands are linked, spread() may have refined the
	 * source. */
	was = src->r;
	if (!nb_range_meet(&src->r, &src->r, &b.r))
		return false;
	if (!nb_range_equal(&was, &src->r))
		src->deps |= deps;
	return spread(st, src);
}

bool nb_step_branch_known(const struct nb_program *program, const struct nb_state *st, uint32_t pc,
			  bool *taken)
{
	const struct nb_insn *insn = &program->insns[pc];
	const struct nb_reg *a = &st->frames[st->nframes - 1].regs[insn->dst];
	struct nb_reg b = nb_operand(st, insn);
	struct nb_range x = a->r, y = b.r;
	bool can, cannot;

	if (a->kind != NB_REG_SCALAR || b.kind != NB_REG_SCALAR)
		return false;
	can = nb_range_branch(insn->fn, insn->width, true, &x, &y);
	x = a->r;
	y = b.r;
	cannot = nb_range_branch(insn->fn, insn->width, false, &x, &y);
	*taken = can;
	return can != cannot;
}

bool nb_step_branch_pointers(const struct nb_program *program, const struct nb_state *st,
			     uint32_t pc)
{
	const struct nb_insn *insn = &program->insns[pc];
	const struct nb_reg *regs = st->frames[st->nframes - 1].regs;

	return regs[insn->dst].kind != NB_REG_SCALAR ||
	       (insn->operand == NB_OPND_REG && regs[insn->src].kind != NB_REG_SCALAR);
}

/*
 * Is @r NULL on all ranks or on none? Addresses differ between processes, so
 * this does not hold for a pointer that was moved out of its memory.
 */
static bool null_is_coherent(const struct nb_program *program, const struct nb_reg *r)
{
	return may_be_null(r) || is_not_null(program, r);
}

bool nb_step_branch_local(struct nb_env *env, const struct nb_state *st, uint32_t pc,
			  uint32_t *from)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	const struct nb_frame *f = &st->frames[st->nframes - 1];
	const struct nb_reg *a = &f->regs[insn->dst];
	const struct nb_reg *ptr;
	struct nb_reg b = nb_operand(st, insn);

	*from = pc;
	if (insn->kind == NB_KIND_MAY_GOTO)
		return nb_budget_pass_is_local(env, st);
	if (a->label == NB_LABEL_LOCAL || b.label == NB_LABEL_LOCAL) {
		*from = a->label == NB_LABEL_LOCAL ? a->from : b.from;
		/* Bytes of an address carry a label even in a walk without
		 * labels. */
		return env->walk.how.labels;
	}
	if (!nb_reg_is_pointer(a) && !nb_reg_is_pointer(&b))
		return false;
	ptr = nb_reg_is_pointer(a) ? a : &b;
	if (is_equality(insn) && nb_reg_is_zero(ptr == a ? &b : a) &&
	    null_is_coherent(&env->program, ptr))
		return false;
	return nb_label_source(env) == NB_LABEL_LOCAL;
}
