// SPDX-License-Identifier: MIT
/* Writes why policies answer as they do: their writes and comparisons. */
#include "plugin/control/commands/explain.h"

#include "core/bpf/exec/explain/path.h"
#include "core/bpf/image/image.h"
#include "plugin/control/reply.h"

static const struct nb_field_spec *tuner_field(int i)
{
	return &nb_spec_hook(NB_HOOK_TUNER)->fields[i];
}

static void put_site(struct nb_json *j, const struct nb_image *img, const struct nb_path_site *s)
{
	const struct nb_line *l = NULL;

	nb_json_kobj(j, "at");
	if (s->prog < img->nprogs) {
		nb_json_kstr(j, "program", img->progs[s->prog].name);
		l = nb_prog_line(&img->progs[s->prog], s->pc);
	}
	nb_json_ku64(j, "pc", s->pc);
	nb_json_kstr(j, "file", l ? l->file : NULL);
	nb_json_ku64(j, "line", l ? l->line : 0);
	nb_json_ku64(j, "col", l ? l->col : 0);
	nb_json_kstr(j, "text", l ? l->text : NULL);
	nb_json_end_obj(j);
}

/* Returns the comparison operator that held on this path. */
static const char *op_of(const struct nb_path_branch *b)
{
	static const struct {
		const char *word, *taken;
	} op[] = { { "!=", "==" }, { "<=", ">" }, { "<", ">=" }, { "!&", "&" },
		   { "==", "!=" }, { "<=", ">" }, { "<", ">=" }, { ">=", "<" },
		   { ">", "<=" },  { ">=", "<" }, { ">", "<=" } };
	size_t i = (size_t)b->fn - NB_FN_JEQ;

	if (i >= sizeof(op) / sizeof(*op))
		return "?";
	return b->taken ? op[i].taken : op[i].word;
}

static void put_operand(struct nb_json *j, const char *key, uint64_t value, uint8_t width,
			const struct nb_origin *o)
{
	bool exact = o->exact >= 0;
	const struct nb_field_spec *f = tuner_field(exact ? o->exact : 0);

	nb_json_kobj(j, key);
	nb_json_kstr(j, "field", exact ? f->name : NULL);
	if (exact && o->add)
		nb_json_ki64(j, "plus", (int64_t)o->add);
	if (width == 32 || (exact && f->size == 4 && !o->add))
		nb_json_ki64(j, "value", (int32_t)value);
	else
		nb_json_ki64(j, "value", (int64_t)value);
	nb_json_karr(j, "of");
	for (int i = 0; i < NB_PATH_FIELDS; i++)
		if (o->fields >> i & 1)
			nb_json_str(j, tuner_field(i)->name);
	nb_json_end_arr(j);
	nb_json_kbool(j, "memory", o->map);
	nb_json_end_obj(j);
}

static void explain_put_branch(struct nb_json *j, const struct nb_image *img,
			       const struct nb_path_branch *b)
{
	nb_json_obj(j);
	put_operand(j, "left", b->a, b->width, &b->from_a);
	nb_json_kstr(j, "op", op_of(b));
	put_operand(j, "right", b->b, b->width, &b->from_b);
	put_site(j, img, &b->at);
	nb_json_end_obj(j);
}

static void put_policy(struct nb_json *j, const struct nb_explain_step *s)
{
	const struct nb_image *img = s->policy;
	const struct nb_path *x = &s->path;

	nb_json_obj(j);
	nb_json_kstr(j, "name", img->name);
	nb_json_karr(j, "writes");
	for (int i = 0; i < NB_PATH_FIELDS; i++) {
		if (!x->store[i].done)
			continue;
		nb_json_obj(j);
		nb_json_kstr(j, "field", tuner_field(i)->name);
		nb_json_kbool(j, "memory", x->store[i].from.map);
		put_site(j, img, &x->store[i].at);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
	nb_json_karr(j, "branches");
	for (uint32_t i = 0; i < x->nbranches && nb_cmd_room(j); i++)
		explain_put_branch(j, img, &x->branch[i]);
	nb_json_end_arr(j);
	nb_json_ku64(j, "left_out", x->left_out);
	nb_json_end_obj(j);
}

void nb_explain_json(struct nb_json *j, const struct nb_comm *c, const struct nb_explain *e)
{
	struct nb_decision basis = e->basis;

	if (!e->seen)
		/*
		 * a collective of -1 selects no decision, so there is no cost
		 * table
		 */
		basis.coll = -1;
	nb_cmd_context(j, c, &basis);
	nb_json_karr(j, "why");
	for (uint32_t k = 0; k < e->order.n; k++)
		put_policy(j, &e->step[e->order.at[k]]);
	nb_json_end_arr(j);
}
