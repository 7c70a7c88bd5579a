// SPDX-License-Identifier: MIT
/*
 * The generations that a communicator of this process may still use. A
 * generation is freed when no communicator can use it. All functions need
 * NB_LOCK_STATE, but the slow path of a decision searches nb_gens.kept without
 * the lock.
 */
#include "plugin/policies/generations.h"

#include <stdio.h>
#include <string.h>

#include "plugin/comm/comm.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/self.h"
#include "plugin/policies/held_list.h"
#include "plugin/policies/history.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"

struct nb_gens nb_gens;

int nb_gens_position(const struct nb_policy *p)
{
	for (uint32_t i = 0; i < nb_gens.baseline->npolicies; i++)
		if (nb_gens.baseline->policy[i].policy == p)
			return (int)i;
	return -1;
}

struct nb_gen *nb_gens_find(const uint8_t digest[NB_SHA256_SIZE])
{
	if (!memcmp(nb_gens.empty->digest, digest, NB_SHA256_SIZE))
		return nb_gens.empty;
	for (int i = 0; i < NB_MAX_GENS; i++)
		if (nb_gens.kept[i] && !memcmp(nb_gens.kept[i]->digest, digest, NB_SHA256_SIZE))
			return nb_gens.kept[i];
	return NULL;
}

static void publish_slot(struct nb_gen **slot, struct nb_gen *g)
{
	__atomic_store_n(slot, g, __ATOMIC_SEQ_CST);
}

/* Log the first generation that the interpreter runs against our wish. */
static void tell_uncompiled(const struct nb_gen *g)
{
	static bool told;
	const char *why = nb_gen_uncompiled(g);

	if (!why || told)
		return;
	told = true;
	nb_log(NB_LOG_WARN,
	       "the interpreter runs the policies, several times slower than machine code: "
	       "%s; %s",
	       why, NB_GENS_UNCOMPILED_HINT);
}

struct nb_gen *nb_gens_keep(struct nb_gen *g, struct nb_err *err)
{
	struct nb_gen *have = nb_gens_find(g->digest);

	if (have) {
		nb_gen_put(g);
		return have;
	}
	for (int pass = 0; pass < 2 || nb_history_thin(); pass++) {
		if (pass)
			nb_gens_sweep();
		for (int i = 0; i < NB_MAX_GENS; i++) {
			if (nb_gens.kept[i])
				continue;
			publish_slot(&nb_gens.kept[i], g);
			tell_uncompiled(g);
			return g;
		}
	}
	nb_gen_put(g);
	nb_fail(err, NB_E_LIMIT, 0,
		"%d generations are in use by communicators, staged or kept for undo (allowed: %d)",
		NB_MAX_GENS, NB_MAX_GENS);
	return NULL;
}

/* Returns true if fence word @word of a record names the digest of @g. */
static bool word_leads_to(const uint64_t *word, const struct nb_gen *g)
{
	uint64_t w = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	uint8_t digest[NB_SHA256_SIZE];

	return nb_fence_word_state(w) != NB_FENCE_NONE &&
	       nb_segment_digest(nb_self.seg, nb_fence_word_gen(w), digest) &&
	       !memcmp(digest, g->digest, sizeof(digest));
}

/*
 * Returns true if the communicator uses @g now or has prepared it for its next
 * fence. Check the prepared generation first, because a generation becomes
 * current after it was prepared.
 */
static bool held_by(const struct nb_comm *c, const struct nb_gen *g)
{
	const struct nb_gen *ahead = __atomic_load_n(&c->ahead.gen, __ATOMIC_SEQ_CST);

	return (ahead && nb_gen_whole(ahead) == g) ||
	       nb_gen_whole(__atomic_load_n(&c->gen, __ATOMIC_SEQ_CST)) == g;
}

static bool gen_in_use(const struct nb_gen *g)
{
	if (g == nb_gens.first || g == nb_gens.baseline || g == nb_gens.previous ||
	    g == nb_gens.staged || nb_history_keeps(g))
		return true;
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		if (held_by(c, g) || (c->seg && (word_leads_to(&c->seg->record.word, g) ||
						 word_leads_to(&c->seg->record.fallback, g))))
			return true;
	return false;
}

/*
 * Returns true if a decision may have found the removed generation in its
 * search. Never wait for the decision: its thread may be stopped.
 */
static bool search_runs(void)
{
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		if (__atomic_load_n(&c->searching, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

static void keep_sums(const struct nb_gen *g)
{
	for (uint32_t i = 0; i < g->nprogs; i++) {
		const struct nb_gen_prog *p = &g->prog[i];

		for (uint32_t h = 0; h < nb_held.n; h++) {
			if (nb_held.at[h].policy != g->policy[p->policy].policy)
				continue;
			nb_gen_sum_add(&nb_held.at[h].old[p->prog], &p->sum);
			nb_gen_times_add(&nb_held.at[h].old_times[p->prog], &g->times[i]);
		}
	}
	for (uint32_t i = 0; i < g->nevents; i++) {
		const struct nb_gen_prog *p = &g->event[i];

		for (uint32_t h = 0; h < nb_held.n; h++)
			if (nb_held.at[h].policy == g->policy[p->policy].policy)
				nb_gen_sum_add(&nb_held.at[h].old[p->prog], &p->sum);
	}
}

static void retire_gen(struct nb_gen *g)
{
	const struct nb_gen *part;

	for (uint32_t i = 0; (part = nb_gen_part(g, i)) != NULL; i++)
		keep_sums(part);
	nb_gen_put(g);
}

void nb_gens_sweep(void)
{
	for (int i = 0; i < NB_MAX_GENS; i++) {
		struct nb_gen *g = nb_gens.kept[i];

		if (!g || gen_in_use(g))
			continue;
		publish_slot(&nb_gens.kept[i], NULL);
		/*
		 * a communicator may have found the generation just before its
		 * removal; check gen_in_use last, because it sees the results
		 * of all searches that have ended
		 */
		if (search_runs() || gen_in_use(g))
			publish_slot(&nb_gens.kept[i], g);
		else
			retire_gen(g);
	}
}

void nb_gens_remember(uint32_t number, const struct nb_gen *g)
{
	struct nb_past *p = &nb_gens.past[number % NB_MAX_GENS];

	p->number = number;
	p->n = g->npolicies;
	for (uint32_t i = 0; i < g->npolicies; i++)
		snprintf(p->name[i], sizeof(p->name[i]), "%s", g->policy[i].policy->img->name);
}

void nb_gens_publish(uint32_t number, const struct nb_gen *g)
{
	char names[sizeof(((struct nb_seg_gen *)0)->names)] = "";
	size_t at = 0;

	nb_gens_remember(number, g);
	for (uint32_t i = 0; i < g->npolicies && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? " " : "",
				       g->policy[i].policy->img->name);
	nb_segment_name(nb_self.seg, number, names);
}

const char *nb_gens_policy_name(uint32_t number, int index)
{
	const struct nb_past *p = &nb_gens.past[number % NB_MAX_GENS];

	if (index < 0)
		return NULL;
	if (p->number == number && (uint32_t)index < p->n)
		return p->name[index];
	/*
	 * another process committed the generation, and nb_change_sync has not
	 * yet run here
	 */
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint32_t n;
		const struct nb_gen *g = nb_comm_gen(c, &n);

		if (n == number && (uint32_t)index < g->npolicies)
			return g->policy[index].policy->img->name;
	}
	return NULL;
}

void nb_gens_tell_baseline(uint32_t number)
{
	struct nb_seg_proc *self = &nb_self.seg->mem->proc[nb_self.seg->proc];

	__atomic_store_n(&self->baseline, number, __ATOMIC_RELEASE);
}

void nb_gens_number(void)
{
	struct nb_seg_proc *self = &nb_self.seg->mem->proc[nb_self.seg->proc];
	uint32_t number = 0, first;

	memcpy(&first, nb_gens.first->digest, sizeof(first));
	__atomic_store_n(&self->first, first | 1, __ATOMIC_RELAXED);
	if (nb_segment_lock(nb_self.seg, 3000, NULL))
		return;
	nb_segment_gen(nb_self.seg, nb_gens.baseline->digest, false, &number, NULL);
	nb_gens_tell_baseline(number);
	nb_segment_unlock(nb_self.seg);
	nb_lock(NB_LOCK_STATE);
	nb_gens.baseline_number = number;
	nb_gens_remember(number, nb_gens.baseline);
	nb_history_note(number, nb_gens.baseline, false);
	nb_unlock(NB_LOCK_STATE);
}

void nb_gens_tell_missing(struct nb_comm *c)
{
	uint32_t number = __atomic_load_n(&c->missing, __ATOMIC_RELAXED);

	if (!number || c->told_missing)
		return;
	c->told_missing = true;
	nb_log(NB_LOG_WARN,
	       "communicator %016llx: this process does not hold generation %llu, to which its "
	       "ranks have moved: NCCL decides for this rank alone, and ranks may decide "
	       "differently; ncclbpf-shell check agreement compares them",
	       (unsigned long long)c->init.comm_id, (unsigned long long)nb_history_number(number));
}

void nb_gens_free(void)
{
	for (int i = 0; i < NB_MAX_GENS; i++)
		nb_gen_put(nb_gens.kept[i]);
	nb_gen_put(nb_gens.empty);
	memset(&nb_gens, 0, sizeof(nb_gens));
}
