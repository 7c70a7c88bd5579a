// SPDX-License-Identifier: MIT
// The part of the tuner's entry points that does not depend on the version:
// a context comes and goes. Nothing of ours fails towards NCCL: without memory,
// or with NCCLBPF_DISABLE=1, the context is NULL and NCCL decides alone. A
// chained tuner's init may, for a communicator of several hosts.
#include "plugin/abi/tuner_abi.h"

#include "plugin/abi/wrapped_tuner.h"
#include "plugin/comm/comm.h"
#include "plugin/process/process.h"
#include "plugin/profiler/events.h"
#include "plugin/tuner/register.h"

static uint32_t clamp32(size_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t positive(int n)
{
	return n > 0 ? (uint32_t)n : 0;
}

int nb_tuner_init(void **context, const struct nb_tuner_init *init)
{
	struct nb_comm_init c = {
		.comm_id = init->comm_id,
		.has_id = init->abi >= 5,
		.ranks = clamp32(init->ranks),
		.nodes = clamp32(init->nodes),
		.abi = init->abi,
	};
	int rc;

	if (!context)
		return NB_NCCL_SUCCESS;
	*context = NULL;
	if (init->nvl) {
		c.nvl_domains = positive(init->nvl->nvl_domains);
		c.nvl_min_ranks = positive(init->nvl->min_ranks);
		c.nvl_max_ranks = positive(init->nvl->max_ranks);
	}
	if (nb_process_ready(init->logger)) {
		rc = nb_wrapped_tuner_init(&c.peer, init);
		if (rc)
			return rc;
		*context = nb_comm_new(&c);
		if (!*context && c.peer.ask)
			c.peer.end(&c.peer);
	}
	nb_events_tell_size(c.ranks, c.nodes);
	nb_events_tell_tuner(c.comm_id, nb_comm_slot(*context));
	return NB_NCCL_SUCCESS;
}

int nb_tuner_finalize(void *context)
{
	nb_comm_free(context);
	return NB_NCCL_SUCCESS;
}
