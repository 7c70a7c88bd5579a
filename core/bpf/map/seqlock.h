// SPDX-License-Identifier: MIT
#ifndef NB_MAP_SEQLOCK_H
#define NB_MAP_SEQLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/map/ops.h"

/*
 * One word that lets readers run beside a writer without a lock. It has the
 * type's own 32 bits, the writer's lock bit, and above them a sequence
 * number. A writer increments the number before it reuses memory that
 * readers may still see. So a reader that finds the number unchanged at its
 * end has seen no reused memory. No reader waits for a writer and no writer
 * waits for a reader.
 */
enum { NB_SEQ_LOCK_SPINS = 256, NB_SEQ_READ_ROUNDS = 1 << 16 };

#define NB_SEQ_DATA ((uint64_t)UINT32_MAX)
#define NB_SEQ_LOCK ((uint64_t)1 << 32)
#define NB_SEQ_STEP ((uint64_t)1 << NB_HASH_SEQ_BIT)

static inline uint64_t nb_seq_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Has the number changed since the word was @seen? */
static inline bool nb_seq_moved(const uint64_t *word, uint64_t seen)
{
	return (nb_seq_load(word) ^ seen) >= NB_SEQ_STEP;
}

/*
 * Lock the word for one writer: *@locked gets the word with its lock bit.
 * The spinning takes about 10 us; a writer holds the lock for 0.1 us unless
 * it is preempted, and then longer spinning would not help. Returns false
 * if it gives up.
 */
static inline bool nb_seq_lock(uint64_t *word, uint64_t *locked)
{
	for (int n = 0; n < NB_SEQ_LOCK_SPINS; n++) {
		uint64_t w = __atomic_load_n(word, __ATOMIC_RELAXED);

		*locked = w | NB_SEQ_LOCK;
		if (!(w & NB_SEQ_LOCK) &&
		    __atomic_compare_exchange_n(word, &w, *locked, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		nb_cpu_relax();
	}
	return false;
}

/* Store @word without the lock bit. */
static inline void nb_seq_unlock(uint64_t *to, uint64_t word)
{
	__atomic_store_n(to, word & ~NB_SEQ_LOCK, __ATOMIC_RELEASE);
}

/*
 * Sleep for a millisecond because a writer holds the lock or the map is busy.
 * *@times counts the calls. Returns false at the 2,000th.
 */
bool nb_seq_sleep_again(int *times);
/*
 * Lock for the management side, and sleep up to two seconds for the lock. A
 * preempted writer continues soon; a dead one must not block us.
 */
bool nb_seq_lock_sleeping(uint64_t *word, uint64_t *locked);

/* Load or store data beside the word. Stores have release order, so a
 * reader that sees one sees the lock bit as well. */
static inline uint32_t nb_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void nb_store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

#endif
