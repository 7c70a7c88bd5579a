// SPDX-License-Identifier: MIT
// Statements that compute, and those that read and write memory: the context,
// the stack, maps.
#include "test/differential/oracle/gen_parts.h"

/* ---- statements ---------------------------------------------------------- */

static void stmt_unary(struct gen *g, unsigned dst)
{
	static const uint8_t ops[] = { 0x84, 0x87, 0xd4, 0xdc, 0xd7 };
	static const int32_t widths[] = { 16, 32, 64 };
	uint8_t op = ops[gen_below(g, 5)];

	gen_emit(g, op, dst, 0, 0, op == 0x84 || op == 0x87 ? 0 : widths[gen_below(g, 3)]);
	gen_set_number(g, dst);
}

void gen_stmt_alu(struct gen *g)
{
	unsigned dst = gen_number(g), src = gen_number(g);
	uint8_t op = alu_ops[gen_below(g, sizeof(alu_ops))];
	uint8_t cls = gen_chance(g, 40) ? 0x04 : 0x07;
	bool shift = op == 0x60 || op == 0x70 || op == 0xc0;
	bool division = op == 0x30 || op == 0x90;
	int off = division && gen_chance(g, 40) ? 1 : 0;
	int32_t imm = gen_immediate(g);

	if (gen_chance(g, 8)) {
		stmt_unary(g, dst);
		return;
	}
	if (op == 0xb0 && gen_chance(g, 60)) {
		dst = gen_target(g);
		off = gen_chance(g, 50) ? 8 << gen_below(g, cls == 7 ? 3 : 2) : 0;
		gen_emit(g, op | 8 | cls, dst, src, off, 0);
		gen_set_number(g, dst);
		return;
	}
	if (gen_chance(g, 50)) {
		gen_emit(g, op | 8 | cls, dst, src, off, 0);
	} else {
		if (shift)
			imm = (int32_t)gen_below(g, cls == 7 ? 64 : 32);
		if (division && !imm)
			imm = 3;
		gen_emit(g, op | cls, dst, 0, off, imm);
	}
	gen_set_number(g, dst);
}

void gen_stmt_const(struct gen *g)
{
	unsigned dst = gen_target(g);

	if (gen_chance(g, 25)) {
		gen_emit_lddw(g, dst, 0, (uint32_t)gen_immediate(g),
			      (uint32_t)(gen_chance(g, 50) ? 0 : gen_immediate(g)));
	} else {
		gen_emit(g, gen_chance(g, 50) ? 0xb7 : 0xb4, dst, 0, 0, gen_immediate(g));
	}
	gen_set_number(g, dst);
}

void gen_stmt_ctx_load(struct gen *g)
{
	int ctx = gen_pick(g, CTX);
	unsigned dst = gen_target(g), k = gen_below(g, 4), size;
	uint32_t off;

	if (ctx < 0)
		return;
	if (gen_chance(g, 60))
		k = 2 + gen_below(g, 2);
	size = 1u << k;
	off = gen_below(g, g->o->ctx_size / size) * size;
	if (size == 8) /* the only fields of 8 bytes */
		off = gen_below(g, 3) * 8;
	gen_emit(g, ldx_ops[k], dst, (unsigned)ctx, (int)off, 0);
	gen_set_number(g, dst);
}

void gen_stmt_output(struct gen *g)
{
	int ctx = gen_pick(g, CTX);
	unsigned src;

	if (ctx < 0 || !g->o->tuner)
		return;
	if (gen_chance(g, 40)) {
		gen_emit(g, 0x62, (unsigned)ctx, 0, 68 + (int)gen_below(g, 3) * 4,
			 gen_immediate(g));
		return;
	}
	src = gen_number(g);
	gen_emit(g, 0x63, (unsigned)ctx, src, 68 + (int)gen_below(g, 3) * 4, 0);
}

void gen_wrote(struct gen *g, int off, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		g->t.init[WINDOW + off + (int)i] = 1;
	g->t.spill[(WINDOW + off) / 8] = 0;
}

void gen_stmt_stack_store(struct gen *g)
{
	unsigned k = gen_chance(g, 50) ? 3 : gen_below(g, 4), size = 1u << k, src;
	int off = -WINDOW + (int)(gen_below(g, WINDOW / size) * size);

	if (gen_chance(g, 30)) {
		gen_emit(g, st_ops[k], 10, 0, off, gen_immediate(g));
		gen_wrote(g, off, size);
		return;
	}
	src = k == 3 && gen_chance(g, 40) ? gen_below(g, 10) : gen_number(g);
	if (g->t.type[src] == NONE)
		src = gen_number(g);
	gen_emit(g, stx_ops[k], 10, src, off, 0);
	gen_wrote(g, off, size);
	if (k == 3)
		g->t.spill[(WINDOW + off) / 8] = (uint8_t)(1 + src);
}

bool gen_stack_ready(const struct gen *g, int off, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		if (!g->t.init[WINDOW + off + (int)i])
			return false;
	return true;
}

void gen_stmt_stack_load(struct gen *g)
{
	for (int i = 0; i < 8; i++) {
		unsigned k = gen_chance(g, 50) ? 3 : gen_below(g, 4), size = 1u << k;
		int off = -WINDOW + (int)(gen_below(g, WINDOW / size) * size);
		unsigned dst = gen_target(g), from;

		if (!gen_stack_ready(g, off, size) && !gen_chance(g, 1))
			continue;
		from = g->t.spill[(WINDOW + off) / 8];
		gen_emit(g, gen_chance(g, 15) && k < 3 ? ldxs_ops[k] : ldx_ops[k], dst, 10, off, 0);
		gen_set_number(g, dst);
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
void gen_bound(struct gen *g, unsigned reg, uint32_t limit)
{
	uint8_t j = gen_chance(g, 35) ? 0x06 : 0x05, a = j == 6 ? 4 : 7;
	int32_t lim = (int32_t)limit + (gen_chance(g, 10) ? 1 : 0);
	unsigned other;

	switch (gen_below(g, 11)) {
	case 0:
	case 1:
		gen_emit(g, 0x50 | a, reg, 0, 0, (1 << log2_of(limit)) - 1);
		break;
	case 2:
	case 3:
		gen_bail(g, 0x30 | j, reg, 0, lim); /* >= */
		break;
	case 4:
		gen_bail(g, 0x20 | j, reg, 0, lim - 1); /* > */
		break;
	case 5:
		gen_bail(g, 0x60 | j, reg, 0, lim - 1); /* signed > */
		gen_bail(g, 0xc0 | j, reg, 0, 0);	/* signed < */
		break;
	case 6:
		gen_emit(g, 0x90 | a, reg, 0, 0, lim > 0 ? lim : 1);
		break;
	case 7: /* zero-extension by shifts, then a test */
		gen_emit(g, 0x67, reg, 0, 0, 32);
		gen_emit(g, 0x77, reg, 0, 0, 32);
		gen_bail(g, 0x35, reg, 0, lim);
		break;
	case 8:
		gen_emit(g, 0x70 | a, reg, 0, 0, (a == 7 ? 63 : 31) - (int32_t)log2_of(limit));
		break;
	case 9: /* test a copy */
		other = gen_target(g);
		if (other == reg)
			other = (other + 1) % 10;
		gen_emit(g, 0xbf, other, reg, 0, 0);
		if (gen_chance(g, 40))
			gen_emit(g, 0x07, other, 0, 0, rng_between(g->r, -4, 4));
		gen_set_number(g, other);
		gen_bail(g, 0x30 | j, other, 0, lim);
		break;
	default: /* test against a register */
		other = gen_target(g);
		if (other == reg)
			other = (other + 1) % 10;
		gen_emit(g, 0xb7, other, 0, 0, lim);
		gen_set_number(g, other);
		gen_bail(g, (gen_chance(g, 50) ? 0x30 : 0x20) | 8 | j, reg, other, 0);
		break;
	}
	if (a == 4 && gen_chance(g, 60))
		gen_emit(g, 0xbc, reg, reg, 0, 0);
	g->t.type[reg] = SMALL;
	g->t.limit[reg] = limit;
}

/* Something that keeps a bounded number bounded, more or less. */
static void twist(struct gen *g, unsigned reg)
{
	uint8_t a = gen_chance(g, 30) ? 4 : 7;

	switch (gen_below(g, 8)) {
	case 0:
		gen_emit(g, 0x00 | a, reg, 0, 0, rng_between(g->r, -3, 3));
		break;
	case 1:
		gen_emit(g, 0x60 | a, reg, 0, 0, (int32_t)gen_below(g, 4));
		break;
	case 2:
		gen_emit(g, 0x70 | a, reg, 0, 0, (int32_t)gen_below(g, 4));
		break;
	case 3:
		gen_emit(g, 0x20 | a, reg, 0, 0, (int32_t)gen_below(g, 5));
		break;
	case 4:
		gen_emit(g, 0x40 | a, reg, 0, 0, (int32_t)gen_below(g, 8));
		break;
	case 5:
		gen_emit(g, 0xa0 | a, reg, 0, 0, (int32_t)gen_below(g, 8));
		break;
	case 6:
		gen_emit(g, 0xb0 | 8 | a, reg, reg, 8 << gen_below(g, 2), 0);
		break;
	default:
		gen_emit(g, 0xc0 | a, reg, 0, 0, (int32_t)gen_below(g, 4));
		break;
	}
}

/* Spill a number and fill it again, perhaps in part. */
static void through_stack(struct gen *g, unsigned reg)
{
	unsigned k = 1 + gen_below(g, 3), back = gen_below(g, k + 1);
	int off = -8 * (1 + (int)gen_below(g, WINDOW / 8));

	gen_emit(g, stx_ops[k], 10, reg, off, 0);
	gen_wrote(g, off, 1u << k);
	gen_emit(g, ldx_ops[back], reg, 10, off, 0);
}

/* ---- maps -----------------------------------------------------------------
 */

void gen_stmt_bound(struct gen *g)
{
	unsigned reg = gen_number(g);

	gen_bound(g, reg, 1 + gen_below(g, 64));
	for (uint32_t i = gen_below(g, 3); i; i--)
		twist(g, reg);
}

uint32_t gen_pick_map(struct gen *g)
{
	return gen_below(g, g->o->nmaps);
}

/* The key at r10-8 (or in a value); leaves r2 pointing at it. */
void gen_make_key(struct gen *g, uint32_t map)
{
	const struct nb_map_spec *m = &g->o->maps[map];
	int value = gen_pick(g, VALUE);

	if (value >= 0 && gen_chance(g, 10) &&
	    !(g->o->maps[g->t.map[value]].flags & NB_F_WRONLY_PROG)) {
		gen_emit(g, 0xbf, 2, (unsigned)value, 0, 0);
		return;
	}
	if (!(gen_chance(g, 15) && gen_stack_ready(g, -8, 8))) {
		if (m->key_size == 8 && gen_chance(g, 60)) {
			gen_emit(g, 0x7b, 10, gen_number(g), -8, 0);
		} else if (m->key_size == 4 && gen_chance(g, 30)) {
			gen_emit(g, 0x63, 10, gen_number(g), -8, 0);
		} else {
			gen_emit(g, m->key_size == 4 ? 0x62 : 0x7a, 10, 0, -8,
				 (int32_t)gen_below(g, m->max_entries + 1));
		}
		gen_wrote(g, -8, m->key_size);
	}
	gen_emit(g, 0xbf, 2, 10, 0, 0);
	gen_emit(g, 0x07, 2, 0, 0, -8);
}

void gen_stmt_lookup(struct gen *g)
{
	uint32_t map = gen_pick_map(g);
	unsigned keep = 6 + gen_below(g, 4);

	gen_make_key(g, map);
	gen_emit_lddw(g, 1, 1, map, 0);
	gen_emit(g, 0x85, 0, 0, 0, 1);
	gen_kill(g, 0, 5);
	g->t.type[0] = MAYBE;
	g->t.map[0] = (uint8_t)map;
	g->t.off[0] = 0;
	if (gen_chance(g, 70)) {
		gen_emit(g, 0xbf, keep, 0, 0, 0);
		g->t.type[keep] = MAYBE;
		g->t.map[keep] = (uint8_t)map;
		g->t.off[keep] = 0;
	}
	if (gen_chance(g, 4))
		return;
	gen_bail(g, 0x15, gen_chance(g, 50) && g->t.type[keep] == MAYBE ? keep : 0, 0, 0);
	g->t.type[0] = VALUE;
	if (g->t.type[keep] == MAYBE)
		g->t.type[keep] = VALUE;
}

void gen_stmt_direct(struct gen *g)
{
	uint32_t map = gen_pick_map(g);
	unsigned dst = gen_target(g);
	const struct nb_map_spec *m = &g->o->maps[map];
	uint32_t off = gen_chance(g, 50) ? 0 : gen_below(g, m->value_size / 8) * 8;

	if (m->type != NB_MAP_ARRAY || (g->o->kernel && m->max_entries != 1))
		return;
	gen_emit_lddw(g, dst, 2, map, off);
	g->t.type[dst] = VALUE;
	g->t.map[dst] = (uint8_t)map;
	g->t.off[dst] = (int32_t)off;
}

static const int32_t atomics[] = { 0x00, 0x40, 0x50, 0xa0, 0x01, 0x41, 0x51, 0xa1, 0xe1, 0xf1 };

/* An access of any kind at @ptr + off, for a map that allows it. */
void gen_access_value(struct gen *g, unsigned ptr, uint32_t map, int off, unsigned k)
{
	const struct nb_map_spec *m = &g->o->maps[map];
	bool read = !(m->flags & NB_F_WRONLY_PROG);
	bool write = !(m->flags & NB_F_RDONLY_PROG) && !(m->tags & NB_MAPF_COHERENT) &&
		     m->origin != NB_ORIGIN_RODATA;
	unsigned dst;

	if (k >= 2 && read && write && gen_chance(g, 15)) {
		unsigned src = gen_number(g);

		if (src == ptr)
			return;
		if (!gen_is_number(g, 0) && ptr != 0) {
			gen_emit(g, 0xb7, 0, 0, 0, gen_immediate(g));
			gen_set_number(g, 0);
		}
		gen_emit(g, k == 2 ? 0xc3 : 0xdb, ptr, src, off,
			 atomics[gen_below(g, ptr ? 10 : 9)]);
		gen_set_number(g, src);
		return;
	}
	if (read && (!write || gen_chance(g, 60))) {
		dst = gen_chance(g, 15) ? ptr : gen_target(g);
		gen_emit(g, gen_chance(g, 15) && k < 3 ? ldxs_ops[k] : ldx_ops[k], dst, ptr, off,
			 0);
		gen_set_number(g, dst);
	} else if (gen_chance(g, 40)) {
		gen_emit(g, st_ops[k], ptr, 0, off, gen_immediate(g));
	} else {
		gen_emit(g, stx_ops[k], ptr, gen_number(g), off, 0);
	}
}

void gen_stmt_value(struct gen *g)
{
	int ptr = gen_pick(g, VALUE);
	uint32_t map, k = gen_below(g, 4), room;
	int off;

	if (ptr < 0) {
		gen_stmt_lookup(g);
		return;
	}
	map = g->t.map[ptr];
	room = g->o->maps[map].value_size - (1u << k);
	off = (int)(gen_below(g, room + 1) >> k << k) - g->t.off[ptr];
	if (gen_chance(g, 3))
		off = (int)room + rng_between(g->r, -1, 2) - g->t.off[ptr];
	gen_access_value(g, (unsigned)ptr, map, off, k);
}

/* A copy of a value pointer moved by a bounded number. */
void gen_stmt_value_at(struct gen *g)
{
	int ptr = gen_pick(g, VALUE);
	unsigned idx, copy, k = gen_below(g, 4);
	uint32_t map, size, limit, scale = 0;
	int off = 0;

	if (ptr < 0) {
		gen_stmt_lookup(g);
		ptr = gen_pick(g, VALUE);
		if (ptr < 0)
			return;
	}
	map = g->t.map[ptr];
	size = g->o->maps[map].value_size;
	idx = gen_number(g);
	copy = gen_target(g);
	if (idx == (unsigned)ptr || copy == (unsigned)ptr || copy == idx || !gen_is_number(g, idx))
		return;
	if (gen_chance(g, 40))
		scale = k;
	limit = ((size - (1u << k)) >> scale) + 1;
	if (gen_chance(g, 30)) {
		off = (int)gen_below(g, size / 4);
		limit = limit > ((uint32_t)off >> scale) ? limit - ((uint32_t)off >> scale) : 1;
	}
	gen_bound(g, idx, limit);
	if (gen_chance(g, 15))
		through_stack(g, idx);
	for (uint32_t i = gen_chance(g, 30) ? gen_below(g, 4) : 0; i; i--)
		twist(g, idx);
	if (scale)
		gen_emit(g, 0x67, idx, 0, 0, (int32_t)scale);
	gen_emit(g, 0xbf, copy, (unsigned)ptr, 0, 0);
	if (gen_chance(g, 8)) {
		gen_emit(g, 0x07, copy, 0, 0, (int32_t)(size - (1u << k)));
		gen_emit(g, 0x1f, copy, idx, 0, 0);
		off = 0;
	} else {
		gen_emit(g, 0x0f, copy, idx, 0, 0);
	}
	g->t.type[copy] = NONE;
	gen_access_value(g, copy, map, off - g->t.off[ptr], k);
	if (g->t.type[copy] == NONE && gen_chance(g, 30))
		gen_access_value(g, copy, map, off - g->t.off[ptr], k);
}

/* Stack at a bounded variable offset; all of it is written before. */
void gen_stmt_stack_at(struct gen *g)
{
	unsigned idx = gen_number(g), copy = gen_target(g), k = gen_below(g, 4);
	uint32_t limit = (WINDOW >> k);

	if (copy == idx || !gen_is_number(g, idx))
		return;
	for (int off = -WINDOW; off < 0; off += 8)
		if (!gen_stack_ready(g, off, 8) || g->t.spill[(WINDOW + off) / 8]) {
			gen_emit(g, 0x7a, 10, 0, off, gen_immediate(g));
			gen_wrote(g, off, 8);
		}
	gen_bound(g, idx, limit);
	gen_emit(g, 0x67, idx, 0, 0, (int32_t)k);
	gen_emit(g, 0xbf, copy, 10, 0, 0);
	gen_emit(g, 0x0f, copy, idx, 0, 0);
	g->t.type[copy] = NONE;
	if (gen_chance(g, 50)) {
		gen_emit(g, ldx_ops[k], copy, copy, -WINDOW, 0);
		gen_set_number(g, copy);
	} else {
		gen_emit(g, stx_ops[k], copy, gen_number(g), -WINDOW, 0);
	}
}

void gen_stmt_stack_atomic(struct gen *g)
{
	int off = -8 * (1 + (int)gen_below(g, WINDOW / 8));
	unsigned src = gen_number(g);

	if (!gen_stack_ready(g, off, 8) || g->t.spill[(WINDOW + off) / 8])
		return;
	if (!gen_is_number(g, 0)) {
		gen_emit(g, 0xb7, 0, 0, 0, gen_immediate(g));
		gen_set_number(g, 0);
	}
	gen_emit(g, gen_chance(g, 50) ? 0xc3 : 0xdb, 10, src, off, atomics[gen_below(g, 10)]);
	gen_set_number(g, src);
}

void gen_stmt_update(struct gen *g)
{
	uint32_t map = gen_pick_map(g);
	const struct nb_map_spec *m = &g->o->maps[map];
	int value = gen_pick(g, VALUE);
	bool hash = m->type == NB_MAP_HASH;

	if (m->flags & NB_F_RDONLY_PROG || m->tags & NB_MAPF_COHERENT ||
	    m->origin == NB_ORIGIN_RODATA)
		return;
	if (hash && gen_chance(g, 30)) {
		gen_make_key(g, map);
		gen_emit_lddw(g, 1, 1, map, 0);
		gen_emit(g, 0x85, 0, 0, 0, 3);
		gen_kill(g, 1, 5);
		gen_set_number(g, 0);
		return;
	}
	if (value >= 0 && value != 3 && gen_chance(g, 50) && !g->t.off[value] &&
	    g->o->maps[g->t.map[value]].value_size >= m->value_size) {
		gen_emit(g, 0xbf, 3, (unsigned)value, 0, 0);
	} else {
		if (m->value_size > WINDOW - 8)
			return;
		for (int off = -WINDOW; off < -WINDOW + (int)m->value_size; off += 8)
			if (!gen_stack_ready(g, off, 8)) {
				gen_emit(g, 0x7a, 10, 0, off, gen_immediate(g));
				gen_wrote(g, off, 8);
			}
		gen_emit(g, 0xbf, 3, 10, 0, 0);
		gen_emit(g, 0x07, 3, 0, 0, -WINDOW);
	}
	g->t.type[3] = NONE;
	gen_make_key(g, map);
	gen_emit(g, 0xb7, 4, 0, 0, (int32_t)gen_below(g, 3));
	gen_emit_lddw(g, 1, 1, map, 0);
	gen_emit(g, 0x85, 0, 0, 0, 2);
	gen_kill(g, 1, 5);
	gen_set_number(g, 0);
}

void gen_stmt_helper(struct gen *g)
{
	static const int32_t ids[] = { 5, 7, 8 };
	int32_t id = ids[gen_below(g, 3)];

	gen_emit(g, 0x85, 0, 0, 0, id);
	gen_kill(g, 1, 5);
	gen_set_number(g, 0);
	if (gen_chance(g, 50)) {
		unsigned keep = 6 + gen_below(g, 4);

		gen_emit(g, 0xbf, keep, 0, 0, 0);
		gen_set_number(g, keep);
	}
}

void gen_stmt_printk(struct gen *g)
{
	unsigned size = gen_number(g);

	for (int off = -WINDOW; off < -WINDOW + 16; off += 8) {
		gen_emit(g, 0x7a, 10, 0, off, gen_immediate(g));
		gen_wrote(g, off, 8);
	}
	if (gen_chance(g, 60)) {
		gen_bound(g, size, 16 + gen_below(g, 2));
		if (gen_chance(g, 70))
			gen_bail(g, 0x15, size, 0, 0);
		gen_emit(g, 0xbf, 2, size, 0, 0);
	} else {
		gen_emit(g, 0xb7, 2, 0, 0, 1 + (int32_t)gen_below(g, 17));
	}
	gen_emit(g, 0xbf, 1, 10, 0, 0);
	gen_emit(g, 0x07, 1, 0, 0, -WINDOW + (gen_chance(g, 10) ? 1 : 0));
	gen_emit(g, 0x85, 0, 0, 0, 6);
	gen_kill(g, 1, 5);
	gen_set_number(g, 0);
}
