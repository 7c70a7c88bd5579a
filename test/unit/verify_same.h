// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_SAME_H
#define NB_TEST_VERIFY_SAME_H

#include "test/unit/verify_image.h"

/*
 * Rewritings of a program that change nothing of what it does, so nothing of
 * its verdict: nothing is done between instructions, r6 to r9 change places,
 * constants are added in two steps. All are at the level of slots.
 */
enum same {
	SAME_NOTHING, /* ja +0 before each instruction */
	SAME_TURNED,  /* r6 is r7, r7 is r8, r8 is r9, r9 is r6 */
	SAME_SPLIT,   /* r += k as r += 1, r += k - 1 */
	NSAMES
};

enum {
	S_JA = 0x05,
	S_GOTOL = 0x06,
	S_CALL = 0x85,
	S_EXIT = 0x95,
	S_LDDW = 0x18,
	S_ADD = 0x07
};

static bool same_is_jump(const struct nb_slot *s)
{
	unsigned class = s->opcode & 7;

	return (class == 5 || class == 6) && s->opcode != S_CALL &&
	       s->opcode != S_EXIT;
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

/*
 * Rewrite @from into @to (CASE_SLOTS); @origin: of each new slot the old one.
 * Returns how many there are; 0: the program cannot be rewritten so.
 */
static uint32_t same_rewrite(enum same how, const struct nb_slot *from,
			     uint32_t n, struct nb_slot *to, uint32_t *origin)
{
	static uint32_t at[CASE_SLOTS];
	uint32_t k = 0;

	if (n * 2 + 2 > CASE_SLOTS || !same_fits(from, n))
		return 0;
	for (uint32_t pc = 0; pc < n; pc++) {
		bool wide = from[pc].opcode == S_LDDW && pc + 1 < n;
		struct nb_slot s = from[pc];

		at[pc] = k;
		if (how == SAME_NOTHING) {
			origin[k] = pc;
			to[k++] = (struct nb_slot){ S_JA, 0, 0, 0 };
		}
		if (how == SAME_TURNED)
			s.regs = (uint8_t)(same_turn(s.regs & 15) |
					   (s.opcode == S_CALL ||
							    s.opcode == S_LDDW
						    ? s.regs >> 4
						    : same_turn(s.regs >> 4))
						   << 4);
		if (how == SAME_SPLIT && s.opcode == S_ADD &&
		    s.imm > INT32_MIN) {
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
