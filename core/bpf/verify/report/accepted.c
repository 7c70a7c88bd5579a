// SPDX-License-Identifier: MIT
/*
 * Notes about an accepted program. They follow from the facts of all paths (an
 * output that nothing sets) or from a fact of some path (a value out of range).
 */
#include "core/bpf/verify/report/refuse.h"

#include <string.h>

#include "core/bpf/verify/report/format.h"
#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/state/operands.h"

static const struct {
	const char *word, *text, *hint;
} classes[NB_NNOTES] = {
#define NOTE(name, word, text, hint) [NB_NOTE_##name] = { word, text, hint },
#include "core/defs/notes.h"
};

struct notes {
	struct nb_env *env;
	struct nb_note at[NB_MAX_NOTES];
	const char *output[NB_MAX_NOTES]; /* Name of the output that each is about, or NULL. */
	uint32_t n;
};

/*
 * Is there such a note of the same place in the source? A compiler that unrolls
 * a loop makes several copies of it.
 */
static bool has_note_there(const struct notes *to, enum nb_note_class cls, const struct nb_line *l,
			   const char *output)
{
	for (uint32_t i = 0; l && i < to->n; i++) {
		const struct nb_line *old = to->at[i].line;

		if (to->at[i].cls == cls && to->output[i] == output && old &&
		    old->line == l->line && old->col == l->col && !strcmp(old->file, l->file))
			return true;
	}
	return false;
}

static void add(struct notes *to, enum nb_note_class cls, const struct nb_refusal *facts)
{
	struct nb_env *env = to->env;
	const struct nb_line *l;

	if (to->n == NB_MAX_NOTES)
		return;
	l = nb_line_of(env->program.prog, facts->pc);
	if (nb_line_is_header(l) || has_note_there(to, cls, l, facts->name))
		return;
	to->output[to->n] = facts->name;
	to->at[to->n++] = (struct nb_note){
		.cls = cls,
		.pc = facts->pc,
		.word = classes[cls].word,
		.text = nb_expand(env, classes[cls].text, facts),
		.hint = nb_expand(env, classes[cls].hint, facts),
		.line = l,
	};
}

static void add_answers(struct notes *to, uint32_t pc)
{
	size_t n;
	const struct nb_answer_spec *rows = nb_spec_answers(&n);

	for (const struct nb_odd_store *s = to->env->facts.odd_stores; s; s = s->next)
		if (s->pc == pc)
			add(to, NB_NOTE_IMPOSSIBLE_ANSWER,
			    &(struct nb_refusal){
				    .pc = pc,
				    .off = &s->value,
				    .number = rows[s->answer].least,
				    .to = rows[s->answer].most,
				    .name = nb_spec_field(to->env->program.hook,
							  rows[s->answer].off)
						    ->name,
			    });
}

static void add_no_answer(struct notes *to)
{
	struct nb_env *env = to->env;
	const char *outputs = "";
	size_t n;
	const struct nb_answer_spec *rows = nb_spec_answers(&n);

	if (env->facts.answered || env->program.opts.plain_mem)
		return;
	for (size_t i = 0; i < n; i++)
		if (rows[i].hook == env->program.hook->id)
			outputs = nb_say(env, "%s%sctx->%s", outputs, *outputs ? " or " : "",
					 nb_spec_field(env->program.hook, rows[i].off)->name);
	if (*outputs)
		add(to, NB_NOTE_NO_ANSWER, &(struct nb_refusal){ .text = outputs });
}

void nb_notes_fill(struct nb_env *env)
{
	struct notes found = { .env = env };
	struct nb_note *to;

	add_no_answer(&found);
	for (uint32_t pc = 0; pc < env->program.n; pc++)
		add_answers(&found, pc);
	to = nb_arena_array(env->program.arena, found.n, sizeof(*to));
	if (!to)
		return;
	memcpy(to, found.at, found.n * sizeof(*to));
	env->v->notes = to;
	env->v->nnotes = found.n;
}
