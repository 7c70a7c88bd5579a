// SPDX-License-Identifier: MIT
/*
 * Explored states and pruning. A path is pruned if an explored state
 * subsumes the current one and all paths from that state have ended. If
 * paths from that state are still open, the two states lie on one path, and
 * pruning would accept a loop. This is correct only for loops whose
 * iterations the run time counts. Therefore every accepted program ends. An
 * explored state that never prunes is dropped, so a long loop costs bounded
 * time instead of memory.
 */
#include "core/bpf/verify/engine/explored.h"

#include <string.h>

#include "core/bpf/verify/engine/limits.h"
#include "core/bpf/verify/engine/memory.h"
#include "core/bpf/verify/engine/precision.h"
#include "core/bpf/verify/engine/run_length.h"
#include "core/bpf/verify/report/refuse.h"
#include "core/bpf/verify/state/subsume.h"

enum {
	/* Number of iterations that join states before bounds grow in steps. */
	JOINS = 2,
	LATE = 160, /* NB_WALK_LATE widens from this iteration on. */
	/*
	 * Failed comparisons that a state may have for each successful one.
	 * KEY_MISSES is the limit for comparisons that failed at the key. It
	 * applies while open paths may reach the state again and explored
	 * states use less than 1/PATIENCE of the memory.
	 */
	MISSES = 3,
	KEY_MISSES = 256,
	PATIENCE = 32,
	/* Number of failed key comparisons that count as one unit of work. */
	KEY_MISSES_A_UNIT = 32
};

/* The explored states to compare with the current state at one slot. */
struct candidates {
	struct nb_explored **head;
	bool counted; /* The run time counts each arrival at this slot. */
	/* The loop or call, numbered as in struct nb_explored. */
	uint32_t loop;
	uint32_t round;
	/* Out: the explored state before the last iteration. */
	const struct nb_explored *latest;
	struct nb_live live;
};

void nb_walk_continue_from(struct nb_walk *w, struct nb_explored *n)
{
	w->latest = n;
	w->env->walk.marks = n && n->mem ? &n->marks : NULL;
}

void nb_path_end(struct nb_walk *w)
{
	struct nb_explored *n = w->latest;

	while (n && !--n->open) {
		struct nb_explored *parent = n->parent;

		nb_length_pass_up(w, n);
		if (n->saved && n->mem) {
			nb_state_note_read(n->saved, n->marks.read);
			n->key = nb_saved_key(n->saved, n->marks.precise);
		}
		nb_block_give(w, n->mem, n->mem_size);
		n->mem = NULL;
		if (parent)
			parent->child = NULL;
		if (!n->saved)
			nb_block_give(w, n, sizeof(*n));
		n = parent;
	}
	nb_walk_continue_from(w, NULL);
}

/*
 * Take a dropped ancestor out of the chain of ancestors if it has one open
 * path: it would only pass precision marks and lengths to its parent, and a
 * long loop would lengthen the chain by thousands.
 *
 * No state is compared with @n any more, and the open path leads through its
 * child @c. So the parent can learn more only from @c, and @c takes the place
 * of @n as the parent's open path. Marks that @n has received were passed up
 * when it received them. nb_marks_skip lets later marks of @c reach the
 * parent's slots through those of @n. nb_length_skip passes up the lengths
 * that @n has found so far, and lets @c count from the parent.
 */
static void splice(struct nb_walk *w, struct nb_explored *n)
{
	struct nb_explored *c = n->child;

	if (n->open != 1 || !c || c->parent != n)
		return;
	/* Keep @n while its length is unknown: every iteration that leads
	 * back to @n ends after that length, which is known when all paths
	 * from @n ended. Only a state before the first iteration of a helper
	 * call has this need. All other states to which iterations lead back
	 * begin an iteration themselves (@iterated), of the same length, and
	 * @c counts that one on. */
	if (n->loop && !n->iterated)
		return;
	if (n->mem)
		nb_marks_skip(&c->marks, &n->marks);
	nb_length_skip(w, n, c);
	c->parent = n->parent;
	if (n->parent)
		n->parent->child = c;
	nb_block_give(w, n->mem, n->mem_size);
	nb_block_give(w, n, sizeof(*n));
}

static void drop_explored(struct nb_walk *w, struct nb_explored **link)
{
	struct nb_explored *n = *link;

	*link = n->next;
	nb_block_give(w, n->saved, n->size);
	n->saved = NULL;
	w->kept -= n->size;
	w->nkept--;
	if (!n->open)
		nb_block_give(w, n, sizeof(*n));
	else
		splice(w, n);
}

static void forget_list(struct nb_walk *w, struct nb_explored *n)
{
	while (n) {
		struct nb_explored *next = n->next;

		nb_block_give(w, n->saved, n->size);
		nb_block_give(w, n->mem, n->mem_size);
		nb_block_give(w, n, sizeof(*n));
		n = next;
	}
}

void nb_explored_forget(struct nb_walk *w)
{
	for (uint32_t pc = 0; pc < w->env->program.n; pc++) {
		forget_list(w, w->mem->joins[pc]);
		forget_list(w, w->mem->counted[pc]);
	}
	for (uint32_t i = 0; i < w->nopen; i++)
		nb_block_give(w, w->worklist[i].saved, w->worklist[i].size);
	w->env->walk.marks = NULL;
}

static int refuse_loop(struct nb_walk *w)
{
	return nb_refuse_program(w->env, NB_RULE_LOOP, .pc = w->pc, .where = w->pc);
}

/* Return the number of iterations on this path that the run time counts:
 * those of may_goto, of active helper calls and of iterators. */
static uint32_t counted_iterations(const struct nb_walk *w)
{
	uint32_t n = w->may_gotos;

	for (uint32_t i = 0; i < w->st->nframes; i++)
		n += w->st->frames[i].invocations;
	for (uint32_t i = 0; i < w->st->nrefs; i++)
		n += w->st->refs[i].steps;
	return n;
}

/* After a path is pruned by @n, mark as precise on this path what is
 * precise in @n. */
static void inherit_precision(struct nb_walk *w, const struct nb_explored *n,
			      const struct nb_subsume *in)
{
	if (n->open) {
		nb_mark_all(w->env, w->st);
		return;
	}
	nb_mark(w->env, in->deps);
	for (uint32_t i = 0; i < w->st->nframes; i++)
		nb_mark_cells(w->env, w->st, i, in->cells[i]);
}

/*
 * Compare the current state with one explored state, with the results of
 * nb_prune_at_join. An ancestor that equals the current state is an endless
 * loop, unless the run time counted an iteration between the two.
 */
static int compare_explored(struct nb_walk *w, struct nb_explored *n, const struct candidates *l,
			    bool *more)
{
	bool may_prune = !n->open || l->counted;
	struct nb_subsume in;
	bool found;

	in.all = n->open;
	in.precise = n->marks.precise;
	if (!may_prune && n->counted != counted_iterations(w))
		return 0;
	in.equal = !may_prune;
	found = nb_state_subsumes(n->saved, w->st, &l->live, &in);
	nb_walk_charge(w, in.size);
	if (!found)
		return 0;
	if (!may_prune)
		return refuse_loop(w);
	*more = false;
	inherit_precision(w, n, &in);
	/* If @n is an ancestor, the path from it to here is one whole iteration,
	 * and the next iteration continues as the paths from @n do. */
	nb_iteration_end(w, n->open ? 0 : n->length_after);
	nb_raise_length(&n->length_back, w->length);
	return 0;
}

/*
 * Is @n not worth its memory? A state that fails by its key is kept longer,
 * since that comparison is cheap and open paths may reach the state again:
 * a search for the best of 64 elements returns to each state after about
 * 128 others.
 */
static bool is_useless(const struct nb_walk *w, const struct nb_explored *n)
{
	bool patient = w->nopen && w->kept < w->env->program.opts.max_memory / PATIENCE;
	uint32_t key_misses = patient ? KEY_MISSES : MISSES;

	return n->misses > MISSES * (n->hits + 1) || n->key_misses > key_misses * (n->hits + 1);
}

static int find_covering(struct nb_walk *w, struct candidates *l, bool *more)
{
	const uint64_t key = nb_state_key(w->st);
	struct nb_explored **link = l->head;
	uint32_t key_misses = 0;

	while (*link) {
		struct nb_explored *n = *link;
		bool key_miss = (n->key.value ^ key) & n->key.mask;
		int rc = key_miss ? 0 : compare_explored(w, n, l, more);

		if (rc || !*more) {
			n->hits++;
			return rc;
		}
		key_misses += key_miss;
		n->key_misses += key_miss;
		n->misses += !key_miss;
		if (is_useless(w, n)) {
			drop_explored(w, link);
			continue;
		}
		if (n->open && n->loop == l->loop && !l->latest)
			l->latest = n;
		link = &n->next;
	}
	w->env->walk.work += key_misses / KEY_MISSES_A_UNIT;
	return 0;
}

/* From now on, record which values come from which scalar of @n. */
static bool begin_marks(struct nb_walk *w, struct nb_explored *n)
{
	n->mem_size = (uint32_t)nb_marks_size(w->st);
	n->mem = nb_block_take(w, n->mem_size);
	if (n->mem)
		nb_marks_begin(w->env, &n->marks, w->st, n->mem);
	return n->mem;
}

static int store_state(struct nb_walk *w, const struct candidates *l)
{
	struct nb_explored *n = nb_block_take(w, sizeof(*n));

	if (!n)
		return nb_over_memory(w);
	memset(n, 0, sizeof(*n));
	if (begin_marks(w, n))
		n->saved = nb_walk_save(w, w->pc, &n->size);
	if (!n->saved) {
		nb_block_give(w, n, sizeof(*n));
		return nb_over_memory(w);
	}
	w->kept += n->size;
	n->open = 1;
	n->key = nb_saved_key(n->saved, UINT64_MAX);
	n->counted = counted_iterations(w);
	n->loop = l->loop;
	n->round = l->round;
	n->length = w->length;
	n->iterated = w->iterated;
	w->length = 0;
	w->iterated = false;
	n->parent = w->latest;
	if (n->parent)
		n->parent->child = n;
	n->next = *l->head;
	*l->head = n;
	nb_walk_continue_from(w, n);
	if (++w->nkept > w->most_kept)
		w->most_kept = w->nkept;
	return 0;
}

static int prune_or_store(struct nb_walk *w, struct candidates *l, bool widen, bool *more)
{
	uint32_t exact = w->env->walk.how.mode == NB_WALK_LATE ? LATE : 0;
	int rc;

	nb_walk_live(w, w->pc, &l->live);
	nb_state_forget(w->st, &l->live);
	if (w->env->walk.how.replay)
		return 0;
	rc = find_covering(w, l, more);
	if (rc || !*more)
		return rc;
	l->round = l->latest ? l->latest->round + 1 : 0;
	if (widen && l->round > exact)
		nb_state_widen(w->st, l->latest->saved, &l->live,
			       l->round <= exact + JOINS ? NULL : &w->steps);
	return store_state(w, l);
}

int nb_prune_at_join(struct nb_walk *w, bool *more)
{
	struct candidates l = { .head = &w->mem->joins[w->pc] };

	w->mem->visits[w->pc]++;
	return prune_or_store(w, &l, false, more);
}

int nb_prune_at_iteration(struct nb_walk *w, uint32_t pc, uint32_t loop, bool widen, bool *more)
{
	struct candidates l = { .head = &w->mem->counted[pc], .counted = true, .loop = loop };

	return prune_or_store(w, &l, widen, more);
}
