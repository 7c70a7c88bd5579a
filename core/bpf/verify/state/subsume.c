// SPDX-License-Identifier: MIT
/* Decide whether a saved state subsumes the current one. Each value of the
 * current state, and each link between values, has to be included in the
 * saved one. Comparisons cover all values or only the precise ones
 * (precision.c). */
#include "core/bpf/verify/state/subsume.h"

#include "core/bpf/verify/state/budget.h"
#include "core/bpf/verify/state/links.h"
#include "core/bpf/verify/state/saved_format.h"

enum { NREFIDS = 2 * NB_MAX_REFS };

/* Pairs of identities: one of the saved state and its counterpart in the
 * current state. */
struct ids {
	struct nb_subsume *in;
	struct nb_links links;
	uint32_t nrefs;
	struct {
		uint32_t old, now;
	} ref[NREFIDS];
};

/* References correspond one to one. Otherwise a release of one reference in
 * the current state could stand for the release of another in the saved
 * state. */
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

static bool same_id(struct ids *ids, const struct nb_reg *old, const struct nb_reg *now)
{
	return nb_links_match(&ids->links, old, now, ids->in->equal);
}

static bool reg_fits(struct ids *ids, const struct nb_reg *old, const struct nb_reg *now)
{
	bool equal = ids->in->equal;

	if (old->kind == NB_REG_UNINIT && !equal)
		return true;
	if (old->kind != now->kind || old->frame != now->frame || old->map != now->map ||
	    (equal ? old->label != now->label : old->label < now->label))
		return false;
	if (old->deps && !(old->deps & ids->in->precise) && !ids->in->all)
		return true;
	ids->in->deps |= now->deps;
	if (nb_reg_is_pointer(old) && !same_ref(ids, old->ref, now->ref))
		return false;
	return (equal ? nb_range_equal : nb_range_within)(&now->r, &old->r) &&
	       same_id(ids, old, now);
}

/* The end of an iterator (@reg.id) belongs to its reference, which held_fits
 * compares. */
static bool object_fits(struct ids *ids, const struct nb_cell *old, const struct nb_cell *now)
{
	return old->kind == now->kind &&
	       (old->kind == NB_CELL_OBJECT_HI ||
		(old->reg.delta == now->reg.delta && old->local >= now->local &&
		 nb_range_within(&now->reg.r, &old->reg.r) &&
		 same_ref(ids, old->reg.ref, now->reg.ref)));
}

/* Return the mask of bytes of @c known to be 0. @low is the cell below,
 * which describes the spill if @c is its high half. */
static uint8_t zero_bytes(const struct nb_cell *c, const struct nb_cell *low)
{
	bool high = c->kind == NB_CELL_SPILL8_HI;
	const struct nb_reg *r = high ? &low->reg : &c->reg;
	unsigned narrow = nb_cell_narrow(c), at = high ? 32 : 0;
	uint8_t zero = narrow ? c->zero : 0;

	if (c->kind == NB_CELL_BYTES)
		return c->zero;
	if (r->kind != NB_REG_SCALAR)
		return 0;
	for (unsigned i = 0; i < (narrow ? narrow : 4); i++)
		if (!((r->r.t.value | r->r.t.mask) >> (at + i * 8) & 0xff))
			zero |= (uint8_t)(1u << i);
	return zero;
}

/* Is nothing known about the 1 or 2 bytes spilled at the start of @c? */
static bool narrow_is_any(const struct nb_cell *c)
{
	uint32_t size = nb_cell_narrow(c);
	struct nb_range any = nb_range_u(0, size == 1 ? 0xff : 0xffff);

	return c->reg.kind == NB_REG_SCALAR && !c->reg.id && nb_range_equal(&any, &c->reg.r);
}

static bool holds_pointer(const struct nb_cell *c, const struct nb_cell *low)
{
	if (c->kind == NB_CELL_SPILL8_HI)
		c = low;
	return c->kind == NB_CELL_SPILL8 && nb_reg_is_pointer(&c->reg);
}

static uint64_t cell_deps(const struct nb_cell *c, const struct nb_cell *low)
{
	if (c->kind == NB_CELL_SPILL8_HI)
		return low->reg.deps;
	return nb_cell_has_reg(c) ? c->reg.deps : 0;
}

static bool cell_fits(struct ids *ids, const struct nb_cell *old, const struct nb_cell *now,
		      const struct nb_cell *low)
{
	if (nb_cell_is_object(old) || nb_cell_is_object(now))
		return object_fits(ids, old, now);
	if (ids->in->equal && (old->kind != now->kind || old->init != now->init ||
			       old->zero != now->zero || old->local != now->local))
		return false;
	if (!old->init)
		return true; /* No code read the cell after @old. */
	if (old->init & ~now->init || now->local & ~old->local & old->init)
		return false;
	if (nb_cell_narrow(old)) {
		if (old->kind == now->kind ? !reg_fits(ids, &old->reg, &now->reg)
					   : !narrow_is_any(old))
			return false;
	} else if (old->kind != NB_CELL_BYTES) {
		return old->kind == now->kind &&
		       (old->kind == NB_CELL_SPILL8_HI || reg_fits(ids, &old->reg, &now->reg));
	}
	if (old->zero)
		ids->in->deps |= cell_deps(now, low);
	return !holds_pointer(now, low) && !(old->zero & ~zero_bytes(now, low));
}

static bool is_data(const struct nb_cell *c)
{
	return c->kind == NB_CELL_BYTES || nb_cell_narrow(c) || c->kind == NB_CELL_SPILL4 ||
	       c->kind == NB_CELL_SPILL8 || c->kind == NB_CELL_SPILL8_HI;
}

/*
 * Must cell @c be compared? If it is half of a spill, both halves are compared
 * together.
 */
static bool cell_counts(struct ids *ids, const struct nb_saved_frame *s, uint32_t frame, uint32_t c,
			const struct nb_cell *old, const struct nb_cell *now)
{
	bool equal = ids->in->equal;
	bool yes = equal || ids->in->all || nb_cells_has(&s->read, c) || !is_data(old) ||
		   !is_data(now);

	if (old->kind == NB_CELL_SPILL8_HI && c + 1 < NB_NCELLS)
		yes |= nb_cells_has(&s->read, c + 1);
	if (old->kind == NB_CELL_SPILL8 && c)
		yes |= nb_cells_has(&s->read, c - 1);
	if (yes && !equal)
		nb_cells_add(&ids->in->cells[frame], c);
	return yes;
}

/*
 * Did the same slot call the same function, within the same call of a
 * helper that calls back? A state within another helper call says nothing about
 * when this call ends (callback.c).
 */
static bool same_call(const struct nb_saved_frame *s, const struct nb_frame *f)
{
	return s->ret == f->ret && s->callback == f->callback && s->loop == f->loop &&
	       s->counted == f->counted && (!f->counted || s->invocations == f->invocations);
}

/* Objects must not lie in cells that the saved frame does not have. */
static bool rest_fits(const struct nb_saved_frame *s, const struct nb_frame *f)
{
	for (uint32_t c = s->ncells; c < f->ncells; c++)
		if (!is_data(&f->cells[c]))
			return false;
	return true;
}

static bool frame_fits(struct ids *ids, const uint64_t **data, const struct nb_state *st,
		       uint32_t frame, uint16_t live)
{
	const struct nb_frame *f = &st->frames[frame];
	const struct nb_cell none = { 0 };
	struct nb_saved_frame s;
	const uint64_t *p = nb_saved_frame(*data, &s);
	struct nb_cell cell;

	*data += s.words;
	ids->in->size += s.words * sizeof(**data);
	if (!same_call(&s, f) ||
	    (ids->in->equal && (s.live != nb_saved_regs(f, live) || s.ncells != f->ncells)))
		return false;
	for (unsigned r = 0; r < NB_R10; r++) {
		if (!(s.live & 1u << r))
			continue;
		p = nb_saved_reg(p, &cell.reg);
		if (!reg_fits(ids, &cell.reg, &f->regs[r]))
			return false;
	}
	for (uint32_t c = 0; c < s.ncells; c++) {
		const struct nb_cell *now = c < f->ncells ? &f->cells[c] : &none;
		const struct nb_cell *low = c + 1 < f->ncells ? &f->cells[c + 1] : &none;

		p = nb_saved_cell(p, &cell);
		if (cell_counts(ids, &s, frame, c, &cell, now) && !cell_fits(ids, &cell, now, low))
			return false;
	}
	return rest_fits(&s, f);
}

/* Do the two states hold the same references? */
static bool held_fits(struct ids *ids, const struct nb_saved *old, const struct nb_state *st)
{
	const uint64_t *p = old->data;
	struct nb_ref ref;

	if (old->nrefs != st->nrefs)
		return false;
	for (uint32_t i = 0; i < old->nrefs; i++, p += NB_REF_WORDS) {
		memcpy(&ref, p, sizeof(ref));
		if (ref.kind != st->refs[i].kind || ref.frame != st->refs[i].frame ||
		    /* each iterator ends on its own, so its id must be the same */
		    (ref.kind == NB_REF_ITER && ref.id != st->refs[i].id) ||
		    !same_ref(ids, ref.id, st->refs[i].id))
			return false;
	}
	return true;
}

/* A region of local control only forbids more, so a saved state with a
 * region subsumes a state without one. */
static bool region_fits(const struct nb_subsume *in, const struct nb_region *old,
			const struct nb_region *now)
{
	if (!now->open)
		return !in->equal || !old->open;
	return old->open && old->frame == now->frame && old->end == now->end && old->pc == now->pc;
}

bool nb_state_subsumes(const struct nb_saved *old, const struct nb_state *st,
		       const struct nb_live *live, struct nb_subsume *in)
{
	const uint64_t *p = nb_saved_frames(old);
	struct ids ids;

	in->size = 0;
	in->deps = 0;
	memset(in->cells, 0, st->nframes * sizeof(in->cells[0]));
	ids.links.n = ids.nrefs = 0;
	ids.in = in;
	if (old->nframes != st->nframes || !nb_budget_covers(&old->budget, &st->budget) ||
	    (in->equal && old->budget.local != st->budget.local) ||
	    !region_fits(in, &old->region, &st->region) || !held_fits(&ids, old, st))
		return false;
	for (uint32_t i = 0; i < st->nframes; i++)
		if (!frame_fits(&ids, &p, st, i, live->regs[i]))
			return false;
	return true;
}
