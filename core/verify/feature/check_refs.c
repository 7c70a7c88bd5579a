// SPDX-License-Identifier: MIT
// Rules of references: what is reserved has a size known here, is given back
// once, by the pointer that the reservation answered, and is not used after.
#include "core/verify/feature/check_refs.h"

#include "core/verify/access/at.h"
#include "core/verify/access/refs.h"
#include "core/verify/report/report.h"

int nb_check_alloc(const struct at *a, const struct nb_helper_spec *h,
		   int number)
{
	const struct nb_reg *r = reg(a, number);

	if (nb_reg_is_const(r) && r->r.t.value < MAX_MOVE)
		return 0;
	return refuse(a, NB_FIND_RESERVE_SIZE, number,
		      nb_say(a->env, "a constant size in r%d for bpf_%s",
			     number, h->name),
		      h->ret == NB_RET_SLICE_OR_NULL
			      ? "ask for a part of constant size; bpf_"
				"dynptr_read and bpf_dynptr_write take sizes "
				"known at run time"
			      : "");
}

static int refuse_release(const struct at *a, enum nb_finding_class cls,
			  const struct nb_helper_spec *h, int number)
{
	return refuse(a, cls, number,
		      nb_say(a->env,
			     "in r%d for bpf_%s the pointer that "
			     "bpf_ringbuf_reserve answered, not NULL",
			     number, h->name),
		      "");
}

/* The slot where what this number pointed to was given back, or NB_NO_PC. */
static uint32_t ended_at(const struct nb_reg *r)
{
	return r->kind == NB_REG_SCALAR && r->ref ? r->ref - 1 : NB_NO_PC;
}

int nb_check_ended(const struct at *a, int number)
{
	uint32_t pc = ended_at(reg(a, number));

	if (pc == NB_NO_PC)
		return 0;
	return nb_refuse(a->env, NB_FIND_RELEASED_USE, a->pc, number,
			 nb_say(a->env,
				"memory in r%d that is not given back yet",
				number),
			 nb_say(a->env, "r%d: what it pointed to ended at %s",
				number, nb_say_where(a->env, pc)),
			 "");
}

/* A pointer that stands for no reservation, or a number. */
static int refuse_other(const struct at *a, const struct nb_helper_spec *h,
			int number)
{
	const struct nb_reg *r = reg(a, number);
	uint32_t pc = ended_at(r);

	if (pc != NB_NO_PC)
		return nb_refuse(a->env, NB_FIND_RELEASE_TWICE, a->pc, number,
				 "a reservation given back once",
				 nb_say(a->env, "r%d: given back before, at %s",
					number, nb_say_where(a->env, pc)),
				 "");
	if (nb_reg_is_const(r) && !r->r.t.value)
		return refuse_release(a, NB_FIND_RELEASE_NULL, h, number);
	return refuse_release(a, NB_FIND_RELEASE_OTHER, h, number);
}

int nb_check_own(const struct at *a, const struct nb_ref *ref, int number)
{
	for (uint32_t i = a->st->nframes; i-- > 1u + ref->frame;)
		if (a->st->frames[i].callback)
			return nb_refuse(
				a->env, NB_FIND_REF_CALLBACK, a->pc, number,
				"a reservation made in the same turn",
				nb_say(a->env, "r%d: %s, outside the callback",
				       number, nb_say_ref(a->env, ref)),
				"");
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
		return refuse_release(a, NB_FIND_RELEASE_NULL, h, number);
	if (nb_range_is_const(&r->r) && !r->r.t.value)
		return nb_check_own(a, ref, number);
	return nb_refuse(a->env, NB_FIND_RELEASE_MOVED, a->pc, number,
			 nb_say(a->env, "r%d as it was %s", number,
				nb_say_ref(a->env, ref)),
			 nb_say_reg(a->env, r, number), "");
}

int nb_check_room(const struct at *a)
{
	if (a->st->nrefs < NB_MAX_REFS)
		return 0;
	return nb_refuse(
		a->env, NB_FIND_REF_COUNT, a->pc, -1,
		nb_say(a->env, "at most %d things held at a time", NB_MAX_REFS),
		nb_say(a->env,
		       "this would be one more; the first "
		       "was %s",
		       nb_say_ref(a->env, &a->st->refs[0])),
		"");
}

int nb_check_no_refs(const struct at *a, uint32_t frame)
{
	const struct nb_ref *ref = NULL;

	/* They stand in the order in which they were taken. */
	for (uint32_t i = a->st->nrefs; i-- > 0;)
		if (a->st->refs[i].frame >= frame)
			ref = &a->st->refs[i];
	if (!ref)
		return 0;
	return nb_refuse(
		a->env,
		ref->kind == NB_REF_DYNPTR ? NB_FIND_DYNPTR_LEAK
		: ref->kind == NB_REF_ITER ? NB_FIND_ITER_LEAK
					   : NB_FIND_REF_LEAK,
		a->pc, -1,
		ref->kind == NB_REF_ITER ? "every iterator ended with "
					   "bpf_iter_num_destroy before"
		: frame ? "everything that a callback reserved given "
			  "back before its end"
			: "everything that was reserved given back "
			  "before",
		nb_say(a->env, "%s, still held here", nb_say_ref(a->env, ref)),
		"");
}
