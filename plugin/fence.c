// SPDX-License-Identifier: MIT
// The fence protocol: a rank's slow path and the coordinator. Everything
// shared is a word changed by compare-and-swap or written by one thread. Each
// commit has its own G; where one arms the same F again, the fallback is the
// same too. So a compare-and-swap that finds ARMED(G, F) may put the fallback
// back, however late it comes.
#include "plugin/fence.h"

#include <sched.h>
#include <time.h>

#include "plugin/step.h"

static uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

static bool swap(uint64_t *p, uint64_t from, uint64_t to)
{
	uint64_t was = from;
	bool done;

	NB_DONE(SWAP, from, done ? to : from,
		done = __atomic_compare_exchange_n(p, &was, to, false,
						   __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST));
	return done;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void pause_for(unsigned turn)
{
	static const struct timespec ts = { 0, 50000 };

	if (turn < 64)
		sched_yield(); /* decided within microseconds as a rule */
	else
		nanosleep(&ts, NULL);
}

/* Put back what stood before the arming @word. */
static bool abort_word(struct nb_seg_record *r, uint64_t word)
{
	uint64_t back = load(&r->fallback);

	/* only a broken or hostile process leaves such a fallback */
	if (nb_fence_word_state(back) == NB_FENCE_ARMED)
		back = 0;
	return swap(&r->word, word, back);
}

/* ---- a rank ---- */

/*
 * Wait until the word is not @word any more; true: this rank changed it. The
 * slot says that we wait, so that the coordinator may commit a fence that this
 * rank stands at: it will obey the outcome.
 */
static bool wait_decided(struct nb_fence_rank *f, uint64_t word,
			 uint64_t deadline)
{
	bool changed = false;

	store(&f->slot->waiting, word);
	NB_STEP(WAITING);
	for (unsigned turn = 0; load(&f->record->word) == word; turn++) {
		if (now_ns() >= deadline) {
			NB_STEP(PATIENCE);
			changed = abort_word(f->record, word);
		}
		if (changed)
			break;
		pause_for(turn);
	}
	NB_STEP(RELEASED);
	store(&f->slot->waiting, 0);
	return changed;
}

static void adopt(struct nb_fence_rank *f, uint32_t number)
{
	NB_STEP(ADOPT);
	__atomic_store_n(&f->number, number, __ATOMIC_RELAXED);
	__atomic_store_n(&f->slot->generation, number, __ATOMIC_RELEASE);
	NB_STEP(ADOPTED);
}

uint32_t nb_fence_look(struct nb_fence_rank *f, uint64_t k, bool *timed_out)
{
	uint64_t deadline = 0;

	*timed_out = false;
	NB_STEP(ANNOUNCED);
	for (;;) {
		uint64_t word = load(&f->record->word);
		uint64_t fence = nb_fence_word_seq(word);

		switch (nb_fence_word_state(word)) {
		case NB_FENCE_COMMIT:
			if (k < fence)
				return f->number;
			f->seen = word;
			adopt(f, nb_fence_word_gen(word));
			return f->number;
		case NB_FENCE_ARMED:
			if (k < fence)
				return f->number;
			/* one deadline for all armings that this decision
			 * meets: the wait is bounded whatever others do */
			if (!deadline)
				deadline = now_ns() +
					   f->timeout_ms * UINT64_C(1000000);
			if (wait_decided(f, word, deadline))
				*timed_out = true;
			break;
		default: /* NONE, or no state that we write */
			f->seen = word;
			return f->number;
		}
	}
}

/* ---- the coordinator ---- */

static bool live(const struct nb_seg_slot *slot)
{
	return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == NB_SLOT_LIVE;
}

/* What a rank that is gone has decided binds those that come to it later. */
static bool decided(const struct nb_seg_slot *slot)
{
	return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) != NB_SLOT_FREE;
}

uint64_t nb_fence_announced(const struct nb_seg_comm *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		uint64_t n = load(&c->slot[i].announced);

		if (n > most && decided(&c->slot[i]))
			most = n;
	}
	return most;
}

/*
 * Has every rank taken generation @number? To have announced the fence is not
 * enough: a rank may stand between its announcement and its look at the word.
 */
static bool adopted(const struct nb_seg_comm *c, uint32_t number)
{
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		if (live(&c->slot[i]) &&
		    __atomic_load_n(&c->slot[i].generation, __ATOMIC_ACQUIRE) !=
			    number)
			return false;
	return true;
}

uint32_t nb_fence_passed(const struct nb_seg_comm *c, uint64_t fence)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		uint32_t state =
			__atomic_load_n(&c->slot[i].state, __ATOMIC_ACQUIRE);

		n += state == NB_SLOT_GONE ||
		     (state == NB_SLOT_LIVE &&
		      load(&c->slot[i].announced) > fence);
	}
	return n;
}

void nb_fence_recover(struct nb_seg_comm *c)
{
	uint64_t word = load(&c->record.word);

	NB_STEP(RECOVER);
	if (nb_fence_word_state(word) == NB_FENCE_ARMED)
		abort_word(&c->record, word);
}

bool nb_fence_ready(const struct nb_seg_comm *c)
{
	uint64_t word = load(&c->record.word);

	return nb_fence_word_state(word) != NB_FENCE_COMMIT ||
	       nb_fence_announced(c) <= nb_fence_word_seq(word) ||
	       adopted(c, nb_fence_word_gen(word));
}

enum nb_fence_outcome nb_fence_arm(struct nb_seg_comm *c, uint32_t number,
				   uint64_t margin, uint64_t *word)
{
	uint64_t before = load(&c->record.word);
	uint64_t most = nb_fence_announced(c), fence = most + margin;

	/* A rank has at most one generation ahead of it... */
	if (!nb_fence_ready(c))
		return NB_FENCE_PENDING;
	/* ...and where nobody has reached it, the new one takes its place. */
	if (nb_fence_word_state(before) == NB_FENCE_COMMIT &&
	    most <= nb_fence_word_seq(before))
		fence = nb_fence_word_seq(before);
	if (most > NB_FENCE_MAX_SEQ || fence > NB_FENCE_MAX_SEQ)
		return NB_FENCE_EXHAUSTED;
	*word = nb_fence_word(NB_FENCE_ARMED, number, fence);
	NB_STEP(READY);
	store(&c->record.fallback, before);
	NB_STEP(FALLBACK);
	return swap(&c->record.word, before, *word) ? NB_FENCE_COMMITTED
						    : NB_FENCE_OVERRUN;
}

enum standing { BELOW, AT_FENCE, BEYOND };

/*
 * Where the furthest rank stands to the fence of @word. A rank that waits at
 * it has made no decision yet and counts as below. The mark is read before
 * the announcement: who is seen to wait has announced what it waits with, so
 * the announcement read next is that of the wait or of a later decision.
 */
static enum standing furthest(const struct nb_seg_comm *c, uint64_t word)
{
	uint64_t fence = nb_fence_word_seq(word);
	enum standing worst = BELOW;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct nb_seg_slot *slot = &c->slot[i];
		uint64_t waits_for = load(&slot->waiting);
		uint64_t n = load(&slot->announced);

		if (n <= fence || !decided(slot))
			continue;
		if (n > fence + 1)
			return BEYOND;
		if (waits_for != word)
			worst = AT_FENCE;
	}
	return worst;
}

/*
 * Is no rank past the fence? One that has announced it may have read the
 * record before the arming, or be about to wait: it soon shows which.
 */
static bool none_past(const struct nb_seg_comm *c, uint64_t word)
{
	uint64_t deadline = now_ns() + 1000000;
	enum standing st = furthest(c, word);

	while (st == AT_FENCE && now_ns() < deadline) {
		sched_yield();
		st = furthest(c, word);
	}
	return st == BELOW;
}

enum nb_fence_outcome nb_fence_decide(struct nb_segment *s,
				      struct nb_seg_comm *c, uint64_t word,
				      bool membarrier)
{
	uint64_t fence = nb_fence_word_seq(word);
	uint32_t number = nb_fence_word_gen(word);

	NB_STEP(ARMED);
	if (membarrier && !nb_segment_membarrier(s)) {
		abort_word(&c->record, word);
		return NB_FENCE_NO_BARRIER;
	}
	NB_STEP(BARRIER);
	if (!none_past(c, word)) {
		NB_STEP(OVERRUN);
		abort_word(&c->record, word);
		return NB_FENCE_OVERRUN;
	}
	NB_STEP(NONE_PAST);
	return swap(&c->record.word, word,
		    nb_fence_word(NB_FENCE_COMMIT, number, fence))
		       ? NB_FENCE_COMMITTED
		       : NB_FENCE_OVERRUN;
}

/* Arm, waiting until ranks have passed the fence before. */
static enum nb_fence_outcome arm_when_passed(struct nb_seg_comm *c,
					     uint32_t number, uint64_t margin,
					     uint32_t timeout_ms,
					     uint64_t *word)
{
	uint64_t deadline = now_ns() + timeout_ms * UINT64_C(1000000);
	enum nb_fence_outcome o;

	for (unsigned turn = 0;; turn++) {
		o = nb_fence_arm(c, number, margin, word);
		if (o != NB_FENCE_PENDING || now_ns() >= deadline)
			return o;
		pause_for(turn);
	}
}

enum { FIRST_MARGIN = 4, LAST_TRIES = 4 };

enum nb_fence_outcome nb_fence_commit(struct nb_segment *s,
				      struct nb_seg_comm *c, uint32_t number,
				      const struct nb_fence_opts *opts,
				      struct nb_fence_result *result)
{
	uint64_t margin = opts->idle   ? 0
			  : opts->once ? opts->margin
				       : FIRST_MARGIN;
	unsigned last = 0;

	result->tries = 0;
	nb_fence_recover(c);
	for (;;) {
		enum nb_fence_outcome o;
		uint64_t word = 0;

		if (margin > opts->margin)
			margin = opts->margin;
		o = arm_when_passed(c, number, margin, opts->timeout_ms, &word);
		result->fence = nb_fence_word_seq(word);
		result->tries++;
		if (o == NB_FENCE_COMMITTED)
			o = nb_fence_decide(s, c, word, opts->membarrier);
		if (o != NB_FENCE_OVERRUN || opts->once)
			return o;
		if (margin == opts->margin && ++last == LAST_TRIES)
			return o;
		margin = margin ? margin * 4 : FIRST_MARGIN;
	}
}
