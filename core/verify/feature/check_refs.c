// SPDX-License-Identifier: MIT
/*
 * Rules of references. A reservation has a constant size. The program releases
 * it once, with the pointer that the reservation returned, and does not use
 * that memory afterwards.
 */
#include "core/verify/feature/check_refs.h"

#include "core/verify/access/access.h"
#include "core/verify/access/refs.h"

int nb_check_alloc(const struct at *a, const struct nb_helper_spec *h,
		   int number)
{
	const struct nb_reg *r = reg(a, number);

	if (nb_reg_is_const(r) && r->r.t.value < MAX_MOVE)
		return 0;
	return refuse(a,
		      h->ret == NB_RET_SLICE_OR_NULL ? NB_RULE_SLICE_SIZE
						     : NB_RULE_RESERVE_SIZE,
		      .reg = number, .helper = h);
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
static int refuse_other(const struct at *a, const struct nb_helper_spec *h,
			int number)
{
	const struct nb_reg *r = reg(a, number);
	uint32_t pc = ended_at(r);

	if (pc != NB_NO_PC)
		return refuse(a, NB_RULE_RELEASE_TWICE, .reg = number,
			      .where = pc);
	if (nb_reg_is_zero(r))
		return refuse(a, NB_RULE_RELEASE_NULL, .reg = number,
			      .helper = h);
	return refuse(a, NB_RULE_RELEASE_OTHER, .reg = number, .helper = h);
}

int nb_check_own(const struct at *a, const struct nb_ref *ref, int number)
{
	for (uint32_t i = a->st->nframes; i-- > 1u + ref->frame;)
		if (a->st->frames[i].callback)
			return refuse(a, NB_RULE_REF_CALLBACK, .reg = number,
				      .ref = ref);
	return 0;
}

int nb_check_sample(const struct at *a, const struct nb_helper_spec *h,
		    int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_ref *ref = nb_ref_find(a->st, r->ref);

	if (!nb_reg_is_pointer(r) || !ref || ref->kind != NB_REF_SAMPLE)
		return refuse_other(a, h, number);
	if (r->kind == NB_REG_MEM_OR_NULL)
		return refuse(a, NB_RULE_RELEASE_NULL, .reg = number,
			      .helper = h);
	if (nb_range_is_const(&r->r) && !r->r.t.value)
		return nb_check_own(a, ref, number);
	return refuse(a, NB_RULE_RELEASE_MOVED, .reg = number, .ref = ref);
}

int nb_check_room(const struct at *a)
{
	if (a->st->nrefs < NB_MAX_REFS)
		return 0;
	return refuse(a, NB_RULE_REF_COUNT, .reg = -1, .limit = NB_MAX_REFS,
		      .ref = &a->st->refs[0]);
}

int nb_check_no_refs(const struct at *a, uint32_t frame)
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
	if (ref->kind == NB_REF_DYNPTR)
		return refuse(a,
			      frame ? NB_RULE_DYNPTR_LEAK_CALLBACK
				    : NB_RULE_DYNPTR_LEAK,
			      .reg = -1, .ref = ref);
	return refuse(a, frame ? NB_RULE_REF_LEAK_CALLBACK : NB_RULE_REF_LEAK,
		      .reg = -1, .ref = ref);
}
