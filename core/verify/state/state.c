// SPDX-License-Identifier: MIT
// Abstract states: making, storing and comparing. A stored state keeps what
// can still matter, so that comparing it is short; comparison is set
// inclusion, including which values are linked to each other, of everything
// or of what mattered (precision.c).
#include "core/verify/state/state.h"

#include <stddef.h>
#include <string.h>

struct saved_frame {
	struct nb_cells read, written;
	uint32_t ret, ncells, loop, turns;
	uint32_t words; /* up to the next frame */
	uint16_t live;
	bool callback, counted;
};

/*
 * Header, then the references, then for each frame a saved_frame, its
 * registers (the live ones) and its cells; of ranges only as much as a constant
 * has, where they are constants, and no register of cells that have none.
 */
struct nb_saved {
	uint32_t nframes;
	uint32_t nrefs;
	struct nb_held lock;
	struct nb_region region;
	struct nb_budget budget;
	uint64_t data[];
};

enum {
	REF_WORDS = (sizeof(struct nb_ref) + 7) / 8,
	FRAME_WORDS = (sizeof(struct saved_frame) + 7) / 8,
	REG_HEAD = offsetof(struct nb_reg, r) + sizeof(struct nb_tnum),
	REG_TAIL = sizeof(struct nb_reg) - REG_HEAD,
	CELL_HEAD = offsetof(struct nb_cell, reg)
};

_Static_assert(offsetof(struct nb_range, t) == 0, "known bits come first");
_Static_assert(!(REG_HEAD % 8) && !(REG_TAIL % 8) && !(CELL_HEAD % 8), "words");

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

void nb_frame_extend(struct nb_frame *f, uint32_t cell)
{
	if (cell < f->ncells)
		return;
	memset(&f->cells[f->ncells], 0,
	       (cell + 1 - f->ncells) * sizeof(f->cells[0]));
	f->ncells = cell + 1;
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
			if (!(live->regs[i] & 1u << r) &&
			    st->frames[i].regs[r].kind != NB_REG_UNINIT)
				memset(&st->frames[i].regs[r], 0,
				       sizeof(st->frames[i].regs[r]));
}

/* ---- storing ---- */

static size_t reg_words(const struct nb_reg *r)
{
	return (REG_HEAD + (r->r.t.mask ? REG_TAIL : 0)) / 8;
}

static uint64_t *put_reg(uint64_t *p, const struct nb_reg *r)
{
	memcpy(p, r, REG_HEAD);
	p += REG_HEAD / 8;
	if (!r->r.t.mask)
		return p;
	memcpy(p, (const char *)r + REG_HEAD, REG_TAIL);
	return p + REG_TAIL / 8;
}

static const uint64_t *get_reg(const uint64_t *p, struct nb_reg *r)
{
	memcpy(r, p, REG_HEAD);
	p += REG_HEAD / 8;
	if (!r->r.t.mask) {
		r->r = nb_range_const(r->r.t.value);
		return p;
	}
	memcpy((char *)r + REG_HEAD, p, REG_TAIL);
	return p + REG_TAIL / 8;
}

static bool has_reg(const struct nb_cell *c)
{
	return c->kind != NB_CELL_BYTES && c->kind != NB_CELL_SPILL8_HI;
}

static uint64_t *put_cell(uint64_t *p, const struct nb_cell *c)
{
	memcpy(p, c, CELL_HEAD);
	p += CELL_HEAD / 8;
	return has_reg(c) ? put_reg(p, &c->reg) : p;
}

static const uint64_t *get_cell(const uint64_t *p, struct nb_cell *c)
{
	memcpy(c, p, CELL_HEAD);
	p += CELL_HEAD / 8;
	if (has_reg(c))
		return get_reg(p, &c->reg);
	c->reg.kind = NB_REG_UNINIT;
	c->reg.label = NB_LABEL_COHERENT;
	c->reg.deps = 0;
	return p;
}

size_t nb_state_size(const struct nb_state *st, const struct nb_live *live)
{
	size_t words = st->nrefs * (size_t)REF_WORDS;

	for (uint32_t i = 0; i < st->nframes; i++) {
		const struct nb_frame *f = &st->frames[i];
		uint16_t keep = kept(f, live->regs[i]);

		for (unsigned r = 0; r < NB_R10; r++)
			if (keep & 1u << r)
				words += reg_words(&f->regs[r]);
		for (uint32_t c = 0; c < f->ncells; c++)
			words += CELL_HEAD / 8 +
				 (has_reg(&f->cells[c])
					  ? reg_words(&f->cells[c].reg)
					  : 0);
		words += FRAME_WORDS;
	}
	return sizeof(struct nb_saved) + words * 8;
}

static uint64_t *put_frame(uint64_t *p, const struct nb_frame *f, uint16_t live)
{
	struct saved_frame s = { .written = f->written,
				 .ret = f->ret,
				 .ncells = f->ncells,
				 .loop = f->loop,
				 .turns = f->turns,
				 .counted = f->counted,
				 .callback = f->callback,
				 .live = kept(f, live) };
	uint64_t *start = p;

	p += FRAME_WORDS;
	for (unsigned r = 0; r < NB_R10; r++)
		if (s.live & 1u << r)
			p = put_reg(p, &f->regs[r]);
	for (uint32_t c = 0; c < f->ncells; c++)
		p = put_cell(p, &f->cells[c]);
	s.words = (uint32_t)(p - start);
	memcpy(start, &s, sizeof(s));
	return p;
}

void nb_state_save(struct nb_saved *to, const struct nb_state *st,
		   const struct nb_live *live)
{
	uint64_t *p = to->data;

	to->nframes = st->nframes;
	to->nrefs = st->nrefs;
	to->lock = st->lock;
	to->region = st->region;
	to->budget = st->budget;
	for (uint32_t i = 0; i < st->nrefs; i++, p += REF_WORDS)
		memcpy(p, &st->refs[i], sizeof(st->refs[i]));
	for (uint32_t i = 0; i < st->nframes; i++)
		p = put_frame(p, &st->frames[i], live->regs[i]);
}

void nb_state_note_read(struct nb_saved *saved, const struct nb_cells *read)
{
	uint64_t *p = saved->data + saved->nrefs * (size_t)REF_WORDS;

	for (uint32_t i = 0; i < saved->nframes; i++) {
		struct saved_frame s;

		memcpy(&s, p, sizeof(s));
		s.read = read[i];
		memcpy(p, &s, sizeof(s));
		p += s.words;
	}
}

/* ---- keys ---- */

enum { KEY_BITS = 6 };

static uint64_t key_of(const struct nb_reg *r, unsigned number)
{
	const uint64_t spread = 0x9e3779b97f4a7c15; /* 2^64 / golden ratio */

	return (r->r.t.value * spread) >> (64 - KEY_BITS) << number * KEY_BITS;
}

static bool is_fixed(const struct nb_reg *r)
{
	return r->kind != NB_REG_UNINIT && !r->r.t.mask;
}

uint64_t nb_state_key(const struct nb_state *st)
{
	const struct nb_reg *regs = st->frames[st->nframes - 1].regs;
	uint64_t key = 0;

	for (unsigned r = 0; r < NB_R10; r++)
		if (is_fixed(&regs[r]))
			key |= key_of(&regs[r], r);
	return key;
}

/* The registers of the top frame, which @s describes. */
static const uint64_t *top_regs(const struct nb_saved *saved,
				struct saved_frame *s)
{
	const uint64_t *p = saved->data + saved->nrefs * (size_t)REF_WORDS;

	for (uint32_t i = 0; i + 1 < saved->nframes; i++) {
		memcpy(s, p, sizeof(*s));
		p += s->words;
	}
	memcpy(s, p, sizeof(*s));
	return p + FRAME_WORDS;
}

int nb_saved_change(const struct nb_saved *old, const struct nb_saved *now,
		    struct nb_reg *was, struct nb_reg *is)
{
	struct saved_frame a, b;
	const uint64_t *p = top_regs(old, &a), *q = top_regs(now, &b);

	for (unsigned r = 0; r < NB_R10; r++) {
		if (a.live & 1u << r)
			p = get_reg(p, was);
		if (b.live & 1u << r)
			q = get_reg(q, is);
		if (a.live & b.live & 1u << r &&
		    (was->kind != is->kind || !nb_range_equal(&was->r, &is->r)))
			return (int)r;
	}
	return -1;
}

struct nb_key nb_saved_key(const struct nb_saved *saved, uint64_t precise)
{
	struct nb_key key = { 0, 0 };
	struct saved_frame s;
	const uint64_t *p = top_regs(saved, &s);
	struct nb_reg reg;

	for (unsigned r = 0; r < NB_R10; r++) {
		if (!(s.live & 1u << r))
			continue;
		p = get_reg(p, &reg);
		if (!is_fixed(&reg) || (reg.deps && !(reg.deps & precise)))
			continue;
		key.value |= key_of(&reg, r);
		key.mask |= nb_ones(KEY_BITS) << r * KEY_BITS;
	}
	return key;
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
	st->nrefs = from->nrefs;
	st->lock = from->lock;
	st->region = from->region;
	st->budget = from->budget;
	for (uint32_t i = 0; i < from->nrefs; i++, p += REF_WORDS)
		memcpy(&st->refs[i], p, sizeof(st->refs[i]));
	for (uint32_t i = 0; i < from->nframes; i++) {
		struct nb_frame *f = &st->frames[i];
		struct saved_frame s;

		memcpy(&s, p, sizeof(s));
		p += FRAME_WORDS;
		f->ret = s.ret;
		f->ncells = s.ncells;
		f->written = s.written;
		f->loop = s.loop;
		f->turns = s.turns;
		f->counted = s.counted;
		f->callback = s.callback;
		for (unsigned r = 0; r < NB_R10; r++) {
			if (s.live & 1u << r)
				p = get_reg(p, &f->regs[r]);
			else
				memset(&f->regs[r], 0, sizeof(f->regs[r]));
		}
		f->regs[NB_R10] = frame_pointer(i);
		for (uint32_t c = 0; c < s.ncells; c++)
			p = get_cell(p, &f->cells[c]);
	}
}

/* ---- comparing ---- */

/*
 * Which id of the newer state an id of the stored one stands for, and how
 * their deltas differ. More links in the newer state only mean fewer
 * behaviours, so two stored ids may stand for the same newer one.
 */
enum { NIDS = NB_MAX_FRAMES * (NB_NREGS + 8), NREFIDS = 2 * NB_MAX_REFS };

struct ids {
	uint32_t n, nrefs;
	bool exact;
	struct nb_inside *in;
	struct {
		uint32_t old, now;
		int64_t shift;
	} pair[NIDS];
	struct {
		uint32_t old, now;
	} ref[NREFIDS];
};

/*
 * References stand for each other one to one: giving one back in the newer
 * state must not take away what the stored one still has.
 */
static bool same_ref(struct ids *ids, uint32_t old, uint32_t now)
{
	if (!old || !now)
		return old == now;
	for (uint32_t i = 0; i < ids->nrefs; i++)
		if (ids->ref[i].old == old || ids->ref[i].now == now)
			return ids->ref[i].old == old && ids->ref[i].now == now;
	if (ids->nrefs == NREFIDS)
		return false;
	ids->ref[ids->nrefs].old = old;
	ids->ref[ids->nrefs].now = now;
	ids->nrefs++;
	return true;
}

static bool same_id(struct ids *ids, const struct nb_reg *old,
		    const struct nb_reg *now)
{
	int64_t shift = (int64_t)now->delta - old->delta;

	/* Without an id a value is another one than any with an id. */
	if (nb_reg_is_pointer(old) && !old->id != !now->id)
		return false;
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
	if (old->deps && !(old->deps & ids->in->precise) && !ids->in->all)
		return true; /* nothing was concluded from its value */
	ids->in->deps |= now->deps;
	if (nb_reg_is_pointer(old) && !same_ref(ids, old->ref, now->ref))
		return false;
	return nb_range_within(&now->r, &old->r) && same_id(ids, old, now);
}

static bool same_reg(struct ids *ids, const struct nb_reg *old,
		     const struct nb_reg *now)
{
	return old->kind == now->kind && old->label == now->label &&
	       old->frame == now->frame && old->map == now->map &&
	       (old->kind == NB_REG_SCALAR ||
		same_ref(ids, old->ref, now->ref)) &&
	       nb_range_equal(&old->r, &now->r) && same_id(ids, old, now);
}

static bool same_object(struct ids *ids, const struct nb_cell *old,
			const struct nb_cell *now)
{
	return old->kind == now->kind &&
	       (old->kind == NB_CELL_OBJECT_HI ||
		(old->reg.map == now->reg.map &&
		 old->reg.align == now->reg.align &&
		 old->reg.delta == now->reg.delta &&
		 old->reg.id == now->reg.id && old->local >= now->local &&
		 nb_range_within(&now->reg.r, &old->reg.r) &&
		 same_ref(ids, old->reg.ref, now->reg.ref)));
}

/* Every byte of a spilled scalar is data; its known bits say which are 0. */
static uint8_t zero_bytes(const struct nb_cell *c, const struct nb_cell *low)
{
	const struct nb_reg *r;
	unsigned at = 0;
	uint8_t zero = 0;

	unsigned narrow = nb_cell_narrow(c);

	if (c->kind == NB_CELL_BYTES)
		return c->zero;
	if (narrow)
		zero = c->zero;
	r = c->kind == NB_CELL_SPILL8_HI ? &low->reg : &c->reg;
	if (c->kind == NB_CELL_SPILL8_HI)
		at = 32;
	if (r->kind != NB_REG_SCALAR)
		return 0;
	for (unsigned i = 0; i < (narrow ? narrow : 4); i++)
		if (!((r->r.t.value | r->r.t.mask) >> (at + i * 8) & 0xff))
			zero |= (uint8_t)(1u << i);
	return zero;
}

/* The number in the beginning of @c: any, and linked to none? */
static bool narrow_is_any(const struct nb_cell *c)
{
	uint32_t size = nb_cell_narrow(c);
	struct nb_range any = nb_range_u(0, size == 1 ? 0xff : 0xffff);

	return c->reg.kind == NB_REG_SCALAR && !c->reg.id &&
	       nb_range_equal(&any, &c->reg.r);
}

static bool holds_pointer(const struct nb_cell *c, const struct nb_cell *low)
{
	if (c->kind == NB_CELL_SPILL8_HI)
		c = low;
	return c->kind == NB_CELL_SPILL8 && nb_reg_is_pointer(&c->reg);
}

/* What is known of the bytes of @c came from there. */
static uint64_t cell_deps(const struct nb_cell *c, const struct nb_cell *low)
{
	if (c->kind == NB_CELL_SPILL8_HI)
		return low->reg.deps;
	return has_reg(c) ? c->reg.deps : 0;
}

static bool covers_cell(struct ids *ids, const struct nb_cell *old,
			const struct nb_cell *now, const struct nb_cell *low)
{
	if (nb_cell_is_object(old) || nb_cell_is_object(now))
		return same_object(ids, old, now);
	if (!old->init)
		return true; /* the explored part never read it */
	if (old->init & ~now->init || now->local & ~old->local & old->init)
		return false;
	if (nb_cell_narrow(old)) {
		if (old->kind == now->kind
			    ? !covers_reg(ids, &old->reg, &now->reg)
			    : !narrow_is_any(old))
			return false;
	} else if (old->kind != NB_CELL_BYTES) {
		return old->kind == now->kind &&
		       (old->kind == NB_CELL_SPILL8_HI ||
			covers_reg(ids, &old->reg, &now->reg));
	}
	if (old->zero)
		ids->in->deps |= cell_deps(now, low);
	return !holds_pointer(now, low) && !(old->zero & ~zero_bytes(now, low));
}

static bool is_data(const struct nb_cell *c)
{
	return c->kind == NB_CELL_BYTES || nb_cell_narrow(c) ||
	       c->kind == NB_CELL_SPILL4 || c->kind == NB_CELL_SPILL8 ||
	       c->kind == NB_CELL_SPILL8_HI;
}

/* Does cell @c of a stored frame count? Halves of a spill go together. */
static bool counts(struct ids *ids, const struct saved_frame *s, uint32_t frame,
		   uint32_t c, const struct nb_cell *old,
		   const struct nb_cell *now)
{
	bool yes = ids->exact || ids->in->all || nb_cells_has(&s->read, c) ||
		   !is_data(old) || !is_data(now);

	if (old->kind == NB_CELL_SPILL8_HI && c + 1 < NB_NCELLS)
		yes |= nb_cells_has(&s->read, c + 1);
	if (old->kind == NB_CELL_SPILL8 && c)
		yes |= nb_cells_has(&s->read, c - 1);
	if (yes && !ids->exact)
		nb_cells_add(&ids->in->cells[frame], c);
	return yes;
}

static bool same_cell(struct ids *ids, const struct nb_cell *old,
		      const struct nb_cell *now)
{
	if (nb_cell_is_object(old) || nb_cell_is_object(now))
		return same_object(ids, old, now);
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

/* Cells of the newer frame that the stored one does not have. */
static bool compare_rest(const struct saved_frame *s, const struct nb_frame *f)
{
	for (uint32_t c = s->ncells; c < f->ncells; c++)
		if (!is_data(&f->cells[c]))
			return false;
	return true;
}

static bool compare_frame(struct ids *ids, const uint64_t **data,
			  const struct nb_state *st, uint32_t frame,
			  uint16_t live)
{
	const struct nb_frame *f = &st->frames[frame];
	const uint64_t *p = *data + FRAME_WORDS;
	const struct nb_cell none = { 0 };
	struct saved_frame s;
	struct nb_cell cell;

	memcpy(&s, *data, sizeof(s));
	*data += s.words;
	ids->in->size += s.words * sizeof(**data);
	if (!same_place(&s, f) ||
	    (ids->exact && (s.live != kept(f, live) || s.ncells != f->ncells)))
		return false;
	for (unsigned r = 0; r < NB_R10; r++) {
		if (!(s.live & 1u << r))
			continue;
		p = get_reg(p, &cell.reg);
		if (!(ids->exact ? same_reg : covers_reg)(ids, &cell.reg,
							  &f->regs[r]))
			return false;
	}
	for (uint32_t c = 0; c < s.ncells; c++) {
		const struct nb_cell *now =
			c < f->ncells ? &f->cells[c] : &none;
		const struct nb_cell *low =
			c + 1 < f->ncells ? &f->cells[c + 1] : &none;

		p = get_cell(p, &cell);
		if (!counts(ids, &s, frame, c, &cell, now))
			continue;
		if (ids->exact ? !same_cell(ids, &cell, now)
			       : !covers_cell(ids, &cell, now, low))
			return false;
	}
	return ids->exact || compare_rest(&s, f);
}

/* The same things held, and the same lock. */
static bool compare_held(struct ids *ids, const struct nb_saved *old,
			 const uint64_t **data, const struct nb_state *st)
{
	const struct nb_held *l = &old->lock;
	struct nb_reg was = nb_reg_pointer(NB_REG_VALUE), is = was;
	struct nb_ref ref;

	if (old->nrefs != st->nrefs || l->held != st->lock.held)
		return false;
	for (uint32_t i = 0; i < st->nrefs; i++, *data += REF_WORDS) {
		memcpy(&ref, *data, sizeof(ref));
		if (ref.kind != st->refs[i].kind ||
		    ref.frame != st->refs[i].frame ||
		    /* when one iterator ends, says nothing of another */
		    (ref.kind == NB_REF_ITER && ref.id != st->refs[i].id) ||
		    !same_ref(ids, ref.id, st->refs[i].id))
			return false;
	}
	was.id = l->id;
	is.id = st->lock.id;
	return !l->held || (l->map == st->lock.map && same_id(ids, &was, &is));
}

static bool compare(const struct nb_saved *old, const struct nb_state *st,
		    const struct nb_live *live, struct nb_inside *in,
		    bool exact)
{
	const uint64_t *p = old->data;
	struct ids ids;

	in->size = 0;
	ids.n = ids.nrefs = 0;
	ids.exact = exact;
	ids.in = in;
	if (old->nframes != st->nframes ||
	    !nb_budget_covers(&old->budget, &st->budget) ||
	    !covers_region(&old->region, &st->region))
		return false;
	if (ids.exact && (old->budget.local != st->budget.local ||
			  old->region.open != st->region.open))
		return false;
	if (!compare_held(&ids, old, &p, st))
		return false;
	for (uint32_t i = 0; i < st->nframes; i++)
		if (!compare_frame(&ids, &p, st, i, live->regs[i]))
			return false;
	return true;
}

bool nb_state_covers(const struct nb_saved *old, const struct nb_state *st,
		     const struct nb_live *live, struct nb_inside *in)
{
	in->deps = 0;
	memset(in->cells, 0, st->nframes * sizeof(in->cells[0]));
	return compare(old, st, live, in, false);
}

bool nb_state_same(const struct nb_saved *old, const struct nb_state *st,
		   const struct nb_live *live, struct nb_inside *in)
{
	return compare(old, st, live, in, true);
}

/* ---- widening ---- */

struct widening {
	struct ids ids;
	const struct nb_steps *steps; /* NULL: join only */
};

static int64_t step_up(const struct nb_steps *s, int64_t v)
{
	for (uint32_t i = 0; s && i < s->n; i++)
		if (s->at[i] >= v)
			return s->at[i];
	return s ? INT64_MAX : v;
}

static int64_t step_down(const struct nb_steps *s, int64_t v)
{
	for (uint32_t i = s ? s->n : 0; i-- > 0;)
		if (s->at[i] <= v)
			return s->at[i];
	return s ? INT64_MIN : v;
}

static void drop_link(struct nb_reg *r)
{
	r->id = 0;
	r->delta = 0;
}

/* The low bits that every member of @r agrees on: the stride of a loop. */
static struct nb_tnum low_bits(const struct nb_range *r)
{
	uint64_t low = r->t.mask ? (r->t.mask & -r->t.mask) - 1 : UINT64_MAX;

	return (struct nb_tnum){ r->t.value & low, ~low };
}

static struct nb_range grow(const struct nb_range *now,
			    const struct nb_range *old,
			    const struct nb_steps *steps)
{
	struct nb_range r = nb_range_join(now, old), stride, wide;
	int64_t lo = r.smin, hi = r.smax;

	if (!steps)
		return r;
	stride = nb_range_t(low_bits(&r));
	if (lo < old->smin)
		lo = step_down(steps, lo);
	if (hi > old->smax)
		hi = step_up(steps, hi);
	wide = nb_range_s(lo, hi);
	return nb_range_meet(&r, &wide, &stride) ? r : wide;
}

/*
 * A bound that moved goes to the next step. A link whose distance moved goes:
 * the distance of a start value to a running counter never comes to rest. The
 * state only ever grows, so what the walk proves of it holds for what was.
 */
static void widen_reg(struct widening *w, struct nb_reg *now,
		      const struct nb_reg *old)
{
	if (now->kind != NB_REG_SCALAR || old->kind != NB_REG_SCALAR)
		return;
	if (nb_range_within(&now->r, &old->r)) {
		if (old->id && !same_id(&w->ids, old, now))
			drop_link(now);
		return;
	}
	now->r = grow(&now->r, &old->r, w->steps);
	/* Links to other values do not survive growing by itself. */
	drop_link(now);
	if (old->label > now->label)
		now->label = old->label;
}

/* A number spilled in a cell is no larger than the cell's bytes. */
static void widen_cell(struct widening *w, struct nb_cell *now,
		       const struct nb_cell *old)
{
	uint32_t size = now->kind == NB_CELL_SPILL4 ? 4 : nb_cell_narrow(now);
	uint64_t most = size ? nb_ones(size * 8) : UINT64_MAX;

	if (old->kind != now->kind || (!size && now->kind != NB_CELL_SPILL8))
		return;
	widen_reg(w, &now->reg, &old->reg);
	if (size && now->reg.r.umax > most)
		now->reg.r = nb_range_u(0, most);
}

void nb_state_widen(struct nb_state *st, const struct nb_saved *old,
		    const struct nb_live *live, const struct nb_steps *steps)
{
	struct widening w = { .steps = steps };
	const uint64_t *p = old->data;
	struct nb_cell cell;

	if (old->nframes != st->nframes)
		return;
	p += old->nrefs * (size_t)REF_WORDS;
	for (uint32_t i = 0; i < st->nframes; i++) {
		struct nb_frame *f = &st->frames[i];
		struct saved_frame sf;

		memcpy(&sf, p, sizeof(sf));
		p += FRAME_WORDS;
		for (unsigned r = 0; r < NB_R10; r++) {
			if (!(sf.live & 1u << r))
				continue;
			p = get_reg(p, &cell.reg);
			if (live->regs[i] & 1u << r)
				widen_reg(&w, &f->regs[r], &cell.reg);
		}
		for (uint32_t c = 0; c < sf.ncells; c++) {
			p = get_cell(p, &cell);
			if (c < f->ncells)
				widen_cell(&w, &f->cells[c], &cell);
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
			    f->cells[c].kind == NB_CELL_SPILL8 ||
			    nb_cell_narrow(&f->cells[c]))
				fn(arg, &f->cells[c].reg);
	}
}
