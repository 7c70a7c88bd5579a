// SPDX-License-Identifier: MIT
// The program generator: see gen.h. It keeps a rough type for each register
// and which bytes of the stack were written; where ways meet, what differs is
// forgotten. It proves nothing: bounds are made with the idioms of compilers
// and then used a little off, because the border between accepted and refused
// is where verifiers are wrong.
#include "test/differential/oracle/gen.h"

#include <string.h>

enum { NO_TURNS, NUMBERED, OF_A_MAP };
enum type { NONE, NUM, SMALL, CTX, FRAME, VALUE, MAYBE };

enum {
	WINDOW = 64, /* bytes of stack that are used */
	MAX_FIX = 256,
	MAX_FUNCS = 4,
	ROOM = GEN_MAX_SLOTS - 64
};

struct regs {
	uint8_t type[10];
	uint8_t map[10];	   /* VALUE, MAYBE */
	int32_t off[10];	   /* VALUE, FRAME: where it points */
	uint32_t limit[10];	   /* SMALL: below this */
	uint8_t init[WINDOW];	   /* bytes below r10, the nearest last */
	uint8_t spill[WINDOW / 8]; /* 1 + register spilled there */
};

struct gen {
	const struct gen_opts *o;
	struct rng *r;
	struct nb_slot *out;
	uint32_t n;
	struct regs t;
	uint32_t fix[MAX_FIX], nfix; /* jumps to the function's way out */
	uint32_t calls[MAX_FIX], ncalls;
	uint8_t callee[MAX_FIX], nargs[MAX_FUNCS], nfuncs, func;
	bool frame_arg[MAX_FUNCS];
	uint8_t turns[MAX_FUNCS]; /* a callback's: NUMBERED, or of a map */
	uint8_t turn_map[MAX_FUNCS];
	unsigned depth;
};

static struct nb_slot slot(uint8_t op, unsigned dst, unsigned src, int off,
			   int32_t imm)
{
	return (struct nb_slot){ op, (uint8_t)(dst | src << 4), (int16_t)off,
				 imm };
}

static void emit(struct gen *g, uint8_t op, unsigned dst, unsigned src, int off,
		 int32_t imm)
{
	if (g->n < GEN_MAX_SLOTS)
		g->out[g->n++] = slot(op, dst, src, off, imm);
}

static void emit_lddw(struct gen *g, unsigned dst, unsigned kind, uint32_t lo,
		      uint32_t hi)
{
	emit(g, 0x18, dst, kind, 0, (int32_t)lo);
	emit(g, 0, 0, 0, 0, (int32_t)hi);
}

static bool chance(struct gen *g, uint32_t percent)
{
	return rng_percent(g->r, percent);
}

static uint32_t below(struct gen *g, uint32_t n)
{
	return rng_below(g->r, n);
}

static int32_t immediate(struct gen *g)
{
	static const int32_t edges[] = {
		0,   1,	     2,	     3,	     4,	    7,	       8,	  15,
		16,  31,     32,     63,     64,    127,       128,	  255,
		256, 0x7fff, 0x8000, 0xffff, 65536, INT32_MAX, INT32_MIN, -1,
		-2,  -7,     -8,     -9,     -64,   -128,      -256,	  -32768
	};

	switch (below(g, 4)) {
	case 0:
		return (int32_t)rng_next(g->r);
	case 1:
		return rng_between(g->r, -70, 70);
	default:
		return edges[below(g, sizeof(edges) / sizeof(edges[0]))];
	}
}

/* ---- registers --------------------------------------------------------- */

static bool is_number(const struct gen *g, unsigned reg)
{
	return g->t.type[reg] == NUM || g->t.type[reg] == SMALL;
}

static void set_number(struct gen *g, unsigned reg)
{
	g->t.type[reg] = NUM;
}

/* A register of that type, or -1. */
static int pick(struct gen *g, enum type type)
{
	unsigned first = below(g, 10);

	for (unsigned i = 0; i < 10; i++) {
		unsigned reg = (first + i) % 10;

		if (g->t.type[reg] == type ||
		    (type == NUM && g->t.type[reg] == SMALL))
			return (int)reg;
	}
	return -1;
}

/* A register to write to; seldom one that holds a pointer. */
static unsigned target(struct gen *g)
{
	unsigned reg = 0;

	for (int i = 0; i < 6; i++) {
		reg = below(g, 10);
		if (g->t.type[reg] <= SMALL)
			break;
	}
	return reg;
}

static unsigned number(struct gen *g)
{
	int reg = chance(g, 1) ? (int)below(g, 10) : pick(g, NUM);

	if (reg < 0) {
		reg = (int)target(g);
		emit(g, 0xb7, (unsigned)reg, 0, 0, immediate(g));
		set_number(g, (unsigned)reg);
	}
	return (unsigned)reg;
}

static void kill(struct gen *g, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++)
		g->t.type[i] = NONE;
}

/* Where two ways meet. */
static void join(struct regs *a, const struct regs *b)
{
	for (unsigned i = 0; i < 10; i++) {
		bool same = a->type[i] == b->type[i] && a->map[i] == b->map[i];
		bool numbers = (a->type[i] == NUM || a->type[i] == SMALL) &&
			       (b->type[i] == NUM || b->type[i] == SMALL);

		if (a->type[i] == SMALL && b->type[i] == SMALL &&
		    a->limit[i] < b->limit[i])
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
static void bail(struct gen *g, uint8_t op, unsigned dst, unsigned src,
		 int32_t imm)
{
	if (g->nfix == MAX_FIX)
		return;
	g->fix[g->nfix++] = g->n;
	emit(g, op, dst, src, 0, imm);
}

/* ---- statements ---------------------------------------------------------- */

static const uint8_t alu_ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50,
				   0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0 };
static const uint8_t jmp_ops[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60,
				   0x70, 0xa0, 0xb0, 0xc0, 0xd0 };

static void stmt_unary(struct gen *g, unsigned dst)
{
	static const uint8_t ops[] = { 0x84, 0x87, 0xd4, 0xdc, 0xd7 };
	static const int32_t widths[] = { 16, 32, 64 };
	uint8_t op = ops[below(g, 5)];

	emit(g, op, dst, 0, 0,
	     op == 0x84 || op == 0x87 ? 0 : widths[below(g, 3)]);
	set_number(g, dst);
}

static void stmt_alu(struct gen *g)
{
	unsigned dst = number(g), src = number(g);
	uint8_t op = alu_ops[below(g, sizeof(alu_ops))];
	uint8_t cls = chance(g, 40) ? 0x04 : 0x07;
	bool shift = op == 0x60 || op == 0x70 || op == 0xc0;
	bool division = op == 0x30 || op == 0x90;
	int off = division && chance(g, 40) ? 1 : 0;
	int32_t imm = immediate(g);

	if (chance(g, 8)) {
		stmt_unary(g, dst);
		return;
	}
	if (op == 0xb0 && chance(g, 60)) {
		dst = target(g);
		off = chance(g, 50) ? 8 << below(g, cls == 7 ? 3 : 2) : 0;
		emit(g, op | 8 | cls, dst, src, off, 0);
		set_number(g, dst);
		return;
	}
	if (chance(g, 50)) {
		emit(g, op | 8 | cls, dst, src, off, 0);
	} else {
		if (shift)
			imm = (int32_t)below(g, cls == 7 ? 64 : 32);
		if (division && !imm)
			imm = 3;
		emit(g, op | cls, dst, 0, off, imm);
	}
	set_number(g, dst);
}

static void stmt_const(struct gen *g)
{
	unsigned dst = target(g);

	if (chance(g, 25)) {
		emit_lddw(g, dst, 0, (uint32_t)immediate(g),
			  (uint32_t)(chance(g, 50) ? 0 : immediate(g)));
	} else {
		emit(g, chance(g, 50) ? 0xb7 : 0xb4, dst, 0, 0, immediate(g));
	}
	set_number(g, dst);
}

static const uint8_t ldx_ops[] = { 0x71, 0x69, 0x61, 0x79 };
static const uint8_t ldxs_ops[] = { 0x91, 0x89, 0x81 };
static const uint8_t stx_ops[] = { 0x73, 0x6b, 0x63, 0x7b };
static const uint8_t st_ops[] = { 0x72, 0x6a, 0x62, 0x7a };

static void stmt_ctx_load(struct gen *g)
{
	int ctx = pick(g, CTX);
	unsigned dst = target(g), k = below(g, 4), size;
	uint32_t off;

	if (ctx < 0)
		return;
	if (chance(g, 60))
		k = 2 + below(g, 2);
	size = 1u << k;
	off = below(g, g->o->ctx_size / size) * size;
	if (size == 8) /* the only fields of 8 bytes */
		off = below(g, 3) * 8;
	emit(g, ldx_ops[k], dst, (unsigned)ctx, (int)off, 0);
	set_number(g, dst);
}

static void stmt_output(struct gen *g)
{
	int ctx = pick(g, CTX);
	unsigned src;

	if (ctx < 0 || !g->o->tuner)
		return;
	if (chance(g, 40)) {
		emit(g, 0x62, (unsigned)ctx, 0, 68 + (int)below(g, 3) * 4,
		     immediate(g));
		return;
	}
	src = number(g);
	emit(g, 0x63, (unsigned)ctx, src, 68 + (int)below(g, 3) * 4, 0);
}

static void wrote(struct gen *g, int off, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		g->t.init[WINDOW + off + (int)i] = 1;
	g->t.spill[(WINDOW + off) / 8] = 0;
}

static void stmt_stack_store(struct gen *g)
{
	unsigned k = chance(g, 50) ? 3 : below(g, 4), size = 1u << k, src;
	int off = -WINDOW + (int)(below(g, WINDOW / size) * size);

	if (chance(g, 30)) {
		emit(g, st_ops[k], 10, 0, off, immediate(g));
		wrote(g, off, size);
		return;
	}
	src = k == 3 && chance(g, 40) ? below(g, 10) : number(g);
	if (g->t.type[src] == NONE)
		src = number(g);
	emit(g, stx_ops[k], 10, src, off, 0);
	wrote(g, off, size);
	if (k == 3)
		g->t.spill[(WINDOW + off) / 8] = (uint8_t)(1 + src);
}

static bool stack_ready(const struct gen *g, int off, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (!g->t.init[WINDOW + off + (int)i])
			return false;
	return true;
}

static void stmt_stack_load(struct gen *g)
{
	for (int i = 0; i < 8; i++) {
		unsigned k = chance(g, 50) ? 3 : below(g, 4), size = 1u << k;
		int off = -WINDOW + (int)(below(g, WINDOW / size) * size);
		unsigned dst = target(g), from;

		if (!stack_ready(g, off, size) && !chance(g, 1))
			continue;
		from = g->t.spill[(WINDOW + off) / 8];
		emit(g, chance(g, 15) && k < 3 ? ldxs_ops[k] : ldx_ops[k], dst,
		     10, off, 0);
		set_number(g, dst);
		/* The register may have changed since; then this is a guess. */
		if (k == 3 && from && g->t.type[from - 1] > SMALL) {
			g->t.type[dst] = g->t.type[from - 1];
			g->t.map[dst] = g->t.map[from - 1];
			g->t.off[dst] = g->t.off[from - 1];
		}
		return;
	}
}

/* ---- bounds -------------------------------------------------------------- */

static unsigned log2_of(uint32_t n)
{
	unsigned k = 0;

	while (k < 31 && n >> (k + 1))
		k++;
	return k;
}

/* Make @reg a number below about @limit (at least 1). */
static void bound(struct gen *g, unsigned reg, uint32_t limit)
{
	uint8_t j = chance(g, 35) ? 0x06 : 0x05, a = j == 6 ? 4 : 7;
	int32_t lim = (int32_t)limit + (chance(g, 10) ? 1 : 0);
	unsigned other;

	switch (below(g, 11)) {
	case 0:
	case 1:
		emit(g, 0x50 | a, reg, 0, 0, (1 << log2_of(limit)) - 1);
		break;
	case 2:
	case 3:
		bail(g, 0x30 | j, reg, 0, lim); /* >= */
		break;
	case 4:
		bail(g, 0x20 | j, reg, 0, lim - 1); /* > */
		break;
	case 5:
		bail(g, 0x60 | j, reg, 0, lim - 1); /* signed > */
		bail(g, 0xc0 | j, reg, 0, 0);	    /* signed < */
		break;
	case 6:
		emit(g, 0x90 | a, reg, 0, 0, lim > 0 ? lim : 1);
		break;
	case 7: /* zero-extension by shifts, then a test */
		emit(g, 0x67, reg, 0, 0, 32);
		emit(g, 0x77, reg, 0, 0, 32);
		bail(g, 0x35, reg, 0, lim);
		break;
	case 8:
		emit(g, 0x70 | a, reg, 0, 0,
		     (a == 7 ? 63 : 31) - (int32_t)log2_of(limit));
		break;
	case 9: /* test a copy */
		other = target(g);
		if (other == reg)
			other = (other + 1) % 10;
		emit(g, 0xbf, other, reg, 0, 0);
		if (chance(g, 40))
			emit(g, 0x07, other, 0, 0, rng_between(g->r, -4, 4));
		set_number(g, other);
		bail(g, 0x30 | j, other, 0, lim);
		break;
	default: /* test against a register */
		other = target(g);
		if (other == reg)
			other = (other + 1) % 10;
		emit(g, 0xb7, other, 0, 0, lim);
		set_number(g, other);
		bail(g, (chance(g, 50) ? 0x30 : 0x20) | 8 | j, reg, other, 0);
		break;
	}
	if (a == 4 && chance(g, 60))
		emit(g, 0xbc, reg, reg, 0, 0);
	g->t.type[reg] = SMALL;
	g->t.limit[reg] = limit;
}

/* Something that keeps a bounded number bounded, more or less. */
static void twist(struct gen *g, unsigned reg)
{
	uint8_t a = chance(g, 30) ? 4 : 7;

	switch (below(g, 8)) {
	case 0:
		emit(g, 0x00 | a, reg, 0, 0, rng_between(g->r, -3, 3));
		break;
	case 1:
		emit(g, 0x60 | a, reg, 0, 0, (int32_t)below(g, 4));
		break;
	case 2:
		emit(g, 0x70 | a, reg, 0, 0, (int32_t)below(g, 4));
		break;
	case 3:
		emit(g, 0x20 | a, reg, 0, 0, (int32_t)below(g, 5));
		break;
	case 4:
		emit(g, 0x40 | a, reg, 0, 0, (int32_t)below(g, 8));
		break;
	case 5:
		emit(g, 0xa0 | a, reg, 0, 0, (int32_t)below(g, 8));
		break;
	case 6:
		emit(g, 0xb0 | 8 | a, reg, reg, 8 << below(g, 2), 0);
		break;
	default:
		emit(g, 0xc0 | a, reg, 0, 0, (int32_t)below(g, 4));
		break;
	}
}

/* Spill a number and fill it again, perhaps in part. */
static void through_stack(struct gen *g, unsigned reg)
{
	unsigned k = 1 + below(g, 3), back = below(g, k + 1);
	int off = -8 * (1 + (int)below(g, WINDOW / 8));

	emit(g, stx_ops[k], 10, reg, off, 0);
	wrote(g, off, 1u << k);
	emit(g, ldx_ops[back], reg, 10, off, 0);
}

/* ---- maps -----------------------------------------------------------------
 */

static void stmt_bound(struct gen *g)
{
	unsigned reg = number(g);

	bound(g, reg, 1 + below(g, 64));
	for (uint32_t i = below(g, 3); i; i--)
		twist(g, reg);
}

static uint32_t pick_map(struct gen *g)
{
	uint32_t map = below(g, g->o->nmaps);

	/* Of programs: nothing to look up. */
	while (g->o->maps[map].type == NB_MAP_PROG_ARRAY)
		map = below(g, g->o->nmaps);
	return map;
}

/* The key at r10-8 (or in a value); leaves r2 pointing at it. */
static void make_key(struct gen *g, uint32_t map)
{
	const struct nb_map_spec *m = &g->o->maps[map];
	int value = pick(g, VALUE);

	if (value >= 0 && chance(g, 10) &&
	    !(g->o->maps[g->t.map[value]].flags & NB_F_WRONLY_PROG)) {
		emit(g, 0xbf, 2, (unsigned)value, 0, 0);
		return;
	}
	if (!(chance(g, 15) && stack_ready(g, -8, 8))) {
		if (m->key_size == 8 && chance(g, 60)) {
			emit(g, 0x7b, 10, number(g), -8, 0);
		} else if (m->key_size == 4 && chance(g, 30)) {
			emit(g, 0x63, 10, number(g), -8, 0);
		} else {
			emit(g, m->key_size == 4 ? 0x62 : 0x7a, 10, 0, -8,
			     (int32_t)below(g, m->max_entries + 1));
		}
		wrote(g, -8, m->key_size);
	}
	emit(g, 0xbf, 2, 10, 0, 0);
	emit(g, 0x07, 2, 0, 0, -8);
}

static void stmt_lookup(struct gen *g)
{
	uint32_t map = pick_map(g);
	unsigned keep = 6 + below(g, 4);

	make_key(g, map);
	emit_lddw(g, 1, 1, map, 0);
	emit(g, 0x85, 0, 0, 0, 1);
	kill(g, 0, 5);
	g->t.type[0] = MAYBE;
	g->t.map[0] = (uint8_t)map;
	g->t.off[0] = 0;
	if (chance(g, 70)) {
		emit(g, 0xbf, keep, 0, 0, 0);
		g->t.type[keep] = MAYBE;
		g->t.map[keep] = (uint8_t)map;
		g->t.off[keep] = 0;
	}
	if (chance(g, 4))
		return;
	bail(g, 0x15, chance(g, 50) && g->t.type[keep] == MAYBE ? keep : 0, 0,
	     0);
	g->t.type[0] = VALUE;
	if (g->t.type[keep] == MAYBE)
		g->t.type[keep] = VALUE;
}

static void stmt_direct(struct gen *g)
{
	uint32_t map = pick_map(g);
	unsigned dst = target(g);
	const struct nb_map_spec *m = &g->o->maps[map];
	uint32_t off = chance(g, 50) ? 0 : below(g, m->value_size / 8) * 8;

	if (m->type != NB_MAP_ARRAY || (g->o->kernel && m->max_entries != 1))
		return;
	emit_lddw(g, dst, 2, map, off);
	g->t.type[dst] = VALUE;
	g->t.map[dst] = (uint8_t)map;
	g->t.off[dst] = (int32_t)off;
}

static const int32_t atomics[] = { 0x00, 0x40, 0x50, 0xa0, 0x01,
				   0x41, 0x51, 0xa1, 0xe1, 0xf1 };

/* An access of any kind at @ptr + off, for a map that allows it. */
static void access_value(struct gen *g, unsigned ptr, uint32_t map, int off,
			 unsigned k)
{
	const struct nb_map_spec *m = &g->o->maps[map];
	bool read = !(m->flags & NB_F_WRONLY_PROG);
	bool write = !(m->flags & NB_F_RDONLY_PROG) &&
		     !(m->tags & NB_MAPF_COHERENT) &&
		     m->origin != NB_ORIGIN_RODATA;
	unsigned dst;

	if (k >= 2 && read && write && chance(g, 15)) {
		unsigned src = number(g);

		if (src == ptr)
			return;
		if (!is_number(g, 0) && ptr != 0) {
			emit(g, 0xb7, 0, 0, 0, immediate(g));
			set_number(g, 0);
		}
		emit(g, k == 2 ? 0xc3 : 0xdb, ptr, src, off,
		     atomics[below(g, ptr ? 10 : 9)]);
		set_number(g, src);
		return;
	}
	if (read && (!write || chance(g, 60))) {
		dst = chance(g, 15) ? ptr : target(g);
		emit(g, chance(g, 15) && k < 3 ? ldxs_ops[k] : ldx_ops[k], dst,
		     ptr, off, 0);
		set_number(g, dst);
	} else if (chance(g, 40)) {
		emit(g, st_ops[k], ptr, 0, off, immediate(g));
	} else {
		emit(g, stx_ops[k], ptr, number(g), off, 0);
	}
}

static void stmt_value(struct gen *g)
{
	int ptr = pick(g, VALUE);
	uint32_t map, k = below(g, 4), room;
	int off;

	if (ptr < 0) {
		stmt_lookup(g);
		return;
	}
	map = g->t.map[ptr];
	room = g->o->maps[map].value_size - (1u << k);
	off = (int)(below(g, room + 1) >> k << k) - g->t.off[ptr];
	if (chance(g, 3))
		off = (int)room + rng_between(g->r, -1, 2) - g->t.off[ptr];
	access_value(g, (unsigned)ptr, map, off, k);
}

/* A copy of a value pointer moved by a bounded number. */
static void stmt_value_at(struct gen *g)
{
	int ptr = pick(g, VALUE);
	unsigned idx, copy, k = below(g, 4);
	uint32_t map, size, limit, scale = 0;
	int off = 0;

	if (ptr < 0) {
		stmt_lookup(g);
		ptr = pick(g, VALUE);
		if (ptr < 0)
			return;
	}
	map = g->t.map[ptr];
	size = g->o->maps[map].value_size;
	idx = number(g);
	copy = target(g);
	if (idx == (unsigned)ptr || copy == (unsigned)ptr || copy == idx ||
	    !is_number(g, idx))
		return;
	if (chance(g, 40))
		scale = k;
	limit = ((size - (1u << k)) >> scale) + 1;
	if (chance(g, 30)) {
		off = (int)below(g, size / 4);
		limit = limit > ((uint32_t)off >> scale)
				? limit - ((uint32_t)off >> scale)
				: 1;
	}
	bound(g, idx, limit);
	if (chance(g, 15))
		through_stack(g, idx);
	for (uint32_t i = chance(g, 30) ? below(g, 4) : 0; i; i--)
		twist(g, idx);
	if (scale)
		emit(g, 0x67, idx, 0, 0, (int32_t)scale);
	emit(g, 0xbf, copy, (unsigned)ptr, 0, 0);
	if (chance(g, 8)) {
		emit(g, 0x07, copy, 0, 0, (int32_t)(size - (1u << k)));
		emit(g, 0x1f, copy, idx, 0, 0);
		off = 0;
	} else {
		emit(g, 0x0f, copy, idx, 0, 0);
	}
	g->t.type[copy] = NONE;
	access_value(g, copy, map, off - g->t.off[ptr], k);
	if (g->t.type[copy] == NONE && chance(g, 30))
		access_value(g, copy, map, off - g->t.off[ptr], k);
}

/* Stack at a bounded variable offset; all of it is written before. */
static void stmt_stack_at(struct gen *g)
{
	unsigned idx = number(g), copy = target(g), k = below(g, 4);
	uint32_t limit = (WINDOW >> k);

	if (copy == idx || !is_number(g, idx))
		return;
	for (int off = -WINDOW; off < 0; off += 8)
		if (!stack_ready(g, off, 8) || g->t.spill[(WINDOW + off) / 8]) {
			emit(g, 0x7a, 10, 0, off, immediate(g));
			wrote(g, off, 8);
		}
	bound(g, idx, limit);
	emit(g, 0x67, idx, 0, 0, (int32_t)k);
	emit(g, 0xbf, copy, 10, 0, 0);
	emit(g, 0x0f, copy, idx, 0, 0);
	g->t.type[copy] = NONE;
	if (chance(g, 50)) {
		emit(g, ldx_ops[k], copy, copy, -WINDOW, 0);
		set_number(g, copy);
	} else {
		emit(g, stx_ops[k], copy, number(g), -WINDOW, 0);
	}
}

static void stmt_stack_atomic(struct gen *g)
{
	int off = -8 * (1 + (int)below(g, WINDOW / 8));
	unsigned src = number(g);

	if (!stack_ready(g, off, 8) || g->t.spill[(WINDOW + off) / 8])
		return;
	if (!is_number(g, 0)) {
		emit(g, 0xb7, 0, 0, 0, immediate(g));
		set_number(g, 0);
	}
	emit(g, chance(g, 50) ? 0xc3 : 0xdb, 10, src, off,
	     atomics[below(g, 10)]);
	set_number(g, src);
}

static void stmt_update(struct gen *g)
{
	uint32_t map = pick_map(g);
	const struct nb_map_spec *m = &g->o->maps[map];
	int value = pick(g, VALUE);
	bool hash = m->type == NB_MAP_HASH;

	if (m->flags & NB_F_RDONLY_PROG || m->tags & NB_MAPF_COHERENT ||
	    m->origin == NB_ORIGIN_RODATA)
		return;
	if (hash && chance(g, 30)) {
		make_key(g, map);
		emit_lddw(g, 1, 1, map, 0);
		emit(g, 0x85, 0, 0, 0, 3);
		kill(g, 1, 5);
		set_number(g, 0);
		return;
	}
	if (value >= 0 && value != 3 && chance(g, 50) && !g->t.off[value] &&
	    g->o->maps[g->t.map[value]].value_size >= m->value_size) {
		emit(g, 0xbf, 3, (unsigned)value, 0, 0);
	} else {
		if (m->value_size > WINDOW - 8)
			return;
		for (int off = -WINDOW; off < -WINDOW + (int)m->value_size;
		     off += 8)
			if (!stack_ready(g, off, 8)) {
				emit(g, 0x7a, 10, 0, off, immediate(g));
				wrote(g, off, 8);
			}
		emit(g, 0xbf, 3, 10, 0, 0);
		emit(g, 0x07, 3, 0, 0, -WINDOW);
	}
	g->t.type[3] = NONE;
	make_key(g, map);
	emit(g, 0xb7, 4, 0, 0, (int32_t)below(g, 3));
	emit_lddw(g, 1, 1, map, 0);
	emit(g, 0x85, 0, 0, 0, 2);
	kill(g, 1, 5);
	set_number(g, 0);
}

static void stmt_helper(struct gen *g)
{
	static const int32_t ids[] = { 5, 7, 8 };
	int32_t id = ids[below(g, 3)];

	emit(g, 0x85, 0, 0, 0, id);
	kill(g, 1, 5);
	set_number(g, 0);
	if (chance(g, 50)) {
		unsigned keep = 6 + below(g, 4);

		emit(g, 0xbf, keep, 0, 0, 0);
		set_number(g, keep);
	}
}

static void stmt_printk(struct gen *g)
{
	unsigned size = number(g);

	for (int off = -WINDOW; off < -WINDOW + 16; off += 8) {
		emit(g, 0x7a, 10, 0, off, immediate(g));
		wrote(g, off, 8);
	}
	if (chance(g, 60)) {
		bound(g, size, 16 + below(g, 2));
		if (chance(g, 70))
			bail(g, 0x15, size, 0, 0);
		emit(g, 0xbf, 2, size, 0, 0);
	} else {
		emit(g, 0xb7, 2, 0, 0, 1 + (int32_t)below(g, 17));
	}
	emit(g, 0xbf, 1, 10, 0, 0);
	emit(g, 0x07, 1, 0, 0, -WINDOW + (chance(g, 10) ? 1 : 0));
	emit(g, 0x85, 0, 0, 0, 6);
	kill(g, 1, 5);
	set_number(g, 0);
}

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
	uint8_t op = jmp_ops[below(g, sizeof(jmp_ops))];
	uint8_t j = chance(g, 40) ? 6 : 5;

	if (chance(g, 60))
		emit(g, op | j, number(g), 0, 0, immediate(g));
	else
		emit(g, op | 8 | j, number(g), number(g), 0, 0);
}

static void stmt_if(struct gen *g)
{
	struct regs before, then;
	uint32_t jump, over;

	cond(g);
	jump = g->n - 1;
	before = g->t;
	block(g, 1 + below(g, 3));
	if (chance(g, 50)) {
		aim(g, jump);
		join(&g->t, &before);
		return;
	}
	over = g->n;
	emit(g, 0x05, 0, 0, 0, 0);
	aim(g, jump);
	then = g->t;
	g->t = before;
	block(g, 1 + below(g, 3));
	aim(g, over);
	join(&g->t, &then);
}

/*
 * A comparison for its own sake: what the verifier holds for impossible is
 * held against the runs.
 */
static void stmt_probe(struct gen *g)
{
	unsigned reg = number(g), other = number(g), op;
	uint8_t j = chance(g, 40) ? 6 : 5;
	int32_t imm = immediate(g);

	if (g->t.type[reg] == SMALL && chance(g, 70))
		imm = (int32_t)g->t.limit[reg] + rng_between(g->r, -3, 3);
	op = jmp_ops[below(g, sizeof(jmp_ops))];
	if (chance(g, 75))
		emit(g, (uint8_t)(op | j), reg, 0, 1, imm);
	else
		emit(g, (uint8_t)(op | 8 | j), reg, other, 1, 0);
	if (other == reg && chance(g, 50))
		emit(g, 0x05, 0, 0, 0, 0);
	else
		emit(g, chance(g, 50) ? 0x07 : 0x04, other, 0, 0,
		     rng_between(g->r, -5, 5));
	set_number(g, other);
}

/* ---- two ways that differ, and a use behind -------------------------------
 */

enum { SPOT = -40 }; /* of the stack */

static void load_number_into(struct gen *g, unsigned reg)
{
	int ctx = pick(g, CTX);

	if (ctx >= 0 && ctx != (int)reg)
		emit(g, 0x61, reg, (unsigned)ctx, 24 + (int)below(g, 10) * 4,
		     0);
	else
		emit(g, 0xb7, reg, 0, 0, immediate(g));
	set_number(g, reg);
}

/* A value pointer in r7, or false. */
static bool value_in_7(struct gen *g)
{
	int ptr = pick(g, VALUE);

	if (ptr < 0) {
		stmt_lookup(g);
		ptr = pick(g, VALUE);
	}
	if (ptr < 0 || g->t.off[ptr])
		return false;
	if (ptr != 7) {
		emit(g, 0xbf, 7, (unsigned)ptr, 0, 0);
		g->t.type[7] = VALUE;
		g->t.map[7] = g->t.map[ptr];
		g->t.off[7] = 0;
	}
	return true;
}

/* What the two ways do to r8 (and to SPOT). */
static void way(struct gen *g, unsigned kind, bool tame)
{
	unsigned other = 3 + below(g, 2);

	switch (kind) {
	case 0: /* numbers of different size */
		if (tame)
			emit(g, 0xb7, 8, 0, 0, (int32_t)below(g, 8));
		else if (chance(g, 50))
			emit(g, 0x57, 8, 0, 0, chance(g, 50) ? 63 : 255);
		break;
	case 1: /* links */
		if (tame)
			emit(g, 0xbf, 8, 9, 0, 0);
		else if (chance(g, 50))
			emit(g, 0x07, 8, 0, 0, rng_between(g->r, 1, 40));
		if (!tame && chance(g, 50)) {
			emit(g, 0xbf, 8, 9, 0, 0);
			emit(g, 0x07, 8, 0, 0, rng_between(g->r, 1, 80));
		}
		break;
	case 2: /* zero bytes on the stack */
		if (tame || chance(g, 20))
			emit(g, st_ops[below(g, 4)], 10, 0, SPOT, 0);
		else
			emit(g, stx_ops[below(g, 4)], 10, 8,
			     SPOT + (chance(g, 30) ? 4 : 0), 0);
		break;
	case 3: /* what is spilled */
		if (tame)
			emit(g, 0x7b, 10, 7, SPOT, 0);
		else if (chance(g, 50))
			emit(g, 0x7b, 10, 8, SPOT, 0);
		else
			emit(g, 0x72, 10, 0, SPOT + (int)below(g, 8),
			     immediate(g));
		break;
	case 4: /* pointers of different places */
		emit(g, 0xbf, 8, tame || chance(g, 50) ? 7 : 10, 0, 0);
		if (!tame)
			emit(g, 0x07, 8, 0, 0, rng_between(g->r, -64, 64));
		break;
	case 5: /* written or not */
		if (tame)
			emit(g, st_ops[below(g, 4)], 10, 0,
			     SPOT - 16 - 8 * (int)below(g, 2), 0);
		break;
	case 6: /* coherent or not */
		if (tame && chance(g, 30)) {
			emit(g, 0xb7, 8, 0, 0, immediate(g));
		} else if (tame) {
			load_number_into(g, 8);
		} else if (chance(g, 40) && pick(g, CTX) >= 0) {
			emit(g, 0x61, 8, (unsigned)pick(g, CTX), 64, 0);
		} else {
			emit(g, 0x61, 8, 7, 0, 0);
		}
		if (chance(g, 40))
			emit(g, 0x7b, 10, 8, SPOT, 0);
		break;
	default:
		emit(g, 0xb7, other, 0, 0, (int32_t)below(g, 9));
		if (chance(g, 50))
			emit(g, stx_ops[below(g, 4)], 10, other, SPOT, 0);
		break;
	}
}

/* Follow r7 moved by r8. */
static void use_index(struct gen *g)
{
	uint32_t map = g->t.map[7];

	emit(g, 0xbf, 5, 7, 0, 0);
	emit(g, 0x0f, 5, 8, 0, 0);
	g->t.type[5] = NONE;
	access_value(g, 5, map, 0, below(g, 2));
}

static void use(struct gen *g, unsigned kind)
{
	int ctx = pick(g, CTX);
	uint32_t size = g->o->maps[g->t.map[7]].value_size;

	switch (kind) {
	case 0:
		use_index(g);
		break;
	case 1:
		bail(g, chance(g, 30) ? 0x36 : 0x35, 9, 0, (int32_t)size - 1);
		use_index(g);
		break;
	case 2:
		emit(g, ldx_ops[below(g, 4)], 8, 10, SPOT, 0);
		use_index(g);
		break;
	case 3:
		emit(g, 0x79, 8, 10, SPOT, 0);
		g->t.type[8] = NONE;
		access_value(g, 8, g->t.map[7], 0, below(g, 4));
		break;
	case 4:
		access_value(g, 8, g->t.map[7], (int)below(g, 48), 0);
		break;
	case 5:
		emit(g, ldx_ops[below(g, 4)], 8, 10,
		     SPOT - 16 - 8 * (int)below(g, 2), 0);
		break;
	default:
		if (chance(g, 40))
			emit(g, ldx_ops[below(g, 4)], 8, 10, SPOT, 0);
		if (ctx >= 0 && ctx != 8 && g->o->tuner)
			emit(g, 0x63, (unsigned)ctx, 8,
			     68 + (int)below(g, 3) * 4, 0);
		break;
	}
}

static void stmt_diamond(struct gen *g)
{
	unsigned kind = below(g, 8), c = 2 + below(g, 4);
	bool tame = chance(g, 50);
	uint32_t jump, over;

	if (g->t.type[8] > SMALL || g->t.type[9] > SMALL || !value_in_7(g))
		return;
	load_number_into(g, 8);
	load_number_into(g, 9);
	emit(g, 0x7a, 10, 0, SPOT, chance(g, 50) ? 0 : immediate(g));
	wrote(g, SPOT, 8);
	load_number_into(g, c);
	if (kind >= 6 && chance(g, 60)) {
		emit(g, 0x85, 0, 0, 0, 7);
		kill(g, 0, 5);
		c = 0;
		set_number(g, 0);
	}
	jump = g->n;
	emit(g, 0x45, c, 0, 0, 1 + (int32_t)below(g, 3));
	way(g, kind, tame);
	over = g->n;
	emit(g, 0x05, 0, 0, 0, 0);
	g->out[jump].off = (int16_t)(g->n - jump - 1);
	way(g, kind, !tame);
	g->out[over].off = (int16_t)(g->n - over - 1);
	kill(g, 0, 5);
	g->t.type[8] = kind == 4 ? NONE : NUM;
	if (chance(g, 40))
		stmt_alu(g);
	if (g->t.type[7] == VALUE && g->t.type[9] == NUM)
		use(g, kind);
	g->t.type[8] = NONE;
}

/* Two look-ups, one test. */
static void stmt_two_lookups(struct gen *g)
{
	uint32_t map = pick_map(g), jump;

	for (unsigned reg = 7; reg <= 8; reg++) {
		make_key(g, map);
		emit_lddw(g, 1, 1, map, 0);
		emit(g, 0x85, 0, 0, 0, 1);
		kill(g, 0, 5);
		emit(g, 0xbf, reg, 0, 0, 0);
		g->t.type[reg] = NONE;
	}
	load_number_into(g, 3);
	jump = g->n;
	emit(g, 0x45, 3, 0, 0, 1);
	emit(g, 0xbf, 8, 7, 0, 0);
	g->out[jump].off = (int16_t)(g->n - jump - 1);
	if (chance(g, 30)) {
		emit(g, 0x7b, 10, 8, SPOT, 0);
		wrote(g, SPOT, 8);
	}
	bail(g, 0x15, 7 + below(g, 2), 0, 0);
	access_value(g, 7 + below(g, 2), map, 0, below(g, 4));
	g->t.type[7] = g->t.type[8] = NONE;
}

/* What the body may leave changed cannot be relied on at its start. */
static void stmt_loop(struct gen *g)
{
	unsigned i = 6 + below(g, 4);
	uint32_t head, guard = 0, trips = 1 + below(g, 6);
	bool maygoto = !g->o->kernel && chance(g, 20), bounded = chance(g, 30);
	struct regs start;
	int16_t back;

	if (g->depth > 2 || g->t.type[i] > SMALL)
		return;
	emit(g, 0xb7, i, 0, 0, 0);
	g->t.type[i] = NONE; /* the body leaves it alone */
	for (unsigned r = 0; r < 6; r++)
		g->t.type[r] = NONE;
	start = g->t;
	head = g->n;
	if (maygoto) {
		guard = g->n;
		emit(g, 0xe5, 0, 0, 0, 0);
	}
	block(g, 1 + below(g, 4));
	g->t.type[i] = NONE;
	emit(g, 0x07, i, 0, 0, 1);
	back = (int16_t)((int)head - (int)g->n - 1);
	if (maygoto && chance(g, 40)) { /* nothing else ends it */
		emit(g, 0x05, 0, 0, back, 0);
	} else if (bounded && pick(g, NUM) >= 0) {
		unsigned lim = number(g);

		emit(g, 0x3d, i, lim, 0, 0);
		back--;
		emit(g, 0xa5, i, 0, back, (int32_t)trips);
		g->out[g->n - 2].off = 1;
	} else {
		emit(g, chance(g, 70) ? 0xa5 : 0x55, i, 0, back,
		     (int32_t)trips);
	}
	if (maygoto)
		aim(g, guard);
	join(&g->t, &start);
	set_number(g, i);
}

/* Registers of r1 to r5 that the call of helper 164 or 181 wants. */
static void turns_args(struct gen *g, unsigned f)
{
	unsigned n = number(g);

	if (g->turns[f] == OF_A_MAP) {
		emit_lddw(g, 1, 1, g->turn_map[f], 0);
	} else if (chance(g, 80)) {
		emit(g, 0xb7, 1, 0, 0,
		     (int32_t)below(g, chance(g, 5) ? 5000 : 9));
	} else {
		if (chance(g, 90))
			bound(g, n, 1 + below(g, 12));
		emit(g, 0xbf, 1, n, 0, 0);
	}
}

/* bpf_loop or bpf_for_each_map_elem with a word of the stack as context. */
static void stmt_turns(struct gen *g, unsigned f)
{
	bool each = g->turns[f] == OF_A_MAP;

	if (chance(g, 60) || !stack_ready(g, -16, 8)) {
		emit(g, 0x7a, 10, 0, -16, chance(g, 50) ? 0 : immediate(g));
		wrote(g, -16, 8);
	}
	turns_args(g, f);
	g->t.type[1] = NONE;
	g->calls[g->ncalls] = g->n;
	g->callee[g->ncalls++] = (uint8_t)f;
	emit_lddw(g, 2, 4, 0, 0);
	emit(g, 0xbf, 3, 10, 0, 0);
	emit(g, 0x07, 3, 0, 0, -16);
	emit(g, 0xb7, 4, 0, 0, chance(g, 2));
	emit(g, 0x85, 0, 0, 0, each ? 164 : 181);
	kill(g, 1, 5);
	set_number(g, 0);
	g->t.spill[(WINDOW - 16) / 8] = 0;
	if (chance(g, 40)) { /* what the turns left */
		unsigned dst = target(g);

		emit(g, ldx_ops[below(g, 4)], dst, 10, -16, 0);
		set_number(g, dst);
	}
}

/* Perhaps another program goes on. */
static void stmt_tail(struct gen *g)
{
	int ctx = pick(g, CTX);
	uint32_t map;

	for (map = 0; map < g->o->nmaps; map++)
		if (g->o->maps[map].type == NB_MAP_PROG_ARRAY && chance(g, 60))
			break;
	if (ctx < 0 || map == g->o->nmaps || g->o->kernel)
		return;
	if (chance(g, 60))
		emit(g, 0xb7, 3, 0, 0, (int32_t)below(g, 6));
	else
		emit(g, 0xbf, 3, number(g), 0, 0);
	if (ctx != 1)
		emit(g, 0xbf, 1, (unsigned)ctx, 0, 0);
	emit_lddw(g, 2, 1, map, 0);
	emit(g, 0x85, 0, 0, 0, 12);
	kill(g, 0, 5);
}

static void stmt_call(struct gen *g)
{
	unsigned f;

	if (g->ncalls == MAX_FIX || g->func + 1u >= g->nfuncs)
		return;
	f = g->func + 1u + below(g, g->nfuncs - g->func - 1u);
	if (g->turns[f]) {
		stmt_turns(g, f);
		return;
	}
	for (unsigned a = 1; a <= g->nargs[f]; a++) {
		if (a == 1 && g->frame_arg[f]) {
			emit(g, 0x7a, 10, 0, -16, immediate(g));
			wrote(g, -16, 8);
			emit(g, 0xbf, 1, 10, 0, 0);
			emit(g, 0x07, 1, 0, 0, -16);
			g->t.type[1] = NONE;
		} else if (!is_number(g, a)) {
			unsigned n = number(g);

			emit(g, 0xbf, a, n, 0, 0);
			g->t.type[a] = NUM;
		}
	}
	g->calls[g->ncalls] = g->n;
	g->callee[g->ncalls++] = (uint8_t)f;
	emit(g, 0x85, 0, 1, 0, 0);
	kill(g, 1, 5);
	set_number(g, 0);
	if (chance(g, 1)) {
		emit(g, 0x7a, 0, 0, -8, 1);
		return;
	}
	if (g->frame_arg[f] && chance(g, 10)) {
		emit(g, 0x79, 2, 10, -16, 0);
		emit(g, 0x7a, 2, 0, -8, 1);
	}
}

static void statement(struct gen *g)
{
	uint32_t k = below(g, 100);

	if (chance(g, 9)) {
		stmt_diamond(g);
		return;
	}
	if (chance(g, 1)) {
		if (chance(g, 40))
			stmt_tail(g);
		else if (chance(g, 50))
			stmt_two_lookups(g);
		else
			stmt_printk(g);
		return;
	}
	if (k < 14)
		stmt_alu(g);
	else if (k < 20)
		stmt_probe(g);
	else if (k < 25)
		stmt_const(g);
	else if (k < 33)
		stmt_ctx_load(g);
	else if (k < 37)
		stmt_output(g);
	else if (k < 43)
		stmt_stack_store(g);
	else if (k < 49)
		stmt_stack_load(g);
	else if (k < 53)
		stmt_bound(g);
	else if (k < 58)
		stmt_lookup(g);
	else if (k < 61)
		stmt_direct(g);
	else if (k < 66)
		stmt_value(g);
	else if (k < 76)
		stmt_value_at(g);
	else if (k < 80)
		stmt_stack_at(g);
	else if (k < 82)
		stmt_stack_atomic(g);
	else if (k < 85)
		stmt_update(g);
	else if (k < 87)
		stmt_helper(g);
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
	emit(g, 0x95, 0, 0, 0, 0);
	if (!g->nfix)
		return;
	for (uint32_t i = 0; i < g->nfix; i++)
		aim(g, g->fix[i]);
	emit(g, 0xb7, 0, 0, 0, 0);
	emit(g, 0x95, 0, 0, 0, 0);
	g->nfix = 0;
}

/* What a callback does with its arguments, mostly at once. */
static void turns_begin(struct gen *g, unsigned f)
{
	unsigned ctx = g->turns[f] == OF_A_MAP ? 4 : 2, keep = 7 + below(g, 3);

	switch (below(g, 6)) {
	case 0: /* count */
		emit(g, 0x79, 0, ctx, 0, 0);
		emit(g, 0x07, 0, 0, 0, 1 + (int32_t)below(g, 3));
		emit(g, 0x7b, ctx, 0, 0, 0);
		set_number(g, 0);
		break;
	case 1: /* the number of the turn, or a handle, or an address */
		emit(g, 0x7b, ctx, 1 + below(g, chance(g, 10) ? 4 : 1), 0, 0);
		break;
	case 2:
		emit(g, stx_ops[below(g, 4)], ctx, 10, 0, 0);
		break;
	case 3:
		emit(g, 0x61, 0, ctx, 0, 0);
		set_number(g, 0);
		break;
	default:
		emit(g, st_ops[below(g, 4)], ctx, 0, 0, immediate(g));
		break;
	}
	if (g->turns[f] == NUMBERED) {
		set_number(g, 1);
		return;
	}
	if (chance(g, 50)) {
		emit(g, ldx_ops[below(g, 3)], 0, 2, 0, 0);
		set_number(g, 0);
	} else if (chance(g, 5)) {
		emit(g, 0x62, 2, 0, 0, 1); /* keys are only read */
	}
	g->t.type[3] = VALUE;
	g->t.map[3] = g->turn_map[f];
	if (chance(g, 60)) {
		emit(g, 0xbf, keep, 3, 0, 0);
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
		if (chance(g, 80)) {
			emit(g, 0xbf, 6, 1, 0, 0);
			g->t.type[6] = CTX;
		}
		block(g, 3 + below(g, g->o->max_stmts));
	} else if (g->turns[f]) {
		turns_begin(g, f);
		block(g, 1 + below(g, 5));
	} else {
		for (unsigned a = 1; a <= g->nargs[f]; a++)
			g->t.type[a] = NUM;
		if (g->frame_arg[f]) {
			g->t.type[1] = NONE;
			/* Seldom the callee's frame escapes. */
			if (chance(g, 4))
				emit(g, 0x7b, 1, 10, 0, 0);
			else if (chance(g, 50))
				emit(g, 0x79, 0, 1, 0, 0);
			else
				emit(g, 0x7a, 1, 0, 0, immediate(g));
		}
		block(g, 1 + below(g, 6));
	}
	if (g->turns[f]) {
		if (is_number(g, 0) && chance(g, 50))
			emit(g, 0x57, 0, 0, 0, 1);
		else
			emit(g, 0xb7, 0, 0, 0,
			     (int32_t)below(g, chance(g, 3) ? 3 : 2));
	} else if (!is_number(g, 0) || (!f && chance(g, 75)))
		emit(g, 0xb7, 0, 0, 0, chance(g, 80) ? 0 : immediate(g));
	if (f && chance(g, 2))
		emit(g, 0xbf, 0, 10, 0, 0);
	way_out(g);
}

uint32_t gen_program(struct nb_slot *out, const struct gen_opts *o,
		     struct rng *r)
{
	struct gen g = { .o = o, .r = r, .out = out };
	uint32_t starts[MAX_FUNCS];
	bool called[MAX_FUNCS] = { true };

	g.nfuncs =
		(uint8_t)(rng_percent(r, 70) ? 1 : 1 + rng_below(r, MAX_FUNCS));
	for (unsigned f = 1; f < g.nfuncs; f++) {
		g.nargs[f] = (uint8_t)(1 + rng_below(r, 3));
		g.frame_arg[f] = rng_percent(r, 30);
		if (o->kernel || !rng_percent(r, 45))
			continue;
		g.turns[f] = (uint8_t)(1 + rng_below(r, 2));
		g.turn_map[f] = (uint8_t)rng_below(r, o->nmaps);
		if (o->maps[g.turn_map[f]].type == NB_MAP_PROG_ARRAY)
			g.turns[f] = NUMBERED;
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
			out[g.calls[i]].imm =
				(int32_t)(starts[g.callee[i]] - g.calls[i] - 1);
	return g.n;
}

/* ---- mutation
 * ---------------------------------------------------------------- */

bool gen_is_high(const struct nb_slot *slots, uint32_t pc)
{
	bool high = false;

	for (uint32_t i = 0; i < pc; i++)
		high = !high && slots[i].opcode == 0x18;
	return high;
}

static uint8_t other_opcode(uint8_t op, struct rng *r)
{
	uint8_t cls = op & 7;

	switch (cls) {
	case 4:
	case 7:
		if (rng_percent(r, 30))
			return op ^ 3;
		return (uint8_t)(alu_ops[rng_below(r, sizeof(alu_ops))] |
				 (op & 8) | cls);
	case 5:
	case 6:
		if ((op & 0xf0) == 0x80 || (op & 0xf0) == 0x90 ||
		    (op & 0xf0) == 0)
			return op;
		if (rng_percent(r, 30))
			return op ^ 3;
		return (uint8_t)(jmp_ops[rng_below(r, sizeof(jmp_ops))] |
				 (op & 8) | cls);
	case 1:
		return rng_percent(r, 20) ? ldxs_ops[rng_below(r, 3)]
					  : ldx_ops[rng_below(r, 4)];
	case 2:
		return st_ops[rng_below(r, 4)];
	case 3:
		return (op & 0xe0) == 0xc0 ? op ^ 0x18
					   : stx_ops[rng_below(r, 4)];
	default:
		return op;
	}
}

static void mutate_number(int32_t *imm, struct rng *r)
{
	switch (rng_below(r, 6)) {
	case 0:
		*imm = (int32_t)rng_next(r);
		break;
	case 1:
		*imm = (int32_t)(0u - (uint32_t)*imm);
		break;
	case 2:
		*imm = (int32_t)((1u << rng_below(r, 32)) - rng_below(r, 2));
		break;
	case 3:
		*imm = (int32_t)((uint32_t)*imm << 1);
		break;
	default:
		*imm = (int32_t)((uint32_t)*imm +
				 (uint32_t)rng_between(r, -2, 2));
		break;
	}
}

/* Reserved fields back to 0, or decoding would be all that is tested. */
static void tidy(struct nb_slot *s)
{
	uint8_t cls = s->opcode & 7;
	bool reg = s->opcode & 8;

	if (cls == 1 || (cls == 3 && (s->opcode & 0xe0) != 0xc0))
		s->imm = 0;
	if (cls == 2)
		s->regs &= 15;
	if (s->opcode == 0x95)
		*s = slot(0x95, 0, 0, 0, 0);
	if (cls < 4 || (s->opcode & 0xf0) == 0xd0)
		return;
	if (cls == 4 || cls == 7 || (s->opcode & 0xf0) == 0) {
		if (reg)
			s->imm = 0;
		else
			s->regs &= 15;
	}
	if ((cls == 4 || cls == 7) && s->off != 1 && s->off != 8 &&
	    s->off != 16 && s->off != 32)
		s->off = 0;
	if ((cls == 5 || cls == 6) && (s->opcode & 0xf0) != 0x80 &&
	    (s->opcode & 0xf0) != 0x90) {
		if (reg)
			s->imm = 0;
		else
			s->regs &= 15;
	}
}

static void mutate_one(struct nb_slot *slots, uint32_t n, uint32_t pc,
		       struct rng *r)
{
	struct nb_slot *s = &slots[pc], t;
	uint32_t other;
	int16_t offs[] = { -8, -4, -1, 1, 4, 8, -16, 16 };

	switch (rng_below(r, 8)) {
	case 0:
	case 1:
		mutate_number(&s->imm, r);
		break;
	case 2:
		s->off = (int16_t)(s->off + offs[rng_below(r, 8)]);
		break;
	case 3:
		s->regs = (uint8_t)((s->regs & 0xf0) | rng_below(r, 11));
		break;
	case 4:
		s->regs = (uint8_t)((s->regs & 0x0f) | rng_below(r, 11) << 4);
		break;
	case 5:
		s->opcode = other_opcode(s->opcode, r);
		break;
	case 6:
		if (s->opcode != 0x18)
			*s = slot(0x05, 0, 0, 0, 0);
		break;
	default: /* exchange with another */
		other = rng_below(r, n);
		if (s->opcode == 0x18 || slots[other].opcode == 0x18 ||
		    gen_is_high(slots, other))
			break;
		t = *s;
		*s = slots[other];
		slots[other] = t;
		break;
	}
	if (s->opcode != 0x18 && rng_percent(r, 95))
		tidy(s);
}

void gen_mutate(struct nb_slot *slots, uint32_t n, uint32_t k, struct rng *r)
{
	while (k--) {
		uint32_t pc = rng_below(r, n);

		if (!gen_is_high(slots, pc))
			mutate_one(slots, n, pc, r);
	}
}

/* ---- repair
 * ------------------------------------------------------------------- */

static void quiet(struct nb_slot *slots, uint32_t pc, struct rng *r)
{
	struct nb_slot *s = &slots[pc];
	unsigned dst = s->regs & 15;

	switch (s->opcode & 7) {
	case 0: /* an LDDW: a plain number */
		*s = slot(0x18, dst < 10 ? dst : 0, 0, 0, s->imm);
		break;
	case 1:
	case 4:
	case 7:
		*s = slot(0xb7, dst < 10 ? dst : 0, 0, 0, rng_between(r, 0, 7));
		break;
	case 5:
		if (s->opcode == 0x85)
			*s = slot(0xb7, 0, 0, 0, rng_between(r, 0, 7));
		else
			*s = slot(0x05, 0, 0, 0, 0);
		break;
	default:
		*s = slot(0x05, 0, 0, 0, 0);
		break;
	}
}

/* A slot before an exit gives r0 a number. */
static bool number_before(struct nb_slot *slots, uint32_t pc)
{
	if (!pc || gen_is_high(slots, pc - 1) || slots[pc - 1].opcode == 0x95)
		return false;
	slots[pc - 1] = slot(0xb7, 0, 0, 0, 0);
	return true;
}

bool gen_repair(struct nb_slot *slots, uint32_t n, const struct nb_finding *f,
		struct rng *r)
{
	uint32_t pc = f->pc;

	if (pc >= n || gen_is_high(slots, pc))
		return false;
	switch ((int)f->cls) {
	case NB_FIND_UNREACHABLE:
		if (!pc || gen_is_high(slots, pc - 1))
			return false;
		slots[pc - 1] = slot(0x05, 0, 0, 0, 0);
		return true;
	case NB_FIND_LOOP:
	case NB_FIND_COMPLEXITY:
	case NB_FIND_MEMORY:
		for (uint32_t i = 0; i < n; i++)
			if (slots[i].off < 0 && !gen_is_high(slots, i) &&
			    ((slots[i].opcode & 7) == 5 ||
			     (slots[i].opcode & 7) == 6) &&
			    (int64_t)i + 1 + slots[i].off <= pc) {
				slots[i] = slot(0x05, 0, 0, 0, 0);
				return true;
			}
		return false;
	case NB_FIND_FALL_OFF:
	case NB_FIND_CALL_TARGET:
	case NB_FIND_RECURSION:
	case NB_FIND_STACK_DEPTH:
	case NB_FIND_FUNCS:
		return false;
	default:
		break;
	}
	if (f->cls == NB_FIND_ENCODING && slots[pc].opcode == 0x95) {
		slots[pc] = slot(0x95, 0, 0, 0, 0);
		return true;
	}
	/* A harmless jump where the function ends. */
	if (f->cls == NB_FIND_JUMP_RANGE && slots[pc].opcode == 0x05 &&
	    !slots[pc].off) {
		slots[pc] = slot(0x95, 0, 0, 0, 0);
		return true;
	}
	if (slots[pc].opcode == 0x95)
		return number_before(slots, pc);
	if (f->cls == NB_FIND_UNINIT && f->reg >= 0 && f->reg < 10 && pc &&
	    rng_percent(r, 30) && !gen_is_high(slots, pc - 1) &&
	    slots[pc - 1].opcode != 0x95 && (slots[pc - 1].opcode & 7) != 5) {
		slots[pc - 1] = slot(0xb7, (unsigned)f->reg, 0, 0,
				     rng_between(r, 0, 7));
		return true;
	}
	quiet(slots, pc, r);
	return true;
}
