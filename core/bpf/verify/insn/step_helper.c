// SPDX-License-Identifier: MIT
/* Step the call of a helper: r0, the memory that the helper writes, and the
 * resources it acquires or releases. */
#include "core/bpf/verify/insn/step_helper.h"

#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/access/stack.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/feature/resources.h"
#include "core/bpf/verify/insn/operand.h"
#include "core/bpf/verify/state/marks.h"
#include "core/bpf/verify/state/operands.h"

/* Make @r0 depend on rank-local data that the instruction at @pc reads. */
static void follow_source(struct nb_env *env, struct nb_reg *r0, uint32_t pc)
{
	if (nb_label_source(env) == NB_LABEL_LOCAL)
		nb_label_taint(r0, pc);
}

static void follow_stack(struct nb_env *env, const struct nb_frame *f, int64_t lo, int64_t hi,
			 struct nb_reg *r0, uint32_t pc)
{
	nb_stack_label(f, lo, hi, r0);
	/* The bytes of an address differ between processes. */
	for (int64_t off = lo; off < hi; off++)
		if (nb_cell_of_pointer(f, nb_cell_at(off)))
			follow_source(env, r0, pc);
}

/* Label r0 rank-local if argument @arg is, or if the helper reads
 * rank-local memory there. */
static void follow_arg(struct nb_env *env, const struct nb_state *st,
		       const struct nb_helper_spec *h, unsigned arg, struct nb_reg *r0, uint32_t pc)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[arg + 1];
	struct nb_mem_access x;

	if (h->arg[arg] == NB_ARG_NONE || r->kind == NB_REG_UNINIT)
		return;
	nb_label_follow(r0, r);
	if (!nb_arg_reads(h->arg[arg]))
		return;
	x = nb_access_of_arg(&env->program, st, h, arg);
	/* The size is 0: the pointer was not checked, so do not dereference
	 * it. */
	if (!x.size)
		return;
	if (x.kind == NB_REG_STACK) {
		follow_stack(env, &st->frames[x.frame], x.off.smin, nb_access_end(&x), r0, pc);
	} else if (x.local) {
		follow_source(env, r0, pc);
	} else if (x.kind == NB_REG_RDONLY && r->ref) {
		/* The iterator's label may have changed since its start. */
		struct nb_reg now = nb_iter_load(st, r->ref, &x);

		nb_label_follow(r0, &now);
	}
}

static bool success_is_local(const struct nb_helper_spec *h, const struct nb_map_spec *m)
{
	switch (h->success) {
	case NB_SUCCESS_ARGS:
		return false;
	case NB_SUCCESS_ELEMENTS:
		return m && nb_map_elements_are_local(m);
	case NB_SUCCESS_CPUS:
	case NB_SUCCESS_PROCESS:
		break;
	}
	return true;
}

static void write_out(struct nb_env *env, struct nb_state *st, uint32_t pc,
		      const struct nb_helper_spec *h, unsigned arg, const struct nb_reg *r0)
{
	const struct nb_reg *r = &nb_top(st)->regs[arg + 1];
	struct nb_extent size = nb_helper_extent(&env->program, st, h, arg);
	struct nb_range any = nb_range_u(0, 0xff);
	struct nb_reg v = nb_reg_scalar(any);

	nb_label_follow(&v, r0);
	if (r->label == NB_LABEL_LOCAL)
		nb_stack_smear_paths(env, st, pc, r->from);
	if (r->kind != NB_REG_STACK || !size.max)
		return;
	for (uint64_t i = 0; nb_range_is_const(&r->r) && i < size.min; i++) {
		struct nb_place at = { r->frame, r->r.smin + (int64_t)i, 1 };

		nb_stack_store(env, st, pc, at, &v);
	}
	nb_stack_smear(env, st, pc,
		       (struct nb_place){ r->frame, r->r.smin,
					  (uint32_t)(r->r.smax - r->r.smin + (int64_t)size.max) },
		       &v);
}

/*
 * Does the element at the key behind r2 exist in every run? All elements of an
 * array exist, so the bounds of the key decide.
 */
static bool always_found(struct nb_env *env, struct nb_state *st, const struct nb_helper_spec *h,
			 const struct nb_map_spec *m)
{
	const struct nb_mem_access key = nb_access_of_arg(&env->program, st, h, 1);
	struct nb_reg index;

	if (h->success != NB_SUCCESS_ELEMENTS || !nb_map_is_array(m) || key.kind != NB_REG_STACK ||
	    key.off.smin % (int64_t)sizeof(uint32_t))
		return false;
	index = nb_stack_load(st, &key);
	if (index.r.umax >= m->max_entries)
		return false;
	nb_mark(env, index.deps);
	return true;
}

/* Return r0 for results that are pointers. */
static struct nb_reg result(struct nb_env *env, struct nb_state *st, uint32_t pc,
			    const struct nb_helper_spec *h)
{
	const struct nb_map_spec *m = nb_helper_map(&env->program, st, h);
	struct nb_reg r0 = nb_reg_scalar(nb_range_unknown());

	if (h->ret == NB_RET_VALUE_OR_NULL && m) {
		r0 = nb_reg_pointer(NB_REG_VALUE_OR_NULL);
		r0.map = (uint32_t)(m - env->program.img->maps);
		r0.id = ++env->walk.ids;
		if (always_found(env, st, h, m)) {
			r0.kind = NB_REG_VALUE;
			r0.id = 0;
		}
	} else if (h->ret == NB_RET_SAMPLE_OR_NULL) {
		r0 = nb_step_sample(env, st, pc, h);
	}
	if (h->label == NB_LABEL_LOCAL || success_is_local(h, m))
		nb_label_begin(env, &r0, pc);
	return r0;
}

void nb_step_helper(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_helper_spec *h = nb_spec_helper((int32_t)env->program.insns[pc].imm);
	struct nb_reg r0 = result(env, st, pc, h);

	for (unsigned i = 0; i < 5; i++)
		follow_arg(env, st, h, i, &r0, pc);
	for (unsigned i = 0; i < 5; i++)
		if (nb_arg_writes(h->arg[i]))
			write_out(env, st, pc, h, i, &r0);
	nb_step_resources(env, st, pc, h);
	nb_clobber(st);
	if (h->ret != NB_RET_VOID)
		nb_step_assign(st, 0, r0);
}
