// SPDX-License-Identifier: MIT
/* Take the lock of a sequence word, for a thread that may sleep. */
#include "core/map/seqlock.h"

#include <time.h>

bool nb_seq_lock_sleeping(uint64_t *word, uint64_t *locked)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int times = 0; times < 2000; times++) {
		if (nb_seq_lock(word, locked))
			return true;
		nanosleep(&ms, NULL);
	}
	return nb_seq_lock(word, locked);
}
