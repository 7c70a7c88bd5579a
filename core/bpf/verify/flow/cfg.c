// SPDX-License-Identifier: MIT
/*
 * The control-flow graph of a program: functions, edges, reachable slots,
 * live registers, and where branches meet. All passes are bounded: liveness
 * by its lattice, post-dominators by a budget. Beyond that budget a branch
 * counts as meeting at the end of its function.
 */
#include "core/bpf/verify/flow/cfg.h"

#include <string.h>

#include "core/bpf/verify/report/refuse.h"

enum {
	MAX_FUNCS = 256,
	/* Limit of the steps up the tree of post-dominators (meet_dominators()), in all
	 * functions and passes together. */
	WORK = 4000000
};

static const struct nb_insn *at(const struct nb_program *program, uint32_t pc)
{
	return &program->insns[pc];
}

unsigned nb_cfg_next(const struct nb_program *program, uint32_t pc, uint32_t next[2])
{
	const struct nb_insn *insn = at(program, pc);

	if (insn->kind == NB_KIND_EXIT)
		return 0;
	next[0] = pc + (insn->kind == NB_KIND_LDDW ? 2 : 1);
	if (!(insn->traits & NB_INSN_JUMP))
		return 1;
	next[insn->kind != NB_KIND_JA] = (uint32_t)nb_insn_target(insn, pc);
	return insn->kind == NB_KIND_JA ? 1 : 2;
}

static int refuse_target(struct nb_env *env, uint32_t pc, int64_t to)
{
	struct nb_refusal x = {
		.pc = pc, .reg = -1, .number = to, .to = to - 1, .limit = env->program.n - 1
	};

	return nb_refuse(
		env, to >= 0 && to < env->program.n ? NB_RULE_JUMP_LDDW : NB_RULE_JUMP_RANGE, &x);
}

static bool lands(const struct nb_program *program, int64_t to)
{
	return to >= 0 && to < program->n && at(program, (uint32_t)to)->kind != NB_KIND_LDDW_HI;
}

static int mark_entry(struct nb_env *env, uint8_t *entry, uint32_t *n, uint32_t pc)
{
	if (entry[pc])
		return 0;
	entry[pc] = 1;
	if (++*n > MAX_FUNCS)
		return nb_refuse_program(env, NB_RULE_FUNCS, .pc = pc, .limit = MAX_FUNCS);
	return 0;
}

static const char *declared_name(const struct nb_program *program, uint32_t pc)
{
	for (uint32_t i = 0; i < program->prog->nfuncs; i++)
		if (program->prog->funcs[i].start == pc)
			return program->prog->funcs[i].name;
	return pc ? NULL : program->prog->name;
}

/* Find the functions. A function begins at each declared start, call target
 * and function whose address is taken. It ends where the next one begins. */
static int find_funcs(struct nb_env *env)
{
	struct nb_cfg *cfg = &env->program.cfg;
	uint8_t *entry = nb_arena_array(env->program.arena, env->program.n, 1);
	uint32_t n = 0, f = 0;

	if (!entry)
		return NB_E_NOMEM;
	if (mark_entry(env, entry, &n, 0))
		return NB_E_VERIFY;
	for (uint32_t i = 0; i < env->program.prog->nfuncs; i++) {
		uint32_t start = env->program.prog->funcs[i].start;

		if (lands(&env->program, start) && mark_entry(env, entry, &n, start))
			return NB_E_VERIFY;
	}
	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		const struct nb_insn *insn = at(&env->program, pc);

		if (!nb_insn_names_func(insn))
			continue;
		if (!lands(&env->program, nb_insn_target(insn, pc)))
			return nb_refuse_program(env, NB_RULE_CALL_TARGET, .pc = pc,
						 .limit = env->program.n - 1,
						 .number = nb_insn_target(insn, pc));
		if (mark_entry(env, entry, &n, (uint32_t)nb_insn_target(insn, pc)))
			return NB_E_VERIFY;
	}
	cfg->funcs = nb_arena_array(env->program.arena, n, sizeof(*cfg->funcs));
	cfg->func_of = nb_arena_array(env->program.arena, env->program.n, sizeof(uint16_t));
	if (!cfg->funcs || !cfg->func_of)
		return NB_E_NOMEM;
	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		if (entry[pc]) {
			if (f)
				cfg->funcs[f - 1].end = pc;
			cfg->funcs[f].start = pc;
			cfg->funcs[f++].name = declared_name(&env->program, pc);
		}
		cfg->func_of[pc] = (uint16_t)(f - 1);
	}
	cfg->funcs[f - 1].end = env->program.n;
	cfg->nfuncs = f;
	return 0;
}

static int check_jump(struct nb_env *env, uint32_t pc)
{
	const struct nb_insn *insn = at(&env->program, pc);
	int64_t to = nb_insn_target(insn, pc);

	if (!lands(&env->program, to))
		return refuse_target(env, pc, to);
	if (env->program.cfg.func_of[to] != env->program.cfg.func_of[pc])
		return nb_refuse_program(env, NB_RULE_JUMP_FUNC, .pc = pc, .number = to);
	return 0;
}

static int check_edges(struct nb_env *env)
{
	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		const struct nb_insn *insn = at(&env->program, pc);
		const struct nb_cfg_func *f = &env->program.cfg.funcs[env->program.cfg.func_of[pc]];
		uint32_t next[2];
		unsigned n;

		if (insn->kind == NB_KIND_LDDW_HI)
			continue;
		if (insn->traits & NB_INSN_JUMP && check_jump(env, pc))
			return NB_E_VERIFY;
		n = nb_cfg_next(&env->program, pc, next);
		if (n && insn->kind != NB_KIND_JA && next[0] >= f->end)
			return nb_refuse_program(env, NB_RULE_FALL_OFF, .pc = pc, .name = f->name);
	}
	return 0;
}

/* Visit every slot reachable from function @f; calls add functions to the
 * worklist. */
static void visit_reachable(struct nb_program *program, uint32_t f, uint32_t *worklist)
{
	struct nb_cfg *cfg = &program->cfg;
	uint32_t n = 0, next[2];

	worklist[n++] = cfg->funcs[f].start;
	while (n) {
		uint32_t pc = worklist[--n];
		unsigned k;

		if (cfg->mark[pc] & NB_MARK_REACHED)
			continue;
		cfg->mark[pc] |= NB_MARK_REACHED;
		k = nb_cfg_next(program, pc, next);
		for (unsigned i = 0; i < k; i++)
			worklist[n++] = next[i];
		if (nb_insn_names_func(at(program, pc)))
			worklist[n++] = (uint32_t)nb_insn_target(at(program, pc), pc);
	}
}

static int check_reached(struct nb_env *env)
{
	struct nb_cfg *cfg = &env->program.cfg;
	/* Each slot is expanded once and pushes three others at most. */
	uint32_t *worklist = nb_arena_array(env->program.arena, env->program.n * (size_t)3 + 1,
					    sizeof(*worklist));

	if (!worklist)
		return NB_E_NOMEM;
	visit_reachable(&env->program, 0, worklist);
	for (uint32_t pc = 0; pc < env->program.n; pc++) {
		if (cfg->mark[pc] & NB_MARK_REACHED ||
		    at(&env->program, pc)->kind == NB_KIND_LDDW_HI)
			continue;
		return nb_refuse_program(env, NB_RULE_UNREACHABLE, .pc = pc);
	}
	return 0;
}

/* Mark slots with several predecessors; all callers of a function count as
 * one. */
static int mark_joins(struct nb_program *program)
{
	struct nb_cfg *cfg = &program->cfg;
	uint8_t *ways = nb_arena_array(program->arena, program->n, 1);
	uint32_t next[2];

	if (!ways)
		return NB_E_NOMEM;
	for (uint32_t f = 0; f < cfg->nfuncs; f++)
		ways[cfg->funcs[f].start] = 1;
	for (uint32_t pc = 0; pc < program->n; pc++) {
		unsigned k;

		if (at(program, pc)->kind == NB_KIND_LDDW_HI)
			continue;
		k = nb_cfg_next(program, pc, next);
		for (unsigned i = 0; i < k; i++) {
			if (ways[next[i]])
				cfg->mark[next[i]] |= NB_MARK_JOIN;
			cfg->mark[next[i]] |= (uint8_t)(next[i] <= pc ? NB_MARK_LOOP : 0);
			ways[next[i]] = 1;
		}
	}
	return 0;
}

enum color { WHITE, GREY, BLACK };

static int check_calls(struct nb_env *env, uint32_t f, uint8_t *color);

static int check_call_cycle(struct nb_env *env, uint32_t pc, uint8_t *color)
{
	uint32_t to = env->program.cfg.func_of[nb_insn_target(at(&env->program, pc), pc)];

	if (color[to] == GREY)
		return nb_refuse_program(env, NB_RULE_RECURSION, .pc = pc,
					 .name = env->program.cfg.funcs[to].name);
	return check_calls(env, to, color);
}

/* The search is depth-first; MAX_FUNCS bounds its recursion. */
static int check_calls(struct nb_env *env, uint32_t f, uint8_t *color)
{
	const struct nb_cfg_func *fn = &env->program.cfg.funcs[f];

	if (color[f] == BLACK)
		return 0;
	color[f] = GREY;
	for (uint32_t pc = fn->start; pc < fn->end; pc++)
		if (nb_insn_names_func(at(&env->program, pc)) && check_call_cycle(env, pc, color))
			return NB_E_VERIFY;
	color[f] = BLACK;
	return 0;
}

enum {
	ARGS = 0x3e, /* The argument registers r1-r5. */
	ALL = 0x7ff
};

static uint16_t reg_bit(unsigned reg)
{
	return (uint16_t)(1u << reg);
}

/* Return the registers that a helper may read. */
static uint16_t helper_args(int64_t id)
{
	const struct nb_helper_spec *h = nb_spec_helper((int32_t)id);
	uint16_t m = 0;

	if (!h)
		return ARGS;
	for (unsigned i = 0; i < 5; i++)
		if (h->arg[i] != NB_ARG_NONE)
			m |= reg_bit(i + 1);
	return m;
}

/* Return the registers whose value may matter to @insn. */
static uint16_t uses(const struct nb_insn *insn)
{
	return nb_insn_calls_helper(insn) ? helper_args(insn->imm) : nb_insn_reads(insn);
}

/* Propagate liveness backwards until nothing changes: the set of each slot
 * grows at most 11 times. */
static int find_live(struct nb_program *program)
{
	uint16_t *live = program->cfg.live;
	bool moved = true;

	for (unsigned round = 0; moved && round < 64; round++) {
		moved = false;
		for (uint32_t pc = program->n; pc-- > 0;) {
			uint32_t next[2];
			uint16_t m = 0;
			unsigned k;

			if (at(program, pc)->kind == NB_KIND_LDDW_HI)
				continue;
			k = nb_cfg_next(program, pc, next);
			for (unsigned i = 0; i < k; i++)
				m |= live[next[i]];
			m &= (uint16_t)~nb_insn_writes(at(program, pc));
			m |= uses(at(program, pc));
			if (m != live[pc]) {
				live[pc] = m;
				moved = true;
			}
		}
	}
	/* Without a fixed point within the rounds, everything counts as
	 * live. */
	for (uint32_t pc = 0; moved && pc < program->n; pc++)
		live[pc] = ALL;
	return 0;
}

int nb_cfg_build(struct nb_env *env)
{
	struct nb_cfg *cfg = &env->program.cfg;
	uint8_t color[MAX_FUNCS] = { 0 };
	int rc;

	cfg->mark = nb_arena_array(env->program.arena, env->program.n, 1);
	cfg->live = nb_arena_array(env->program.arena, env->program.n, sizeof(uint16_t));
	if (!cfg->mark || !cfg->live)
		return NB_E_NOMEM;
	if ((rc = find_funcs(env)) || (rc = check_edges(env)) || (rc = check_reached(env)) ||
	    (rc = check_calls(env, 0, color)) || (rc = mark_joins(&env->program)))
		return rc;
	cfg->work = WORK;
	return find_live(&env->program);
}

enum { MAX_ROUNDS = 32 };
/* The slot is not known to reach the end of the function. */
#define UNSET (UINT32_MAX - 1)

/*
 * The reversed graph of one function, with slots counted from its start.
 * The predecessors of slot i are from[first[i]] to from[first[i + 1] - 1].
 * seq lists slots in reverse postorder from the function's end, and num
 * holds the index of each slot in seq.
 */
struct rev {
	uint32_t start, size, n;
	uint32_t *first, *from, *seq, *num, *stack;
};

static void fill_ways(const struct nb_program *program, struct rev *g)
{
	uint32_t next[2];

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < g->size; i++) {
			unsigned k;

			if (at(program, g->start + i)->kind == NB_KIND_LDDW_HI)
				continue;
			k = nb_cfg_next(program, g->start + i, next);
			for (unsigned j = 0; j < k; j++) {
				uint32_t to = next[j] - g->start;

				if (pass)
					g->from[--g->first[to]] = i;
				else
					g->first[to]++;
			}
		}
		/* The counts become end indices, which the second pass
		 * counts down. */
		for (uint32_t i = 1; !pass && i <= g->size; i++)
			g->first[i] += g->first[i - 1];
	}
}

/* Number slots in a depth-first search from each exit, against the edges. */
static void number_slots(const struct nb_program *program, struct rev *g, uint32_t *at_way)
{
	for (uint32_t e = 0; e < g->size; e++) {
		uint32_t n = 0;

		if (at(program, g->start + e)->kind != NB_KIND_EXIT)
			continue;
		g->stack[n++] = e;
		g->num[e] = NB_NO_PC;
		while (n) {
			uint32_t i = g->stack[n - 1];
			uint32_t way = g->first[i] + at_way[i];

			if (way == g->first[i + 1]) {
				g->seq[g->n++] = i;
				n--;
				continue;
			}
			at_way[i]++;
			if (g->num[g->from[way]] != UNSET)
				continue;
			g->num[g->from[way]] = NB_NO_PC;
			g->stack[n++] = g->from[way];
		}
	}
	for (uint32_t i = 0; i < g->n; i++)
		g->num[g->seq[i]] = g->n - 1 - i;
}

/* Return the nearest common post-dominator: climb from the slot that is
 * farther from the end. */
static uint32_t meet_dominators(const struct rev *g, const uint32_t *ipdom, uint32_t a, uint32_t b,
				uint64_t *work)
{
	while (a != b && a != NB_NO_PC && b != NB_NO_PC) {
		if (!*work)
			return NB_NO_PC;
		--*work;
		if (g->num[a - g->start] > g->num[b - g->start])
			a = ipdom[a];
		else
			b = ipdom[b];
	}
	return a == b ? a : NB_NO_PC;
}

static uint32_t join_of(struct nb_program *program, const struct rev *g, uint32_t pc,
			uint64_t *work)
{
	uint32_t *ipdom = program->cfg.ipdom, to = UNSET, next[2];
	unsigned k = nb_cfg_next(program, pc, next);

	if (!k)
		return NB_NO_PC;
	for (unsigned j = 0; j < k; j++) {
		/* The post-dominator is not known yet, or the path never
		 * ends. */
		if (ipdom[next[j]] == UNSET)
			continue;
		to = to == UNSET ? next[j] : meet_dominators(g, ipdom, to, next[j], work);
	}
	return to;
}

/* Compute post-dominators with the iteration of Cooper, Harvey and Kennedy.
 * Returns false if it would cost too much. */
static bool iterate(struct nb_program *program, const struct rev *g)
{
	bool moved = true;

	for (unsigned round = 0; moved; round++) {
		moved = false;
		for (uint32_t i = g->n; i-- > 0;) {
			uint32_t pc = g->start + g->seq[i];
			uint32_t to = join_of(program, g, pc, &program->cfg.work);

			moved |= to != program->cfg.ipdom[pc];
			program->cfg.ipdom[pc] = to;
		}
		if (!program->cfg.work || round == MAX_ROUNDS)
			return false;
	}
	return true;
}

static bool find_joins(struct nb_program *program, const struct nb_cfg_func *f)
{
	size_t size = f->end - f->start;
	struct rev g = { f->start, f->end - f->start, 0, NULL, NULL, NULL, NULL, NULL };
	uint32_t *at_way;
	bool ok;

	g.first = nb_arena_array(program->arena, size + 2, sizeof(*g.first));
	g.from = nb_arena_array(program->arena, size * 2, sizeof(*g.from));
	g.seq = nb_arena_array(program->arena, size, sizeof(*g.seq));
	g.num = nb_arena_array(program->arena, size, sizeof(*g.num));
	g.stack = nb_arena_array(program->arena, size, sizeof(*g.stack));
	at_way = nb_arena_array(program->arena, size, sizeof(*at_way));
	if (!g.first || !g.from || !g.seq || !g.num || !g.stack || !at_way)
		return false;
	for (uint32_t i = 0; i < g.size; i++)
		program->cfg.ipdom[f->start + i] = g.num[i] = UNSET;
	fill_ways(program, &g);
	number_slots(program, &g, at_way);
	ok = iterate(program, &g);
	for (uint32_t pc = f->start; pc < f->end; pc++)
		if (!ok || program->cfg.ipdom[pc] == UNSET)
			program->cfg.ipdom[pc] = NB_NO_PC;
	return true;
}

uint32_t nb_cfg_join(struct nb_env *env, uint32_t pc)
{
	struct nb_cfg *cfg = &env->program.cfg;
	struct nb_cfg_func *f = &cfg->funcs[cfg->func_of[pc]];

	if (!cfg->ipdom)
		cfg->ipdom =
			nb_arena_array(env->program.arena, env->program.n, sizeof(*cfg->ipdom));
	if (!cfg->ipdom || (!f->joined && !find_joins(&env->program, f))) {
		env->walk.nomem = true;
		return NB_NO_PC;
	}
	f->joined = true;
	return cfg->ipdom[pc];
}

struct chains {
	/* Bytes of the deepest chain from each function; 0 if not computed. */
	uint32_t bytes[MAX_FUNCS];
	/* The next function of that chain, or -1 for none. */
	int16_t via[MAX_FUNCS];
};

/* Compute the deepest chain from @f. Calls make no cycle (checked before),
 * so each function is computed once. */
static uint32_t deepest(const struct nb_env *env, uint32_t f, struct chains *c)
{
	const struct nb_cfg_func *fn = &env->program.cfg.funcs[f];
	uint32_t below = 0;

	if (c->bytes[f])
		return c->bytes[f];
	c->via[f] = -1;
	for (uint32_t pc = fn->start; pc < fn->end; pc++) {
		uint32_t to, bytes;

		if (!nb_insn_names_func(at(&env->program, pc)))
			continue;
		to = env->program.cfg.func_of[nb_insn_target(at(&env->program, pc), pc)];
		bytes = deepest(env, to, c);
		if (bytes > below) {
			below = bytes;
			c->via[f] = (int16_t)to;
		}
	}
	/* Like in the kernel, a frame takes a multiple of 16 bytes. */
	c->bytes[f] = below + (env->facts.depth[f] ? (env->facts.depth[f] + 15) & ~15u : 16);
	return c->bytes[f];
}

uint32_t nb_cfg_stack(const struct nb_env *env, uint32_t chain[NB_MAX_FRAMES], uint32_t *nchain)
{
	struct chains c;
	uint32_t bytes;

	memset(&c, 0, sizeof(c));
	bytes = deepest(env, 0, &c);
	*nchain = 0;
	for (int f = 0; f >= 0 && *nchain < NB_MAX_FRAMES; f = c.via[f])
		chain[(*nchain)++] = (uint32_t)f;
	return bytes;
}
