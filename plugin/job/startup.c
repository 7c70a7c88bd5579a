// SPDX-License-Identifier: MIT
/*
 * Start-up agreement. When a process registers a rank, it compares its
 * settings. A rank that cannot register is missing at its peers' first
 * decision. Other processes may overwrite this data at any time, so it is only
 * compared and shown.
 */
#include "plugin/job/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/defs/ctx.h"
#include "core/job/segment/agree.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/segment.h"

static const struct {
	const char *text, *values;
} settings[NB_NSETTINGS] = {
#define SETTING(name, text, values) { text, values },
#include "core/defs/settings.h"
};

uint32_t nb_startup_version(const char *text)
{
	uint32_t v = 0;

	for (int i = 0; i < 3; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		v = v << 10 | (uint32_t)(n < 1023 ? n : 1023);
		text = *end == '.' ? end + 1 : "0";
	}
	return v;
}

/*
 * Let NCCL decide for all ranks: commit generation 0 (no policies) from decision 0 on. Not if the
 * ranks may have decided (NB_ID_PROFILER): they only show that they differ.
 */
static void use_no_policy(struct nb_seg_comm *c)
{
	uint64_t none = 0;

	__atomic_store_n(&c->mismatch, 1, __ATOMIC_RELEASE);
	if (c->has_id == NB_ID_PROFILER)
		return;
	__atomic_compare_exchange_n(&c->record.word, &none, nb_fence_word(NB_FENCE_COMMIT, 0, 0),
				    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void mark_mismatch(struct nb_seg_comm *c, uint32_t why, uint32_t a, uint32_t b)
{
	c->differ_slot[0] = a;
	c->differ_slot[1] = b;
	__atomic_store_n(&c->differs, why, __ATOMIC_RELEASE);
	use_no_policy(c);
}

static const struct nb_seg_proc *proc_of(const struct nb_segment *s, const struct nb_seg_slot *slot)
{
	return &s->mem->proc[slot->proc % NB_SEG_PROCS];
}

/* Returns true for settings of fences, which exist only on one host. */
static bool of_fences(uint32_t setting)
{
	return setting == NB_SETTING_FENCE_MARGIN || setting == NB_SETTING_FENCE_TIMEOUT_MS;
}

/*
 * Get the settings with which a rank began. Its process may have created other
 * communicators since then, with other settings.
 */
static void begun_with(const struct nb_segment *s, const struct nb_seg_comm *c, uint32_t slot,
		       uint32_t setting[NB_NSETTINGS])
{
	memcpy(setting, proc_of(s, &c->slot[slot])->setting, NB_NSETTINGS * sizeof(*setting));
	setting[NB_SETTING_ABI] = c->record.abi;
	setting[NB_SETTING_CHAIN_TUNER] = c->record.chain_tuner;
}

void nb_startup_compare(struct nb_segment *s, struct nb_seg_comm *c, uint32_t i, bool same_policies,
			uint32_t first)
{
	const uint32_t *mine = proc_of(s, &c->slot[i])->setting;
	uint32_t k = 0, n = 0, other[NB_NSETTINGS];

	while (k < NB_SEG_SLOTS &&
	       (k == i || __atomic_load_n(&c->slot[k].state, __ATOMIC_ACQUIRE) != NB_SLOT_LIVE))
		k++;
	if (k == NB_SEG_SLOTS) {
		c->record.abi = mine[NB_SETTING_ABI];
		c->record.chain_tuner = mine[NB_SETTING_CHAIN_TUNER];
	}
	if (k == NB_SEG_SLOTS || __atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE))
		return;
	begun_with(s, c, k, other);
	while (n < NB_NSETTINGS && (mine[n] == other[n] || (c->nnodes > 1 && of_fences(n))))
		n++;
	c->differ_value[0] = n < NB_NSETTINGS ? other[n] : c->first;
	c->differ_value[1] = n < NB_NSETTINGS ? mine[n] : first;
	if (n < NB_NSETTINGS)
		mark_mismatch(c, NB_DIFFER_SETTING + n, k, i);
	else if (!same_policies)
		mark_mismatch(c, NB_DIFFER_POLICIES, k, i);
}

void nb_startup_add_facts(struct nb_seg_comm *c, const uint32_t fact[NB_NFACTS])
{
	bool alone = !nb_seg_registered(c);

	for (int i = 0; i < NB_NFACTS; i++) {
		uint32_t have = __atomic_load_n(&c->fact[i], __ATOMIC_RELAXED);

		__atomic_store_n(&c->fact[i], alone || have == fact[i] ? fact[i] : NCCLBPF_MIXED,
				 __ATOMIC_RELAXED);
	}
}

void nb_startup_facts(struct nb_seg_comm *c, uint32_t fact[NB_NFACTS])
{
	bool all = nb_seg_registered(c) == c->nranks;
	uint32_t open = NB_FACTS_OPEN;

	__atomic_compare_exchange_n(&c->facts, &open, all ? NB_FACTS_KNOWN : NB_FACTS_UNKNOWN,
				    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	/* no rank can register in a complete entry, so its facts are final */
	for (uint32_t i = 0; i < NB_NFACTS; i++)
		fact[i] = nb_seg_fact(c, (enum nb_fact)i);
}

void nb_startup_differ(struct nb_seg_comm *c, enum nb_setting what, const uint32_t slot[2],
		       const uint32_t value[2])
{
	if (__atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE))
		return;
	memcpy(c->differ_value, value, sizeof(c->differ_value));
	mark_mismatch(c, NB_DIFFER_SETTING + (uint32_t)what, slot[0], slot[1]);
}

/* Counts the registered ranks, and in *@see those that see API calls. */
static uint32_t ranks_with_calls(const struct nb_seg_comm *c, uint32_t *see)
{
	uint32_t n = 0;

	*see = 0;
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct nb_seg_slot *s = &c->slot[i];

		if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == NB_SLOT_FREE)
			continue;
		n++;
		*see += __atomic_load_n(&s->calls, __ATOMIC_ACQUIRE) != 0;
	}
	return n;
}

enum nb_clock_kind nb_startup_clock(const struct nb_seg_comm *c)
{
	bool open = !__atomic_load_n(&c->clock, __ATOMIC_ACQUIRE);
	enum nb_clock_kind begun = nb_seg_clock(c);
	uint32_t see, n = ranks_with_calls(c, &see);

	/* on a site of several nodes, a rank without calls may register after that choice */
	if (begun == NB_CLOCK_CALLS && see < n)
		return NB_CLOCK_NONE;
	if (begun != NB_CLOCK_DECISIONS)
		return begun;
	/* ranks that have begun count decisions, whatever the later ones could count */
	if (open && n && see == n &&
	    (n == c->nranks || __atomic_load_n(&c->fleet, __ATOMIC_ACQUIRE)))
		return NB_CLOCK_CALLS;
	/* NCCL asks no tuner for a single rank */
	return c->nranks > 1 && __atomic_load_n(&c->asks_some, __ATOMIC_ACQUIRE)
		       ? NB_CLOCK_NONE
		       : NB_CLOCK_DECISIONS;
}

void nb_startup_clock_text(const struct nb_seg_comm *c, char *text, size_t size)
{
	uint32_t see, n = ranks_with_calls(c, &see);

	*text = '\0';
	if (nb_startup_clock(c) != NB_CLOCK_NONE)
		return;
	if (see < n)
		snprintf(text, size,
			 "NCCL may ask some tuners only, and %u of %u ranks count no API calls: "
			 "set NCCL_PROFILER_PLUGIN=ncclbpf and unset NCCLBPF_API_CLOCK in all "
			 "processes",
			 n - see, n);
	else
		snprintf(text, size,
			 "ranks missed API calls, because one began before all had registered, or "
			 "somebody else has set NCCL's event mask (RAS: CONTROL PROFILER_MASK); "
			 "new communicators can change");
}

const struct nb_seg_proc *nb_startup_other(const struct nb_segment *s)
{
	const struct nb_seg_proc *proc = s->mem->proc;
	uint32_t mine = __atomic_load_n(&proc[s->proc % NB_SEG_PROCS].first, __ATOMIC_RELAXED);

	for (uint32_t i = 0; mine && i < NB_SEG_PROCS; i++) {
		uint32_t first = __atomic_load_n(&proc[i].first, __ATOMIC_RELAXED);

		if (first && first != mine && nb_segment_entry_alive(s, i, NB_QUICK))
			return &proc[i];
	}
	return NULL;
}

void nb_startup_count(struct nb_seg_comm *c)
{
	uint32_t none = 0;

	if (c->has_id != NB_ID_TUNER || c->nnodes > 1 || nb_seg_registered(c) >= c->nranks)
		return;
	__atomic_compare_exchange_n(&c->differs, &none, NB_DIFFER_MISSING, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	use_no_policy(c);
}

bool nb_startup_for_good(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&c->differs, __ATOMIC_ACQUIRE) > NB_DIFFER_POLICIES;
}

static void say_rank(const struct nb_seg_slot *slot, char *text, size_t size)
{
	if (slot->rank >= 0)
		snprintf(text, size, "rank %d (process %u)", slot->rank, slot->pid);
	else
		snprintf(text, size, "process %u", slot->pid);
}

static void startup_say_value(const char *how, uint32_t v, char *text, size_t size)
{
	if (!strcmp(how, "v")) {
		snprintf(text, size, "%u.%u.%u", v >> 20, v >> 10 & 1023, v & 1023);
		return;
	}
	if (!strcmp(how, "x")) {
		snprintf(text, size, v ? "%08x" : "none", v);
		return;
	}
	if (!*how) {
		snprintf(text, size, "%u", v);
		return;
	}
	for (; v && strchr(how, '|'); v--)
		how = strchr(how, '|') + 1;
	snprintf(text, size, "%.*s", (int)strcspn(how, "|"), how);
}

static void say_policies(const struct nb_segment *s, uint32_t number, char *text, size_t size)
{
	const struct nb_job job = nb_segment_job(s);
	uint8_t digest[NB_SHA256_SIZE];
	char names[96];

	nb_job_policies(&job, number, names, sizeof(names));
	if (!number || !nb_segment_digest(s, number, digest))
		snprintf(text, size, "%s", number ? "others" : "none");
	else
		snprintf(text, size, "%s (%02x%02x%02x%02x)", names, digest[0], digest[1],
			 digest[2], digest[3]);
}

static void say_difference(const struct nb_segment *s, const struct nb_seg_comm *c, uint32_t why,
			   char *text, size_t size)
{
	uint32_t n = (why - NB_DIFFER_SETTING) % NB_NSETTINGS;
	const char *what = "policies";
	char who[2][40], value[2][128];

	for (int i = 0; i < 2; i++) {
		uint32_t v = c->differ_value[i];

		say_rank(&c->slot[c->differ_slot[i] % NB_SEG_SLOTS], who[i], sizeof(who[i]));
		if (why == NB_DIFFER_POLICIES)
			say_policies(s, v, value[i], sizeof(value[i]));
		else
			startup_say_value(settings[n].values, v, value[i], sizeof(value[i]));
	}
	if (why != NB_DIFFER_POLICIES)
		what = settings[n].text;
	snprintf(text, size, "%s of %s: %s; of %s: %s", what, who[0], value[0], who[1], value[1]);
}

const char *nb_startup_remedy(const struct nb_seg_comm *c)
{
	switch (__atomic_load_n(&c->differs, __ATOMIC_ACQUIRE)) {
	case NB_DIFFER_MISSING:
		return "give all ranks of the host ncclbpf, the same NCCLBPF_JOB and "
		       "NCCLBPF_SOCKET_DIR, and a directory there with room for the segment";
	case NB_DIFFER_POLICIES:
		return "give NCCLBPF_POLICY the same value in all processes, "
		       "or change the policy for all of them";
	}
	return "give all settings the same value in all processes";
}

void nb_startup_text(const struct nb_segment *s, const struct nb_seg_comm *c, char *text,
		     size_t size)
{
	uint32_t why = __atomic_load_n(&c->differs, __ATOMIC_ACQUIRE);
	uint32_t here = nb_seg_registered(c);
	uint32_t missing = here < c->nranks ? c->nranks - here : 0;

	*text = '\0';
	if (!__atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE))
		return;
	if (why == NB_DIFFER_MISSING && missing && !s->shared)
		snprintf(text, size,
			 "%u of %u ranks had not registered before the first decision: "
			 "this process shares no job segment, %s",
			 missing, c->nranks, s->why);
	else if (why == NB_DIFFER_MISSING && missing)
		snprintf(text, size,
			 "%u of %u ranks had not registered before the first decision: "
			 "their processes have no ncclbpf or another version, NCCLBPF_DISABLE=1, "
			 "another NCCLBPF_JOB or NCCLBPF_SOCKET_DIR, or could not share "
			 "the job segment",
			 missing, c->nranks);
	else if (why == NB_DIFFER_MISSING)
		snprintf(text, size,
			 "a rank made its first decision before all %u ranks had registered",
			 c->nranks);
	else if (why != NB_DIFFER_NOT)
		say_difference(s, c, why, text, size);
}

bool nb_startup_fixed(const struct nb_segment *s, const struct nb_seg_comm *c,
		      char why[NB_STARTUP_WHY])
{
	uint32_t here = nb_seg_registered(c);

	*why = '\0';
	if (nb_startup_for_good(c)) {
		nb_startup_text(s, c, why, NB_STARTUP_WHY);
		if (!*why)
			snprintf(why, NB_STARTUP_WHY,
				 "its ranks started with different policies or settings");
	} else if (here < c->nranks && c->nnodes > 1) {
		snprintf(why, NB_STARTUP_WHY,
			 "%u of %u ranks are on other hosts: "
			 "set NCCLBPF_FLEET in all processes to change all hosts together",
			 c->nranks - here, c->nranks);
	} else if (here < c->nranks) {
		snprintf(why, NB_STARTUP_WHY, "%u of %u ranks have registered", here, c->nranks);
	} else {
		nb_startup_clock_text(c, why, NB_STARTUP_WHY);
	}
	return *why != '\0';
}
