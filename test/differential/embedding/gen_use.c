// SPDX-License-Identifier: MIT
// Statements about what programs take and give back, what helpers keep on the
// stack, maps that are not looked up, and calls of every kind.
#include "test/differential/embedding/gen.h"

/* Access @size bytes at r@p: loads, stores, an atomic, a computed offset. */
static void use_memory(unsigned p, unsigned size)
{
	unsigned n = 1 + g_below(3);

	while (n--) {
		unsigned k = g_below(4), r = p == 0 ? 7 : 0;
		unsigned room = size >> k;
		int off = room ? (int)(g_below(room) << k) : 0;

		if (!room && g_below(10))
			continue;
		switch (g_below(8)) {
		case 0:
			if (size >= 8)
				g_slot(g_below(2) ? 0xdb : 0xc3, p, 8, 0, 1);
			break;
		case 1: /* a number of the memory's own as an offset */
			g_slot(0x71, r, p, 0, 0);
			g_bound(r, size);
			g_slot(0x0f, r, p, 0, 0);
			g_slot(g_below(2) ? 0x73 : 0x71, r, r, 0, 0);
			g_imm(r, g_constant());
			break;
		case 2:
		case 3:
		case 4:
			g_slot(ldx_ops[k], r, p, off, 0);
			break;
		default:
			g_slot(stx_ops[k], p, 8, off, 0);
			break;
		}
	}
}

void g_far_pointer(void)
{
	unsigned p = g_number(), v = g_number();
	uint32_t high = 0, other;

	if (p == v)
		return;
	g_mov(p, g_chance(80) ? G_PTR : 10);
	if (g_chance(70)) { /* minus its own low half */
		g_slot(0xbc, v, p, 0, 0);
		high = g_jump(0x25, v, 0, 0x1ffffffe);
		g_slot(0x1f, p, v, 0, 0);
	} else {
		g_slot(0x07, p, 0, 0, g_constant() % (1 << 20));
	}
	other = g_jump(g_below(2) ? 0x15 : 0x55, p, 0, 0);
	if (g.ctx && !g.kernel && g_chance(5))
		g_slot(0x62, G_CTX, 0, 68, (int32_t)g_below(8));
	else
		g_imm(v, 0);
	g_aim(other);
	if (high)
		g_aim(high);
	g_imm(p, g_constant());
	g_imm(v, g_constant());
}

/* ---- iterators ---- */

static void iter_bounds(void)
{
	g_imm(2, g_chance(80) ? (int32_t)g_below(4) : g_constant());
	if (g_chance(50)) {
		g_imm(3, g_chance(85) ? (int32_t)g_below(8) : g_constant());
		return;
	}
	g_numbers(3, 3);
	if (g_chance(80))
		g_bound(3, 1 + g_below(12));
	if (g_chance(20))
		g_bound(2, 3);
}

static void gen_iterator(unsigned depth)
{
	int at = g_take(8);
	uint32_t head, done, out = 0;
	unsigned i = g_below(2) ? 7 : 8;

	if (!at || depth >= G_DEPTH)
		return;
	iter_bounds();
	g_frame(1, at);
	g_helper(0x10001);
	g.held++;
	head = g_at();
	g_frame(1, at);
	g_helper(0x10002);
	done = g_jump(0x15, 0, 0, 0);
	if (g_chance(90))
		g_slot(0x61, i, 0, 0, 0);
	else
		g_slot(0x71, i, 0, (int)g_below(4), 0);
	if (g_chance(40)) { /* it is within what it counts */
		g_mov(2, i);
		if (g_chance(60))
			g_bound(2, 8);
		g_mov(3, G_PTR);
		g_slot(0x0f, 3, 2, 0, 0);
		g_slot(0x71, 2, 3, (int)g_below(8), 0);
	}
	g_numbers(0, 5);
	g_block(1 + g_below(3), depth + 1);
	if (g_chance(20)) /* break */
		out = g_jump(0x15, i, 0, (int32_t)g_below(6));
	g_slot(0x05, 0, 0, (int)head - (int)g_at() - 1, 0);
	g_aim(done);
	if (out)
		g_aim(out);
	g_frame(1, at);
	g_helper(0x10003);
	g.held--;
	g_numbers(0, 5);
	g_return(8);
}

/* Numbers that are counted on the stack: few enough to be an index. */
static void gen_counter(void)
{
	int at = g_take(16);
	uint32_t head, done;
	int32_t iterations = 1 + (int32_t)g_below(6);
	struct g_func f = { .kind = G_COUNT };

	if (!at)
		return;
	g_slot(0x7a, 10, 0, at + 8, 0);
	if (g_below(2)) {
		g_imm(1, iterations);
		g_frame(3, at + 8);
		g_imm(4, 0);
		f.call = g_at();
		if (g_want(f)) {
			g_lddw(2, 4, 0, 0);
			g_helper(181);
		}
	} else {
		g_frame(1, at);
		g_imm(2, (int32_t)g_below(3));
		g_imm(3, 2 + iterations);
		g_helper(0x10001);
		head = g_at();
		g_frame(1, at);
		g_helper(0x10002);
		done = g_jump(0x15, 0, 0, 0);
		if (g_below(2))
			g_slot(0x61, 7, 0, 0, 0);
		g_slot(0x79, 1, 10, at + 8, 0);
		g_slot(0x07, 1, 0, 0, 1);
		g_slot(0x7b, 10, 1, at + 8, 0);
		g_slot(0x05, 0, 0, (int)head - (int)g_at() - 1, 0);
		g_aim(done);
		g_frame(1, at);
		g_helper(0x10003);
	}
	g_slot(0x79, 2, 10, at + 8, 0);
	g_lddw(1, 2, EM_BSS, 0);
	g_slot(0x0f, 1, 2, 0, 0);
	g_slot(0x71, 8, 1, 48 + (int)g_below(11), 0);
	g_numbers(0, 5);
	g_return(16);
}

/* ---- records of a ring buffer ---- */

static void gen_record(unsigned depth)
{
	int at = g_take(8);
	unsigned size = 8u << g_below(4);
	bool early = g_below(2);
	uint32_t none, end;

	if (!at)
		return;
	g_lddw(1, 1, EM_RING, 0);
	g_imm(2, (int32_t)size);
	g_imm(3, 0);
	g_helper(131);
	if (early) /* spilled before it is tested */
		g_slot(0x7b, 10, 0, at, 0);
	none = g_jump(0x15, 0, 0, 0);
	if (!early)
		g_slot(0x7b, 10, 0, at, 0);
	if (g_below(2))
		use_memory(0, size);
	g_numbers(0, 5);
	g.held++;
	if (g_below(2) && depth < G_DEPTH)
		g_block(1 + g_below(2), depth + 1);
	g_slot(0x79, 1, 10, at, 0);
	if (g_below(2))
		use_memory(1, size);
	if (g_chance(40)) /* in the end an address that means nothing */
		g_mov(7, 1);
	if (g_chance(10)) { /* submitted or discarded, as it comes */
		uint32_t other = g_jump(0x25, 8, 0, g_constant()), both;

		g_imm(2, 0);
		g_helper(132);
		both = g_jump(0x05, 0, 0, 0);
		g_aim(other);
		g_imm(2, 0);
		g_helper(133);
		g_aim(both);
	} else {
		g_imm(2, (int32_t)g_below(2));
		g_helper(g_below(2) ? 132 : 133);
	}
	g.held--;
	end = g_jump(0x05, 0, 0, 0);
	g_aim(none);
	if (g_chance(3))
		g_slot(0x79, 1, 10, at, 0);
	g_aim(end);
	if (early && g_below(2))
		g_slot(0x79, 8, 10, at, 0);
	if (g_chance(3)) /* used after it was given back */
		g_slot(0x71, 0, 7, 0, 0);
	g_slot(0x7a, 10, 0, at, 0);
	g_numbers(0, 5);
	g_return(8);
}

/* ---- maps that change ---- */

static void gen_update(void)
{
	static const uint8_t maps[] = { EM_COUNTS, EM_SEEN, EM_BSS, EM_LRU, EM_PERCPU, EM_CHOSEN };
	uint32_t map = maps[g_below(sizeof(maps) - !g_chance(5))];

	g_slot(0x7a, 10, 0, G_KEY, (int32_t)g_below(5));
	g_frame(2, G_KEY);
	g_lddw(1, 1, map, 0);
	if (g_below(3) == 0) {
		g_helper(3);
	} else {
		g_frame(3, -(int)em_maps[map].value_size);
		g_imm(4, (int32_t)g_below(2));
		g_helper(2);
	}
	g_numbers(1, 5);
}

static void gen_text(void)
{
	unsigned how = g_below(g.kernel ? 3 : 4);

	if (how == 0) {
		g_lddw(1, 1, EM_RING, 0);
		g_frame(2, -32);
		g_mov(3, 8);
		g_bound(3, 32);
		g_imm(4, 0);
		g_helper(130);
	} else if (how == 1) {
		g_lddw(1, 1, EM_RING, 0);
		g_imm(2, (int32_t)g_below(4));
		g_helper(134);
	} else if (how == 2) {
		g_frame(1, -16);
		g_imm(2, 1 + (int32_t)g_below(16));
		g_helper(6);
	} else {
		g_frame(1, -16);
		g_imm(2, 1 + (int32_t)g_below(16));
		g_imm(3, (int32_t)g_below(2) * 10);
		g_frame(4, -8 * (int)(1 + g_below(8)));
		g_helper(105 + (int32_t)g_below(2));
	}
	g_numbers(1, 5);
}

void g_resource(unsigned depth)
{
	switch (g.kernel ? 2 + g_below(3) : g_below(7)) {
	case 0:
	case 1:
		gen_iterator(depth);
		break;
	case 6:
		gen_counter();
		break;
	case 2:
		gen_record(depth);
		break;
	case 3:
		gen_update();
		break;
	default:
		gen_text();
		break;
	}
}

/* ---- calls ---- */

static void call_static(void)
{
	g_frame(1, -8 * (int)(1 + g_below(8)));
	g_numbers(2, 2);
	if (g_want((struct g_func){ .kind = G_STATIC, .call = g_at() }))
		g_slot(0x85, 0, 1, 0, 0);
	else
		g_imm(0, g_constant());
	g_numbers(1, 5);
}

/* Memory of at least @size bytes in r@r. */
static void pass_memory(unsigned r, unsigned size, bool null)
{
	switch (g_below(3)) {
	case 0:
		if (null) {
			g_imm(r, 0);
			return;
		}
		/* fall through */
	case 1:
		g_lddw(r, 2, EM_BSS, g_below(64 - size + 1));
		return;
	default:
		g_frame(r, -(int)size - 8 * (int)g_below(3));
		return;
	}
}

/* Call a function of several arguments: numbers, memory, the context. */
static void call_typed(void)
{
	static const enum g_arg args[] = { G_ARG_NUMBER, G_ARG_NUMBER, G_ARG_OR_NULL, G_ARG_MEMORY,
					   G_ARG_CTX };
	struct g_func f = { .kind = G_TYPED };
	struct g_sig *s = &f.sig;

	s->nargs = 1 + g_below(4);
	for (unsigned i = 0; i < s->nargs; i++) {
		s->arg[i] = args[g_below(g.ctx ? 5 : 4)];
		f.ctx |= s->arg[i] == G_ARG_CTX;
		if (s->arg[i] == G_ARG_CTX) {
			g_mov(i + 1, G_CTX);
		} else if (s->arg[i] == G_ARG_NUMBER) {
			g_numbers(i + 1, i + 1);
		} else {
			s->size[i] = 8u << g_below(3);
			pass_memory(i + 1, s->size[i], s->arg[i] == G_ARG_OR_NULL);
		}
	}
	f.call = g_at();
	if (g_want(f))
		g_slot(0x85, 0, 1, 0, 0);
	else
		g_imm(0, g_constant());
	g_numbers(1, 5);
}

static void call_back(bool each)
{
	static const uint8_t maps[] = { EM_COUNTS, EM_SEEN,   EM_PERCPU, EM_LRU,
					EM_BSS,	   EM_LIMITS, EM_CHOSEN };
	struct g_func f = { .kind = each ? G_ELEMENT : G_TURN, .ctx = g.ctx && g_below(2) };

	if (each) {
		g_lddw(1, 1, maps[g_below(sizeof(maps))], 0);
	} else if (g_below(2)) {
		g_imm(1, (int32_t)g_below(6));
	} else {
		g_numbers(1, 1);
		if (g_chance(70))
			g_bound(1, 1 + g_below(9));
	}
	if (f.ctx)
		g_mov(3, G_CTX);
	else
		g_frame(3, -8 * (int)(1 + g_below(8)));
	g_imm(4, 0);
	f.call = g_at();
	if (g_want(f)) {
		g_lddw(2, 4, 0, 0);
		g_helper(each ? 164 : 181);
	} else {
		g_imm(0, 0);
	}
	g_numbers(1, 5);
}

void g_calls(unsigned depth)
{
	(void)depth;
	switch (g_below(g.kernel ? 4 : G_SMALL ? 9 : 7)) {
	case 0:
	case 1:
		call_static();
		break;
	case 2:
	case 3:
		call_typed();
		break;
	case 4:
	case 5:
		call_back(false);
		break;
	case 6:
		call_back(true);
		break;
	case 7:
		g_spend();
		break;
	default:
		g_observe();
		break;
	}
}
