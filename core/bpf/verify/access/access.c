// SPDX-License-Identifier: MIT
/*
 * Checks that features and instructions share: a register is initialised,
 * an access stays inside its memory, a map may be read or written. These
 * checks do not change the state, but record the stack's depth and writes in
 * env->walk.found.
 */
#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

int nb_check_init(const struct at *a, int number)
{
	if (reg(a, number)->kind != NB_REG_UNINIT)
		return 0;
	if (a->insn->kind == NB_KIND_EXIT)
		return refuse(a, NB_RULE_UNINIT_RETURN, .reg = number);
	return refuse(a, number >= 1 && number <= 5 ? NB_RULE_UNINIT_CALL : NB_RULE_UNINIT,
		      .reg = number);
}

static int check_span(const struct at *a, const struct nb_mem_access *x)
{
	const struct nb_range *off = &x->off;

	if (off->smin >= 0 && (uint64_t)off->smax <= x->limit &&
	    x->size <= x->limit - (uint64_t)off->smax)
		return 0;
	return nb_refuse_span(
		a->env, FACTS(a, .reg = x->reg, .off = off, .size = x->size, .limit = x->limit));
}

/* Programs on the other hooks run at different moments on each rank. */
static bool knows_replicated(const struct at *a)
{
	enum nb_hook hook = a->env->program.hook->id;

	return hook == NB_HOOK_TUNER || hook == NB_HOOK_COLL_API;
}

int nb_check_replicated(const struct at *a, int number)
{
	uint32_t map = reg(a, number)->map;

	if (!(a->env->program.img->maps[map].tags & NB_MAPF_REPLICATED))
		return 0;
	if (!knows_replicated(a))
		return refuse(a, NB_RULE_MAP_REPLICATED, .reg = number, .map = map);
	if (a->helper->id != NB_HELPER_LOOKUP)
		return refuse(a, NB_RULE_MAP_REPLICATED_HELPER, .reg = number, .map = map);
	return 0;
}

/*
 * Check a store into a replicated map: by induction over the calls of the
 * communicator, the map is equal on all ranks if all ranks store equal values
 * at equal places. nb_check_map_access has found the map behind x->reg.
 */
static int check_state_store(const struct at *a, const struct nb_mem_access *x)
{
	uint32_t map = reg(a, x->reg)->map;
	int number = (uint8_t)(x->value >= 0 ? x->value : x->reg);

	if (a->env->program.hook->id != NB_HOOK_COLL_API)
		return refuse(a, NB_RULE_MAP_REPLICATED_READ, .reg = x->reg, .map = map);
	if (a->helper || a->insn->kind == NB_KIND_ATOMIC || a->insn->traits & NB_INSN_ORDERED ||
	    (x->value >= 0 && nb_reg_is_pointer(reg(a, x->value))))
		return refuse(a, NB_RULE_MAP_REPLICATED_STORE, .reg = number, .map = map);
	if (!a->env->walk.how.labels)
		return 0;
	if (reg(a, number)->label != NB_LABEL_LOCAL)
		number = (uint8_t)x->reg;
	if (reg(a, number)->label == NB_LABEL_LOCAL)
		return refuse(a, NB_RULE_LOCAL_STATE, .reg = number, .map = map,
			      .where = reg(a, number)->from);
	if (a->st->region.open)
		return refuse(a, NB_RULE_LOCAL_STATE_CONTROL, .reg = x->reg, .map = map,
			      .where = a->st->region.pc);
	return 0;
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

int nb_check_memory(const struct at *a, const struct nb_mem_access *x)
{
	int rc = check_span(a, x);

	if (!rc && x->map && x->loads)
		rc = nb_check_map_access(a, x->reg, LOAD);
	if (!rc && x->map && x->stores)
		rc = nb_check_map_access(a, x->reg, STORE);
	if (!rc && x->map && x->stores && x->map->tags & NB_MAPF_REPLICATED)
		rc = check_state_store(a, x);
	if (!rc && x->kind == NB_REG_RDONLY && x->stores)
		rc = refuse(a, NB_RULE_RDONLY, .reg = x->reg);
	return rc;
}

/* Record the deepest stack byte used, for the sum over call chains. */
static void note_depth(const struct at *a, const struct nb_mem_access *x)
{
	uint32_t f = nb_frame_func(&a->env->program, a->st, x->frame, a->pc);
	uint32_t used = (uint32_t)-x->off.smin;

	if (used > a->env->walk.found.depth[f])
		a->env->walk.found.depth[f] = used;
}

int nb_check_frame(const struct at *a, const struct nb_mem_access *x)
{
	const struct nb_range *off = &x->off;

	if (x->size <= NB_STACK_SIZE && off->smin >= -NB_STACK_SIZE &&
	    off->smax <= -(int64_t)x->size) {
		note_depth(a, x);
		return 0;
	}
	return nb_refuse_frame(a->env, FACTS(a, .reg = x->reg, .off = off, .size = x->size));
}

int nb_check_written(const struct at *a, const struct nb_mem_access *x)
{
	int64_t bad;

	if (nb_stack_written(&a->st->frames[x->frame], x->off.smin, nb_access_end(x), &bad))
		return 0;
	return nb_refuse_unwritten(a->env, FACTS(a, .reg = x->reg, .off = &x->off, .size = x->size),
				   bad);
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
