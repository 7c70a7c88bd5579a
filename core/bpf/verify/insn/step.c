// SPDX-License-Identifier: MIT
/*
 * Step the abstract state as each instruction changes it, assuming that
 * nb_check granted what the instruction needs. Labels follow the data: a
 * result is rank-local if an operand or the address is, or if the
 * instruction runs under local control.
 */
#include "core/bpf/verify/insn/step.h"

#include <string.h>

#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/access/stack.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/insn/operand.h"
#include "core/bpf/verify/insn/step_helper.h"
#include "core/bpf/verify/state/budget.h"
#include "core/bpf/verify/state/operands.h"

/* Record that the range of @r was also computed from values with these deps. */
static void depend(struct nb_reg *r, uint64_t deps)
{
	r->deps |= deps;
	/* An unknown number has no dependencies. */
	if (!r->id && r->r.t.mask == UINT64_MAX && nb_range_is_unknown(&r->r))
		r->deps = 0;
}

/* Give *@r an identity, so that refining one copy of it refines the others. */
static void link_scalar(struct nb_env *env, struct nb_reg *r)
{
	if (r->kind == NB_REG_SCALAR && !r->id && !nb_range_is_const(&r->r))
		r->id = ++env->walk.ids;
}

/* Return the number that a part of an address, or a difference of two
 * addresses, becomes: it may be any number, and differs between ranks. */
static struct nb_reg address_number(struct nb_env *env, uint32_t pc, unsigned bits)
{
	struct nb_reg r = nb_reg_unknown(bits);

	nb_label_begin(env, &r, pc);
	return r;
}

/* If @r is a pointer, replace it by its address as a number, and record this
 * for the text of a refusal. */
static void forget_pointer(struct nb_env *env, uint32_t pc, struct nb_reg *r, unsigned bits)
{
	if (!nb_reg_is_pointer(r))
		return;
	*r = address_number(env, pc, bits);
	env->walk.found.noted[pc] |= NB_NOTED_ADDRESS;
}

bool nb_takes_address(const struct nb_helper_spec *h)
{
	return h->effect == NB_EFFECT_NONE || h->effect == NB_EFFECT_WRITES_MAP;
}

void nb_step_addresses(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_helper_spec *h = nb_spec_helper((int32_t)env->program.insns[pc].imm);

	for (unsigned i = 0; nb_takes_address(h) && i < 5; i++)
		if (h->arg[i] == NB_ARG_ANY)
			forget_pointer(env, pc, &nb_top(st)->regs[i + 1], 64);
}

static void step_move(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	struct nb_reg *src = &nb_top(st)->regs[insn->src], v;

	if (insn->operand == NB_OPND_IMM) {
		v = nb_operand(st, insn);
		v.r = nb_range_alu(NB_FN_MOV, insn->width, &v.r, &v.r);
	} else if (nb_reg_is_pointer(src)) {
		v = *src;
		if (insn->width == 32 || !nb_insn_copies(insn))
			forget_pointer(env, pc, &v, insn->width);
	} else if (nb_insn_copies(insn) && (insn->width == 64 || src->r.umax <= UINT32_MAX)) {
		link_scalar(env, src);
		v = *src;
	} else {
		v = *src;
		nb_reg_unlink(&v);
		v.r = nb_range_alu(insn->fn, insn->width, &v.r, &v.r);
	}
	nb_step_assign(st, insn->dst, v);
}

static void pointer_math(struct nb_env *env, struct nb_state *st, uint32_t pc,
			 const struct nb_reg *a, const struct nb_reg *b)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	const struct nb_reg *ptr = nb_reg_is_pointer(a) ? a : b;
	const struct nb_reg *num = ptr == a ? b : a;
	struct nb_reg v = *ptr;

	if (nb_reg_is_pointer(num) || insn->operand == NB_OPND_NONE) {
		v = address_number(env, pc, insn->width);
		if (insn->operand == NB_OPND_NONE)
			env->walk.found.noted[pc] |= NB_NOTED_ADDRESS;
		nb_step_assign(st, insn->dst, v);
		return;
	}
	v.r = nb_range_alu(insn->fn, 64, &ptr->r, &num->r);
	nb_label_follow(&v, num);
	nb_step_assign(st, insn->dst, v);
}

/* Keep the link of a scalar to which a constant is added. */
static bool shift_link(const struct nb_insn *insn, struct nb_reg *v, const struct nb_reg *by)
{
	int64_t d = v->delta, c = (int64_t)by->r.t.value;

	/* A constant in a register may be imprecise: see precision.c. */
	if (!v->id || insn->width != 64 || insn->operand == NB_OPND_REG ||
	    !(insn->traits & NB_INSN_SUM) || c < INT32_MIN || c > INT32_MAX)
		return false;
	d = (int64_t)nb_sum(insn->traits, (uint64_t)d, (uint64_t)c);
	if (d < INT32_MIN || d > INT32_MAX)
		return false;
	v->delta = (int32_t)d;
	return true;
}

static void step_alu(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	struct nb_reg a = nb_top(st)->regs[insn->dst], b = nb_operand(st, insn);
	struct nb_reg v = a;
	bool zero;

	if (insn->traits & NB_INSN_MOVE) {
		step_move(env, st, pc);
		return;
	}
	if (nb_reg_is_pointer(&a) || nb_reg_is_pointer(&b)) {
		pointer_math(env, st, pc, &a, &b);
		return;
	}
	if (insn->traits & NB_INSN_DIVIDE &&
	    (insn->width == 64 ? nb_range_has(&b.r, 0) : b.r.umin32 == 0))
		env->walk.found.noted[pc] |= NB_NOTED_ZERO;
	v.r = nb_range_alu(insn->fn, insn->width, &a.r, &b.r);
	zero = insn->traits & NB_INSN_CANCELS && nb_same_number(insn, &a, &b);
	if (zero)
		v = nb_reg_scalar(nb_range_const(0));
	/* x - x and x ^ x are 0 on every path. That two registers are linked is
	 * known of this path alone, so it drops no label. */
	if (insn->src != insn->dst) {
		nb_label_follow(&v, &a);
		nb_label_follow(&v, &b);
	}
	if (!shift_link(insn, &v, &b))
		nb_reg_unlink(&v);
	depend(&v, zero ? 0 : b.deps);
	nb_step_assign(st, insn->dst, v);
}

/* Load constant data (.rodata) at a known offset. */
static void load_constant(const struct nb_mem_access *x, struct nb_range *out)
{
	uint64_t v = 0;

	if (x->map->origin != NB_ORIGIN_RODATA || !x->map->init || !nb_range_is_const(&x->off))
		return;
	for (uint32_t i = 0; i < x->size; i++)
		v |= (uint64_t)x->map->init[x->off.t.value + i] << i * 8;
	*out = nb_range_const(v);
}

static struct nb_reg load_at(struct nb_env *env, struct nb_state *st, uint32_t pc,
			     const struct nb_mem_access *x)
{
	const struct nb_reg *ptr = &nb_top(st)->regs[x->reg];
	struct nb_reg v = nb_reg_unknown((unsigned)x->size * 8);

	if (x->kind == NB_REG_STACK)
		v = nb_stack_load(st, x);
	else if (x->kind == NB_REG_VALUE)
		load_constant(x, &v.r);
	else if (x->kind == NB_REG_RDONLY && ptr->ref)
		v = nb_iter_load(st, ptr->ref, x);
	if (x->local)
		nb_label_begin(env, &v, pc);
	nb_label_follow(&v, ptr);
	return v;
}

static void step_load(struct nb_env *env, struct nb_state *st, uint32_t pc,
		      const struct nb_mem_access *x)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	struct nb_reg v = load_at(env, st, pc, x);

	if (insn->traits & NB_INSN_SIGNED) {
		v.r = nb_range_sext(&v.r, insn->width);
		nb_reg_unlink(&v);
	}
	nb_step_assign(st, insn->dst, v);
}

/* Store @v in memory: only the contents of the stack are tracked, never
 * those of other memory. */
static void store_at(struct nb_env *env, struct nb_state *st, uint32_t pc,
		     const struct nb_mem_access *x, struct nb_reg v)
{
	const struct nb_reg *ptr = &nb_top(st)->regs[x->reg];
	struct nb_place at = { x->frame, x->off.smin, (uint32_t)x->size };

	if (ptr->label == NB_LABEL_LOCAL)
		nb_stack_smear_paths(env, st, pc, ptr->from);
	if (x->kind != NB_REG_STACK)
		return;
	nb_label_follow(&v, ptr);
	if (nb_range_is_const(&x->off)) {
		nb_stack_store(env, st, pc, at, &v);
		return;
	}
	at.size += (uint32_t)(x->off.smax - x->off.smin);
	nb_stack_smear(env, st, pc, at, &v);
}

static void step_store(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_mem_access *x)
{
	struct nb_reg v;

	if (x->value >= 0) {
		struct nb_reg *from = &nb_top(st)->regs[x->value];

		if (x->kind == NB_REG_STACK)
			link_scalar(env, from);
		v = *from;
	} else {
		v = nb_reg_scalar(nb_range_const((uint64_t)env->program.insns[pc].imm));
	}
	store_at(env, st, pc, x, v);
}

static void step_atomic(struct nb_env *env, struct nb_state *st, uint32_t pc,
			const struct nb_mem_access *x)
{
	const struct nb_insn *insn = &env->program.insns[pc];
	struct nb_frame *f = nb_top(st);
	struct nb_reg src = f->regs[insn->src], old = load_at(env, st, pc, x);
	struct nb_reg now = nb_reg_unknown(insn->width), r0 = f->regs[0];

	forget_pointer(env, pc, &old, insn->width);
	forget_pointer(env, pc, &src, insn->width);
	nb_reg_unlink(&old);
	/* The fetched value depends on concurrent writers. */
	if (x->kind != NB_REG_STACK)
		nb_label_begin(env, &old, pc);
	nb_label_follow(&now, &old);
	nb_label_follow(&now, &src);
	if (insn->reads & NB_REGS_R0) {
		forget_pointer(env, pc, &r0, insn->width);
		nb_label_follow(&now, &r0);
	}
	store_at(env, st, pc, x, now);
	if (insn->writes & NB_REGS_R0)
		nb_step_assign(st, 0, old);
	else if (insn->writes & NB_REGS_S)
		nb_step_assign(st, insn->src, old);
}

static void step_lddw(const struct nb_program *program, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &program->insns[pc];
	struct nb_reg v;

	switch (insn->fn) {
	case NB_FN_MAP:
		v = nb_reg_pointer(NB_REG_MAP);
		v.map = (uint32_t)insn->imm;
		break;
	case NB_FN_MAP_VALUE:
		v = nb_reg_pointer(NB_REG_VALUE);
		v.map = (uint32_t)insn->imm;
		v.r = nb_range_const((uint64_t)insn->imm >> 32);
		break;
	case NB_FN_FUNC:
		v = nb_reg_pointer(NB_REG_FUNC);
		v.map = (uint32_t)((int64_t)pc + 1 + insn->off);
		/* The range of a code address holds the function that took
		 * it: only that function may pass the address on. */
		v.r = nb_range_const(program->cfg.func_of[pc]);
		break;
	default:
		v = nb_reg_scalar(nb_range_const((uint64_t)insn->imm));
		break;
	}
	nb_step_assign(st, insn->dst, v);
}

void nb_step_init(struct nb_env *env, struct nb_state *st)
{
	struct nb_frame *f;

	memset(&st->region, 0, sizeof(st->region));
	st->nframes = st->nrefs = 0;
	nb_budget_begin(env, st);
	f = nb_frame_next(st, NB_NO_PC);
	st->nframes++;
	f->regs[1] = nb_reg_pointer(NB_REG_CTX);
	if (env->program.opts.plain_mem) {
		f->regs[1] = nb_reg_pointer(NB_REG_MEM);
		f->regs[1].size = env->program.opts.plain_mem;
		f->regs[2] = nb_reg_scalar(nb_range_const(env->program.opts.plain_mem));
	}
}

void nb_step(struct nb_env *env, struct nb_state *st, uint32_t pc, const struct nb_mem_access *x)
{
	switch (env->program.insns[pc].kind) {
	case NB_KIND_ALU:
		step_alu(env, st, pc);
		break;
	case NB_KIND_LOAD:
		step_load(env, st, pc, x);
		break;
	case NB_KIND_STORE:
		step_store(env, st, pc, x);
		break;
	case NB_KIND_ATOMIC:
		step_atomic(env, st, pc, x);
		break;
	case NB_KIND_LDDW:
		step_lddw(&env->program, st, pc);
		break;
	case NB_KIND_CALL:
		if (nb_is_iter(&env->program.insns[pc]))
			nb_iter_step(env, st, pc);
		else
			nb_step_helper(env, st, pc);
		break;
	}
}
