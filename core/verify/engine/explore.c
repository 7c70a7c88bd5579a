// SPDX-License-Identifier: MIT
// The walk over all behaviours. Termination of what is accepted rests on
// this: a way ends at exit or at a state whose continuation was walked to its
// end (never at one still being walked, unless the run-time budget of a
// may_goto bounds that cycle). Stored states that never help are dropped, so
// a long loop costs time, which is bounded, rather than memory.
#include "core/verify/engine/explore.h"

#include <stdlib.h>
#include <string.h>

#include "core/verify/coherence/control_dep.h"
#include "core/verify/engine/precision.h"
#include "core/verify/feature/call.h"
#include "core/verify/feature/callback.h"
#include "core/verify/feature/global.h"
#include "core/verify/feature/helper_cost.h"
#include "core/verify/feature/iter.h"
#include "core/verify/feature/tail.h"
#include "core/verify/flow/calls.h"
#include "core/verify/insn/check.h"
#include "core/verify/insn/step.h"
#include "core/verify/report/report.h"
#include "core/verify/state/marks.h"

enum {
	UNIT = 64,	    /* stored states come in multiples of this */
	NCLASSES = 2048,    /* up to 128 KiB, more than any state */
	MAX_PENDING = 8192, /* ways not yet walked: the kernel's limit */
	JOINS = 2,	    /* rounds of a loop that join before bounds step */
	MISSES = 3,
	STRANGERS = 256,       /* of a state that an open path may come to */
	STRANGERS_A_UNIT = 32, /* of work */
	PATIENCE = 32,	       /* part of all memory for such states */
	LATE = 160,	       /* rounds of a loop before a late walk widens */
	RESERVE = 4096,	       /* bytes for saying that memory is used up */
	UNIT_OF_WORK = 256,    /* bytes of state that cost an instruction */
	WORK = 16 /* times opts.max_insns: other work than instructions */
};

/*
 * A stored state. ways counts the ways out of it that are not walked to
 * their end; while there are any, it lies on the way being walked.
 */
struct node {
	struct node *parent, *next;
	struct node *child;	/* the latest, while it has ways */
	struct nb_saved *saved; /* NULL: dropped */
	uint32_t size, ways, hits, misses, strangers;
	struct nb_key key;
	uint32_t used;	/* see used() */
	uint32_t loop;	/* before a turn of this call of a helper, or 0 */
	uint32_t round; /* of the loop whose budget bounds it */
	struct nb_marks marks;
	void *mem; /* what @marks keeps, while there are ways */
	uint32_t mem_size;
	/* instructions since @parent, or, with @cut, since a lap ended between
	 * them; the most that follow until one ends */
	uint32_t len, after;
	bool cut;
};

struct pending {
	struct nb_saved *saved;
	struct node *parent;
	uint32_t size, pc, nhistory, passes, len;
	bool cut;
	bool taken; /* the other way of the branch walked when it was pushed */
};

struct free_block {
	struct free_block *next;
};

struct walk {
	struct nb_env *env;
	struct nb_state *st;
	uint32_t pc;
	struct node *at;      /* the last stored state of this way */
	struct node **seen;   /* stored states by slot */
	struct node **passed; /* of may_goto: right after a pass is used up;
			       * of helpers that call back: before a turn */
	uint32_t *visits;     /* of joins */
	uint32_t passes;      /* may_goto passed on this way */
	uint32_t len; /* instructions since @at, or the lap's since then */
	bool cut;     /* a lap ended since @at */
	struct pending *pending;
	uint32_t npending, walked;
	uint32_t room;	 /* instructions that may be walked, and other work */
	uint32_t oldest; /* of pending; above 0 only where env->seek is */
	size_t kept;	 /* bytes of stored states */
	struct free_block *free[NCLASSES];
	struct free_block *free_nodes;
	struct nb_steps steps;
};

/* ---- memory ---- */

static void *fresh(struct walk *w, size_t size)
{
	struct nb_arena *a = w->env->arena;

	if (a->limit - a->used > RESERVE + size)
		return nb_arena_alloc(a, size);
	a->at_limit = true;
	return NULL;
}

static void *take(struct walk *w, size_t size)
{
	size_t class = (size + UNIT - 1) / UNIT;
	struct free_block *b = class < NCLASSES ? w->free[class] : NULL;

	if (b)
		w->free[class] = b->next;
	else
		b = fresh(w, class * UNIT);
	return b;
}

static void give(struct walk *w, void *p, size_t size)
{
	size_t class = (size + UNIT - 1) / UNIT;
	struct free_block *b = p;

	if (!b || class >= NCLASSES)
		return;
	b->next = w->free[class];
	w->free[class] = b;
}

static struct node *take_node(struct walk *w)
{
	struct free_block *b = w->free_nodes;
	struct node *n;

	if (b)
		w->free_nodes = b->next;
	n = b ? (void *)b : fresh(w, sizeof(*n));
	if (n)
		memset(n, 0, sizeof(*n));
	return n;
}

static void give_node(struct walk *w, struct node *n)
{
	struct free_block *b = (void *)n;

	b->next = w->free_nodes;
	w->free_nodes = b;
}

static int over_memory(struct walk *w)
{
	/* Not the stated limit: the machine's memory is used up. */
	if (!w->env->arena->at_limit)
		return NB_E_NOMEM;
	return nb_refuse(w->env, NB_FIND_MEMORY, w->pc, -1,
			 nb_say(w->env, "at most %zu bytes for states",
				w->env->opts.max_memory),
			 nb_say(w->env,
				"%u instructions walked, %u states "
				"kept",
				w->walked, w->env->v->stats.states_kept),
			 "");
}

/* ---- what matters of a state ---- */

static void live_at(const struct walk *w, uint32_t pc, struct nb_live *live)
{
	const uint16_t *at = w->env->cfg.live;

	for (uint32_t i = 0; i + 1 < w->st->nframes; i++) {
		const struct nb_frame *callee = &w->st->frames[i + 1];

		/* r0 comes from the callee, r1-r5 are gone, unless the helper
		 * that called back goes on with them. */
		live->regs[i] = callee->callback ? at[callee->ret - 1] & 0x3fe
						 : at[callee->ret] & 0x3c0;
	}
	live->regs[w->st->nframes - 1] = at[pc];
}

/* @size bytes of a state were copied or compared. */
static void charge(struct walk *w, size_t size)
{
	w->env->work += size / UNIT_OF_WORK;
}

static struct nb_saved *save(struct walk *w, uint32_t pc, uint32_t *size)
{
	struct nb_live live;
	struct nb_saved *s;

	live_at(w, pc, &live);
	*size = (uint32_t)nb_state_size(w->st, &live);
	charge(w, *size);
	s = take(w, *size);
	if (s)
		nb_state_save(s, w->st, &live);
	return s;
}

/* ---- laps: see NB_RUN_BUDGET ---- */

static uint32_t add_len(uint32_t a, uint32_t b)
{
	return a < NB_LAP_FAR - b ? a + b : NB_LAP_FAR;
}

static void at_least(uint32_t *a, uint32_t b)
{
	if (*a < b)
		*a = b;
}

/* A lap of @len instructions, @from that stored state on unless one ended
 * since; NULL: from the start. */
static void note_lap(struct walk *w, struct node *from, bool cut, uint32_t len)
{
	if (cut && w->env->lap < len) {
		w->env->lap = len;
		w->env->lap_pc = w->pc;
	}
	if (!cut)
		at_least(from ? &from->after : &w->env->first, len);
}

/* This way's lap ends, at most @after instructions from here. */
static void end_lap(struct walk *w, uint32_t after)
{
	note_lap(w, w->at, w->cut, add_len(w->len, after));
}

/* A call of @n instructions, its own apart. */
static void add_call(struct walk *w, uint32_t n)
{
	w->len = add_len(w->len, n);
	if (w->env->call < n) {
		w->env->call = n;
		w->env->call_pc = w->pc;
	}
}

/* The helper called here. */
static void weigh(struct walk *w)
{
	add_call(w, nb_helper_weight(w->env, w->st, w->pc));
}

/* A pass, turn or number that the run counts. */
static void count_lap(struct walk *w)
{
	end_lap(w, 0);
	w->len = 0;
	w->cut = true;
}

/* What follows @n follows the state before it; and, before a turn, each turn
 * that led back to it. */
static void hand_on(struct walk *w, const struct node *n)
{
	if (n->loop)
		note_lap(w, NULL, true, n->after);
	note_lap(w, n->parent, n->cut, add_len(n->len, n->after));
}

/* ---- ways ---- */

static bool seeking(const struct walk *w)
{
	return w->env->seek && !w->env->seek->follow;
}

static bool following(const struct walk *w)
{
	return w->env->seek && w->env->seek->follow;
}

/* One more branch on this way. In a search ways share their beginnings, so
 * there the history is a tree and env->nhistory the branch (+ 1) it ends at. */
static void remember(struct walk *w, uint32_t pc)
{
	struct nb_env *env = w->env;
	uint32_t cap = env->history_cap ? env->history_cap * 2 : 256;
	uint32_t at = seeking(w) ? env->nturns : env->nhistory;
	struct nb_turn *p;

	if (at == env->history_cap) {
		p = realloc(env->history, cap * sizeof(*p));
		if (!p) {
			env->nomem = true;
			return;
		}
		env->history = p;
		env->history_cap = cap;
	}
	env->history[at] =
		(struct nb_turn){ .pc = pc, .before = env->nhistory };
	env->nturns = env->nhistory = at + 1;
}

/* What the branch just remembered did; @open: the other way is there too. */
static void turn(struct walk *w, bool taken, bool open)
{
	struct nb_env *env = w->env;

	if (!env->nhistory)
		return;
	env->history[env->nhistory - 1].taken = taken;
	env->history[env->nhistory - 1].open = open;
}

/* The same branch, taken: what a way pushed beside it goes through. */
static void turn_taken(struct walk *w)
{
	struct nb_env *env = w->env;
	struct nb_turn *t =
		env->nhistory ? &env->history[env->nhistory - 1] : NULL;
	bool open = t && t->open;

	if (!t)
		return;
	if (seeking(w)) {
		env->nhistory = t->before;
		remember(w, t->pc);
	}
	turn(w, true, open);
}

/* Does a branch lead back to @head? */
static bool is_loop(const struct nb_env *env, uint32_t head)
{
	for (uint32_t pc = head; pc < env->n; pc++) {
		const struct nb_insn *insn = &env->insns[pc];
		bool jumps = insn->kind == NB_KIND_JMP ||
			     insn->kind == NB_KIND_JA ||
			     insn->kind == NB_KIND_MAY_GOTO;

		if (jumps && (int64_t)pc + 1 + insn->off == head)
			return true;
	}
	return false;
}

/* The loop's head, or else the join, that was walked most often. */
static uint32_t busiest(const struct walk *w)
{
	uint32_t head = w->pc, loop = NB_NO_PC;

	for (uint32_t pc = 0; pc < w->env->n; pc++) {
		if (w->visits[pc] > w->visits[head])
			head = pc;
		if ((loop == NB_NO_PC || w->visits[pc] > w->visits[loop]) &&
		    w->visits[pc] && is_loop(w->env, pc))
			loop = pc;
	}
	return loop == NB_NO_PC ? head : loop;
}

/* What still changes from state to state at @head; "": nothing is known. */
static const char *say_change(struct walk *w, uint32_t head)
{
	const struct node *n = w->seen[head];
	struct nb_env *env = w->env;
	struct nb_reg was, is;
	int number;

	if (!n || !n->next)
		return "";
	number = nb_saved_change(n->next->saved, n->saved, &was, &is);
	if (number < 0)
		return "";
	return nb_say(env, "; still changing: %s, then %s",
		      nb_say_reg(env, &was, number),
		      nb_say_reg(env, &is, number));
}

/* A verdict would take too much: name the loop, and what it does not settle. */
static int refuse_complexity(struct walk *w, const char *required)
{
	uint32_t head = busiest(w);
	struct nb_env *env = w->env;

	return nb_refuse(
		env, NB_FIND_COMPLEXITY, head, -1, required,
		nb_say(env, "the walk passed %s %s %u times%s",
		       is_loop(env, head) ? "the loop at" : "the join at",
		       nb_say_where(env, head), w->visits[head],
		       say_change(w, head)),
		"");
}

/* Walk on from @pc later, with the state as it is now. */
static int push(struct walk *w, uint32_t pc)
{
	struct pending *p = &w->pending[w->npending];

	if (w->npending == MAX_PENDING)
		return refuse_complexity(
			w, nb_say(w->env, "at most %d open paths at a time",
				  MAX_PENDING));
	p->saved = save(w, pc, &p->size);
	if (!p->saved)
		return over_memory(w);
	p->pc = pc;
	p->parent = w->at;
	p->nhistory = w->env->nhistory;
	p->passes = w->passes;
	p->len = w->len;
	p->cut = w->cut;
	p->taken = true;
	if (w->at)
		w->at->ways++;
	w->npending++;
	return 0;
}

static void drop(struct walk *w, struct node *n)
{
	give(w, n->saved, n->size);
	w->kept -= n->size;
	n->saved = NULL;
	w->env->v->stats.states_kept--;
}

/* The way goes on from state @n, or from the start. */
static void stand(struct walk *w, struct node *n)
{
	w->at = n;
	w->env->marks = n && n->mem ? &n->marks : NULL;
}

/* This way is at its end: tell the states it came from. */
static void finish(struct walk *w)
{
	struct node *n = w->at;

	while (n && !--n->ways) {
		struct node *parent = n->parent;

		hand_on(w, n);
		if (n->saved && n->mem) {
			nb_state_note_read(n->saved, n->marks.read);
			n->key = nb_saved_key(n->saved, n->marks.precise);
		}
		give(w, n->mem, n->mem_size);
		n->mem = NULL;
		if (parent)
			parent->child = NULL;
		if (!n->saved)
			give_node(w, n);
		n = parent;
	}
	stand(w, NULL);
}

/*
 * A dropped state is on this way only to hand marks on from the one after
 * it: take it out of the chain. A long loop has thousands.
 */
static void splice(struct walk *w, struct node *n)
{
	struct node *c = n->child;

	if (n->ways != 1 || !c || c->parent != n || w->env->seek)
		return;
	/* what follows a state before a turn ends a lap from there: it stays
	 * until all of that is known */
	if (n->loop && !n->cut)
		return;
	if (n->mem)
		nb_marks_skip(&c->marks, &n->marks);
	hand_on(w, n);
	if (!c->cut) {
		c->len = add_len(c->len, n->len);
		c->cut = n->cut;
	}
	c->parent = n->parent;
	if (n->parent)
		n->parent->child = c;
	give(w, n->mem, n->mem_size);
	give_node(w, n);
}

static void resume(struct walk *w, const struct pending *p)
{
	nb_state_restore(w->st, p->saved);
	charge(w, p->size);
	give(w, p->saved, p->size);
	w->pc = p->pc;
	stand(w, p->parent);
	w->env->nhistory = p->nhistory;
	w->passes = p->passes;
	w->len = p->len;
	w->cut = p->cut;
	if (p->taken)
		turn_taken(w);
}

/* Take the latest open way; false: none is left. */
static bool pop(struct walk *w)
{
	if (w->npending == w->oldest)
		return false;
	resume(w, &w->pending[--w->npending]);
	return true;
}

/* Take the way that is open longest: it has the fewest branches. */
static bool pop_oldest(struct walk *w)
{
	if (w->npending == w->oldest)
		return false;
	resume(w, &w->pending[w->oldest++]);
	if (w->oldest < MAX_PENDING / 2)
		return true;
	w->npending -= w->oldest;
	memmove(w->pending, w->pending + w->oldest,
		w->npending * sizeof(*w->pending));
	w->oldest = 0;
	return true;
}

/* ---- stored states ---- */

static int refuse_loop(struct walk *w)
{
	return nb_refuse(w->env, NB_FIND_LOOP, w->pc, -1,
			 "something that changes on every pass of the loop and "
			 "brings it to its end",
			 nb_say(w->env,
				"after one pass everything known is as before "
				"at %s",
				nb_say_where(w->env, w->pc)),
			 "");
}

enum found { GO_ON, COVERED, REFUSED };

/* A list of stored states, and what being in it means. */
struct list {
	struct node **head;
	/* each arrival here used up a pass of a may_goto, or, after the first
	 * one, a turn of this call of a helper */
	bool pass;
	uint32_t loop;
	uint32_t round;
	struct nb_live live;
};

/* What the rules of the run time used up on this way: passes of may_goto,
 * turns of the helpers at work, numbers of the iterators that are there. */
static uint32_t used(const struct walk *w)
{
	uint32_t n = w->passes;

	for (uint32_t i = 0; i < w->st->nframes; i++)
		n += w->st->frames[i].turns;
	for (uint32_t i = 0; i < w->st->nrefs; i++)
		n += w->st->refs[i].turns;
	return n;
}

/* Does everything of a stored state count? */
static bool exact(const struct walk *w)
{
	return w->env->opts.exact || w->env->seek;
}

/* This way relies on @n's: what mattered there matters here. */
static void rely(struct walk *w, const struct node *n,
		 const struct nb_inside *in)
{
	if (n->ways) {
		nb_mark_all(w->env, w->st);
		return;
	}
	nb_mark(w->env, in->deps);
	for (uint32_t i = 0; i < w->st->nframes; i++)
		nb_mark_cells(w->env, w->st, i, in->cells[i]);
}

/*
 * A state that is not walked to its end lies on this very way. To stop at it
 * would accept a loop, which is right only where each lap uses up a pass of
 * the run-time budget. Meeting it again unchanged is an endless loop, unless
 * the lap used up passes: then the budget ends it.
 */
static enum found compare(struct walk *w, const struct node *n,
			  const struct list *l)
{
	bool stop = !n->ways || l->pass || seeking(w);
	struct nb_inside in;
	bool inside;

	in.all = exact(w) || n->ways;
	in.precise = n->marks.precise;
	if (!stop && n->used != used(w))
		return GO_ON;
	inside = stop ? nb_state_covers(n->saved, w->st, &l->live, &in)
		      : nb_state_same(n->saved, w->st, &l->live, &in);
	charge(w, in.size);
	if (!inside)
		return GO_ON;
	if (stop) {
		rely(w, n, &in);
		/* A lap ended right here if that lies on this way. */
		end_lap(w, n->ways ? 0 : n->after);
		return COVERED;
	}
	refuse_loop(w);
	return REFUSED;
}

/*
 * Is @n not worth its memory? A state that its key tells apart costs little to
 * compare. While other paths are open, they may come to it: a search for the
 * best of 64 elements comes back to each after about 128 others.
 */
static bool is_useless(const struct walk *w, const struct node *n)
{
	bool patient = w->npending > w->oldest &&
		       w->kept < w->env->opts.max_memory / PATIENCE;
	uint32_t strangers = patient ? STRANGERS : MISSES;

	return n->misses > MISSES * (n->hits + 1) ||
	       n->strangers > strangers * (n->hits + 1);
}

static void remove_node(struct walk *w, struct node **link)
{
	struct node *n = *link;

	*link = n->next;
	drop(w, n);
	if (!n->ways)
		give_node(w, n);
	else
		splice(w, n);
}

/* Look for a stored state that answers for this one. */
static enum found look(struct walk *w, const struct list *l,
		       const struct node **latest)
{
	const uint64_t key = nb_state_key(w->st);
	struct node **link = l->head;
	uint32_t strangers = 0;

	while (*link) {
		struct node *n = *link;
		bool stranger = (n->key.value ^ key) & n->key.mask;
		enum found f = stranger ? GO_ON : compare(w, n, l);

		if (f != GO_ON) {
			n->hits++;
			return f;
		}
		strangers += stranger;
		n->strangers += stranger;
		n->misses += !stranger;
		if (is_useless(w, n)) {
			remove_node(w, link);
			continue;
		}
		if (n->ways && n->loop == l->loop && !*latest)
			*latest = n;
		link = &n->next;
	}
	w->env->work += strangers / STRANGERS_A_UNIT;
	return GO_ON;
}

/* From now on values say what of @n they came from. */
static bool begin_marks(struct walk *w, struct node *n)
{
	if (exact(w))
		return true;
	n->mem_size = (uint32_t)nb_marks_size(w->st);
	n->mem = take(w, n->mem_size);
	if (n->mem)
		nb_marks_begin(w->env, &n->marks, w->st, n->mem);
	return n->mem;
}

static int store_state(struct walk *w, const struct list *l)
{
	struct nb_verify_stats *stats = &w->env->v->stats;
	struct node *n = take_node(w);

	if (!n)
		return over_memory(w);
	if (begin_marks(w, n))
		n->saved = save(w, w->pc, &n->size);
	if (!n->saved) {
		give_node(w, n);
		return over_memory(w);
	}
	w->kept += n->size;
	n->ways = 1;
	n->key = nb_saved_key(n->saved, UINT64_MAX);
	n->used = used(w);
	n->loop = l->loop;
	n->round = l->round;
	n->len = w->len;
	n->cut = w->cut;
	w->len = 0;
	w->cut = false;
	n->parent = w->at;
	if (n->parent)
		n->parent->child = n;
	n->next = *l->head;
	*l->head = n;
	stand(w, n);
	if (++stats->states_kept > stats->states_peak)
		stats->states_peak = stats->states_kept;
	return 0;
}

/* At a join: covered, endless, or one more state to remember. */
static enum found checkpoint(struct walk *w)
{
	struct list l = { &w->seen[w->pc], false, 0, 0, { { 0 } } };
	const struct node *latest = NULL;
	enum found f;

	w->visits[w->pc]++;
	live_at(w, w->pc, &l.live);
	nb_state_forget(w->st, &l.live);
	f = following(w) ? GO_ON : look(w, &l, &latest);
	if (f != GO_ON || following(w))
		return f;
	return store_state(w, &l) ? REFUSED : GO_ON;
}

/* Right after the may_goto at @pc was passed; w->pc is the next slot. Or
 * before a turn at @pc of call @loop of a helper. */
static enum found passpoint(struct walk *w, uint32_t pc, uint32_t loop,
			    bool widen)
{
	struct list l = { &w->passed[pc], true, loop, 0, { { 0 } } };
	uint32_t exact = w->env->mode == NB_WALK_LATE ? LATE : 0;
	const struct node *latest = NULL;
	enum found f;

	live_at(w, w->pc, &l.live);
	nb_state_forget(w->st, &l.live);
	f = following(w) ? GO_ON : look(w, &l, &latest);
	if (f != GO_ON || following(w))
		return f;
	l.round = latest ? latest->round + 1 : 0;
	if (widen && latest && l.round > exact)
		nb_state_widen(w->st, latest->saved, &l.live,
			       l.round <= exact + JOINS ? NULL : &w->steps);
	return store_state(w, &l) ? REFUSED : GO_ON;
}

/* ---- one instruction ---- */

static int note_verdict(struct walk *w)
{
	struct nb_env *env = w->env;
	const struct nb_reg *r0 = &nb_top(w->st)->regs[0];
	bool local = r0->label == NB_LABEL_LOCAL || w->st->region.open;
	uint32_t from =
		r0->label == NB_LABEL_LOCAL ? r0->from : w->st->region.pc;

	if (env->seek)
		return local ? nb_refuse_verdict(env, w->pc, from) : 0;

	if (!nb_reg_is_const(r0) ||
	    (env->exit_seen && env->exit_value != r0->r.t.value))
		env->exit_mixed = true;
	/* Or else that all exits return this is a conclusion. */
	if (!env->exit_mixed)
		nb_mark(env, r0->deps);
	env->exit_seen = true;
	env->exit_value = r0->r.t.value;
	if (local && env->exit_local == NB_NO_PC) {
		env->exit_local = w->pc;
		env->exit_from = from;
	}
	return 0;
}

/* The state as it is, to come back to; NULL: no memory. */
static struct nb_saved *keep(struct walk *w, uint32_t *size)
{
	struct nb_saved *s;
	struct nb_live all;

	for (uint32_t i = 0; i < w->st->nframes; i++)
		all.regs[i] = 0x7ff;
	*size = (uint32_t)nb_state_size(w->st, &all);
	/* Copied twice, and looked through for links. */
	charge(w, *size * 3);
	s = take(w, *size);
	if (s)
		nb_state_save(s, w->st, &all);
	return s;
}

/* How a jump goes was concluded from what it compares. */
static void mark_operands(struct walk *w)
{
	const struct nb_insn *insn = &w->env->insns[w->pc];
	const struct nb_reg *regs = nb_top(w->st)->regs;

	nb_mark(w->env, regs[insn->dst].deps);
	if (insn->operand == NB_OPND_REG)
		nb_mark(w->env, regs[insn->src].deps);
}

/* Both ways of a jump, unless one is impossible. */
static int branch(struct walk *w)
{
	struct nb_env *env = w->env;
	const struct nb_insn *insn = &env->insns[w->pc];
	uint32_t to = (uint32_t)((int64_t)w->pc + 1 + insn->off), from, size;
	struct nb_saved *before;
	bool taken, falls, pointers;
	int rc;

	if (nb_step_branch_local(env, w->st, w->pc, &from))
		nb_region_open(env, w->st, w->pc);
	remember(w, w->pc);
	if (nb_step_branch_known(env, w->st, w->pc, &taken)) {
		mark_operands(w);
		turn(w, taken, false);
		env->aux[w->pc] |=
			taken ? NB_AUX_BRANCH_TAKEN : NB_AUX_BRANCH_FALLS;
		w->pc = taken ? to : w->pc + 1;
		return 0;
	}
	before = keep(w, &size);
	if (!before)
		return over_memory(w);
	pointers = nb_step_branch_pointers(env, w->st, w->pc);
	if (pointers)
		mark_operands(w);
	taken = nb_step_branch(env, w->st, w->pc, true);
	rc = taken ? push(w, to) : 0;
	nb_state_restore(w->st, before);
	falls = nb_step_branch(env, w->st, w->pc, false);
	if (!rc && !taken && !falls) {
		/* No proof of anything: walk both ways as they were. */
		nb_state_restore(w->st, before);
		rc = push(w, to);
		taken = falls = true;
	}
	give(w, before, size);
	if (rc)
		return rc;
	if (taken != falls && !pointers)
		nb_mark_all(env, w->st); /* by links: rare */
	turn(w, false, taken && falls);
	env->aux[w->pc] |= (uint8_t)((taken ? NB_AUX_BRANCH_TAKEN : 0) |
				     (falls ? NB_AUX_BRANCH_FALLS : 0));
	if (falls) {
		w->pc++;
		return 0;
	}
	/* Only the way just pushed is left: go on with it at once. */
	if (w->at)
		w->at->ways--;
	pop(w);
	return 0;
}

/* Either the budget is used up, or one pass less is left of it. */
static int may_goto(struct walk *w, bool *more)
{
	const struct nb_insn *insn = &w->env->insns[w->pc];
	uint32_t pc = w->pc, from;
	enum found f;
	int rc;

	if (nb_step_branch_local(w->env, w->st, pc, &from))
		nb_region_open(w->env, w->st, pc);
	remember(w, pc);
	turn(w, false, true);
	nb_budget_pass(w->env, w->st);
	w->env->aux[pc] |= NB_AUX_BRANCH_TAKEN | NB_AUX_BRANCH_FALLS;
	rc = push(w, (uint32_t)((int64_t)pc + 1 + insn->off));
	if (rc)
		return rc;
	w->pc++;
	w->passes++;
	count_lap(w);
	f = passpoint(w, pc, 0, w->env->mode != NB_WALK_EXACT);
	*more = f == GO_ON;
	return f == REFUSED ? NB_E_VERIFY : 0;
}

/* Before a turn of a helper that calls back: one way leaves, one goes on. */
static int call_back(struct walk *w, bool *more)
{
	bool again = nb_top(w->st)->loop != 0;
	uint32_t pc = w->pc, size;
	struct nb_saved *before;
	enum found f;
	int rc;

	if (!again) {
		weigh(w);
		nb_callback_begin(w->env, w->st, pc);
	} else {
		count_lap(w);
	}
	add_call(w, nb_turn_weight(w->env, w->st, pc));
	remember(w, pc);
	nb_callback_turn(w->env, w->st, pc);
	f = passpoint(w, pc, nb_top(w->st)->loop,
		      again && !nb_top(w->st)->counted);
	*more = f == GO_ON;
	if (f != GO_ON)
		return f == REFUSED ? NB_E_VERIFY : 0;
	w->pc++;
	if (!nb_callback_more(w->env, w->st, pc)) {
		turn(w, true, false);
		nb_callback_leave(w->env, w->st, pc);
		return 0;
	}
	turn(w, false, true);
	before = keep(w, &size);
	if (!before)
		return over_memory(w);
	nb_callback_leave(w->env, w->st, pc);
	rc = push(w, w->pc);
	nb_state_restore(w->st, before);
	give(w, before, size);
	w->pc = nb_callback_enter(w->env, w->st, pc);
	return rc;
}

/* The callback's exit. */
static int end_turn(struct walk *w)
{
	w->pc = nb_top(w->st)->ret - 1;
	if (!nb_callback_return(w->env, w->st)) {
		count_lap(w);
		nb_callback_leave(w->env, w->st, w->pc);
		w->pc++;
	}
	return 0;
}

/* An iterator finds one more number, or its end. */
static int iterate(struct walk *w, bool *more)
{
	bool on = nb_iter_may_go_on(w->st), end = nb_iter_may_end(w->st);
	uint32_t pc = w->pc++, size, ref = nb_iter_ref(w->st);
	struct nb_saved *before;
	enum found f;
	int rc = 0;

	remember(w, pc);
	turn(w, !on, on && end);
	if (on && end) {
		before = keep(w, &size);
		if (!before)
			return over_memory(w);
		nb_iter_next(w->env, w->st, pc, false);
		rc = push(w, w->pc);
		nb_state_restore(w->st, before);
		give(w, before, size);
	}
	nb_iter_next(w->env, w->st, pc, on);
	if (on)
		count_lap(w);
	/* Where its end is known the numbers are counted, as a loop's are. */
	if (rc || !on || !end)
		return rc;
	f = passpoint(w, pc, ref, true);
	*more = f == GO_ON;
	return f == REFUSED ? NB_E_VERIFY : 0;
}

static int call(struct walk *w)
{
	int64_t to = (int64_t)w->pc + 1 + w->env->insns[w->pc].off;
	struct nb_global *g = nb_global_at(w->env, to);

	if (g) {
		add_call(w, g->lap);
		w->env->counts |= g->counts;
		nb_global_call(w->env, w->st, w->pc++, g);
		return 0;
	}
	nb_call_enter(w->st, w->pc);
	w->pc = (uint32_t)to;
	return 0;
}

/* The other program runs and ends, or there is none. */
static int tail_call(struct walk *w)
{
	uint32_t pc = w->pc, size;
	struct nb_saved *before;
	int rc = 0;

	nb_global_note_tail(w->env);
	if (w->st->nframes > 1) {
		remember(w, pc);
		turn(w, false, true);
		before = keep(w, &size);
		if (!before)
			return over_memory(w);
		pc = nb_top(w->st)->ret;
		nb_tail_return(w->env, w->st);
		rc = push(w, pc);
		nb_state_restore(w->st, before);
		give(w, before, size);
	}
	nb_step(w->env, w->st, w->pc++);
	return rc;
}

/* false in *@more: this way ended. */
static int leave(struct walk *w, bool *more)
{
	struct nb_state *st = w->st;

	if (st->nframes == 1) {
		*more = false;
		end_lap(w, 0);
		if (!w->env->root)
			return note_verdict(w);
		nb_global_exit(w->env, st);
		return 0;
	}
	if (nb_top(st)->callback)
		return end_turn(w);
	w->pc = nb_top(st)->ret;
	nb_call_leave(w->env, st);
	return 0;
}

static int advance(struct walk *w, bool *more)
{
	struct nb_env *env = w->env;
	const struct nb_insn *insn = &env->insns[w->pc];

	switch ((enum nb_kind)insn->kind) {
	case NB_KIND_JMP:
		return branch(w);
	case NB_KIND_MAY_GOTO:
		return may_goto(w, more);
	case NB_KIND_JA:
		w->pc = (uint32_t)((int64_t)w->pc + 1 + insn->off);
		return 0;
	case NB_KIND_EXIT:
		return leave(w, more);
	case NB_KIND_CALL:
		if (insn->fn == NB_FN_LOCAL) {
			return call(w);
		}
		if (nb_calls_back(insn))
			return call_back(w, more);
		if (nb_is_tail_call(insn))
			return tail_call(w);
		if (nb_is_iter_next(insn))
			return iterate(w, more);
		weigh(w);
		break;
	case NB_KIND_ALU:
	case NB_KIND_LOAD:
	case NB_KIND_STORE:
	case NB_KIND_ATOMIC:
	case NB_KIND_LDDW:
	case NB_KIND_LDDW_HI:
		break;
	}
	nb_step(env, w->st, w->pc);
	w->pc += insn->kind == NB_KIND_LDDW ? 2 : 1;
	return 0;
}

/* Instructions that the policy's budget leaves for this program. */
static uint32_t policy_room(const struct nb_env *env)
{
	uint64_t spent = (uint64_t)env->opts.policy_spent + env->v->stats.work;

	if (!env->opts.policy_insns)
		return UINT32_MAX;
	return spent < env->opts.policy_insns
		       ? env->opts.policy_insns - (uint32_t)spent
		       : 0;
}

static int over_policy(struct walk *w, uint32_t head)
{
	struct nb_env *env = w->env;

	return nb_refuse(env, NB_FIND_POLICY_WORK, head, -1,
			 nb_say(env,
				"verdicts on all programs of the policy within "
				"%u instructions walked",
				env->opts.policy_insns),
			 nb_say(env,
				"%u were walked for the programs before it; "
				"this one took the rest and was at %s",
				env->opts.policy_spent,
				nb_say_where(env, head)),
			 "");
}

/* Out of steps: the join passed most often is where the time went. */
static int over_steps(struct walk *w)
{
	struct nb_env *env = w->env;

	if (!env->seek && w->room == policy_room(env))
		return over_policy(w, busiest(w));
	return refuse_complexity(
		w, nb_say(env, "a verdict within %u instructions%s",
			  env->opts.max_insns,
			  w->walked > w->room ? ""
					      : ", or fewer with much on "
						"the stack"));
}

/*
 * In a second walk, @before ways were open before this instruction and it
 * opened more. A search puts the way at hand behind them, so that ways are
 * walked in the order of their branches; a repetition takes the turn it is
 * told. false: this way is to be left.
 */
static int choose(struct walk *w, uint32_t before, bool *more)
{
	const struct nb_seek *k = w->env->seek;
	uint32_t at = w->env->nhistory;
	int rc;

	if (!k->follow) {
		rc = push(w, w->pc);
		if (!rc)
			w->pending[w->npending - 1].taken = false;
		*more = false;
		return rc;
	}
	*more = at && at <= k->nturns &&
		k->turns[at - 1].pc == w->env->history[at - 1].pc;
	if (*more && k->turns[at - 1].taken)
		pop(w);
	w->npending = w->oldest = before;
	return 0;
}

/* One way, from w->pc to its end. */
static int walk_way(struct walk *w)
{
	struct nb_env *env = w->env;
	bool more = true;
	int rc = 0;

	while (more && !rc) {
		struct nb_region *r = &w->st->region;
		uint32_t open = w->npending;

		if (r->open && r->frame + 1u == w->st->nframes &&
		    r->end == w->pc)
			nb_region_close(env, w->st);
		if (env->cfg.mark[w->pc] & NB_MARK_JOIN) {
			enum found f = checkpoint(w);

			if (f == REFUSED)
				return NB_E_VERIFY;
			if (f == COVERED)
				return 0;
		}
		if (w->walked++ >= w->room ||
		    env->work > (uint64_t)w->room * WORK)
			return over_steps(w);
		w->len = add_len(w->len, 1);
		env->aux[w->pc] |= NB_AUX_REACHED;
		nb_global_note_frames(env, w->st->nframes);
		if (env->opts.trace)
			nb_trace_state(env, w->st, w->pc);
		if (env->opts.observe)
			env->opts.observe(env->opts.observe_arg, env, w->st,
					  w->pc);
		rc = nb_check(env, w->st, w->pc);
		if (!rc) {
			nb_mark_uses(env, w->st, w->pc);
			rc = advance(w, &more);
		}
		if (!rc && env->seek && more && w->npending > open)
			rc = choose(w, open, &more);
		if (!rc && env->nomem)
			rc = over_memory(w);
	}
	return rc;
}

/* ---- the whole walk ---- */

/* In a search a way that is refused for something else just ends. */
static bool goes_on(const struct walk *w, int rc)
{
	return !rc || (rc == NB_E_VERIFY && seeking(w) &&
		       !w->env->seek->found && !w->env->seek->over);
}

static int walk_all(struct walk *w)
{
	int rc;

	nb_step_init(w->env, w->st);
	w->pc = w->env->cfg.funcs[w->env->root].start;
	do {
		rc = walk_way(w);
		if (following(w))
			return rc;
		if (goes_on(w, rc))
			finish(w);
	} while (goes_on(w, rc) && (seeking(w) ? pop_oldest(w) : pop(w)));
	return rc;
}

/*
 * Walks of the same kind, one for each global function, share what they may
 * walk. A second walk for words has its own.
 */
static uint32_t room(const struct nb_env *env)
{
	uint32_t all = env->opts.max_insns, spent = env->spent[env->mode];
	uint32_t left = spent < all ? all - spent : 0;

	if (env->seek)
		return all;
	return left < policy_room(env) ? left : policy_room(env);
}

static void spend(const struct walk *w)
{
	struct nb_env *env = w->env;
	uint64_t other = env->work / WORK;
	uint32_t n = w->walked > other ? w->walked : (uint32_t)other;

	if (env->seek)
		return;
	env->spent[env->mode] += n;
	env->v->stats.work += n;
}

int nb_explore(struct nb_env *env)
{
	struct walk *w = nb_arena_alloc(env->arena, sizeof(*w));
	int rc = NB_E_NOMEM;

	if (!w)
		return NB_E_NOMEM;
	w->env = env;
	/* Large and mostly untouched: not from the arena, which clears. */
	w->st = malloc(sizeof(*w->st));
	w->pending = malloc(MAX_PENDING * sizeof(*w->pending));
	w->seen = nb_arena_array(env->arena, env->n, sizeof(*w->seen));
	w->passed = nb_arena_array(env->arena, env->n, sizeof(*w->passed));
	w->visits = nb_arena_array(env->arena, env->n, sizeof(*w->visits));
	if (w->st && w->pending && w->seen && w->passed && w->visits) {
		env->nhistory = env->nturns = 0;
		env->exit_seen = env->exit_mixed = false;
		env->exit_local = NB_NO_PC;
		env->v->stats.states_kept = 0;
		env->marks = NULL;
		env->work = 0;
		env->lap = env->first = env->call = 0;
		env->counts = false;
		w->room = room(env);
		nb_steps_find(&w->steps, env->img, env->insns, env->n);
		rc = walk_all(w);
		spend(w);
	}
	env->v->stats.insns_walked += w->walked;
	free(w->st);
	free(w->pending);
	return rc;
}
