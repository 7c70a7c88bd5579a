// SPDX-License-Identifier: MIT
// Random programs of which a verifier should accept most: numbers are bounded
// before they are used as offsets, look-ups are tested. What is generated is
// then changed a little now and then, since the border between accepted and
// refused is where verifiers are wrong.
#include "test/differential/embedding/gen.h"

#include <string.h>

#include "test/differential/embedding/mutate.h"
#include "test/unit/verify_image.h"

struct em_prog em_prog;
struct gen g;

enum { MANY = 400, LATEST = 2048 - 64, STACK = 200, MOST_FUNCS = 8 };

void g_slot(uint8_t opcode, unsigned dst, unsigned src, int off, int64_t imm)
{
	if (em_prog.n < LATEST)
		em_prog.slots[em_prog.n++] = (struct nb_slot){ opcode, (uint8_t)(dst | src << 4),
							       (int16_t)off, (int32_t)imm };
}

void g_lddw(unsigned dst, unsigned src, uint32_t lo, uint32_t hi)
{
	g_slot(0x18, dst, src, 0, (int32_t)lo);
	g_slot(0, 0, 0, 0, (int32_t)hi);
}

void g_helper(int32_t id)
{
	/* Those that are functions of the kernel, by number too. */
	g_slot(0x85, 0, 0, 0, id);
}

void g_frame(unsigned dst, int off)
{
	g_mov(dst, 10);
	g_slot(0x07, dst, 0, 0, off);
}

uint32_t g_at(void)
{
	return em_prog.n;
}

uint32_t g_jump(uint8_t opcode, unsigned dst, unsigned src, int64_t imm)
{
	g_slot(opcode, dst, src, 0, imm);
	return em_prog.n - 1;
}

void g_aim(uint32_t at)
{
	em_prog.slots[at].off = (int16_t)(em_prog.n - at - 1);
}

int g_take(int size)
{
	if (g.sp + size > STACK)
		return 0;
	g.sp += size;
	return -g.sp;
}

void g_return(int size)
{
	g.sp -= size;
}

bool g_want(struct g_func f)
{
	if (g.nfuncs + 1 >= MOST_FUNCS || g.level > 1)
		return false;
	f.level = g.level + 1;
	g.funcs[g.nfuncs++] = f;
	return true;
}

int32_t g_constant(void)
{
	static const int32_t edges[] = { 0,   1,   -1,	2,  3,	 7,	    8,	       15,
					 16,  31,  32,	63, 64,	 65,	    127,       128,
					 255, 256, 511, -8, -64, INT32_MIN, INT32_MAX, 0xffff };

	return g_below(4) ? edges[g_below(sizeof(edges) / sizeof(edges[0]))]
			  : (int32_t)rng_next(&g.rng);
}

unsigned g_number(void)
{
	static const uint8_t regs[] = { 0, 1, 2, 3, 4, 5, 7, 8 };

	return regs[g_below(sizeof(regs))];
}

static void gen_number(unsigned r)
{
	static const uint8_t offs[] = { 0, 8, 16 };
	static const uint8_t words[] = { 24, 28, 32, 52, 56, 60, 64, 68, 76 };

	switch (g_below(5)) {
	case 0:
		if (g.ctx) {
			g_slot(0x79, r, G_CTX, offs[g_below(3)], 0);
			break;
		}
		/* fall through */
	case 1:
		if (g.ctx) {
			g_slot(0x61, r, G_CTX, words[g_below(9)], 0);
			break;
		}
		g_slot(g_below(2) ? 0x79 : 0x71, r, 10, -8 * (int)(1 + g_below(G_DATA / 8)), 0);
		break;
	case 2:
		g_lddw(r, 0, (uint32_t)rng_next(&g.rng),
		       g_below(2) ? (uint32_t)rng_next(&g.rng) : 0);
		break;
	default:
		g_imm(r, g_constant());
		break;
	}
}

void g_numbers(unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++)
		gen_number(i);
}

void g_alu(void)
{
	static const uint8_t ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60,
				       0x70, 0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0 };
	uint8_t op = ops[g_below(sizeof(ops))], cls = g_below(2) ? 0x07 : 0x04;
	unsigned d = g_number(), s = g_number();
	int bits = cls == 0x07 ? 64 : 32, off = 0;
	bool reg = g_below(2);
	int32_t k = g_constant();

	if (op == 0x80) {
		g_slot((uint8_t)(op | cls), d, 0, 0, 0);
		return;
	}
	if (op == 0xd0) {
		g_slot((uint8_t[]){ 0xd4, 0xdc, 0xd7 }[g_below(3)], d, 0, 0, 16 << g_below(3));
		return;
	}
	if ((op == 0x30 || op == 0x90) && g_below(2))
		off = 1;
	if (op == 0xb0 && reg && g_below(3) == 0)
		off = bits == 64 ? 8 << g_below(3) : 8 << g_below(2);
	if (!reg && (op == 0x60 || op == 0x70 || op == 0xc0))
		k = (int32_t)g_below((unsigned)bits);
	if (!reg && (op == 0x30 || op == 0x90) && !k)
		k = 3;
	g_slot((uint8_t)(op | cls | (reg ? 8 : 0)), d, reg ? s : 0, off, reg ? 0 : k);
}

void g_bound(unsigned r, unsigned limit)
{
	switch (g_below(4)) {
	case 0: { /* what is below a power of two that is not above it */
		unsigned mask = 1;

		while (mask * 2 <= limit)
			mask *= 2;
		g_slot(0x57, r, 0, 0, (int32_t)mask - 1);
		break;
	}
	case 1:
		g_slot(0x97, r, 0, 0, (int32_t)limit);
		break;
	case 2: /* if r >= limit r = 0, unsigned or in the low half */
		g_slot(0xa5, r, 0, 1, (int32_t)limit);
		g_imm(r, (int32_t)g_below(limit));
		break;
	default: /* a signed pair of tests */
		g_slot(0x65, r, 0, 1, (int32_t)limit - 1);
		g_slot(0x75, r, 0, 1, 0);
		g_imm(r, (int32_t)g_below(limit));
		break;
	}
}

/* A bounded number, spilled, filled and used: of any size and place. */
static void gen_narrow(void)
{
	unsigned k = g_below(4), size = 1u << k, r = g_number(), s = g_number();
	int off = -(int)(size * (1 + g_below(G_DATA / size)));
	unsigned limit = 1u << (1 + g_below(size == 1 ? 6 : 9));

	if (g_below(4))
		g_bound(r, limit);
	g_slot(stx_ops[k], 10, r, off, 0);
	if (g_below(3) == 0)
		g_alu();
	if (g_below(4) == 0) /* a neighbour, or a part of it */
		g_slot(st_ops[g_below(3)], 10, 0, off & ~3, g_constant());
	if (g_below(4) == 0)
		g_slot(0xa5, r, 0, 0, g_constant());
	g_slot(g_below(5) || k == 3 ? ldx_ops[k] : ldxs_ops[k], s, 10, off, 0);
	if (g_below(3) || r == s)
		return;
	/* It is below the limit still, if all went well. */
	g_bound(s, 16);
	g_mov(r, G_PTR);
	g_slot(0x0f, r, s, 0, 0);
	g_slot(0x71, r, r, 0, 0);
}

static void gen_stack(void)
{
	unsigned k = g_below(4), size = 1u << k;
	int off = -(int)(size * (1 + g_below(G_DATA / size)));
	unsigned r = g_number();

	switch (g_below(9)) {
	case 0:
		g_slot(st_ops[k], 10, 0, off, g_constant());
		break;
	case 1:
	case 2:
		g_slot(stx_ops[k], 10, r, off, 0);
		break;
	case 3:
		g_slot(ldxs_ops[k % 3], r, 10, off & ~((1 << k % 3) - 1), 0);
		break;
	case 4: { /* at a variable offset */
		unsigned p = g_number(), v = g_number();

		if (p == v)
			break;
		g_bound(v, 8);
		g_mov(p, 10);
		g_slot(0x0f, p, v, 0, 0);
		if (g_below(2))
			g_slot(0x71, p, p, -(int)(8 * (1 + g_below(7))), 0);
		else
			g_slot(0x73, p, v, -(int)(8 * (1 + g_below(7))), 0);
		g_imm(p, g_constant());
		break;
	}
	case 5:
	case 6:
		gen_narrow();
		break;
	default:
		g_slot(ldx_ops[k], r, 10, off, 0);
		break;
	}
}

static void gen_spill_pointer(void)
{
	int off = -8 * (int)(1 + g_below(G_DATA / 8));

	g_slot(0x7b, 10, G_PTR, off, 0);
	if (g_below(3) == 0)
		g_alu();
	g_slot(0x79, G_PTR, 10, off, 0);
	g_slot(0x7a, 10, 0, off, g_constant());
}

static void gen_lookup(void)
{
	static const uint8_t maps[] = { EM_COUNTS, EM_COUNTS, EM_PERCPU, EM_LIMITS, EM_SEEN,
					EM_CHOSEN, EM_CONFIG, EM_PERCPU, EM_LRU,    EM_STATE };
	unsigned m = maps[g_below(sizeof(maps))], size = em_maps[m].key_size;
	unsigned r = g_number();

	g_slot(size == 8 ? 0x7b : 0x63, 10, r, G_KEY, 0);
	if (g_below(2))
		g_slot(size == 8 ? 0x7a : 0x62, 10, 0, G_KEY, (int32_t)g_below(6));
	g_frame(2, G_KEY);
	g_lddw(1, 1, m, 0);
	if (em_maps[m].type == NB_MAP_PERCPU_ARRAY && g_below(2)) {
		g_imm(3, (int32_t)g_below(5));
		g_helper(195);
	} else {
		g_helper(1);
	}
	g_slot(0x55, 0, 0, 2, 0);
	if (g_below(8) || g.held) {
		/* not found: a value of .bss or of .rodata in its place */
		g_lddw(0, 2, g_below(5) ? EM_BSS : EM_RODATA, 0);
	} else {
		g_imm(0, 0);
		g_slot(0x95, 0, 0, 0, 0);
	}
	g_mov(G_PTR, 0);
	g_numbers(0, 5);
}

static void gen_value(void)
{
	static const int32_t atomics[] = { 0, 0x40, 0x50, 0xa0, 1, 0x41, 0x51, 0xa1, 0xe1, 0xf1 };
	unsigned k = g_below(4), r = g_number(), p = g_number();
	unsigned v = g_number();

	switch (g_below(6)) {
	case 0:
		g_slot(stx_ops[k], G_PTR, r, (int)g_below(9), 0);
		break;
	case 1:
		g_slot(g_below(2) ? 0xdb : 0xc3, G_PTR, r, (int)(8 * g_below(2)),
		       atomics[g_below(10)]);
		break;
	case 2:
		if (p == v)
			break;
		g_bound(v, 1u << g_below(4));
		g_mov(p, G_PTR);
		g_slot(g_below(12) ? 0x0f : 0x1f, p, v, 0, 0);
		g_slot(ldx_ops[k], p, p, (int)g_below(9), 0);
		break;
	default:
		g_slot(ldx_ops[k], r, G_PTR, (int)g_below(g_below(12) ? 9 : 17), 0);
		break;
	}
}

/* A store into the replicated map at a place that may be a local value's. */
static void gen_place(void)
{
	unsigned p = g_number(), v = g_number(), r = g_number();

	if (p == v || p == r)
		return;
	if (g_below(3) == 0)
		g_slot(0x61, v, G_PTR, 0, 0);
	g_bound(v, 8);
	g_slot(0x67, v, 0, 0, 3);
	g_mov(p, G_CTX);
	g_slot(0x0f, p, v, 0, 0);
	g_slot(g_below(2) ? 0x7b : 0x63, p, r, 24, 0);
	g_imm(p, g_constant());
}

static void gen_output(void)
{
	unsigned r = g_number();

	if (!g.ctx || g.kernel)
		return;
	if (g.calls && g_below(3) == 0) {
		gen_place();
		return;
	}
	if (g_below(2))
		g_slot(0x63, G_CTX, r, 68 + 4 * (int)g_below(3), 0);
	else
		g_slot(0x62, G_CTX, 0, 68 + 4 * (int)g_below(3), (int32_t)g_below(8));
}

static void gen_helper(void)
{
	if (g.ctx && !g.kernel && !g.calls && g_below(3) == 0) {
		int32_t id = 0x20001 + (int32_t)g_below(4);

		g_mov(1, G_CTX);
		g_numbers(2, 3);
		if (id == 0x20004)
			g_imm(1, g_constant());
		g_helper(id);
	} else {
		g_helper((int32_t[]){ 5, 7, 8 }[g_below(3)]);
	}
	if (g_below(2))
		g_mov(7, 0);
	g_numbers(1, 5);
}

/*
 * Something is written or not by a condition that may be local, and an output
 * follows from it: the shapes by which coherence is lost.
 */
static void gen_flow(void)
{
	int k = (int)g_below(4), off = -8 * (int)(1 + g_below(8));
	unsigned how = g_below(5);

	if (!g.ctx || g.kernel)
		return;
	g_slot(0x61, 2, G_CTX, g_below(3) ? 64 : 28, 0);
	if (how == 0)
		g_imm(3, k);
	else
		g_slot(0x7a, 10, 0, off, k);
	g_frame(4, off);
	g_slot(g_below(2) ? 0x15 : 0x55, 2, 0, 1, (int32_t)g_below(3));
	switch (how) {
	case 0:
		g_imm(3, (int32_t)g_below(4));
		break;
	case 1:
	case 2:
		g_slot(0x7a, 10, 0, off, (int32_t)g_below(4));
		break;
	default: /* which slot is written depends */
		g_slot(0x07, 4, 0, 0, off > -64 ? -8 : 8);
		g_slot(0x7a, 4, 0, 0, (int32_t)g_below(4));
		break;
	}
	g_imm(4, 0);
	if (how)
		g_slot(0x79, 3, 10, off, 0);
	if (g_below(4) == 0)
		g_imm(3, k);
	g_slot(0x55, 3, 0, 1, k);
	g_slot(0x62, G_CTX, 0, 68 + 4 * (int)g_below(3), (int32_t)g_below(8));
}

/* A jump over a block that is generated now. */
static void gen_if(unsigned depth)
{
	bool reg = g_below(3) == 0;
	uint32_t at, other;

	at = g_jump(
		(uint8_t)(jmp_ops[g_below(sizeof(jmp_ops))] | (g_below(2) ? 5 : 6) | (reg ? 8 : 0)),
		g_number(), reg ? g_number() : 0, reg ? 0 : g_constant());
	g_block(1 + g_below(4), depth + 1);
	if (g_below(2)) {
		other = g_jump(0x05, 0, 0, 0);
		g_aim(at);
		g_block(1 + g_below(4), depth + 1);
		g_aim(other);
		return;
	}
	g_aim(at);
}

static void gen_loop(unsigned depth)
{
	int off = g_take(8);
	uint32_t head, exit_at = 0;
	bool budget = !g.kernel && g_below(4) == 0;

	if (!off)
		return;
	g_slot(0x7a, 10, 0, off, 0);
	head = em_prog.n;
	if (budget)
		exit_at = g_jump(0xe5, 0, 0, 0);
	g_block(1 + g_below(3), depth + 1);
	g_slot(0x79, 1, 10, off, 0);
	g_slot(0x07, 1, 0, 0, 1 + (int32_t)g_below(2));
	g_slot(0x7b, 10, 1, off, 0);
	g_slot(0xa5, 1, 0, (int)head - (int)em_prog.n - 1, (int32_t)(1 + g_below(6)));
	if (budget)
		g_aim(exit_at);
	/* a may_goto may have left before r1 was a number again */
	gen_number(1);
	g_return(8);
}

void g_block(unsigned n, unsigned depth)
{
	while (n-- && em_prog.n < MANY) {
		switch (g_below(24)) {
		case 22:
		case 23:
			g_meet();
			break;
		case 16:
			if (g_below(3) == 0)
				gen_flow();
			break;
		case 17:
		case 18:
		case 19:
			g_resource(depth);
			break;
		case 20:
			g_calls(depth);
			break;
		case 0:
			gen_number(g_number());
			break;
		case 1:
		case 2:
		case 3:
			gen_stack();
			break;
		case 4:
			gen_lookup();
			break;
		case 5:
		case 6:
			gen_value();
			break;
		case 7:
			gen_output();
			break;
		case 8:
			if (g_below(3) == 0)
				gen_helper();
			break;
		case 9:
		case 10:
			if (depth < 4)
				gen_if(depth);
			break;
		case 11:
			if (depth < G_DEPTH && g_below(2))
				gen_loop(depth);
			break;
		case 12:
			if (g_below(3) == 0)
				gen_spill_pointer();
			else if (g_below(3) == 0)
				g_far_pointer();
			break;
		default:
			g_alu();
			break;
		}
	}
}

/* ---- functions ---- */

/* Registers and data of a function whose arguments are put away. */
static void begin(void)
{
	for (int off = -8; off >= -G_DATA; off -= 8)
		g_slot(0x7a, 10, 0, off, g_below(2) ? 0 : g_constant());
	g_numbers(0, 5);
	g.sp = -G_KEY;
	g.held = 0;
}

/* The state is what tuner programs have in the context, fields and outputs. */
static void call_entry(void)
{
	static const uint8_t offs[] = { 0, 8, 16, 24, 28, 32 };

	for (unsigned r = 7; r <= 8; r++) {
		unsigned off = offs[g_below(sizeof(offs))];

		g_slot(off < 24 ? 0x79 : 0x61, r, 1, (int)off, 0);
	}
	g_slot(0x62, 10, 0, G_KEY, (int32_t)g_below(4));
	g_frame(2, G_KEY);
	g_lddw(1, 1, EM_STATE, 0);
	g_helper(1);
	g_mov(G_CTX, 0);
	g_slot(0x7b, G_CTX, 7, 8, 0);
	g_slot(0x7b, G_CTX, 8, 16, 0);
}

/* Where a tuner program reads a field of its rank alone, read another map. */
static void no_local_fields(void)
{
	for (uint32_t i = 0; i < em_prog.n; i++)
		if (em_prog.slots[i].opcode == 0x61 && em_prog.slots[i].regs >> 4 == G_CTX &&
		    em_prog.slots[i].off == 64) {
			em_prog.slots[i].regs =
				(uint8_t)((em_prog.slots[i].regs & 15) | G_PTR << 4);
			em_prog.slots[i].off = 0;
		}
}

static void entry(void)
{
	g.ctx = true;
	if (g.calls)
		call_entry();
	else
		g_mov(G_CTX, 1);
	begin();
	g_numbers(7, 8);
	g_lddw(G_PTR, 2, g_below(5) ? EM_BSS : EM_RODATA, 0);
	g.budgets = G_SMALL && g_below(5) == 0;
	/* Small ones are quick, large ones bring things together. */
	if (g.budgets)
		g_budgets();
	else
		g_block(g_below(4) ? 1 + g_below(3) : 3 + g_below(8), 0);
	if (g_below(2))
		g_imm(0, 0);
	g_slot(0x95, 0, 0, 0, 0);
}

/* Use memory that an argument points to, or NULL, and forget the pointer. */
static void use_argument(unsigned r, uint32_t size, bool null)
{
	uint32_t at = 0;
	unsigned k = g_below(4);
	int last = (int)size - (1 << k);

	if (null && g_below(20))
		at = g_jump(0x15, r, 0, 0);
	if (last >= 0) {
		g_slot(ldx_ops[k], 0, r, (int)g_below((unsigned)last + 1), 0);
		g_slot(stx_ops[k], r, 0, (int)g_below((unsigned)last + 1), 0);
	}
	if (g_below(2)) {
		g_slot(0x71, 5, r, 0, 0);
		g_bound(5, size);
		g_slot(0x0f, r, 5, 0, 0);
		g_slot(g_below(2) ? 0x72 : 0x71, r, r, 0, 0);
		if (em_prog.slots[em_prog.n - 1].opcode == 0x72)
			em_prog.slots[em_prog.n - 1].regs &= 15;
	}
	if (at)
		g_aim(at);
}

static void typed(const struct g_func *f)
{
	unsigned r8 = 0;

	for (unsigned i = 0; i < f->sig.nargs; i++) {
		if (f->sig.arg[i] == G_ARG_CTX)
			g_mov(G_CTX, i + 1);
		else if (f->sig.arg[i] == G_ARG_NUMBER)
			r8 = i + 1;
		else
			use_argument(i + 1, f->sig.size[i], f->sig.arg[i] == G_ARG_OR_NULL);
	}
	if (r8)
		g_mov(8, r8);
	else
		g_imm(8, g_constant());
	g_imm(7, g_constant());
	g_lddw(G_PTR, 2, g_below(5) ? EM_BSS : EM_RODATA, 0);
}

/* r1: the turn, or a map, its key and its value; then what was passed. */
static void turn(const struct g_func *f)
{
	unsigned pass = f->kind == G_TURN ? 2 : 4;

	if (f->ctx) {
		g_mov(G_CTX, pass);
	} else if (g_below(3)) { /* it is an address in the caller's frame */
		g_slot(g_below(2) ? 0x79 : 0x71, 0, pass, 0, 0);
		g_slot(0x07, 0, 0, 0, 1);
		g_slot(stx_ops[g_below(4)], pass, 0, 0, 0);
	}
	if (f->kind == G_TURN) {
		g_mov(7, 1);
		g_imm(8, g_constant());
		g_lddw(G_PTR, 2, g_below(5) ? EM_BSS : EM_RODATA, 0);
	} else {
		g_mov(G_PTR, 3);
		g_slot(ldx_ops[g_below(3)], 7, 2, 0, 0);
		g_slot(ldx_ops[2], 8, 2, 0, 0);
	}
}

/* Count in the caller's frame; turns are too few to leave a value. */
static void count(void)
{
	g_slot(0x79, 0, 2, 0, 0);
	g_slot(0x07, 0, 0, 0, 1);
	g_slot(0x7b, 2, 0, 0, 0);
	g_lddw(3, 2, EM_BSS, 0);
	g_slot(0x0f, 3, g_below(2), 0, 0);
	g_slot(0x71, 4, 3, 40 + (int)g_below(19), 0);
	if (g_chance(30))
		g_slot(0x57, 4, 0, 0, 1);
	else
		g_imm(4, (int32_t)(g_below(8) == 0));
	g_mov(0, 4);
	g_slot(0x95, 0, 0, 0, 0);
}

static void function(const struct g_func *f)
{
	if (f->kind == G_COUNT) {
		count();
		return;
	}
	if (f->kind == G_NOTHING) {
		g_imm(0, 0);
		g_slot(0x95, 0, 0, 0, 0);
		return;
	}
	g.ctx = f->ctx;
	g.level = f->level;
	switch (f->kind) {
	case G_STATIC: /* r1: an address in the caller's frame; numbers */
		g_slot(0x79, 3, 1, 0, 0);
		g_slot(0x15 | (uint8_t)(g_below(2) << 6), 3, 0, 1, g_constant());
		g_slot(0x7b, 1, 2, 0, 0);
		g_mov(7, 3);
		g_mov(8, 2);
		g_lddw(G_PTR, 2, g_below(5) ? EM_BSS : EM_RODATA, 0);
		break;
	case G_TYPED:
		typed(f);
		break;
	case G_TURN:
	case G_ELEMENT:
		turn(f);
		break;
	case G_COUNT:
	case G_NOTHING:
		break;
	}
	begin();
	if (g.budgets)
		g_budgets();
	else
		g_block(1 + g_below(6), 1);
	if (f->kind == G_TURN || f->kind == G_ELEMENT) {
		g_slot(0x57, 0, 0, 0, 1);
		if (g_below(2))
			g_imm(0, 0);
	} else if (g_below(2)) {
		g_slot(0x57, 0, 0, 0, 7);
	}
	g_slot(0x95, 0, 0, 0, 0);
}

static void add_function(uint32_t start)
{
	static const char *const names[] = { "decide", "one",  "two", "three",
					     "four",   "five", "six", "seven" };
	struct nb_func *n = &em_prog.funcs[em_prog.nfuncs];

	if (em_prog.nfuncs)
		n[-1].end = start;
	*n = (struct nb_func){ .name = names[em_prog.nfuncs++], .start = start };
}

/* Make the program that g describes. */
static bool generate(void)
{
	struct em_prog *p = &em_prog;
	struct nb_err err;

	p->n = p->nfuncs = p->plain = 0;
	p->hook = nb_spec_hook(g.calls ? NB_HOOK_COLL_API : NB_HOOK_TUNER);
	em_maps = case_maps;
	em_nmaps = CASE_MAPS;
	add_function(0);
	entry();
	for (uint32_t i = 0; i < g.nfuncs; i++) {
		struct g_func f = g.funcs[i];

		p->slots[f.call].imm = (int32_t)(p->n - f.call - 1);
		add_function(p->n);
		function(&f);
	}
	p->funcs[p->nfuncs - 1].end = p->n;
	if (g.calls)
		no_local_fields();
	/* now and then something near the edge */
	slots_mutate(p->slots, p->n, g_below(4) ? 0 : 1 + g_below(2), &g.rng);
	p->prog = (struct nb_prog){ .name = "decide",
				    .section = p->hook->word,
				    .hook = p->hook->id,
				    .slots = p->slots,
				    .nslots = p->n,
				    .funcs = p->funcs,
				    .nfuncs = p->nfuncs };
	p->img = (struct nb_image){ .name = "embed",
				    .maps = em_maps,
				    .nmaps = CASE_MAPS,
				    .progs = &p->prog,
				    .nprogs = 1,
				    .ctx_fields = case_newer,
				    .nctx_fields = 1 };
	return !nb_decode(p->insns, p->slots, p->n, &err);
}

bool em_generate(uint64_t seed, bool kernel)
{
	g = (struct gen){ .rng = { seed }, .kernel = kernel };
	g.calls = !kernel && g_below(4) == 0;
	return generate();
}

bool em_generate_for(uint64_t seed, enum nb_hook hook)
{
	g = (struct gen){ .rng = { seed }, .calls = hook == NB_HOOK_COLL_API };
	return generate();
}
