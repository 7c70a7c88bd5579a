// SPDX-License-Identifier: MIT
/* What a program answers: the outputs it sets, and values that NCCL never
 * accepts. Only notes use this; nothing here rejects a program. */
#include "core/bpf/verify/insn/answers.h"

#include "core/bpf/verify/report/say.h"

/* Return the index of output @f's row in core/defs/answers.h, or -1. */
static int answer_row(const struct nb_program *program, const struct nb_field_spec *f)
{
	size_t n;
	const struct nb_answer_spec *rows = nb_spec_answers(&n);

	for (size_t i = 0; i < n; i++)
		if (rows[i].hook == program->hook->id && rows[i].off == f->off)
			return (int)i;
	return -1;
}

/* Return the part of the stored value that field @f receives. */
static struct nb_range stored_part(const struct at *a, const struct nb_mem_access *x,
				   const struct nb_field_spec *f)
{
	struct nb_range v = nb_range_const((uint64_t)a->insn->imm);

	if (x->value >= 0)
		v = reg(a, x->value)->r;
	v = nb_range_bits(&v, (unsigned)(f->off - x->off.smin) * 8, f->size * 8);
	return *f->type == 'i' ? nb_range_sext(&v, f->size * 8) : v;
}

static bool is_noted(const struct nb_env *env, uint32_t pc, uint32_t answer)
{
	for (const struct nb_odd_store *s = env->walk.found.odd_stores; s; s = s->next)
		if (s->pc == pc && s->answer == answer)
			return true;
	return false;
}

void nb_note_answer(const struct at *a, const struct nb_mem_access *x,
		    const struct nb_field_spec *f)
{
	struct nb_env *env = a->env;
	int row = answer_row(&env->program, f);
	struct nb_found *found = &env->walk.found;
	const struct nb_answer_spec *can;
	struct nb_odd_store *s;
	struct nb_range v;
	size_t nrows;

	if (row < 0)
		return;
	found->answered |= 1u << row;
	/* A verdict has no more notes. The limit bounds the search for earlier
	 * stores, which no budget counts. */
	if (found->nodd_stores == NB_MAX_NOTES)
		return;
	can = &nb_spec_answers(&nrows)[row];
	v = stored_part(a, x, f);
	if ((v.smin <= can->most && v.smax >= can->least) || is_noted(env, a->pc, (uint32_t)row) ||
	    nb_line_is_header(nb_line_of(env->program.prog, a->pc)))
		return;
	s = nb_arena_alloc(env->program.arena, sizeof(*s));
	if (!s) {
		env->walk.nomem = true;
		return;
	}
	*s = (struct nb_odd_store){ found->odd_stores, a->pc, (uint32_t)row, v };
	found->odd_stores = s;
	found->nodd_stores++;
}
