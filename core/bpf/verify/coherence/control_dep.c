// SPDX-License-Identifier: MIT
/*
 * Regions of local control. A nested branch needs no region of its own,
 * because all its paths meet inside the outer region. The effects of a
 * region are collected once from its slots, with the stores that the walk
 * without labels saw.
 */
#include "core/bpf/verify/coherence/control_dep.h"

#include <string.h>

#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/flow/cfg.h"
#include "core/bpf/verify/state/budget.h"

struct nb_effects {
	uint16_t regs;
	uint8_t budget; /* NB_BUDGET_* bits of budgets that the region uses. */
	struct nb_writes stack;
};

/* Limit of slots visited, for all regions of a verification. */
enum { WORK = 20000000, CELLS_A_UNIT = 16 };

bool nb_region_init(struct nb_env *env)
{
	env->regions.effects =
		nb_arena_array(env->program.arena, env->program.n, sizeof(*env->regions.effects));
	env->regions.seen = nb_arena_array(env->program.arena, env->program.n, 1);
	env->regions.worklist =
		nb_arena_array(env->program.arena, env->program.n, sizeof(uint32_t));
	env->regions.work = WORK;
	return env->regions.effects && env->regions.seen && env->regions.worklist;
}

void nb_region_open(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	if (st->region.open)
		return;
	st->region.open = true;
	st->region.frame = (uint8_t)(st->nframes - 1);
	st->region.pc = pc;
	st->region.end = nb_cfg_join(env, pc);
}

/* The state of a visit to all slots of a region. */
struct visit {
	struct nb_env *env;
	struct nb_effects *e;
	uint8_t *seen;
	uint32_t *worklist, n;
	/* The traversal is inside a function that the region calls. */
	bool called;
};

static void add_slot(struct visit *v, uint32_t pc)
{
	if (v->seen[pc] || !(v->env->facts.aux[pc] & NB_AUX_REACHED))
		return;
	v->seen[pc] = 1;
	v->worklist[v->n++] = pc;
}

static void collect_slot(struct visit *v, uint32_t pc)
{
	const struct nb_insn *insn = &v->env->program.insns[pc];
	const struct nb_writes *w = v->env->facts.writes[pc];

	/* A called function preserves r6-r9 of its caller, and its own
	 * registers end with it. */
	if (!v->called)
		v->e->regs |= nb_insn_writes(insn);
	v->e->budget |= nb_budget_of(insn);
	for (unsigned f = 0; w && f < NB_MAX_FRAMES; f++)
		for (unsigned i = 0; i < NB_NCELLS / 64; i++)
			v->e->stack.cells[f][i] |= w->cells[f][i];
}

static void add_next(struct visit *v, uint32_t pc, uint32_t end)
{
	uint32_t next[2];
	unsigned k = nb_cfg_next(&v->env->program, pc, next);

	for (unsigned i = 0; i < k; i++)
		if (v->called || next[i] != end)
			add_slot(v, next[i]);
}

/* Add the functions that the instruction calls, directly or through a
 * helper. */
static void add_called(struct visit *v, uint32_t pc)
{
	const struct nb_insn *insn = &v->env->program.insns[pc];

	if (nb_insn_calls_func(insn))
		add_slot(v, (uint32_t)nb_insn_target(insn, pc));
	for (const struct nb_callee *c = v->env->facts.callees[pc]; c; c = c->next)
		add_slot(v, c->start);
}

/* Visit the slots of the region, then those of the functions it calls. The
 * region may begin at a helper that calls back. */
static void visit_slots(struct visit *v, uint32_t pc, uint32_t end, uint64_t *work)
{
	uint32_t first = 0, own;

	if (nb_calls_back(&v->env->program.insns[pc]))
		v->e->budget |= nb_budget_of(&v->env->program.insns[pc]);
	add_next(v, pc, end);
	while (first < v->n && *work) {
		--*work;
		collect_slot(v, v->worklist[first]);
		add_next(v, v->worklist[first++], end);
	}
	own = v->n;
	v->called = true;
	add_called(v, pc);
	for (uint32_t i = 0; i < v->n && *work; i++) {
		--*work;
		if (i >= own) {
			collect_slot(v, v->worklist[i]);
			add_next(v, v->worklist[i], end);
		}
		add_called(v, v->worklist[i]);
	}
}

static const struct nb_effects *effects_of(struct nb_env *env, const struct nb_region *r)
{
	struct visit v = { env, NULL, NULL, NULL, 0, false };
	uint64_t was;

	if (env->regions.effects[r->pc])
		return env->regions.effects[r->pc];
	v.e = nb_arena_alloc(env->program.arena, sizeof(*v.e));
	if (!v.e) {
		env->walk.nomem = true;
		return NULL;
	}
	env->regions.effects[r->pc] = v.e;
	v.seen = env->regions.seen;
	v.worklist = env->regions.worklist;
	was = env->regions.work;
	visit_slots(&v, r->pc, r->end, &env->regions.work);
	for (uint32_t i = 0; i < v.n; i++)
		v.seen[v.worklist[i]] = 0;
	if (was && env->regions.work)
		return v.e;
	/* The limit of work is reached: assume that the region writes
	 * everything. */
	v.e->regs = 0x3ff;
	v.e->budget = NB_BUDGET_PASSES | NB_BUDGET_ITERATIONS;
	memset(&v.e->stack, 0xff, sizeof(v.e->stack));
	return v.e;
}

static void taint_stack(struct nb_env *env, struct nb_state *st, const struct nb_effects *e,
			uint32_t from)
{
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];

		env->walk.work += f->ncells / CELLS_A_UNIT;
		for (uint32_t c = 0; c < f->ncells; c++) {
			if (!(e->stack.cells[i][c / 64] >> c % 64 & 1))
				continue;
			f->cells[c].local = 0xf;
			f->cells[c].from = from;
			nb_label_taint(&f->cells[c].reg, from);
			/* If half of a spilled scalar changed, the whole
			 * scalar changed. */
			if (f->cells[c].kind == NB_CELL_SPILL8_HI) {
				nb_label_taint(&f->cells[c + 1].reg, from);
				f->cells[c + 1].local = 0xf;
				f->cells[c + 1].from = from;
			}
		}
	}
}

void nb_region_close(struct nb_env *env, struct nb_state *st)
{
	const struct nb_effects *e = effects_of(env, &st->region);
	struct nb_frame *f = nb_top(st);
	uint32_t from = st->region.pc;

	memset(&st->region, 0, sizeof(st->region));
	if (!e)
		return;
	for (unsigned i = 0; i < NB_R10; i++)
		if (e->regs & 1u << i)
			nb_label_taint(&f->regs[i], from);
	taint_stack(env, st, e, from);
	nb_budget_spend_locally(env, st, e->budget);
}
