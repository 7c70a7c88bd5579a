// SPDX-License-Identifier: MIT
// The verdict as data, and the words for it. Everything that is said of a
// register, a map or a place in the source is said here, so that it is said
// alike everywhere, offline and in the job.
#include "core/verify/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/verify/names.h"
#include "core/verify/objects.h"
#include "core/verify/path.h"

enum { SHOWN_PATH = 8, MARGIN = 64 << 10 };

struct class_spec {
	const char *word, *text, *hint;
};

static const struct class_spec classes[NB_NFINDINGS] = {
	[NB_FIND_NONE] = { "none", "", "" },
#define FINDING(name, word, text, hint) [NB_FIND_##name] = { word, text, hint },
#include "core/tbl/findings.h"
};

/* ---- words ---- */

const char *nb_say(struct nb_env *env, const char *fmt, ...)
{
	char text[600];
	const char *p;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p = nb_arena_str(env->arena, text, sizeof(text));
	return p ? p : "";
}

const char *nb_map_name(const struct nb_env *env, uint32_t map)
{
	return map < env->img->nmaps && env->img->maps[map].name
		       ? env->img->maps[map].name
		       : "?";
}

const char *nb_say_span(struct nb_env *env, int64_t min, int64_t max)
{
	if (min == max)
		return nb_say(env, "%" PRId64, min);
	if (min == INT64_MIN && max == INT64_MAX)
		return "anything";
	if (min == INT64_MIN)
		return nb_say(env, "anything up to %" PRId64, max);
	if (max == INT64_MAX)
		return nb_say(env, "%" PRId64 " or more", min);
	return nb_say(env, "%" PRId64 " to %" PRId64, min, max);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* The record that covers @pc; in tests images have none. */
const struct nb_line *nb_line_of(const struct nb_prog *p, uint32_t pc)
{
	const struct nb_line *found = NULL;

	for (uint32_t i = 0; i < p->nlines && p->lines[i].pc <= pc; i++)
		found = &p->lines[i];
	return found && found->line ? found : NULL;
}

const char *nb_say_where(struct nb_env *env, uint32_t pc)
{
	const struct nb_line *l = nb_line_of(env->prog, pc);

	if (!l)
		return nb_say(env, "slot %u", pc);
	return nb_say(env, "slot %u (%s:%u)", pc, base_name(l->file), l->line);
}

/* "scalar 0 to 255, multiple of 8" */
static const char *say_number(struct nb_env *env, const struct nb_range *r)
{
	uint64_t any = r->t.value | r->t.mask;
	const char *step = "";

	if (nb_range_is_const(r))
		return nb_say(env, "number %" PRId64, r->smin);
	if (nb_range_is_unknown(r))
		return "number, nothing known";
	if (!r->umin && r->umax == UINT32_MAX && any == UINT32_MAX)
		return "any number of 32 bits";
	if (any && !(any & 1))
		step = nb_say(env, ", a multiple of %" PRIu64, any & -any);
	if (r->smin >= 0)
		return nb_say(env, "number %" PRIu64 " to %" PRIu64 "%s",
			      r->umin, r->umax, step);
	if (r->umin > 0 && r->smin == INT64_MIN)
		return nb_say(env,
			      "number %" PRIu64 " to %" PRIu64 " unsigned%s",
			      r->umin, r->umax, step);
	if (r->smin > INT64_MIN || r->smax < INT64_MAX)
		return nb_say(env, "number %s, signed%s",
			      nb_say_span(env, r->smin, r->smax), step);
	if (r->umin32 || r->umax32 != UINT32_MAX)
		return nb_say(env,
			      "number, low half %u to %u, high half "
			      "unknown",
			      r->umin32, r->umax32);
	return nb_say(env, "number, unknown%s", step);
}

static const char *say_pointer(struct nb_env *env, const struct nb_reg *r,
			       const char *span)
{
	const char *name = nb_map_name(env, r->map);
	const char *type = nb_say_type(env, r->map, NB_NAME_VALUE);
	const char *place = nb_say_place(env, r, &r->r);

	if (*name == '.')
		return nb_say(env, "pointer into %s, offset %s%s%s", name, span,
			      *place ? ": " : "", place);
	return nb_say(env,
		      "pointer to a value of map %s (%s%s%u bytes), "
		      "offset %s",
		      name, type, *type ? ", " : "",
		      env->img->maps[r->map].value_size, span);
}

static const char *say_value(struct nb_env *env, const struct nb_reg *r)
{
	const char *span = nb_say_span(env, r->r.smin, r->r.smax);

	switch ((enum nb_reg_kind)r->kind) {
	case NB_REG_UNINIT:
		return "never written";
	case NB_REG_SCALAR:
		return say_number(env, &r->r);
	case NB_REG_CTX:
		return nb_say(env, "pointer to the context, offset %s", span);
	case NB_REG_STACK:
		return nb_say(env,
			      "pointer to the stack of frame %d, offset "
			      "%s",
			      r->frame, span);
	case NB_REG_MAP:
		return nb_say(env, "map %s", nb_map_name(env, r->map));
	case NB_REG_MAP_OR_NULL:
		return nb_say(env, "map %s, or NULL", nb_map_name(env, r->map));
	case NB_REG_VALUE:
		return say_pointer(env, r, span);
	case NB_REG_VALUE_OR_NULL:
		return nb_say(env, "pointer to a value of map %s, or NULL",
			      nb_map_name(env, r->map));
	case NB_REG_MEM:
		return nb_say(env, "pointer to memory (%u bytes), offset %s",
			      r->size, span);
	case NB_REG_RDONLY:
		return nb_say(env,
			      "pointer to memory (%u bytes) that is only read, "
			      "offset %s",
			      r->size, span);
	case NB_REG_MEM_OR_NULL:
		return nb_say(env, "pointer to memory (%u bytes), or NULL",
			      r->size);
	case NB_REG_FUNC:
		return nb_say(env, "address of the function at slot %u",
			      r->map);
	}
	return "";
}

const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number)
{
	const char *label = r->label == NB_LABEL_LOCAL ? ", local data" : "";

	if (number < 0)
		return nb_say(env, "%s%s", say_value(env, r), label);
	return nb_say(env, "r%d: %s%s", number, say_value(env, r), label);
}

/* ---- the finding ---- */

static const char *map_name_cb(void *arg, uint32_t index)
{
	return nb_map_name(arg, index);
}

const char *nb_say_insn(struct nb_env *env, uint32_t pc)
{
	char text[160];

	if (!env->insns || pc >= env->n)
		return "";
	nb_disasm(text, sizeof(text), &env->insns[pc], map_name_cb, env);
	return nb_say(env, "%s", text);
}

const char *nb_say_func(struct nb_env *env, uint32_t pc)
{
	const char *name = env->prog->name;

	if (env->cfg.func_of && pc < env->n && env->cfg.funcs)
		name = env->cfg.funcs[env->cfg.func_of[pc]].name;
	return name ? name : "";
}

void nb_more_words(struct nb_env *env)
{
	if (env->arena->limit - env->arena->used < MARGIN)
		env->arena->limit = env->arena->used + MARGIN;
}

int nb_refuse(struct nb_env *env, enum nb_finding_class cls, uint32_t pc,
	      int reg, const char *required, const char *known,
	      const char *hint)
{
	struct nb_finding *f = &env->v->finding;

	if (env->seek && !nb_path_takes(env, cls, pc))
		return NB_E_VERIFY;
	if (env->failed)
		return NB_E_VERIFY;
	nb_more_words(env);
	env->failed = true;
	f->cls = cls;
	f->pc = pc;
	f->reg = reg;
	f->insn = nb_say_insn(env, pc);
	f->required = required;
	f->known = known;
	f->hint = hint && *hint ? hint : classes[cls].hint;
	f->func = nb_say_func(env, pc);
	f->line = nb_line_of(env->prog, pc);
	return NB_E_VERIFY;
}

int nb_refuse_verdict(struct nb_env *env, uint32_t pc, uint32_t from)
{
	return nb_refuse(env, NB_FIND_LOCAL_VERDICT, pc, 0,
			 "a return value that is equal on all ranks",
			 nb_say(env,
				"what exit returns depends on local data "
				"since %s",
				nb_say_where(env, from)),
			 "");
}

/* ---- text ---- */

static const char *policy_name(const struct nb_image *img,
			       const struct nb_prog *p)
{
	return img->name && *img->name ? img->name : p->name ? p->name : "?";
}

static void put_head(const struct nb_finding *f, const struct nb_image *img,
		     const struct nb_prog *p, struct nb_buf *out)
{
	nb_buf_printf(out, "%s policy %s: refused at slot %u",
		      nb_spec_hook(p->hook)->word, policy_name(img, p), f->pc);
	if (f->line)
		nb_buf_printf(out, " (%s:%u)", base_name(f->line->file),
			      f->line->line);
	nb_buf_printf(out, ": %s", classes[f->cls].text);
}

/* The line itself, and a caret below its column; tabs stay tabs. */
static void put_source(const struct nb_line *l, struct nb_buf *out)
{
	if (!l || !l->text || !*l->text)
		return;
	nb_buf_printf(out, "%7u | %s\n        | ", l->line, l->text);
	for (uint32_t i = 1; i < l->col && l->text[i - 1]; i++)
		nb_buf_char(out, l->text[i - 1] == '\t' ? '\t' : ' ');
	nb_buf_str(out, "^\n");
}

/* A source line without the blanks around it. */
static void put_trimmed(struct nb_buf *out, const char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	nb_buf_printf(out, "%.*s", (int)n, text);
}

/* A branch that says the same as the one before: one more pass. */
static bool same_branch(const struct nb_branch *a, const struct nb_branch *b)
{
	return a->pc == b->pc && a->taken == b->taken;
}

static void put_branch(const struct nb_branch *b, const struct nb_prog *p,
		       uint32_t passes, struct nb_buf *out)
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

/* The branches that could have gone the other way, each on its line. */
static void put_path(const struct nb_finding *f, const struct nb_prog *p,
		     struct nb_buf *out)
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
	for (uint32_t i = n > SHOWN_PATH ? n - SHOWN_PATH : 0, k = i; i < n;
	     i++) {
		nb_buf_printf(out, "  %-9s %s", i == k ? "path:" : "",
			      i == k && k ? "... " : "");
		put_branch(rows[i], p, passes[i], out);
	}
}

static void put_row(struct nb_buf *out, const char *word, const char *text)
{
	if (text && *text)
		nb_buf_printf(out, "  %-9s %s\n", word, text);
}

void nb_verdict_text(const struct nb_verdict *v, const struct nb_image *img,
		     uint32_t prog, struct nb_buf *out)
{
	const struct nb_prog *p = &img->progs[prog];
	const struct nb_finding *f = &v->finding;

	if (v->accepted) {
		nb_buf_printf(out,
			      "%s policy %s: accepted (%u instructions walked, "
			      "%u states, %u bytes of stack)\n",
			      nb_spec_hook(p->hook)->word, policy_name(img, p),
			      v->stats.insns_walked, v->stats.states_peak,
			      v->stats.stack_depth);
		return;
	}
	put_head(f, img, p, out);
	nb_buf_char(out, '\n');
	put_source(f->line, out);
	if (f->insn && *f->insn)
		nb_buf_printf(out, "  insn:     %u: %s%s%s\n", f->pc, f->insn,
			      f->func && *f->func ? "   in " : "",
			      f->func ? f->func : "");
	put_row(out, "required:", f->required);
	put_row(out, "known:", f->known);
	put_path(f, p, out);
	put_row(out, "hint:", f->hint);
}

void nb_verdict_notes(const struct nb_verdict *v, const struct nb_image *img,
		      uint32_t prog, struct nb_buf *out)
{
	const struct nb_finding *f = &v->finding;
	const struct nb_line *line = NULL;

	for (uint32_t i = 0; !v->accepted && i < f->nnotes; i++) {
		const struct nb_line *l =
			nb_line_of(&img->progs[prog], f->notes[i].pc);

		if (l && (!line || l->line != line->line ||
			  strcmp(l->text, line->text) != 0)) {
			nb_buf_printf(out, "%7u | ", l->line);
			put_trimmed(out, l->text);
			nb_buf_char(out, '\n');
		}
		line = l;
		nb_buf_printf(out, "        . %u: %s\n", f->notes[i].pc,
			      f->notes[i].text);
	}
}

static void json_stats(const struct nb_verify_stats *s, struct nb_json *j)
{
	nb_json_key(j, "stats");
	nb_json_obj(j);
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

static void json_path(const struct nb_finding *f, const struct nb_prog *p,
		      struct nb_json *j)
{
	nb_json_key(j, "path");
	nb_json_arr(j);
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

static void json_notes(const struct nb_finding *f, const struct nb_prog *p,
		       struct nb_json *j)
{
	nb_json_key(j, "notes");
	nb_json_arr(j);
	for (uint32_t i = 0; i < f->nnotes; i++) {
		nb_json_obj(j);
		json_at(f->notes[i].pc, p, j);
		nb_json_kstr(j, "text", f->notes[i].text);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void json_finding(const struct nb_finding *f, const struct nb_prog *p,
			 struct nb_json *j)
{
	nb_json_kstr(j, "class", classes[f->cls].word);
	nb_json_kstr(j, "text", classes[f->cls].text);
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

void nb_verdict_json(const struct nb_verdict *v, const struct nb_image *img,
		     uint32_t prog, struct nb_json *out)
{
	const struct nb_prog *p = &img->progs[prog];

	nb_json_obj(out);
	nb_json_kbool(out, "accepted", v->accepted);
	nb_json_kstr(out, "hook", nb_spec_hook(p->hook)->word);
	nb_json_kstr(out, "policy", policy_name(img, p));
	nb_json_kstr(out, "program", p->name);
	if (!v->accepted)
		json_finding(&v->finding, p, out);
	json_stats(&v->stats, out);
	nb_json_end_obj(out);
}

int nb_verdict_err(const struct nb_verdict *v, const struct nb_image *img,
		   uint32_t prog, struct nb_err *err)
{
	const struct nb_finding *f = &v->finding;
	struct nb_buf b;

	nb_buf_init(&b, 4096);
	put_head(f, img, &img->progs[prog], &b);
	nb_buf_printf(&b, "; required: %s; known: %s",
		      f->required ? f->required : "", f->known ? f->known : "");
	nb_fail(err, NB_E_VERIFY, f->pc, "%s", nb_buf_text(&b));
	nb_buf_fini(&b);
	if (f->hint && *f->hint)
		nb_hint(err, "%s", f->hint);
	return NB_E_VERIFY;
}

/* ---- trace ---- */

static void trace_cells(struct nb_env *env, const struct nb_frame *f)
{
	for (uint32_t c = 0; c < f->ncells; c++) {
		const struct nb_cell *x = &f->cells[c];
		int off = -(int)(c + 1) * 4;

		if (x->kind == NB_CELL_OBJECT)
			nb_buf_printf(env->opts.trace, "    r10%d: %s\n", off,
				      nb_say_object(x));
		if (x->kind == NB_CELL_SPILL8_HI || nb_cell_is_object(x) ||
		    (x->kind == NB_CELL_BYTES && !x->init))
			continue;
		if (x->kind == NB_CELL_BYTES)
			nb_buf_printf(env->opts.trace,
				      "    r10%d: bytes %x written, %x zero\n",
				      off, x->init, x->zero);
		else
			nb_buf_printf(env->opts.trace, "    r10%d: %s\n", off,
				      nb_say_reg(env, &x->reg, -1));
	}
}

void nb_trace_state(struct nb_env *env, const struct nb_state *st, uint32_t pc)
{
	const struct nb_frame *f = &st->frames[st->nframes - 1];

	nb_buf_printf(env->opts.trace, "%u: %s\n", pc, nb_say_insn(env, pc));
	for (int i = 0; i < NB_R10; i++)
		if (f->regs[i].kind != NB_REG_UNINIT)
			nb_buf_printf(env->opts.trace, "    %s\n",
				      nb_say_reg(env, &f->regs[i], i));
	trace_cells(env, f);
}
