// SPDX-License-Identifier: MIT
// The closed loop, in turns of the control thread. One process is elected by
// a compare-and-swap on a word of the segment, and another when it is gone.
// It goes round: idle until it is time; gather, until all have posted their
// merged maps; run; stage, until all have staged what the run changed; commit.
// Nothing here is needed for what is right: two that take themselves for
// elected stage different digests, and a commit wants one in all processes.
#include "plugin/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/hook/loop.h"
#include "plugin/change.h"
#include "plugin/clock.h"
#include "plugin/runtime.h"
#include "plugin/segment.h"
#include "plugin/step.h"
#include "plugin/wall.h"

#define MS UINT64_C(1000000)

enum {
	GATHER_MS = 500, /* for maps of processes that do not answer */
	STAGE_MS = 2000,
	LOOK_MS = 500, /* is the elected process alive? */
	BEAT_MS = 500,
	RESERVE = 4096,		/* generation numbers that are left to people */
	LAST_S = 8 * 7 * 86400, /* see nb_loop_rest_ns */
	SHARE = 5, /* a run's part of the thread's time: one of so many */
	QUICK_MS = 20,
	SLOW_MS = 100
};

static const uint64_t interval_least = 20 * MS;
static const uint64_t interval_most = UINT64_C(3600000) * MS;

/* ---- the word: bits 0-15 entry + 1, 16-47 pid, 63 paused ---- */

#define PAUSED (UINT64_C(1) << 63)

static uint64_t word_of(const struct nb_segment *s, uint32_t entry)
{
	return (uint64_t)(entry + 1) | (s->mem->proc[entry].pid & 0xffffffff)
					       << 16;
}

static uint64_t load_word(const struct nb_segment *s)
{
	return __atomic_load_n(&s->mem->loop, __ATOMIC_SEQ_CST);
}

static bool swap_word(struct nb_segment *s, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&s->mem->loop, &from, to, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* NB_SEG_PROCS: nobody. */
static uint32_t entry_of(uint64_t word)
{
	uint32_t e = (uint32_t)(word & 0xffff);

	return e && e <= NB_SEG_PROCS ? e - 1 : NB_SEG_PROCS;
}

/* ---- the board ---- */

static const struct nb_seg_proc *self_of(const struct nb_runtime *rt)
{
	return &rt->seg->mem->proc[rt->seg->proc];
}

static bool open_board(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	char name[sizeof(rt->place.job) + 8];
	struct nb_err err;

	if (l->board.fd >= 0)
		return true;
	snprintf(name, sizeof(name), "%s.loop", rt->place.job);
	if (!nb_board_open(&l->board, rt->place.dirfd, name, &err))
		return true;
	if (!l->board_failed)
		nb_log_err(rt,
			   "controllers see the maps of their process alone",
			   &err);
	l->board_failed = true;
	return false;
}

static void fail(struct nb_runtime *rt, const struct nb_err *err)
{
	struct nb_loop *l = rt->loop;

	l->state.failures++;
	if (strcmp(l->state.error, err->text) != 0)
		nb_log_err(rt, "controller", err);
	snprintf(l->state.error, sizeof(l->state.error), "%.190s", err->text);
}

static void post_state(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	struct nb_err err;

	l->state.pid = self_of(rt)->pid;
	l->state.start = self_of(rt)->start;
	l->state.beat++;
	l->posted_ns = nb_clock_system();
	if (rt->seg->shared && open_board(rt) &&
	    nb_board_post(&l->board, rt->seg->proc, NB_SHEET_STATE, &l->state,
			  sizeof(l->state), &err))
		fail(rt, &err);
}

/* The state that entry @i posted, if it is that process's. */
static bool read_state(const struct nb_runtime *rt, uint32_t i,
		       struct nb_loop_state *out)
{
	const struct nb_seg_proc *p = &rt->seg->mem->proc[i];
	struct nb_buf b;
	bool fine = nb_board_read(&rt->loop->board, i, NB_SHEET_STATE, &b) &&
		    b.size == sizeof(*out);

	if (fine) {
		memcpy(out, b.data, sizeof(*out));
		out->error[sizeof(out->error) - 1] = '\0';
		fine = out->pid == p->pid && out->start == p->start;
	}
	nb_buf_fini(&b);
	return fine;
}

/* ---- what stands before a sheet's bytes ---- */

struct sheet_change {
	uint64_t number;
	uint8_t from[NB_SHA256_SIZE], to[NB_SHA256_SIZE];
};

static int post_maps(struct nb_runtime *rt, const struct nb_gen *g,
		     uint64_t request, struct nb_err *err)
{
	const struct nb_loop_maps head = { self_of(rt)->pid, self_of(rt)->start,
					   request };
	struct nb_buf maps, all;
	int rc = nb_loop_pack(&maps, g, err);

	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, &head, sizeof(head));
	if (!rc) {
		nb_buf_bytes(&all, maps.data ? maps.data : "", maps.size);
		nb_buf_fini(&maps);
	}
	/* where there are too many, nobody waits for them */
	if (nb_board_post(&rt->loop->board, rt->seg->proc, NB_SHEET_MAPS,
			  all.data, all.size, rc ? NULL : err))
		rc = NB_E_IO;
	nb_buf_fini(&all);
	return rc;
}

/* ---- election ---- */

/* Is the process that @word names in the segment, and does it live? */
static bool stands(struct nb_runtime *rt, uint64_t word)
{
	uint32_t e = entry_of(word);
	bool alive;

	if (e == NB_SEG_PROCS)
		return false;
	if (nb_segment_lock(rt->seg, QUICK_MS, NULL))
		return true; /* somebody is busy: asked again later */
	nb_segment_reap(rt->seg);
	alive = rt->seg->mem->proc[e].pid &&
		word_of(rt->seg, e) == (word & ~PAUSED);
	nb_segment_unlock(rt->seg);
	return alive;
}

static void take_office(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;

	l->elected = true;
	l->phase = NB_LOOP_IDLE;
	l->next_ns = nb_clock_system();
	l->last_run_ns = 0;
	memset(l->have, 0, sizeof(l->have));
	memset(&l->state, 0, sizeof(l->state));
	l->state.interval_ns =
		(uint64_t)rt->params.num[NB_P_CONTROLLER_MS] * MS;
	l->state.elected_us = nb_wall_us();
	nb_log(rt, NB_LOG_INFO,
	       "controllers of the job run in this process from now on");
	NB_STEP(LOOP_ELECTED);
	post_state(rt);
}

/* Who is it? Elects this process where nobody is. */
static void elect(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	uint64_t word = load_word(rt->seg), now = nb_clock_system();
	uint64_t mine = word_of(rt->seg, rt->seg->proc);

	if ((word & ~PAUSED) == mine) {
		if (!l->elected)
			take_office(rt);
		return;
	}
	l->elected = false;
	if (word & ~PAUSED) {
		if (now < l->looked_ns + LOOK_MS * MS)
			return;
		l->looked_ns = now;
		if (stands(rt, word))
			return;
	}
	if (swap_word(rt->seg, word, mine | (word & PAUSED)))
		take_office(rt);
}

static void resign(struct nb_runtime *rt)
{
	uint64_t word = load_word(rt->seg);

	if ((word & ~PAUSED) == word_of(rt->seg, rt->seg->proc))
		swap_word(rt->seg, word, word & PAUSED);
	rt->loop->elected = false;
}

/* ---- staging, in every process ---- */

/* Is something staged here that is not @l's? */
static bool others_staged(const struct nb_runtime *rt)
{
	const struct nb_loop *l = rt->loop;

	return rt->staged &&
	       (!l->staged ||
		memcmp(rt->staged->digest, l->digest, NB_SHA256_SIZE) != 0);
}

static void unstage(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;

	if (l->staged && rt->staged &&
	    !memcmp(rt->staged->digest, l->digest, NB_SHA256_SIZE))
		nb_change_abort(rt, l->digest, NULL);
	l->staged = false;
}

/* Stage what @bytes make of @from; the digest they make in l->digest. */
static int stage(struct nb_runtime *rt, const uint8_t from[NB_SHA256_SIZE],
		 const void *bytes, size_t size, struct nb_err *err)
{
	struct nb_loop *l = rt->loop;
	struct nb_gen *g = NULL;
	uint8_t digest[NB_SHA256_SIZE];
	int rc;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	if (memcmp(rt->baseline->digest, from, NB_SHA256_SIZE) != 0)
		rc = nb_fail(err, NB_E_BUSY, 0,
			     "another change came first: the next run sees it");
	else if (others_staged(rt))
		rc = nb_fail(err, NB_E_BUSY, 0,
			     "another change is staged: change status shows "
			     "it");
	else
		rc = nb_loop_apply(&g, rt->baseline, bytes, size, err);
	nb_runtime_unlock(rt);
	if (!rc)
		rc = nb_change_stage_gen(rt, g, digest, err);
	if (rc)
		return rc;
	memcpy(l->digest, digest, sizeof(digest));
	l->staged = true;
	return 0;
}

/* ---- processes that are not elected ---- */

static void answer(struct nb_runtime *rt, uint64_t request)
{
	struct nb_err err;
	struct nb_gen *g;

	nb_runtime_lock(rt);
	g = nb_gen_get(rt->baseline);
	nb_runtime_unlock(rt);
	if (post_maps(rt, g, request, &err))
		fail(rt, &err);
	nb_runtime_lock(rt);
	nb_gen_put(g);
	nb_runtime_unlock(rt);
	rt->loop->answered = request;
	NB_STEP(LOOP_ANSWERED);
}

static void follow_change(struct nb_runtime *rt, uint32_t elected,
			  uint64_t number)
{
	struct nb_loop *l = rt->loop;
	struct sheet_change head;
	struct nb_err err = { 0 };
	struct nb_buf b;

	unstage(rt);
	if (number && nb_board_read(&l->board, elected, NB_SHEET_CHANGE, &b)) {
		bool whole = b.size >= sizeof(head);

		if (whole) {
			memcpy(&head, b.data, sizeof(head));
			whole = head.number == number;
		}
		if (whole && stage(rt, head.from, b.data + sizeof(head),
				   b.size - sizeof(head), &err))
			fail(rt, &err);
		nb_buf_fini(&b);
		if (!whole)
			return; /* it writes: the next turn reads */
	}
	l->seen = number;
	NB_STEP(LOOP_FOLLOWED);
}

static void follow(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	uint64_t word = load_word(rt->seg) & ~PAUSED;
	uint32_t elected = entry_of(word);
	struct nb_loop_state s;

	if (elected == NB_SEG_PROCS || !open_board(rt) ||
	    !read_state(rt, elected, &s))
		return;
	if (word != l->word) { /* another one, who counts anew */
		l->word = word;
		l->answered = l->seen = 0;
		unstage(rt);
	}
	if (s.request != l->answered)
		answer(rt, s.request);
	if (s.change != l->seen)
		follow_change(rt, elected, s.change);
}

/* ---- the elected process ---- */

struct member {
	uint32_t entry;
	uint64_t pid, start;
};

/* The other living processes that take part; -1: the segment is busy. */
static int members(struct nb_runtime *rt, struct member *out)
{
	int n = 0;

	if (nb_segment_lock(rt->seg, QUICK_MS, NULL))
		return -1;
	nb_segment_reap(rt->seg);
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		const struct nb_seg_proc *p = &rt->seg->mem->proc[i];

		if (p->pid && i != rt->seg->proc)
			out[n++] = (struct member){ i, p->pid, p->start };
	}
	nb_segment_unlock(rt->seg);
	return n;
}

static bool same_head(const void *bytes, const struct nb_loop_maps *head)
{
	return !memcmp(bytes, head, sizeof(*head));
}

static bool read_maps(const struct nb_loop *l, uint32_t entry,
		      const struct nb_loop_maps *head, struct nb_buf *out)
{
	if (!nb_board_read(&l->board, entry, NB_SHEET_MAPS, out))
		return false;
	if (out->size >= sizeof(*head) && same_head(out->data, head))
		return true;
	nb_buf_fini(out);
	return false;
}

bool nb_loop_answered(struct nb_loop *l, uint32_t entry,
		      const struct nb_loop_maps *head)
{
	struct nb_buf b;

	if (same_head(&l->have[entry], head))
		return true;
	if (!nb_board_begins(&l->board, entry, NB_SHEET_MAPS, head,
			     sizeof(*head)) ||
	    !read_maps(l, entry, head, &b))
		return false;
	nb_buf_fini(&b);
	l->have[entry] = *head;
	return true;
}

/* What the answer of @m to the request that stands begins with. */
static struct nb_loop_maps head_of(const struct nb_loop *l,
				   const struct member *m)
{
	return (struct nb_loop_maps){ m->pid, m->start, l->state.request };
}

/* How many have not answered yet. */
static int waits_for(struct nb_runtime *rt, const struct member *m, int n)
{
	int missing = 0;

	for (int i = 0; i < n; i++) {
		const struct nb_loop_maps head = head_of(rt->loop, &m[i]);

		missing += !nb_loop_answered(rt->loop, m[i].entry, &head);
	}
	return missing;
}

static void merge_all(struct nb_runtime *rt, struct nb_gen *own,
		      const struct nb_gen *g, const struct member *m, int n)
{
	struct nb_loop *l = rt->loop;
	struct nb_err err;
	struct nb_buf b;

	l->state.missing = 0;
	if (nb_loop_pack(&b, g, &err)) {
		fail(rt, &err);
	} else {
		nb_loop_merge(own, b.data, b.size, &l->state.lost);
		nb_buf_fini(&b);
	}
	NB_STEP(LOOP_MERGING);
	for (int i = 0; i < n; i++) {
		const struct nb_loop_maps head = head_of(l, &m[i]);
		const size_t at = sizeof(head);

		if (read_maps(l, m[i].entry, &head, &b)) {
			nb_loop_merge(own, b.data + at, b.size - at,
				      &l->state.lost);
			nb_buf_fini(&b);
		} else {
			l->state.missing++;
		}
	}
	l->state.incomplete += l->state.missing != 0;
}

static void count_ranks(const struct nb_seg *mem,
			struct ncclbpf_controller *ctx)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &mem->comm[i];

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE))
			continue;
		ctx->comms++;
		for (uint32_t k = 0; k < NB_SEG_SLOTS; k++)
			ctx->ranks += __atomic_load_n(&c->slot[k].state,
						      __ATOMIC_RELAXED) ==
				      NB_SLOT_LIVE;
	}
}

/* `policy show` counts what runs, whichever generation it ran in. */
static void count_runs(struct nb_gen *g, const struct nb_gen *own)
{
	for (uint32_t i = 0; i < own->nevents; i++)
		for (uint32_t k = 0; k < g->nevents; k++)
			if (g->event[k].policy == own->event[i].policy &&
			    g->event[k].prog == own->event[i].prog)
				__atomic_fetch_add(&g->event[k].sum.runs, 1,
						   __ATOMIC_RELAXED);
}

static void run(struct nb_runtime *rt, struct nb_gen *own, struct nb_gen *g,
		uint32_t number, int others)
{
	struct nb_loop *l = rt->loop;
	uint64_t now = nb_clock_system(), took;
	struct ncclbpf_controller ctx = {
		.now_ns = now,
		.since_ns = l->last_run_ns ? now - l->last_run_ns : 0,
		.run = l->state.runs,
		.generation = number,
		.changes = l->state.changes,
		.failures = l->state.failures,
		.processes = (uint32_t)others + 1,
		.missing = (uint32_t)l->state.missing,
		.interval_ns = l->state.interval_ns,
	};

	count_ranks(rt->seg->mem, &ctx);
	nb_loop_run(own, &ctx);
	took = nb_clock_system() - now;
	count_runs(g, own);
	l->last_run_ns = now;
	l->state.runs++;
	l->state.run_ns = took;
	if (ctx.interval_ns < interval_least)
		ctx.interval_ns = interval_least;
	if (ctx.interval_ns > interval_most)
		ctx.interval_ns = interval_most;
	l->state.interval_ns = ctx.interval_ns;
	l->next_ns = now + (ctx.interval_ns > took * SHARE ? ctx.interval_ns
							   : took * SHARE);
}

/* What the run changed, staged here and posted for all. */
static int propose(struct nb_runtime *rt, const struct nb_gen *g,
		   const struct nb_buf *change, bool alone, struct nb_err *err)
{
	struct nb_loop *l = rt->loop;
	struct sheet_change head = { l->state.runs, { 0 }, { 0 } };
	struct nb_buf all;
	int rc;

	if (rt->seg->mem->next_gen > NB_FENCE_MAX_GEN - RESERVE)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the last %d generation numbers of the job are "
			       "for other changes than controllers'",
			       RESERVE);
	rc = stage(rt, g->digest, change->data, change->size, err);
	if (rc || alone)
		return rc;
	NB_STEP(LOOP_STAGED);
	memcpy(head.from, g->digest, NB_SHA256_SIZE);
	memcpy(head.to, l->digest, NB_SHA256_SIZE);
	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, &head, sizeof(head));
	nb_buf_bytes(&all, change->data, change->size);
	rc = nb_buf_ok(&all)
		     ? nb_board_post(&l->board, rt->seg->proc, NB_SHEET_CHANGE,
				     all.data, all.size, err)
		     : nb_fail(err, NB_E_NOMEM, 0, "no memory");
	nb_buf_fini(&all);
	if (!rc)
		l->state.change = head.number;
	return rc;
}

uint64_t nb_loop_rest_ns(uint64_t next_gen)
{
	const uint64_t left =
		next_gen < NB_FENCE_MAX_GEN ? NB_FENCE_MAX_GEN - next_gen : 1;

	return left > NB_FENCE_MAX_GEN / 2
		       ? 0
		       : (uint64_t)LAST_S * 1000 * MS / left;
}

/* Changes are made more slowly the fewer numbers are left. */
static void rest(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	const uint64_t ns = nb_loop_rest_ns(
		__atomic_load_n(&rt->seg->mem->next_gen, __ATOMIC_RELAXED));
	const uint64_t next = nb_clock_system() + ns;

	if (!ns)
		return;
	if (!l->rests)
		nb_log(rt, NB_LOG_WARN,
		       "controllers have used half of the job's generation "
		       "numbers: from now on at least %llu ms between two "
		       "changes",
		       (unsigned long long)(ns / MS));
	l->rests = true;
	if (l->next_ns < next)
		l->next_ns = next;
}

/* Whatever came of the change: it is over. */
static void finish(struct nb_runtime *rt, const struct nb_err *why)
{
	struct nb_loop *l = rt->loop;

	if (why) {
		unstage(rt);
		fail(rt, why);
	} else {
		l->state.changes++;
		l->state.error[0] = '\0';
	}
	l->staged = false;
	l->state.change = 0;
	l->phase = NB_LOOP_IDLE;
}

static void commit(struct nb_runtime *rt)
{
	struct nb_change *c = calloc(1, sizeof(*c));
	struct nb_err err;

	if (!c) {
		nb_fail(&err, NB_E_NOMEM, 0, "no memory for a change");
		finish(rt, &err);
		return;
	}
	rt->by_uid = rt->by_pid = 0; /* nobody asked */
	NB_STEP(LOOP_AGREED);
	if (nb_change_commit(rt, rt->loop->digest, NB_CHANGE_ANY, c, &err)) {
		finish(rt, &err);
	} else {
		nb_log(rt, NB_LOG_DEBUG, "controllers made generation %llu",
		       (unsigned long long)c->generation);
		NB_STEP(LOOP_COMMITTED);
		finish(rt, NULL);
	}
	rest(rt);
	free(c);
}

/* Run them on what has come; then there may be something to stage. */
static int run_once(struct nb_runtime *rt, struct nb_gen *g, uint32_t number,
		    const struct member *m, int n, struct nb_err *err)
{
	struct nb_buf change;
	struct nb_gen *own;
	uint32_t elements;
	int rc = nb_loop_gen(&own, g, err);

	if (rc)
		return rc;
	merge_all(rt, own, g, m, n);
	NB_STEP(LOOP_MERGED);
	run(rt, own, g, number, n);
	NB_STEP(LOOP_RAN);
	rc = nb_loop_diff(&change, &elements, own, g, err);
	nb_gen_put(own);
	rt->loop->phase = NB_LOOP_IDLE;
	if (rc)
		return rc;
	if (elements) {
		rc = propose(rt, g, &change, !n, err);
		if (!rc)
			rt->loop->phase = NB_LOOP_STAGE;
	}
	nb_buf_fini(&change);
	return rc;
}

static void gathered(struct nb_runtime *rt, const struct member *m, int n)
{
	struct nb_loop *l = rt->loop;
	struct nb_err err = { 0 };
	struct nb_gen *g;
	uint32_t number;
	int rc;

	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	g = nb_gen_get(rt->baseline);
	number = rt->baseline_number;
	nb_runtime_unlock(rt);
	l->next_ns = nb_clock_system() + l->state.interval_ns;
	rc = run_once(rt, g, number, m, n, &err);
	nb_runtime_lock(rt);
	nb_gen_put(g);
	nb_runtime_unlock(rt);
	if (rc)
		finish(rt, &err);
	l->until_ns = nb_clock_system() + STAGE_MS * MS;
	if (!rc && l->phase == NB_LOOP_STAGE && !n)
		commit(rt);
	post_state(rt);
	if (l->phase == NB_LOOP_STAGE)
		NB_STEP(LOOP_PROPOSED);
}

static void begin(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;

	l->state.request++;
	l->phase = NB_LOOP_GATHER;
	l->until_ns = nb_clock_system() + GATHER_MS * MS;
	post_state(rt);
	NB_STEP(LOOP_ASKED);
}

static void staging(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	struct nb_err err = { 0 };
	int rc = nb_change_staged(rt, l->digest, &err);

	if (rc && nb_clock_system() < l->until_ns)
		return;
	if (rc)
		finish(rt, &err);
	else
		commit(rt);
	post_state(rt);
}

static void lead(struct nb_runtime *rt)
{
	struct nb_loop *l = rt->loop;
	struct member *m;
	int n;

	if (l->phase == NB_LOOP_STAGE) {
		staging(rt);
		return;
	}
	if (l->phase == NB_LOOP_IDLE) {
		if (nb_clock_system() < l->next_ns) {
			if (nb_clock_system() > l->posted_ns + BEAT_MS * MS)
				post_state(rt);
			return;
		}
		begin(rt);
	}
	m = calloc(NB_SEG_PROCS, sizeof(*m));
	n = m ? members(rt, m) : -1;
	if (n >= 0 &&
	    (!waits_for(rt, m, n) || nb_clock_system() >= l->until_ns))
		gathered(rt, m, n);
	free(m);
}

/* ---- a turn ---- */

static bool wanted(struct nb_runtime *rt)
{
	bool is;

	nb_runtime_lock(rt);
	is = rt->seg && nb_loop_wanted(rt->baseline);
	nb_runtime_unlock(rt);
	return is;
}

static struct nb_loop *have_loop(struct nb_runtime *rt)
{
	if (!rt->loop) {
		rt->loop = calloc(1, sizeof(*rt->loop));
		if (rt->loop)
			rt->loop->board.fd = -1;
	}
	return rt->loop;
}

void nb_loop_turn(struct nb_runtime *rt)
{
	if (!wanted(rt)) {
		if (rt->loop)
			rt->loop->active = false;
		if (rt->loop && rt->seg && rt->loop->elected) {
			unstage(rt);
			resign(rt);
		}
		return;
	}
	if (!have_loop(rt))
		return;
	rt->loop->active = true;
	elect(rt);
	if (!rt->loop->elected) {
		follow(rt);
	} else if (load_word(rt->seg) & PAUSED) {
		if (rt->loop->phase == NB_LOOP_STAGE) {
			unstage(rt);
			rt->loop->state.change = 0;
		}
		rt->loop->phase = NB_LOOP_IDLE;
		if (nb_clock_system() > rt->loop->posted_ns + BEAT_MS * MS)
			post_state(rt);
	} else {
		lead(rt);
	}
}

int nb_loop_patience(const struct nb_runtime *rt)
{
	return rt->loop && rt->loop->active ? QUICK_MS : SLOW_MS;
}

void nb_loop_forked(struct nb_runtime *rt)
{
	if (!rt->loop)
		return;
	nb_board_close(&rt->loop->board);
	memset(rt->loop, 0, sizeof(*rt->loop));
	rt->loop->board.fd = -1;
}

/* The file goes with the segment's (nb_segment_detach). */
void nb_loop_end(struct nb_runtime *rt)
{
	if (!rt->loop)
		return;
	if (rt->seg)
		resign(rt);
	nb_board_close(&rt->loop->board);
	free(rt->loop);
	rt->loop = NULL;
}

/* ---- for people ---- */

void nb_loop_status(struct nb_runtime *rt, struct nb_loop_info *out)
{
	uint64_t word;
	uint32_t e;

	memset(out, 0, sizeof(*out));
	if (!rt->seg)
		return;
	word = load_word(rt->seg);
	e = entry_of(word);
	out->wanted = wanted(rt);
	out->paused = word & PAUSED;
	out->pid = (word & ~PAUSED) >> 16;
	out->here = rt->loop && rt->loop->elected;
	if (out->here) {
		out->known = true;
		out->state = rt->loop->state;
	} else if (e < NB_SEG_PROCS && have_loop(rt) && rt->seg->shared &&
		   open_board(rt)) {
		out->known = read_state(rt, e, &out->state);
	}
}

void nb_loop_pause(struct nb_runtime *rt, bool pause)
{
	uint64_t word;

	if (!rt->seg)
		return;
	do
		word = load_word(rt->seg);
	while (!swap_word(rt->seg, word,
			  pause ? word | PAUSED : word & ~PAUSED));
}
