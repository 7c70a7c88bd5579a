// SPDX-License-Identifier: MIT
/* Control flow: find the slots that may follow an instruction, and the
 * state for each. */
#include "core/bpf/verify/engine/transfer.h"

#include "core/bpf/verify/coherence/control_dep.h"
#include "core/bpf/verify/engine/explored.h"
#include "core/bpf/verify/engine/limits.h"
#include "core/bpf/verify/engine/loop_cost.h"
#include "core/bpf/verify/engine/memory.h"
#include "core/bpf/verify/engine/precision.h"
#include "core/bpf/verify/engine/run_length.h"
#include "core/bpf/verify/engine/worklist.h"
#include "core/bpf/verify/feature/call.h"
#include "core/bpf/verify/feature/callback.h"
#include "core/bpf/verify/feature/helper_cost.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/flow/cfg.h"
#include "core/bpf/verify/insn/branch.h"
#include "core/bpf/verify/insn/step.h"
#include "core/bpf/verify/report/refuse.h"
#include "core/bpf/verify/state/budget.h"

/* Record what the program returns. Do all ranks return the same? */
static int note_exit(struct nb_walk *w)
{
	struct nb_env *env = w->env;
	const struct nb_reg *r0 = &nb_top(w->st)->regs[0];
	bool local = r0->label == NB_LABEL_LOCAL || w->st->region.open;
	uint32_t from = r0->label == NB_LABEL_LOCAL ? r0->from : w->st->region.pc;

	if (env->walk.how.replay)
		return local ? nb_refuse(env, NB_RULE_LOCAL_VERDICT,
					 &(struct nb_refusal){ .pc = w->pc, .where = from })
			     : 0;

	if (!nb_reg_is_const(r0) ||
	    (env->walk.found.exits.seen && env->walk.found.exits.value != r0->r.t.value))
		env->walk.found.exits.mixed = true;
	/*
	 * "All exits return this constant" is a conclusion, so the returned
	 * value becomes precise.
	 */
	if (!env->walk.found.exits.mixed)
		nb_mark(env, r0->deps);
	env->walk.found.exits.seen = true;
	env->walk.found.exits.value = r0->r.t.value;
	if (local && env->walk.found.exits.local == NB_NO_PC) {
		env->walk.found.exits.local = w->pc;
		env->walk.found.exits.from = from;
		nb_way_keep(env, &env->walk.found.exits.way);
	}
	return 0;
}

/* Mark the operands of a jump with one possible outcome as precise: their
 * values rule the other outcome out. */
static void mark_operands(struct nb_walk *w)
{
	const struct nb_insn *insn = &w->env->program.insns[w->pc];
	const struct nb_reg *regs = nb_top(w->st)->regs;

	nb_mark(w->env, regs[insn->dst].deps);
	if (insn->operand == NB_OPND_REG)
		nb_mark(w->env, regs[insn->src].deps);
}

static void note_outcomes(struct nb_walk *w, bool taken, bool falls)
{
	nb_history_set(w, !falls, taken && falls);
	w->env->walk.found.aux[w->pc] |=
		(uint8_t)((taken ? NB_AUX_BRANCH_TAKEN : 0) | (falls ? NB_AUX_BRANCH_FALLS : 0));
}

/* Begin a branch at w->pc: if rank-local data decides it, the code that
 * follows is under local control. */
static void begin_branch(struct nb_walk *w)
{
	uint32_t from;

	if (nb_step_branch_local(w->env, w->st, w->pc, &from))
		nb_region_open(w->env, w->st, w->pc);
	nb_history_add(w, w->pc);
}

/* Follow both outcomes of a jump whose operands do not decide it. */
static int fork(struct nb_walk *w, uint32_t to)
{
	struct nb_env *env = w->env;
	bool pointers = nb_step_branch_pointers(&env->program, w->st, w->pc);
	struct nb_saved *before;
	bool taken, falls;
	uint32_t size;
	int rc;

	before = nb_walk_save_all(w, &size);
	if (!before)
		return nb_over_memory(w);
	if (pointers)
		mark_operands(w);
	taken = nb_step_branch(env, w->st, w->pc, true);
	rc = taken ? nb_worklist_push(w, to) : 0;
	nb_state_restore(w->st, before);
	falls = nb_step_branch(env, w->st, w->pc, false);
	if (!rc && !taken && !falls) {
		/* The facts contradict each other and prove nothing: walk
		 * both outcomes without refined values. */
		nb_state_restore(w->st, before);
		rc = nb_worklist_push(w, to);
		taken = falls = true;
	}
	nb_block_give(w, before, size);
	if (rc)
		return rc;
	/* The range of a linked scalar excludes one outcome. This is rare. */
	if (taken != falls && !pointers)
		nb_mark_all(env, w->st);
	note_outcomes(w, taken, falls);
	if (falls) {
		w->pc++;
		return 0;
	}
	/* The only possible outcome is on the worklist: continue with it. */
	if (w->latest)
		w->latest->open--;
	nb_worklist_pop(w);
	return 0;
}

static int branch(struct nb_walk *w)
{
	uint32_t to = (uint32_t)nb_insn_target(&w->env->program.insns[w->pc], w->pc);
	bool taken;

	begin_branch(w);
	if (!nb_step_branch_known(&w->env->program, w->st, w->pc, &taken))
		return fork(w, to);
	mark_operands(w);
	note_outcomes(w, taken, !taken);
	w->pc = taken ? to : w->pc + 1;
	return 0;
}

/* Walk a may_goto. It jumps if the budget is used up. Otherwise it falls
 * through and uses up one pass. */
static int may_goto(struct nb_walk *w, bool *more)
{
	uint32_t pc = w->pc;
	int rc;

	begin_branch(w);
	note_outcomes(w, true, true);
	nb_budget_pass(w->st);
	rc = nb_worklist_push(w, (uint32_t)nb_insn_target(&w->env->program.insns[pc], pc));
	if (rc)
		return rc;
	w->pc++;
	w->may_gotos++;
	nb_iteration_count(w);
	nb_loop_iterate(w, pc);
	return nb_prune_at_iteration(w, pc, 0, w->env->walk.how.mode != NB_WALK_EXACT, more);
}

typedef void step_fn(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Push the path that continues at @to after @step; keep the current state. */
static int push_after(struct nb_walk *w, step_fn *step, uint32_t pc, uint32_t to)
{
	struct nb_saved *before;
	uint32_t size;
	int rc;

	before = nb_walk_save_all(w, &size);
	if (!before)
		return nb_over_memory(w);
	step(w->env, w->st, pc);
	rc = nb_worklist_push(w, to);
	nb_state_restore(w->st, before);
	nb_block_give(w, before, size);
	return rc;
}

/* Walk the point before an iteration of a helper that calls back: leave the
 * loop, or enter the callback once more. */
static int walk_call_back(struct nb_walk *w, bool *more)
{
	bool again = nb_top(w->st)->loop != 0;
	uint32_t pc = w->pc;
	int rc;

	if (!again) {
		nb_length_add_helper(w);
		nb_loop_enter(w, &(struct nb_loop_entry){
					 .pc = pc, .times = nb_callback_times(w->env, w->st, pc) });
		nb_callback_begin(w->env, w->st, pc);
	} else {
		nb_iteration_count(w);
		nb_loop_iterate(w, pc);
	}
	nb_length_add_call(w, nb_iteration_weight(&w->env->program, w->st, pc));
	nb_history_add(w, pc);
	nb_callback_iterate(w->env, w->st, pc);
	rc = nb_prune_at_iteration(w, pc, nb_top(w->st)->loop, again && !nb_top(w->st)->counted,
				   more);
	if (rc || !*more)
		return rc;
	w->pc++;
	if (!nb_callback_more(w->env, w->st, pc)) {
		nb_history_set(w, true, false);
		nb_callback_leave(w->env, w->st, pc);
		return 0;
	}
	nb_history_set(w, false, true);
	rc = push_after(w, nb_callback_leave, pc, w->pc);
	if (!rc)
		w->pc = nb_callback_enter(w->env, w->st, pc);
	return rc;
}

static void return_from_callback(struct nb_walk *w)
{
	w->pc = nb_top(w->st)->ret - 1;
	if (nb_callback_return(w->env, w->st))
		return;
	nb_iteration_count(w);
	nb_loop_iterate(w, w->pc);
	nb_callback_leave(w->env, w->st, w->pc);
	w->pc++;
}

static void enter_iterator(struct nb_walk *w)
{
	struct nb_loop_entry e = { .pc = w->pc, .times = nb_iter_times(w->st) };

	nb_step(w->env, w->st, w->pc, &w->access);
	e.ref = w->st->refs[w->st->nrefs - 1].id;
	e.kept = nb_iter_is_kept(w->st, e.ref, &e.times);
	nb_loop_enter(w, &e);
}

static void end_iterator(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	nb_iter_next(env, st, pc, false);
}

/* Step bpf_iter_num_next, which yields one more number or the end. */
static int step_iterator(struct nb_walk *w, bool *more)
{
	bool on = nb_iter_may_go_on(w->st), end = nb_iter_may_end(w->st);
	uint32_t pc = w->pc++, ref = nb_iter_ref(w->st);
	uint32_t from = nb_iter_begun_at(w->st);
	int rc = 0;

	nb_history_add(w, pc);
	nb_history_set(w, !on, on && end);
	if (on && end)
		rc = push_after(w, end_iterator, pc, w->pc);
	nb_iter_next(w->env, w->st, pc, on);
	if (on) {
		nb_iteration_count(w);
		nb_loop_iterate(w, from);
	}
	/* Constant numbers are walked one by one, like the iterations of
	 * any loop. */
	if (rc || !on || !end)
		return rc;
	return nb_prune_at_iteration(w, pc, ref, true, more);
}

static int walk_call_local(struct nb_walk *w)
{
	uint32_t pc = w->pc;

	nb_call_enter(w->st, pc);
	w->pc = (uint32_t)nb_insn_target(&w->env->program.insns[pc], pc);
	return 0;
}

static int leave_function(struct nb_walk *w, bool *more)
{
	struct nb_state *st = w->st;

	if (st->nframes == 1) {
		*more = false;
		nb_iteration_end(w, 0);
		return note_exit(w);
	}
	if (nb_top(st)->callback) {
		return_from_callback(w);
		return 0;
	}
	w->pc = nb_top(st)->ret;
	nb_call_leave(w->env, st);
	return 0;
}

int nb_advance(struct nb_walk *w, bool *more)
{
	struct nb_env *env = w->env;
	const struct nb_insn *insn = &env->program.insns[w->pc];

	switch (insn->kind) {
	case NB_KIND_JMP:
		return branch(w);
	case NB_KIND_MAY_GOTO:
		return may_goto(w, more);
	case NB_KIND_JA:
		w->pc = (uint32_t)nb_insn_target(insn, w->pc);
		return 0;
	case NB_KIND_EXIT:
		return leave_function(w, more);
	case NB_KIND_CALL:
		if (nb_insn_calls_func(insn))
			return walk_call_local(w);
		nb_step_addresses(env, w->st, w->pc);
		if (nb_calls_back(insn))
			return walk_call_back(w, more);
		if (nb_is_iter_next(insn))
			return step_iterator(w, more);
		nb_length_add_helper(w);
		break;
	}
	if (nb_insn_effect(insn) == NB_EFFECT_ITER_NEW)
		enter_iterator(w);
	else
		nb_step(env, w->st, w->pc, &w->access);
	w->pc += insn->kind == NB_KIND_LDDW ? 2 : 1;
	return 0;
}
