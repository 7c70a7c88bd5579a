// SPDX-License-Identifier: MIT
// Bounds where a number that grows in a loop stops: see nb_state_widen.
#include "core/verify/state/steps.h"

#include <stdlib.h>

#include "core/verify/domain/tnum.h"

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

/*
 * Bounds that an instruction gives: @first those of jumps and masks, which
 * loops most often end or wrap at; then numbers that are merely named.
 */
static void add_insn(struct nb_steps *s, const struct nb_insn *insn, bool first)
{
	bool alu = insn->kind == NB_KIND_ALU;
	bool number = (alu && insn->fn == NB_FN_MOV) ||
		      (insn->kind == NB_KIND_LDDW && insn->fn == NB_FN_IMM);

	if (insn->operand != NB_OPND_IMM && insn->kind != NB_KIND_LDDW)
		return;
	if (insn->kind == NB_KIND_JMP && first) {
		add_step(s, insn->imm - 1);
		add_step(s, insn->imm);
	} else if (alu && insn->fn == NB_FN_AND && first) {
		add_step(s, insn->imm);
	} else if (alu && insn->fn == NB_FN_RSH && first) {
		/* A count beyond the width is refused where it is reached. */
		if (insn->imm >= 0 && insn->imm < insn->width)
			add_step(s,
				 (int64_t)(nb_ones(insn->width) >> insn->imm));
	} else if ((alu && insn->fn == NB_FN_MOD && first) ||
		   (number && !first && insn->imm > 1)) {
		add_step(s, insn->imm - 1);
	}
}

void nb_steps_find(struct nb_steps *s, const struct nb_image *img,
		   const struct nb_insn *insns, uint32_t n)
{
	static const int64_t ends[] = { INT64_MIN,  INT32_MIN,	-1,
					0,	    1,		UINT8_MAX,
					INT16_MAX,  UINT16_MAX, INT32_MAX,
					UINT32_MAX, INT64_MAX };

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
