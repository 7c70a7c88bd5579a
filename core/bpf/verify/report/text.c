// SPDX-License-Identifier: MIT
/* Print the verdict as text for people, as notes in the style of a
 * compiler, and as JSON. */
#include "core/bpf/verify/report/text.h"

#include <string.h>

#include "core/bpf/verify/report/say.h"

enum { SHOWN_PATH = 8 };

static const char *policy_name(const struct nb_image *img, const struct nb_prog *p)
{
	return img->name && *img->name ? img->name : p->name ? p->name : "?";
}

static void put_head(const struct nb_finding *f, const struct nb_image *img,
		     const struct nb_prog *p, struct nb_buf *out)
{
	nb_buf_printf(out, "%s policy %s: refused at slot %u", nb_spec_hook(p->hook)->word,
		      policy_name(img, p), f->pc);
	if (f->line)
		nb_buf_printf(out, " (%s:%u)", nb_base_name(f->line->file), f->line->line);
	nb_buf_printf(out, ": %s", nb_finding_words(f->cls)->text);
}

/* Print the source line and a caret below its column; tabs stay tabs. */
static void put_source(const struct nb_line *l, struct nb_buf *out)
{
	if (!l || !l->text || !*l->text)
		return;
	nb_buf_printf(out, "%7u | %s\n        | ", l->line, l->text);
	for (uint32_t i = 1; i < l->col && l->text[i - 1]; i++)
		nb_buf_char(out, l->text[i - 1] == '\t' ? '\t' : ' ');
	nb_buf_str(out, "^\n");
}

/* Print a source line without the blanks around it. */
static void put_trimmed(struct nb_buf *out, const char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	nb_buf_printf(out, "%.*s", (int)n, text);
}

/*
 * Is the branch the same as the one before? The text then has one line for
 * both, with their number.
 */
static bool same_branch(const struct nb_branch *a, const struct nb_branch *b)
{
	return a->pc == b->pc && a->taken == b->taken;
}

static void put_branch(const struct nb_branch *b, const struct nb_prog *p, uint32_t passes,
		       struct nb_buf *out)
{
	const struct nb_line *l = nb_line_of(p, b->pc);

	if (l)
		nb_buf_printf(out, "line %u, ", l->line);
	if (l && l->text && *l->text)
		put_trimmed(out, l->text);
	else
		nb_buf_printf(out, "slot %u", b->pc);
	if (*b->text)
		nb_buf_printf(out, "  -> %s", b->text);
	else
		nb_buf_printf(out, "  -> %s", b->taken ? "taken" : "not taken");
	if (passes > 1)
		nb_buf_printf(out, " (%u times)", passes);
	nb_buf_char(out, '\n');
}

/* Print the branches that could have gone the other way, one on each line. */
static void put_path(const struct nb_finding *f, const struct nb_prog *p, struct nb_buf *out)
{
	const struct nb_branch *rows[NB_MAX_PATH];
	uint32_t passes[NB_MAX_PATH], n = 0;

	for (uint32_t i = 0; i < f->npath; i++) {
		const struct nb_branch *b = &f->path[i];

		if (!b->open)
			continue;
		if (n && same_branch(rows[n - 1], b)) {
			rows[n - 1] = b;
			passes[n - 1]++;
			continue;
		}
		rows[n] = b;
		passes[n++] = 1;
	}
	for (uint32_t i = n > SHOWN_PATH ? n - SHOWN_PATH : 0, k = i; i < n; i++) {
		nb_buf_printf(out, "  %-9s %s", i == k ? "path:" : "", i == k && k ? "... " : "");
		put_branch(rows[i], p, passes[i], out);
	}
}

static void put_row(struct nb_buf *out, const char *word, const char *text)
{
	if (text && *text)
		nb_buf_printf(out, "  %-9s %s\n", word, text);
}

void nb_verdict_text(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		     struct nb_buf *out)
{
	const struct nb_prog *p = &img->progs[prog];
	const struct nb_finding *f = &v->finding;

	if (v->accepted) {
		nb_buf_printf(out,
			      "%s policy %s: "
			      "accepted (%u instructions walked, %u states, %u bytes of stack)\n",
			      nb_spec_hook(p->hook)->word, policy_name(img, p),
			      v->stats.insns_walked, v->stats.states_peak, v->stats.stack_depth);
		return;
	}
	put_head(f, img, p, out);
	nb_buf_char(out, '\n');
	put_source(f->line, out);
	if (f->insn && *f->insn)
		nb_buf_printf(out, "  insn:     %u: %s%s%s\n", f->pc, f->insn,
			      f->func && *f->func ? "   in " : "", f->func ? f->func : "");
	put_row(out, "required:", f->required);
	put_row(out, "known:", f->known);
	put_path(f, p, out);
	put_row(out, "hint:", f->hint);
}

void nb_verdict_notes(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		      struct nb_buf *out)
{
	const struct nb_finding *f = &v->finding;
	const struct nb_line *line = NULL;

	for (uint32_t i = 0; !v->accepted && i < f->nnotes; i++) {
		const struct nb_line *l = nb_line_of(&img->progs[prog], f->notes[i].pc);

		if (l && (!line || l->line != line->line || strcmp(l->text, line->text) != 0)) {
			nb_buf_printf(out, "%7u | ", l->line);
			put_trimmed(out, l->text);
			nb_buf_char(out, '\n');
		}
		line = l;
		nb_buf_printf(out, "        . %u: %s\n", f->notes[i].pc, f->notes[i].text);
	}
}

static void json_stats(const struct nb_verify_stats *s, struct nb_json *j)
{
	nb_json_kobj(j, "stats");
	nb_json_ku64(j, "insns_walked", s->insns_walked);
	nb_json_ku64(j, "states_peak", s->states_peak);
	nb_json_ku64(j, "stack_depth", s->stack_depth);
	nb_json_end_obj(j);
}

static void json_at(uint32_t pc, const struct nb_prog *p, struct nb_json *j)
{
	const struct nb_line *l = nb_line_of(p, pc);

	nb_json_ku64(j, "pc", pc);
	if (l) {
		nb_json_ku64(j, "line", l->line);
		nb_json_kstr(j, "source", l->text);
	}
}

static void json_path(const struct nb_finding *f, const struct nb_prog *p, struct nb_json *j)
{
	nb_json_karr(j, "path");
	for (uint32_t i = 0; i < f->npath; i++) {
		nb_json_obj(j);
		json_at(f->path[i].pc, p, j);
		nb_json_kbool(j, "taken", f->path[i].taken);
		nb_json_kbool(j, "open", f->path[i].open);
		nb_json_kstr(j, "text", f->path[i].text);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void json_notes(const struct nb_finding *f, const struct nb_prog *p, struct nb_json *j)
{
	nb_json_karr(j, "notes");
	for (uint32_t i = 0; i < f->nnotes; i++) {
		nb_json_obj(j);
		json_at(f->notes[i].pc, p, j);
		nb_json_kstr(j, "text", f->notes[i].text);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void json_accepted(const struct nb_verdict *v, const struct nb_prog *p, struct nb_json *j)
{
	nb_json_karr(j, "notes");
	for (uint32_t i = 0; i < v->nnotes; i++) {
		nb_json_obj(j);
		nb_json_kstr(j, "class", v->notes[i].word);
		json_at(v->notes[i].pc, p, j);
		nb_json_kstr(j, "text", v->notes[i].text);
		nb_json_kstr(j, "hint", v->notes[i].hint);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void json_finding(const struct nb_finding *f, const struct nb_prog *p, struct nb_json *j)
{
	nb_json_kstr(j, "class", nb_finding_words(f->cls)->word);
	nb_json_kstr(j, "text", nb_finding_words(f->cls)->text);
	nb_json_ku64(j, "pc", f->pc);
	if (f->reg >= 0)
		nb_json_ki64(j, "reg", f->reg);
	nb_json_kstr(j, "insn", f->insn);
	nb_json_kstr(j, "required", f->required);
	nb_json_kstr(j, "known", f->known);
	nb_json_kstr(j, "hint", f->hint);
	nb_json_kstr(j, "function", f->func);
	if (f->line) {
		nb_json_kstr(j, "file", f->line->file);
		nb_json_ku64(j, "line", f->line->line);
		nb_json_ku64(j, "column", f->line->col);
		nb_json_kstr(j, "source", f->line->text);
	}
	json_path(f, p, j);
	json_notes(f, p, j);
}

void nb_verdict_json(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		     struct nb_json *out)
{
	const struct nb_prog *p = &img->progs[prog];

	nb_json_obj(out);
	nb_json_kbool(out, "accepted", v->accepted);
	nb_json_kstr(out, "hook", nb_spec_hook(p->hook)->word);
	nb_json_kstr(out, "policy", policy_name(img, p));
	nb_json_kstr(out, "program", p->name);
	if (!v->accepted)
		json_finding(&v->finding, p, out);
	else
		json_accepted(v, p, out);
	json_stats(&v->stats, out);
	nb_json_end_obj(out);
}

int nb_verdict_err(const struct nb_verdict *v, const struct nb_image *img, uint32_t prog,
		   struct nb_err *err)
{
	const struct nb_finding *f = &v->finding;
	struct nb_buf b;

	nb_buf_init(&b, 4096);
	put_head(f, img, &img->progs[prog], &b);
	nb_buf_printf(&b, "; required: %s; known: %s", f->required ? f->required : "",
		      f->known ? f->known : "");
	nb_fail(err, NB_E_VERIFY, f->pc, "%s", nb_buf_text(&b));
	nb_buf_fini(&b);
	if (f->hint && *f->hint)
		nb_hint(err, "%s", f->hint);
	return NB_E_VERIFY;
}

static void trace_cells(struct nb_buf *out, struct nb_env *env, const struct nb_frame *f)
{
	for (uint32_t c = 0; c < f->ncells; c++) {
		const struct nb_cell *x = &f->cells[c];
		int off = -(int)(c + 1) * 4;

		if (x->kind == NB_CELL_OBJECT)
			nb_buf_printf(out, "    r10%d: an iterator\n", off);
		if (x->kind == NB_CELL_SPILL8_HI || nb_cell_is_object(x) ||
		    (x->kind == NB_CELL_BYTES && !x->init))
			continue;
		if (x->kind == NB_CELL_BYTES)
			nb_buf_printf(out, "    r10%d: bytes %x written, %x zero\n", off, x->init,
				      x->zero);
		else
			nb_buf_printf(out, "    r10%d: %s\n", off, nb_say_reg(env, &x->reg, -1));
	}
}

void nb_trace_state(void *out, struct nb_env *env, const struct nb_state *st, uint32_t pc)
{
	const struct nb_frame *f = &st->frames[st->nframes - 1];

	nb_buf_printf(out, "%u: %s\n", pc, nb_say_insn(env, pc));
	for (int i = 0; i < NB_R10; i++)
		if (f->regs[i].kind != NB_REG_UNINIT)
			nb_buf_printf(out, "    %s\n", nb_say_reg(env, &f->regs[i], i));
	trace_cells(out, env, f);
}
