// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_EXPLAIN_H
#define NB_PLUGIN_TUNER_EXPLAIN_H

#include "core/bpf/exec/explain/path.h"
#include "plugin/comm/comm.h"

/* The answer after one policy of the generation, for `explain`. */
struct nb_explain_step {
	const struct nb_image *policy; /* valid under the lock */
	int algo, proto;
	uint32_t channels, chunk_size;
	bool changed;
	struct nb_path path; /* what its programs wrote and compared */
};

struct nb_explain {
	/*
	 * a decision of this size bucket exists; if not, NCCL's own choice and
	 * offer are unknown
	 */
	bool seen;
	/* the decision from which the context is made */
	struct nb_decision basis;
	struct nb_decision answer; /* the final answer, after it was checked */
	/* NCCL's recent offers for this size bucket, and the answer to each */
	struct nb_offer offer[NB_OFFERS];
	struct nb_decision to_offer[NB_OFFERS];
	uint32_t noffers;
	uint32_t generation;
	/* order of the policies that run, as indices of step */
	struct nb_order order;
	struct nb_explain_step step[NB_GEN_MAX_POLICIES];
};

/*
 * nb_comm_explain - find what @c would decide for @coll and @bytes, and why
 *
 * It interprets the current generation on copies of its maps. The context comes from
 * the latest decision of that collective and size bucket. If NCCL has made
 * several offers, it is the latest decision with the largest offer, and policies
 * run once for each offer. If there is no decision, @out->seen is false, and
 * policies see every combination as offered and no choice of NCCL.
 *
 * Costs are those of that decision while they are kept (NB_SEEN tables);
 * otherwise policies do not know them. An answer with only an algorithm or only
 * a protocol is then completed from the latest decision if that fits, else with
 * the first offered combination. @out has about 120 KiB. The caller holds NB_LOCK_STATE. Returns 0,
 * NB_E_NOMEM or NB_E_ARG (@coll).
 */
int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes, struct nb_explain *out,
		    struct nb_err *err);

#endif
