// SPDX-License-Identifier: MIT
/* Which communicators cannot have the replicated maps of a generation. */
#include "plugin/change/lacking.h"

#include <stdio.h>

#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/runtime/lock.h"

bool nb_lacks_calls(const struct nb_seg_comm *c, const uint8_t digest[NB_SHA256_SIZE],
		    char why[NB_STARTUP_WHY])
{
	struct nb_gen *g;
	bool needs;

	nb_lock(NB_LOCK_STATE);
	g = nb_gens_find(digest);
	needs = g && nb_gen_of(g, c->comm_id)->state_size;
	nb_unlock(NB_LOCK_STATE);
	if (!needs || ((c->nnodes == 1 || nb_seg_of_fleet(c)) &&
		       nb_startup_clock(c) == NB_CLOCK_CALLS && c->has_id == NB_ID_TUNER))
		return false;
	snprintf(why, NB_STARTUP_WHY, "the policies have replicated maps, and %s",
		 c->nnodes != 1 && !nb_seg_of_fleet(c)
			 ? "it spans nodes: set NCCLBPF_FLEET in all processes"
			 : "its ranks do not all count API calls: set NCCL_PROFILER_PLUGIN=ncclbpf "
			   "in all processes, for NCCL 2.28 also NCCLBPF_API_CLOCK=on");
	return true;
}

uint64_t nb_lacking_mark(const uint8_t digest[NB_SHA256_SIZE])
{
	uint64_t mark = 0;

	for (int i = 0; i < 8; i++)
		mark = mark << 8 | digest[i];
	return mark;
}

void nb_lacking_note(enum nb_lacking which, const uint8_t digest[NB_SHA256_SIZE])
{
	struct nb_seg *mem = nb_self.seg->mem;
	char why[NB_STARTUP_WHY];

	for (uint32_t i = 0, n = nb_seg_ncomms(mem); i < n; i++) {
		struct nb_seg_comm *c = &mem->comm[i];
		bool lacks = __atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) && nb_seg_of_fleet(c) &&
			     nb_lacks_calls(c, digest, why);

		__atomic_store_n(&c->lacks[which], lacks ? nb_lacking_mark(digest) : 0,
				 __ATOMIC_RELEASE);
	}
}
