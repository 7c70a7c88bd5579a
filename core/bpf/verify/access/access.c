// SPDX-License-Identifier: MIT
/*
 * Checks that features and instructions share: a register is initialised,
 * an access stays inside its memory, a map may be read or written. These
 * checks only read the state.
 */
#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

int nb_check_init(const struct at *a, int number)
{
	if (reg(a, number)->kind != NB_REG_UNINIT)
		return 0;
	return refuse(a, number >= 1 && number <= 5 ? NB_RULE_UNINIT_CALL : NB_RULE_UNINIT,
		      .reg = number);
}

/* Return the size in bytes of the value or memory that the pointer refers
 * to. */
static uint64_t span_of(const struct at *a, const struct nb_reg *r)
{
	if (r->kind == NB_REG_VALUE || r->kind == NB_REG_VALUE_OR_NULL)
		return a->env->program.img->maps[r->map].value_size;
	return r->size;
}

int nb_check_span(const struct at *a, int number, const struct nb_range *off, uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	uint64_t limit = span_of(a, r);

	if (off->smin >= 0 && (uint64_t)off->smax <= limit && size <= limit - (uint64_t)off->smax)
		return 0;
	return nb_refuse_span(a->env,
			      FACTS(a, .reg = number, .off = off, .size = size, .limit = limit));
}

int nb_check_map_access(const struct at *a, int number, enum access acc)
{
	const struct nb_reg *r = reg(a, number);
	const struct nb_map_spec *m = &a->env->program.img->maps[r->map];

	if (acc == LOAD && m->flags & NB_F_WRONLY_PROG)
		return refuse(a, NB_RULE_MAP_WRITEONLY, .reg = number, .map = r->map);
	if (acc == LOAD)
		return 0;
	if (m->tags & NB_MAPF_COHERENT)
		return refuse(a, NB_RULE_MAP_COHERENT, .reg = number, .map = r->map);
	if (m->tags & NB_MAPF_MERGED && a->env->program.hook->id == NB_HOOK_CONTROLLER)
		return refuse(a, NB_RULE_MAP_MERGED, .reg = number, .map = r->map);
	/* Constant data has this flag too (core/bpf/image/mapspec.c). */
	if (m->flags & NB_F_RDONLY_PROG)
		return refuse(a,
			      m->origin == NB_ORIGIN_RODATA ? NB_RULE_MAP_CONSTANT
							    : NB_RULE_MAP_READONLY,
			      .reg = number, .map = r->map);
	return 0;
}

int nb_check_memory(const struct at *a, int number, const struct nb_range *off, uint64_t size,
		    enum access acc)
{
	int rc = nb_check_span(a, number, off, size);

	if (rc)
		return rc;
	if (reg(a, number)->kind == NB_REG_VALUE)
		return nb_check_map_access(a, number, acc);
	if (reg(a, number)->kind == NB_REG_RDONLY && acc == STORE)
		return refuse(a, NB_RULE_RDONLY, .reg = number);
	return 0;
}

int nb_check_frame(const struct at *a, int number, const struct nb_range *off, uint64_t size)
{
	if (size <= NB_STACK_SIZE && off->smin >= -NB_STACK_SIZE && off->smax <= -(int64_t)size)
		return 0;
	return nb_refuse_frame(a->env, FACTS(a, .reg = number, .off = off, .size = size));
}

int nb_check_written(const struct at *a, int number, const struct nb_range *off, uint64_t size)
{
	const struct nb_reg *r = reg(a, number);
	int64_t hi = off->smax + (int64_t)size, bad;

	if (a->env->program.opts.privileged ||
	    nb_stack_written(&a->st->frames[r->frame], off->smin, hi, &bad))
		return 0;
	return nb_refuse_unwritten(a->env, FACTS(a, .reg = number, .off = off, .size = size), bad);
}

/* Record the deepest stack byte used, for the sum over call chains. */
void nb_note_depth(const struct at *a, const struct nb_reg *r, const struct nb_range *off)
{
	uint32_t f = nb_frame_func(&a->env->program, a->st, r->frame, a->pc);
	uint32_t used = (uint32_t)-off->smin;

	if (used > a->env->walk.found.depth[f])
		a->env->walk.found.depth[f] = used;
}

void nb_note_write(struct nb_env *env, uint32_t pc, uint32_t frame, uint32_t cell)
{
	struct nb_writes *w = env->walk.found.writes[pc];

	if (env->walk.how.labels)
		return;
	if (!w)
		w = env->walk.found.writes[pc] = nb_arena_alloc(env->program.arena, sizeof(*w));
	if (!w) {
		env->walk.nomem = true;
		return;
	}
	w->cells[frame][cell / 64] |= (uint64_t)1 << cell % 64;
}
