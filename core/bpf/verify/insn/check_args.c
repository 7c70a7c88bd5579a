// SPDX-License-Identifier: MIT
/*
 * Check whether a state grants what a helper's row in core/defs/helpers.h
 * requires of the arguments, with one function for each kind of argument.
 * These checks only read the state.
 */
#include "core/bpf/verify/insn/check_args.h"

#include <string.h>

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/feature/callback.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/feature/resources.h"
#include "core/bpf/verify/insn/step.h"
#include "core/bpf/verify/state/operands.h"

/* Return the rule that a call of helper @id of Linux breaks. */
static enum nb_rule kernel_rule(int64_t id)
{
	if (id == 12)
		return NB_RULE_HELPER_TAIL;
	if (id == 93 || id == 94)
		return NB_RULE_HELPER_LOCK;
	return id >= 197 && id <= 203 ? NB_RULE_HELPER_DYNPTR : NB_RULE_HELPER_KERNEL;
}

/* Check that the helper exists, and that programs of this hook may call it. */
static int check_helper(const struct at *a)
{
	const struct nb_helper_spec *h = a->helper;
	const char *kernel = nb_spec_kernel_helper(a->insn->imm);

	if (h && h->id >= NB_HELPER_TUNER && h->arg[0] == NB_ARG_CTX &&
	    a->env->program.hook->id != NB_HOOK_TUNER)
		return refuse(a, NB_RULE_HELPER_HOOK, .reg = -1);
	if (h)
		return 0;
	return refuse(a, kernel ? kernel_rule(a->insn->imm) : NB_RULE_HELPER, .reg = -1,
		      .name = kernel, .number = a->insn->imm);
}

/* Check that the helper works on maps of this type. */
static int check_map_kind(const struct at *a, int number)
{
	uint32_t map = reg(a, number)->map;
	uint32_t type = a->env->program.img->maps[map].type;

	if (a->helper->maps >> type & 1)
		return 0;
	return refuse(a, NB_RULE_MAP_KIND, .reg = number, .map = map);
}

/*
 * Check a helper that changes a map. Controllers may change elements of
 * coherent maps: the result of a run becomes a generation, so that all
 * ranks see it at the same decision. Controllers see only a temporary copy
 * of merged maps.
 */
static int check_map_write(const struct at *a, int number)
{
	uint32_t map = reg(a, number)->map;
	const struct nb_map_spec *m = &a->env->program.img->maps[map];

	if (a->env->program.hook->id == NB_HOOK_CONTROLLER && m->tags & NB_MAPF_COHERENT &&
	    m->origin == NB_ORIGIN_DEFINED && !(m->flags & NB_F_RDONLY_PROG) &&
	    (a->helper->id == NB_HELPER_UPDATE || a->helper->id == NB_HELPER_DELETE))
		return 0;
	return nb_check_map_access(a, number, STORE);
}

static int check_map_arg(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	int rc;

	if (r->kind != NB_REG_MAP)
		return refuse(a, NB_RULE_ARG_MAP, .reg = number);
	rc = check_map_kind(a, number);
	if (!rc)
		rc = nb_check_replicated(a, number);
	if (!rc && a->helper->effect == NB_EFFECT_WRITES_MAP)
		rc = check_map_write(a, number);
	return rc;
}

static int check_stack_arg(const struct at *a, const struct nb_mem_access *x)
{
	int rc = nb_check_frame(a, x);

	if (!rc)
		rc = nb_check_objects(a, x, false);
	return !rc && x->loads ? nb_check_written(a, x) : rc;
}

static int check_mem_arg(const struct at *a, int number)
{
	unsigned arg = (unsigned)number - 1;
	const struct nb_mem_access x = nb_access_of_arg(&a->env->program, a->st, a->helper, arg);
	const struct nb_reg *r = reg(a, number);
	enum nb_arg kind = a->helper->arg[arg];
	bool null = nb_reg_is_zero(r);

	if (!x.size && (x.kind == NB_REG_STACK || (null && kind == NB_ARG_MEM0)))
		return 0;
	if (x.kind == NB_REG_STACK)
		return check_stack_arg(a, &x);
	if (points_to_memory(&x))
		return nb_check_memory(a, &x);
	if (r->kind == NB_REG_SCALAR && !null && nb_check_ended(a, number))
		return NB_E_VERIFY;
	null |= r->kind == NB_REG_VALUE_OR_NULL || r->kind == NB_REG_MEM_OR_NULL;
	return refuse(a, null ? NB_RULE_ARG_NULL : NB_RULE_ARG_MEM, .reg = number, .arg = kind,
		      .size = x.size);
}

/* Check the size argument alone; check_mem_arg checks that the memory is
 * that large. */
static int check_size_arg(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	if (r->kind != NB_REG_SCALAR)
		return refuse(a, NB_RULE_SIZE_SCALAR, .reg = number);
	if (r->r.umax >= MAX_MOVE)
		return refuse(a,
			      r->r.smin < 0 && r->r.smax < MAX_MOVE ? NB_RULE_SIZE_NEGATIVE
								    : NB_RULE_ARG_SIZE,
			      .reg = number);
	if (a->helper->arg[number - 1] == NB_ARG_SIZE && !r->r.umin)
		return refuse(a, NB_RULE_ARG_ZERO, .reg = number);
	return 0;
}

/* Check a string: it has to lie in constant data, including its terminating
 * zero. */
static int check_string(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m =
		r->kind == NB_REG_VALUE ? &a->env->program.img->maps[r->map] : NULL;
	int64_t off = (int64_t)r->r.t.value;

	if (m && m->origin == NB_ORIGIN_RODATA && nb_range_is_const(&r->r) && off >= 0 &&
	    off < (int64_t)m->value_size &&
	    (!m->init || memchr(m->init + off, 0, m->value_size - (size_t)off)))
		return 0;
	return refuse(a, NB_RULE_ARG_STRING, .reg = number);
}

static int check_arg(const struct at *a, int number)
{
	enum nb_arg kind = a->helper->arg[number - 1];
	const struct nb_reg *r = reg(a, number);
	int rc;

	if (kind == NB_ARG_NONE)
		return 0;
	if (kind == NB_ARG_OPT && r->kind == NB_REG_UNINIT)
		return 0;
	if ((rc = nb_check_init(a, number)))
		return rc;
	switch ((unsigned)kind) {
	case NB_ARG_MAP:
		return check_map_arg(a, number);
	case NB_ARG_SIZE:
	case NB_ARG_SIZE0:
		return check_size_arg(a, number);
	case NB_ARG_ANY:
		if (r->kind != NB_REG_SCALAR && !nb_takes_address(a->helper))
			return refuse(a, NB_RULE_ARG_SCALAR, .reg = number);
		return 0;
	case NB_ARG_CTX:
		if (r->kind != NB_REG_CTX || !nb_range_is_const(&r->r) || r->r.t.value)
			return refuse(a, NB_RULE_ARG_CTX, .reg = number);
		return 0;
	case NB_ARG_STR:
		return check_string(a, number);
	case NB_ARG_FUNC:
		return nb_check_callback(a, number);
	case NB_ARG_ITER0:
		return nb_check_iter_place(a, number);
	case NB_ARG_ITER:
		return nb_check_iter(a, number);
	}
	return nb_check_resource(a, number);
}

static bool is_memory(enum nb_arg arg)
{
	return nb_arg_reads(arg) || nb_arg_writes(arg);
}

int nb_check_helper(const struct at *a)
{
	int rc;

	if ((rc = check_helper(a)) || (rc = nb_check_call_held(a)))
		return rc;
	for (int i = 1; !rc && i <= 5; i++)
		rc = check_arg(a, i);
	for (int i = 1; !rc && i <= 5; i++)
		if (is_memory(a->helper->arg[i - 1]))
			rc = check_mem_arg(a, i);
	return rc;
}
