// SPDX-License-Identifier: MIT
/*
 * Helpers that acquire or release resources: the checks of their arguments, and
 * the changes that a call makes to the state. The rules are in check_refs.c,
 * check_dynptr.c and lock.c.
 */
#include "core/verify/feature/resources.h"

#include "core/verify/access/access.h"
#include "core/verify/access/objects.h"
#include "core/verify/access/refs.h"
#include "core/verify/access/stack.h"
#include "core/verify/feature/check_dynptr.h"
#include "core/verify/feature/check_refs.h"
#include "core/verify/feature/lock.h"

static const struct nb_reg *arg_reg(const struct nb_state *st, unsigned arg)
{
	return &st->frames[st->nframes - 1].regs[arg + 1];
}

static int arg_of(const struct nb_helper_spec *h, enum nb_arg kind)
{
	for (int i = 0; i < 5; i++)
		if (h->arg[i] == kind)
			return i;
	return -1;
}

/* Return the constant that the ALLOC argument holds. */
static uint32_t alloc_size(const struct nb_state *st,
			   const struct nb_helper_spec *h)
{
	return (uint32_t)arg_reg(st, (unsigned)arg_of(h, NB_ARG_ALLOC))
		->r.t.value;
}

bool nb_is_resource(enum nb_arg kind)
{
	return kind == NB_ARG_ALLOC || kind == NB_ARG_SAMPLE ||
	       kind == NB_ARG_DYNPTR || kind == NB_ARG_DYNPTR_END ||
	       kind == NB_ARG_NEW_DYNPTR || kind == NB_ARG_NEW_RECORD ||
	       kind == NB_ARG_LOCK;
}

int nb_check_resource(const struct at *a, const struct nb_helper_spec *h,
		      unsigned arg)
{
	int number = (int)arg + 1;

	if (h->arg[arg] == NB_ARG_ALLOC)
		return nb_check_alloc(a, h, number);
	if (h->arg[arg] == NB_ARG_SAMPLE)
		return nb_check_sample(a, h, number);
	if (h->arg[arg] == NB_ARG_LOCK)
		return nb_check_lock(a, h, number);
	if (h->arg[arg] == NB_ARG_NEW_DYNPTR ||
	    h->arg[arg] == NB_ARG_NEW_RECORD)
		return nb_check_new_dynptr(a, h, number);
	return nb_check_dynptr(a, h, number, h->arg[arg] == NB_ARG_DYNPTR_END);
}

int nb_check_call_held(const struct at *a, const struct nb_helper_spec *h)
{
	int rc = nb_check_locked_call(a, h);

	if (!rc && (h->ret == NB_RET_SAMPLE_OR_NULL ||
		    arg_of(h, NB_ARG_NEW_RECORD) >= 0))
		rc = nb_check_room(a);
	return rc;
}

int nb_check_all_returned(const struct at *a, uint32_t frame)
{
	int rc = nb_check_unlocked(a);

	return rc ? rc : nb_check_no_refs(a, frame);
}

struct nb_reg nb_step_sample(struct nb_env *env, struct nb_state *st,
			     uint32_t pc, const struct nb_helper_spec *h)
{
	struct nb_reg r0 = nb_reg_pointer(NB_REG_MEM_OR_NULL);

	r0.size = alloc_size(st, h);
	r0.align = 8;
	r0.from = pc;
	r0.ref = r0.id = nb_ref_take(env, st, pc, NB_REF_SAMPLE);
	return r0;
}

struct nb_reg nb_step_slice(struct nb_env *env, const struct nb_state *st,
			    uint32_t pc, const struct nb_helper_spec *h)
{
	struct nb_reg r0 = nb_reg_pointer(NB_REG_MEM_OR_NULL);
	const struct nb_cell *d = nb_object_at(
		st, arg_reg(st, (unsigned)arg_of(h, NB_ARG_DYNPTR)));
	const struct nb_reg *off = arg_reg(st, 1);

	r0.id = ++env->ids;
	r0.from = pc;
	r0.size = alloc_size(st, h);
	r0.align = 1;
	if (!d)
		return r0;
	r0.ref = d->reg.ref;
	if (d->reg.align == 8 && !((off->r.t.value | off->r.t.mask) & 7))
		r0.align = 8;
	return r0;
}

/* Create a dynptr into the value that the KEEP argument points to. */
static void make_dynptr(struct nb_env *env, struct nb_state *st, uint32_t pc,
			const struct nb_helper_spec *h)
{
	const struct nb_reg *data =
		arg_reg(st, (unsigned)arg_of(h, NB_ARG_DYNPTR_BACKING));
	const struct nb_reg *at =
		arg_reg(st, (unsigned)arg_of(h, NB_ARG_NEW_DYNPTR));
	struct nb_object o = { NB_OBJECT_DYNPTR_MEM, ++env->ids, 1 };

	if (!((data->r.t.value | data->r.t.mask) & 7))
		o.align = 8;
	nb_stack_put_object(env, st, pc, at, NB_DYNPTR_SIZE, o);
}

/* Create a dynptr of a record. The program must release it even if the
 * reservation failed. */
static void make_record(struct nb_env *env, struct nb_state *st, uint32_t pc,
			const struct nb_helper_spec *h)
{
	const struct nb_reg *at =
		arg_reg(st, (unsigned)arg_of(h, NB_ARG_NEW_RECORD));
	struct nb_object o = { NB_OBJECT_DYNPTR_RING, 0, 8 };

	o.ref = nb_ref_take(env, st, pc, NB_REF_DYNPTR);
	nb_stack_put_object(env, st, pc, at, NB_DYNPTR_SIZE, o);
}

static void end_record(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       unsigned arg)
{
	const struct nb_reg at = *arg_reg(st, arg);

	nb_object_end(env, st, pc, at.frame, at.r.smin, at.r.smin + 1);
}

void nb_step_resources(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_helper_spec *h)
{
	for (unsigned i = 0; i < 5; i++) {
		if (h->arg[i] == NB_ARG_SAMPLE)
			nb_ref_end(env, st, pc, arg_reg(st, i)->ref);
		else if (h->arg[i] == NB_ARG_DYNPTR_END)
			end_record(env, st, pc, i);
		else if (h->arg[i] == NB_ARG_NEW_DYNPTR)
			make_dynptr(env, st, pc, h);
		else if (h->arg[i] == NB_ARG_NEW_RECORD)
			make_record(env, st, pc, h);
		else if (h->arg[i] == NB_ARG_LOCK)
			nb_step_lock(st, pc, h, arg_reg(st, i));
	}
}
