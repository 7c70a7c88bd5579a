// SPDX-License-Identifier: MIT
/*
 * Resources that helpers acquire and release: references to records of ring
 * buffers. For each kind of argument there is a check, and a step that changes
 * the state. The rules are the kernel's.
 *
 * A reservation has a constant size. The program releases it once, with the
 * pointer that the reservation returned, and does not use that memory
 * afterwards.
 */
#include "core/bpf/verify/feature/resources.h"

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/access/objects.h"
#include "core/bpf/verify/access/refs.h"
#include "core/bpf/verify/state/operands.h"

static int check_alloc(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	if (nb_reg_is_const(r) && r->r.t.value < MAX_MOVE)
		return 0;
	return refuse(a, NB_RULE_RESERVE_SIZE, .reg = number);
}

/* Return the slot that released the memory to which this number pointed;
 * NB_NO_PC if there is none. */
static uint32_t ended_at(const struct nb_reg *r)
{
	return r->kind == NB_REG_SCALAR && r->ref ? r->ref - 1 : NB_NO_PC;
}

int nb_check_ended(const struct at *a, int number)
{
	uint32_t pc = ended_at(reg(a, number));

	if (pc == NB_NO_PC)
		return 0;
	return refuse(a, NB_RULE_RELEASED_USE, .reg = number, .where = pc);
}

/* Reject an argument that is no reservation, and say what it is. */
static int refuse_other(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	uint32_t pc = ended_at(r);

	if (pc != NB_NO_PC)
		return refuse(a, NB_RULE_RELEASE_TWICE, .reg = number, .where = pc);
	return refuse(a, nb_reg_is_zero(r) ? NB_RULE_RELEASE_NULL : NB_RULE_RELEASE_OTHER,
		      .reg = number);
}

/* Check that a callback releases its own references, and not those of its
 * caller. */
static int check_own(const struct at *a, const struct nb_ref *ref, int number)
{
	for (uint32_t i = a->st->nframes; i-- > 1u + ref->frame;)
		if (a->st->frames[i].callback)
			return refuse(a, NB_RULE_REF_CALLBACK, .reg = number, .ref = ref);
	return 0;
}

/* Check that register @number is a reservation that the call may release. */
static int check_sample(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_ref *ref = nb_ref_find(a->st, r->ref);

	if (!nb_reg_is_pointer(r) || !ref || ref->kind != NB_REF_SAMPLE)
		return refuse_other(a, number);
	if (r->kind == NB_REG_MEM_OR_NULL)
		return refuse(a, NB_RULE_RELEASE_NULL, .reg = number);
	if (nb_range_is_const(&r->r) && !r->r.t.value)
		return check_own(a, ref, number);
	return refuse(a, NB_RULE_RELEASE_MOVED, .reg = number, .ref = ref);
}

int nb_check_room(const struct at *a)
{
	if (a->st->nrefs < NB_MAX_REFS)
		return 0;
	return refuse(a, NB_RULE_REF_COUNT, .reg = -1, .limit = NB_MAX_REFS,
		      .ref = &a->st->refs[0]);
}

int nb_check_all_returned(const struct at *a, uint32_t frame)
{
	const struct nb_ref *ref = NULL;

	/* References are listed in the order of their reservation. */
	for (uint32_t i = a->st->nrefs; i-- > 0;)
		if (a->st->refs[i].frame >= frame)
			ref = &a->st->refs[i];
	if (!ref)
		return 0;
	if (ref->kind == NB_REF_ITER)
		return refuse(a, NB_RULE_ITER_LEAK, .reg = -1, .ref = ref);
	return refuse(a, frame ? NB_RULE_REF_LEAK_CALLBACK : NB_RULE_REF_LEAK, .reg = -1,
		      .ref = ref);
}

int nb_check_objects(const struct at *a, const struct nb_mem_access *x, bool store)
{
	const struct nb_cell *o =
		nb_object_in(&a->st->frames[x->frame], x->off.smin, nb_access_end(x));

	if (!o)
		return 0;
	return refuse(a, store ? NB_RULE_OBJECT_WRITE : NB_RULE_OBJECT_READ, .reg = x->reg,
		      .number = x->off.smin, .ref = nb_ref_find(a->st, o->reg.ref));
}

int nb_check_resource(const struct at *a, int number)
{
	switch ((unsigned)a->helper->arg[number - 1]) {
	case NB_ARG_ALLOC:
		return check_alloc(a, number);
	case NB_ARG_SAMPLE:
		return check_sample(a, number);
	}
	return 0;
}

int nb_check_call_held(const struct at *a)
{
	const struct nb_helper_spec *h = a->helper;

	return h->ret == NB_RET_SAMPLE_OR_NULL ? nb_check_room(a) : 0;
}

struct nb_reg nb_step_sample(struct nb_env *env, struct nb_state *st, uint32_t pc,
			     const struct nb_helper_spec *h)
{
	struct nb_reg r0 = nb_reg_pointer(NB_REG_MEM_OR_NULL);
	int alloc = nb_arg_of(h, NB_ARG_ALLOC) + 1;

	r0.size = (uint32_t)nb_top(st)->regs[alloc].r.t.value;
	r0.from = pc;
	r0.ref = r0.id = nb_ref_take(env, st, pc, NB_REF_SAMPLE);
	return r0;
}

void nb_step_resources(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_helper_spec *h)
{
	int sample = nb_arg_of(h, NB_ARG_SAMPLE) + 1;

	if (sample)
		nb_ref_end(env, st, pc, nb_top(st)->regs[sample].ref);
}
