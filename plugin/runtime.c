// SPDX-License-Identifier: MIT
// The process's one object: made at NCCL's first call, found again by all
// later ones, and taken down when the library is unloaded. What a decision
// needs it finds through its communicator; this file is for everything that
// may take its time.
#include "plugin/runtime.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/hook/loop.h"
#include "plugin/begin.h"
#include "plugin/control.h"
#include "plugin/event_progs.h"
#include "plugin/events.h"
#include "plugin/fence.h"
#include "plugin/guard.h"
#include "plugin/loop.h"
#include "plugin/net.h"
#include "plugin/override.h"
#include "plugin/segment.h"
#include "plugin/tuner.h"

static struct nb_runtime runtime = { .lock = PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static enum { FRESH, MADE, FAILED } made; /* under init_lock */

void nb_runtime_lock(struct nb_runtime *rt)
{
	pthread_mutex_lock(&rt->lock);
}

void nb_runtime_unlock(struct nb_runtime *rt)
{
	pthread_mutex_unlock(&rt->lock);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void say(void *arg, const char *line)
{
	nb_log(arg, NB_LOG_WARN, "%s", line);
}

static void say_place(void *arg, const char *line)
{
	nb_log(arg, NB_LOG_INFO, "%s", line);
}

/* ---- generations ---- */

struct nb_gen *nb_runtime_gen_find(const struct nb_runtime *rt,
				   const uint8_t digest[NB_SHA256_SIZE])
{
	if (!memcmp(rt->empty->digest, digest, NB_SHA256_SIZE))
		return rt->empty;
	for (int i = 0; i < NB_MAX_GENS; i++)
		if (rt->gens[i] &&
		    !memcmp(rt->gens[i]->digest, digest, NB_SHA256_SIZE))
			return rt->gens[i];
	return NULL;
}

static void publish(struct nb_gen **slot, struct nb_gen *g)
{
	__atomic_store_n(slot, g, __ATOMIC_SEQ_CST);
}

struct nb_gen *nb_runtime_gen_keep(struct nb_runtime *rt, struct nb_gen *g,
				   struct nb_err *err)
{
	struct nb_gen *have = nb_runtime_gen_find(rt, g->digest);

	if (have) {
		nb_gen_put(g);
		return have;
	}
	for (int pass = 0; pass < 2 || nb_history_thin(rt); pass++) {
		if (pass)
			nb_runtime_sweep(rt);
		for (int i = 0; i < NB_MAX_GENS; i++) {
			if (rt->gens[i])
				continue;
			publish(&rt->gens[i], g);
			return g;
		}
	}
	nb_gen_put(g);
	nb_fail(err, NB_E_LIMIT, 0,
		"%d generations are in use by communicators, staged or kept "
		"for undo (allowed: %d)",
		NB_MAX_GENS, NB_MAX_GENS);
	return NULL;
}

/* Does a word of the record lead to a generation of that digest? */
static bool word_leads_to(const struct nb_runtime *rt, const uint64_t *word,
			  const struct nb_gen *g)
{
	uint64_t w = __atomic_load_n(word, __ATOMIC_SEQ_CST);
	uint8_t digest[NB_SHA256_SIZE];

	return nb_fence_word_state(w) != NB_FENCE_NONE &&
	       nb_segment_digest(rt->seg, nb_fence_word_gen(w), digest) &&
	       !memcmp(digest, g->digest, sizeof(digest));
}

/* What its thread decides with, or found on the way to a fence; the latter is
 * looked at first, since it goes from there to the former. */
static bool held_by(const struct nb_comm *c, const struct nb_gen *g)
{
	const struct nb_gen *ahead =
		__atomic_load_n(&c->ahead.gen, __ATOMIC_SEQ_CST);

	return (ahead && nb_gen_whole(ahead) == g) ||
	       nb_gen_whole(__atomic_load_n(&c->gen, __ATOMIC_SEQ_CST)) == g;
}

static bool in_use(const struct nb_runtime *rt, const struct nb_gen *g)
{
	if (g == rt->first || g == rt->baseline || g == rt->previous ||
	    g == rt->staged || nb_history_keeps(rt, g))
		return true;
	for (const struct nb_comm *c = rt->comms; c; c = c->next)
		if (held_by(c, g) ||
		    (c->seg &&
		     (word_leads_to(rt, &c->seg->record.word, g) ||
		      word_leads_to(rt, &c->seg->record.fallback, g))))
			return true;
	return false;
}

/* Wait out the slow paths that may have found what was just taken away. */
static void let_searches_end(const struct nb_runtime *rt)
{
	for (const struct nb_comm *c = rt->comms; c; c = c->next)
		while (__atomic_load_n(&c->searching, __ATOMIC_SEQ_CST))
			sched_yield();
}

static void keep_sums(struct nb_runtime *rt, const struct nb_gen *g)
{
	for (uint32_t i = 0; i < g->nprogs; i++) {
		const struct nb_gen_prog *p = &g->prog[i];

		for (uint32_t h = 0; h < rt->nheld; h++) {
			if (rt->held[h].policy != g->policy[p->policy].policy)
				continue;
			nb_gen_sum_add(&rt->held[h].old[p->prog], &p->sum);
			nb_gen_times_add(&rt->held[h].old_times[p->prog],
					 &g->times[i]);
		}
	}
	for (uint32_t i = 0; i < g->nevents; i++) {
		const struct nb_gen_prog *p = &g->event[i];

		for (uint32_t h = 0; h < rt->nheld; h++)
			if (rt->held[h].policy == g->policy[p->policy].policy)
				nb_gen_sum_add(&rt->held[h].old[p->prog],
					       &p->sum);
	}
}

static void retire(struct nb_runtime *rt, struct nb_gen *g)
{
	const struct nb_gen *part;

	for (uint32_t i = 0; (part = nb_gen_part(g, i)) != NULL; i++)
		keep_sums(rt, part);
	nb_gen_put(g);
}

void nb_runtime_sweep(struct nb_runtime *rt)
{
	for (int i = 0; i < NB_MAX_GENS; i++) {
		struct nb_gen *g = rt->gens[i];

		if (!g || in_use(rt, g))
			continue;
		publish(&rt->gens[i], NULL);
		let_searches_end(rt);
		/* a communicator may have found it just before */
		if (in_use(rt, g))
			publish(&rt->gens[i], g);
		else
			retire(rt, g);
	}
}

/* ---- names of generations ---- */

void nb_runtime_remember(struct nb_runtime *rt, uint32_t number,
			 const struct nb_gen *g)
{
	struct nb_past *p = &rt->past[number % NB_MAX_GENS];

	p->number = number;
	p->n = g->npolicies;
	for (uint32_t i = 0; i < g->npolicies; i++)
		snprintf(p->name[i], sizeof(p->name[i]), "%s",
			 g->policy[i].policy->img->name);
}

void nb_runtime_publish(struct nb_runtime *rt, uint32_t number,
			const struct nb_gen *g)
{
	char names[sizeof(((struct nb_seg_gen *)0)->names)] = "";
	size_t at = 0;

	nb_runtime_remember(rt, number, g);
	for (uint32_t i = 0; i < g->npolicies && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
				       i ? " " : "",
				       g->policy[i].policy->img->name);
	nb_segment_name(rt->seg, number, names);
}

const char *nb_runtime_policy_name(const struct nb_runtime *rt, uint32_t number,
				   int index)
{
	const struct nb_past *p = &rt->past[number % NB_MAX_GENS];

	if (index < 0)
		return NULL;
	if (p->number == number && (uint32_t)index < p->n)
		return p->name[index];
	/* committed by another process, and not seen by us yet */
	for (const struct nb_comm *c = rt->comms; c; c = c->next) {
		uint32_t n;
		const struct nb_gen *g = nb_comm_gen(c, &n);

		if (n == number && (uint32_t)index < g->npolicies)
			return g->policy[index].policy->img->name;
	}
	return NULL;
}

/* ---- seeing what others committed ---- */

static void note_foreign_change(struct nb_runtime *rt, uint32_t number,
				const struct nb_gen *g)
{
	struct nb_change *last = &rt->last;

	if (rt->has_last && last->generation == number)
		return; /* our own, written down with more detail */
	memset(last, 0, sizeof(*last));
	memcpy(last->digest, g->digest, NB_SHA256_SIZE);
	last->state = NB_CHANGE_COMMITTED;
	last->generation = number;
	rt->has_last = true;
	for (int i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &rt->seg->mem->comm[i];
		uint64_t w = __atomic_load_n(&c->record.word, __ATOMIC_ACQUIRE);
		struct nb_change_comm *to = &last->comm[last->ncomms];
		struct nb_record r;

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) ||
		    nb_fence_word_state(w) != NB_FENCE_COMMIT ||
		    nb_fence_word_gen(w) != number || c->first == number)
			continue; /* it began with it */
		to->comm_id = c->comm_id;
		to->fence = nb_fence_word_seq(w);
		to->state = NB_CHANGE_COMMITTED;
		to->ranks = c->nranks;
		r = nb_record_here(rt->seg, c, false);
		to->passed = nb_fence_passed(&r, to->fence);
		last->ncomms++;
	}
}

static bool same_policies(const struct nb_gen *a, const struct nb_gen *b)
{
	if (a->npolicies != b->npolicies ||
	    !nb_order_same(&a->order, &b->order) ||
	    !nb_scopes_same(&a->scopes, &b->scopes))
		return false;
	for (uint32_t i = 0; i < a->npolicies; i++)
		if (a->policy[i].policy != b->policy[i].policy)
			return false;
	return true;
}

/* Nobody asked for it, and it has the policies that there were: controllers
 * made it, maybe many a second. People go back to what people did. */
static bool by_controllers(const struct nb_runtime *rt, uint32_t number,
			   const struct nb_gen *g)
{
	uint32_t uid, pid;
	uint64_t at_s;

	return nb_loop_wanted(g) && same_policies(g, rt->baseline) &&
	       nb_segment_signed(rt->seg, number, &at_s, &uid, &pid) && !pid;
}

void nb_runtime_sync(struct nb_runtime *rt)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_gen *g;
	bool loop;
	uint64_t n;

	if (!rt->seg)
		return;
	n = nb_seg_baseline(
		__atomic_load_n(&rt->seg->mem->baseline, __ATOMIC_SEQ_CST));
	if (!n || n == rt->baseline_number || n > NB_FENCE_MAX_GEN ||
	    !nb_segment_digest(rt->seg, (uint32_t)n, digest))
		return;
	/* a process that came after the change does not hold it, and keeps
	 * what it began with */
	g = nb_runtime_gen_find(rt, digest);
	if (!g)
		return;
	loop = by_controllers(rt, (uint32_t)n, g);
	if (g != rt->baseline && !loop)
		rt->previous = rt->baseline;
	rt->baseline = g;
	rt->baseline_number = (uint32_t)n;
	nb_events_use(g);
	if (rt->staged == g)
		rt->staged = NULL;
	nb_runtime_remember(rt, (uint32_t)n, g);
	nb_history_note(rt, (uint32_t)n, g, loop);
	note_foreign_change(rt, (uint32_t)n, g);
}

void nb_runtime_tick(struct nb_runtime *rt)
{
	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	nb_runtime_sweep(rt);
	nb_events_use(rt->baseline);
	for (struct nb_comm *c = rt->comms; c; c = c->next)
		nb_comm_tell_mismatch(c);
	nb_chain_tell(rt);
	nb_override_tell(rt);
	nb_runtime_unlock(rt);
	nb_watch_turn(rt);
	nb_loop_turn(rt);
	nb_events_turn();
	nb_events_tell(rt);
}

/* ---- sums ---- */

uint64_t nb_runtime_decisions(const struct nb_runtime *rt)
{
	uint64_t n = rt->old_decisions;

	for (const struct nb_comm *c = rt->comms; c; c = c->next)
		n += nb_comm_decisions(c);
	return n;
}

uint64_t nb_runtime_refused(const struct nb_runtime *rt, enum nb_refused why)
{
	uint64_t n = rt->old_refused[why];

	for (const struct nb_comm *c = rt->comms; c; c = c->next)
		n += nb_comm_refused(c, why);
	return why == NB_REFUSED_NO_CONTEXT ? n + nb_tuner_lost() : n;
}

void nb_runtime_segment_info(struct nb_runtime *rt, struct nb_segment_info *out)
{
	memset(out, 0, sizeof(*out));
	if (!rt->seg) {
		snprintf(out->why, sizeof(out->why),
			 "NCCL has made no communicator yet");
		return;
	}
	out->shared = rt->seg->shared;
	out->membarrier = rt->seg->membarrier;
	out->processes = nb_segment_procs(rt->seg);
	snprintf(out->why, sizeof(out->why), "%s", rt->seg->why);
	if (out->shared)
		snprintf(out->path, sizeof(out->path), "%s/%s.seg",
			 rt->place.dir, rt->place.job);
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&init_lock);
	pthread_mutex_lock(&runtime.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&runtime.lock);
	pthread_mutex_unlock(&init_lock);
}

/*
 * The child has copies of everything but the control thread and no rank: its
 * communicators must not write into the parent's slots.
 */
static void after_fork_child(void)
{
	struct nb_runtime *rt = &runtime;

	for (struct nb_comm *c = rt->comms; c; c = c->next) {
		c->fence.slot = &c->own_slot;
		c->fence.odd &= ~(uint32_t)NB_FENCE_CALLS;
		c->fence.record = &c->own_record;
		c->ring = c->own_ring;
		c->fence.seen = 0;
		c->searching = 0; /* its thread stayed behind */
		c->ahead.gen = NULL;
		c->seg = NULL;
		c->entry = NULL;
	}
	nb_segment_abandon(rt->seg);
	rt->seg = NULL;
	nb_control_forked(rt->control);
	nb_loop_forked(rt);
	rt->forked = made == MADE;
	nb_events_forked();
	nb_net_forked();
	nb_guard_forked();
	pthread_mutex_unlock(&rt->lock);
	pthread_mutex_unlock(&init_lock);
}

/* ---- making it ---- */

static void open_place(struct nb_runtime *rt)
{
	int rc = nb_place_open(&rt->place, rt->params.str[NB_P_SOCKET_DIR],
			       rt->params.str[NB_P_JOB], say_place, rt,
			       &rt->place_err);

	if (rc)
		nb_log_err(rt, "no control socket, no shared segment",
			   &rt->place_err);
}

/* What the ranks of all processes must have alike, for others to compare. Our
 * entry is read by those alone who find a rank of ours, and that comes later.
 */
static void tell_settings(struct nb_runtime *rt)
{
	struct nb_seg_proc *self = &rt->seg->mem->proc[rt->seg->proc];
	const int64_t *num = rt->params.num;

	self->rank = rt->place.rank;
	self->setting[NB_SETTING_VERSION] = nb_begin_version(NCCLBPF_VERSION);
	self->setting[NB_SETTING_COHERENCE] = (uint32_t)num[NB_P_COHERENCE];
	self->setting[NB_SETTING_MAX_CHANNELS] =
		(uint32_t)num[NB_P_MAX_CHANNELS];
	self->setting[NB_SETTING_FENCE_MARGIN] =
		(uint32_t)num[NB_P_FENCE_MARGIN];
	self->setting[NB_SETTING_FENCE_TIMEOUT_MS] =
		(uint32_t)num[NB_P_FENCE_TIMEOUT_MS];
}

static int attach(struct nb_runtime *rt, struct nb_err *err)
{
	bool control = !rt->params.num[NB_P_CONTROL] && rt->place.dirfd >= 0;
	int rc =
		nb_segment_attach(&rt->seg, rt->place.dirfd, rt->place.job,
				  control ? NB_SEG_PROC_CONTROL : 0, true, err);

	if (!rc && !rt->seg->shared)
		nb_log(rt, rt->seg->stranger ? NB_LOG_WARN : NB_LOG_INFO,
		       "the job segment is not shared (%s): policies can be "
		       "changed only in communicators that live in this "
		       "process alone",
		       rt->seg->why);
	if (!rc)
		tell_settings(rt);
	return rc;
}

/* The first generation, from NCCLBPF_POLICY; the empty one if that fails. */
static void load_policies(struct nb_runtime *rt)
{
	const char *list = rt->params.str[NB_P_POLICY];
	struct nb_gen *g = NULL;
	struct nb_err err;

	if (!*list)
		return;
	if (!nb_load_policies(rt, list, &g, &err))
		g = nb_runtime_gen_keep(rt, g, &err);
	if (g)
		rt->baseline = g;
}

/* Number the first generation, alike in all processes that have it. */
static void number_baseline(struct nb_runtime *rt)
{
	uint32_t number = 0;

	if (nb_segment_lock(rt->seg, 3000, NULL))
		return; /* numbered when a communicator joins */
	nb_segment_gen(rt->seg, rt->baseline->digest, false, &number, NULL);
	nb_segment_unlock(rt->seg);
	rt->baseline_number = number;
	nb_runtime_remember(rt, number, rt->baseline);
	nb_runtime_lock(rt);
	nb_history_note(rt, number, rt->baseline, false);
	nb_runtime_unlock(rt);
}

static void tell(struct nb_runtime *rt)
{
	if (rt->load_err.code) {
		nb_log_err(rt, "NCCLBPF_POLICY cannot be had, NCCL decides",
			   &rt->load_err);
		return;
	}
	for (uint32_t i = 0; i < rt->baseline->npolicies; i++) {
		const struct nb_image *img =
			rt->baseline->policy[i].policy->img;
		char digest[65];

		nb_sha256_text(img->digest, digest);
		nb_log(rt, NB_LOG_INFO, "policy %s (%.16s) decides", img->name,
		       digest);
	}
	if (rt->params.num[NB_P_COHERENCE])
		nb_log(rt, NB_LOG_WARN,
		       "NCCLBPF_COHERENCE=off: policies may answer differently "
		       "on different ranks, which hangs a job of more than one "
		       "process");
}

/* The segment promised a socket: a coordinator must know better. */
static void no_control(struct nb_runtime *rt)
{
	if (nb_segment_lock(rt->seg, 3000, NULL))
		return;
	rt->seg->mem->proc[rt->seg->proc].flags &=
		~(uint32_t)NB_SEG_PROC_CONTROL;
	nb_segment_unlock(rt->seg);
}

static void start_control(struct nb_runtime *rt)
{
	struct nb_control *control = NULL;
	struct nb_err err;

	if (rt->params.num[NB_P_CONTROL] || rt->place.dirfd < 0)
		return;
	if (nb_control_start(&control, rt, &rt->place, &err)) {
		nb_log_err(rt, "no control socket", &err);
		no_control(rt);
	}
	nb_runtime_lock(rt);
	rt->control = control;
	nb_runtime_unlock(rt);
}

static void free_all(struct nb_runtime *rt)
{
	for (int i = 0; i < NB_MAX_GENS; i++)
		nb_gen_put(rt->gens[i]);
	nb_gen_put(rt->empty);
	for (uint32_t i = 0; i < rt->nheld; i++)
		nb_policy_put(rt->held[i].policy);
	nb_segment_detach(rt->seg);
	nb_place_close(&rt->place);
	nb_params_free(&rt->params);
}

static int make(struct nb_runtime *rt)
{
	struct nb_err err;
	int rc;

	rt->place.dirfd = -1;
	rc = nb_params_read(&rt->params, say, rt);
	rt->disabled = rt->params.num[NB_P_DISABLE];
	if (rc || rt->disabled)
		return rc ? rc : NB_E_SETTING;
	rt->pid = getpid();
	rt->started_ns = now_ns();
	rt->nccl_filter = getenv("NCCL_ALGO") || getenv("NCCL_PROTO");
	if (gethostname(rt->host, sizeof(rt->host) - 1))
		snprintf(rt->host, sizeof(rt->host), "localhost");
	if (*rt->params.str[NB_P_ENV])
		nb_override_file(rt, rt->params.str[NB_P_ENV]);
	nb_chain_begin(rt);
	open_place(rt);
	rc = nb_gen_new(&rt->empty, NULL, 0, NULL, &err);
	if (!rc)
		rc = attach(rt, &err);
	if (rc) {
		nb_log_err(rt, "ncclbpf does nothing in this process", &err);
		return rc;
	}
	rt->baseline = rt->empty;
	nb_runtime_lock(rt);
	load_policies(rt);
	rt->first = rt->baseline;
	nb_events_use(rt->baseline);
	nb_runtime_unlock(rt);
	number_baseline(rt);
	tell(rt);
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	start_control(rt);
	return 0;
}

/* What is there of it goes; lines that were kept are still to be written. */
static void give_up(struct nb_runtime *rt)
{
	int64_t level = rt->params.num[NB_P_LOG];

	free_all(rt);
	rt->empty = rt->baseline = NULL;
	rt->seg = NULL;
	rt->params.num[NB_P_LOG] = level;
}

/* NCCL is called in a child that was forked with a runtime. */
static int make_again(struct nb_runtime *rt)
{
	struct nb_err err;
	int rc;

	nb_control_stop(rt->control);
	rt->control = NULL;
	rt->forked = false;
	rt->pid = getpid();
	rt->staged = NULL; /* the parent's, not said in our entry */
	nb_place_close(&rt->place);
	open_place(rt);
	rc = attach(rt, &err);
	if (rc) {
		nb_log_err(rt, "ncclbpf does nothing in this process", &err);
		return rc;
	}
	number_baseline(rt);
	start_control(rt);
	return 0;
}

void nb_log_to(nb_logger_fn *logger)
{
	nb_logger_fn *none = NULL;

	if (logger)
		__atomic_compare_exchange_n(&runtime.logger, &none, logger,
					    false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE);
}

struct nb_runtime *nb_runtime_get(nb_logger_fn *logger)
{
	struct nb_runtime *rt = &runtime;
	bool usable;

	nb_log_to(logger);
	pthread_mutex_lock(&init_lock);
	if (made == FRESH) {
		made = make(rt) ? FAILED : MADE;
		if (made == FAILED)
			give_up(rt);
	} else if (made == MADE && rt->forked && make_again(rt))
		made = FAILED;
	usable = made == MADE;
	if (logger)
		nb_log_kept(rt);
	pthread_mutex_unlock(&init_lock);
	return usable ? rt : NULL;
}

/* ---- the end ---- */

/*
 * At exit or dlclose. Where communicators live on, their threads may still be
 * deciding (an exiting process): then nothing that they use is taken away, and
 * the segment learns from the pid that we are gone.
 */
static __attribute__((destructor)) void end(void)
{
	struct nb_runtime *rt = &runtime;

	if (made != MADE || rt->pid != getpid())
		return;
	nb_control_stop(rt->control);
	rt->control = NULL;
	nb_loop_end(rt);
	nb_events_end();
	if (!rt->comms)
		free_all(rt);
	made = FAILED;
}
