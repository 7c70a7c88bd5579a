// SPDX-License-Identifier: MIT
/*
 * The job segment of this site, which holds a copy of each fleet record. A rank
 * first announces its decision, then reads the copy. The agent first writes the
 * copy, then runs membarrier(2), then reads the announcements. A rank that has
 * not yet announced a decision past the fence therefore reads the new copy.
 */
#include "plugin/agent/site/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugin/agent/keys/view.h"
#include "plugin/job/fence.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/registry.h"
#include "plugin/job/segment.h"
#include "plugin/job/startup.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/digest.h"

enum {
	LOCK_MS = 500,
	/* shortest time over which a rate of decisions is measured */
	RATE_US = 100000
};

static uint64_t site_load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static uint32_t site_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static struct nb_seg_comm *entry(const struct nb_site *s, uint32_t i)
{
	return &s->seg->mem->comm[i];
}

static bool is_shared(const struct nb_seg_comm *c)
{
	return site_load32(&c->in_use) && site_load32(&c->fleet) != NB_FLEET_NOT;
}

bool nb_site_shared(const struct nb_site *s, uint32_t i)
{
	return is_shared(entry(s, i));
}

/* A new agent continues with the copy of the one before it. */
static void site_comm_begin(struct nb_site_comm *k, const struct nb_seg_comm *c)
{
	*k = (struct nb_site_comm){ .comm_id = c->comm_id };
	if (!site_load64(&c->fleet_id) || site_load32(&c->mismatch))
		return;
	k->word = site_load64(&c->record.word);
	k->back = site_load64(&c->record.fallback);
}

void nb_site_measure(struct nb_site *s)
{
	uint64_t now = nb_clock_system() / 1000;

	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_site_comm *k = &s->comm[i];
		uint64_t n;

		if (!is_shared(entry(s, i)))
			continue;
		if (k->comm_id != entry(s, i)->comm_id || !site_load64(&entry(s, i)->fleet_since))
			site_comm_begin(k, entry(s, i));
		if (k->at_us && now < k->at_us + RATE_US)
			continue;
		n = nb_fence_announced(entry(s, i));
		if (k->at_us && n >= k->announced)
			k->per_s = (n - k->announced) * 1000000 / (now - k->at_us);
		k->announced = n;
		k->at_us = now;
	}
}

static uint32_t count_waiting(const struct nb_seg_comm *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		n += site_load32(&c->slot[i].state) == NB_SLOT_LIVE &&
		     site_load64(&c->slot[i].waiting);
	return n;
}

/*
 * Encode a record as a fence word. Returns false if the record is invalid or
 * the segment has no generation number for it.
 */
static bool record_word(const struct nb_site *s, const json_t *record, uint64_t *word)
{
	const char *state = nb_view_str(record, "state");
	const json_t *fence = json_object_get(record, "fence");
	bool is_armed = !strcmp(state, "armed");
	int64_t n = nb_view_int(record, "n");
	uint8_t digest[NB_SHA256_SIZE];
	uint32_t number;

	*word = 0;
	if (!record || !strcmp(state, "none"))
		return true;
	if ((!is_armed && strcmp(state, "commit")) || n < 0 || !json_is_integer(fence) ||
	    json_integer_value(fence) < 0 ||
	    json_integer_value(fence) > (json_int_t)NB_FENCE_MAX_SEQ ||
	    nb_digest_parse(digest, nb_view_str(record, "digest"), NULL) ||
	    nb_segment_gen_of_fleet(s->seg, (uint64_t)n, digest, &number, NULL))
		return false;
	*word = nb_fence_word(is_armed ? NB_FENCE_ARMED : NB_FENCE_COMMIT, number,
			      (uint64_t)json_integer_value(fence));
	return true;
}

/*
 * Copy a fence word of the store into the segment. Do not overwrite the word of
 * ranks that diverged at start-up, because they have written it themselves. At
 * each moment one of both words names the generation to which ranks may return,
 * so that their processes keep it.
 */
static void put_copy(struct nb_seg_comm *c, uint64_t word, uint64_t back)
{
	bool is_armed = nb_fence_word_state(word) == NB_FENCE_ARMED;

	if (site_load32(&c->mismatch))
		return;
	if (is_armed)
		__atomic_store_n(&c->record.fallback, back, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->record.word, word, __ATOMIC_SEQ_CST);
	if (!is_armed)
		__atomic_store_n(&c->record.fallback, back, __ATOMIC_SEQ_CST);
}

/*
 * Returns true if the record belongs to this communicator, and not to an
 * earlier one with the same identity. A store that has lost its data may get
 * the record from another site before this one has registered again; it then
 * follows the copy.
 */
static bool is_of(const struct nb_seg_comm *c, int64_t made, bool follows)
{
	uint64_t since = site_load64(&c->fleet_since);

	return since && ((uint64_t)made >= since || (site_load64(&c->fleet_id) && follows));
}

void nb_site_registered(struct nb_site *s, uint32_t i, int64_t revision)
{
	__atomic_store_n(&entry(s, i)->fleet_since, (uint64_t)revision, __ATOMIC_SEQ_CST);
}

void nb_site_forget(struct nb_site *s, int64_t revision)
{
	struct nb_seg_agent *self = &s->seg->mem->agent;

	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		if (site_load64(&entry(s, i)->fleet_since) > (uint64_t)revision)
			nb_site_registered(s, i, 0);
	if (self->since > (uint64_t)revision)
		self->since = 0;
}

bool nb_site_lost(const struct nb_site *s, uint32_t i)
{
	return site_load64(&entry(s, i)->fleet_lost);
}

bool nb_site_outcome_lost(const struct nb_site *s, uint32_t i)
{
	const struct nb_site_comm *k = &s->comm[i];

	return (nb_site_lost(s, i) || k->again) && nb_fence_word_state(k->word) == NB_FENCE_ARMED;
}

static void copy_lose(struct nb_seg_comm *c)
{
	__atomic_store_n(&c->fleet_lost, 1, __ATOMIC_SEQ_CST);
}

void nb_site_missing(struct nb_site *s, uint32_t i)
{
	struct nb_seg_comm *c = entry(s, i);

	/* a communicator that is not registered may get another record */
	if (site_load64(&c->fleet_since) && site_load64(&c->fleet_id))
		copy_lose(c);
}

void nb_site_suspect(struct nb_site *s)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		if (is_shared(entry(s, i)) && site_load64(&entry(s, i)->fleet_id))
			copy_lose(entry(s, i));
}

/*
 * Returns true if the record may replace the copy of entry @i: it is the same
 * one, the next one, or one that says the same: an outcome, such as the
 * roll-back of an arming that this site has not copied, or an arming that
 * another site has written again. After the store has lost a record, another one
 * may only if a site has written it again, which had copied it.
 * @word: the record's word
 */
static bool may_follow(const struct nb_site *s, uint32_t i, const json_t *r, uint64_t word)
{
	const struct nb_seg_comm *c = entry(s, i);
	int64_t have = (int64_t)site_load64(&c->fleet_id), over = nb_view_int(r, "over");
	bool again = nb_record_again(r);

	if (nb_site_lost(s, i) && !again)
		return false;
	return (word == s->comm[i].word &&
		(again || nb_fence_word_state(word) != NB_FENCE_ARMED)) ||
	       nb_record_id(r) == have || nb_view_int(r, "was") == have || (over && over == have);
}

/*
 * Write the copy of entry @i. If the agent dies meanwhile, fleet_copied is not
 * fleet_id, and the next agent copies the record again.
 */
static void write_copy(struct nb_site *s, uint32_t i, const json_t *r, int64_t mod, uint64_t word,
		       uint64_t back)
{
	struct nb_seg_comm *c = entry(s, i);
	struct nb_site_comm *k = &s->comm[i];
	uint64_t id = (uint64_t)nb_record_id(r);

	__atomic_store_n(&c->fleet_id, id, __ATOMIC_SEQ_CST);
	c->fleet_was = (uint64_t)nb_view_int(r, "was");
	put_copy(c, word, back);
	__atomic_store_n(&c->fleet_copied, id, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->fleet_lost, 0, __ATOMIC_SEQ_CST);
	*k = (struct nb_site_comm){ .comm_id = c->comm_id,
				    .word = word,
				    .back = back,
				    .copied = mod,
				    .id = (int64_t)id,
				    .again = nb_record_again(r),
				    .asked = k->asked,
				    .again_ms = k->again_ms,
				    .announced = k->announced,
				    .at_us = k->at_us,
				    .per_s = k->per_s };
}

bool nb_site_copy(struct nb_site *s, uint64_t comm_id, const json_t *record, int64_t made,
		  int64_t mod)
{
	uint64_t word, back;
	bool fine;

	if (nb_segment_lock(s->seg, LOCK_MS, NULL))
		return false;
	fine = nb_record_id(record) && record_word(s, record, &word) &&
	       record_word(s, json_object_get(record, "back"), &back);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = entry(s, i);
		bool follows;

		if (!is_shared(c) || c->comm_id != comm_id)
			continue;
		follows = fine && may_follow(s, i, record, word);
		if (!is_of(c, made, follows))
			continue;
		if (follows)
			write_copy(s, i, record, mod, word, back);
		else
			copy_lose(entry(s, i));
	}
	nb_segment_unlock(s->seg);
	return true;
}

static bool barrier(const struct nb_site *s)
{
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++)
		if (s->seg->mem->proc[i].pid &&
		    (s->seg->mem->proc[i].flags & NB_SEG_PROC_MEMBARRIER))
			return nb_segment_membarrier();
	return true;
}

bool nb_site_barrier(struct nb_site *s)
{
	if (!barrier(s))
		return false;
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		s->comm[i].mod = s->comm[i].copied;
		s->comm[i].seen_id = s->comm[i].id;
	}
	return true;
}

bool nb_site_armed(const struct nb_site *s)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		if (is_shared(entry(s, i)) &&
		    nb_fence_word_state(s->comm[i].word) == NB_FENCE_ARMED)
			return true;
	return false;
}

/* Returns true if some rank has yet to switch to the committed generation. */
static bool is_pending(const struct nb_site *s, uint32_t i)
{
	uint64_t word = s->comm[i].word;

	/* a rank that has not begun may have the generation's number from its start */
	return nb_fence_word_state(word) == NB_FENCE_COMMIT &&
	       (!nb_fence_adopted(entry(s, i), nb_fence_word_gen(word)) ||
		nb_fence_behind(entry(s, i), nb_fence_word_seq(word)));
}

bool nb_site_pending(const struct nb_site *s)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		if (is_shared(entry(s, i)) && is_pending(s, i))
			return true;
	return false;
}

uint32_t nb_site_waiting(const struct nb_site *s, uint32_t from)
{
	uint32_t i = from;

	while (i < NB_SEG_COMMS && (!is_shared(entry(s, i)) || !count_waiting(entry(s, i))))
		i++;
	return i;
}

static bool holds(const struct nb_site *s, const struct nb_seg_proc *p,
		  const uint8_t digest[NB_SHA256_SIZE])
{
	uint8_t baseline[NB_SHA256_SIZE];

	if (site_load32(&p->staged) && !memcmp(p->digest, digest, NB_SHA256_SIZE))
		return true;
	return nb_segment_digest(s->seg, site_load32(&p->baseline), baseline) &&
	       !memcmp(baseline, digest, NB_SHA256_SIZE);
}

/*
 * Returns true if the processes of all living ranks hold the generation of the
 * armed word. A process may have started after its site had staged the change,
 * and the site may have registered after all others had staged it. A process
 * that holds the generation keeps it while the word names it
 * (nb_gens_sweep).
 */
static bool all_hold(const struct nb_site *s, const struct nb_seg_comm *c, uint64_t word)
{
	static const uint8_t no_policies[NB_SHA256_SIZE];
	uint8_t digest[NB_SHA256_SIZE];

	if (!nb_segment_digest(s->seg, nb_fence_word_gen(word), digest))
		return false;
	if (!memcmp(digest, no_policies, sizeof(digest)))
		return true;
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct nb_seg_slot *slot = &c->slot[i];

		if (site_load32(&slot->state) == NB_SLOT_LIVE &&
		    !holds(s, &s->seg->mem->proc[slot->proc % NB_SEG_PROCS], digest))
			return false;
	}
	return true;
}

/*
 * Returns the position of the furthest rank relative to the fence of an armed
 * copy, as the key answer/SITE has it. "unstaged": a rank's process does not
 * hold the generation.
 */
static const char *stand_of(const struct nb_site *s, uint32_t i)
{
	static const char *const words[] = { "below", "at", "beyond" };
	uint64_t word = s->comm[i].word;

	if (!all_hold(s, entry(s, i), word))
		return "unstaged";
	if (nb_startup_clock(entry(s, i)) == NB_CLOCK_NONE)
		return "beyond";
	return words[nb_fence_furthest(entry(s, i), word)];
}

static json_t *seen_of(const struct nb_site *s, uint32_t i)
{
	const struct nb_seg_comm *c = entry(s, i);
	const struct nb_site_comm *k = &s->comm[i];
	const char *stand = "below";
	uint64_t end = nb_clock_system() + 1000000;

	/*
	 * either the rank at the fence will soon announce that it waits, or it
	 * read the word before the word was armed; a process without the
	 * generation may just be removed from the segment
	 */
	if (nb_fence_word_state(k->word) == NB_FENCE_ARMED)
		do
			stand = stand_of(s, i);
		while ((!strcmp(stand, "at") || !strcmp(stand, "unstaged")) &&
		       nb_clock_system() < end);
	return json_pack("{s:I,s:I,s:I,s:I,s:s,s:b,s:i}", "rev", (json_int_t)k->mod, "id",
			 (json_int_t)(nb_site_lost(s, i) ? 0 : k->seen_id), "announced",
			 (json_int_t)nb_fence_announced(entry(s, i)), "per_s", (json_int_t)k->per_s,
			 "stand", stand, "taken", !is_pending(s, i), "waiting",
			 (int)count_waiting(c));
}

json_t *nb_site_seen(const struct nb_site *s)
{
	json_t *comms = json_object();

	for (uint32_t i = 0; comms && i < NB_SEG_COMMS; i++) {
		char id[17];

		if (!is_shared(entry(s, i)))
			continue;
		snprintf(id, sizeof(id), "%016llx", (unsigned long long)entry(s, i)->comm_id);
		json_object_set_new(comms, id, seen_of(s, i));
	}
	return json_pack("{s:o}", "comms", comms);
}

/* Returns the settings that all ranks of a communicator must have in common. */
static json_t *settings_of(const struct nb_site *s, const struct nb_seg_comm *c)
{
	json_t *list = json_array();
	uint32_t i = 0;

	while (i < NB_SEG_SLOTS - 1 && site_load32(&c->slot[i].state) == NB_SLOT_FREE)
		i++;
	for (int k = 0; list && k < NB_NSETTINGS; k++) {
		const struct nb_seg_proc *p = &s->seg->mem->proc[c->slot[i].proc % NB_SEG_PROCS];
		uint32_t v = p->setting[k];

		if (k == NB_SETTING_ABI)
			v = c->record.abi;
		else if (k == NB_SETTING_CHAIN_TUNER)
			v = c->record.chain_tuner;
		else if (k == NB_SETTING_FENCE_MARGIN || k == NB_SETTING_FENCE_TIMEOUT_MS)
			/*
			 * the fences of a fleet do not use these settings, so
			 * all sites report 0
			 */
			v = 0;
		json_array_append_new(list, json_integer(v));
	}
	return list;
}

/*
 * Returns the launcher's numbers of the ranks that have registered here; NULL
 * if one is unknown, or if the communicator is not of all ranks of the job.
 */
static json_t *ranks_here(const struct nb_site *s, const struct nb_seg_comm *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct nb_seg_slot *slot = &c->slot[i];
		const struct nb_seg_proc *p = s->seg->mem->proc;

		if (site_load32(&slot->state) == NB_SLOT_FREE)
			continue;
		p += slot->proc % NB_SEG_PROCS;
		if (slot->rank < 0 || (uint32_t)p->ranks != c->nranks) {
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, json_integer(slot->rank));
	}
	return list;
}

/*
 * Decode a fence word of the segment to a record. Returns NULL if the segment
 * has forgotten its generation, or if there is no memory.
 */
static json_t *word_record(const struct nb_site *s, uint64_t word)
{
	uint32_t number = nb_fence_word_gen(word);
	unsigned state = nb_fence_word_state(word);
	uint8_t digest[NB_SHA256_SIZE];
	char hex[65];

	if (state == NB_FENCE_NONE)
		return json_pack("{s:s}", "state", "none");
	if (!nb_segment_digest(s->seg, number, digest))
		return NULL;
	nb_sha256_text(digest, hex);
	return json_pack("{s:s,s:I,s:s,s:I}", "state", state == NB_FENCE_ARMED ? "armed" : "commit",
			 "n", (json_int_t)nb_segment_fleet_number(s->seg, number), "digest", hex,
			 "fence", (json_int_t)nb_fence_word_seq(word));
}

/* The same for an armed word, with the record that its fallback restores. */
static json_t *armed_record(const struct nb_site *s, uint64_t word, uint64_t back)
{
	json_t *o = word_record(s, word), *undo = word_record(s, back);

	if (o && !json_object_set(o, "back", undo)) {
		json_decref(undo);
		return o;
	}
	json_decref(o);
	json_decref(undo);
	return NULL;
}

json_t *nb_site_again(const struct nb_site *s, uint32_t i, int64_t over)
{
	const struct nb_seg_comm *c = entry(s, i);
	const struct nb_site_comm *k = &s->comm[i];
	int64_t id = (int64_t)site_load64(&c->fleet_id);
	bool is_armed = nb_fence_word_state(k->word) == NB_FENCE_ARMED;
	json_t *o;

	if ((int64_t)site_load64(&c->fleet_copied) != id || site_load32(&c->mismatch) ||
	    (is_armed && over && over != id))
		return NULL;
	o = is_armed ? armed_record(s, k->word, k->back) : word_record(s, k->word);
	if (!o)
		return NULL;
	json_object_set_new(o, "over", json_integer(is_armed ? id : over));
	return nb_record_link(o, is_armed ? nb_record_draw() : id, (int64_t)c->fleet_was);
}

/*
 * Returns the first bytes of the digests of generations that the communicator
 * cannot have (nb_seg_comm.lacks), as hexadecimal numbers; NULL if there are none.
 */
static json_t *lacks_of(const struct nb_seg_comm *c)
{
	json_t *list = NULL;
	char text[17];

	for (size_t i = 0; i < sizeof(c->lacks) / sizeof(c->lacks[0]); i++) {
		uint64_t mark = site_load64(&c->lacks[i]);

		if (!mark)
			continue;
		snprintf(text, sizeof(text), "%016llx", (unsigned long long)mark);
		if (!list)
			list = json_array();
		json_array_append_new(list, json_string(text));
	}
	return list;
}

json_t *nb_site_describe(const struct nb_site *s, uint32_t i)
{
	const struct nb_seg_comm *c = entry(s, i);
	bool begun = site_load32(&c->fleet) == NB_FLEET_BEGUN;
	/* first: the clock and what differs are those of at least so many ranks */
	uint32_t ranks = nb_seg_registered(c);
	enum nb_clock_kind clock = nb_startup_clock(c);
	char why[400] = "";

	if (site_load32(&c->mismatch))
		nb_startup_text(s->seg, c, why, sizeof(why));
	else if (nb_site_outcome_lost(s, i))
		snprintf(why, sizeof(why), "%s",
			 "the store has lost the outcome of a change at an armed fence: "
			 "the ranks wait there until the agents of all sites have answered");
	else if (begun)
		nb_startup_clock_text(c, why, sizeof(why));
	return json_pack("{s:I,s:I,s:I,s:o*,s:o*,s:s,s:o,s:s}", "since",
			 (json_int_t)site_load64(&c->fleet_since), "nranks", (json_int_t)c->nranks,
			 "ranks", (json_int_t)ranks, "who", ranks_here(s, c), "lacks", lacks_of(c),
			 "clock",
			 !begun			   ? "unknown"
			 : clock == NB_CLOCK_CALLS ? "calls"
			 : clock == NB_CLOCK_NONE  ? "none"
						   : "decisions",
			 "settings", settings_of(s, c), "differs", why);
}

void nb_site_baseline(const struct nb_site *s, char digest[65], char *why, size_t size)
{
	uint8_t first[NB_SHA256_SIZE], other[NB_SHA256_SIZE];
	uint64_t first_pid = 0;

	*why = *digest = '\0';
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &s->seg->mem->proc[i];

		if (!p->pid || (p->flags & NB_SEG_PROC_AGENT))
			continue;
		if (!nb_segment_digest(s->seg, site_load32(&p->baseline), other)) {
			snprintf(why, size, "process %llu is being started",
				 (unsigned long long)p->pid);
			return;
		}
		if (first_pid && memcmp(first, other, sizeof(first))) {
			snprintf(why, size, "processes %llu and %llu have different policies",
				 (unsigned long long)first_pid, (unsigned long long)p->pid);
			return;
		}
		memcpy(first, other, sizeof(first));
		first_pid = p->pid;
	}
	if (first_pid)
		nb_sha256_text(first, digest);
}

unsigned nb_site_late(const struct nb_site *s)
{
	uint32_t n = nb_seg_baseline(s->seg->mem);
	uint8_t have[NB_SHA256_SIZE], want[NB_SHA256_SIZE];
	unsigned late = 0;

	if (!n || !nb_segment_digest(s->seg, n, want))
		return 0;
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &s->seg->mem->proc[i];

		if (p->pid && !(p->flags & NB_SEG_PROC_AGENT) &&
		    nb_segment_digest(s->seg, site_load32(&p->baseline), have))
			late += memcmp(have, want, sizeof(have)) != 0;
	}
	return late;
}

/*
 * Returns the fleet number of this site's last change; 0 if there was no
 * change, -1 if the last change did not come from the fleet.
 */
static int64_t last_change(const struct nb_site *s)
{
	uint32_t n = nb_seg_baseline(s->seg->mem);
	const struct nb_seg_gen *g = &s->seg->mem->gen[n % NB_SEG_GENS];
	uint64_t fleet = site_load64(&g->fleet);

	if (!n)
		return 0;
	return site_load64(&g->number) == n && fleet ? (int64_t)fleet : -1;
}

json_t *nb_site_self(const struct nb_site *s)
{
	uint32_t ranks = 0, comms = 0;
	char digest[65], why[160];

	nb_site_baseline(s, digest, why, sizeof(why));
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = entry(s, i);
		uint32_t here;

		if (!site_load32(&c->in_use))
			continue;
		here = nb_seg_registered(c);
		ranks = here > ranks ? here : ranks;
		comms++;
	}
	return json_pack("{s:I,s:I,s:I,s:i,s:i,s:i,s:s,s:s,s:s}", "change",
			 (json_int_t)last_change(s), "run", (json_int_t)s->seg->mem->agent.runs,
			 "since", (json_int_t)s->seg->mem->agent.since, "processes",
			 (int)nb_segment_procs(s->seg), "ranks", (int)ranks, "communicators",
			 (int)comms, "baseline", digest, "differs", why, "version",
			 NCCLBPF_VERSION);
}

void nb_site_tell(struct nb_site *s, uint64_t comm_id, const char *why)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		if (is_shared(entry(s, i)) && entry(s, i)->comm_id == comm_id)
			snprintf(entry(s, i)->fleet_why, sizeof(entry(s, i)->fleet_why), "%s", why);
}
