// SPDX-License-Identifier: MIT
#include "core/base/file_limit.h"

#include <stdint.h>
#include <sys/resource.h>

bool nb_past_file_limit(off_t at, size_t size)
{
	struct rlimit most;

	return !getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY &&
	       (uint64_t)at + size > most.rlim_cur;
}
