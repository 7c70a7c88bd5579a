// SPDX-License-Identifier: MIT
/*
 * Start-up agreement. When a process registers a rank, it compares its
 * settings. A process that cannot register leaves a mark, which its peers read
 * before their first decision. Other processes may overwrite this data at any
 * time, so it is only compared and shown.
 */
#include "plugin/job/startup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/liveness.h"
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

static void mark_mismatch(struct nb_seg_comm *c, uint32_t why, uint32_t a, uint32_t b)
{
	uint64_t none = 0;

	c->differ_slot[0] = a;
	c->differ_slot[1] = b;
	__atomic_store_n(&c->differs, why, __ATOMIC_RELEASE);
	__atomic_store_n(&c->mismatch, 1, __ATOMIC_RELEASE);
	/* commit generation 0 (no policies) from decision 0 on for all ranks */
	__atomic_compare_exchange_n(&c->record.word, &none, nb_fence_word(NB_FENCE_COMMIT, 0, 0),
				    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
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

void nb_startup_differ(struct nb_seg_comm *c, enum nb_setting what, uint32_t a, uint32_t b)
{
	if (__atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE))
		return;
	c->differ_value[0] = c->differ_value[1] = 0;
	mark_mismatch(c, NB_DIFFER_SETTING + (uint32_t)what, a, b);
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
	enum nb_clock_kind begun = nb_seg_clock(c);
	uint32_t see, n = ranks_with_calls(c, &see);

	if (begun != NB_CLOCK_DECISIONS)
		return begun;
	if (n && see == n && (n == c->nranks || __atomic_load_n(&c->fleet, __ATOMIC_ACQUIRE)))
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
	if (nb_startup_clock(c) == NB_CLOCK_NONE)
		snprintf(
			text, size,
			"NCCL 2.29 and later may ask some tuners only, and %u of %u ranks "
			"count no API calls: set NCCL_PROFILER_PLUGIN to ncclbpf in all processes, "
			"and leave NCCLBPF_API_CLOCK unset",
			n - see, n);
}

/* token in a mark that is being written; the token of no process */
enum { CLAIMED = 1 };

static const struct nb_seg_proc *self_of(const struct nb_segment *s)
{
	return &s->mem->proc[s->proc % NB_SEG_PROCS];
}

void nb_startup_lose(struct nb_segment *s, uint64_t comm_id)
{
	for (int i = 0; i < NB_SEG_LOST; i++) {
		struct nb_seg_lost *l = &s->mem->lost[i];
		uint64_t none = 0;

		if (!__atomic_compare_exchange_n(&l->token, &none, CLAIMED, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_SEQ_CST))
			continue;
		__atomic_store_n(&l->comm_id, comm_id, __ATOMIC_SEQ_CST);
		l->proc = s->proc;
		__atomic_store_n(&l->token, self_of(s)->token, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_fetch_or(&s->mem->all_lost, comm_id == NB_SEG_UNNAMED ? 2 : 1, __ATOMIC_SEQ_CST);
}

/*
 * Set the mark before reading the baseline. A coordinator that reads the
 * baseline later sees the mark. The compare-and-swap of a coordinator that read
 * the baseline earlier fails.
 */
void nb_startup_bar(struct nb_segment *s)
{
	nb_startup_lose(s, NB_SEG_UNNAMED);
	__atomic_fetch_add(&s->mem->baseline, UINT64_C(1) << 32, __ATOMIC_SEQ_CST);
}

void nb_startup_lost_is_gone(struct nb_segment *s, uint64_t comm_id)
{
	for (int i = 0; i < NB_SEG_LOST; i++) {
		struct nb_seg_lost *l = &s->mem->lost[i];

		if (__atomic_load_n(&l->token, __ATOMIC_SEQ_CST) != self_of(s)->token ||
		    __atomic_load_n(&l->comm_id, __ATOMIC_SEQ_CST) != comm_id)
			continue;
		__atomic_store_n(&l->token, 0, __ATOMIC_SEQ_CST);
		return;
	}
}

void nb_startup_reap(struct nb_segment *s)
{
	for (int i = 0; i < NB_SEG_LOST; i++) {
		struct nb_seg_lost *l = &s->mem->lost[i];
		uint64_t token = __atomic_load_n(&l->token, __ATOMIC_SEQ_CST);

		if (token > CLAIMED && s->mem->proc[l->proc % NB_SEG_PROCS].token != token)
			__atomic_store_n(&l->token, 0, __ATOMIC_SEQ_CST);
	}
}

/*
 * Returns true if the process that left the mark is alive. A process of another
 * PID namespace counts as alive.
 */
static bool stranger_lives(const struct nb_segment *s)
{
	uint64_t pid = __atomic_load_n(&s->mem->stranger, __ATOMIC_SEQ_CST);
	uint64_t ns = __atomic_load_n(&s->mem->stranger_ns, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&s->mem->strangers, __ATOMIC_SEQ_CST))
		return true;
	if (!pid)
		return false;
	return ns != s->ns || nb_process_alive(pid, 0);
}

static bool is_lost(const struct nb_seg *mem, uint64_t comm_id)
{
	uint64_t more = __atomic_load_n(&mem->all_lost, __ATOMIC_SEQ_CST);

	if (more & (comm_id == NB_SEG_UNNAMED ? 2 : 1))
		return true;
	for (int i = 0; i < NB_SEG_LOST; i++)
		if (__atomic_load_n(&mem->lost[i].token, __ATOMIC_SEQ_CST) > CLAIMED &&
		    __atomic_load_n(&mem->lost[i].comm_id, __ATOMIC_SEQ_CST) == comm_id)
			return true;
	return false;
}

bool nb_startup_barred(const struct nb_segment *s)
{
	return is_lost(s->mem, NB_SEG_UNNAMED);
}

bool nb_startup_missing(const struct nb_seg_comm *c)
{
	return c->has_id && c->nnodes < 2 && nb_seg_registered(c) < c->nranks;
}

enum nb_differ nb_startup_apart(const struct nb_segment *s, const struct nb_seg_comm *c)
{
	/*
	 * other hosts cannot see these marks, and all ranks of a communicator
	 * must start with the same policies
	 */
	if (!c->has_id || c->nranks < 2 || c->nnodes > 1)
		return NB_DIFFER_NOT;
	if (is_lost(s->mem, c->comm_id))
		return NB_DIFFER_LOST;
	if (s->stranger || stranger_lives(s))
		return NB_DIFFER_STRANGER;
	return NB_DIFFER_NOT;
}

void nb_startup_mark(struct nb_seg_comm *c, enum nb_differ why)
{
	uint32_t none = 0;

	__atomic_compare_exchange_n(&c->differs, &none, (uint32_t)why, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->mismatch, 1, __ATOMIC_RELEASE);
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

static void say_value(const char *how, uint32_t v, char *text, size_t size)
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
			say_value(settings[n].values, v, value[i], sizeof(value[i]));
	}
	if (why != NB_DIFFER_POLICIES)
		what = settings[n].text;
	snprintf(text, size, "%s of %s: %s; of %s: %s", what, who[0], value[0], who[1], value[1]);
}

const char *nb_startup_remedy(const struct nb_seg_comm *c)
{
	switch (__atomic_load_n(&c->differs, __ATOMIC_ACQUIRE)) {
	case NB_DIFFER_LOST:
	case NB_DIFFER_STRANGER:
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
	uint64_t pid = __atomic_load_n(&s->mem->stranger, __ATOMIC_SEQ_CST);
	uint32_t here = nb_seg_registered(c);
	uint32_t missing = here < c->nranks ? c->nranks - here : 0;

	*text = '\0';
	if (!__atomic_load_n(&c->mismatch, __ATOMIC_ACQUIRE))
		return;
	if (why == NB_DIFFER_LOST)
		snprintf(text, size, "a rank could not register in the job segment");
	else if (why == NB_DIFFER_MISSING && missing && !s->shared)
		snprintf(text, size,
			 "%u of %u ranks had not registered before the first decision: "
			 "this process shares no job segment, %s",
			 missing, c->nranks, s->why);
	else if (why == NB_DIFFER_MISSING && missing)
		snprintf(text, size,
			 "%u of %u ranks had not registered before the first decision: "
			 "their processes have no ncclbpf, NCCLBPF_DISABLE=1, another NCCLBPF_JOB "
			 "or NCCLBPF_SOCKET_DIR, or could not share the job segment",
			 missing, c->nranks);
	else if (why == NB_DIFFER_MISSING)
		snprintf(text, size,
			 "a rank made its first decision before all %u ranks had registered",
			 c->nranks);
	else if (why == NB_DIFFER_STRANGER && s->stranger)
		snprintf(text, size, "%s", s->why);
	else if (why == NB_DIFFER_STRANGER)
		snprintf(text, size,
			 "process %llu of the job shares no segment with the others: "
			 "that process runs another version of ncclbpf, or could not register",
			 (unsigned long long)pid);
	else if (why != NB_DIFFER_NOT)
		say_difference(s, c, why, text, size);
}

bool nb_startup_fixed(const struct nb_segment *s, const struct nb_seg_comm *c,
		      char why[NB_STARTUP_WHY])
{
	uint32_t here = nb_seg_registered(c);

	*why = '\0';
	if (nb_startup_for_good(c) || nb_startup_apart(s, c) != NB_DIFFER_NOT) {
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
