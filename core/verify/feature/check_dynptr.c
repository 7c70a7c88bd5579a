// SPDX-License-Identifier: MIT
/*
 * Rules of dynptrs, which are the kernel's. A dynptr is 16 aligned bytes of
 * stack at a constant offset, and only helpers write and read it. A dynptr of a
 * ring buffer's record must be submitted or discarded. A dynptr of a map value
 * ends when the program overwrites it.
 */
#include "core/verify/feature/check_dynptr.h"

#include "core/verify/access/access.h"
#include "core/verify/access/objects.h"
#include "core/verify/access/refs.h"
#include "core/verify/feature/check_refs.h"

static int refuse_place(const struct at *a, const struct nb_helper_spec *h,
			int number)
{
	return refuse(a, NB_RULE_DYNPTR_PLACE, .reg = number, .helper = h,
		      .limit = NB_DYNPTR_SIZE);
}

/* Reject an argument that is no dynptr. A copy of a dynptr's bytes is no
 * dynptr: only the original is. */
static int refuse_none(const struct at *a, const struct nb_helper_spec *h,
		       int number)
{
	return refuse(a, NB_RULE_DYNPTR_NONE, .reg = number, .helper = h);
}

int nb_check_new_dynptr(const struct at *a, const struct nb_helper_spec *h,
			int number)
{
	const struct nb_reg *r = reg(a, number);
	int64_t off = r->r.smin;
	int rc;

	if (r->kind != NB_REG_STACK || !nb_range_is_const(&r->r) || off & 7)
		return refuse_place(a, h, number);
	rc = nb_check_frame(a, number, &r->r, NB_DYNPTR_SIZE);
	if (rc)
		return rc;
	nb_note_depth(a, r, &r->r);
	return nb_check_objects(a, number, &a->st->frames[r->frame], off,
				off + NB_DYNPTR_SIZE, true);
}

int nb_check_dynptr(const struct at *a, const struct nb_helper_spec *h,
		    int number, bool end)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_cell *d = nb_object_at(a->st, r);
	const struct nb_ref *ref;

	if (r->kind != NB_REG_STACK || !nb_range_is_const(&r->r))
		return refuse_place(a, h, number);
	if (!d)
		return refuse_none(a, h, number);
	if (d->reg.map != NB_OBJECT_DYNPTR_MEM &&
	    d->reg.map != NB_OBJECT_DYNPTR_RING)
		return refuse_none(a, h, number);
	if (end && d->reg.map != NB_OBJECT_DYNPTR_RING)
		return refuse(a, NB_RULE_DYNPTR_KIND, .reg = number,
			      .object = d);
	ref = nb_ref_find(a->st, d->reg.ref);
	return end && ref ? nb_check_own(a, ref, number) : 0;
}

int nb_check_keep(const struct at *a, const struct nb_helper_spec *h,
		  int number, uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	int rc;

	if (r->kind != NB_REG_VALUE)
		return refuse(a,
			      r->kind == NB_REG_VALUE_OR_NULL
				      ? NB_RULE_DYNPTR_NULLABLE
				      : NB_RULE_DYNPTR_MEMORY,
			      .reg = number, .helper = h);
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
