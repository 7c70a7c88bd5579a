// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_POOLS_ROOM_H
#define NB_TEST_UNIT_POOLS_ROOM_H

#include <stdlib.h>

#include "plugin/profiler/pools.h"

/*
 * Look for the room of NCCL's pools on the disk: the /dev/shm of a container is
 * too small for them, and a unit test has no NCCL that would take any.
 */
static inline void pools_have_room(void)
{
	const char *dir = getenv("TMPDIR");

	nb_pools_dir = dir ? dir : "/tmp";
}

#endif
