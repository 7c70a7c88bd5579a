// SPDX-License-Identifier: MIT
/*
 * Describe in text the steps that lead to a finding: the origin of a value in
 * terms of the source, and the meaning of a branch. Going backwards from the
 * finding, notes explain each step that set a register the finding depends on.
 */
#include "core/bpf/verify/domain/range.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/report/local.h"
#include "core/bpf/verify/report/format.h"
#include "core/bpf/verify/report/names.h"
#include "core/bpf/verify/report/say.h"
#include "core/bpf/verify/report/source.h"
#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"
#include "core/bpf/verify/state/state.h"
#include "core/bpf/verify/witness/notes.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_NOTES = 16, MAX_NESTED = 5, MAX_VALUE = 72 };

static const struct nb_insn *insn_at(const struct nb_trail *t, uint32_t i)
{
	return &t->env->program.insns[nb_trail_at(t, i)->pc];
}

static const char *value(const struct nb_trail *t, uint32_t i, int number, unsigned depth);

/*
 * Return the last step before @i that wrote register @number of the frame
 * at @i, or t->n if none is known. For the first step of a callee that is
 * the call.
 */
static uint32_t writer(const struct nb_trail *t, uint32_t i, int number)
{
	uint32_t frames = nb_trail_at(t, i)->nframes;

	while (i-- > t->first) {
		const struct nb_trail_step *s = nb_trail_at(t, i);

		if (s->nframes > frames)
			continue;
		if (s->nframes < frames)
			return i; /* The step is a call. */
		if (nb_insn_writes(&t->env->program.insns[s->pc]) & 1u << number)
			return i;
	}
	return t->n;
}

/* Does step @i store bytes of the stack that @load reads at a known offset? */
static bool stores_to(const struct nb_trail *t, uint32_t i, const struct nb_mem_access *load)
{
	const struct nb_insn *in = insn_at(t, i);
	const struct nb_mem_access *x = &nb_trail_at(t, i)->access;

	return in->kind == NB_KIND_STORE && !(in->traits & NB_INSN_ORDERED) &&
	       x->kind == NB_REG_STACK && x->frame == load->frame &&
	       nb_access_end(x) > load->off.smin && x->off.smin < nb_access_end(load);
}

/* For a number loaded from a known place of the stack at step @i, return the
 * value that was stored there. */
static const char *stacked(const struct nb_trail *t, uint32_t i, unsigned depth)
{
	const struct nb_mem_access *x = &nb_trail_at(t, i)->access;

	for (uint32_t j = i; j-- > t->first;) {
		const struct nb_insn *s = insn_at(t, j);
		const struct nb_mem_access *y = &nb_trail_at(t, j)->access;

		if (s->kind == NB_KIND_CALL || s->kind == NB_KIND_ATOMIC ||
		    (s->kind == NB_KIND_STORE && s->traits & NB_INSN_ORDERED))
			/* This step may have overwritten the stored number. */
			return "";
		if (!stores_to(t, j, x))
			continue;
		if (!nb_range_equal(&y->off, &x->off) || y->size != x->size)
			return "";
		if (y->value < 0)
			return nb_say(t->env, "%" PRId64, s->imm);
		return value(t, j, y->value, depth + 1);
	}
	return "";
}

static const char *loaded(const struct nb_trail *t, uint32_t i, unsigned depth)
{
	const struct nb_trail_step *s = nb_trail_at(t, i);

	if (s->access.kind == NB_REG_STACK && nb_range_is_const(&s->access.off))
		return stacked(t, i, depth);
	return nb_say_place(t->env, &s->regs[s->access.reg], &s->access.off);
}

static const char *called(const struct nb_trail *t, uint32_t i)
{
	const struct nb_insn *in = insn_at(t, i);
	const struct nb_trail_step *s = nb_trail_at(t, i);
	const struct nb_helper_spec *h;

	if (nb_insn_calls_func(in))
		return nb_say(t->env, "%s()",
			      nb_say_func(t->env, (uint32_t)((int64_t)s->pc + 1 + in->off)));
	h = nb_spec_helper((int32_t)in->imm);
	if (!h)
		return "";
	if (h->arg[0] == NB_ARG_MAP && s->regs[1].kind == NB_REG_MAP)
		return nb_say(t->env, "bpf_%s(&%s)", h->name, nb_map_name(t->env, s->regs[1].map));
	return nb_say(t->env, "bpf_%s()", h->name);
}

static bool is_local_call(const struct nb_trail *t, uint32_t i)
{
	return nb_insn_calls_func(insn_at(t, i));
}

/* Return the operator of an assignment ("+" for "+="); "" unless it takes
 * two unsigned numbers. */
static const char *operator(struct nb_env *env, const struct nb_insn *in)
{
	const char *text = nb_spec_fn(in->fn)->text;
	size_t n = strlen(text);

	if (in->traits & NB_INSN_SIGNED || !n || text[n - 1] != '=')
		return "";
	return nb_say(env, "%.*s", (int)n - 1, text);
}

/* Return @a, in parentheses if it needs them as an operand. */
static const char *operand(struct nb_env *env, const char *a)
{
	return strchr(a, ' ') ? nb_say(env, "(%s)", a) : a;
}

static const char *computed(const struct nb_trail *t, uint32_t i, unsigned depth)
{
	const struct nb_insn *in = insn_at(t, i);
	const char *a, *b, *op = operator(t->env, in);

	if (nb_insn_copies(in) && in->operand == NB_OPND_REG)
		return value(t, i, in->src, depth + 1);
	if (in->operand == NB_OPND_IMM)
		b = nb_say(t->env, "%" PRId64, in->imm);
	else
		b = value(t, i, in->src, depth + 1);
	if (nb_insn_copies(in))
		return b;
	if (!*op)
		return "";
	a = value(t, i, in->dst, depth + 1);
	if (!*a || !*b || nb_reg_is_pointer(&nb_trail_at(t, i)->regs[in->dst]))
		return "";
	if (!strcmp(op, "<<") && in->operand == NB_OPND_IMM && (uint64_t)in->imm < 31)
		return nb_say(t->env, "%s * %d", operand(t->env, a), 1 << in->imm);
	return nb_say(t->env, "%s %s %s", operand(t->env, a), op, operand(t->env, b));
}

static const char *value(const struct nb_trail *t, uint32_t i, int number, unsigned depth)
{
	const struct nb_reg *r = &nb_trail_at(t, i)->regs[number];
	uint32_t by = writer(t, i, number);
	const char *text = "";

	if (r->kind == NB_REG_CTX && r->r.smin == 0)
		return "ctx";
	if (by == t->n || depth > MAX_NESTED)
		return "";
	if (nb_trail_at(t, by)->nframes < nb_trail_at(t, i)->nframes)
		return number >= 1 && number <= 5 && is_local_call(t, by)
			       ? value(t, by, number, depth + 1)
			       : "";
	switch (insn_at(t, by)->kind) {
	case NB_KIND_ALU:
		text = computed(t, by, depth);
		break;
	case NB_KIND_LOAD:
		text = loaded(t, by, depth);
		break;
	case NB_KIND_CALL:
		text = number == 0 ? called(t, by) : "";
		break;
	case NB_KIND_LDDW:
		text = r->kind == NB_REG_SCALAR ? nb_say(t->env, "%" PRId64, insn_at(t, by)->imm)
						: "";
		break;
	}
	return strlen(text) > MAX_VALUE ? "" : text;
}

static const char *side(const struct nb_trail *t, uint32_t i, int number, unsigned width)
{
	const char *text = value(t, i, number, 0);

	if (!*text)
		return nb_say(t->env, "%c%d", width == 32 ? 'w' : 'r', number);
	return operand(t->env, text);
}

static const char *condition(const struct nb_trail *t, uint32_t i, bool taken)
{
	const struct nb_insn *in = insn_at(t, i);
	const struct nb_reg *r = &nb_trail_at(t, i)->regs[in->dst];
	const char *a = side(t, i, in->dst, in->width), *b;
	const struct nb_fn_spec *fn = nb_spec_fn(in->fn);
	bool sign = fn->holds & NB_ORDER_SIGNED;

	if (in->operand == NB_OPND_REG)
		b = side(t, i, in->src, in->width);
	else if (!in->imm && nb_reg_is_pointer(r))
		b = "NULL";
	else
		b = nb_say(t->env, "%" PRId64, in->imm);
	if (in->fn == NB_FN_JSET)
		return nb_say(t->env, "(%s & %s) %s 0", a, b, taken ? "!=" : "==");
	if (!taken)
		fn = nb_spec_fn(fn->inverse);
	return nb_say(t->env, "%s %s %s%s", a, fn->text + sign, b, sign ? " (signed)" : "");
}

/*
 * Describe what the branch revealed about register @number; "" if it revealed
 * nothing new.
 */
static const char *learnt(const struct nb_trail *t, uint32_t i, int number)
{
	const struct nb_reg *was = &nb_trail_at(t, i)->regs[number];
	const struct nb_reg *is = &nb_trail_at(t, i + 1)->regs[number];

	if (is->kind != NB_REG_SCALAR || was->kind != NB_REG_SCALAR || nb_range_is_const(&is->r) ||
	    nb_range_equal(&was->r, &is->r))
		return "";
	return nb_say(t->env, "; %s", nb_say_reg(t->env, is, number));
}

/*
 * Describe the outcome of a call that has two outcomes: of an iterator or a
 * loop over callbacks.
 */
static const char *called_back(const struct nb_insn *insn, const struct nb_trail_step *s,
			       const struct nb_trail_step *next)
{
	if (nb_is_iter_next(insn))
		return next->regs[0].kind == NB_REG_SCALAR ? "no more numbers" : "one more number";
	if (next->nframes > s->nframes)
		return "the callback is called once more";
	return "no more calls";
}

const char *nb_trail_branch(const struct nb_trail *t, uint32_t i)
{
	const struct nb_trail_step *s;
	const struct nb_insn *in;
	bool taken;

	if (i <= t->first || i >= t->n)
		return "";
	s = nb_trail_at(t, --i);
	in = insn_at(t, i);
	taken = nb_trail_at(t, i + 1)->pc != s->pc + 1;
	if (in->kind == NB_KIND_CALL)
		return called_back(in, s, nb_trail_at(t, i + 1));
	if (in->kind == NB_KIND_MAY_GOTO)
		return taken ? "the may_goto budget is used up"
			     : "the may_goto budget allows one more iteration";
	return nb_say(t->env, "%s%s%s", condition(t, i, taken), learnt(t, i, in->dst),
		      in->operand == NB_OPND_REG ? learnt(t, i, in->src) : "");
}

/* The values that the notes still have to explain, going backwards. */
struct slice {
	const struct nb_trail *t;
	struct nb_finding *f;
	/* The slot that read the rank-local data, or NB_NO_PC if it is known or
	 * the finding is about other data. */
	uint32_t source;
	/* The call that made the pointer is not found yet. */
	bool nullable;
	/* Registers of each frame: bit i stands for ri. */
	uint16_t regs[NB_MAX_FRAMES];
	const struct nb_mem_access *stack[4]; /* Loads of the stack. */
	unsigned nstack;
	/*
	 * The slot of a branch whose registers the notes still have to explain;
	 * NB_NO_PC for none.
	 */
	uint32_t branch;
	/* Notes collected so far, the latest step first. */
	struct nb_step_note notes[MAX_NOTES];
	uint32_t n;
};

static void want(struct slice *s, unsigned frame, int number)
{
	if (number != NB_R10)
		s->regs[frame] |= (uint16_t)(1u << number);
}

static void add_note(struct slice *s, uint32_t pc, const char *text)
{
	if (s->n < MAX_NOTES)
		s->notes[s->n++] = (struct nb_step_note){ pc, text };
}

/* Describe why the value that step @i loads is rank-local. */
static const char *why_local(const struct slice *s, uint32_t i, int number)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	const struct nb_reg *r = &nb_trail_at(s->t, i + 1)->regs[number];

	if (r->label != NB_LABEL_LOCAL || r->from != at->pc)
		return "";
	return nb_say(s->t->env, " (%s)",
		      nb_say_local(s->t->env, at->regs, &at->access, at->pc).text);
}

/* Write a note that step @i writes register @number of the frame. */
static void note_def(struct slice *s, uint32_t i, int number)
{
	struct nb_env *env = s->t->env;
	const struct nb_insn *in = insn_at(s->t, i);
	const struct nb_reg *r = &nb_trail_at(s->t, i + 1)->regs[number];
	const char *from = value(s->t, i + 1, number, 0);
	const char *text = nb_say_insn(env, nb_trail_at(s->t, i)->pc);

	if (r->kind == NB_REG_UNINIT && in->kind == NB_KIND_CALL)
		text = nb_say(env, "%s; r1 to r5 do not survive calls", text);
	else if (*from && in->kind != NB_KIND_LDDW &&
		 !(nb_insn_copies(in) && in->operand == NB_OPND_IMM))
		text = nb_say(env, "%s; now r%d = %s, %s%s", text, number, from,
			      nb_say_reg(env, r, -1), why_local(s, i, number));
	else
		text = nb_say(env, "%s; now r%d: %s%s", text, number, nb_say_reg(env, r, -1),
			      why_local(s, i, number));
	add_note(s, nb_trail_at(s->t, i)->pc, text);
}

static void want_stack(struct slice *s, const struct nb_mem_access *x)
{
	if (nb_range_is_const(&x->off) && s->nstack < 4)
		s->stack[s->nstack++] = x;
}

/*
 * Mark the registers and stack bytes from which step @i computed a register
 * that still needs an explanation.
 */
static void want_uses(struct slice *s, uint32_t i)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	const struct nb_insn *in = insn_at(s->t, i);
	unsigned frame = at->nframes - 1;

	if (in->kind == NB_KIND_ALU) {
		if (in->operand == NB_OPND_REG)
			want(s, frame, in->src);
		if (!(in->traits & NB_INSN_MOVE))
			want(s, frame, in->dst);
		return;
	}
	if (in->kind != NB_KIND_LOAD || in->traits & NB_INSN_ORDERED)
		return;
	if (at->access.kind == NB_REG_STACK)
		want_stack(s, &at->access);
	else if (at->regs[in->src].label == NB_LABEL_LOCAL)
		want(s, frame, in->src);
}

/* Return the operand of a branch, or the argument of a helper that calls back,
 * that is rank-local; -1 if there is none. */
static int local_operand(const struct nb_trail *t, uint32_t i)
{
	const struct nb_insn *in = insn_at(t, i);
	const struct nb_reg *regs = nb_trail_at(t, i)->regs;
	bool loops = nb_insn_effect(in) == NB_EFFECT_CALLS;

	for (int r = 1; loops && r <= 4; r++)
		if (regs[r].label == NB_LABEL_LOCAL)
			return r;
	if (in->kind != NB_KIND_JMP)
		return -1;
	if (regs[in->dst].label == NB_LABEL_LOCAL)
		return in->dst;
	return in->operand == NB_OPND_REG && regs[in->src].label == NB_LABEL_LOCAL ? in->src : -1;
}

/*
 * If step @i is the source of the rank-local data that the finding is about, say
 * what it reads. A step that only passes the data on, such as a branch on it,
 * leads to the step that read its operand.
 */
static void look_at_source(struct slice *s, uint32_t i)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	struct nb_local_words words;
	int reg;

	if (at->pc != s->source)
		return;
	reg = local_operand(s->t, i);
	s->source = reg < 0 ? NB_NO_PC : at->regs[reg].from;
	if (reg >= 0 || insn_at(s->t, i)->kind == NB_KIND_JMP)
		return;
	words = nb_say_local(s->t->env, at->regs, &at->access, at->pc);
	s->f->known = nb_say(s->t->env, "%s; source: %s", s->f->known, words.text);
	if (*words.hint)
		s->f->hint = words.hint;
}

/*
 * Step @i is the helper call that made the pointer which may be NULL: name its
 * line, and the test that is missing after it. A test in another function than
 * the one that uses the pointer would not help.
 */
static void look_at_maker(struct slice *s, uint32_t i)
{
	const struct nb_program *p = &s->t->env->program;
	const uint32_t pc = nb_trail_at(s->t, i)->pc;
	const struct nb_line *l = nb_line_of(p->prog, pc);
	struct nb_finding *f = s->f;
	const char *name;

	s->nullable = false;
	if (!l || !l->text)
		return;
	f->known =
		nb_say(s->t->env, "%s; made by %s in line %u", f->known, called(s->t, i), l->line);
	name = nb_source_assigned(s->t->env, l->text);
	if (*name && p->cfg.func_of[pc] == p->cfg.func_of[f->pc])
		f->hint = nb_say(s->t->env, "after line %u add: if (!%s) return 0;", l->line, name);
}

/* Write a note for a store to stack bytes that the finding depends on. */
static void look_at_store(struct slice *s, uint32_t i)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	const struct nb_insn *in = insn_at(s->t, i);

	for (unsigned k = 0; k < s->nstack; k++) {
		if (!stores_to(s->t, i, s->stack[k]))
			continue;
		add_note(s, at->pc,
			 in->operand == NB_OPND_IMM
				 ? nb_say_insn(s->t->env, at->pc)
				 : nb_say(s->t->env, "%s: %s", nb_say_insn(s->t->env, at->pc),
					  nb_say_reg(s->t->env, &at->regs[in->src], in->src)));
		if (in->operand == NB_OPND_REG)
			want(s, at->nframes - 1, in->src);
		s->stack[k] = s->stack[--s->nstack];
		return;
	}
}

/*
 * Write a note for a branch that narrowed a register which the finding depends
 * on, or that leads to the finding.
 */
static void look_at_branch(struct slice *s, uint32_t i)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	const struct nb_trail_step *then = nb_trail_at(s->t, i + 1);
	const struct nb_insn *in = insn_at(s->t, i);
	unsigned frame = at->nframes - 1;
	bool decides = s->branch == at->pc, narrows = false;

	for (int r = 0; r < NB_R10; r++)
		if (s->regs[frame] & 1u << r && (at->regs[r].kind != then->regs[r].kind ||
						 !nb_range_equal(&at->regs[r].r, &then->regs[r].r)))
			narrows = true;
	if (!decides && !narrows)
		return;
	add_note(s, at->pc,
		 nb_say(s->t->env, "%s%s", nb_trail_branch(s->t, i + 1),
			decides ? ": this is decided by local data" : ""));
	if (!decides)
		return;
	s->branch = NB_NO_PC;
	want(s, frame, in->dst);
	if (in->operand == NB_OPND_REG)
		want(s, frame, in->src);
}

/* If a register got its rank-local label from a branch, explain that branch
 * too. */
static void want_origin(struct slice *s, uint32_t i, int number)
{
	const struct nb_reg *r = &nb_trail_at(s->t, i)->regs[number];
	const struct nb_env *env = s->t->env;

	if (r->label == NB_LABEL_LOCAL && r->from < env->program.n &&
	    env->program.insns[r->from].kind == NB_KIND_JMP && s->branch == NB_NO_PC)
		s->branch = r->from;
}

/*
 * Write notes for the registers that a step wrote, if the next step is in the
 * same frame.
 */
static void look_at_defs(struct slice *s, uint32_t i)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	unsigned frame = at->nframes - 1;
	unsigned hit = s->regs[frame] & nb_insn_writes(insn_at(s->t, i));

	for (int r = 0; r < NB_R10; r++) {
		if (!(hit & 1u << r))
			continue;
		note_def(s, i, r);
		want_origin(s, i + 1, r);
	}
	s->regs[frame] &= (uint16_t)~hit;
	if (hit)
		want_uses(s, i);
	if (hit & 1 && s->nullable && nb_insn_calls_helper(insn_at(s->t, i)))
		look_at_maker(s, i);
}

/*
 * Write notes for what step @i contributes to the values still to be explained.
 */
static void look_at_step(struct slice *s, uint32_t i)
{
	const struct nb_trail_step *at = nb_trail_at(s->t, i);
	uint32_t next = nb_trail_at(s->t, i + 1)->nframes;
	unsigned f = at->nframes - 1;

	/* The step is a call: explain its arguments. */
	if (next == at->nframes + 1) {
		if (is_local_call(s->t, i))
			s->regs[f] |= s->regs[f + 1] & 0x3e;
		s->regs[f + 1] = 0;
		/* The step is a return: explain r0. */
	} else if (next + 1 == at->nframes) {
		s->regs[f] |= s->regs[f - 1] & 1;
		s->regs[f - 1] &= (uint16_t)~0x3f;
	} else if (next == at->nframes) {
		if (insn_at(s->t, i)->kind == NB_KIND_JMP)
			look_at_branch(s, i);
		look_at_defs(s, i);
		look_at_store(s, i);
	}
}

static bool open_questions(const struct slice *s)
{
	bool any = s->nstack || s->branch != NB_NO_PC || s->source != NB_NO_PC;

	for (unsigned f = 0; f < NB_MAX_FRAMES; f++)
		any |= s->regs[f] != 0;
	return any;
}

static void slice_begin(struct slice *s)
{
	uint32_t last = s->t->n - 1;
	const struct nb_trail_step *at = nb_trail_at(s->t, last);
	const struct nb_finding *f = s->f;
	bool control = f->cls == NB_FIND_LOCAL_CONTROL;
	bool either = f->cls == NB_FIND_LOCAL_VERDICT || f->cls == NB_FIND_LOCAL_STATE;

	s->branch = s->source = NB_NO_PC;
	if (control || (either && at->region.open))
		s->branch = at->region.pc;
	if (control || either || f->cls == NB_FIND_LOCAL_OUTPUT)
		s->source = f->from;
	if (f->reg < 0 || control)
		return;
	s->nullable = (f->cls == NB_FIND_NULLABLE || f->cls == NB_FIND_NULL_ARITH ||
		       f->cls == NB_FIND_ARG_NULL) &&
		      at->regs[f->reg].kind != NB_REG_SCALAR;
	want(s, at->nframes - 1, f->reg);
	want_origin(s, last, f->reg);
}

void nb_trail_notes(const struct nb_trail *t, struct nb_finding *f)
{
	struct slice s = { .t = t, .f = f };
	struct nb_step_note *to;

	if (t->n == t->first)
		return;
	slice_begin(&s);
	for (uint32_t i = t->n - 1; i-- > t->first && open_questions(&s);) {
		look_at_source(&s, i);
		look_at_step(&s, i);
	}
	to = nb_arena_array(t->env->program.arena, s.n, sizeof(*to));
	if (!to)
		return;
	for (uint32_t i = 0; i < s.n; i++)
		to[i] = s.notes[s.n - 1 - i];
	f->notes = to;
	f->nnotes = s.n;
}
