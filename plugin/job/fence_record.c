// SPDX-License-Identifier: MIT
/*
 * The record in this host's segment. All ranks use the same word, so there are
 * no copies, and membarrier(2) is the barrier.
 */
#include "plugin/job/fence_record.h"

#include <sched.h>
#include <time.h>

#include "plugin/job/segment.h"

static uint64_t load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static uint64_t here_load(const struct nb_record *r)
{
	return load64(&r->word->word);
}

static bool here_swap(const struct nb_record *r, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&r->word->word, &from, to, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static uint64_t here_fallback(const struct nb_record *r)
{
	return load64(&r->word->fallback);
}

static void here_set_fallback(const struct nb_record *r, uint64_t word)
{
	__atomic_store_n(&r->word->fallback, word, __ATOMIC_SEQ_CST);
}

static bool here_barrier(const struct nb_record *r)
{
	return !r->membarrier || nb_segment_membarrier(r->seg);
}

static void here_standing(const struct nb_record *r, uint32_t rank,
			  struct nb_standing *out)
{
	const struct nb_seg_slot *slot = &r->comm->slot[rank];

	/*
	 * Read waiting before announced. A rank announces before it waits, so
	 * the announcement read here belongs to that wait or to a later
	 * decision.
	 */
	out->waiting = load64(&slot->waiting);
	out->announced = load64(&slot->announced);
	out->generation = __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE);
	out->state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

static void here_publish(const struct nb_record *r)
{
	/* nothing to do: other processes read the rank's slot itself */
	(void)r;
}

static void here_wait(const struct nb_record *r, unsigned turn)
{
	static const struct timespec ts = { 0, 50000 }, late = { 0, 1000000 };

	(void)r;
	if (turn < 64)
		/*
		 * yield first, because a fence is usually decided within
		 * microseconds
		 */
		sched_yield();
	else
		nanosleep(turn < 4096 ? &ts : &late, NULL);
}

static const struct nb_record_ops here = {
	.load = here_load,
	.swap = here_swap,
	.fallback = here_fallback,
	.set_fallback = here_set_fallback,
	.barrier = here_barrier,
	.standing = here_standing,
	.publish = here_publish,
	.wait = here_wait,
};

struct nb_record nb_record_here(const struct nb_segment *seg,
				struct nb_seg_comm *comm, bool membarrier)
{
	return (struct nb_record){ .ops = &here,
				   .nranks = NB_SEG_SLOTS,
				   .seg = seg,
				   .comm = comm,
				   .word = &comm->record,
				   .membarrier = membarrier };
}

struct nb_record nb_record_word(struct nb_seg_record *word)
{
	return (struct nb_record){ .ops = &here, .word = word };
}
