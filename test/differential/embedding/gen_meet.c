// SPDX-License-Identifier: MIT
// Paths that differ in one thing and meet, and a use behind that is safe after
// one of them: what a verifier may not prune. And comparisons just at the edge
// of what is known: a path that it holds for impossible is held against runs.
#include "test/differential/embedding/gen.h"

/* What the paths differ in. */
enum differ { SIZES, LINKS, ZEROS, SPILLS, POINTERS, WRITTEN, LABELS, COPIES };

/* The size of a value that r9 points to, or less. */
enum { VALUE = 16 };

/*
 * What one of the paths does to r8, which holds a number as r7 does, and to
 * the 24 bytes of the frame at @at.
 */
static void differ_in(enum differ what, bool tame, int at)
{
	unsigned k = g_below(4);

	switch (what) {
	case SIZES:
		if (tame)
			g_imm(8, (int32_t)g_below(8));
		else if (g_chance(50))
			g_slot(0x57, 8, 0, 0, g_chance(50) ? 63 : 255);
		break;
	case LINKS:
		if (tame || g_chance(50))
			g_mov(8, 7);
		if (!tame)
			g_slot(0x07, 8, 0, 0, rng_between(&g.rng, 1, 80));
		break;
	case ZEROS:
		if (tame || g_chance(20))
			g_slot(st_ops[k], 10, 0, at, 0);
		else
			g_slot(stx_ops[k], 10, 8, at + (g_chance(30) ? 4 : 0), 0);
		break;
	case SPILLS:
		if (tame)
			g_slot(0x7b, 10, G_PTR, at, 0);
		else if (g_chance(50))
			g_slot(0x7b, 10, 8, at, 0);
		else
			g_slot(0x72, 10, 0, at + (int)g_below(8), g_constant());
		break;
	case POINTERS:
		g_mov(8, tame || g_chance(50) ? G_PTR : 10);
		if (!tame)
			g_slot(0x07, 8, 0, 0, rng_between(&g.rng, -64, 64));
		break;
	case WRITTEN:
		if (tame)
			g_slot(st_ops[k], 10, 0, at + 8 * (int)(1 + g_below(2)), 0);
		break;
	case LABELS: /* coherent or not */
		if (tame)
			g_slot(0x61, 8, G_CTX, 24, 0);
		else if (g_chance(40))
			g_slot(0x61, 8, G_CTX, 64, 0);
		else
			g_slot(0x61, 8, G_PTR, 0, 0);
		if (g_chance(40))
			g_slot(0x7b, 10, 8, at, 0);
		break;
	case COPIES: /* of r7, which is below 16 */
		if (tame)
			g_mov(8, 7);
		else
			g_imm(8, (int32_t)g_below(40));
		break;
	}
}

/* A load, a store or an atomic of 1 to 8 bytes at r@p. */
static void access_at(unsigned p, int off)
{
	unsigned k = g_below(4);

	switch (g_below(8)) {
	case 0:
		g_slot(0xdb, p, 5, off, 1);
		break;
	case 1:
		g_slot(st_ops[k], p, 0, off, g_constant());
		break;
	default:
		g_slot(ldx_ops[k], 5, p, off, 0);
		break;
	}
}

/* A byte or two at r9 moved by r8. */
static void use_index(void)
{
	g_mov(4, G_PTR);
	g_slot(0x0f, 4, 8, 0, 0);
	g_slot(ldx_ops[g_below(2)], 4, 4, 0, 0);
}

/* An output that depends on whether r7 and r8 are one number, which one of the paths knows. */
static void use_difference(void)
{
	static const uint8_t cancels[] = { 0x1f, 0x1c, 0xaf, 0xac };
	unsigned to = 7 + g_below(2);
	uint32_t over;

	g_slot(cancels[g_below(sizeof(cancels))], to, 15 - to, 0, 0);
	over = g_jump(g_chance(80) ? 0x55 : 0x15, to, 0, 0);
	g_slot(0x62, G_CTX, 0, 68 + 4 * (int)g_below(3), (int32_t)g_below(8));
	g_aim(over);
}

static void use_behind(enum differ what, int at)
{
	uint32_t over;

	switch (what) {
	case SIZES:
		use_index();
		break;
	case LINKS:
		over = g_jump(g_chance(30) ? 0x36 : 0x35, 7, 0, VALUE - 1);
		use_index();
		g_aim(over);
		break;
	case ZEROS:
		g_slot(ldx_ops[g_below(4)], 8, 10, at, 0);
		use_index();
		break;
	case SPILLS:
		g_slot(0x79, 8, 10, at, 0);
		access_at(8, 0);
		break;
	case POINTERS:
		access_at(8, (int)g_below(VALUE));
		break;
	case WRITTEN:
		g_slot(ldx_ops[g_below(4)], 8, 10, at + 8 * (int)(1 + g_below(2)), 0);
		break;
	case LABELS:
		if (g_chance(40))
			g_slot(ldx_ops[g_below(4)], 8, 10, at, 0);
		g_slot(0x63, G_CTX, 8, 68 + 4 * (int)g_below(3), 0);
		break;
	case COPIES:
		use_difference();
		break;
	}
}

static void gen_diamond(void)
{
	enum differ what = (enum differ)g_below(g.ctx && !g.kernel ? COPIES + 1 : LABELS);
	unsigned c = g_below(6);
	bool tame = g_below(2);
	uint32_t jump, over;
	int at = g_take(24);

	if (!at)
		return;
	g_numbers(7, 8);
	g_numbers(c, c);
	if (what == COPIES) {
		g_slot(0x61, 7, G_CTX, 28, 0);
		g_slot(0x57, 7, 0, 0, 15);
		g_slot(0x61, c, G_CTX, g_chance(80) ? 64 : 24, 0);
	}
	if (what == LABELS) {
		g_slot(0x7a, 10, 0, at, g_constant());
		if (g_chance(50)) {
			g_helper(7);
			g_numbers(1, 5);
			c = 0;
		}
	}
	jump = g_jump(0x45, c, 0, 1 + (int32_t)g_below(3));
	differ_in(what, tame, at);
	over = g_jump(0x05, 0, 0, 0);
	g_aim(jump);
	differ_in(what, !tame, at);
	g_aim(over);
	if (g_chance(what == COPIES ? 10 : 40))
		g_alu();
	use_behind(what, at);
	for (int off = 0; off < 24; off += 8)
		g_slot(0x7a, 10, 0, at + off, 0);
	g_numbers(4, 5);
	g_numbers(8, 8);
	g_return(24);
}

static void begin_counting(void)
{
	int32_t first = (int32_t)g_below(3);

	g_imm(2, first);
	g_imm(3, first + 1 + (int32_t)g_below(4));
	g_helper(0x10001);
}

/* Two iterators of constant numbers. Local data decides which one is stepped or begun again, and
 * an output follows from the next number of one of them. */
static void gen_two_iterators(void)
{
	unsigned c = 2 + g_below(3);
	uint32_t none, over;
	int at = g.ctx && !g.kernel ? g_take(16) : 0;

	if (!at)
		return;
	for (int off = 0; off < 16; off += 8) {
		g_frame(1, at + off);
		begin_counting();
	}
	g_frame(7, at);
	g_slot(0x61, c, G_CTX, g_chance(80) ? 64 : 28, 0);
	g_slot(0x45, c, 0, 1, 1 + (int32_t)g_below(3));
	g_slot(0x07, 7, 0, 0, 8);
	g_mov(1, 7);
	if (g_below(2)) {
		g_helper(0x10003);
		g_mov(1, 7);
		begin_counting();
	} else {
		g_helper(0x10002);
	}
	g_frame(1, at + 8 * (int)g_below(2));
	g_helper(0x10002);
	none = g_jump(0x15, 0, 0, 0);
	g_slot(0x61, 0, 0, 0, 0);
	over = g_jump(g_chance(80) ? 0x55 : 0x15, 0, 0, (int32_t)g_below(3));
	g_slot(0x62, G_CTX, 0, 68 + 4 * (int)g_below(3), (int32_t)g_below(8));
	g_aim(over);
	g_aim(none);
	for (int off = 0; off < 16; off += 8) {
		g_frame(1, at + off);
		g_helper(0x10003);
	}
	g_numbers(0, 5);
	g_numbers(7, 7);
	g_return(16);
}

/* Two look-ups and one test. */
static void gen_two_lookups(void)
{
	static const uint8_t maps[] = { EM_COUNTS, EM_SEEN, EM_CHOSEN, EM_LRU };
	uint32_t map = maps[g_below(sizeof(maps))], jump, none;

	for (unsigned reg = 7; reg <= 8; reg++) {
		g_slot(0x7a, 10, 0, G_KEY, (int32_t)g_below(6));
		g_frame(2, G_KEY);
		g_lddw(1, 1, map, 0);
		g_helper(1);
		g_mov(reg, 0);
	}
	g_numbers(3, 3);
	jump = g_jump(0x45, 3, 0, 1);
	g_mov(8, 7);
	g_aim(jump);
	none = g_jump(0x15, 7 + g_below(2), 0, 0);
	g_numbers(5, 5);
	access_at(7 + g_below(2), 0);
	g_aim(none);
	g_numbers(0, 5);
	g_numbers(7, 8);
}

/* A bounded number, changed a little, beside a constant near its bound. */
static void gen_probe(void)
{
	static const uint8_t twists[] = { 0x07, 0x04, 0x67, 0x77, 0x27, 0x47, 0xa7, 0xc7 };
	unsigned r = g_number(), other = g_number(), limit = 1 + g_below(64);
	uint8_t op = jmp_ops[g_below(sizeof(jmp_ops))] | (g_below(2) ? 5 : 6);

	g_bound(r, limit);
	for (unsigned n = g_below(3); n; n--)
		g_slot(twists[g_below(sizeof(twists))], r, 0, 0, (int32_t)g_below(4));
	if (g_chance(75))
		g_slot(op, r, 0, 1, (int32_t)limit + rng_between(&g.rng, -3, 3));
	else
		g_slot(op | 8, r, other, 1, 0);
	g_slot(g_below(2) ? 0x07 : 0x04, other, 0, 0, rng_between(&g.rng, -5, 5));
}

void g_meet(void)
{
	switch (g_below(9)) {
	case 0:
		gen_two_lookups();
		break;
	case 8:
		gen_two_iterators();
		break;
	case 1:
	case 2:
		gen_probe();
		break;
	default:
		gen_diamond();
		break;
	}
}
