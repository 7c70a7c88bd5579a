// SPDX-License-Identifier: MIT
// Statements about the budgets of a run (core/bpf/isa/budgets.h): some spend
// them by local data, others make an output of what they find left. The
// verifier must refuse every program where the first can change the second.
#include "test/differential/embedding/gen.h"

enum { TIMES = 3, CHANNELS = 76, RANDOM = 7 };

/* r@dst: 0 or @most, by local or by coherent data. */
static void two_numbers(unsigned dst, int32_t most)
{
	if (g.ctx && g_chance(15)) {
		g_slot(0x61, dst, G_CTX, 8 * (int)g_below(4), 0);
	} else {
		g_helper(RANDOM);
		g_mov(dst, 0);
	}
	g_slot(0x57, dst, 0, 0, 1);
	g_slot(0x27, dst, 0, 0, most);
}

/* A loop of a helper around nothing, of r1 turns; false: there is none. */
static bool empty_loop(void)
{
	struct g_func f = { .kind = G_NOTHING };

	f.call = g_at();
	if (!g_want(f))
		return false;
	g_lddw(2, 4, 0, 0);
	g_imm(3, 0);
	g_imm(4, 0);
	g_helper(181);
	return true;
}

/* An iterator from 0 to r3 at frame offset @at; r@count: numbers it gave. */
static void empty_iterator(int at, unsigned count)
{
	uint32_t head, done;

	g_imm(2, 0);
	g_frame(1, at);
	g_helper(0x10001);
	g_imm(count, 0);
	head = g_at();
	g_frame(1, at);
	g_helper(0x10002);
	done = g_jump(0x15, 0, 0, 0);
	g_slot(0x07, count, 0, 0, 1);
	g_slot(0x05, 0, 0, (int)head - (int)g_at() - 1, 0);
	g_aim(done);
	g_frame(1, at);
	g_helper(0x10003);
}

static void spend_passes(void)
{
	uint32_t over;

	two_numbers(1, 1);
	over = g_jump(0x15, 1, 0, 0);
	for (int i = 0; i < NB_MAY_GOTO_PASSES && i < 8; i++)
		g_slot(0xe5, 0, 0, 0, 0);
	g_aim(over);
}

/* Again and again, or the last turns are left. */
static void spend_turns(bool loop)
{
	int at = g_take(8), count = g_take(8);
	uint32_t head;

	if (!at || !count)
		return;
	g_slot(0x7a, 10, 0, count, 0);
	head = g_at();
	two_numbers(loop ? 1 : 3, 4);
	if (!loop || !empty_loop())
		empty_iterator(at, 7);
	g_slot(0x79, 1, 10, count, 0);
	g_slot(0x07, 1, 0, 0, 1);
	g_slot(0x7b, 10, 1, count, 0);
	g_slot(0xa5, 1, 0, (int)head - (int)g_at() - 1, TIMES);
	g_return(16);
}

void g_spend(void)
{
	switch (g_below(3)) {
	case 0:
		spend_passes();
		break;
	case 1:
		spend_turns(true);
		break;
	default:
		spend_turns(false);
		break;
	}
	g_numbers(0, 5);
	g_numbers(7, 8);
}

static void count_passes(void)
{
	g_imm(7, 0);
	g_slot(0xe5, 0, 0, 2, 0);
	g_slot(0x07, 7, 0, 0, 1);
	g_slot(0x05, 0, 0, -3, 0);
}

static void count_numbers(void)
{
	int at = g_take(8);

	g_imm(7, 0);
	if (!at)
		return;
	g_imm(3, 1 + (int32_t)g_below(4));
	empty_iterator(at, 7);
	g_return(8);
}

void g_observe(void)
{
	if (!g.ctx)
		return;
	switch (g_below(3)) {
	case 0:
		count_passes();
		break;
	case 1:
		count_numbers();
		break;
	default:
		g_imm(1, 1 + (int32_t)g_below(4));
		if (!empty_loop())
			g_imm(0, 0);
		g_mov(7, 0);
		break;
	}
	g_slot(0x57, 7, 0, 0, 0xff);
	g_slot(0x63, G_CTX, 7, CHANNELS, 0);
	g_numbers(0, 5);
}

void g_budgets(void)
{
	for (unsigned n = 1 + g_below(5); n--;)
		switch (g_below(5)) {
		case 0:
			g_spend();
			break;
		case 1:
		case 2:
			g_observe();
			break;
		default:
			g_calls(0);
			break;
		}
}
