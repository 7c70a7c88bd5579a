// SPDX-License-Identifier: MIT
#include "core/bpf/map/seqlock.h"

#include <time.h>

bool nb_seq_sleep_again(int *times)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (++*times > 2000)
		return false;
	nanosleep(&ms, NULL);
	return true;
}

bool nb_seq_lock_sleeping(uint64_t *word, uint64_t *locked)
{
	int times = 0;

	do
		if (nb_seq_lock(word, locked))
			return true;
	while (nb_seq_sleep_again(&times));
	return false;
}
