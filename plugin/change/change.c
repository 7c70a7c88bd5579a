// SPDX-License-Identifier: MIT
/*
 * A commit: one process moves the whole job to a staged generation. It holds
 * the segment's lock from the checks to the end, so no process joins, leaves or
 * stages meanwhile. It does not hold NB_LOCK_STATE, so other processes still
 * answer commands.
 */
#include "plugin/change/change.h"

#include <stdio.h>
#include <string.h>

#include "core/base/liveness.h"
#include "core/job/segment/agree.h"
#include "core/job/segment/report.h"
#include "plugin/change/lacking.h"
#include "plugin/change/sync.h"
#include "plugin/change/no_tuner.h"
#include "plugin/comm/comm.h"
#include "plugin/job/fence.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/registry.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/job/step.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/history.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

enum {
	LOCK_MS = 3000,
	JOIN_MS = 1000, /* wait for ranks whose communicator is being created */
	POLL_MS = 20,
	REST_MS = 1, /* a rank that makes no decision in this time is idle */
	/*
	 * Time for all fences of a change, during which the segment's lock is
	 * held. It is well below the time that a starting process or a joining
	 * rank waits for the lock (nb_segment_attach, nb_comm_new). A rank that
	 * gives up waiting would start with another generation than its peers.
	 */
	COMMIT_MS = 1500,
	/* usual time in which a fence is decided, in microseconds */
	DECIDE_US = 100,
	/* nb_change_catch_up: wait for the lock, and pauses between tries */
	LATE_LOCK_MS = 50,
	LATE_REST_US = 1000000,
	LATE_REST_MOST_US = 16000000
};

/* The client that asked for the change. Only the control thread uses it. */
static struct {
	struct nb_seg_maker maker;
	/* number of the fleet's change that is being committed, or 0 */
	uint64_t fleet;
} by;

/* The communicators that nb_change_catch_up moves. Only the control thread uses it. */
static struct {
	uint32_t number;	   /* the generation that they lack */
	bool told;		   /* the log says why one of them does not get it */
	uint64_t next_us, rest_us; /* time of the next try, and the pause after it */
} late;

void nb_change_by(uint32_t uid, uint32_t pid, const char *text)
{
	by.maker = (struct nb_seg_maker){ .uid = uid,
					  .pid = pid ? pid : NB_SEG_MAKER_UNSEEN,
					  .start = pid ? nb_process_start((pid_t)pid) : 0 };
	snprintf(by.maker.text, sizeof(by.maker.text), "%s", text ? text : "");
}

void nb_change_by_nobody(void)
{
	memset(&by.maker, 0, sizeof(by.maker));
}

void nb_change_of_fleet(uint64_t number)
{
	by.fleet = number;
}

const char *nb_change_state_word(enum nb_change_state s)
{
	static const char *const words[] = { "staged", "committed", "aborted", "unchangeable" };

	return words[s];
}

static uint64_t now_us(void)
{
	return nb_clock_system() / 1000;
}

static void pause_ms(long ms)
{
	nb_clock_sleep((uint64_t)ms * 1000000);
}

static int check_staged_here(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	bool fits;

	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	fits = nb_gens.staged && !memcmp(nb_gens.staged->digest, digest, NB_SHA256_SIZE);
	nb_unlock(NB_LOCK_STATE);
	return fits ? 0
		    : nb_fail(err, NB_E_REFUSED, 0,
			      "no change of that digest is staged in this process");
}

/* Name a process for a message; its PID alone may be another's, too. */
static void name_proc(const struct nb_seg_proc *p, char *text, size_t size)
{
	int n = snprintf(text, size, "process %llu", (unsigned long long)p->pid);

	if (p->ns != nb_self.seg->ns)
		snprintf(text + n, size - (size_t)n, " of PID namespace %llu",
			 (unsigned long long)p->ns);
}

static int check_procs(const struct nb_seg *mem, const uint8_t digest[NB_SHA256_SIZE],
		       struct nb_err *err)
{
	char who[64];

	for (int i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &mem->proc[i];

		if (!p->pid || (p->flags & NB_SEG_PROC_AGENT) ||
		    (p->staged && !memcmp(p->digest, digest, NB_SHA256_SIZE)))
			continue;
		name_proc(p, who, sizeof(who));
		if (!(p->flags & NB_SEG_PROC_CONTROL))
			return nb_fail(err, NB_E_REFUSED, 0,
				       "%s of the job has no control socket and refuses changes",
				       who);
		return nb_fail(err, NB_E_REFUSED, 0, "%s of the job has not staged this change",
			       who);
	}
	return 0;
}

int nb_change_staged(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	int rc = nb_segment_lock(nb_self.seg, LOCK_MS, err);

	if (rc)
		return rc;
	nb_segment_reap(nb_self.seg);
	rc = check_procs(nb_self.seg->mem, digest, err);
	nb_segment_unlock(nb_self.seg);
	return rc;
}

static bool comm_in_use(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE);
}

static int fail_incomplete(const struct nb_seg_comm *c, uint32_t here, struct nb_err *err)
{
	nb_fail(err, NB_E_REFUSED, 0,
		"%u of %u ranks of communicator %016llx are not on this host, "
		"or their processes have no ncclbpf",
		c->nranks - here, c->nranks, (unsigned long long)c->comm_id);
	return c->nnodes < 2 ? err->code
			     : nb_hint(err, "set NCCLBPF_FLEET in all processes: "
					    "then all hosts change together (docs/fleet.md)");
}

/*
 * Refuse a change while a communicator is incomplete: its ranks would start with
 * different generations. Communicators of several hosts always start with
 * NCCLBPF_POLICY, but must not change on this host alone. Those that the profiler
 * names start with it, too, and follow the job later (nb_change_catch_up), so a
 * change only waits for them, if @wait, while none of their ranks has decided.
 */
static int check_complete(const struct nb_segment *s, bool wait, struct nb_err *err)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];
		uint32_t here = comm_in_use(c) ? nb_seg_registered(c) : 0;

		if (c->has_id == NB_ID_PROFILER && c->nnodes < 2 ? !wait || nb_fence_announced(c)
								 : nb_startup_for_good(c))
			/*
			 * all ranks start with NCCLBPF_POLICY, or NCCL decides
			 * alone, so they need not be complete
			 */
			continue;
		if (here && here < c->nranks && !nb_seg_of_fleet(c))
			return fail_incomplete(c, here, err);
	}
	return 0;
}

/* Refuse a change of a single host in a fleet. */
static int check_fleet(struct nb_err *err)
{
	if (by.fleet || !nb_params_fleet())
		return 0;
	nb_fail(err, NB_E_REFUSED, 0,
		"this job belongs to a fleet (NCCLBPF_FLEET): all of its hosts change together");
	return nb_hint(err, "ncclbpf-shell --fleet URL changes all hosts");
}

static int check_ready(const struct nb_segment *s, struct nb_err *err)
{
	char fixed[NB_STARTUP_WHY];

	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];

		/* ranks that keep their generation reach no fence any more */
		if (comm_in_use(c) && !nb_seg_of_fleet(c) && !nb_startup_fixed(s, c, fixed) &&
		    !nb_fence_ready(c))
			return nb_fail(
				err, NB_E_BUSY, 0,
				"communicator %016llx: ranks have not reached the previous fence; "
				"try again",
				(unsigned long long)c->comm_id);
	}
	return 0;
}

static bool needs_membarrier(const struct nb_seg *mem)
{
	for (int i = 0; i < NB_SEG_PROCS; i++)
		if (mem->proc[i].pid && (mem->proc[i].flags & NB_SEG_PROC_MEMBARRIER))
			return true;
	return false;
}

static int check_barrier(const struct nb_segment *s, struct nb_err *err)
{
	if (!needs_membarrier(s->mem) || nb_segment_membarrier())
		return 0;
	return nb_fail(err, NB_E_REFUSED, 0,
		       "the kernel refuses membarrier(2) to this process, "
		       "and other processes of the job rely on it: commit from another process");
}

/*
 * Refuse a change of diverged ranks. A fence is a decision number, so it works
 * only while all ranks count decisions in the same way. If only the ranks'
 * answers differ, they may still change to NCCL's own choice (@empty).
 */
static int check_comm_agrees(const struct nb_segment *s, uint32_t index, bool empty,
			     struct nb_err *err)
{
	/* static, because it is large; protected by the segment's lock */
	static struct nb_agree a;
	const struct nb_job job = nb_segment_job(s);
	char text[320];

	if (!nb_agree(&job, index, &a) || !nb_agree_broken(&a) || (empty && a.aligned))
		return 0;
	nb_agree_text(&a, text, sizeof(text));
	nb_fail(err, NB_E_DISAGREE, 0, "communicator %016llx: %s", (unsigned long long)a.comm_id,
		text);
	return nb_hint(err, "%s",
		       a.aligned && nb_gens.baseline->npolicies
			       ? "policy use none is possible; check agreement shows all ranks"
		       : a.aligned ? "no policy is in use: check agreement shows what NCCL chose "
				     "on each rank"
				   : "no fence is safe, because ranks count decisions differently: "
				     "check agreement shows all ranks; "
				     "a new communicator counts from zero");
}

static int check_ranks_agree(const struct nb_segment *s, bool empty, struct nb_err *err)
{
	char fixed[NB_STARTUP_WHY];
	int rc = 0;

	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n && !rc; i++) {
		const struct nb_seg_comm *c = &s->mem->comm[i];

		if (comm_in_use(c) && (nb_seg_of_fleet(c) || !nb_startup_fixed(s, c, fixed)))
			rc = check_comm_agrees(s, i, empty, err);
	}
	return rc;
}

/*
 * Returns the job's generation: the last one committed, or this process's
 * initial generation before the first change.
 */
static uint64_t job_generation(void)
{
	uint32_t n = nb_seg_baseline(nb_self.seg->mem);

	return n ? n : nb_gens.baseline_number;
}

/*
 * Check the generation that the client expects. Without the segment's lock, the
 * result may be outdated at once.
 */
static int check_expected(uint64_t expected, struct nb_err *err)
{
	uint64_t found = nb_history_number((uint32_t)job_generation());

	if (expected == NB_CHANGE_ANY || expected == found)
		return 0;
	nb_fail(err, NB_E_STALE, 0,
		"the job has generation %llu (allowed: %llu, as if_generation says)",
		(unsigned long long)found, (unsigned long long)expected);
	return nb_hint(err, "a concurrent change was made: read the generation again, and retry");
}

int nb_change_expect(uint64_t expected, struct nb_err *err)
{
	int rc;

	nb_lock(NB_LOCK_STATE);
	rc = check_expected(expected, err);
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

static bool is_empty(const uint8_t digest[NB_SHA256_SIZE])
{
	static const uint8_t none[NB_SHA256_SIZE];

	return !memcmp(digest, none, NB_SHA256_SIZE);
}

/*
 * Run all checks once, with the segment's lock. @staged: also check that every
 * process has staged the generation; @wait: see check_complete
 */
static int check_once(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE], bool staged,
		      bool wait, struct nb_err *err)
{
	int rc = 0;

	NB_STEP(LOCKED);
	nb_segment_reap(s);
	NB_STEP(REAPED);
	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++) {
		struct nb_seg_comm *c = &s->mem->comm[i];

		if (comm_in_use(c) && !nb_seg_of_fleet(c))
			nb_fence_recover(c);
	}
	rc = check_fleet(err);
	if (!rc && staged)
		rc = check_procs(s->mem, digest, err);
	if (!rc)
		rc = check_barrier(s, err);
	if (!rc)
		rc = check_complete(s, wait, err);
	if (!rc)
		rc = check_ranks_agree(s, is_empty(digest), err);
	if (!rc)
		rc = check_ready(s, err);
	return rc;
}

/*
 * Repeat the checks until they pass or the time-out ends. On success the
 * segment's lock is held. It is free between tries, so that ranks can join or
 * reach a fence.
 */
static int lock_when_ready(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
			   struct nb_err *err)
{
	struct nb_segment *s = nb_self.seg;
	uint64_t deadline = now_us() + JOIN_MS * 1000;

	for (;;) {
		bool last = now_us() >= deadline;
		int rc = nb_segment_lock(s, LOCK_MS, err);

		if (rc)
			return rc;
		rc = check_expected(expected, err);
		if (!rc)
			rc = check_once(s, digest, true, !last, err);
		if (!rc)
			return 0;
		nb_segment_unlock(s);
		if (last || rc == NB_E_DISAGREE || rc == NB_E_STALE ||
		    check_procs(s->mem, digest, NULL))
			return rc;
		pause_ms(POLL_MS);
	}
}

static void commit_comm(struct nb_seg_comm *c, uint32_t number, const struct nb_fence_opts *opts,
			struct nb_change_comm *out)
{
	struct nb_fence_result r = { 0, 0 };
	const char *why = "";

	out->state = NB_CHANGE_ABORTED;
	switch (nb_fence_commit(c, number, opts, &r)) {
	case NB_FENCE_COMMITTED:
		NB_STEP(COMMITTED);
		out->state = NB_CHANGE_COMMITTED;
		__atomic_store_n(&c->mismatch, 0, __ATOMIC_RELEASE);
		break;
	case NB_FENCE_OVERRUN:
		why = "ranks passed every fence before the change was decided; the "
		      "last fence was NCCLBPF_FENCE_MARGIN decisions ahead";
		break;
	case NB_FENCE_PENDING:
		why = "some ranks have not reached the fence of the previous change";
		break;
	case NB_FENCE_EXHAUSTED:
		why = "the communicator has made more than 2^40 decisions";
		break;
	case NB_FENCE_NO_BARRIER:
		why = "the kernel refuses membarrier(2) to this process";
		break;
	}
	out->comm_id = c->comm_id;
	out->ranks = c->nranks;
	out->fence = r.fence;
	out->tries = r.tries;
	out->passed = nb_fence_passed(c, r.fence);
	out->behind = nb_fence_behind(c, r.fence);
	snprintf(out->why, sizeof(out->why), "%s", why);
}

/*
 * Report a communicator that keeps its generation: while it lives, or until its
 * ranks have registered (nb_change_catch_up). Returns false if a fence can move it.
 */
static bool report_fixed(const struct nb_segment *s, const struct nb_seg_comm *c,
			 const uint8_t digest[NB_SHA256_SIZE], struct nb_change_comm *out)
{
	if (!nb_startup_fixed(s, c, out->why) && !nb_lacks_calls(c, digest, out->why))
		return false;
	out->comm_id = c->comm_id;
	out->ranks = c->nranks;
	out->state = NB_CHANGE_UNCHANGEABLE;
	return true;
}

/* Report the communicators of this process that are not in the segment. */
static void list_unchangeable(struct nb_change *out)
{
	nb_lock(NB_LOCK_STATE);
	for (const struct nb_comm *c = nb_comms.first; c && out->ncomms < NB_CHANGE_COMMS;
	     c = c->next) {
		struct nb_change_comm *to = &out->comm[out->ncomms];

		if (c->seg || nb_comm_changeable(c, to->why))
			continue;
		to->comm_id = c->init.comm_id;
		to->ranks = c->init.ranks;
		to->state = NB_CHANGE_UNCHANGEABLE;
		out->ncomms++;
	}
	nb_unlock(NB_LOCK_STATE);
}

/* Report that the change has no effect, because NCCL asks another tuner. */
static void note_no_tuner(const uint8_t digest[NB_SHA256_SIZE], struct nb_change *out)
{
	nb_lock(NB_LOCK_STATE);
	if (!out->ncomms && nb_gen_tunes(nb_gens_find(digest)))
		nb_no_tuner(out->why, sizeof(out->why));
	nb_unlock(NB_LOCK_STATE);
}

static void count_outcomes(const struct nb_change *c, uint32_t *committed, uint32_t *aborted)
{
	*committed = *aborted = 0;
	for (uint32_t i = 0; i < c->ncomms; i++) {
		*committed += c->comm[i].state == NB_CHANGE_COMMITTED;
		*aborted += c->comm[i].state == NB_CHANGE_ABORTED;
	}
}

/* Make @number the baseline of new communicators. Clear all staged marks. */
static void set_baseline(struct nb_seg *mem, uint32_t number)
{
	for (int i = 0; i < NB_SEG_PROCS; i++)
		mem->proc[i].staged = 0;
	__atomic_store_n(&mem->baseline, number, __ATOMIC_SEQ_CST);
}

/*
 * Estimate how many decisions the furthest rank makes while a fence is decided,
 * from @n decisions in @us. At a fence farther away, no rank has to wait.
 */
static uint32_t near_margin(uint64_t n, uint64_t us)
{
	uint64_t near = us ? n * DECIDE_US / us : 0;

	return near < UINT32_MAX ? (uint32_t)near : UINT32_MAX;
}

/*
 * Returns true if communicator @c has NCCLBPF_POLICY because the profiler names it, all of its
 * ranks have registered since, and their processes hold the job's generation @number.
 */
static bool comm_lags(const struct nb_segment *s, const struct nb_seg_comm *c, uint32_t number)
{
	uint64_t word = __atomic_load_n(&c->record.word, __ATOMIC_SEQ_CST);
	char fixed[NB_STARTUP_WHY];

	if (!comm_in_use(c) || c->has_id != NB_ID_PROFILER || nb_seg_of_fleet(c) ||
	    nb_fence_word_state(word) == NB_FENCE_COMMIT || nb_startup_fixed(s, c, fixed))
		return false;
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct nb_seg_proc *p = s->mem->proc;

		if (__atomic_load_n(&c->slot[i].state, __ATOMIC_ACQUIRE) != NB_SLOT_LIVE)
			continue;
		p += c->slot[i].proc % NB_SEG_PROCS;
		if (__atomic_load_n(&p->baseline, __ATOMIC_ACQUIRE) != number)
			return false;
	}
	return !nb_fence_adopted(c, number);
}

static bool some_lag_here(const struct nb_segment *s, uint32_t number)
{
	for (uint32_t i = 0, n = nb_seg_ncomms(s->mem); i < n; i++)
		if (comm_lags(s, &s->mem->comm[i], number) && nb_segment_leads(s, &s->mem->comm[i]))
			return true;
	return false;
}

/* Log once for each change why communicators do not follow it. */
static void tell_late(const struct nb_err *err)
{
	if (!late.told)
		nb_log_err("a communicator does not follow the job's last change", err);
	late.told = true;
}

/* Returns true if communicator @index lags and its ranks agree enough for generation @number. */
static bool can_catch_up(const struct nb_segment *s, uint32_t index, uint32_t number)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err;
	bool empty;

	if (!comm_lags(s, &s->mem->comm[index], number))
		return false;
	empty = nb_segment_digest(s, number, digest) && is_empty(digest);
	if (!check_comm_agrees(s, index, empty, &err))
		return true;
	tell_late(&err);
	return false;
}

/*
 * Decide the fences of one communicator after the other, or if @behind only of
 * those that lag. After the deadline, each remaining communicator gets
 * one try, which does not wait for ranks to pass an earlier fence.
 */
static void commit_comms(uint32_t number, bool behind, struct nb_change *out)
{
	struct nb_seg_comm *comm = nb_self.seg->mem->comm;
	const uint32_t n = nb_seg_ncomms(nb_self.seg->mem);
	uint64_t begun[NB_SEG_COMMS], began = now_us(), deadline;
	struct nb_fence_opts opts = { .membarrier = needs_membarrier(nb_self.seg->mem) };

	for (uint32_t i = 0; i < n; i++)
		begun[i] = nb_fence_announced(&comm[i]);
	pause_ms(REST_MS);
	deadline = now_us() + COMMIT_MS * UINT64_C(1000);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t now = now_us();
		uint64_t left = now < deadline ? (deadline - now) / 1000 : 0;
		uint64_t wait = (uint64_t)nb_params.num[NB_P_FENCE_TIMEOUT_MS];

		if (!comm_in_use(&comm[i]) || nb_seg_of_fleet(&comm[i]) ||
		    out->ncomms == NB_CHANGE_COMMS ||
		    (behind && !can_catch_up(nb_self.seg, i, number)))
			continue;
		if (report_fixed(nb_self.seg, &comm[i], out->digest, &out->comm[out->ncomms])) {
			out->ncomms++;
			continue;
		}
		opts.timeout_ms = (uint32_t)(wait < left ? wait : left);
		opts.once = !left;
		opts.margin = (uint32_t)nb_params.num[NB_P_FENCE_MARGIN];
		begun[i] = nb_fence_announced(&comm[i]) - begun[i];
		opts.idle = begun[i] == 0;
		opts.near = near_margin(begun[i], now - began);
		commit_comm(&comm[i], number, &opts, &out->comm[out->ncomms++]);
	}
}

/* Fail with the reason of the first communicator that was rolled back. */
static int fail_aborted(const struct nb_change *c, struct nb_err *err)
{
	uint32_t i = 0;

	while (i + 1 < c->ncomms && c->comm[i].state != NB_CHANGE_ABORTED)
		i++;
	return nb_fail(err, NB_E_BUSY, 0, "communicator %016llx: %.120s; nothing has changed",
		       (unsigned long long)c->comm[i].comm_id, c->comm[i].why);
}

/*
 * Commit all communicators. All checks have passed, and the caller holds the
 * segment's lock.
 */
static int commit_all(const uint8_t digest[NB_SHA256_SIZE], struct nb_change *out,
		      struct nb_err *err)
{
	uint32_t number, committed, aborted;
	int rc = by.fleet ? nb_segment_gen_of_fleet(nb_self.seg, by.fleet, digest, &number, err)
			  : nb_segment_gen(nb_self.seg, digest, true, &number, err);

	if (rc)
		return rc;
	NB_STEP(NUMBERED);
	nb_lock(NB_LOCK_STATE);
	nb_gens_publish(number, nb_gens_find(digest));
	nb_segment_sign(nb_self.seg, number, &by.maker);
	nb_unlock(NB_LOCK_STATE);
	commit_comms(number, false, out);
	count_outcomes(out, &committed, &aborted);
	list_unchangeable(out);
	if (aborted && !committed)
		return fail_aborted(out, err);
	note_no_tuner(digest, out);
	set_baseline(nb_self.seg->mem, number);
	nb_lacking_note(NB_LACKING_BASELINE, digest);
	NB_STEP(BASELINE);
	out->generation = number;
	out->shown = nb_history_number(number);
	out->state = committed || (!out->ncomms && !out->why[0]) ? NB_CHANGE_COMMITTED
								 : NB_CHANGE_UNCHANGEABLE;
	return 0;
}

/* Report what a commit would do to each communicator of this host. */
static void forecast_comms(struct nb_change *out)
{
	struct nb_seg_comm *comm = nb_self.seg->mem->comm;
	const uint32_t n = nb_seg_ncomms(nb_self.seg->mem);

	for (uint32_t i = 0; i < n; i++) {
		struct nb_change_comm *to = &out->comm[out->ncomms];

		if (!comm_in_use(&comm[i]) || nb_seg_of_fleet(&comm[i]) ||
		    out->ncomms == NB_CHANGE_COMMS)
			continue;
		if (!report_fixed(nb_self.seg, &comm[i], out->digest, to)) {
			to->comm_id = comm[i].comm_id;
			to->ranks = comm[i].nranks;
			to->state = NB_CHANGE_STAGED;
		}
		out->ncomms++;
	}
}

/* Check whether the staged change may be committed, and lock the segment. On
 * success the caller has to unlock it. */
static int begin_commit(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected,
			struct nb_change *out, struct nb_err *err)
{
	int rc = nb_change_expect(expected, err);

	memset(out, 0, sizeof(*out));
	memcpy(out->digest, digest, NB_SHA256_SIZE);
	out->state = NB_CHANGE_ABORTED;
	if (!rc)
		rc = check_staged_here(digest, err);
	return rc ? rc : lock_when_ready(digest, expected, err);
}

int nb_change_check(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected, struct nb_change *out,
		    struct nb_err *err)
{
	int rc = begin_commit(digest, expected, out, err);

	if (rc)
		return rc;
	forecast_comms(out);
	nb_lacking_note(NB_LACKING_STAGED, digest);
	list_unchangeable(out);
	note_no_tuner(digest, out);
	out->state = NB_CHANGE_STAGED;
	nb_segment_unlock(nb_self.seg);
	return 0;
}

int nb_change_commit(const uint8_t digest[NB_SHA256_SIZE], uint64_t expected, struct nb_change *out,
		     struct nb_err *err)
{
	uint64_t began = now_us();
	int rc = begin_commit(digest, expected, out, err);

	if (rc)
		return rc;
	rc = commit_all(digest, out, err);
	out->time_us = now_us() - began;
	nb_lock(NB_LOCK_STATE);
	nb_last.change = *out;
	nb_last.known = true;
	if (!rc)
		nb_change_sync();
	nb_gens_sweep();
	nb_unlock(NB_LOCK_STATE);
	nb_segment_unlock(nb_self.seg);
	return rc;
}

int nb_change_baseline(struct nb_change *out, struct nb_err *err)
{
	uint64_t began = now_us();
	int rc = nb_segment_lock(nb_self.seg, LOCK_MS, err);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	out->state = NB_CHANGE_ABORTED;
	nb_change_by_nobody();
	rc = check_once(nb_self.seg, out->digest, false, false, err);
	if (!rc)
		rc = commit_all(out->digest, out, err);
	out->time_us = now_us() - began;
	if (!rc) {
		nb_lock(NB_LOCK_STATE);
		nb_last.change = *out;
		nb_last.known = true;
		nb_change_sync();
		nb_unlock(NB_LOCK_STATE);
	}
	nb_segment_unlock(nb_self.seg);
	return rc;
}

/* Call some_lag_here under the state lock, because ranks of this process may register meanwhile. */
static bool may_lag_here(const struct nb_segment *s, uint32_t number)
{
	bool lags;

	nb_lock(NB_LOCK_STATE);
	lags = some_lag_here(s, number);
	nb_unlock(NB_LOCK_STATE);
	return lags;
}

void nb_change_catch_up(void)
{
	/* static, because it is large; protected by the segment's lock */
	static struct nb_change out;
	struct nb_segment *s = nb_self.seg;
	uint32_t number = s ? nb_seg_baseline(s->mem) : 0;
	struct nb_err err;

	if (number != late.number) {
		memset(&late, 0, sizeof(late));
		late.number = number;
		late.rest_us = LATE_REST_US;
	}
	if (!number || now_us() < late.next_us || !may_lag_here(s, number))
		return;
	late.next_us = now_us() + late.rest_us;
	if (late.rest_us < LATE_REST_MOST_US)
		late.rest_us *= 2;
	if (nb_segment_lock(s, LATE_LOCK_MS, NULL))
		return;
	if (nb_seg_baseline(s->mem) == number && some_lag_here(s, number)) {
		nb_segment_reap(s);
		out.ncomms = 0;
		nb_segment_digest(s, number, out.digest);
		if (check_barrier(s, &err))
			tell_late(&err);
		else
			commit_comms(number, true, &out);
	}
	if (!some_lag_here(s, number))
		late.rest_us = LATE_REST_US;
	nb_segment_unlock(s);
}
