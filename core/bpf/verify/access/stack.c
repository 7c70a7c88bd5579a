// SPDX-License-Identifier: MIT
/* The stack in abstract states: stores, loads, and writes at unknown
 * offsets. */
#include "core/bpf/verify/access/stack.h"

#include <string.h>

#include "core/bpf/verify/access/access.h"
#include "core/bpf/verify/access/labels.h"
#include "core/bpf/verify/access/objects.h"
#include "core/bpf/verify/state/marks.h"

/* Join two parts of a number: each part is zero in the bytes of the other. */
static struct nb_range bytes_joined(const struct nb_range *a, const struct nb_range *b)
{
	return nb_range_alu(NB_FN_OR, 64, a, b);
}

/* Return the cell's four bytes as a number. */
static struct nb_range cell_range(const struct nb_frame *f, uint32_t c)
{
	struct nb_tnum t = { 0, 0 };
	struct nb_range v;
	unsigned narrow;

	if (c >= f->ncells)
		return nb_range_u(0, UINT32_MAX);
	narrow = nb_cell_narrow(&f->cells[c]);
	if (f->cells[c].kind == NB_CELL_SPILL4)
		return f->cells[c].reg.r;
	if (f->cells[c].kind == NB_CELL_SPILL8 && f->cells[c].reg.kind == NB_REG_SCALAR)
		return nb_range_zext(&f->cells[c].reg.r, 32);
	if (f->cells[c].kind == NB_CELL_SPILL8_HI && f->cells[c + 1].reg.kind == NB_REG_SCALAR)
		return nb_range_bits(&f->cells[c + 1].reg.r, 32, 32);
	if (f->cells[c].kind != NB_CELL_BYTES && !narrow)
		return nb_range_u(0, UINT32_MAX);
	for (unsigned i = narrow; i < 4; i++)
		if (!(f->cells[c].zero & 1u << i))
			t.mask |= (uint64_t)0xff << i * 8;
	v = nb_range_t(t);
	return narrow ? bytes_joined(&f->cells[c].reg.r, &v) : v;
}

/* Return the dependencies of everything known about the cell's bytes. */
static uint64_t value_deps(const struct nb_frame *f, uint32_t c)
{
	if (c < f->ncells && f->cells[c].kind == NB_CELL_SPILL8_HI)
		c++;
	return c < f->ncells && f->cells[c].kind != NB_CELL_BYTES ? f->cells[c].reg.deps : 0;
}

static uint8_t known_zero(struct nb_range r)
{
	uint8_t zero = 0;

	for (unsigned i = 0; i < 4; i++)
		if (!((r.t.value | r.t.mask) >> i * 8 & 0xff))
			zero |= (uint8_t)(1u << i);
	return zero;
}

/* Turn a spill into plain bytes and keep what is known about them. */
static void to_bytes(struct nb_env *env, struct nb_frame *f, uint32_t c)
{
	struct nb_cell *x = &f->cells[c];

	if (x->kind == NB_CELL_BYTES)
		return;
	x->zero = known_zero(cell_range(f, c));
	/* Plain bytes have no dependencies, so the sources of known zeros
	 * become precise. */
	if (x->zero)
		nb_mark(env, value_deps(f, c));
	/* Bytes of an address differ between ranks, because address spaces
	 * are randomised. */
	if (nb_cell_of_pointer(f, c))
		x->local = 0xf;
	x->kind = NB_CELL_BYTES;
}

/* Split an 8-byte spill into independent halves, before a write to a part
 * of it. */
static void split_spill(struct nb_env *env, struct nb_frame *f, uint32_t c)
{
	uint32_t low = f->cells[c].kind == NB_CELL_SPILL8_HI ? c + 1 : c;
	struct nb_cell *x = &f->cells[low], *y;
	struct nb_range lo, hi;

	if (x->kind != NB_CELL_SPILL8)
		return;
	y = &f->cells[low - 1];
	if (nb_reg_is_pointer(&x->reg)) {
		to_bytes(env, f, low - 1);
		to_bytes(env, f, low);
		return;
	}
	lo = cell_range(f, low);
	hi = cell_range(f, low - 1);
	y->reg = x->reg;
	y->reg.r = hi;
	x->reg.r = lo;
	nb_reg_unlink(&y->reg);
	nb_reg_unlink(&x->reg);
	x->kind = y->kind = NB_CELL_SPILL4;
}

static void store_wide(struct nb_env *env, struct nb_frame *f, uint32_t c, const struct nb_reg *v)
{
	struct nb_cell *x = &f->cells[c], *y = &f->cells[c - 1];

	split_spill(env, f, c);
	x->kind = NB_CELL_SPILL8;
	y->kind = NB_CELL_SPILL8_HI;
	x->init = y->init = 0xf;
	x->zero = y->zero = 0;
	x->local = y->local = v->label == NB_LABEL_LOCAL ? 0xf : 0;
	x->from = y->from = v->from;
	x->reg = *v;
	memset(&y->reg, 0, sizeof(y->reg));
}

static void store_half(struct nb_env *env, struct nb_frame *f, uint32_t c, struct nb_reg v)
{
	struct nb_cell *x = &f->cells[c];

	split_spill(env, f, c);
	if (v.r.umax > UINT32_MAX) {
		nb_reg_unlink(&v);
		v.r = nb_range_zext(&v.r, 32);
	}
	x->kind = NB_CELL_SPILL4;
	x->init = 0xf;
	x->zero = 0;
	x->local = v.label == NB_LABEL_LOCAL ? 0xf : 0;
	x->from = v.from;
	x->reg = v;
}

/* Is more known about @v than byte masks can express? */
static bool worth_keeping(const struct nb_reg *v, uint32_t size)
{
	struct nb_range any = nb_range_u(0, nb_ones(size * 8));

	return v->kind == NB_REG_SCALAR && v->r.umax && (v->id || !nb_range_equal(&any, &v->r));
}

/* Record that the first @size bytes of cell @c hold the scalar @v. */
static void keep_narrow(struct nb_frame *f, uint32_t c, uint32_t size, struct nb_reg v)
{
	struct nb_cell *x = &f->cells[c];

	if (v.kind == NB_REG_SCALAR && v.r.umax > nb_ones(size * 8)) {
		nb_reg_unlink(&v);
		v.r = nb_range_zext(&v.r, size * 8);
	}
	if (!worth_keeping(&v, size))
		return;
	x->kind = size == 1 ? NB_CELL_SPILL1 : NB_CELL_SPILL2;
	x->zero &= (uint8_t)~nb_ones(size);
	x->reg = v;
}

static void store_bytes(struct nb_env *env, struct nb_frame *f, int64_t off, uint32_t size,
			const struct nb_reg *v)
{
	uint32_t c = nb_cell_at(off);
	uint8_t mask = (uint8_t)(nb_ones(size) << (off & 3));
	struct nb_cell *x = &f->cells[c];

	split_spill(env, f, c);
	/* A narrow spill survives a write to the other bytes of its cell. */
	if (!nb_cell_narrow(x) || (off & 3) < nb_cell_narrow(x))
		to_bytes(env, f, c);
	x->init |= mask;
	x->zero &= (uint8_t)~mask;
	x->local &= (uint8_t)~mask;
	for (unsigned i = 0; i < size; i++)
		if (!((v->r.t.value | v->r.t.mask) >> i * 8 & 0xff))
			x->zero |= (uint8_t)(1u << ((off & 3) + i));
	if (v->label == NB_LABEL_LOCAL) {
		x->local |= mask;
		x->from = v->from;
	}
	if (!(off & 3))
		keep_narrow(f, c, size, *v);
}

/* If a pointer is about to be overwritten in part, note that its bytes
 * become data. */
static void note_scatter(struct nb_env *env, const struct nb_frame *f, uint32_t c)
{
	if (nb_cell_of_pointer(f, c))
		nb_label_source(env);
}

/* Store @v at a known offset of the stack. */
void nb_stack_store(struct nb_env *env, struct nb_state *st, uint32_t pc, struct nb_place at,
		    const struct nb_reg *v)
{
	struct nb_frame *f = &st->frames[at.frame];
	uint32_t c = nb_cell_at(at.off);

	nb_object_end(env, st, pc, at.frame, at.off, at.off + at.size);
	nb_frame_extend(f, c);
	nb_note_write(env, pc, at.frame, c);
	if (at.size >= 4)
		nb_cells_add(&f->written, c);
	if (at.size == 8) {
		nb_cells_add(&f->written, c - 1);
		nb_note_write(env, pc, at.frame, c - 1);
		store_wide(env, f, c, v);
		return;
	}
	note_scatter(env, f, c);
	if (at.size == 4) {
		store_half(env, f, c, *v);
	} else {
		store_bytes(env, f, at.off, at.size, v);
	}
}

void nb_stack_put_object(struct nb_env *env, struct nb_state *st, uint32_t pc,
			 const struct nb_reg *at, uint32_t size, uint32_t ref)
{
	struct nb_frame *f = &st->frames[at->frame];
	int64_t off = at->r.smin;
	uint32_t c = nb_cell_at(off);

	nb_object_end(env, st, pc, at->frame, off, off + size);
	nb_frame_extend(f, c);
	for (uint32_t i = 0; i < size / 4; i++) {
		split_spill(env, f, c - i);
		nb_note_write(env, pc, at->frame, c - i);
		memset(&f->cells[c - i], 0, sizeof(f->cells[0]));
		f->cells[c - i].kind = i ? NB_CELL_OBJECT_HI : NB_CELL_OBJECT;
	}
	f->cells[c].reg.ref = ref;
}

/*
 * Store @v at one of several possible offsets: each of the bytes [off, off
 * + size) may keep its old value. With @v NULL the bytes become unknown
 * data.
 */
void nb_stack_smear(struct nb_env *env, struct nb_state *st, uint32_t pc, struct nb_place at,
		    const struct nb_reg *v)
{
	struct nb_frame *f = &st->frames[at.frame];
	bool zero = v && nb_reg_is_zero(v);

	if (zero)
		nb_mark(env, v->deps);
	nb_object_end(env, st, pc, at.frame, at.off, at.off + at.size);
	for (int64_t off = at.off; off < at.off + at.size; off++) {
		uint32_t c = nb_cell_at(off);
		uint8_t bit = (uint8_t)(1u << (off & 3));

		nb_note_write(env, pc, at.frame, c);
		if (c >= f->ncells)
			/*
			 * The byte still counts as unwritten, since this store
			 * may not reach it.
			 */
			continue;
		note_scatter(env, f, c);
		split_spill(env, f, c);
		to_bytes(env, f, c);
		if (!zero)
			f->cells[c].zero &= (uint8_t)~bit;
		if (v && v->label == NB_LABEL_LOCAL) {
			f->cells[c].local |= bit;
			f->cells[c].from = v->from;
		}
	}
}

/*
 * Mark as rank-local what the store at @pc wrote on any path: its address is
 * rank-local, so the store may hit any of these cells on other ranks.
 */
void nb_stack_smear_paths(struct nb_env *env, struct nb_state *st, uint32_t pc, uint32_t from)
{
	const struct nb_writes *w = env->facts.writes[pc];

	if (!w)
		return;
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];

		env->walk.work += f->ncells / 16;
		for (uint32_t c = 0; c < f->ncells; c++) {
			if (!(w->cells[i][c / 64] >> c % 64 & 1))
				continue;
			f->cells[c].local = 0xf;
			f->cells[c].from = from;
			nb_label_taint(&f->cells[c].reg, from);
			if (f->cells[c].kind == NB_CELL_SPILL8_HI)
				nb_label_taint(&f->cells[c + 1].reg, from);
		}
	}
}

static struct nb_range load_number(const struct nb_frame *f, int64_t off, uint32_t size)
{
	uint32_t c = nb_cell_at(off);
	struct nb_range v = cell_range(f, c), hi, by;

	if (size == 8) {
		by = nb_range_const(32);
		hi = cell_range(f, c - 1);
		hi = nb_range_alu(NB_FN_LSH, 64, &hi, &by);
		return bytes_joined(&hi, &v);
	}
	return nb_range_bits(&v, (unsigned)(off & 3) * 8, size * 8);
}

/* Return the register that was spilled exactly here, or NULL. */
static struct nb_reg *spilled(struct nb_frame *f, int64_t off, uint32_t size)
{
	struct nb_cell *x = &f->cells[nb_cell_at(off)];

	if (nb_cell_at(off) >= f->ncells || off & 3)
		return NULL;
	if (x->kind == NB_CELL_SPILL8)
		return size == 8 || (x->reg.kind == NB_REG_SCALAR &&
				     x->reg.r.umax <= nb_ones(size * 8))
			       ? &x->reg
			       : NULL;
	if ((x->kind == NB_CELL_SPILL4 && size <= 4) || size <= nb_cell_narrow(x))
		return x->reg.r.umax <= nb_ones(size * 8) ? &x->reg : NULL;
	return NULL;
}

void nb_stack_label(const struct nb_frame *f, int64_t lo, int64_t hi, struct nb_reg *r)
{
	for (int64_t off = lo; off < hi; off++) {
		uint32_t c = nb_cell_at(off);

		if (c < f->ncells && f->cells[c].local & 1u << (off & 3))
			nb_label_taint(r, f->cells[c].from);
	}
}

struct nb_reg nb_stack_load(struct nb_state *st, const struct nb_mem_access *x)
{
	struct nb_frame *f = &st->frames[x->frame];
	uint32_t size = (uint32_t)x->size;
	struct nb_reg v = nb_reg_unknown(size * 8);
	const struct nb_reg *whole = NULL;
	int64_t off = x->off.smin;

	if (nb_range_is_const(&x->off)) {
		whole = spilled(f, off, size);
		if (whole)
			v = *whole;
		else
			v.r = load_number(f, off, size);
		if (!whole)
			v.deps = value_deps(f, nb_cell_at(off)) |
				 value_deps(f, nb_cell_at(off + size - 1));
	}
	nb_stack_label(f, off, nb_access_end(x), &v);
	return v;
}
