// SPDX-License-Identifier: MIT
/*
 * The fence protocol: the slow path of a rank, and the coordinator. A shared
 * word is changed by compare-and-swap or has only one writer. When a fence F is
 * armed for generation G, no rank has announced F, and arming the same F and G
 * again (nb_fence_commit, nb_change_catch_up) sets the same fallback. A
 * compare-and-swap from ARMED(G, F) to the fallback is therefore correct at any
 * time.
 */
#include "plugin/job/fence.h"

#include <assert.h>
#include <sched.h>

#include "plugin/job/step.h"
#include "plugin/runtime/clock.h"

/* State of a rank as the coordinator reads it; it is never ahead of the rank.
 */
struct standing {
	uint64_t announced;  /* number of decisions that the rank has begun */
	uint64_t waiting;    /* the ARMED word that the rank waits for, or 0 */
	uint32_t generation; /* generation that the rank decides with */
	uint32_t state;	     /* state of the slot (enum nb_seg_slot_state) */
};

static uint64_t fence_load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static void store64(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
}

static uint64_t record_load(const struct nb_seg_record *r)
{
	return fence_load64(&r->word);
}

static bool swap_word(uint64_t *word, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool record_swap(struct nb_seg_record *r, uint64_t from, uint64_t to)
{
	bool done;

	NB_DONE(SWAP, from, done ? to : from, done = swap_word(&r->word, from, to));
	return done;
}

static struct standing rank_standing(const struct nb_seg_comm *c, uint32_t rank)
{
	const struct nb_seg_slot *slot = &c->slot[rank];
	struct standing s;

	/*
	 * Read waiting before announced. A rank announces before it waits, so
	 * the announcement read here belongs to that wait or to a later
	 * decision.
	 */
	s.waiting = fence_load64(&slot->waiting);
	s.announced = fence_load64(&slot->announced);
	s.generation = __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE);
	s.state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
	return s;
}

enum {
	YIELDS = 64,	  /* a fence is usually decided within microseconds */
	FIRST_NS = 50000, /* length of the first sleeps */
	SLEEPS = 4,	  /* number of sleeps of each length */
	DOUBLINGS = 8
};

/*
 * Let other threads run. @calls counts the calls during one wait. Sleeps double
 * after each four, up to 12.8 ms, so they lengthen a wait by about a quarter.
 * If all ranks of a host waited with short sleeps, the agent and the store
 * would get too little CPU time to decide the fence.
 */
static void let_others_run(unsigned calls)
{
	unsigned n = calls < YIELDS ? 0 : (calls - YIELDS) / SLEEPS;

	if (calls < YIELDS)
		sched_yield();
	else
		nb_clock_sleep((uint64_t)FIRST_NS << (n < DOUBLINGS ? n : DOUBLINGS));
}

/* Abort: replace the armed @word by its fallback. */
static bool abort_word(struct nb_seg_record *r, uint64_t word)
{
	uint64_t back = fence_load64(&r->fallback);

	/* only a faulty or hostile process writes an armed fallback */
	if (nb_fence_word_state(back) == NB_FENCE_ARMED)
		back = 0;
	return record_swap(r, word, back);
}

/*
 * Returns true if the current decision is the rank's first at or past the fence
 * of @word. Decision numbers are consecutive, so it always is. Call numbers may
 * skip values, so compare with the call number of the previous decision.
 */
static bool first_past(const struct nb_fence_rank *f, uint64_t word)
{
	return !(f->odd & NB_FENCE_CALLS) || f->before <= nb_fence_word_seq(word);
}

/*
 * Wait until the record's word differs from @word. Returns true if this rank
 * aborted the fence. If @first, the slot announces the wait, so that the
 * coordinator may commit a fence at which this rank waits.
 */
static bool wait_decided(struct nb_fence_rank *f, struct nb_seg_record *r, uint64_t word,
			 bool first, uint64_t deadline)
{
	bool changed = false;

	f->waits++;
	if (first)
		store64(&f->slot->waiting, word);
	NB_STEP(WAITING);
	for (unsigned calls = 0; record_load(r) == word; calls++) {
		if (!f->follows && nb_clock_system() >= deadline) {
			NB_STEP(PATIENCE);
			changed = abort_word(r, word);
		}
		if (changed)
			break;
		let_others_run(calls);
	}
	NB_STEP(RELEASED);
	store64(&f->slot->waiting, 0);
	return changed;
}

void nb_fence_adopt(struct nb_fence_rank *f, uint32_t number)
{
	__atomic_store_n(&f->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&f->slot->generation, number, __ATOMIC_RELEASE);
	NB_STEP(ADOPTED);
}

void nb_fence_by_calls(struct nb_fence_rank *f, uint32_t *clocks)
{
	f->odd |= NB_FENCE_CALLS;
	f->clocks = clocks;
	f->clock = nb_fence_calls(f);
	f->before = 0;
	__atomic_store_n(&f->clocks[0], (uint32_t)f->clock, __ATOMIC_RELAXED);
	__atomic_store_n(&f->slot->decisions, f->seq, __ATOMIC_RELAXED);
	nb_fence_publish(f, f->clock + 1);
}

uint32_t nb_fence_look(struct nb_fence_rank *f, uint64_t k, bool *timed_out)
{
	struct nb_seg_record *r = f->record;
	uint64_t deadline = 0;

	*timed_out = false;
	f->looks++;
	NB_STEP(ANNOUNCED);
	for (;;) {
		uint64_t word = record_load(r);
		uint64_t fence = nb_fence_word_seq(word);

		switch (nb_fence_word_state(word)) {
		case NB_FENCE_COMMIT:
			if (k < fence)
				return f->number;
			f->seen = word;
			NB_STEP(ADOPT);
			return nb_fence_word_gen(word);
		case NB_FENCE_ARMED:
			if (k < fence)
				return f->number;
			/*
			 * one deadline for all fences of this decision, so that
			 * the wait is bounded
			 */
			if (!deadline)
				deadline = nb_clock_system() + f->timeout_ms * UINT64_C(1000000);
			if (wait_decided(f, r, word, first_past(f, word), deadline))
				*timed_out = true;
			break;
		default: /* NB_FENCE_NONE, or a state that we do not know */
			f->seen = word;
			return f->number;
		}
	}
}

/*
 * Returns true if the rank has made a decision, even if it has ended: later
 * ranks must not change past decisions.
 */
static bool standing_decided(const struct standing *s)
{
	return s->state != NB_SLOT_FREE;
}

uint64_t nb_fence_announced(const struct nb_seg_comm *c)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct standing s = rank_standing(c, i);

		if (s.announced > most && standing_decided(&s))
			most = s.announced;
	}
	return most;
}

bool nb_fence_adopted(const struct nb_seg_comm *c, uint32_t number)
{
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct standing s = rank_standing(c, i);

		if (s.state == NB_SLOT_LIVE && s.generation != number)
			return false;
	}
	return true;
}

static bool has_passed(const struct nb_seg_comm *c, uint32_t i, uint64_t fence)
{
	const struct standing s = rank_standing(c, i);

	return s.state == NB_SLOT_GONE || (s.state == NB_SLOT_LIVE && s.announced > fence);
}

uint32_t nb_fence_passed(const struct nb_seg_comm *c, uint64_t fence)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		n += has_passed(c, i, fence);
	return n;
}

static_assert(NB_SEG_SLOTS <= 64, "nb_fence_behind has a bit for each slot");

uint64_t nb_fence_behind(const struct nb_seg_comm *c, uint64_t fence)
{
	uint64_t behind = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct standing s = rank_standing(c, i);

		if (s.state == NB_SLOT_LIVE && s.announced <= fence)
			behind |= UINT64_C(1) << i;
	}
	return behind;
}

void nb_fence_recover(struct nb_seg_comm *c)
{
	uint64_t word = record_load(&c->record);

	NB_STEP(RECOVER);
	if (nb_fence_word_state(word) == NB_FENCE_ARMED)
		abort_word(&c->record, word);
}

bool nb_fence_ready(const struct nb_seg_comm *c)
{
	uint64_t word = record_load(&c->record);

	return nb_fence_word_state(word) != NB_FENCE_COMMIT ||
	       nb_fence_announced(c) <= nb_fence_word_seq(word) ||
	       nb_fence_adopted(c, nb_fence_word_gen(word));
}

enum nb_fence_outcome nb_fence_arm(struct nb_seg_comm *c, uint32_t number, uint64_t margin,
				   uint64_t *word)
{
	uint64_t before = record_load(&c->record);
	uint64_t most = nb_fence_announced(c), fence = most + margin;

	/* a rank has at most one pending generation */
	if (!nb_fence_ready(c))
		return NB_FENCE_PENDING;
	/*
	 * if no rank has reached the previous fence, the new generation
	 * replaces the previous one
	 */
	if (nb_fence_word_state(before) == NB_FENCE_COMMIT && most <= nb_fence_word_seq(before))
		fence = nb_fence_word_seq(before);
	if (most > NB_FENCE_MAX_SEQ || fence > NB_FENCE_MAX_SEQ)
		return NB_FENCE_EXHAUSTED;
	*word = nb_fence_word(NB_FENCE_ARMED, number, fence);
	NB_STEP(READY);
	store64(&c->record.fallback, before);
	NB_STEP(FALLBACK);
	return record_swap(&c->record, before, *word) ? NB_FENCE_COMMITTED : NB_FENCE_OVERRUN;
}

/*
 * Returns true if fence numbers may skip values. A waiting rank has then
 * checked first_past.
 */
static bool clock_jumps(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->clock, __ATOMIC_ACQUIRE) == NB_CLOCK_CALLS;
}

enum nb_fence_position nb_fence_furthest(const struct nb_seg_comm *c, uint64_t word)
{
	uint64_t fence = nb_fence_word_seq(word);
	bool far = clock_jumps(c);
	enum nb_fence_position worst = NB_FENCE_BELOW;

	/* the clock has ended since the fence was armed (nb_mask_stop_calls) */
	if (nb_seg_clock(c) == NB_CLOCK_NONE)
		return NB_FENCE_BEYOND;
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++) {
		const struct standing s = rank_standing(c, i);

		if (s.announced <= fence || !standing_decided(&s))
			continue;
		if (s.announced > fence + 1 && !(s.waiting == word && far))
			return NB_FENCE_BEYOND;
		if (s.waiting != word)
			worst = NB_FENCE_AT;
	}
	return worst;
}

/*
 * Returns true if no rank is past the fence. A rank that announced the fence
 * may have read the record before the arming, or may soon announce that it
 * waits. Allow a millisecond for this.
 */
static bool none_past(const struct nb_seg_comm *c, uint64_t word)
{
	uint64_t deadline = nb_clock_system() + 1000000;
	enum nb_fence_position st = nb_fence_furthest(c, word);

	while (st == NB_FENCE_AT && nb_clock_system() < deadline) {
		let_others_run(0);
		st = nb_fence_furthest(c, word);
	}
	return st == NB_FENCE_BELOW;
}

enum nb_fence_outcome nb_fence_decide(struct nb_seg_comm *c, uint64_t word, bool membarrier)
{
	uint64_t fence = nb_fence_word_seq(word);
	uint32_t number = nb_fence_word_gen(word);

	NB_STEP(ARMED);
	if (membarrier && !nb_segment_membarrier()) {
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
	return record_swap(&c->record, word, nb_fence_word(NB_FENCE_COMMIT, number, fence))
		       ? NB_FENCE_COMMITTED
		       : NB_FENCE_OVERRUN;
}

/* Arm a fence after all ranks have passed the previous fence. */
static enum nb_fence_outcome arm_when_passed(struct nb_seg_comm *c, uint32_t number,
					     uint64_t margin, uint32_t timeout_ms, uint64_t *word)
{
	uint64_t deadline = nb_clock_system() + timeout_ms * UINT64_C(1000000);
	enum nb_fence_outcome o;

	for (unsigned calls = 0;; calls++) {
		o = nb_fence_arm(c, number, margin, word);
		if (o != NB_FENCE_PENDING || nb_clock_system() >= deadline)
			return o;
		let_others_run(calls);
	}
}

enum { FIRST_MARGIN = 4, ONCE_MARGIN = 64, LAST_TRIES = 4 };

/*
 * Returns the distance of the first fence from the furthest rank: more
 * decisions than a rank makes while the fence is decided; 0 for idle ranks.
 */
static uint64_t first_margin(const struct nb_fence_opts *opts)
{
	uint64_t least = opts->once ? ONCE_MARGIN : FIRST_MARGIN;

	if (opts->idle)
		return 0;
	return opts->near > least ? opts->near : least;
}

enum nb_fence_outcome nb_fence_commit(struct nb_seg_comm *c, uint32_t number,
				      const struct nb_fence_opts *opts,
				      struct nb_fence_result *result)
{
	uint64_t margin = first_margin(opts);
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
			o = nb_fence_decide(c, word, opts->membarrier);
		if (o != NB_FENCE_OVERRUN || opts->once)
			return o;
		if (margin == opts->margin && ++last == LAST_TRIES)
			return o;
		margin = margin ? margin * 4 : FIRST_MARGIN;
	}
}
