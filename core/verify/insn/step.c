// SPDX-License-Identifier: MIT
// What each instruction changes in the abstract state, on the assumption that
// check.c granted what it needs. Labels follow the data: a result is local if
// an operand is, if the address is, or if the instruction runs inside a region
// of local control.
#include "core/verify/insn/step.h"

#include <string.h>

#include "core/verify/access/labels.h"
#include "core/verify/access/refs.h"
#include "core/verify/access/stack.h"
#include "core/verify/feature/global.h"
#include "core/verify/feature/iter.h"
#include "core/verify/feature/resources.h"
#include "core/verify/state/operands.h"

/* ---- labels ---- */

/* @r takes over that @with is local. */
static void follow(struct nb_reg *r, const struct nb_reg *with)
{
	if (with->label == NB_LABEL_LOCAL)
		nb_label_taint(r, with->from);
}

/* What is known of @r came from what is known of @from, too. */
static void depend(struct nb_reg *r, uint64_t deps)
{
	r->deps |= deps;
	/* Nothing is known of it, so it came from nothing. */
	if (!r->id && r->r.t.mask == UINT64_MAX && nb_range_is_unknown(&r->r))
		r->deps = 0;
}

/* Put @v into register @number: the one place where registers are written. */
static void assign(struct nb_state *st, int number, struct nb_reg v)
{
	if (st->region.open)
		nb_label_taint(&v, st->region.pc);
	nb_top(st)->regs[number] = v;
}

static void forget(struct nb_state *st, int first, int last)
{
	for (int i = first; i <= last; i++)
		memset(&nb_top(st)->regs[i], 0, sizeof(struct nb_reg));
}

static bool map_is_local(const struct nb_map_spec *m)
{
	return !(m->tags & NB_MAPF_COHERENT) && m->origin != NB_ORIGIN_RODATA;
}

/* ---- links between scalars ---- */

/* From now on copies of *@r know of each other. */
static void link_scalar(struct nb_env *env, struct nb_reg *r)
{
	if (r->kind == NB_REG_SCALAR && !r->id && !nb_range_is_const(&r->r))
		r->id = ++env->ids;
}

struct linked {
	const struct nb_reg *to;
	bool impossible;
};

static void refine_linked(void *arg, struct nb_reg *r)
{
	struct linked *l = arg;
	struct nb_range by, v;

	if (r == l->to || r->kind != NB_REG_SCALAR || r->id != l->to->id)
		return;
	by = nb_range_const((uint64_t)((int64_t)r->delta - l->to->delta));
	v = nb_range_alu(NB_FN_ADD, 64, &l->to->r, &by);
	by = r->r;
	if (!nb_range_meet(&r->r, &r->r, &v))
		l->impossible = true;
	else if (!nb_range_equal(&by, &r->r))
		r->deps |= l->to->deps;
}

/* Tell all links of *@r (a register of @st) what is known of it now. */
static bool spread(struct nb_state *st, const struct nb_reg *r)
{
	struct linked l = { r, false };

	if (r->kind == NB_REG_SCALAR && r->id)
		nb_state_each(st, refine_linked, &l);
	return !l.impossible;
}

/* ---- ALU ---- */

static struct nb_reg operand(const struct nb_state *st,
			     const struct nb_insn *insn)
{
	if (insn->operand == NB_OPND_REG)
		return st->frames[st->nframes - 1].regs[insn->src];
	return nb_reg_scalar(nb_range_const((uint64_t)insn->imm));
}

/* Half of an address, or a difference: a number nobody can know. */
static struct nb_reg address_number(struct nb_env *env, uint32_t pc,
				    unsigned bits)
{
	struct nb_range any = nb_range_unknown();
	struct nb_reg r = nb_reg_scalar(nb_range_zext(&any, bits));

	r.label = nb_label_source(env);
	r.from = pc;
	return r;
}

static void move(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_reg *src = &nb_top(st)->regs[insn->src], v;

	if (insn->operand == NB_OPND_IMM) {
		v = operand(st, insn);
		v.r = nb_range_alu(NB_FN_MOV, insn->width, &v.r, &v.r);
	} else if (nb_reg_is_pointer(src)) {
		v = insn->width == 64 ? *src : address_number(env, pc, 32);
	} else if (insn->fn == NB_FN_MOV &&
		   (insn->width == 64 || src->r.umax <= UINT32_MAX)) {
		link_scalar(env, src);
		v = *src;
	} else {
		v = *src;
		nb_reg_unlink(&v);
		v.r = nb_range_alu(insn->fn, insn->width, &v.r, &v.r);
	}
	assign(st, insn->dst, v);
}

static void pointer_math(struct nb_env *env, struct nb_state *st, uint32_t pc,
			 const struct nb_reg *a, const struct nb_reg *b)
{
	const struct nb_insn *insn = &env->insns[pc];
	const struct nb_reg *ptr = nb_reg_is_pointer(a) ? a : b;
	const struct nb_reg *num = ptr == a ? b : a;
	struct nb_reg v;

	if (nb_reg_is_pointer(num)) {
		assign(st, insn->dst, address_number(env, pc, 64));
		return;
	}
	v = *ptr;
	v.r = nb_range_alu(insn->fn, 64, &ptr->r, &num->r);
	follow(&v, num);
	assign(st, insn->dst, v);
}

/* A linked scalar plus a constant stays linked. */
static bool shift_link(const struct nb_insn *insn, struct nb_reg *v,
		       const struct nb_reg *by)
{
	int64_t d = v->delta, c = (int64_t)by->r.t.value;

	/* Of a register the distance might be another one: see precision.c. */
	if (!v->id || insn->width != 64 || insn->operand == NB_OPND_REG ||
	    (insn->fn != NB_FN_ADD && insn->fn != NB_FN_SUB) || c < INT32_MIN ||
	    c > INT32_MAX)
		return false;
	d = insn->fn == NB_FN_ADD ? d + c : d - c;
	if (d < INT32_MIN || d > INT32_MAX)
		return false;
	v->delta = (int32_t)d;
	return true;
}

static bool same_number(const struct nb_insn *insn, const struct nb_reg *a,
			const struct nb_reg *b)
{
	return insn->operand == NB_OPND_REG &&
	       (insn->src == insn->dst ||
		(a->id && a->id == b->id && a->delta == b->delta));
}

static void alu(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_reg a = nb_top(st)->regs[insn->dst], b = operand(st, insn);
	struct nb_reg v = a;
	bool zero;

	if (insn->traits & NB_INSN_MOVE) {
		move(env, st, pc);
		return;
	}
	if (nb_reg_is_pointer(&a) || nb_reg_is_pointer(&b)) {
		pointer_math(env, st, pc, &a, &b);
		return;
	}
	if (insn->traits & NB_INSN_DIVIDE &&
	    (insn->width == 64 ? nb_range_has(&b.r, 0) : b.r.umin32 == 0))
		env->zero_divisor[pc] = 1;
	v.r = nb_range_alu(insn->fn, insn->width, &a.r, &b.r);
	/* x ^ x and x - x are 0 whatever x is, and tell nothing of it. */
	zero = (insn->fn == NB_FN_XOR || insn->fn == NB_FN_SUB) &&
	       same_number(insn, &a, &b);
	if (zero) {
		v = nb_reg_scalar(nb_range_const(0));
	} else {
		follow(&v, &b);
	}
	if (!shift_link(insn, &v, &b))
		nb_reg_unlink(&v);
	depend(&v, zero ? 0 : b.deps);
	assign(st, insn->dst, v);
}

/* ---- stack ---- */

/* ---- loads and stores ---- */

/* Constant data at a known place is a constant. */
static bool load_constant(const struct nb_env *env, const struct nb_reg *ptr,
			  const struct nb_range *off, uint32_t size,
			  struct nb_range *out)
{
	const struct nb_map_spec *m = &env->img->maps[ptr->map];
	uint64_t v = 0;

	if (m->origin != NB_ORIGIN_RODATA || !m->init ||
	    !nb_range_is_const(off))
		return false;
	for (uint32_t i = 0; i < size; i++)
		v |= (uint64_t)m->init[off->t.value + i] << i * 8;
	*out = nb_range_const(v);
	return true;
}

static struct nb_reg load_value(struct nb_env *env, const struct nb_reg *ptr,
				const struct nb_range *off, uint32_t size,
				uint32_t pc)
{
	struct nb_range any = nb_range_unknown();
	struct nb_reg v = nb_reg_scalar(nb_range_zext(&any, size * 8));

	load_constant(env, ptr, off, size, &v.r);
	if (map_is_local(&env->img->maps[ptr->map])) {
		v.label = nb_label_source(env);
		v.from = pc;
	}
	return v;
}

static struct nb_reg load_ctx(struct nb_env *env, const struct nb_range *off,
			      uint32_t size, uint32_t pc)
{
	const struct nb_field_spec *f =
		nb_spec_field(env->hook, (uint32_t)off->smin);
	struct nb_range any = nb_range_unknown();
	struct nb_reg v = nb_reg_scalar(nb_range_zext(&any, size * 8));

	if (f && f->label != NB_LABEL_COHERENT) {
		v.label = nb_label_source(env);
		v.from = pc;
	}
	return v;
}

static struct nb_reg load_at(struct nb_env *env, struct nb_state *st,
			     uint32_t pc, const struct nb_reg *ptr,
			     uint32_t size)
{
	struct nb_range off = nb_access_offset(ptr, env->insns[pc].off);
	struct nb_range any = nb_range_unknown();
	struct nb_reg v = nb_reg_scalar(nb_range_zext(&any, size * 8));

	if (ptr->kind == NB_REG_STACK)
		v = nb_stack_load(st, ptr, &off, size);
	else if (ptr->kind == NB_REG_VALUE)
		v = load_value(env, ptr, &off, size, pc);
	else if (ptr->kind == NB_REG_CTX)
		v = load_ctx(env, &off, size, pc);
	else if (ptr->kind == NB_REG_RDONLY && ptr->ref)
		v = nb_iter_load(st, ptr, &off, size);
	else if (ptr->kind == NB_REG_MEM &&
		 !nb_global_memory_coherent(env, ptr)) {
		v.label = nb_label_source(env);
		v.from = pc;
	}
	follow(&v, ptr);
	return v;
}

static void load(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_reg ptr = nb_top(st)->regs[insn->src];
	struct nb_reg v = load_at(env, st, pc, &ptr, insn->width / 8u);

	if (insn->traits & NB_INSN_SIGNED) {
		v.r = nb_range_sext(&v.r, insn->width);
		nb_reg_unlink(&v);
	}
	assign(st, insn->dst, v);
}

/* Only the stack is followed; what other memory holds is never assumed. */
static void store_at(struct nb_env *env, struct nb_state *st, uint32_t pc,
		     const struct nb_reg *ptr, struct nb_reg v)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_range off = nb_access_offset(ptr, insn->off);
	struct nb_place at = { ptr->frame, off.smin, insn->width / 8u };

	if (st->region.open)
		nb_label_taint(&v, st->region.pc);
	if (ptr->label == NB_LABEL_LOCAL)
		nb_stack_smear_paths(env, st, pc, ptr->from);
	nb_global_note_store(env, st, ptr, &v);
	if (ptr->kind != NB_REG_STACK)
		return;
	follow(&v, ptr);
	if (nb_range_is_const(&off)) {
		nb_stack_store(env, st, pc, at, &v);
		return;
	}
	at.size += (uint32_t)(off.smax - off.smin);
	nb_stack_smear(env, st, pc, at, &v);
}

static void store(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_frame *f = nb_top(st);
	struct nb_reg ptr = f->regs[insn->dst], v;

	if (insn->operand == NB_OPND_IMM) {
		v = nb_reg_scalar(nb_range_const((uint64_t)insn->imm));
	} else {
		if (ptr.kind == NB_REG_STACK)
			link_scalar(env, &f->regs[insn->src]);
		v = f->regs[insn->src];
	}
	store_at(env, st, pc, &ptr, v);
}

static void atomic(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_frame *f = nb_top(st);
	struct nb_reg ptr = f->regs[insn->dst], src = f->regs[insn->src];
	struct nb_reg old = load_at(env, st, pc, &ptr, insn->width / 8u);
	struct nb_range any = nb_range_unknown();
	struct nb_reg now = nb_reg_scalar(nb_range_zext(&any, insn->width));

	nb_reg_unlink(&old);
	/* A concurrent writer decides what is fetched. */
	if (ptr.kind != NB_REG_STACK) {
		old.label = nb_label_source(env);
		old.from = pc;
	}
	follow(&now, &old);
	follow(&now, &src);
	if (insn->fn == NB_FN_CMPXCHG)
		follow(&now, &f->regs[0]);
	store_at(env, st, pc, &ptr, now);
	if (insn->fn == NB_FN_CMPXCHG)
		assign(st, 0, old);
	else if (insn->traits & NB_INSN_FETCH)
		assign(st, insn->src, old);
}

static void lddw(const struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
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
		/* Whose it is: only that function may hand it to a helper. */
		v.r = nb_range_const(env->cfg.func_of[pc]);
		break;
	default:
		v = nb_reg_scalar(nb_range_const((uint64_t)insn->imm));
		break;
	}
	assign(st, insn->dst, v);
}

/* ---- helpers ---- */

static bool reads(enum nb_arg arg)
{
	return arg == NB_ARG_KEY || arg == NB_ARG_VALUE || arg == NB_ARG_MEM ||
	       arg == NB_ARG_MEM0;
}

static bool writes(enum nb_arg arg)
{
	return arg == NB_ARG_OUT || arg == NB_ARG_OUT8 || arg == NB_ARG_FILL;
}

/* What an argument, or the memory behind it, says about r0. */
static void follow_arg(struct nb_env *env, const struct nb_state *st,
		       const struct nb_helper_spec *h, unsigned arg,
		       struct nb_reg *r0, uint32_t pc)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[arg + 1];
	struct nb_extent size;

	if (h->arg[arg] == NB_ARG_NONE || r->kind == NB_REG_UNINIT)
		return;
	follow(r0, r);
	if (!reads(nb_helper_arg(env, st, h, arg)))
		return;
	size = nb_helper_extent(env, st, h, arg);
	/* Nothing is read, and where was not checked. */
	if (!size.max)
		return;
	if (r->kind == NB_REG_STACK) {
		const struct nb_frame *f = &st->frames[r->frame];
		int64_t hi = r->r.smax + (int64_t)size.max;

		nb_stack_label(f, r->r.smin, hi, r0);
		/* The bytes of an address differ between processes. */
		for (int64_t off = r->r.smin; off < hi; off++) {
			uint32_t c = nb_cell_at(off);

			if (c < f->ncells &&
			    f->cells[c].kind == NB_CELL_SPILL8_HI)
				c++;
			if (c < f->ncells &&
			    f->cells[c].kind == NB_CELL_SPILL8 &&
			    nb_reg_is_pointer(&f->cells[c].reg) &&
			    nb_label_source(env) == NB_LABEL_LOCAL)
				nb_label_taint(r0, pc);
		}
	} else if ((r->kind == NB_REG_VALUE &&
		    map_is_local(&env->img->maps[r->map])) ||
		   (r->kind == NB_REG_MEM &&
		    !nb_global_memory_coherent(env, r))) {
		if (nb_label_source(env) == NB_LABEL_LOCAL)
			nb_label_taint(r0, pc);
	} else if (r->kind == NB_REG_RDONLY && r->ref) {
		/* What is behind it changed since it was found. */
		struct nb_range off = nb_access_offset(r, 0);
		struct nb_reg now = nb_iter_load(st, r, &off, 1);

		follow(r0, &now);
	}
}

/* Arrays hold all of their elements from the start. */
static bool elements_are_local(const struct nb_map_spec *m)
{
	return m && map_is_local(m) && m->type != NB_MAP_ARRAY &&
	       m->type != NB_MAP_PERCPU_ARRAY;
}

static bool success_is_local(const struct nb_helper_spec *h,
			     const struct nb_map_spec *m)
{
	switch (h->success) {
	case NB_SUCCESS_ARGS:
		return false;
	case NB_SUCCESS_ELEMENTS:
		return elements_are_local(m);
	case NB_SUCCESS_CPUS:
	case NB_SUCCESS_PROCESS:
		break;
	}
	return true;
}

static void write_out(struct nb_env *env, struct nb_state *st, uint32_t pc,
		      const struct nb_helper_spec *h, unsigned arg,
		      const struct nb_reg *r0)
{
	const struct nb_reg *r = &nb_top(st)->regs[arg + 1];
	struct nb_extent size = nb_helper_extent(env, st, h, arg);
	struct nb_range any = nb_range_u(0, 0xff);
	struct nb_reg v = nb_reg_scalar(any);

	follow(&v, r0);
	if (r->label == NB_LABEL_LOCAL)
		nb_stack_smear_paths(env, st, pc, r->from);
	nb_global_note_store(env, st, r, &v);
	if (r->kind != NB_REG_STACK || !size.max)
		return;
	for (uint64_t i = 0; nb_range_is_const(&r->r) && i < size.min; i++) {
		struct nb_place at = { r->frame, r->r.smin + (int64_t)i, 1 };

		nb_stack_store(env, st, pc, at, &v);
	}
	nb_stack_smear(env, st, pc,
		       (struct nb_place){ r->frame, r->r.smin,
					  (uint32_t)(r->r.smax - r->r.smin +
						     (int64_t)size.max) },
		       &v);
}

/* What r0 points to, for results that are pointers. */
static struct nb_reg result(struct nb_env *env, struct nb_state *st,
			    uint32_t pc, const struct nb_helper_spec *h)
{
	const struct nb_map_spec *m = nb_helper_map(env, st, h);
	struct nb_reg r0 = nb_reg_scalar(nb_range_unknown());

	if (h->ret == NB_RET_VALUE_OR_NULL && m) {
		r0 = nb_reg_pointer(m->inner ? NB_REG_MAP_OR_NULL
					     : NB_REG_VALUE_OR_NULL);
		r0.map = m->inner ? m->inner - 1
				  : (uint32_t)(m - env->img->maps);
		r0.id = ++env->ids;
	} else if (h->ret == NB_RET_SAMPLE_OR_NULL) {
		r0 = nb_step_sample(env, st, pc, h);
	} else if (h->ret == NB_RET_SLICE_OR_NULL) {
		r0 = nb_step_slice(env, st, pc, h);
	}
	if (h->label == NB_LABEL_LOCAL || success_is_local(h, m)) {
		r0.label = nb_label_source(env);
		r0.from = pc;
	}
	return r0;
}

static void helper(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_helper_spec *h = nb_env_helper(env, env->insns[pc].imm);
	struct nb_reg r0 = result(env, st, pc, h);

	for (unsigned i = 0; i < 5; i++)
		follow_arg(env, st, h, i, &r0, pc);
	if (st->region.open)
		nb_label_taint(&r0, st->region.pc);
	for (unsigned i = 0; i < 5; i++)
		if (writes(nb_helper_arg(env, st, h, i)))
			write_out(env, st, pc, h, i, &r0);
	nb_step_resources(env, st, pc, h);
	forget(st, 0, 5);
	if (h->ret != NB_RET_VOID)
		assign(st, 0, r0);
}

/* ---- one step ---- */

void nb_step_init(struct nb_env *env, struct nb_state *st)
{
	struct nb_frame *f = &st->frames[0];

	memset(&st->region, 0, sizeof(st->region));
	st->nframes = 1;
	st->nrefs = 0;
	memset(&st->lock, 0, sizeof(st->lock));
	nb_budget_begin(env, st);
	f->ret = NB_NO_PC;
	f->ncells = 0;
	f->callback = false;
	f->counted = false;
	f->loop = f->turns = 0;
	memset(&f->written, 0xff, sizeof(f->written));
	memset(f->regs, 0, sizeof(f->regs));
	f->regs[NB_R10] = nb_reg_pointer(NB_REG_STACK);
	f->regs[1] = nb_reg_pointer(NB_REG_CTX);
	if (env->opts.plain_mem) {
		f->regs[1] = nb_reg_pointer(NB_REG_MEM);
		f->regs[1].size = env->opts.plain_mem;
		f->regs[1].align = 8;
		f->regs[2] = nb_reg_scalar(nb_range_const(env->opts.plain_mem));
	}
	if (env->root)
		nb_global_begin(env, st);
}

void nb_step(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	switch ((enum nb_kind)env->insns[pc].kind) {
	case NB_KIND_ALU:
		alu(env, st, pc);
		break;
	case NB_KIND_LOAD:
		load(env, st, pc);
		break;
	case NB_KIND_STORE:
		store(env, st, pc);
		break;
	case NB_KIND_ATOMIC:
		atomic(env, st, pc);
		break;
	case NB_KIND_LDDW:
		lddw(env, st, pc);
		break;
	case NB_KIND_CALL:
		if (nb_is_iter(&env->insns[pc]))
			nb_iter_step(env, st, pc);
		else
			helper(env, st, pc);
		break;
	case NB_KIND_JMP:
	case NB_KIND_JA:
	case NB_KIND_MAY_GOTO:
	case NB_KIND_EXIT:
	case NB_KIND_LDDW_HI:
		break;
	}
}

/* ---- branches ---- */

struct null_test {
	const struct nb_env *env;
	uint32_t id;
	bool null;
};

static bool may_be_null(const struct nb_reg *r)
{
	return r->kind == NB_REG_VALUE_OR_NULL ||
	       r->kind == NB_REG_MEM_OR_NULL || r->kind == NB_REG_MAP_OR_NULL;
}

static void settle(void *arg, struct nb_reg *r)
{
	const struct null_test *t = arg;
	struct nb_reg zero;

	if (!may_be_null(r) || r->id != t->id)
		return;
	if (t->null) {
		zero = nb_reg_scalar(nb_range_const(0));
		follow(&zero, r);
		*r = zero;
	} else if (r->kind == NB_REG_MEM_OR_NULL) {
		r->kind = NB_REG_MEM;
		r->id = 0;
	} else if (r->kind == NB_REG_MAP_OR_NULL) {
		r->kind = NB_REG_MAP;
		r->id = 0;
	} else {
		r->kind = NB_REG_VALUE;
		if (!t->env->img->maps[r->map].lock)
			r->id = 0;
	}
}

static bool is_null(const struct nb_reg *r)
{
	return nb_reg_is_const(r) && !r->r.t.value;
}

/* Does @r point into its memory, or right behind it? Then it is not NULL. */
static bool is_within(const struct nb_env *env, const struct nb_reg *r)
{
	int64_t lo = r->kind == NB_REG_STACK ? -NB_STACK_SIZE : 0, hi = 0;

	if (r->kind == NB_REG_MAP)
		return true;
	if (r->kind == NB_REG_VALUE)
		hi = env->img->maps[r->map].value_size;
	else if (r->kind == NB_REG_MEM)
		hi = r->size;
	else if (r->kind != NB_REG_STACK)
		return false;
	return r->r.smin >= lo && r->r.smax <= hi;
}

/*
 * Two pointers are equal and one of them is not NULL: neither is the other.
 * A pointer that was moved far out of its memory may be any number, and so
 * NULL. Pointers that may be NULL are never moved.
 */
static void branch_equal(const struct nb_env *env, struct nb_state *st,
			 const struct nb_reg *a, const struct nb_reg *b)
{
	const struct nb_reg *ptr = may_be_null(a) ? a : b;
	const struct nb_reg *other = ptr == a ? b : a;
	struct null_test t = { env, ptr->id, false };

	if (may_be_null(ptr) && is_within(env, other))
		nb_state_each(st, settle, &t);
}

/* A pointer against 0, or against one that is not NULL. */
static bool branch_pointer(const struct nb_env *env, struct nb_state *st,
			   const struct nb_insn *insn, bool taken,
			   const struct nb_reg *a, const struct nb_reg *b)
{
	const struct nb_reg *ptr = nb_reg_is_pointer(a) ? a : b;
	const struct nb_reg *num = ptr == a ? b : a;
	struct null_test t = { env, ptr->id, (insn->fn == NB_FN_JEQ) == taken };

	if (insn->width != 64 ||
	    (insn->fn != NB_FN_JEQ && insn->fn != NB_FN_JNE))
		return true;
	if (nb_reg_is_pointer(num) && t.null)
		branch_equal(env, st, a, b);
	if (!is_null(num))
		return true;
	if (!may_be_null(ptr))
		return !t.null; /* a real pointer is not NULL */
	if (t.null)
		nb_ref_drop(st, t.id);
	nb_state_each(st, settle, &t);
	return true;
}

/* A number against itself. */
static bool branch_same(enum nb_fn fn, bool taken)
{
	bool holds = fn == NB_FN_JEQ || fn == NB_FN_JGE || fn == NB_FN_JLE ||
		     fn == NB_FN_JSGE || fn == NB_FN_JSLE;

	return fn == NB_FN_JSET || holds == taken;
}

bool nb_step_branch(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    bool taken)
{
	const struct nb_insn *insn = &env->insns[pc];
	struct nb_reg *dst = &nb_top(st)->regs[insn->dst];
	struct nb_reg *src = NULL, b = operand(st, insn);
	struct nb_range was;
	uint64_t deps;

	if (nb_reg_is_pointer(dst) || nb_reg_is_pointer(&b)) {
		struct nb_reg a = *dst;

		if (insn->operand == NB_OPND_REG && insn->src == insn->dst)
			return insn->width == 64 ? branch_same(insn->fn, taken)
						 : true;
		return branch_pointer(env, st, insn, taken, &a, &b);
	}
	if (same_number(insn, dst, &b) && insn->fn != NB_FN_JSET)
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
	/* A link between the two may have told the source more already. */
	was = src->r;
	if (!nb_range_meet(&src->r, &src->r, &b.r))
		return false;
	if (!nb_range_equal(&was, &src->r))
		src->deps |= deps;
	return spread(st, src);
}

bool nb_step_branch_known(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, bool *taken)
{
	const struct nb_insn *insn = &env->insns[pc];
	const struct nb_reg *a = &st->frames[st->nframes - 1].regs[insn->dst];
	struct nb_reg b = operand(st, insn);
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

bool nb_step_branch_pointers(const struct nb_env *env,
			     const struct nb_state *st, uint32_t pc)
{
	const struct nb_insn *insn = &env->insns[pc];
	const struct nb_reg *regs = st->frames[st->nframes - 1].regs;

	return regs[insn->dst].kind != NB_REG_SCALAR ||
	       (insn->operand == NB_OPND_REG &&
		regs[insn->src].kind != NB_REG_SCALAR);
}

bool nb_step_branch_local(struct nb_env *env, const struct nb_state *st,
			  uint32_t pc, uint32_t *from)
{
	const struct nb_insn *insn = &env->insns[pc];
	const struct nb_frame *f = &st->frames[st->nframes - 1];
	const struct nb_reg *a = &f->regs[insn->dst];
	struct nb_reg b = operand(st, insn);
	bool pa, pb;

	*from = pc;
	if (insn->kind == NB_KIND_MAY_GOTO)
		return nb_budget_pass_is_local(env, st);
	if (a->label == NB_LABEL_LOCAL || b.label == NB_LABEL_LOCAL) {
		*from = a->label == NB_LABEL_LOCAL ? a->from : b.from;
		/* Bytes of an address are local in a walk without labels too.
		 */
		return env->labels;
	}
	/* Addresses differ between processes; only NULL is the same. */
	pa = nb_reg_is_pointer(a);
	pb = nb_reg_is_pointer(&b);
	if ((!pa && !pb) || (insn->width == 64 && (is_null(&b) || is_null(a)) &&
			     (insn->fn == NB_FN_JEQ || insn->fn == NB_FN_JNE)))
		return false;
	return nb_label_source(env) == NB_LABEL_LOCAL;
}
