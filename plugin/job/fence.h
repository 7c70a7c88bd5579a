// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_FENCE_H
#define NB_PLUGIN_JOB_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/job/fence_record.h"
#include "plugin/job/segment.h"
#include "plugin/runtime/hot.h"

/*
 * The fence (design, section 7): the ranks of a communicator on one host make
 * decision k with the same generation, even if processes die.
 *
 * A communicator's record is one word: state, generation G, fence F. ARMED: a
 * coordinator asks whether G may start at F. COMMIT: decisions from F on are
 * made with G. NONE: nothing yet. A rank announces k, then reads the word; the
 * coordinator writes ARMED, then reads what ranks announced. If nobody has
 * announced F by then, or only ranks that wait for the outcome, a rank that
 * announces F later finds ARMED or its outcome, so the coordinator may write
 * COMMIT. Else the coordinator restores the word from before ARMED (the
 * fallback). A rank that waits at F for too long restores it itself;
 * compare-and-swap lets only one of them decide. The record of a communicator
 * of several sites is in a store (docs/fleet.md): its ranks follow their site's
 * copy.
 */

/* Extra work of a decision, beyond announcing its number and reading the word.
 * */
enum {
	NB_FENCE_FULL = 1, /* no membarrier: a fence in each decision */
	NB_FENCE_CALLS = 2 /* fences are numbers of calls of the API */
};

/* Private to the deciding thread, except seq and number, which others read. */
struct nb_fence_rank {
	uint64_t seq; /* atomic: number of the next decision */
	struct nb_seg_slot *slot;
	struct nb_seg_record *record;
	uint64_t seen;	     /* last nb_seg_record.word that it handled */
	uint32_t number;     /* atomic: generation it decides with */
	uint32_t timeout_ms; /* longest wait at an undecided fence */
	uint32_t odd;	     /* NB_FENCE_FULL, NB_FENCE_CALLS; 0 as a rule */
	/* the record is a copy that the site's agent writes: this rank waits
	 * for the outcome, however long that takes */
	bool follows;
	/* the back end of the record if *record is a copy of it; NULL: *record
	 * is the record */
	const struct nb_record *store;
	/* no rank has decided yet; the first to decide records its @first as
	 * the initial generation of all ranks */
	bool begins;
	uint32_t first;
	/* decisions that called nb_fence_look, and those that waited in it */
	uint64_t looks, waits;
	/* with NB_FENCE_CALLS: the current decision's call number, and the
	 * announcement before it */
	uint64_t clock, before;
	uint32_t *clocks; /* NB_RING call numbers of the last decisions */
};

/* nb_fence_rank.seen of a new rank: read the word in any case. */
#define NB_FENCE_UNSEEN UINT64_MAX

/* Calls of the API that the rank has seen. */
static inline uint64_t nb_fence_calls(const struct nb_fence_rank *f)
{
	return __atomic_load_n(&f->slot->calls, __ATOMIC_ACQUIRE) - 1;
}

/*
 * Announce decision @n if f->odd is set; returns the record's word. With
 * NB_FENCE_CALLS several decisions may announce one number, and the next may
 * skip numbers.
 */
static inline uint64_t nb_fence_announce(struct nb_fence_rank *f, uint64_t n)
{
	uint64_t to = n + 1;

	if (f->odd & NB_FENCE_CALLS) {
		uint64_t calls = nb_fence_calls(f);

		f->before = f->clock + 1;
		if (n == 0 || calls > f->clock) /* the clock never goes back */
			f->clock = calls;
		if (n == 0)
			f->before = 0;
		__atomic_store_n(&f->clocks[n % NB_RING], (uint32_t)f->clock,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&f->slot->decisions, to, __ATOMIC_RELAXED);
		to = f->clock + 1;
	}
	if (f->odd & NB_FENCE_FULL) {
		__atomic_exchange_n(&f->slot->announced, to, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(&f->slot->announced, to, __ATOMIC_RELEASE);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	return __atomic_load_n(&f->record->word, __ATOMIC_SEQ_CST);
}

/* The number of current decision @k, to compare with fences. */
static inline uint64_t nb_fence_clock(const struct nb_fence_rank *f, uint64_t k)
{
	return f->odd & NB_FENCE_CALLS ? f->clock : k;
}

/*
 * Begin a decision. *@k gets its fence number: the decision number (f->seq -
 * 1), or the call number. True: decide with the current generation. False:
 * nb_fence_look gives the generation. No lock, no system call. Inlined, since
 * a call would cost each decision a nanosecond.
 */
NB_INLINE bool nb_fence_enter(struct nb_fence_rank *f, uint64_t *k)
{
	uint64_t n = f->seq, word;

	*k = n;
	__atomic_store_n(&f->seq, n + 1, __ATOMIC_RELAXED);
	if (__builtin_expect(f->odd, 0)) {
		word = nb_fence_announce(f, n);
		*k = nb_fence_clock(f, n);
	} else {
		__atomic_store_n(&f->slot->announced, n + 1, __ATOMIC_RELEASE);
		/* orders the compiler; the coordinator's membarrier orders the
		 * CPU */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		word = __atomic_load_n(&f->record->word, __ATOMIC_ACQUIRE);
	}
	return __builtin_expect(word == f->seen, 1);
}

/* Check again, later in the same decision. */
static inline bool nb_fence_same(const struct nb_fence_rank *f)
{
	return __atomic_load_n(&f->record->word, __ATOMIC_ACQUIRE) == f->seen;
}

/*
 * Before the rank's first decision: from now on its fences are numbers of
 * calls of NCCL's API, which its slot counts. @clocks: NB_RING entries.
 */
void nb_fence_by_calls(struct nb_fence_rank *f, uint32_t *clocks);

/*
 * nb_fence_look - the generation that decision @k must be made with
 * @k: as nb_fence_clock has it
 *
 * Waits, at most about f->timeout_ms, where @k is at an undecided fence.
 * *@timed_out: this rank aborted the fence. Afterwards f->number and the slot
 * have the generation returned.
 */
uint32_t nb_fence_look(struct nb_fence_rank *f, uint64_t k, bool *timed_out);

/* ---- the coordinator; with the segment's lock ---- */

struct nb_fence_opts {
	uint32_t margin; /* largest distance of the fence to try */
	uint32_t near; /* least distance: the decisions of a rank while a fence
			  is decided */
	uint32_t timeout_ms; /* wait for ranks to pass an earlier fence */
	bool idle; /* the ranks seem idle: try a fence right before the next
		      decision, so that the change applies at once */
	bool once; /* one try only, with a farther fence */
};

enum nb_fence_outcome {
	NB_FENCE_COMMITTED,
	NB_FENCE_OVERRUN,   /* ranks ran past every fence, or aborted it */
	NB_FENCE_PENDING,   /* some but not all ranks passed the last fence */
	NB_FENCE_EXHAUSTED, /* decision numbers beyond 2^40 */
	NB_FENCE_NO_BARRIER /* the barrier failed */
};

struct nb_fence_result {
	uint64_t fence;
	uint32_t tries;
};

/*
 * nb_fence_commit - move the communicator of @r to generation @number at a
 * fence
 *
 * Tries fences farther and farther ahead. @number is registered in the segment,
 * and this communicator does not use it. May take seconds.
 */
enum nb_fence_outcome nb_fence_commit(const struct nb_record *r,
				      uint32_t number,
				      const struct nb_fence_opts *opts,
				      struct nb_fence_result *result);

/*
 * The two halves of a commit. Arm: choose a fence @margin above the furthest
 * rank (the previous fence if no rank has reached it yet) and publish it;
 * *@word gets the armed word. Decide: commit if no rank is past the fence,
 * else restore the previous word.
 */
enum nb_fence_outcome nb_fence_arm(const struct nb_record *r, uint32_t number,
				   uint64_t margin, uint64_t *word);
enum nb_fence_outcome nb_fence_decide(const struct nb_record *r, uint64_t word);
/*
 * Can another fence be armed? Not while some but not all ranks use the
 * generation committed last.
 */
bool nb_fence_ready(const struct nb_record *r);
/* Undo an arming whose coordinator died. */
void nb_fence_recover(const struct nb_record *r);

/* Greatest number of decisions that a rank has begun. */
uint64_t nb_fence_announced(const struct nb_record *r);
/* Ranks that have begun decision @fence, or are gone. */
uint32_t nb_fence_passed(const struct nb_record *r, uint64_t fence);
/* Bits of the live ranks that have not begun decision @fence: bit i is the rank
 * in slot i. Only the first 64 slots have bits. */
uint64_t nb_fence_behind(const struct nb_record *r, uint64_t fence);

#endif
