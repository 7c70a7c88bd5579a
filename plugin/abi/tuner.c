// SPDX-License-Identifier: MIT
/*
 * Entry points of the tuner for all versions. Our own tuner never returns an
 * error: without memory, or with NCCLBPF_DISABLE=1, the context is NULL and
 * NCCL decides. The init of a wrapped tuner may fail for a communicator of
 * several hosts.
 */
#include "plugin/abi/tuner_abi.h"

#include "plugin/abi/wrapped_tuner.h"
#include "plugin/comm/comm.h"
#include "plugin/process/process.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/nccl_doubt.h"
#include "plugin/tuner/adopt.h"
#include "plugin/tuner/chunk.h"
#include "plugin/tuner/decide.h"
#include "plugin/tuner/register.h"

static uint32_t clamp32(size_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t positive(int n)
{
	return n > 0 ? (uint32_t)n : 0;
}

static int tuner_init(void **context, const struct nb_tuner_init *init)
{
	struct nb_comm_init c = {
		.comm_id = init->comm_id,
		.has_id = init->abi >= 5 ? NB_ID_TUNER : NB_ID_NONE,
		.ranks = clamp32(init->ranks),
		.nodes = clamp32(init->nodes),
		.abi = init->abi,
	};
	struct nb_comm *comm;
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
		nb_nccl_calls(NB_NCCL_TUNER, init->abi);
		if (!c.has_id && nb_events_name(c.ranks, c.nodes, &c.comm_id))
			c.has_id = NB_ID_PROFILER;
		c.asks_some = nb_nccl_asks_some(init->abi, nb_events_abi());
		c.calls = nb_events_sees_calls(c.comm_id);
		rc = nb_wrapped_tuner_init(&c.peer, init);
		if (rc)
			return rc;
		*context = nb_comm_new(&c);
		if (!*context && c.peer.ask)
			c.peer.end(&c.peer);
	}
	nb_events_tell_size(c.ranks, c.nodes);
	comm = *context;
	nb_events_tell_tuner(c.comm_id, comm ? comm->seg : NULL, nb_comm_slot(comm),
			     nb_comm_ring(comm));
	nb_events_tell_calls(nb_comm_slot(comm), nb_tuner_call, comm);
	return NB_NCCL_SUCCESS;
}

#define INIT_V2(v)                                                                               \
	static int init_v##v(size_t ranks, size_t nodes, nb_nccl_logger *logger, void **context) \
	{                                                                                        \
		return tuner_init(context, &(struct nb_tuner_init){ .abi = v,                    \
								    .ranks = ranks,              \
								    .nodes = nodes,              \
								    .logger = logger });         \
	}
INIT_V2(2)
INIT_V2(3)
INIT_V2(4)

#define INIT_V5(v, type)                                                                       \
	static int init_v##v(void **context, uint64_t comm_id, size_t ranks, size_t nodes,     \
			     nb_nccl_logger *logger, struct nb_nvl_domain_info *nvl,           \
			     struct type *constants)                                           \
	{                                                                                      \
		return tuner_init(context, &(struct nb_tuner_init){ v, comm_id, ranks, nodes,  \
								    logger, nvl, constants }); \
	}
INIT_V5(5, nb_tuner_constants)
INIT_V5(6, nb_tuner_constants)
INIT_V5(7, nb_tuner_constants_v7)

static int tuner_finalize(void *context)
{
	nb_comm_free(context);
	return NB_NCCL_SUCCESS;
}

/*
 * In v2 there is no cost table, and the answer is two numbers. Set both or
 * none, because NCCL 2.21 uses them unchecked if both are set.
 */
static int ask_v2(void *context, int coll, size_t bytes, int collnet, int nvls, int pipe_ops,
		  int *algo, int *proto, int *channels)
{
	struct nb_ask ask = { .bytes = bytes,
			      .coll = coll,
			      .pipe_ops = pipe_ops,
			      .flags_only = true,
			      .collnet = collnet,
			      .nvls = nvls,
			      .algo = algo,
			      .proto = proto,
			      .channels = channels };

	nb_tuner_decide(context, &ask);
	return NB_NCCL_SUCCESS;
}

static NB_HOT int ask_v3(void *context, int coll, size_t bytes, int pipe_ops, float **table,
			 int nalgo, int nproto, int *channels)
{
	return nb_decide(context, coll, bytes, pipe_ops, (float *)(void *)table, nalgo, nproto, 0,
			 channels);
}

/*
 * @reg_buff may differ between ranks, so the hook's context marks it as local.
 */
static NB_HOT int ask_v4(void *context, int coll, size_t bytes, int pipe_ops, float **table,
			 int nalgo, int nproto, int reg_buff, int *channels)
{
	return nb_decide(context, coll, bytes, pipe_ops, (float *)(void *)table, nalgo, nproto,
			 reg_buff, channels);
}

static int get_chunk_size(void *context, int coll, size_t bytes, int algo, int proto, int channels,
			  size_t *chunk_size)
{
	if (context && chunk_size)
		nb_tuner_chunk(context, coll, bytes, algo, proto, channels, chunk_size);
	return NB_NCCL_SUCCESS;
}

#define TUNER(v, ask, ...)                                                                       \
	NB_EXPORT const struct nb_tuner_v##v ncclTunerPlugin_v##v = { "ncclbpf", init_v##v, ask, \
								      tuner_finalize,            \
								      __VA_ARGS__ }
TUNER(2, ask_v2, );
TUNER(3, ask_v3, );
TUNER(4, ask_v4, );
TUNER(5, ask_v4, );
TUNER(6, ask_v4, get_chunk_size);
TUNER(7, ask_v4, get_chunk_size);
