// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_SAME_H
#define NB_TEST_VERIFY_SAME_H

#include "test/unit/verify_image.h"

/*
 * Rewritings of a program that change nothing of what it does, so nothing of
 * its verdict: nothing is done between instructions, r6 to r9 change places,
 * constants are added in two steps, what no value ever reaches is put between,
 * blocks of a function stand in another order. All are at the level of slots.
 */
enum same {
	SAME_NOTHING, /* ja +0 before each instruction */
	SAME_TURNED,  /* r6 is r7, r7 is r8, r8 is r9, r9 is r6 */
	SAME_SPLIT,   /* r += k as r += 1, r += k - 1 */
	SAME_DEAD,    /* r = 7; if (r != 7) r = *r; for a register not used */
	SAME_MOVED,   /* all blocks but each function's first, backwards */
	NSAMES
};

enum {
	S_JA = 0x05,
	S_GOTOL = 0x06,
	S_CALL = 0x85,
	S_EXIT = 0x95,
	S_LDDW = 0x18,
	S_ADD = 0x07,
	S_MOV = 0xb7,
	S_JEQ = 0x15,
	S_LDX = 0x79
};

static bool same_is_jump(const struct nb_slot *s)
{
	unsigned class = s->opcode & 7;

	return (class == 5 || class == 6) && s->opcode != S_CALL && s->opcode != S_EXIT;
}

/* Where a jump, a call or the address of a function leads; -1: nowhere. */
static int64_t same_target(const struct nb_slot *s, uint32_t pc)
{
	unsigned src = s->regs >> 4;

	if (s->opcode == S_GOTOL || (s->opcode == S_CALL && src == 1))
		return (int64_t)pc + 1 + s->imm;
	if (s->opcode == S_LDDW && src == 4)
		return (int64_t)pc + 1 + s->imm;
	return same_is_jump(s) ? (int64_t)pc + 1 + s->off : -1;
}

static void same_aim(struct nb_slot *s, uint32_t pc, uint32_t to)
{
	if (same_is_jump(s) && s->opcode != S_GOTOL)
		s->off = (int16_t)((int64_t)to - pc - 1);
	else
		s->imm = (int32_t)((int64_t)to - pc - 1);
}

/* Jumps to other places than instructions are the point of some programs. */
static bool same_fits(const struct nb_slot *s, uint32_t n)
{
	bool second[CASE_SLOTS] = { false };

	for (uint32_t pc = 0; pc < n; pc++)
		if (s[pc].opcode == S_LDDW) {
			if (++pc < n)
				second[pc] = true;
		}
	for (uint32_t pc = 0; pc < n; pc++) {
		int64_t to = second[pc] ? -1 : same_target(&s[pc], pc);
		bool aims = !second[pc] && (same_is_jump(&s[pc]) || to != -1);

		if (aims && (to < 0 || to >= n || second[to]))
			return false;
	}
	return true;
}

static uint8_t same_turn(unsigned reg)
{
	return (uint8_t)(reg < 6 || reg > 9 ? reg : reg == 9 ? 6 : reg + 1);
}

/* One of r6 to r9 that no instruction names; 0: none. */
static unsigned same_unused(const struct nb_slot *s, uint32_t n)
{
	unsigned used = 0;

	for (uint32_t pc = 0; pc < n; pc++)
		used |= 1u << (s[pc].regs & 15) | 1u << (s[pc].regs >> 4);
	for (unsigned r = 9; r >= 6; r--)
		if (!(used >> r & 1))
			return r;
	return 0;
}

/* A constant keeps everything out of the last of these. */
static uint32_t same_dead(struct nb_slot *to, unsigned reg)
{
	to[0] = (struct nb_slot){ S_MOV, (uint8_t)reg, 0, 7 };
	to[1] = (struct nb_slot){ S_JEQ, (uint8_t)reg, 1, 7 };
	to[2] = (struct nb_slot){ S_LDX, (uint8_t)(reg | reg << 4), 0, 0 };
	return 3;
}

/* Where blocks (1) and functions (2) begin. */
static void same_begins(const struct nb_slot *s, uint32_t n, uint8_t *begins)
{
	memset(begins, 0, n + 1);
	begins[0] = begins[n] = 2;
	for (uint32_t pc = 0; pc < n; pc++) {
		int64_t to = same_target(&s[pc], pc);
		bool jump = same_is_jump(&s[pc]);

		if (to >= 0 && (!jump || !begins[to]))
			begins[to] = jump ? 1 : 2;
		if ((jump || s[pc].opcode == S_EXIT) && !begins[pc + 1])
			begins[pc + 1] = 1;
		pc += s[pc].opcode == S_LDDW;
	}
}

/* What is made of a program, and where its slots went. */
struct same_made {
	const struct nb_slot *from;
	struct nb_slot *to;
	uint32_t *origin, n;
	uint32_t at[CASE_SLOTS];
	uint32_t falls[CASE_SLOTS]; /* a jump to what came next; 0: none */
};

/* Slots [@lo, @hi), and a jump to the next one, if the last leads there. */
static void same_block(struct same_made *m, uint32_t lo, uint32_t hi, bool last)
{
	const uint8_t end = m->from[hi - 1].opcode;

	for (uint32_t pc = lo; pc < hi; pc++) {
		m->at[pc] = m->n;
		m->origin[m->n] = pc;
		m->to[m->n++] = m->from[pc];
	}
	if (last || end == S_EXIT || end == S_JA || end == S_GOTOL)
		return;
	m->falls[m->n] = hi;
	m->origin[m->n] = hi - 1;
	m->to[m->n++] = (struct nb_slot){ S_JA, 0, 0, 0 };
}

/* A function: its first block, then the others, backwards. */
static void same_move(struct same_made *m, const uint8_t *begins, uint32_t lo, uint32_t hi)
{
	uint32_t first = lo + 1, block = hi, end = hi;

	while (first < hi && !begins[first])
		first++;
	same_block(m, lo, first, first == hi);
	while (end > first) {
		do
			block--;
		while (!begins[block]);
		same_block(m, block, end, end == hi);
		end = block;
	}
}

/* The blocks in another order: as same_rewrite. */
static uint32_t same_reorder(const struct nb_slot *from, uint32_t n, struct nb_slot *to,
			     uint32_t *origin)
{
	static uint8_t begins[CASE_SLOTS + 1];
	static struct same_made m;
	uint32_t lo = 0;

	memset(&m, 0, sizeof(m));
	m.from = from;
	m.to = to;
	m.origin = origin;
	same_begins(from, n, begins);
	for (uint32_t hi = 1; hi <= n; hi++)
		if (begins[hi] == 2) {
			same_move(&m, begins, lo, hi);
			lo = hi;
		}
	for (uint32_t i = 0; i < m.n; i++) {
		int64_t aim = m.falls[i];

		if (i && to[i - 1].opcode == S_LDDW)
			continue; /* its second slot */
		if (!aim)
			aim = same_target(&from[origin[i]], origin[i]);
		if (aim >= 0)
			same_aim(&to[i], i, m.at[aim]);
	}
	return m.n;
}

/*
 * Rewrite @from into @to (CASE_SLOTS); @origin: of each new slot the old one.
 * Returns how many there are; 0: the program cannot be rewritten so.
 */
static uint32_t same_rewrite(enum same how, const struct nb_slot *from, uint32_t n,
			     struct nb_slot *to, uint32_t *origin)
{
	static uint32_t at[CASE_SLOTS];
	const unsigned unused = same_unused(from, n);
	uint32_t k = 0;

	if (n * 4 + 4 > CASE_SLOTS || !same_fits(from, n) || (how == SAME_DEAD && !unused))
		return 0;
	if (how == SAME_MOVED)
		return same_reorder(from, n, to, origin);
	for (uint32_t pc = 0; pc < n; pc++) {
		bool wide = from[pc].opcode == S_LDDW && pc + 1 < n;
		struct nb_slot s = from[pc];

		at[pc] = k;
		if (how == SAME_NOTHING) {
			origin[k] = pc;
			to[k++] = (struct nb_slot){ S_JA, 0, 0, 0 };
		}
		for (uint32_t i = 0; how == SAME_DEAD && i < 3; i++)
			origin[k + i] = pc;
		if (how == SAME_DEAD)
			k += same_dead(to + k, unused);
		if (how == SAME_TURNED)
			s.regs = (uint8_t)(same_turn(s.regs & 15) |
					   (s.opcode == S_CALL || s.opcode == S_LDDW
						    ? s.regs >> 4
						    : same_turn(s.regs >> 4))
						   << 4);
		if (how == SAME_SPLIT && s.opcode == S_ADD && s.imm > INT32_MIN) {
			origin[k] = pc;
			to[k++] = (struct nb_slot){ S_ADD, s.regs, 0, 1 };
			s.imm--;
		}
		origin[k] = pc;
		to[k++] = s;
		if (wide) {
			at[++pc] = k;
			origin[k] = pc;
			to[k++] = from[pc];
		}
	}
	for (uint32_t i = 0; i < k; i++) {
		int64_t aim = same_target(&from[origin[i]], origin[i]);
		bool last = i + 1 == k || origin[i + 1] != origin[i];

		if (i && to[i - 1].opcode == S_LDDW)
			continue; /* its second slot */
		if (last && aim >= 0)
			same_aim(&to[i], i, at[aim]);
	}
	return k;
}

#endif
