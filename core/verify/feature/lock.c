// SPDX-License-Identifier: MIT
// Rules of locks: one at a time, given back by the same value, nothing called
// and nothing ended meanwhile, and the lock's own bytes left to the helpers.
#include "core/verify/feature/lock.h"

#include <string.h>

#include "core/verify/access/at.h"
#include "core/verify/report/report.h"

static uint32_t lock_offset(const struct nb_map_spec *m)
{
	return m->lock - 1;
}

static const char *say_taken(const struct at *a)
{
	return nb_say(a->env, "the lock of map %s taken at %s",
		      nb_map_name(a->env, a->st->lock.map),
		      nb_say_where(a->env, a->st->lock.pc));
}

/* Does @number point to a lock? */
static int check_place(const struct at *a, const struct nb_helper_spec *h,
		       int number)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m;

	if (r->kind == NB_REG_VALUE_OR_NULL)
		return refuse(a, NB_FIND_ARG_NULL, number,
			      nb_say(a->env, "a lock in r%d for bpf_%s", number,
				     h->name),
			      "");
	if (r->kind != NB_REG_VALUE)
		return refuse(a, NB_FIND_LOCK_NONE, number,
			      nb_say(a->env,
				     "in r%d for bpf_%s the lock in a map's "
				     "value",
				     number, h->name),
			      "");
	m = &a->env->img->maps[r->map];
	if (!m->lock)
		return nb_refuse(a->env, NB_FIND_LOCK_NONE, a->pc, number,
				 "a map whose value has a struct bpf_spin_lock",
				 nb_say(a->env, "the value of map %s has none",
					nb_map_name(a->env, r->map)),
				 "");
	if (nb_range_is_const(&r->r) && r->r.t.value == lock_offset(m))
		return nb_check_map_access(a, number, STORE);
	return nb_refuse(a->env, NB_FIND_LOCK_OFFSET, a->pc, number,
			 nb_say(a->env, "offset %u of map %s's value: its lock",
				lock_offset(m), nb_map_name(a->env, r->map)),
			 nb_say_reg(a->env, r, number), "");
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
			       ? nb_refuse(a->env, NB_FIND_LOCK_NESTED, a->pc,
					   number, "one lock at a time",
					   nb_say(a->env, "%s is still held",
						  say_taken(a)),
					   "")
			       : 0;
	if (!held->held)
		return nb_refuse(a->env, NB_FIND_UNLOCK_FREE, a->pc, number,
				 "a lock taken before on this path",
				 "none is held", "");
	if (held->map == r->map && held->id == r->id)
		return 0;
	return nb_refuse(a->env, NB_FIND_UNLOCK_OTHER, a->pc, number,
			 nb_say(a->env, "%s", say_taken(a)),
			 nb_say(a->env, "%s: perhaps another value",
				nb_say_reg(a->env, r, number)),
			 "");
}

int nb_check_locked_call(const struct at *a, const struct nb_helper_spec *h)
{
	if (!a->st->lock.held || h->effect == NB_EFFECT_UNLOCKS ||
	    h->effect == NB_EFFECT_LOCKS)
		return 0;
	return nb_refuse(a->env, NB_FIND_LOCK_CALL, a->pc, -1,
			 "no helper but bpf_spin_unlock while a lock is held",
			 nb_say(a->env, "bpf_%s is called with %s", h->name,
				say_taken(a)),
			 "");
}

int nb_check_locked_global(const struct at *a, const char *name)
{
	if (!a->st->lock.held)
		return 0;
	return nb_refuse(
		a->env, NB_FIND_LOCK_CALL, a->pc, -1,
		"no global function called while a lock is held",
		nb_say(a->env, "%s is called with %s", name, say_taken(a)),
		"declare the function static, or call it before the lock is "
		"taken");
}

int nb_check_unlocked(const struct at *a)
{
	if (!a->st->lock.held)
		return 0;
	return nb_refuse(a->env, NB_FIND_LOCK_HELD, a->pc, -1,
			 "every lock given back before",
			 nb_say(a->env, "%s is still held", say_taken(a)), "");
}

void nb_step_lock(struct nb_state *st, uint32_t pc,
		  const struct nb_helper_spec *h, const struct nb_reg *at)
{
	if (h->effect == NB_EFFECT_LOCKS)
		st->lock = (struct nb_held){ true, at->map, at->id, pc };
	else
		memset(&st->lock, 0, sizeof(st->lock));
}
