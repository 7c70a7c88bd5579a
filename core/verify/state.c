// SPDX-License-Identifier: MIT
// Abstract states: making, storing and comparing. A stored state keeps what
// can still matter, so that comparing it is short; comparison is exact set
// inclusion, including which values are linked to each other.
#include "core/verify/state.h"

#include <string.h>

struct saved_frame {
	uint32_t ret, ncells, loop, turns;
	uint16_t live;
	bool callback, counted;
};

/* Header, then for each frame its registers (the live ones) and cells. */
struct nb_saved {
	uint32_t nframes;
	struct nb_region region;
	uint8_t budget;
	struct saved_frame frames[NB_MAX_FRAMES];
	uint64_t data[];
};

enum {
	REG_WORDS = (sizeof(struct nb_reg) + 7) / 8,
	CELL_WORDS = (sizeof(struct nb_cell) + 7) / 8
};

struct nb_reg nb_reg_scalar(struct nb_range r)
{
	struct nb_reg reg;

	memset(&reg, 0, sizeof(reg));
	reg.kind = NB_REG_SCALAR;
	reg.r = r;
	return reg;
}

struct nb_reg nb_reg_pointer(enum nb_reg_kind kind)
{
	struct nb_reg reg;

	memset(&reg, 0, sizeof(reg));
	reg.kind = (uint8_t)kind;
	reg.r = nb_range_const(0);
	return reg;
}

bool nb_reg_is_pointer(const struct nb_reg *r)
{
	return r->kind != NB_REG_UNINIT && r->kind != NB_REG_SCALAR;
}

bool nb_reg_is_const(const struct nb_reg *r)
{
	return r->kind == NB_REG_SCALAR && nb_range_is_const(&r->r);
}

bool nb_reg_equal(const struct nb_reg *a, const struct nb_reg *b)
{
	return a->kind == b->kind && a->label == b->label &&
	       a->frame == b->frame && a->map == b->map && a->id == b->id &&
	       a->delta == b->delta && nb_range_equal(&a->r, &b->r);
}

static uint32_t count(uint16_t bits)
{
	return (uint32_t)__builtin_popcount(bits);
}

/* r10 is the same in every state of a frame and is made anew. */
static uint16_t kept(const struct nb_frame *f, uint16_t live)
{
	uint16_t keep = 0;

	for (unsigned i = 0; i < NB_R10; i++)
		if (live & 1u << i && f->regs[i].kind != NB_REG_UNINIT)
			keep |= (uint16_t)(1u << i);
	return keep;
}

void nb_state_forget(struct nb_state *st, const struct nb_live *live)
{
	for (uint32_t i = 0; i < st->nframes; i++)
		for (unsigned r = 0; r < NB_R10; r++)
			if (!(live->regs[i] & 1u << r))
				memset(&st->frames[i].regs[r], 0,
				       sizeof(st->frames[i].regs[r]));
}

size_t nb_state_size(const struct nb_state *st, const struct nb_live *live)
{
	size_t words = 0;

	for (uint32_t i = 0; i < st->nframes; i++)
		words += count(kept(&st->frames[i], live->regs[i])) *
				 (size_t)REG_WORDS +
			 st->frames[i].ncells * (size_t)CELL_WORDS;
	return sizeof(struct nb_saved) + words * 8;
}

void nb_state_save(struct nb_saved *to, const struct nb_state *st,
		   const struct nb_live *live)
{
	uint64_t *p = to->data;

	to->nframes = st->nframes;
	to->region = st->region;
	to->budget = st->budget;
	for (uint32_t i = 0; i < st->nframes; i++) {
		const struct nb_frame *f = &st->frames[i];
		struct saved_frame *s = &to->frames[i];

		s->ret = f->ret;
		s->ncells = f->ncells;
		s->loop = f->loop;
		s->turns = f->turns;
		s->counted = f->counted;
		s->callback = f->callback;
		s->live = kept(f, live->regs[i]);
		for (unsigned r = 0; r < NB_R10; r++) {
			if (!(s->live & 1u << r))
				continue;
			memcpy(p, &f->regs[r], sizeof(f->regs[r]));
			p += REG_WORDS;
		}
		for (uint32_t c = 0; c < f->ncells; c++, p += CELL_WORDS)
			memcpy(p, &f->cells[c], sizeof(f->cells[c]));
	}
}

static struct nb_reg frame_pointer(uint32_t frame)
{
	struct nb_reg r = nb_reg_pointer(NB_REG_STACK);

	r.frame = (uint8_t)frame;
	return r;
}

void nb_state_restore(struct nb_state *st, const struct nb_saved *from)
{
	const uint64_t *p = from->data;

	st->nframes = from->nframes;
	st->region = from->region;
	st->budget = from->budget;
	for (uint32_t i = 0; i < from->nframes; i++) {
		const struct saved_frame *s = &from->frames[i];
		struct nb_frame *f = &st->frames[i];

		f->ret = s->ret;
		f->ncells = s->ncells;
		f->loop = s->loop;
		f->turns = s->turns;
		f->counted = s->counted;
		f->callback = s->callback;
		memset(f->regs, 0, sizeof(f->regs));
		for (unsigned r = 0; r < NB_R10; r++) {
			if (!(s->live & 1u << r))
				continue;
			memcpy(&f->regs[r], p, sizeof(f->regs[r]));
			p += REG_WORDS;
		}
		f->regs[NB_R10] = frame_pointer(i);
		for (uint32_t c = 0; c < s->ncells; c++, p += CELL_WORDS)
			memcpy(&f->cells[c], p, sizeof(f->cells[c]));
	}
}

/* ---- comparing ---- */

/*
 * Which id of the newer state an id of the stored one stands for, and how
 * their deltas differ. More links in the newer state only mean fewer
 * behaviours, so two stored ids may stand for the same newer one.
 */
enum { NIDS = NB_MAX_FRAMES * (NB_NREGS + 8) };

struct ids {
	uint32_t n;
	bool exact;
	struct {
		uint32_t old, now;
		int64_t shift;
	} pair[NIDS];
};

static bool same_id(struct ids *ids, const struct nb_reg *old,
		    const struct nb_reg *now)
{
	int64_t shift = (int64_t)now->delta - old->delta;

	if (!old->id)
		return !ids->exact || !now->id;
	for (uint32_t i = 0; i < ids->n; i++) {
		if (ids->pair[i].old == old->id)
			return now->id && ids->pair[i].now == now->id &&
			       ids->pair[i].shift == shift;
		if (ids->exact && ids->pair[i].now == now->id)
			return false;
	}
	if (ids->n == NIDS)
		return false;
	if (ids->exact && !now->id)
		return false;
	ids->pair[ids->n].old = old->id;
	/* Not linked now: fine for one holder, wrong for a second. */
	ids->pair[ids->n].now = now->id;
	ids->pair[ids->n].shift = shift;
	ids->n++;
	return true;
}

static bool covers_reg(struct ids *ids, const struct nb_reg *old,
		       const struct nb_reg *now)
{
	if (old->kind == NB_REG_UNINIT)
		return true;
	if (old->kind != now->kind || old->label < now->label ||
	    old->frame != now->frame || old->map != now->map)
		return false;
	return nb_range_within(&now->r, &old->r) && same_id(ids, old, now);
}

static bool same_reg(struct ids *ids, const struct nb_reg *old,
		     const struct nb_reg *now)
{
	return old->kind == now->kind && old->label == now->label &&
	       old->frame == now->frame && old->map == now->map &&
	       nb_range_equal(&old->r, &now->r) && same_id(ids, old, now);
}

/* Every byte of a spilled scalar is data; its known bits say which are 0. */
static uint8_t zero_bytes(const struct nb_cell *c, const struct nb_cell *low)
{
	const struct nb_reg *r;
	unsigned at = 0;
	uint8_t zero = 0;

	if (c->kind == NB_CELL_BYTES)
		return c->zero;
	r = c->kind == NB_CELL_SPILL8_HI ? &low->reg : &c->reg;
	if (c->kind == NB_CELL_SPILL8_HI)
		at = 32;
	if (r->kind != NB_REG_SCALAR)
		return 0;
	for (unsigned i = 0; i < 4; i++)
		if (!((r->r.t.value | r->r.t.mask) >> (at + i * 8) & 0xff))
			zero |= (uint8_t)(1u << i);
	return zero;
}

static bool holds_pointer(const struct nb_cell *c, const struct nb_cell *low)
{
	if (c->kind == NB_CELL_SPILL8_HI)
		c = low;
	return c->kind == NB_CELL_SPILL8 && nb_reg_is_pointer(&c->reg);
}

static bool covers_cell(struct ids *ids, const struct nb_cell *old,
			const struct nb_cell *now, const struct nb_cell *low)
{
	if (!old->init)
		return true; /* the explored part never read it */
	if (old->init & ~now->init || now->local & ~old->local & old->init)
		return false;
	if (old->kind != NB_CELL_BYTES)
		return old->kind == now->kind &&
		       (old->kind == NB_CELL_SPILL8_HI ||
			covers_reg(ids, &old->reg, &now->reg));
	return !holds_pointer(now, low) && !(old->zero & ~zero_bytes(now, low));
}

static bool same_cell(struct ids *ids, const struct nb_cell *old,
		      const struct nb_cell *now)
{
	if (old->kind != now->kind || old->init != now->init ||
	    old->zero != now->zero || old->local != now->local)
		return false;
	return old->kind == NB_CELL_BYTES || old->kind == NB_CELL_SPILL8_HI ||
	       same_reg(ids, &old->reg, &now->reg);
}

static bool covers_region(const struct nb_region *old,
			  const struct nb_region *now)
{
	/* Local control only ever forbids more. */
	if (!now->open)
		return true;
	return old->open && old->frame == now->frame && old->end == now->end &&
	       old->pc == now->pc;
}

/*
 * The same function called from the same place, and the same call of a helper
 * that calls back: states of another one say nothing about when this one
 * ends (callback.c).
 */
static bool same_place(const struct saved_frame *s, const struct nb_frame *f)
{
	return s->ret == f->ret && s->callback == f->callback &&
	       s->loop == f->loop && s->counted == f->counted &&
	       (!f->counted || s->turns == f->turns);
}

static bool compare_frame(struct ids *ids, const struct saved_frame *s,
			  const uint64_t **data, const struct nb_frame *f,
			  uint16_t live)
{
	const uint64_t *p = *data;
	const struct nb_cell none = { 0 };
	struct nb_reg old = { 0 };
	struct nb_cell cell;

	if (!same_place(s, f) ||
	    (ids->exact &&
	     (s->live != kept(f, live) || s->ncells != f->ncells)))
		return false;
	for (unsigned r = 0; r < NB_R10; r++) {
		if (!(s->live & 1u << r))
			continue;
		memcpy(&old, p, sizeof(old));
		p += REG_WORDS;
		if (!(ids->exact ? same_reg : covers_reg)(ids, &old,
							  &f->regs[r]))
			return false;
	}
	for (uint32_t c = 0; c < s->ncells; c++, p += CELL_WORDS) {
		const struct nb_cell *now =
			c < f->ncells ? &f->cells[c] : &none;
		const struct nb_cell *low =
			c + 1 < f->ncells ? &f->cells[c + 1] : &none;

		memcpy(&cell, p, sizeof(cell));
		if (ids->exact ? !same_cell(ids, &cell, now)
			       : !covers_cell(ids, &cell, now, low))
			return false;
	}
	*data = p;
	return true;
}

static bool compare(const struct nb_saved *old, const struct nb_state *st,
		    const struct nb_live *live, bool exact)
{
	const uint64_t *p = old->data;
	struct ids ids;

	ids.n = 0;
	ids.exact = exact;
	if (old->nframes != st->nframes || old->budget < st->budget ||
	    !covers_region(&old->region, &st->region))
		return false;
	if (exact &&
	    (old->budget != st->budget || old->region.open != st->region.open))
		return false;
	for (uint32_t i = 0; i < st->nframes; i++)
		if (!compare_frame(&ids, &old->frames[i], &p, &st->frames[i],
				   live->regs[i]))
			return false;
	return true;
}

bool nb_state_covers(const struct nb_saved *old, const struct nb_state *st,
		     const struct nb_live *live)
{
	return compare(old, st, live, false);
}

bool nb_state_same(const struct nb_saved *old, const struct nb_state *st,
		   const struct nb_live *live)
{
	return compare(old, st, live, true);
}

/* ---- widening ---- */

struct steps {
	const int64_t *at;
	uint32_t n;
};

static int64_t step_up(const struct steps *s, int64_t v)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->at[i] >= v)
			return s->at[i];
	return INT64_MAX;
}

static int64_t step_down(const struct steps *s, int64_t v)
{
	for (uint32_t i = s->n; i-- > 0;)
		if (s->at[i] <= v)
			return s->at[i];
	return INT64_MIN;
}

static void widen_reg(struct nb_reg *now, const struct nb_reg *old,
		      const struct steps *s)
{
	struct nb_range r;
	int64_t lo, hi;

	if (now->kind != NB_REG_SCALAR || old->kind != NB_REG_SCALAR ||
	    nb_range_within(&now->r, &old->r))
		return;
	r = nb_range_join(&now->r, &old->r);
	lo = r.smin < old->r.smin ? step_down(s, r.smin) : r.smin;
	hi = r.smax > old->r.smax ? step_up(s, r.smax) : r.smax;
	/* Links to other values do not survive growing by itself. */
	now->r = nb_range_s(lo, hi);
	now->id = 0;
	now->delta = 0;
	if (old->label > now->label)
		now->label = old->label;
}

void nb_state_widen(struct nb_state *st, const struct nb_saved *old,
		    const struct nb_live *live, const int64_t *steps,
		    uint32_t nsteps)
{
	const struct steps s = { steps, nsteps };
	const uint64_t *p = old->data;
	struct nb_cell cell;
	struct nb_reg reg;

	if (old->nframes != st->nframes)
		return;
	for (uint32_t i = 0; i < st->nframes; i++) {
		const struct saved_frame *sf = &old->frames[i];
		struct nb_frame *f = &st->frames[i];

		for (unsigned r = 0; r < NB_R10; r++) {
			if (!(sf->live & 1u << r))
				continue;
			memcpy(&reg, p, sizeof(reg));
			p += REG_WORDS;
			if (live->regs[i] & 1u << r)
				widen_reg(&f->regs[r], &reg, &s);
		}
		for (uint32_t c = 0; c < sf->ncells; c++, p += CELL_WORDS) {
			memcpy(&cell, p, sizeof(cell));
			if (c >= f->ncells || cell.kind != f->cells[c].kind)
				continue;
			if (cell.kind == NB_CELL_SPILL8 ||
			    cell.kind == NB_CELL_SPILL4)
				widen_reg(&f->cells[c].reg, &cell.reg, &s);
			if (cell.kind == NB_CELL_SPILL4 &&
			    f->cells[c].reg.r.umax > UINT32_MAX)
				f->cells[c].reg.r = nb_range_u(0, UINT32_MAX);
		}
	}
}

void nb_state_each(struct nb_state *st, nb_reg_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];

		for (unsigned r = 0; r < NB_R10; r++)
			if (f->regs[r].kind != NB_REG_UNINIT)
				fn(arg, &f->regs[r]);
		for (uint32_t c = 0; c < f->ncells; c++)
			if (f->cells[c].kind == NB_CELL_SPILL4 ||
			    f->cells[c].kind == NB_CELL_SPILL8)
				fn(arg, &f->cells[c].reg);
	}
}
