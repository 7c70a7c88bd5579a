// SPDX-License-Identifier: MIT
/*
 * Global functions. Each is walked once, from a state that covers every call
 * that respects its signature: unknown numbers, the untouched context, memory
 * of a known size or NULL. A call then checks the arguments, forgets what the
 * function may have changed, and gets any number as result.
 *
 * Coherence. The walk with labels assumes that the arguments, and the memory
 * behind them, are coherent, and that all ranks make the call. It finds every
 * leak that does not depend on the caller. It also finds whether the result or
 * the memory is rank-local in spite of coherent arguments (from the time, a
 * local map, a local branch). It does not follow memory behind arguments: once
 * rank-local data was stored in any of it, the walk is repeated with all of it
 * local. A call that respects the assumption (coherent arguments and memory,
 * no local control, a may_goto budget that is coherent or unused) has just
 * these effects. Any other call is a call with rank-local data. The function,
 * and those it calls, must then write no output on any path. Its result, the
 * memory of its arguments and the iterations it used are rank-local afterwards.
 * That is enough: ranks can differ only in outputs and verdicts. The function
 * has no outputs, and the verdict is its caller's, which depends on the result.
 */
#include "core/verify/feature/global.h"

#include <string.h>

#include "core/verify/access/access.h"
#include "core/verify/access/objects.h"
#include "core/verify/access/stack.h"
#include "core/verify/coherence/control_dep.h"
#include "core/verify/feature/resources.h"
#include "core/verify/state/budget.h"
#include "core/verify/state/operands.h"

/* Return the signature of the function at @start if it is verified on its
 * own. */
static const struct nb_func *global_func(const struct nb_prog *p,
					 uint32_t start)
{
	for (uint32_t i = 1; i < p->nfuncs; i++)
		if (p->funcs[i].start == start)
			return p->funcs[i].linkage == NB_FUNC_GLOBAL &&
					       p->funcs[i].has_sig
				       ? &p->funcs[i]
				       : NULL;
	return NULL;
}

bool nb_globals_init(struct nb_env *env)
{
	const struct nb_cfg *cfg = &env->cfg;

	env->globals = nb_arena_array(env->arena, cfg->nfuncs,
				      sizeof(struct nb_global *));
	if (!env->globals)
		return false;
	for (uint32_t i = 1; i < cfg->nfuncs; i++) {
		const struct nb_func *f =
			global_func(env->prog, cfg->funcs[i].start);

		if (!f)
			continue;
		env->globals[i] =
			nb_arena_alloc(env->arena, sizeof(*env->globals[i]));
		if (!env->globals[i])
			return false;
		env->globals[i]->func = f;
	}
	return true;
}

/* Return the function being walked; NULL for the program itself. */
static struct nb_global *current(const struct nb_env *env)
{
	return env->globals[env->root];
}

static void keep_call(struct nb_call_facts *to,
		      const struct nb_call_facts *from)
{
	if (to->frames < from->frames)
		to->frames = from->frames;
	to->outputs |= from->outputs;
	to->uses |= from->uses;
	to->local |= from->local;
	to->local_uses |= from->local_uses;
}

/* Walk function @f, and keep what its callers need to know. */
static int walk_once(struct nb_env *env, uint32_t f,
		     int (*walk)(struct nb_env *env))
{
	int rc = walk(env);

	if (!rc && env->globals[f])
		keep_call(&env->globals[f]->facts, &env->found.call);
	return rc;
}

static int walk_one(struct nb_env *env, uint32_t f,
		    int (*walk)(struct nb_env *env))
{
	struct nb_global *g = env->globals[f];
	int rc;

	env->root = f;
	rc = walk_once(env, f, walk);
	if (!rc && env->labels && g && g->facts.local) {
		g->memory_local = true;
		rc = walk_once(env, f, walk);
	}
	if (!rc && g) {
		const struct nb_lengths *l = &env->facts.length;

		g->iteration =
			l->iteration > l->first ? l->iteration : l->first;
		g->counts = l->ends_in_callee || l->iteration;
	}
	return rc;
}

/* Walk function @f after its callees. The recursion ends because calls make
 * no cycle. */
static int visit(struct nb_env *env, uint32_t f, bool *seen,
		 int (*walk)(struct nb_env *env))
{
	const struct nb_cfg_func *fn = &env->cfg.funcs[f];
	int rc = 0;

	if (seen[f])
		return 0;
	seen[f] = true;
	for (uint32_t pc = fn->start; !rc && pc < fn->end; pc++) {
		const struct nb_insn *insn = &env->insns[pc];
		int64_t to = (int64_t)pc + 1 + insn->off;

		if (nb_insn_names_func(insn))
			rc = visit(env, env->cfg.func_of[to], seen, walk);
	}
	if (!rc && (!f || env->globals[f]))
		rc = walk_one(env, f, walk);
	return rc;
}

int nb_globals_walk(struct nb_env *env, int (*walk)(struct nb_env *env))
{
	bool seen[NB_IMAGE_MAX_FUNCS] = { false };

	return visit(env, 0, seen, walk);
}

void nb_global_begin(struct nb_env *env, struct nb_state *st)
{
	const struct nb_func_sig *sig = &env->globals[env->root]->func->sig;
	struct nb_reg *r = st->frames[0].regs;

	memset(&r[1], 0, 5 * sizeof(*r));
	for (unsigned i = 0; i < sig->nargs; i++)
		switch (sig->arg[i]) {
		case NB_FARG_SCALAR:
			r[i + 1] = nb_reg_scalar(nb_range_unknown());
			break;
		case NB_FARG_CTX:
			r[i + 1] = nb_reg_pointer(NB_REG_CTX);
			break;
		case NB_FARG_MEM:
			r[i + 1] = nb_reg_pointer(NB_REG_MEM_OR_NULL);
			r[i + 1].size = sig->mem_size[i];
			r[i + 1].align = 1;
			r[i + 1].id = ++env->ids;
			break;
		case NB_FARG_NONNULL:
			r[i + 1] = nb_reg_pointer(NB_REG_MEM);
			r[i + 1].size = sig->mem_size[i];
			r[i + 1].align = 1;
			break;
		}
}

void nb_global_note_frames(struct nb_env *env, uint32_t frames)
{
	if (frames > env->found.call.frames)
		env->found.call.frames = frames;
}

void nb_global_note_outputs(struct nb_env *env)
{
	env->found.call.outputs = true;
}

static bool is_argument(const struct nb_env *env, const struct nb_reg *r)
{
	return current(env) && !r->ref &&
	       (r->kind == NB_REG_MEM || r->kind == NB_REG_MEM_OR_NULL);
}

void nb_global_note_store(struct nb_env *env, const struct nb_state *st,
			  const struct nb_reg *ptr, const struct nb_reg *v)
{
	if (!is_argument(env, ptr))
		return;
	/* An address differs between processes, so it counts as rank-local. */
	env->found.saw_local |= nb_reg_is_pointer(v);
	env->found.call.local |=
		env->labels &&
		(nb_reg_is_pointer(v) || st->region.open ||
		 v->label == NB_LABEL_LOCAL || ptr->label == NB_LABEL_LOCAL);
}

bool nb_global_memory_coherent(const struct nb_env *env, const struct nb_reg *r)
{
	return is_argument(env, r) &&
	       !(env->labels && current(env)->memory_local);
}

void nb_global_exit(struct nb_env *env, struct nb_state *st)
{
	struct nb_call_facts *c = &env->found.call;

	if (st->region.open && !st->region.frame)
		nb_region_close(env, st);
	c->local |= current(env)->func->sig.returns_scalar &&
		    nb_top(st)->regs[0].label == NB_LABEL_LOCAL;
	c->local_uses |= st->budget.local;
}

int nb_check_global_return(const struct at *a)
{
	const struct nb_global *g = current(a->env);
	const struct nb_reg *r = reg(a, 0);
	const struct nb_func_sig *sig = &g->func->sig;
	int rc;

	/* Callers cannot read r0 of a function that returns nothing. */
	if (!sig->returns_scalar && !sig->returns_other)
		return 0;
	rc = nb_check_init(a, 0);
	if (rc || (r->kind == NB_REG_SCALAR && sig->returns_scalar))
		return rc;
	if (sig->returns_other)
		return refuse(a, NB_RULE_GLOBAL_POINTER, .reg = 0,
			      .name = g->func->name);
	return refuse(a, NB_RULE_GLOBAL_ADDRESS, .reg = 0);
}

static int refuse_arg(const struct at *a, enum nb_rule rule,
		      const struct nb_global *g, unsigned i)
{
	return refuse(a, rule, .reg = (int)i + 1, .name = g->func->name,
		      .count = i, .size = g->func->sig.mem_size[i]);
}

static int check_stack_memory(const struct at *a, int number, uint32_t size)
{
	const struct nb_reg *r = reg(a, number);
	struct nb_range off = nb_access_offset(r, 0);
	int rc = nb_check_frame(a, number, &off, size);

	if (rc)
		return rc;
	nb_note_depth(a, r, &off);
	if (nb_object_in(&a->st->frames[r->frame], off.smin, off.smax + size))
		return refuse(a, NB_RULE_GLOBAL_OBJECT, .reg = number);
	return nb_check_written(a, number, &off, size);
}

static bool may_be_null(const struct nb_reg *r)
{
	return r->kind == NB_REG_VALUE_OR_NULL ||
	       r->kind == NB_REG_MEM_OR_NULL || nb_reg_is_zero(r);
}

static int check_memory(const struct at *a, const struct nb_global *g,
			unsigned i)
{
	int number = (int)i + 1, rc;
	const struct nb_reg *r = reg(a, number);
	uint32_t size = g->func->sig.mem_size[i];
	struct nb_range off = nb_access_offset(r, 0);
	bool null = g->func->sig.arg[i] == NB_FARG_MEM;

	if (!null && may_be_null(r))
		return refuse_arg(a, NB_RULE_GLOBAL_NONNULL, g, i);
	switch (r->kind) {
	case NB_REG_STACK:
		return check_stack_memory(a, number, size);
	case NB_REG_VALUE:
	case NB_REG_VALUE_OR_NULL:
		if ((rc = nb_check_span(a, number, &off, size)) ||
		    (rc = nb_check_map_access(a, number, LOAD)))
			return rc;
		return nb_check_map_access(a, number, STORE);
	case NB_REG_MEM:
	case NB_REG_MEM_OR_NULL:
		return nb_check_span(a, number, &off, size);
	case NB_REG_RDONLY:
		return refuse(a, NB_RULE_RDONLY, .reg = number);
	case NB_REG_SCALAR:
		if (nb_reg_is_zero(r))
			return 0;
	}
	return refuse_arg(a, NB_RULE_GLOBAL_MEMORY, g, i);
}

static int check_arg(const struct at *a, const struct nb_global *g, unsigned i)
{
	const struct nb_reg *r = reg(a, (int)i + 1);
	int rc = nb_check_init(a, (int)i + 1);

	if (rc)
		return rc;
	switch (g->func->sig.arg[i]) {
	case NB_FARG_SCALAR:
		return r->kind == NB_REG_SCALAR
			       ? 0
			       : refuse_arg(a, NB_RULE_GLOBAL_SCALAR, g, i);
	case NB_FARG_CTX:
		return r->kind == NB_REG_CTX && nb_range_is_const(&r->r) &&
				       !r->r.t.value
			       ? 0
			       : refuse_arg(a, NB_RULE_GLOBAL_CTX, g, i);
	case NB_FARG_MEM:
	case NB_FARG_NONNULL:
		return check_memory(a, g, i);
	}
	return refuse_arg(a, NB_RULE_GLOBAL_PARAMETER, g, i);
}

/* Is there rank-local data in the stack behind @r? */
static bool local_stack(struct nb_env *env, const struct nb_state *st,
			const struct nb_reg *r, uint32_t size)
{
	const struct nb_frame *f = &st->frames[r->frame];
	bool local = false;

	for (int64_t off = r->r.smin; off < r->r.smax + size; off++) {
		uint32_t c = nb_cell_at(off);

		if (c >= f->ncells)
			continue;
		local |= f->cells[c].local >> (off & 3) & 1;
		/* The bytes of an address differ between processes. */
		if (nb_cell_of_pointer(f, c))
			local = env->found.saw_local = true;
	}
	return local;
}

/* Is the argument, or the memory behind it, rank-local data? */
static bool local_arg(struct nb_env *env, const struct nb_state *st,
		      const struct nb_func_sig *sig, unsigned i)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[i + 1];
	bool local = r->label == NB_LABEL_LOCAL;

	if (r->kind == NB_REG_STACK)
		return local_stack(env, st, r, sig->mem_size[i]) || local;
	if (!nb_func_takes_memory(sig, i) || r->kind == NB_REG_SCALAR)
		return local;
	/* Maps that a program can write are rank-local. Other memory counts
	 * as rank-local too, except for the arguments of a global function. */
	if (nb_global_memory_coherent(env, r))
		return local;
	env->found.saw_local = true;
	return true;
}

/*
 * Is this a call with rank-local data, as defined in the comment at the top of
 * this file?
 */
static bool local_call(struct nb_env *env, const struct nb_state *st,
		       const struct nb_global *g)
{
	bool local = st->region.open || nb_budget_local(st, g->facts.uses);

	for (unsigned i = 0; i < g->func->sig.nargs; i++)
		local |= local_arg(env, st, &g->func->sig, i);
	return env->labels && local;
}

/* Return the slot where the local data of an argument, or of the stack behind
 * one, was read; NB_NO_PC for other memory. */
static uint32_t local_from(const struct at *a, const struct nb_func_sig *sig)
{
	for (unsigned i = 0; i < sig->nargs; i++) {
		struct nb_reg r = *reg(a, (int)i + 1);

		if (r.kind == NB_REG_STACK)
			nb_stack_label(&a->st->frames[r.frame], r.r.smin,
				       r.r.smax + sig->mem_size[i], &r);
		if (r.label == NB_LABEL_LOCAL)
			return r.from;
	}
	return NB_NO_PC;
}

static int refuse_local(const struct at *a, const struct nb_global *g)
{
	uint8_t spent = nb_budget_local(a->st, g->facts.uses);
	enum nb_rule rule = NB_RULE_GLOBAL_LOCAL;
	uint32_t from = local_from(a, &g->func->sig);

	if (a->st->region.open) {
		rule = NB_RULE_GLOBAL_CONTROL;
		from = a->st->region.pc;
	} else if (spent) {
		rule = spent & NB_BUDGET_PASSES ? NB_RULE_GLOBAL_PASSES
						: NB_RULE_GLOBAL_ITERATIONS;
		from = nb_budget_local_from(a->st, spent);
	}
	return refuse(a, rule, .reg = -1, .name = g->func->name, .where = from);
}

int nb_check_global_call(const struct at *a, struct nb_global *g)
{
	const struct nb_func_sig *sig = &g->func->sig;
	int rc = 0;

	for (unsigned i = 0; !rc && i < sig->nargs; i++)
		rc = check_arg(a, g, i);
	if (rc)
		return rc;
	if (a->st->nframes + g->facts.frames > NB_MAX_FRAMES)
		return refuse(a, NB_RULE_GLOBAL_DEPTH, .reg = -1,
			      .limit = NB_MAX_FRAMES, .count = a->st->nframes,
			      .size = g->facts.frames, .name = g->func->name);
	if (g->facts.outputs && local_call(a->env, a->st, g))
		return refuse_local(a, g);
	return 0;
}

/* Record what the callee does for the global function that calls it. */
static void pass_on(struct nb_env *env, const struct nb_state *st,
		    const struct nb_global *g, bool local)
{
	const struct nb_reg *r = st->frames[st->nframes - 1].regs;
	struct nb_call_facts *c = &env->found.call;

	c->outputs |= g->facts.outputs;
	for (unsigned i = 0; i < g->func->sig.nargs; i++)
		c->local |= local && is_argument(env, &r[i + 1]);
}

void nb_global_call(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    struct nb_global *g)
{
	const struct nb_func_sig *sig = &g->func->sig;
	bool local = local_call(env, st, g),
	     own = env->labels && g->facts.local;
	struct nb_reg byte = nb_reg_scalar(nb_range_u(0, 0xff));
	struct nb_reg r0 = nb_reg_scalar(nb_range_unknown());

	if (local || own) {
		byte.label = r0.label = NB_LABEL_LOCAL;
		byte.from = r0.from = pc;
	}
	for (unsigned i = 0; i < sig->nargs; i++)
		if (nb_func_takes_memory(sig, i))
			nb_stack_smear_argument(env, st, pc, (int)i + 1,
						sig->mem_size[i], &byte);
	nb_budget_spend(env, st, pc, g->facts.uses,
			local ? g->facts.uses : g->facts.local_uses);
	nb_global_note_frames(env, st->nframes + g->facts.frames);
	pass_on(env, st, g, local || own);
	nb_clobber(st);
	if (sig->returns_scalar)
		nb_top(st)->regs[0] = r0;
}
