// SPDX-License-Identifier: MIT
// Checks that features and instructions share: a register holds something, an
// access stays inside its memory, a map may be read or written. The state is
// only read.
#include "core/verify/access/at.h"
#include "core/verify/report/hints.h"
#include "core/verify/report/report.h"
#include "core/verify/state/env.h"
#include "core/verify/state/operands.h"

int nb_check_lock_bytes(const struct at *a, int number,
			const struct nb_range *off, uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m;
	int64_t lo;

	if (r->kind != NB_REG_VALUE && r->kind != NB_REG_VALUE_OR_NULL)
		return 0;
	m = &a->env->img->maps[r->map];
	if (!m->lock || !size)
		return 0;
	lo = m->lock - 1;
	if (off->smin >= lo + NB_LOCK_SIZE || off->smax + (int64_t)size <= lo)
		return 0;
	return nb_refuse(a->env, NB_FIND_LOCK_ACCESS, a->pc, number,
			 nb_say(a->env,
				"other bytes of map %s's value than %lld to "
				"%lld, its lock",
				nb_map_name(a->env, r->map), (long long)lo,
				(long long)lo + NB_LOCK_SIZE - 1),
			 nb_say(a->env,
				"the access is at offset %s, %llu byte%s",
				nb_say_span(a->env, off->smin, off->smax),
				(unsigned long long)size, size == 1 ? "" : "s"),
			 "");
}

int nb_check_init(const struct at *a, int number)
{
	if (reg(a, number)->kind != NB_REG_UNINIT)
		return 0;
	return nb_refuse(
		a->env, NB_FIND_UNINIT, a->pc, number,
		nb_say(a->env, "r%d written before it is read", number),
		nb_say(a->env, "r%d: never written on this path%s", number,
		       number >= 1 && number <= 5
			       ? ", or lost by a call (r1-r5 do not "
				 "survive calls)"
			       : ""),
		"");
}

/* Bytes behind a pointer to a value or to memory. */
static uint64_t span_of(const struct at *a, const struct nb_reg *r)
{
	if (r->kind == NB_REG_VALUE || r->kind == NB_REG_VALUE_OR_NULL)
		return a->env->img->maps[r->map].value_size;
	return r->size;
}

int nb_check_rdonly(const struct at *a, int number, enum access acc)
{
	if (acc == LOAD)
		return 0;
	return refuse(a, NB_FIND_RDONLY, number,
		      "memory that the program may write", "");
}

int nb_check_span(const struct at *a, int number, const struct nb_range *off,
		  uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	uint64_t limit = span_of(a, r);

	if (off->smin >= 0 && (uint64_t)off->smax <= limit &&
	    size <= limit - (uint64_t)off->smax)
		return nb_check_lock_bytes(a, number, off, size);
	return nb_refuse_span(a->env, a->pc, number, r, off, size, limit);
}

int nb_check_map_access(const struct at *a, int number, enum access acc)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m = &a->env->img->maps[r->map];
	const char *name = nb_map_name(a->env, r->map);

	if (acc == LOAD && m->flags & NB_F_WRONLY_PROG)
		return nb_refuse(
			a->env, NB_FIND_MAP_WRITEONLY, a->pc, number,
			nb_say(a->env, "a map that programs may read"),
			nb_say(a->env, "map %s has BPF_F_WRONLY_PROG", name),
			"");
	if (acc == LOAD)
		return 0;
	if (m->tags & NB_MAPF_COHERENT)
		return nb_refuse(a->env, NB_FIND_MAP_COHERENT, a->pc, number,
				 "a map that programs may write",
				 nb_say(a->env, "map %s is coherent", name),
				 "");
	if (m->tags & NB_MAPF_MERGED && a->env->hook->id == NB_HOOK_CONTROLLER)
		return nb_refuse(a->env, NB_FIND_MAP_READONLY, a->pc, number,
				 "a map that programs may write",
				 nb_say(a->env,
					"map %s is merged over the processes: "
					"controllers only read it",
					name),
				 "");
	if (m->flags & NB_F_RDONLY_PROG || m->origin == NB_ORIGIN_RODATA)
		return nb_refuse(a->env, NB_FIND_MAP_READONLY, a->pc, number,
				 "a map that programs may write",
				 nb_say(a->env, "map %s is read-only (%s)",
					name,
					m->origin == NB_ORIGIN_RODATA
						? "constant data"
						: "BPF_F_RDONLY_PROG"),
				 "");
	return 0;
}

int nb_check_frame(const struct at *a, int number, const struct nb_range *off,
		   uint64_t size)
{
	if (size <= NB_STACK_SIZE && off->smin >= -NB_STACK_SIZE &&
	    off->smax <= -(int64_t)size)
		return 0;
	return nb_refuse_frame(a->env, a->st, a->pc, number, off, size);
}

int nb_check_written(const struct at *a, int number, const struct nb_range *off,
		     uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	int64_t hi = off->smax + (int64_t)size, bad;

	if (a->env->opts.privileged ||
	    nb_stack_written(&a->st->frames[r->frame], off->smin, hi, &bad))
		return 0;
	return nb_refuse_unwritten(a->env, a->st, a->pc, number, off, size,
				   bad);
}

/* Deepest byte used, for the sum over call chains. */
void nb_note_depth(const struct at *a, const struct nb_reg *r,
		   const struct nb_range *off)
{
	uint32_t f = nb_frame_func(a->env, a->st, r->frame, a->pc);
	uint32_t used = (uint32_t)-off->smin;

	if (used > a->env->depth[f])
		a->env->depth[f] = used;
}
