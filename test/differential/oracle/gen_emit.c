// SPDX-License-Identifier: MIT
// Slots of a program in the making, and the rough type of each register.
#include "test/differential/oracle/gen_parts.h"

struct nb_slot gen_slot(uint8_t op, unsigned dst, unsigned src, int off, int32_t imm)
{
	return (struct nb_slot){ op, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

void gen_emit(struct gen *g, uint8_t op, unsigned dst, unsigned src, int off, int32_t imm)
{
	if (g->n < GEN_MAX_SLOTS)
		g->out[g->n++] = gen_slot(op, dst, src, off, imm);
}

void gen_emit_lddw(struct gen *g, unsigned dst, unsigned kind, uint32_t lo, uint32_t hi)
{
	gen_emit(g, 0x18, dst, kind, 0, (int32_t)lo);
	gen_emit(g, 0, 0, 0, 0, (int32_t)hi);
}

bool gen_chance(struct gen *g, uint32_t percent)
{
	return rng_percent(g->r, percent);
}

uint32_t gen_below(struct gen *g, uint32_t n)
{
	return rng_below(g->r, n);
}

int32_t gen_immediate(struct gen *g)
{
	static const int32_t edges[] = { 0,	    1,	       2,    3,	     4,	     7,	     8,
					 15,	    16,	       31,   32,     63,     64,     127,
					 128,	    255,       256,  0x7fff, 0x8000, 0xffff, 65536,
					 INT32_MAX, INT32_MIN, -1,   -2,     -7,     -8,     -9,
					 -64,	    -128,      -256, -32768 };

	switch (gen_below(g, 4)) {
	case 0:
		return (int32_t)rng_next(g->r);
	case 1:
		return rng_between(g->r, -70, 70);
	default:
		return edges[gen_below(g, sizeof(edges) / sizeof(edges[0]))];
	}
}

/* ---- registers --------------------------------------------------------- */

bool gen_is_number(const struct gen *g, unsigned reg)
{
	return g->t.type[reg] == NUM || g->t.type[reg] == SMALL;
}

void gen_set_number(struct gen *g, unsigned reg)
{
	g->t.type[reg] = NUM;
}

/* A register of that type, or -1. */
int gen_pick(struct gen *g, enum type type)
{
	unsigned first = gen_below(g, 10);

	for (unsigned i = 0; i < 10; i++) {
		unsigned reg = (first + i) % 10;

		if (g->t.type[reg] == type || (type == NUM && g->t.type[reg] == SMALL))
			return (int)reg;
	}
	return -1;
}

/* A register to write to; seldom one that holds a pointer. */
unsigned gen_target(struct gen *g)
{
	unsigned reg = 0;

	for (int i = 0; i < 6; i++) {
		reg = gen_below(g, 10);
		if (g->t.type[reg] <= SMALL)
			break;
	}
	return reg;
}

unsigned gen_number(struct gen *g)
{
	int reg = gen_chance(g, 1) ? (int)gen_below(g, 10) : gen_pick(g, NUM);

	if (reg < 0) {
		reg = (int)gen_target(g);
		gen_emit(g, 0xb7, (unsigned)reg, 0, 0, gen_immediate(g));
		gen_set_number(g, (unsigned)reg);
	}
	return (unsigned)reg;
}

void gen_kill(struct gen *g, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++)
		g->t.type[i] = NONE;
}

/* Where two ways meet. */
void gen_join(struct regs *a, const struct regs *b)
{
	for (unsigned i = 0; i < 10; i++) {
		bool same = a->type[i] == b->type[i] && a->map[i] == b->map[i];
		bool numbers = (a->type[i] == NUM || a->type[i] == SMALL) &&
			       (b->type[i] == NUM || b->type[i] == SMALL);

		if (a->type[i] == SMALL && b->type[i] == SMALL && a->limit[i] < b->limit[i])
			a->limit[i] = b->limit[i];
		else if (!same || a->off[i] != b->off[i])
			a->type[i] = numbers ? NUM : NONE;
	}
	for (unsigned i = 0; i < WINDOW; i++)
		a->init[i] &= b->init[i];
	for (unsigned i = 0; i < WINDOW / 8; i++)
		if (a->spill[i] != b->spill[i])
			a->spill[i] = 0;
}

/* A conditional jump to the way out, to be aimed later. */
void gen_bail(struct gen *g, uint8_t op, unsigned dst, unsigned src, int32_t imm)
{
	if (g->nfix == MAX_FIX)
		return;
	g->fix[g->nfix++] = g->n;
	gen_emit(g, op, dst, src, 0, imm);
}
