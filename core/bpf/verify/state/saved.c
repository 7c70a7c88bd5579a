// SPDX-License-Identifier: MIT
/* Save and restore states, and compute keys for a first comparison. A saved
 * state keeps only the values that later code can read, so comparisons stay
 * cheap. */
#include "core/bpf/verify/state/saved.h"

#include "core/bpf/verify/state/saved_format.h"

void nb_state_forget(struct nb_state *st, const struct nb_live *live)
{
	for (uint32_t i = 0; i < st->nframes; i++)
		for (unsigned r = 0; r < NB_R10; r++)
			if (!(live->regs[i] & 1u << r) &&
			    st->frames[i].regs[r].kind != NB_REG_UNINIT)
				memset(&st->frames[i].regs[r], 0, sizeof(st->frames[i].regs[r]));
}

static size_t reg_words(const struct nb_reg *r)
{
	return (NB_REG_HEAD + (r->r.t.mask ? NB_REG_TAIL : 0)) / 8;
}

size_t nb_state_size(const struct nb_state *st, const struct nb_live *live)
{
	size_t words = st->nrefs * (size_t)NB_REF_WORDS;

	for (uint32_t i = 0; i < st->nframes; i++) {
		const struct nb_frame *f = &st->frames[i];
		uint16_t keep = nb_saved_regs(f, live->regs[i]);

		words += NB_FRAME_WORDS + f->ncells * (NB_CELL_HEAD / 8);
		for (unsigned r = 0; r < NB_R10; r++)
			if (keep & 1u << r)
				words += reg_words(&f->regs[r]);
		for (uint32_t c = 0; c < f->ncells; c++)
			if (nb_cell_has_reg(&f->cells[c]))
				words += reg_words(&f->cells[c].reg);
	}
	return sizeof(struct nb_saved) + words * 8;
}

static uint64_t *put_reg(uint64_t *p, const struct nb_reg *r)
{
	memcpy(p, r, NB_REG_HEAD);
	p += NB_REG_HEAD / 8;
	if (!r->r.t.mask)
		return p;
	memcpy(p, (const char *)r + NB_REG_HEAD, NB_REG_TAIL);
	return p + NB_REG_TAIL / 8;
}

static uint64_t *put_cell(uint64_t *p, const struct nb_cell *c)
{
	memcpy(p, c, NB_CELL_HEAD);
	p += NB_CELL_HEAD / 8;
	return nb_cell_has_reg(c) ? put_reg(p, &c->reg) : p;
}

static uint64_t *put_frame(uint64_t *p, const struct nb_frame *f, uint16_t live)
{
	struct nb_saved_frame s = { .written = f->written,
				    .ret = f->ret,
				    .ncells = f->ncells,
				    .loop = f->loop,
				    .invocations = f->invocations,
				    .counted = f->counted,
				    .callback = f->callback,
				    .live = nb_saved_regs(f, live) };
	uint64_t *start = p;

	p += NB_FRAME_WORDS;
	for (unsigned r = 0; r < NB_R10; r++)
		if (s.live & 1u << r)
			p = put_reg(p, &f->regs[r]);
	for (uint32_t c = 0; c < f->ncells; c++)
		p = put_cell(p, &f->cells[c]);
	s.words = (uint32_t)(p - start);
	memcpy(start, &s, sizeof(s));
	return p;
}

void nb_state_save(struct nb_saved *to, const struct nb_state *st, const struct nb_live *live)
{
	uint64_t *p = to->data;

	to->nframes = st->nframes;
	to->nrefs = st->nrefs;
	to->region = st->region;
	to->budget = st->budget;
	for (uint32_t i = 0; i < st->nrefs; i++, p += NB_REF_WORDS)
		memcpy(p, &st->refs[i], sizeof(st->refs[i]));
	for (uint32_t i = 0; i < st->nframes; i++)
		p = put_frame(p, &st->frames[i], live->regs[i]);
}

static const uint64_t *get_frame(const uint64_t *p, struct nb_frame *f, uint32_t number)
{
	struct nb_saved_frame s;

	p = nb_saved_frame(p, &s);
	f->ret = s.ret;
	f->ncells = s.ncells;
	f->written = s.written;
	f->loop = s.loop;
	f->invocations = s.invocations;
	f->counted = s.counted;
	f->callback = s.callback;
	for (unsigned r = 0; r < NB_R10; r++) {
		if (s.live & 1u << r)
			p = nb_saved_reg(p, &f->regs[r]);
		else
			memset(&f->regs[r], 0, sizeof(f->regs[r]));
	}
	f->regs[NB_R10] = nb_reg_pointer(NB_REG_STACK);
	f->regs[NB_R10].frame = (uint8_t)number;
	for (uint32_t c = 0; c < s.ncells; c++)
		p = nb_saved_cell(p, &f->cells[c]);
	return p;
}

void nb_state_restore(struct nb_state *st, const struct nb_saved *from)
{
	const uint64_t *p = from->data;

	st->nframes = from->nframes;
	st->nrefs = from->nrefs;
	st->region = from->region;
	st->budget = from->budget;
	for (uint32_t i = 0; i < from->nrefs; i++, p += NB_REF_WORDS)
		memcpy(&st->refs[i], p, sizeof(st->refs[i]));
	for (uint32_t i = 0; i < from->nframes; i++)
		p = get_frame(p, &st->frames[i], i);
}

void nb_state_note_read(struct nb_saved *saved, const struct nb_cells *read)
{
	uint64_t *p = saved->data + saved->nrefs * (size_t)NB_REF_WORDS;
	struct nb_saved_frame s;

	for (uint32_t i = 0; i < saved->nframes; i++, p += s.words) {
		memcpy(&s, p, sizeof(s));
		s.read = read[i];
		memcpy(p, &s, sizeof(s));
	}
}

enum { KEY_BITS = 6 };

static uint64_t key_of(const struct nb_reg *r, unsigned number)
{
	/* 2^64 divided by the golden ratio */
	const uint64_t spread = 0x9e3779b97f4a7c15;

	return (r->r.t.value * spread) >> (64 - KEY_BITS) << number * KEY_BITS;
}

static bool reg_is_fixed(const struct nb_reg *r)
{
	return r->kind != NB_REG_UNINIT && !r->r.t.mask;
}

uint64_t nb_state_key(const struct nb_state *st)
{
	const struct nb_reg *regs = st->frames[st->nframes - 1].regs;
	uint64_t key = 0;

	for (unsigned r = 0; r < NB_R10; r++)
		if (reg_is_fixed(&regs[r]))
			key |= key_of(&regs[r], r);
	return key;
}

/* Return the registers of the top frame; *@s gets the header of that frame. */
static const uint64_t *top_regs(const struct nb_saved *saved, struct nb_saved_frame *s)
{
	const uint64_t *p = nb_saved_frames(saved);

	for (uint32_t i = 0; i + 1 < saved->nframes; i++) {
		nb_saved_frame(p, s);
		p += s->words;
	}
	return nb_saved_frame(p, s);
}

struct nb_key nb_saved_key(const struct nb_saved *saved, uint64_t precise)
{
	struct nb_key key = { 0, 0 };
	struct nb_saved_frame s;
	const uint64_t *p = top_regs(saved, &s);
	struct nb_reg reg;

	for (unsigned r = 0; r < NB_R10; r++) {
		if (!(s.live & 1u << r))
			continue;
		p = nb_saved_reg(p, &reg);
		if (!reg_is_fixed(&reg) || (reg.deps && !(reg.deps & precise)))
			continue;
		key.value |= key_of(&reg, r);
		key.mask |= nb_ones(KEY_BITS) << r * KEY_BITS;
	}
	return key;
}

int nb_saved_change(const struct nb_saved *old, const struct nb_saved *now, struct nb_reg *was,
		    struct nb_reg *is)
{
	struct nb_saved_frame a, b;
	const uint64_t *p = top_regs(old, &a), *q = top_regs(now, &b);

	for (unsigned r = 0; r < NB_R10; r++) {
		if (a.live & 1u << r)
			p = nb_saved_reg(p, was);
		if (b.live & 1u << r)
			q = nb_saved_reg(q, is);
		if (a.live & b.live & 1u << r &&
		    (was->kind != is->kind || !nb_range_equal(&was->r, &is->r)))
			return (int)r;
	}
	return -1;
}
