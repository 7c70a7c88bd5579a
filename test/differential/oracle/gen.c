// SPDX-License-Identifier: MIT
// The program generator: see gen.h. It keeps a rough type for each register
// and which bytes of the stack were written; where paths meet, what differs is
// forgotten. It proves nothing: bounds are made with the idioms of compilers
// and then used a little off, because the border between accepted and refused
// is where verifiers are wrong.
#include <string.h>

#include "test/differential/oracle/gen_parts.h"

/* ---- control ---------------------------------------------------------------
 */

static void block(struct gen *g, unsigned stmts);

static void aim(struct gen *g, uint32_t from)
{
	if (from < g->n)
		g->out[from].off = (int16_t)(g->n - from - 1);
}

static void cond(struct gen *g)
{
	uint8_t op = jmp_ops[gen_below(g, sizeof(jmp_ops))];
	uint8_t j = gen_chance(g, 40) ? 6 : 5;

	if (gen_chance(g, 60))
		gen_emit(g, op | j, gen_number(g), 0, 0, gen_immediate(g));
	else
		gen_emit(g, op | 8 | j, gen_number(g), gen_number(g), 0, 0);
}

static void stmt_if(struct gen *g)
{
	struct regs before, then;
	uint32_t jump, over;

	cond(g);
	jump = g->n - 1;
	before = g->t;
	block(g, 1 + gen_below(g, 3));
	if (gen_chance(g, 50)) {
		aim(g, jump);
		gen_join(&g->t, &before);
		return;
	}
	over = g->n;
	gen_emit(g, 0x05, 0, 0, 0, 0);
	aim(g, jump);
	then = g->t;
	g->t = before;
	block(g, 1 + gen_below(g, 3));
	aim(g, over);
	gen_join(&g->t, &then);
}

/*
 * A comparison for its own sake: what the verifier holds for impossible is
 * held against the runs.
 */
static void stmt_probe(struct gen *g)
{
	unsigned reg = gen_number(g), other = gen_number(g), op;
	uint8_t j = gen_chance(g, 40) ? 6 : 5;
	int32_t imm = gen_immediate(g);

	if (g->t.type[reg] == SMALL && gen_chance(g, 70))
		imm = (int32_t)g->t.limit[reg] + rng_between(g->r, -3, 3);
	op = jmp_ops[gen_below(g, sizeof(jmp_ops))];
	if (gen_chance(g, 75))
		gen_emit(g, (uint8_t)(op | j), reg, 0, 1, imm);
	else
		gen_emit(g, (uint8_t)(op | 8 | j), reg, other, 1, 0);
	if (other == reg && gen_chance(g, 50))
		gen_emit(g, 0x05, 0, 0, 0, 0);
	else
		gen_emit(g, gen_chance(g, 50) ? 0x07 : 0x04, other, 0, 0, rng_between(g->r, -5, 5));
	gen_set_number(g, other);
}

/* ---- two ways that differ, and a use behind -------------------------------
 */

enum { SPOT = -40 }; /* of the stack */

static void load_number_into(struct gen *g, unsigned reg)
{
	int ctx = gen_pick(g, CTX);

	if (ctx >= 0 && ctx != (int)reg)
		gen_emit(g, 0x61, reg, (unsigned)ctx, 24 + (int)gen_below(g, 10) * 4, 0);
	else
		gen_emit(g, 0xb7, reg, 0, 0, gen_immediate(g));
	gen_set_number(g, reg);
}

/* A value pointer in r7, or false. */
static bool value_in_7(struct gen *g)
{
	int ptr = gen_pick(g, VALUE);

	if (ptr < 0) {
		gen_stmt_lookup(g);
		ptr = gen_pick(g, VALUE);
	}
	if (ptr < 0 || g->t.off[ptr])
		return false;
	if (ptr != 7) {
		gen_emit(g, 0xbf, 7, (unsigned)ptr, 0, 0);
		g->t.type[7] = VALUE;
		g->t.map[7] = g->t.map[ptr];
		g->t.off[7] = 0;
	}
	return true;
}

/* What the two ways do to r8 (and to SPOT). */
static void way(struct gen *g, unsigned kind, bool tame)
{
	unsigned other = 3 + gen_below(g, 2);

	switch (kind) {
	case 0: /* numbers of different size */
		if (tame)
			gen_emit(g, 0xb7, 8, 0, 0, (int32_t)gen_below(g, 8));
		else if (gen_chance(g, 50))
			gen_emit(g, 0x57, 8, 0, 0, gen_chance(g, 50) ? 63 : 255);
		break;
	case 1: /* links */
		if (tame)
			gen_emit(g, 0xbf, 8, 9, 0, 0);
		else if (gen_chance(g, 50))
			gen_emit(g, 0x07, 8, 0, 0, rng_between(g->r, 1, 40));
		if (!tame && gen_chance(g, 50)) {
			gen_emit(g, 0xbf, 8, 9, 0, 0);
			gen_emit(g, 0x07, 8, 0, 0, rng_between(g->r, 1, 80));
		}
		break;
	case 2: /* zero bytes on the stack */
		if (tame || gen_chance(g, 20))
			gen_emit(g, st_ops[gen_below(g, 4)], 10, 0, SPOT, 0);
		else
			gen_emit(g, stx_ops[gen_below(g, 4)], 10, 8,
				 SPOT + (gen_chance(g, 30) ? 4 : 0), 0);
		break;
	case 3: /* what is spilled */
		if (tame)
			gen_emit(g, 0x7b, 10, 7, SPOT, 0);
		else if (gen_chance(g, 50))
			gen_emit(g, 0x7b, 10, 8, SPOT, 0);
		else
			gen_emit(g, 0x72, 10, 0, SPOT + (int)gen_below(g, 8), gen_immediate(g));
		break;
	case 4: /* pointers of different places */
		gen_emit(g, 0xbf, 8, tame || gen_chance(g, 50) ? 7 : 10, 0, 0);
		if (!tame)
			gen_emit(g, 0x07, 8, 0, 0, rng_between(g->r, -64, 64));
		break;
	case 5: /* written or not */
		if (tame)
			gen_emit(g, st_ops[gen_below(g, 4)], 10, 0,
				 SPOT - 16 - 8 * (int)gen_below(g, 2), 0);
		break;
	case 6: /* coherent or not */
		if (tame && gen_chance(g, 30)) {
			gen_emit(g, 0xb7, 8, 0, 0, gen_immediate(g));
		} else if (tame) {
			load_number_into(g, 8);
		} else if (gen_chance(g, 40) && gen_pick(g, CTX) >= 0) {
			gen_emit(g, 0x61, 8, (unsigned)gen_pick(g, CTX), 64, 0);
		} else {
			gen_emit(g, 0x61, 8, 7, 0, 0);
		}
		if (gen_chance(g, 40))
			gen_emit(g, 0x7b, 10, 8, SPOT, 0);
		break;
	default:
		gen_emit(g, 0xb7, other, 0, 0, (int32_t)gen_below(g, 9));
		if (gen_chance(g, 50))
			gen_emit(g, stx_ops[gen_below(g, 4)], 10, other, SPOT, 0);
		break;
	}
}

/* Follow r7 moved by r8. */
static void use_index(struct gen *g)
{
	uint32_t map = g->t.map[7];

	gen_emit(g, 0xbf, 5, 7, 0, 0);
	gen_emit(g, 0x0f, 5, 8, 0, 0);
	g->t.type[5] = NONE;
	gen_access_value(g, 5, map, 0, gen_below(g, 2));
}

static void use(struct gen *g, unsigned kind)
{
	int ctx = gen_pick(g, CTX);
	uint32_t size = g->o->maps[g->t.map[7]].value_size;

	switch (kind) {
	case 0:
		use_index(g);
		break;
	case 1:
		gen_bail(g, gen_chance(g, 30) ? 0x36 : 0x35, 9, 0, (int32_t)size - 1);
		use_index(g);
		break;
	case 2:
		gen_emit(g, ldx_ops[gen_below(g, 4)], 8, 10, SPOT, 0);
		use_index(g);
		break;
	case 3:
		gen_emit(g, 0x79, 8, 10, SPOT, 0);
		g->t.type[8] = NONE;
		gen_access_value(g, 8, g->t.map[7], 0, gen_below(g, 4));
		break;
	case 4:
		gen_access_value(g, 8, g->t.map[7], (int)gen_below(g, 48), 0);
		break;
	case 5:
		gen_emit(g, ldx_ops[gen_below(g, 4)], 8, 10, SPOT - 16 - 8 * (int)gen_below(g, 2),
			 0);
		break;
	default:
		if (gen_chance(g, 40))
			gen_emit(g, ldx_ops[gen_below(g, 4)], 8, 10, SPOT, 0);
		if (ctx >= 0 && ctx != 8 && g->o->tuner)
			gen_emit(g, 0x63, (unsigned)ctx, 8, 68 + (int)gen_below(g, 3) * 4, 0);
		break;
	}
}

static void stmt_diamond(struct gen *g)
{
	unsigned kind = gen_below(g, 8), c = 2 + gen_below(g, 4);
	bool tame = gen_chance(g, 50);
	uint32_t jump, over;

	if (g->t.type[8] > SMALL || g->t.type[9] > SMALL || !value_in_7(g))
		return;
	load_number_into(g, 8);
	load_number_into(g, 9);
	gen_emit(g, 0x7a, 10, 0, SPOT, gen_chance(g, 50) ? 0 : gen_immediate(g));
	gen_wrote(g, SPOT, 8);
	load_number_into(g, c);
	if (kind >= 6 && gen_chance(g, 60)) {
		gen_emit(g, 0x85, 0, 0, 0, 7);
		gen_kill(g, 0, 5);
		c = 0;
		gen_set_number(g, 0);
	}
	jump = g->n;
	gen_emit(g, 0x45, c, 0, 0, 1 + (int32_t)gen_below(g, 3));
	way(g, kind, tame);
	over = g->n;
	gen_emit(g, 0x05, 0, 0, 0, 0);
	g->out[jump].off = (int16_t)(g->n - jump - 1);
	way(g, kind, !tame);
	g->out[over].off = (int16_t)(g->n - over - 1);
	gen_kill(g, 0, 5);
	g->t.type[8] = kind == 4 ? NONE : NUM;
	if (gen_chance(g, 40))
		gen_stmt_alu(g);
	if (g->t.type[7] == VALUE && g->t.type[9] == NUM)
		use(g, kind);
	g->t.type[8] = NONE;
}

/* Two look-ups, one test. */
static void stmt_two_lookups(struct gen *g)
{
	uint32_t map = gen_pick_map(g), jump;

	for (unsigned reg = 7; reg <= 8; reg++) {
		gen_make_key(g, map);
		gen_emit_lddw(g, 1, 1, map, 0);
		gen_emit(g, 0x85, 0, 0, 0, 1);
		gen_kill(g, 0, 5);
		gen_emit(g, 0xbf, reg, 0, 0, 0);
		g->t.type[reg] = NONE;
	}
	load_number_into(g, 3);
	jump = g->n;
	gen_emit(g, 0x45, 3, 0, 0, 1);
	gen_emit(g, 0xbf, 8, 7, 0, 0);
	g->out[jump].off = (int16_t)(g->n - jump - 1);
	if (gen_chance(g, 30)) {
		gen_emit(g, 0x7b, 10, 8, SPOT, 0);
		gen_wrote(g, SPOT, 8);
	}
	gen_bail(g, 0x15, 7 + gen_below(g, 2), 0, 0);
	gen_access_value(g, 7 + gen_below(g, 2), map, 0, gen_below(g, 4));
	g->t.type[7] = g->t.type[8] = NONE;
}

/* What the body may leave changed cannot be relied on at its start. */
static void stmt_loop(struct gen *g)
{
	unsigned i = 6 + gen_below(g, 4);
	uint32_t head, guard = 0, trips = 1 + gen_below(g, 6);
	bool maygoto = !g->o->kernel && gen_chance(g, 20), bounded = gen_chance(g, 30);
	struct regs start;
	int16_t back;

	if (g->depth > 2 || g->t.type[i] > SMALL)
		return;
	gen_emit(g, 0xb7, i, 0, 0, 0);
	g->t.type[i] = NONE; /* the body leaves it alone */
	for (unsigned r = 0; r < 6; r++)
		g->t.type[r] = NONE;
	start = g->t;
	head = g->n;
	if (maygoto) {
		guard = g->n;
		gen_emit(g, 0xe5, 0, 0, 0, 0);
	}
	block(g, 1 + gen_below(g, 4));
	g->t.type[i] = NONE;
	gen_emit(g, 0x07, i, 0, 0, 1);
	back = (int16_t)((int)head - (int)g->n - 1);
	if (maygoto && gen_chance(g, 40)) { /* nothing else ends it */
		gen_emit(g, 0x05, 0, 0, back, 0);
	} else if (bounded && gen_pick(g, NUM) >= 0) {
		unsigned lim = gen_number(g);

		gen_emit(g, 0x3d, i, lim, 0, 0);
		back--;
		gen_emit(g, 0xa5, i, 0, back, (int32_t)trips);
		g->out[g->n - 2].off = 1;
	} else {
		gen_emit(g, gen_chance(g, 70) ? 0xa5 : 0x55, i, 0, back, (int32_t)trips);
	}
	if (maygoto)
		aim(g, guard);
	gen_join(&g->t, &start);
	gen_set_number(g, i);
}

/* Registers of r1 to r5 that the call of helper 164 or 181 wants. */
static void turns_args(struct gen *g, unsigned f)
{
	unsigned n = gen_number(g);

	if (g->turns[f] == OF_A_MAP) {
		gen_emit_lddw(g, 1, 1, g->turn_map[f], 0);
	} else if (gen_chance(g, 80)) {
		gen_emit(g, 0xb7, 1, 0, 0, (int32_t)gen_below(g, gen_chance(g, 5) ? 5000 : 9));
	} else {
		if (gen_chance(g, 90))
			gen_bound(g, n, 1 + gen_below(g, 12));
		gen_emit(g, 0xbf, 1, n, 0, 0);
	}
}

/* bpf_loop or bpf_for_each_map_elem with a word of the stack as context. */
static void stmt_turns(struct gen *g, unsigned f)
{
	bool each = g->turns[f] == OF_A_MAP;

	if (gen_chance(g, 60) || !gen_stack_ready(g, -16, 8)) {
		gen_emit(g, 0x7a, 10, 0, -16, gen_chance(g, 50) ? 0 : gen_immediate(g));
		gen_wrote(g, -16, 8);
	}
	turns_args(g, f);
	g->t.type[1] = NONE;
	g->calls[g->ncalls] = g->n;
	g->callee[g->ncalls++] = (uint8_t)f;
	gen_emit_lddw(g, 2, 4, 0, 0);
	gen_emit(g, 0xbf, 3, 10, 0, 0);
	gen_emit(g, 0x07, 3, 0, 0, -16);
	gen_emit(g, 0xb7, 4, 0, 0, gen_chance(g, 2));
	gen_emit(g, 0x85, 0, 0, 0, each ? 164 : 181);
	gen_kill(g, 1, 5);
	gen_set_number(g, 0);
	g->t.spill[(WINDOW - 16) / 8] = 0;
	if (gen_chance(g, 40)) { /* what the turns left */
		unsigned dst = gen_target(g);

		gen_emit(g, ldx_ops[gen_below(g, 4)], dst, 10, -16, 0);
		gen_set_number(g, dst);
	}
}

static void stmt_call(struct gen *g)
{
	unsigned f;

	if (g->ncalls == MAX_FIX || g->func + 1u >= g->nfuncs)
		return;
	f = g->func + 1u + gen_below(g, g->nfuncs - g->func - 1u);
	if (g->turns[f]) {
		stmt_turns(g, f);
		return;
	}
	for (unsigned a = 1; a <= g->nargs[f]; a++) {
		if (a == 1 && g->frame_arg[f]) {
			gen_emit(g, 0x7a, 10, 0, -16, gen_immediate(g));
			gen_wrote(g, -16, 8);
			gen_emit(g, 0xbf, 1, 10, 0, 0);
			gen_emit(g, 0x07, 1, 0, 0, -16);
			g->t.type[1] = NONE;
		} else if (!gen_is_number(g, a)) {
			unsigned n = gen_number(g);

			gen_emit(g, 0xbf, a, n, 0, 0);
			g->t.type[a] = NUM;
		}
	}
	g->calls[g->ncalls] = g->n;
	g->callee[g->ncalls++] = (uint8_t)f;
	gen_emit(g, 0x85, 0, 1, 0, 0);
	gen_kill(g, 1, 5);
	gen_set_number(g, 0);
	if (gen_chance(g, 1)) {
		gen_emit(g, 0x7a, 0, 0, -8, 1);
		return;
	}
	if (g->frame_arg[f] && gen_chance(g, 10)) {
		gen_emit(g, 0x79, 2, 10, -16, 0);
		gen_emit(g, 0x7a, 2, 0, -8, 1);
	}
}

static void statement(struct gen *g)
{
	uint32_t k = gen_below(g, 100);

	if (gen_chance(g, 9)) {
		stmt_diamond(g);
		return;
	}
	if (gen_chance(g, 1)) {
		if (gen_chance(g, 50))
			stmt_two_lookups(g);
		else
			gen_stmt_printk(g);
		return;
	}
	if (k < 14)
		gen_stmt_alu(g);
	else if (k < 20)
		stmt_probe(g);
	else if (k < 25)
		gen_stmt_const(g);
	else if (k < 33)
		gen_stmt_ctx_load(g);
	else if (k < 37)
		gen_stmt_output(g);
	else if (k < 43)
		gen_stmt_stack_store(g);
	else if (k < 49)
		gen_stmt_stack_load(g);
	else if (k < 53)
		gen_stmt_bound(g);
	else if (k < 58)
		gen_stmt_lookup(g);
	else if (k < 61)
		gen_stmt_direct(g);
	else if (k < 66)
		gen_stmt_value(g);
	else if (k < 76)
		gen_stmt_value_at(g);
	else if (k < 80)
		gen_stmt_stack_at(g);
	else if (k < 82)
		gen_stmt_stack_atomic(g);
	else if (k < 85)
		gen_stmt_update(g);
	else if (k < 87)
		gen_stmt_helper(g);
	else if (k < 91)
		stmt_if(g);
	else if (k < 94)
		stmt_loop(g);
	else
		stmt_call(g);
}

static void block(struct gen *g, unsigned stmts)
{
	g->depth++;
	for (unsigned i = 0; i < stmts && g->n < ROOM && g->depth < 5; i++)
		statement(g);
	g->depth--;
}

/* Where bail() jumps to. */
static void way_out(struct gen *g)
{
	gen_emit(g, 0x95, 0, 0, 0, 0);
	if (!g->nfix)
		return;
	for (uint32_t i = 0; i < g->nfix; i++)
		aim(g, g->fix[i]);
	gen_emit(g, 0xb7, 0, 0, 0, 0);
	gen_emit(g, 0x95, 0, 0, 0, 0);
	g->nfix = 0;
}

/* What a callback does with its arguments, mostly at once. */
static void turns_begin(struct gen *g, unsigned f)
{
	unsigned ctx = g->turns[f] == OF_A_MAP ? 4 : 2, keep = 7 + gen_below(g, 3);

	switch (gen_below(g, 6)) {
	case 0: /* count */
		gen_emit(g, 0x79, 0, ctx, 0, 0);
		gen_emit(g, 0x07, 0, 0, 0, 1 + (int32_t)gen_below(g, 3));
		gen_emit(g, 0x7b, ctx, 0, 0, 0);
		gen_set_number(g, 0);
		break;
	case 1: /* the number of the turn, or a handle, or an address */
		gen_emit(g, 0x7b, ctx, 1 + gen_below(g, gen_chance(g, 10) ? 4 : 1), 0, 0);
		break;
	case 2:
		gen_emit(g, stx_ops[gen_below(g, 4)], ctx, 10, 0, 0);
		break;
	case 3:
		gen_emit(g, 0x61, 0, ctx, 0, 0);
		gen_set_number(g, 0);
		break;
	default:
		gen_emit(g, st_ops[gen_below(g, 4)], ctx, 0, 0, gen_immediate(g));
		break;
	}
	if (g->turns[f] == NUMBERED) {
		gen_set_number(g, 1);
		return;
	}
	if (gen_chance(g, 50)) {
		gen_emit(g, ldx_ops[gen_below(g, 3)], 0, 2, 0, 0);
		gen_set_number(g, 0);
	} else if (gen_chance(g, 5)) {
		gen_emit(g, 0x62, 2, 0, 0, 1); /* keys are only read */
	}
	g->t.type[3] = VALUE;
	g->t.map[3] = g->turn_map[f];
	if (gen_chance(g, 60)) {
		gen_emit(g, 0xbf, keep, 3, 0, 0);
		g->t.type[keep] = VALUE;
		g->t.map[keep] = g->turn_map[f];
	}
}

static void function(struct gen *g, unsigned f)
{
	memset(&g->t, 0, sizeof(g->t));
	g->func = (uint8_t)f;
	if (!f) {
		g->t.type[1] = CTX;
		if (gen_chance(g, 80)) {
			gen_emit(g, 0xbf, 6, 1, 0, 0);
			g->t.type[6] = CTX;
		}
		block(g, 3 + gen_below(g, g->o->max_stmts));
	} else if (g->turns[f]) {
		turns_begin(g, f);
		block(g, 1 + gen_below(g, 5));
	} else {
		for (unsigned a = 1; a <= g->nargs[f]; a++)
			g->t.type[a] = NUM;
		if (g->frame_arg[f]) {
			g->t.type[1] = NONE;
			/* Seldom the callee's frame escapes. */
			if (gen_chance(g, 4))
				gen_emit(g, 0x7b, 1, 10, 0, 0);
			else if (gen_chance(g, 50))
				gen_emit(g, 0x79, 0, 1, 0, 0);
			else
				gen_emit(g, 0x7a, 1, 0, 0, gen_immediate(g));
		}
		block(g, 1 + gen_below(g, 6));
	}
	if (g->turns[f]) {
		if (gen_is_number(g, 0) && gen_chance(g, 50))
			gen_emit(g, 0x57, 0, 0, 0, 1);
		else
			gen_emit(g, 0xb7, 0, 0, 0, (int32_t)gen_below(g, gen_chance(g, 3) ? 3 : 2));
	} else if (!gen_is_number(g, 0) || (!f && gen_chance(g, 75)))
		gen_emit(g, 0xb7, 0, 0, 0, gen_chance(g, 80) ? 0 : gen_immediate(g));
	if (f && gen_chance(g, 2))
		gen_emit(g, 0xbf, 0, 10, 0, 0);
	way_out(g);
}

uint32_t gen_program(struct nb_slot *out, const struct gen_opts *o, struct rng *r)
{
	struct gen g = { .o = o, .r = r, .out = out };
	uint32_t starts[MAX_FUNCS];
	bool called[MAX_FUNCS] = { true };

	g.nfuncs = (uint8_t)(rng_percent(r, 70) ? 1 : 1 + rng_below(r, MAX_FUNCS));
	for (unsigned f = 1; f < g.nfuncs; f++) {
		g.nargs[f] = (uint8_t)(1 + rng_below(r, 3));
		g.frame_arg[f] = rng_percent(r, 30);
		if (o->kernel || !rng_percent(r, 45))
			continue;
		g.turns[f] = (uint8_t)(1 + rng_below(r, 2));
		g.turn_map[f] = (uint8_t)rng_below(r, o->nmaps);
	}
	for (unsigned f = 0; f < g.nfuncs; f++) {
		uint32_t from = g.ncalls;

		/* Calls go to later functions, so this is already known. */
		if (!called[f])
			continue;
		starts[f] = g.n;
		function(&g, f);
		for (uint32_t i = from; i < g.ncalls; i++)
			called[g.callee[i]] = true;
	}
	for (uint32_t i = 0; i < g.ncalls; i++)
		if (g.calls[i] < g.n)
			out[g.calls[i]].imm = (int32_t)(starts[g.callee[i]] - g.calls[i] - 1);
	return g.n;
}
