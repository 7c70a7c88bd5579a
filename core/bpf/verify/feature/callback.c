// SPDX-License-Identifier: MIT
/*
 * Helpers that call functions back. The walk enters the callback, so it sees
 * what the callback does. This file models the loop around the callback: its
 * arguments, the number of iterations and the helper's result.
 *
 * Termination. Each iteration uses up one of those that the helper allows. So
 * a state before an iteration is pruned by an earlier state before an
 * iteration *of the same helper call*, although paths from that state are
 * still open: no cycle of such steps is endless. Comparisons therefore include
 * the helper call (struct nb_frame, @loop). Without it, a state inside another
 * call could prune an endless loop around the calls:
 *
 *     while (flag) { flag = 0; bpf_loop(1, set_flag, &flag, 0); }
 *
 * Coherence. The callback's r0 and the number of iterations decide whether
 * there is a next one. If rank-local data decides that, the rest of the call
 * is a region of local control, and everything that callbacks write is
 * rank-local after it (control_dep.c). The same holds for a loop that may run
 * out of iterations after rank-local data decided how many were spent
 * (budget.c).
 */
#include "core/bpf/verify/feature/callback.h"

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/access/refs.h"
#include "core/bpf/verify/coherence/control_dep.h"
#include "core/bpf/verify/feature/call.h"
#include "core/bpf/verify/feature/resources.h"
#include "core/bpf/verify/state/budget.h"
#include "core/bpf/verify/state/found.h"

/* At most this many iterations of a loop are counted one by one. This bounds the
 * cost of a walk. NB_MAX_COUNTED_RANGE has the same value for another reason: a
 * run must grant the numbers of counted iterators. */
enum { COUNTED = 4096 };

static const struct nb_helper_spec *helper(const struct nb_insn *insn)
{
	return nb_spec_helper((int32_t)insn->imm);
}

/* Return the register of the top frame that holds argument @kind of the
 * helper. */
static struct nb_reg *arg(const struct nb_env *env, struct nb_state *st, uint32_t pc,
			  enum nb_arg kind)
{
	int i = nb_arg_of(helper(&env->program.insns[pc]), kind);

	return i < 0 ? NULL : &nb_top(st)->regs[i + 1];
}

/* Return the map whose elements the helper iterates over; NULL if it counts
 * numbers. */
static const struct nb_map_spec *map_of(const struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_reg *map = arg(env, st, pc, NB_ARG_MAP);

	return map ? &env->program.img->maps[map->map] : NULL;
}

int nb_check_callback(const struct at *a, int number)
{
	const struct nb_reg *r = reg(a, number);

	if (r->kind != NB_REG_FUNC)
		return refuse(a, NB_RULE_CALLBACK, .reg = number);
	/* nb_cfg_stack adds up call chains along the code, so a callback
	 * may only be passed by the function that took its address. */
	if (r->r.t.value != a->env->program.cfg.func_of[a->pc])
		return refuse(a, NB_RULE_CALLBACK_PLACE, .reg = number);
	if (a->st->nframes == NB_MAX_FRAMES)
		return refuse(a, NB_RULE_CALLBACK_DEPTH, .reg = -1, .limit = NB_MAX_FRAMES);
	return 0;
}

int nb_check_callback_return(const struct at *a)
{
	const struct nb_reg *r = reg(a, 0);
	int rc = nb_check_all_returned(a, a->st->nframes - 1);

	if (!rc)
		rc = nb_check_init(a, 0);
	if (rc)
		return rc;
	if (r->kind == NB_REG_SCALAR && r->r.umax <= 1)
		return 0;
	return refuse(a, NB_RULE_CALLBACK_RETURN, .reg = 0);
}

/* Return the most iterations of the call; UINT32_MAX if they are not
 * counted. */
static uint32_t limit(const struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_map_spec *m = map_of(env, st, pc);
	const struct nb_reg *n = &nb_top(st)->regs[1];

	/* Programs may add elements to a map other than an array during the
	 * iteration. */
	if (m)
		return nb_map_is_array(m) ? m->max_entries : UINT32_MAX;
	return n->r.umax32 < NB_LOOP_MAX ? n->r.umax32 : NB_LOOP_MAX;
}

/* Return the most iterations over @m, including elements that come and go. */
static uint64_t most_iterations(const struct nb_map_spec *m)
{
	return m->max_entries * (nb_map_is_array(m) ? 1ull : 2);
}

uint32_t nb_callback_times(const struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	uint32_t most = limit(env, st, pc);
	bool constant = map_of(env, st, pc) || nb_range_is_const(&nb_top(st)->regs[1].r);

	return constant && most != UINT32_MAX ? most : 0;
}

void nb_callback_begin(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_map_spec *m = map_of(env, st, pc);

	nb_budget_loop(env, st, m ? most_iterations(m) : limit(env, st, pc));
	nb_top(st)->loop = ++env->walk.ids;
	nb_top(st)->invocations = 0;
	nb_top(st)->counted = env->walk.how.mode != NB_WALK_WIDEN && limit(env, st, pc) <= COUNTED;
}

static bool decided_locally(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	const struct nb_helper_spec *h = helper(&env->program.insns[pc]);
	const struct nb_map_spec *m = map_of(env, st, pc);
	bool local = false;

	/* The number of iterations, the callback and the flags decide; its
	 * context does not. */
	for (unsigned i = 0; i < 5; i++)
		if (h->arg[i] != NB_ARG_NONE && h->arg[i] != NB_ARG_CALLBACK_CTX)
			local |= nb_top(st)->regs[i + 1].label == NB_LABEL_LOCAL;
	if (m && nb_map_elements_are_local(m)) {
		env->walk.found.saw_local = true;
		local = true;
	}
	return (env->walk.how.labels && local) || nb_budget_is_short(env, st);
}

void nb_callback_iterate(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	if (decided_locally(env, st, pc))
		nb_region_open(env, st, pc);
}

bool nb_callback_more(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	uint32_t most = limit(env, st, pc);

	return nb_top(st)->counted ? nb_top(st)->invocations < most : most > 0;
}

/* Label a value that the helper creates for the callback. */
static struct nb_reg made(const struct nb_state *st, struct nb_reg r)
{
	if (st->region.open)
		nb_label_taint(&r, st->region.pc);
	return r;
}

/* Set the callback's arguments of bpf_loop: r1 is the number of the
 * iteration, r2 the context that the program passed. */
static void number_arguments(struct nb_env *env, struct nb_state *st, uint32_t pc,
			     struct nb_frame *to)
{
	uint32_t most = limit(env, st, pc);
	struct nb_range at = nb_range_u(0, most - 1);

	if (nb_top(st)->counted)
		at = nb_range_const(nb_top(st)->invocations);
	to->regs[1] = made(st, nb_reg_scalar(at));
	to->regs[2] = *arg(env, st, pc, NB_ARG_CALLBACK_CTX);
}

/*
 * Set the callback's arguments of bpf_for_each_map_elem: r1 is the map, r2
 * the key, r3 the value, r4 the context that the program passed. The order
 * of a hash map's elements differs between ranks even if the contents are
 * the same, because it depends on the order of the insertions.
 */
static void element_arguments(struct nb_env *env, struct nb_state *st, uint32_t pc,
			      struct nb_frame *to)
{
	const struct nb_map_spec *m = map_of(env, st, pc);
	struct nb_reg key = nb_reg_pointer(NB_REG_RDONLY), value;

	/* The key may lie in the helper's own frame and live no longer than
	 * that frame. */
	key.size = m->key_size;
	key.ref = nb_top(st)->loop;
	value = nb_reg_pointer(NB_REG_VALUE);
	value.map = nb_top(st)->regs[1].map;
	if (!nb_map_is_array(m)) {
		nb_label_begin(env, &key, pc);
		nb_label_begin(env, &value, pc);
	}
	to->regs[1] = nb_top(st)->regs[1];
	to->regs[2] = made(st, key);
	to->regs[3] = made(st, value);
	to->regs[4] = *arg(env, st, pc, NB_ARG_CALLBACK_CTX);
}

uint32_t nb_callback_enter(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	struct nb_frame *to = nb_frame_next(st, pc + 1);
	uint32_t start = arg(env, st, pc, NB_ARG_FUNC)->map;

	nb_callee_note(env, pc, start);
	to->callback = true;
	if (map_of(env, st, pc))
		element_arguments(env, st, pc, to);
	else
		number_arguments(env, st, pc, to);
	nb_top(st)->invocations++;
	st->nframes++;
	return start;
}

bool nb_callback_return(struct nb_env *env, struct nb_state *st)
{
	uint32_t pc = nb_top(st)->ret - 1;
	struct nb_reg r0 = nb_frame_leave(env, st);

	if (env->walk.how.labels && r0.label == NB_LABEL_LOCAL)
		nb_region_open(env, st, pc);
	return !nb_reg_is_const(&r0) || nb_reg_is_zero(&r0);
}

/* Leave the helper: r0 becomes -EINVAL (bad flags), -E2BIG, or the number
 * of iterations. */
void nb_callback_leave(struct nb_env *env, struct nb_state *st, uint32_t pc)
{
	uint32_t most = limit(env, st, pc);
	struct nb_frame *f = nb_top(st);

	if (map_of(env, st, pc))
		nb_ref_end(env, st, pc, f->loop);
	nb_clobber(st);
	f->regs[0] = made(st, nb_reg_scalar(nb_range_s(-22, most)));
	f->counted = false;
	f->loop = f->invocations = 0;
}
