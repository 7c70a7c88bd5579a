// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_POOLS_H
#define NB_PLUGIN_PROFILER_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The room that NCCL needs to report kernels.
 *
 * When a communicator first has a collective whose kernels are to be reported,
 * NCCL 2.26 to 2.30 connects its profiler channels. Each rank gets a pool: a
 * file of 34,210,180 bytes in /dev/shm (twice as many in RCCL, which has twice
 * as many channels) that is allocated and mapped twice, four descriptors and a
 * thread. NCCL does not check the result: if one of them fails, the process
 * hangs, or ends by SIGSEGV, SIGXFSZ or the kernel's OOM killer. NCCL is
 * therefore asked for kernels only if all of them fit.
 *
 * A process announces the number of pools that NCCL may allocate in it. It
 * writes the number to its own file, /dev/shm/ncclbpf-pools-*, which it keeps
 * locked. It then compares the announcements of all living processes with the
 * room. If two processes start together, at least one of them sees both
 * announcements, also across jobs and containers. An announced pool counts
 * until NCCL has connected or the communicator has ended. Announcements of other
 * users count, because their pools take the same room. Such a user could announce
 * too many, but could as well fill /dev/shm.
 */

/* /dev/shm, where NCCL makes its files; tests set another directory */
extern const char *nb_pools_dir;

struct nb_pools_want {
	unsigned here;	 /* pools that NCCL may still allocate in this process */
	unsigned host;	 /* the same, in all processes of these communicators'
			  ranks on this host */
	unsigned unseen; /* communicators that the profiler could not record:
			    NCCL allocates pools for them, too */
};

/*
 * Set NCCL's version, such as 22809; 0: unknown. From 2.31 on NCCL has no
 * pools; it is not known whether RCCL has.
 */
void nb_pools_version(int version);
/*
 * Measure the space that is left for the announced pools. This reads many files,
 * so only the control thread calls it. It needs no lock.
 */
void nb_pools_look(void);
/*
 * Returns true if NCCL may be asked for kernels, and announces the pools. While
 * pools are announced, it says whether they fitted when nb_pools_look was
 * called. Otherwise the announcement stays as it was, and the log says why,
 * once for each reason. The caller holds nb_prof.lock, and so for the functions
 * below.
 */
bool nb_pools_take(const struct nb_pools_want *want);
/* Announce no more than @here pools. */
void nb_pools_shrink(unsigned here);
/* Returns how many pools are announced. It needs no lock. */
unsigned nb_pools_announced(void);
/* Copies why the last call of nb_pools_take was refused. */
void nb_pools_why(struct nb_err *err);
/* In a forked child, forget what the parent has announced. */
void nb_pools_forked(void);
/* Withdraw the announcement. */
void nb_pools_end(void);

#endif
