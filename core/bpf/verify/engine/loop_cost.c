// SPDX-License-Identifier: MIT
/*
 * Compute what loops cost. The walk passes each loop at least once, but it
 * widens loops that the run time counts, so it does not see their iterations
 * one by one. Therefore the iterations of a loop in a run are computed where
 * the loop begins, as a product:
 *
 * (how often the loop begins on this path, in one iteration of the outer loop)
 * x (iterations of the outer loop) x (iterations of the loop itself, if they
 * are constant)
 *
 * A plain loop is walked iteration by iteration, and each arrival at its
 * header counts as one. The path's list of begun loops holds these counts.
 * When another path continues, the list is cut back to that path, like the
 * history of branches.
 */
#include "core/bpf/verify/engine/loop_cost.h"

#include "core/bpf/verify/engine/run_length.h"

#include <stdlib.h>

#include "core/bpf/verify/feature/callback.h"
#include "core/bpf/verify/feature/iter.h"
#include "core/bpf/verify/flow/cfg.h"

enum { MAX_ITERATIONS = 1 << 30 };

/* The cost of the loop that begins at slot @pc. */
struct nb_loop_cost {
	uint32_t pc;
	bool constant; /* The number of iterations is constant. */
	uint64_t iterations;
	uint64_t counted; /* Iterations that the run time has to grant. */
	/* @length: instructions of an iteration, from its end back to the
	 * end of an inner loop or to its start. @before: instructions from
	 * there to an inner loop. */
	uint32_t length, before;
};

/* A loop that began on the current path. */
struct nb_loop_begun {
	/* @prev: index of the loop's previous entry plus 1, or 0 for none. */
	uint32_t site, prev;
	/* Identity of the outer loop, and number of its iteration. */
	uint32_t loop, round;
	/* Plain loops: passes of may_goto before this entry. */
	uint32_t passes;
	/*
	 * Number of entries into this loop in iteration @round of the outer
	 * loop, including this one.
	 */
	uint32_t times;
};

/* The innermost active loop; @id is 0 if there is none. */
struct around {
	uint32_t id, pc, round;
};

static uint64_t cap(uint64_t n)
{
	return n < MAX_ITERATIONS ? n : MAX_ITERATIONS;
}

/* Return the innermost active loop. @except: the reference of an iterator
 * that begins now and is ignored, or 0. */
static struct around loop_around(const struct nb_state *st, uint32_t except)
{
	struct around in = { 0 };

	/* A frame below the top has a loop only while it waits for a
	 * callback. */
	for (uint32_t i = 0; i + 1 < st->nframes; i++) {
		const struct nb_frame *f = &st->frames[i];

		if (f->loop > in.id)
			in = (struct around){ f->loop, f[1].ret - 1, f->invocations };
	}
	for (uint32_t i = 0; i < st->nrefs; i++) {
		const struct nb_ref *r = &st->refs[i];

		if (r->id > in.id && r->id != except && nb_iter_is_open(st, r))
			in = (struct around){ r->id, r->pc, r->steps };
	}
	return in;
}

static bool is_counted(const struct nb_insn *insn)
{
	return insn->kind == NB_KIND_MAY_GOTO || nb_calls_back(insn) ||
	       nb_insn_effect(insn) == NB_EFFECT_ITER_NEW;
}

static void add_site(struct nb_loop_sites *l, uint32_t pc)
{
	if (!l->site[pc])
		l->site[pc] = ++l->n;
}

bool nb_loops_find(struct nb_program *program)
{
	struct nb_loop_sites *l = &program->loops;

	l->site = nb_arena_array(program->arena, program->n, sizeof(*l->site));
	if (!l->site)
		return false;
	for (uint32_t pc = 0; pc < program->n; pc++) {
		const struct nb_insn *insn = &program->insns[pc];
		bool jumps = insn->kind == NB_KIND_JMP || insn->kind == NB_KIND_JA;
		int64_t to = jumps ? nb_insn_target(insn, pc) : program->n;

		if (is_counted(insn))
			add_site(l, pc);
		if (to <= (int64_t)pc)
			add_site(l, (uint32_t)to);
	}
	return true;
}

bool nb_loops_begin(struct nb_walk *w)
{
	const struct nb_program *program = &w->env->program;
	const struct nb_loop_sites *l = &program->loops;
	struct nb_loop_cost *at;

	if (!l->n || w->env->walk.how.replay)
		return true;
	at = nb_arena_array(program->arena, l->n, sizeof(*at));
	w->loops.latest = nb_arena_array(program->arena, l->n, sizeof(*w->loops.latest));
	if (!at || !w->loops.latest)
		return false;
	for (uint32_t pc = 0; pc < program->n; pc++)
		if (l->site[pc])
			at[l->site[pc] - 1].pc = pc;
	w->env->walk.found.loops = at;
	return true;
}

static struct nb_loop_cost *site_at(const struct nb_walk *w, uint32_t pc)
{
	struct nb_loop_cost *at = w->env->walk.found.loops;
	uint32_t site = at ? w->env->program.loops.site[pc] : 0;

	return site ? &at[site - 1] : NULL;
}

static struct nb_loop_begun *add_begun(struct nb_walk *w)
{
	uint32_t size = w->loops.size ? w->loops.size * 2 : 64;
	struct nb_loop_begun *p;

	if (w->loops.n == w->loops.size) {
		p = realloc(w->loops.begun, size * sizeof(*p));
		if (!p) {
			w->env->walk.nomem = true;
			return NULL;
		}
		w->loops.begun = p;
		w->loops.size = size;
	}
	return &w->loops.begun[w->loops.n++];
}

/* Record that the loop at @s begins, and return how often it began in this
 * iteration of the outer loop @in. */
static uint32_t begin_once_more(struct nb_walk *w, struct nb_loop_cost *s, const struct around *in,
				uint32_t passes)
{
	uint32_t site = (uint32_t)(s - w->env->walk.found.loops);
	uint32_t *latest = &w->loops.latest[site];
	struct nb_loop_begun *b = add_begun(w);
	const struct nb_loop_begun *old;

	if (!b)
		return 1;
	*b = (struct nb_loop_begun){ site, *latest, in->id, in->round, passes, 1 };
	old = *latest ? &w->loops.begun[*latest - 1] : NULL;
	if (old && old->loop == in->id && old->round == in->round && old->passes == passes)
		b->times = old->times + 1;
	*latest = w->loops.n;
	return b->times;
}

void nb_loops_resume(struct nb_walk *w, uint32_t n)
{
	while (w->loops.n > n) {
		const struct nb_loop_begun *b = &w->loops.begun[--w->loops.n];

		w->loops.latest[b->site] = b->prev;
	}
}

/* Return how often a loop begins in a run if it begins @times in each
 * iteration of the outer loop @in. */
static uint64_t times_in_run(struct nb_walk *w, const struct around *in, uint32_t times)
{
	const struct nb_loop_cost *outer = in->id ? site_at(w, in->pc) : NULL;

	return cap(outer ? outer->iterations * times : times);
}

static void raise64(uint64_t *a, uint64_t b)
{
	if (*a < b)
		*a = b;
}

void nb_loop_header(struct nb_walk *w)
{
	struct nb_loop_cost *s = site_at(w, w->pc);
	struct around in;
	uint32_t times;

	if (!s || is_counted(&w->env->program.insns[w->pc]))
		return;
	in = loop_around(w->st, 0);
	times = begin_once_more(w, s, &in, w->may_gotos);
	/* The path arrives for the first time: this slot is the header of
	 * another loop, or the loop begins its first iteration. */
	if (times == 1)
		return;
	s->constant = true;
	raise64(&s->iterations, times_in_run(w, &in, times));
	/*
	 * The first arrival ends no iteration, so this count includes the
	 * instructions before the loop. They go to @before, unless another path
	 * has measured an iteration: then they may make @length, which is an
	 * estimate, too large.
	 */
	if (times == 2 && !s->length)
		s->before = w->loops.since;
	else
		nb_raise_length(&s->length, w->loops.since);
	w->loops.since = 0;
}

void nb_loop_enter(struct nb_walk *w, const struct nb_loop_entry *e)
{
	struct nb_loop_cost *s = site_at(w, e->pc), *outer;
	struct around in;
	uint64_t begins;

	if (!s)
		return;
	in = loop_around(w->st, e->ref);
	outer = in.id ? site_at(w, in.pc) : NULL;
	if (outer)
		nb_raise_length(&outer->before, w->loops.since);
	w->loops.since = 0;
	begins = times_in_run(w, &in, begin_once_more(w, s, &in, 0));
	s->constant |= e->times != 0;
	raise64(&s->iterations, cap(begins * (e->times ? e->times : 1)));
	if (!e->kept)
		raise64(&s->counted, cap(begins * e->times));
}

void nb_loop_iterate(struct nb_walk *w, uint32_t pc)
{
	struct nb_loop_cost *s = site_at(w, pc);

	if (s) {
		nb_raise_length(&s->length, w->loops.since);
		raise64(&s->iterations, 1);
	}
	w->loops.since = 0;
}

static uint64_t cost_of(const struct nb_loop_cost *s)
{
	uint64_t length = (uint64_t)s->length + s->before;

	return s->iterations * length;
}

void nb_loops_fill(struct nb_env *env)
{
	const struct nb_loop_cost *s = env->facts.loops, *worst = NULL;
	uint64_t counted = 0, all = env->facts.length.first;
	struct nb_loop_report *out = &env->v->runs.loop;

	*out = (struct nb_loop_report){ .pc = NB_NO_LOOP };
	for (uint32_t i = 0; s && i < env->program.loops.n; i++) {
		counted = cap(counted + s[i].counted);
		all += cost_of(&s[i]);
		if (!worst || cost_of(&s[i]) > cost_of(worst))
			worst = &s[i];
	}
	env->v->runs.constant_iterations = (uint32_t)counted;
	if (!worst || !cost_of(worst))
		return;
	out->pc = worst->pc;
	out->iterations = worst->constant ? (uint32_t)worst->iterations : 0;
	out->length = worst->length + worst->before;
	out->share = (uint32_t)(cost_of(worst) * 100 / all);
}
