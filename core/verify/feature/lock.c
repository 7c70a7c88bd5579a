// SPDX-License-Identifier: MIT
/*
 * Rules of locks. A program holds one lock at a time and unlocks the same
 * map value. While it holds the lock it calls no other helper and does not
 * return. Only helpers touch the bytes of a lock.
 */
#include "core/verify/feature/lock.h"

#include <string.h>

#include "core/verify/access/access.h"

static uint32_t lock_offset(const struct nb_map_spec *m)
{
	return m->lock - 1;
}

/* Check that register @number points to a lock. */
static int check_place(const struct at *a, const struct nb_helper_spec *h,
		       int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m;

	if (r->kind == NB_REG_VALUE_OR_NULL)
		return refuse(a, NB_RULE_LOCK_NULL, .reg = number, .helper = h);
	if (r->kind != NB_REG_VALUE)
		return refuse(a, NB_RULE_LOCK_POINTER, .reg = number,
			      .helper = h);
	m = &a->env->img->maps[r->map];
	if (!m->lock)
		return refuse(a, NB_RULE_LOCK_NONE, .reg = number,
			      .map = r->map);
	if (nb_range_is_const(&r->r) && r->r.t.value == lock_offset(m))
		return nb_check_map_access(a, number, STORE);
	return refuse(a, NB_RULE_LOCK_OFFSET, .reg = number,
		      .number = lock_offset(m), .map = r->map);
}

int nb_check_lock(const struct at *a, const struct nb_helper_spec *h,
		  int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_held *held = &a->st->lock;
	int rc = check_place(a, h, number);

	if (rc)
		return rc;
	if (h->effect == NB_EFFECT_LOCKS)
		return held->held
			       ? refuse(a, NB_RULE_LOCK_NESTED, .reg = number)
			       : 0;
	if (!held->held)
		return refuse(a, NB_RULE_UNLOCK_FREE, .reg = number);
	if (held->map == r->map && held->id == r->id)
		return 0;
	return refuse(a, NB_RULE_UNLOCK_OTHER, .reg = number);
}

int nb_check_locked_call(const struct at *a, const struct nb_helper_spec *h)
{
	if (!a->st->lock.held || h->effect == NB_EFFECT_UNLOCKS ||
	    h->effect == NB_EFFECT_LOCKS)
		return 0;
	return refuse(a, NB_RULE_LOCK_CALL, .reg = -1, .helper = h);
}

int nb_check_locked_global(const struct at *a, const char *name)
{
	if (!a->st->lock.held)
		return 0;
	return refuse(a, NB_RULE_LOCK_GLOBAL, .reg = -1, .name = name);
}

int nb_check_unlocked(const struct at *a)
{
	if (!a->st->lock.held)
		return 0;
	return refuse(a, NB_RULE_LOCK_HELD, .reg = -1);
}

void nb_step_lock(struct nb_state *st, uint32_t pc,
		  const struct nb_helper_spec *h, const struct nb_reg *at)
{
	if (h->effect == NB_EFFECT_LOCKS)
		st->lock = (struct nb_held){ true, at->map, at->id, pc };
	else
		memset(&st->lock, 0, sizeof(st->lock));
}
