// SPDX-License-Identifier: MIT
/*
 * Resources that helpers acquire and release: references to records of ring
 * buffers, dynptrs and locks. For each kind of argument there is a check, and
 * a step that changes the state. The rules are the kernel's.
 *
 * A reservation has a constant size. The program releases it once, with the
 * pointer that the reservation returned, and does not use that memory
 * afterwards.
 *
 * A dynptr is 16 aligned bytes of stack at a constant offset, and only helpers
 * write and read it. A dynptr of a ring buffer's record must be submitted or
 * discarded. A dynptr of a map value ends when the program overwrites it.
 *
 * A program holds one lock at a time and unlocks the same map value. While it
 * holds the lock it calls no other helper and does not return. Only helpers
 * touch the bytes of a lock.
 */
#include "core/verify/feature/resources.h"

#include <string.h>

#include "core/verify/access/access.h"
#include "core/verify/access/objects.h"
#include "core/verify/access/refs.h"
#include "core/verify/access/stack.h"
#include "core/verify/state/operands.h"

static int check_alloc(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	if (nb_reg_is_const(r) && r->r.t.value < MAX_MOVE)
		return 0;
	return refuse(a,
		      a->helper->ret == NB_RET_SLICE_OR_NULL
			      ? NB_RULE_SLICE_SIZE
			      : NB_RULE_RESERVE_SIZE,
		      .reg = number);
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
		return refuse(a, NB_RULE_RELEASE_TWICE, .reg = number,
			      .where = pc);
	return refuse(a,
		      nb_reg_is_zero(r) ? NB_RULE_RELEASE_NULL
					: NB_RULE_RELEASE_OTHER,
		      .reg = number);
}

/* Check that a callback releases its own references, and not those of its
 * caller. */
static int check_own(const struct at *a, const struct nb_ref *ref, int number)
{
	for (uint32_t i = a->st->nframes; i-- > 1u + ref->frame;)
		if (a->st->frames[i].callback)
			return refuse(a, NB_RULE_REF_CALLBACK, .reg = number,
				      .ref = ref);
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

/* Check that frame @frame and the frames it called hold no reference. */
static int check_no_refs(const struct at *a, uint32_t frame)
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

static int refuse_place(const struct at *a, int number)
{
	return refuse(a, NB_RULE_DYNPTR_PLACE, .reg = number,
		      .limit = NB_DYNPTR_SIZE);
}

/* Check that register @number points to stack where a dynptr can be created. */
static int check_new_dynptr(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	int64_t off = r->r.smin;
	int rc;

	if (r->kind != NB_REG_STACK || !nb_range_is_const(&r->r) || off & 7)
		return refuse_place(a, number);
	rc = nb_check_frame(a, number, &r->r, NB_DYNPTR_SIZE);
	if (rc)
		return rc;
	nb_note_depth(a, r, &r->r);
	return nb_check_objects(a, number, &a->st->frames[r->frame], off,
				off + NB_DYNPTR_SIZE, true);
}

/* Check that register @number points to a dynptr; only that of a ring buffer
 * can be submitted or discarded. A copy of a dynptr's bytes is no dynptr. */
static int check_dynptr(const struct at *a, int number)
{
	bool end = a->helper->arg[number - 1] == NB_ARG_DYNPTR_END;
	const struct nb_reg *r = reg(a, number);
	const struct nb_cell *d = nb_object_at(a->st, r);
	const struct nb_ref *ref;

	if (r->kind != NB_REG_STACK || !nb_range_is_const(&r->r))
		return refuse_place(a, number);
	if (!d || (d->reg.map != NB_OBJECT_DYNPTR_MEM &&
		   d->reg.map != NB_OBJECT_DYNPTR_RING))
		return refuse(a, NB_RULE_DYNPTR_NONE, .reg = number);
	if (end && d->reg.map != NB_OBJECT_DYNPTR_RING)
		return refuse(a, NB_RULE_DYNPTR_KIND, .reg = number,
			      .object = d);
	ref = nb_ref_find(a->st, d->reg.ref);
	return end && ref ? check_own(a, ref, number) : 0;
}

int nb_check_keep(const struct at *a, int number, uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	int rc;

	if (r->kind != NB_REG_VALUE)
		return refuse(a,
			      r->kind == NB_REG_VALUE_OR_NULL
				      ? NB_RULE_DYNPTR_NULLABLE
				      : NB_RULE_DYNPTR_MEMORY,
			      .reg = number);
	rc = nb_check_span(a, number, &r->r, size);
	if (rc)
		return rc;
	/* bpf_dynptr_read and bpf_dynptr_write do not know the map, so its
	 * flags are checked here, for both. */
	rc = nb_check_map_access(a, number, STORE);
	return rc ? rc : nb_check_map_access(a, number, LOAD);
}

int nb_check_objects(const struct at *a, int number, const struct nb_frame *f,
		     int64_t lo, int64_t hi, bool store)
{
	const struct nb_cell *o = nb_object_in(f, lo, hi);
	const struct nb_ref *ref = o ? nb_ref_find(a->st, o->reg.ref) : NULL;
	enum nb_rule rule;

	if (!o || (store && !ref))
		return 0;
	if (store)
		rule = NB_RULE_OBJECT_WRITE;
	else
		rule = ref ? NB_RULE_OBJECT_READ_HELD : NB_RULE_OBJECT_READ;
	return refuse(a, rule, .reg = number, .number = lo, .object = o,
		      .ref = ref);
}

/* Check that register @number points to a lock. */
static int check_lock_place(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m;

	if (r->kind == NB_REG_VALUE_OR_NULL)
		return refuse(a, NB_RULE_LOCK_NULL, .reg = number);
	if (r->kind != NB_REG_VALUE)
		return refuse(a, NB_RULE_LOCK_POINTER, .reg = number);
	m = &a->env->img->maps[r->map];
	if (!m->lock)
		return refuse(a, NB_RULE_LOCK_NONE, .reg = number,
			      .map = r->map);
	if (nb_range_is_const(&r->r) && r->r.t.value == m->lock - 1)
		return nb_check_map_access(a, number, STORE);
	return refuse(a, NB_RULE_LOCK_OFFSET, .reg = number,
		      .number = m->lock - 1, .map = r->map);
}

/* Check that register @number points to a lock that may be taken, or to the
 * lock that is held. */
static int check_lock(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_held *held = &a->st->lock;
	int rc = check_lock_place(a, number);

	if (rc)
		return rc;
	if (a->helper->effect == NB_EFFECT_LOCKS)
		return held->held
			       ? refuse(a, NB_RULE_LOCK_NESTED, .reg = number)
			       : 0;
	if (!held->held)
		return refuse(a, NB_RULE_UNLOCK_FREE, .reg = number);
	if (held->map == r->map && held->id == r->id)
		return 0;
	return refuse(a, NB_RULE_UNLOCK_OTHER, .reg = number);
}

int nb_check_locked_global(const struct at *a, const char *name)
{
	if (!a->st->lock.held)
		return 0;
	return refuse(a, NB_RULE_LOCK_GLOBAL, .reg = -1, .name = name);
}

int nb_check_resource(const struct at *a, int number)
{
	switch ((unsigned)a->helper->arg[number - 1]) {
	case NB_ARG_ALLOC:
		return check_alloc(a, number);
	case NB_ARG_SAMPLE:
		return check_sample(a, number);
	case NB_ARG_LOCK:
		return check_lock(a, number);
	case NB_ARG_NEW_DYNPTR:
	case NB_ARG_NEW_RECORD:
		return check_new_dynptr(a, number);
	case NB_ARG_DYNPTR:
	case NB_ARG_DYNPTR_END:
		return check_dynptr(a, number);
	}
	return 0;
}

int nb_check_call_held(const struct at *a)
{
	const struct nb_helper_spec *h = a->helper;

	if (a->st->lock.held && h->effect != NB_EFFECT_UNLOCKS &&
	    h->effect != NB_EFFECT_LOCKS)
		return refuse(a, NB_RULE_LOCK_CALL, .reg = -1);
	return h->ret == NB_RET_SAMPLE_OR_NULL ||
			       nb_arg_of(h, NB_ARG_NEW_RECORD) >= 0
		       ? nb_check_room(a)
		       : 0;
}

int nb_check_all_returned(const struct at *a, uint32_t frame)
{
	if (a->st->lock.held)
		return refuse(a, NB_RULE_LOCK_HELD, .reg = -1);
	return check_no_refs(a, frame);
}

/* Return the register that holds the argument of this kind. */
static const struct nb_reg *arg_reg(const struct nb_state *st,
				    const struct nb_helper_spec *h,
				    enum nb_arg kind)
{
	return &st->frames[st->nframes - 1].regs[nb_arg_of(h, kind) + 1];
}

/* Return the constant that the ALLOC argument holds. */
static uint32_t alloc_size(const struct nb_state *st,
			   const struct nb_helper_spec *h)
{
	return (uint32_t)arg_reg(st, h, NB_ARG_ALLOC)->r.t.value;
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
	const struct nb_cell *d =
		nb_object_at(st, arg_reg(st, h, NB_ARG_DYNPTR));
	const struct nb_reg *off = &st->frames[st->nframes - 1].regs[2];

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
	const struct nb_reg *data = arg_reg(st, h, NB_ARG_DYNPTR_BACKING);
	struct nb_object o = { NB_OBJECT_DYNPTR_MEM, ++env->ids, 1 };

	if (!((data->r.t.value | data->r.t.mask) & 7))
		o.align = 8;
	nb_stack_put_object(env, st, pc, arg_reg(st, h, NB_ARG_NEW_DYNPTR),
			    NB_DYNPTR_SIZE, o);
}

/* Create a dynptr of a record. The program must release it even if the
 * reservation failed. */
static void make_record(struct nb_env *env, struct nb_state *st, uint32_t pc,
			const struct nb_helper_spec *h)
{
	struct nb_object o = { NB_OBJECT_DYNPTR_RING, 0, 8 };

	o.ref = nb_ref_take(env, st, pc, NB_REF_DYNPTR);
	nb_stack_put_object(env, st, pc, arg_reg(st, h, NB_ARG_NEW_RECORD),
			    NB_DYNPTR_SIZE, o);
}

static void step_lock(struct nb_state *st, uint32_t pc,
		      const struct nb_helper_spec *h, const struct nb_reg *at)
{
	if (h->effect == NB_EFFECT_LOCKS)
		st->lock = (struct nb_held){ true, at->map, at->id, pc };
	else
		memset(&st->lock, 0, sizeof(st->lock));
}

void nb_step_resources(struct nb_env *env, struct nb_state *st, uint32_t pc,
		       const struct nb_helper_spec *h)
{
	for (unsigned i = 0; i < 5; i++) {
		const struct nb_reg *at = &nb_top(st)->regs[i + 1];

		if (h->arg[i] == NB_ARG_SAMPLE)
			nb_ref_end(env, st, pc, at->ref);
		else if (h->arg[i] == NB_ARG_DYNPTR_END)
			nb_object_end(env, st, pc, at->frame, at->r.smin,
				      at->r.smin + 1);
		else if (h->arg[i] == NB_ARG_NEW_DYNPTR)
			make_dynptr(env, st, pc, h);
		else if (h->arg[i] == NB_ARG_NEW_RECORD)
			make_record(env, st, pc, h);
		else if (h->arg[i] == NB_ARG_LOCK)
			step_lock(st, pc, h, at);
	}
}
