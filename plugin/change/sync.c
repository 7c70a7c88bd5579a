// SPDX-License-Identifier: MIT
/* How a process adopts changes that others have committed, and the last change that it knows of. */
#include "plugin/change/sync.h"

#include <string.h>

#include "core/bpf/generation/controller.h"
#include "plugin/job/fence.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"
#include "plugin/policies/history.h"
#include "plugin/hooks/hooks.h"
#include "plugin/profiler/mask.h"
#include "plugin/runtime/lock.h"

struct nb_last nb_last;

static bool is_listed(const struct nb_change *change, uint64_t comm_id)
{
	for (uint32_t i = 0; i < change->ncomms; i++)
		if (change->comm[i].comm_id == comm_id)
			return true;
	return false;
}

/*
 * Write to @to that the change has moved communicator @c, if its record says so.
 * A fleet's communicator has its other ranks on other sites.
 */
static bool write_moved(const struct nb_change *change, const struct nb_seg_comm *c,
			struct nb_change_comm *to)
{
	uint64_t w = __atomic_load_n(&c->record.word, __ATOMIC_ACQUIRE);
	bool is_fleet = __atomic_load_n(&c->fleet, __ATOMIC_ACQUIRE) != NB_FLEET_NOT;

	if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) ||
	    nb_fence_word_state(w) != NB_FENCE_COMMIT ||
	    nb_fence_word_gen(w) != change->generation || c->first == change->generation)
		/*
		 * the communicator started with this generation, so the change
		 * did not move it
		 */
		return false;
	memset(to, 0, sizeof(*to));
	to->comm_id = c->comm_id;
	to->fence = nb_fence_word_seq(w);
	to->state = NB_CHANGE_COMMITTED;
	to->ranks = is_fleet ? nb_seg_registered(c) : c->nranks;
	to->passed = nb_fence_passed(c, to->fence);
	to->behind = nb_fence_behind(c, to->fence);
	return true;
}

static void add_moved(struct nb_change *change, const struct nb_seg_comm *c)
{
	if (write_moved(change, c, &change->comm[change->ncomms]))
		change->ncomms++;
}

static void note_foreign_change(uint32_t number, const struct nb_gen *g)
{
	struct nb_change *last = &nb_last.change;

	if (nb_last.known && last->generation == number)
		/* this process made the change and has recorded it already */
		return;
	memset(last, 0, sizeof(*last));
	memcpy(last->digest, g->digest, NB_SHA256_SIZE);
	last->state = NB_CHANGE_COMMITTED;
	last->generation = number;
	last->shown = nb_history_number(number);
	nb_last.known = true;
	for (uint32_t i = 0, n = nb_seg_ncomms(nb_self.seg->mem); i < n; i++)
		add_moved(last, &nb_self.seg->mem->comm[i]);
}

/*
 * A process that commits a fleet's change for its site knows nothing of the
 * communicators that the change moves later, on all sites. Nor do the others
 * know of those that another process moves later (nb_change_catch_up).
 */
static void add_moved_later(struct nb_change *change)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(nb_self.seg->mem); i < n; i++) {
		struct nb_seg_comm *c = &nb_self.seg->mem->comm[i];

		if (change->ncomms < NB_CHANGE_COMMS &&
		    (c->has_id == NB_ID_PROFILER ||
		     __atomic_load_n(&c->fleet, __ATOMIC_ACQUIRE) != NB_FLEET_NOT) &&
		    !is_listed(change, c->comm_id))
			add_moved(change, c);
	}
}

static bool same_policies(const struct nb_gen *a, const struct nb_gen *b)
{
	if (a->npolicies != b->npolicies || !nb_order_same(&a->order, &b->order) ||
	    !nb_scopes_same(&a->scopes, &b->scopes))
		return false;
	for (uint32_t i = 0; i < a->npolicies; i++)
		if (a->policy[i].policy != b->policy[i].policy)
			return false;
	return true;
}

/*
 * Returns true if controllers made the generation: no client asked for it, and
 * its policies are the ones in use. `policy undo` skips such generations,
 * because controllers may make many in a second.
 */
static bool by_controllers(uint32_t number, const struct nb_gen *g)
{
	struct nb_seg_maker maker;
	uint64_t at_s;

	return nb_controllers_wanted(g) && same_policies(g, nb_gens.baseline) &&
	       nb_segment_signed(nb_self.seg, number, &at_s, &maker) && !maker.pid;
}

void nb_change_sync(void)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_gen *g;
	bool loop;
	uint32_t n;

	if (!nb_self.seg)
		return;
	n = nb_seg_baseline(nb_self.seg->mem);
	if (!n || n == nb_gens.baseline_number || n > NB_FENCE_MAX_GEN ||
	    !nb_segment_digest(nb_self.seg, n, digest))
		return;
	/*
	 * a process that started after the change may not hold the generation,
	 * and keeps its own baseline until it does
	 */
	g = nb_gens_find(digest);
	if (!g)
		return;
	loop = by_controllers(n, g);
	if (g != nb_gens.baseline && !loop)
		nb_gens.previous = nb_gens.baseline;
	nb_held_renew(g, nb_gens.baseline);
	nb_gens.baseline = g;
	nb_gens.baseline_number = n;
	nb_gens_tell_baseline(n);
	if (nb_hooks_use(g))
		nb_events_ask();
	if (nb_gens.staged == g)
		nb_gens.staged = NULL;
	nb_gens_remember(n, g);
	nb_history_note(n, g, loop);
	note_foreign_change(n, g);
}

static struct nb_seg_comm *find_entry(uint64_t comm_id)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(nb_self.seg->mem); i < n; i++) {
		struct nb_seg_comm *c = &nb_self.seg->mem->comm[i];

		if (__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) && c->comm_id == comm_id)
			return c;
	}
	return NULL;
}

void nb_change_status(bool *has_staged, uint8_t staged[NB_SHA256_SIZE], bool *has_last,
		      struct nb_change *out)
{
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	*has_staged = nb_gens.staged != NULL;
	if (nb_gens.staged)
		memcpy(staged, nb_gens.staged->digest, NB_SHA256_SIZE);
	*has_last = nb_last.known;
	*out = nb_last.change;
	if (nb_self.seg && nb_last.known && out->generation)
		add_moved_later(out);
	for (uint32_t i = 0; nb_self.seg && i < out->ncomms; i++) {
		struct nb_change_comm *c = &out->comm[i];
		const struct nb_seg_comm *e =
			c->state == NB_CHANGE_COMMITTED || c->state == NB_CHANGE_UNCHANGEABLE
				? find_entry(c->comm_id)
				: NULL;

		if (e && c->state == NB_CHANGE_UNCHANGEABLE) {
			if (write_moved(out, e, c)) /* nb_change_catch_up */
				out->state = NB_CHANGE_COMMITTED;
		} else if (e) {
			c->passed = nb_fence_passed(e, c->fence);
			c->behind = nb_fence_behind(e, c->fence);
		}
	}
	nb_unlock(NB_LOCK_STATE);
}
