// SPDX-License-Identifier: MIT
/*
 * Calls the wrapped tuner as NCCL calls tuners of its version. A tuner older
 * than NCCL gets what NCCL's own adapters pass to it.
 */
#include "plugin/abi/wrapped_tuner.h"

#include <string.h>

#include "core/defs/ctx.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/nccl.h"
#include "plugin/tuner/decide.h"
#include "plugin/wrap/wrapped.h"

static bool table_offers(const struct nb_ask *ask, int algo)
{
	return algo < ask->nalgo && ask->table[algo * NCCL_NUM_PROTOS + NCCL_PROTO_SIMPLE] >= 0.0f;
}

static int wrapped_ask_v2(const struct nb_wrapped_tuner *p, const struct nb_ask *ask)
{
	const struct nb_tuner_v2 *t = p->table;
	int collnet = ask->collnet, nvls = ask->nvls, rc;

	if (ask->table) {
		nvls = table_offers(ask, NCCL_ALGO_NVLS) || table_offers(ask, NCCL_ALGO_NVLS_TREE);
		collnet = table_offers(ask, NCCL_ALGO_COLLNET_CHAIN);
	}
	rc = t->get_coll_info(p->context, ask->coll, ask->bytes, collnet, nvls, ask->pipe_ops,
			      ask->algo, ask->proto, ask->channels);
	if (!rc && ask->table && *ask->algo >= 0 && *ask->algo < ask->nalgo && *ask->proto >= 0 &&
	    *ask->proto < ask->nproto) {
		float *cost = &ask->table[*ask->algo * ask->nproto + *ask->proto];

		if (*cost >= 0.0f)
			*cost = 0.0f;
	}
	return rc;
}

static void wrapped_end(const struct nb_wrapped_tuner *p)
{
	const struct nb_tuner_v2 *t = p->table;

	t->finalize(p->context);
}

static int wrapped_ask_v3(const struct nb_wrapped_tuner *p, const struct nb_ask *ask)
{
	const struct nb_tuner_v3 *t = p->table;

	return t->get_coll_info(p->context, ask->coll, ask->bytes, ask->pipe_ops,
				(float **)(void *)ask->table, ask->nalgo, ask->nproto,
				ask->channels);
}

/* Versions 4 to 7 have the same getCollInfo at the same offset. */
static int wrapped_ask_v4(const struct nb_wrapped_tuner *p, const struct nb_ask *ask)
{
	const struct nb_tuner_v4 *t = p->table;

	return t->get_coll_info(p->context, ask->coll, ask->bytes, ask->pipe_ops,
				(float **)(void *)ask->table, ask->nalgo, ask->nproto,
				ask->reg_buff, ask->channels);
}

static int wrapped_chunk_v6(const struct nb_wrapped_tuner *p, int coll, size_t bytes, int algo,
			    int proto, int channels, size_t *chunk)
{
	const struct nb_tuner_v6 *t = p->table;

	return t->get_chunk_size(p->context, coll, bytes, algo, proto, channels, chunk);
}

static int wrapped_init_v2(struct nb_wrapped_tuner *p, uint32_t version,
			   const struct nb_tuner_init *in)
{
	/* init has the same type in v2, v3 and v4 */
	const struct nb_tuner_v2 *t = p->table;

	p->ask = version == 2 ? wrapped_ask_v2 : version == 3 ? wrapped_ask_v3 : wrapped_ask_v4;
	return t->init(in->ranks, in->nodes, in->logger, &p->context);
}

/* The tables of which v7 has one more row. */
#define EACH_TABLE(do)                       \
	do                                   \
		(ll_max_bws);                \
	do                                   \
		(per_ch_max_ring_ll128_bws); \
	do                                   \
		(per_ch_max_tree_ll128_bws); \
	do                                   \
		(per_ch_max_tree_bws);       \
	do                                   \
	(per_ch_max_nvls_tree_bws)

/* The constants of both versions begin with the same two tables. */
enum { SAME_CONSTANTS = offsetof(struct nb_tuner_constants, ll_max_bws) };

/* What a tuner older than v7 gets: the constants of the GPUs that it knows. */
static void constants_to_v5(struct nb_tuner_constants *to, const struct nb_tuner_constants_v7 *from)
{
#define COPY(table) memcpy(to->table, from->table, sizeof(to->table))
	memcpy(to, from, SAME_CONSTANTS);
	EACH_TABLE(COPY);
#undef COPY
}

/* What NCCL gets back: its constants of newer GPUs stay. */
static void constants_to_v7(struct nb_tuner_constants_v7 *to, const struct nb_tuner_constants *from)
{
#define COPY(table) memcpy(to->table, from->table, sizeof(from->table))
	memcpy(to, from, SAME_CONSTANTS);
	EACH_TABLE(COPY);
#undef COPY
}

/*
 * The bytes of RCCL's constants: those of v5 and a ratio of bandwidths for nodes
 * and between nodes. RCCL of eight algorithms has 144 bytes more, but no version
 * tells how many it has. Source: tuner_v5.h of ROCm/rccl and of rocm-systems.
 */
enum { RCCL_CONSTANTS = sizeof(struct nb_tuner_constants) + sizeof(double[2][7][3]) };

/* Returns how many bytes of constants an init gets at least. */
static size_t constants_size(uint32_t abi)
{
	static_assert(RCCL_CONSTANTS >= sizeof(struct nb_tuner_constants_v7), "room for all");
	/* a process may contain both libraries, and NCCL has fewer */
	if (nb_nccl_caller_is_rccl())
		return RCCL_CONSTANTS;
	return abi >= 7 ? sizeof(struct nb_tuner_constants_v7) : sizeof(struct nb_tuner_constants);
}

static int wrapped_init_v5(struct nb_wrapped_tuner *p, uint32_t version,
			   const struct nb_tuner_init *in)
{
	/* v6 only adds one function at the end, and v7 only other constants */
	const struct nb_tuner_v6 *t = p->table;
	const bool longer = in->abi >= 7, rccl = nb_nccl_is_rccl();
	const size_t size = constants_size(in->abi);
	char was[RCCL_CONSTANTS];
	struct nb_tuner_constants old;
	void *its = in->constants;
	int rc;

	p->ask = wrapped_ask_v4;
	if (version >= 6 && t->get_chunk_size)
		p->chunk = wrapped_chunk_v6;
	if (in->constants)
		memcpy(was, in->constants, size);
	/* RCCL's have a layout of their own */
	if (in->constants && longer && version < 7 && !rccl) {
		constants_to_v5(&old, in->constants);
		its = &old;
	}
	rc = t->init(&p->context, in->comm_id, in->ranks, in->nodes, in->logger, in->nvl, its);
	if (rc && in->constants)
		/* restore NCCL's constants, which the tuner may have edited */
		memcpy(in->constants, was, size);
	else if (its == &old)
		constants_to_v7(in->constants, &old);
	else if (rccl && in->constants && memcmp(was, in->constants, size) != 0)
		nb_wrapped_note_edit();
	return rc;
}

/* All versions have these three functions at the offsets of v2. */
static bool tuner_table_complete(const void *table)
{
	const struct nb_tuner_v2 *t = table;

	return t->init && t->get_coll_info && t->finalize;
}

static int call_tuner_init(struct nb_wrapped_tuner *p, uint32_t version,
			   const struct nb_tuner_init *in)
{
	return version < 5 ? wrapped_init_v2(p, version, in) : wrapped_init_v5(p, version, in);
}

/*
 * Handle a failed init of the wrapped tuner. Other hosts cannot learn that this
 * host continues without it.
 */
static int tuner_init_failed(const struct nb_tuner_init *in, int rc)
{
	if (in->nodes > 1) {
		nb_log(NB_LOG_WARN,
		       "communicator of %zu hosts: the wrapped tuner's init returned %d; "
		       "ncclbpf's init returns the same value to NCCL",
		       in->nodes, rc);
		return rc;
	}
	nb_wrapped_count_error(NB_WRAPPED_TUNER);
	nb_wrapped_leave_out(NB_WRAPPED_TUNER, "the init of the plugin returned %d", rc);
	return 0;
}

int nb_wrapped_tuner_init(struct nb_wrapped_tuner *p, const struct nb_tuner_init *in)
{
	uint32_t version;
	int rc;

	*p = (struct nb_wrapped_tuner){ .table = nb_wrapped_use(NB_WRAPPED_TUNER, in->abi,
								&version) };
	if (!p->table)
		return 0;
	if (!tuner_table_complete(p->table)) {
		*p = (struct nb_wrapped_tuner){ .ask = NULL };
		nb_wrapped_leave_out(NB_WRAPPED_TUNER,
				     "the plugin's table of interface v%u lacks functions",
				     version);
		return 0;
	}
	/* the function that ends the tuner is the same in all versions */
	p->end = wrapped_end;
	rc = call_tuner_init(p, version, in);
	if (!rc)
		return 0;
	*p = (struct nb_wrapped_tuner){ .ask = NULL };
	return tuner_init_failed(in, rc);
}
