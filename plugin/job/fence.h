// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_FENCE_H
#define NB_PLUGIN_JOB_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/job/segment.h"
#include "plugin/runtime/hot.h"

/*
 * The fence (docs/coherence.md). All ranks of a communicator on one host make
 * decision k with the same generation, even if processes die.
 *
 * A communicator's record is one word: a state, a generation G and a fence F.
 * NONE: no generation yet. ARMED: a coordinator asks whether G may start at F.
 * COMMIT: decisions from F on use G.
 *
 * A rank announces k, then reads the word. The coordinator writes ARMED, then
 * reads the announcements. If no rank has announced F by then, every rank that
 * announces F later reads ARMED or the outcome, so the coordinator may write
 * COMMIT. Ranks that wait for the outcome do not prevent this. Otherwise the
 * coordinator restores the word from before ARMED, the fallback. A rank that
 * waits at F for too long restores the fallback itself. Compare-and-swap lets
 * only one of them decide.
 *
 * A communicator with ranks on several sites has its record in a store
 * (docs/coherence.md), and its ranks follow the copy that their site's agent
 * writes.
 */

/*
 * Flags: what a decision does besides announcing its number and reading the
 * fence record's word.
 */
enum {
	/*
	 * membarrier(2) is not available, so each decision needs a memory fence
	 */
	NB_FENCE_FULL = 1,
	/* the fences of this rank count API calls instead of decisions */
	NB_FENCE_CALLS = 2,
	/* no event has the same number on all ranks, so all numbers are 0 */
	NB_FENCE_NO_CLOCK = 4
};

/*
 * Only the deciding thread uses these fields; other threads read seq and
 * number.
 */
struct nb_fence_rank {
	uint64_t seq; /* number of the next decision; accessed atomically */
	struct nb_seg_slot *slot;
	struct nb_seg_record *record;
	/* value of nb_seg_record.word that this rank handled last */
	uint64_t seen;
	/* generation that the rank holds and decides with; accessed atomically
	 */
	uint32_t number;
	uint32_t timeout_ms; /* longest wait at an undecided fence */
	uint32_t odd;	     /* NB_FENCE_* bits; usually 0 */
	/*
	 * The record is a copy that the site's agent writes. This rank waits
	 * for the outcome without a time limit.
	 */
	bool follows;
	/*
	 * number of decisions that called nb_fence_look, and of those that
	 * waited in it
	 */
	uint64_t looks, waits;
	/*
	 * With NB_FENCE_CALLS: call number of the current decision, and the
	 * previous announcement.
	 */
	uint64_t clock, before;
	uint32_t *clocks; /* call numbers of the last NB_RING decisions */
};

/* Value of nb_fence_rank.seen in a new rank, so that it reads the word. */
#define NB_FENCE_UNSEEN UINT64_MAX

/* Returns how many API calls the rank's slot has counted. */
static inline uint64_t nb_fence_calls(const struct nb_fence_rank *f)
{
	return __atomic_load_n(&f->slot->calls, __ATOMIC_ACQUIRE) - 1;
}

/* Announce @to. Returns the record's word as it is after the announcement. */
static inline uint64_t nb_fence_publish(struct nb_fence_rank *f, uint64_t to)
{
	if (f->odd & NB_FENCE_FULL) {
		__atomic_exchange_n(&f->slot->announced, to, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(&f->slot->announced, to, __ATOMIC_RELEASE);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	return __atomic_load_n(&f->record->word, __ATOMIC_SEQ_CST);
}

/* Read the number of API calls; it never decreases. */
static inline void nb_fence_count_calls(struct nb_fence_rank *f)
{
	uint64_t calls = nb_fence_calls(f);

	f->before = f->clock + 1;
	if (calls > f->clock)
		f->clock = calls;
}

/*
 * Announce decision @n of a rank that is not usual. Returns the record's word.
 * With NB_FENCE_CALLS, several decisions may announce the same number, and the next
 * decision may skip numbers.
 */
static inline uint64_t nb_fence_announce(struct nb_fence_rank *f, uint64_t n)
{
	if (!(f->odd & NB_FENCE_CALLS))
		return nb_fence_publish(f, n + 1);
	nb_fence_count_calls(f);
	__atomic_store_n(&f->clocks[n % NB_RING], (uint32_t)f->clock, __ATOMIC_RELAXED);
	__atomic_store_n(&f->slot->decisions, n + 1, __ATOMIC_RELAXED);
	return nb_fence_publish(f, f->clock + 1);
}

/*
 * Announce an API call, of which no decision follows yet, if the rank counts
 * calls (NB_FENCE_CALLS). Returns true if the current generation sees it. Returns
 * false if nb_fence_look must find the generation for f->clock.
 */
static inline bool nb_fence_call(struct nb_fence_rank *f)
{
	nb_fence_count_calls(f);
	return nb_fence_publish(f, f->clock + 1) == f->seen;
}

/*
 * Returns the number by which decision @k is compared with fences, and which
 * policies see. Without a clock it is 0, so only a fence at 0 is reached.
 */
static inline uint64_t nb_fence_clock(const struct nb_fence_rank *f, uint64_t k)
{
	if (f->odd & NB_FENCE_NO_CLOCK)
		return 0;
	return f->odd & NB_FENCE_CALLS ? f->clock : k;
}

/*
 * Returns true if nb_fence_enter_usual may begin the rank's decisions. They have
 * their own numbers, or all 0 with NB_FENCE_NO_CLOCK.
 */
static inline bool nb_fence_usual(const struct nb_fence_rank *f)
{
	return !(f->odd & (NB_FENCE_FULL | NB_FENCE_CALLS));
}

/*
 * nb_fence_enter of a usual rank. Inlined, because a call would cost each
 * decision a nanosecond.
 */
NB_INLINE bool nb_fence_enter_usual(struct nb_fence_rank *f)
{
	uint64_t n = f->seq;

	__atomic_store_n(&f->seq, n + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&f->slot->announced, n + 1, __ATOMIC_RELEASE);
	/*
	 * stop the compiler from reordering; the coordinator's membarrier stops
	 * the CPU
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&f->record->word, __ATOMIC_ACQUIRE) == f->seen;
}

/*
 * Begin a decision. *@k is set to its fence number: the decision number (f->seq
 * - 1) or the call number. Returns true if the current generation decides.
 * Returns false if nb_fence_look must find the generation. It takes no lock and
 * makes no system call.
 */
static inline bool nb_fence_enter(struct nb_fence_rank *f, uint64_t *k)
{
	uint64_t n = f->seq;
	bool same;

	if (nb_fence_usual(f)) {
		same = nb_fence_enter_usual(f);
	} else {
		__atomic_store_n(&f->seq, n + 1, __ATOMIC_RELAXED);
		same = nb_fence_announce(f, n) == f->seen;
	}
	*k = nb_fence_clock(f, n);
	return same;
}

/* Returns true if the word has not changed since this decision began. */
static inline bool nb_fence_same(const struct nb_fence_rank *f)
{
	return __atomic_load_n(&f->record->word, __ATOMIC_ACQUIRE) == f->seen;
}

/*
 * Count API calls instead of decisions for this rank's fences. Must run before
 * the rank's first decision ends. @clocks: array of NB_RING entries
 */
void nb_fence_by_calls(struct nb_fence_rank *f, uint32_t *clocks);

/*
 * nb_fence_look - find the generation that decision @k must use
 * @k: fence number, from nb_fence_enter
 * @timed_out: set to true if this rank aborted the fence
 *
 * If @k is at an undecided fence, it waits about f->timeout_ms at most. If the
 * returned number is not f->number, the record's word or its fallback names the
 * generation until the rank calls nb_fence_adopt, so no process frees it.
 */
uint32_t nb_fence_look(struct nb_fence_rank *f, uint64_t k, bool *timed_out);

/*
 * Tell the coordinator that this rank decides with generation @number. The rank
 * must hold the generation first: from then on other changes may remove it from
 * the record.
 */
void nb_fence_adopt(struct nb_fence_rank *f, uint32_t number);

/*
 * The coordinator calls the functions below while it holds the segment's lock.
 * The agent of a site calls those that only read the ranks.
 */

struct nb_fence_opts {
	/* largest distance of a fence from the furthest rank, in decisions */
	uint32_t margin;
	/*
	 * least distance: the decisions that a rank makes while a fence is
	 * decided
	 */
	uint32_t near;
	/* longest wait for ranks to pass an earlier fence */
	uint32_t timeout_ms;
	/*
	 * the ranks seem idle: try a fence right before the next decision
	 * first, so that the change applies at once
	 */
	bool idle;
	bool once;	 /* try one fence only, which is farther ahead */
	bool membarrier; /* some rank relies on the coordinator's memory barrier */
};

enum nb_fence_outcome {
	NB_FENCE_COMMITTED,
	/* ranks passed every fence that was tried, or aborted it */
	NB_FENCE_OVERRUN,
	NB_FENCE_PENDING,   /* some ranks have yet to pass the last fence */
	NB_FENCE_EXHAUSTED, /* the fence would exceed decision number 2^40 */
	NB_FENCE_NO_BARRIER /* the memory barrier of the coordinator failed */
};

struct nb_fence_result {
	uint64_t fence;
	uint32_t tries;
};

/*
 * nb_fence_commit - move communicator @c to generation @number at a fence
 *
 * It tries fences at growing distances. @number must be registered in the
 * segment, and some rank must have another generation. It may take seconds.
 */
enum nb_fence_outcome nb_fence_commit(struct nb_seg_comm *c, uint32_t number,
				      const struct nb_fence_opts *opts,
				      struct nb_fence_result *result);

/*
 * The two halves of a commit. Arm chooses a fence and publishes it; *@word is
 * the armed word. The fence is @margin above the furthest rank, or the previous
 * fence if no rank has reached that. Decide commits if no rank is past the
 * fence, else it restores the previous word.
 */
enum nb_fence_outcome nb_fence_arm(struct nb_seg_comm *c, uint32_t number, uint64_t margin,
				   uint64_t *word);
enum nb_fence_outcome nb_fence_decide(struct nb_seg_comm *c, uint64_t word, bool membarrier);
/*
 * Returns true if another fence can be armed: either all ranks or no rank must
 * use the generation committed last.
 */
bool nb_fence_ready(const struct nb_seg_comm *c);
/* Undo an arming whose coordinator has died. */
void nb_fence_recover(struct nb_seg_comm *c);

/* Returns the largest number of decisions that a rank has begun. */
uint64_t nb_fence_announced(const struct nb_seg_comm *c);
/*
 * Returns the position of the furthest rank relative to the fence of the armed
 * word @word. A rank that waits at the fence has not decided yet and counts as
 * below.
 */
enum nb_fence_position {
	NB_FENCE_BELOW,
	/* a rank is at the fence and has not announced that it waits */
	NB_FENCE_AT,
	NB_FENCE_BEYOND /* a rank has decided past the fence */
};
enum nb_fence_position nb_fence_furthest(const struct nb_seg_comm *c, uint64_t word);
/*
 * Returns true if every living rank has adopted generation @number. An
 * announcement at the fence is not enough, because the rank may not have read
 * the word yet, or may not have found the generation that the word names.
 */
bool nb_fence_adopted(const struct nb_seg_comm *c, uint32_t number);
/* Returns how many ranks have begun decision @fence or have ended. */
uint32_t nb_fence_passed(const struct nb_seg_comm *c, uint64_t fence);
/*
 * Returns the living ranks that have not begun decision @fence. Bit i is the
 * rank in slot i; only the first 64 slots have bits.
 */
uint64_t nb_fence_behind(const struct nb_seg_comm *c, uint64_t fence);

#endif
