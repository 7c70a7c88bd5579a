// SPDX-License-Identifier: MIT
/* Widening: scalars grow from one iteration of a loop to the next until the
 * state of one iteration subsumes the next. They grow to bounds that the
 * program names. */
#include "core/bpf/verify/state/widen.h"

#include <stdlib.h>

#include "core/bpf/verify/state/links.h"
#include "core/bpf/verify/state/saved_format.h"

static int compare_steps(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void add_step(struct nb_steps *s, int64_t v)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->at[i] == v)
			return;
	if (s->n < NB_MAX_STEPS)
		s->at[s->n++] = v;
}

/* Add the bounds that an instruction names. With @first, add those of
 * jumps, masks and remainders, where loops most often end or wrap;
 * otherwise add other constants. */
static void add_insn(struct nb_steps *s, const struct nb_insn *insn, bool first)
{
	bool alu = insn->kind == NB_KIND_ALU;
	bool number = nb_insn_copies(insn) || (insn->kind == NB_KIND_LDDW && insn->fn == NB_FN_IMM);

	if (insn->operand != NB_OPND_IMM && insn->kind != NB_KIND_LDDW)
		return;
	if (insn->kind == NB_KIND_JMP && first) {
		add_step(s, insn->imm - 1);
		add_step(s, insn->imm);
	} else if (alu && insn->fn == NB_FN_AND && first) {
		add_step(s, insn->imm);
	} else if (alu && insn->fn == NB_FN_RSH && first) {
		/* nb_check rejects a shift count beyond the width. */
		if (insn->imm >= 0 && insn->imm < insn->width)
			add_step(s, (int64_t)(nb_ones(insn->width) >> insn->imm));
	} else if ((alu && insn->fn == NB_FN_MOD && first) || (number && !first && insn->imm > 1)) {
		add_step(s, insn->imm - 1);
	}
}

void nb_steps_find(struct nb_steps *s, const struct nb_image *img, const struct nb_insn *insns,
		   uint32_t n)
{
	static const int64_t ends[] = { INT64_MIN, INT32_MIN,  -1,	  0,
					1,	   UINT8_MAX,  INT16_MAX, UINT16_MAX,
					INT32_MAX, UINT32_MAX, INT64_MAX };

	s->n = 0;
	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		add_step(s, ends[i]);
	for (uint32_t pc = 0; pc < n; pc++)
		add_insn(s, &insns[pc], true);
	for (uint32_t pc = 0; pc < n; pc++)
		add_insn(s, &insns[pc], false);
	for (uint32_t i = 0; i < img->nmaps; i++) {
		add_step(s, (int64_t)img->maps[i].max_entries - 1);
		add_step(s, (int64_t)img->maps[i].value_size - 1);
	}
	qsort(s->at, s->n, sizeof(s->at[0]), compare_steps);
}

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

/* Return the low bits that every member of @r agrees on: the stride of a
 * loop. */
static struct nb_tnum low_bits(const struct nb_range *r)
{
	uint64_t low = r->t.mask ? (r->t.mask & -r->t.mask) - 1 : UINT64_MAX;

	return (struct nb_tnum){ r->t.value & low, ~low };
}

static struct nb_range grow(const struct nb_range *now, const struct nb_range *old,
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

struct widening {
	struct nb_links links;
	/* Bounds to grow to; NULL joins the states without widening. */
	const struct nb_steps *steps;
};

/*
 * Drop a link if its distance changed: the distance of a start value to a
 * running counter changes in every iteration. The state only grows, so
 * every proof about the widened state also holds for the state before the
 * widening.
 */
static void widen_reg(struct widening *w, struct nb_reg *now, const struct nb_reg *old)
{
	if (now->kind != NB_REG_SCALAR || old->kind != NB_REG_SCALAR)
		return;
	if (nb_range_within(&now->r, &old->r)) {
		if (old->id && !nb_links_match(&w->links, old, now, false))
			nb_reg_unlink(now);
		return;
	}
	now->r = grow(&now->r, &old->r, w->steps);
	/*
	 * This value grew without the values linked to it, so its distance to
	 * those values is unknown now.
	 */
	nb_reg_unlink(now);
	if (old->label > now->label)
		now->label = old->label;
}

/* A spilled scalar never exceeds the bytes of its cell. */
static void widen_cell(struct widening *w, struct nb_cell *now, const struct nb_cell *old)
{
	uint32_t size = now->kind == NB_CELL_SPILL4 ? 4 : nb_cell_narrow(now);
	uint64_t most = size ? nb_ones(size * 8) : UINT64_MAX;

	if (old->kind != now->kind || (!size && now->kind != NB_CELL_SPILL8))
		return;
	widen_reg(w, &now->reg, &old->reg);
	if (size && now->reg.r.umax > most)
		now->reg.r = nb_range_u(0, most);
}

static const uint64_t *widen_frame(struct widening *w, const uint64_t *p, struct nb_frame *f,
				   uint16_t live)
{
	struct nb_saved_frame s;
	struct nb_cell cell;

	p = nb_saved_frame(p, &s);
	for (unsigned r = 0; r < NB_R10; r++) {
		if (!(s.live & 1u << r))
			continue;
		p = nb_saved_reg(p, &cell.reg);
		if (live & 1u << r)
			widen_reg(w, &f->regs[r], &cell.reg);
	}
	for (uint32_t c = 0; c < s.ncells; c++) {
		p = nb_saved_cell(p, &cell);
		if (c < f->ncells)
			widen_cell(w, &f->cells[c], &cell);
	}
	return p;
}

void nb_state_widen(struct nb_state *st, const struct nb_saved *old, const struct nb_live *live,
		    const struct nb_steps *steps)
{
	const uint64_t *p = nb_saved_frames(old);
	struct widening w = { .steps = steps };

	if (old->nframes != st->nframes)
		return;
	for (uint32_t i = 0; i < st->nframes; i++)
		p = widen_frame(&w, p, &st->frames[i], live->regs[i]);
}
