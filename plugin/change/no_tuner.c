// SPDX-License-Identifier: MIT
/* Finds communicators of which only the profiler knows. */
#include "plugin/change/no_tuner.h"

#include <stdio.h>
#include <string.h>

#include "core/bpf/generation/generation.h"
#include "plugin/comm/comm.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/params.h"

static void count_comm(struct nb_pcomm *pc, void *arg)
{
	(void)pc;
	++*(unsigned *)arg;
}

bool nb_no_tuner(char *why, size_t size)
{
	const char *named = nb_params.nccl_tuner_plugin;
	const char *set = "set NCCL_TUNER_PLUGIN like NCCL_PROFILER_PLUGIN "
			  "and start the job again";
	unsigned made = 0;

	*why = '\0';
	if (nb_comms.abi)
		return false;
	nb_events_each(count_comm, &made);
	if (!made)
		return false;
	if (strchr(named, ','))
		set = "NCCL loads one tuner: name ncclbpf there, "
		      "and the other tuner in NCCLBPF_CHAIN_TUNER";
	else if (strstr(named, "ncclbpf"))
		set = "NCCL_DEBUG=INFO shows why NCCL did not load it";
	else if (*named)
		set = "name ncclbpf there, and this tuner in NCCLBPF_CHAIN_TUNER";
	snprintf(why, size,
		 "NCCL has made %u communicator%s without ncclbpf's tuner "
		 "(NCCL_TUNER_PLUGIN%s%.120s): %s",
		 made, made == 1 ? "" : "s", *named ? "=" : " is not set", named, set);
	return true;
}

bool nb_gen_tunes(const struct nb_gen *g)
{
	bool any = g && g->nprogs;

	for (uint32_t i = 0; g && i < g->nviews; i++)
		any = any || g->view[i]->nprogs;
	return any;
}
