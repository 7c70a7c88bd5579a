// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_EXPLAIN_H
#define NB_PLUGIN_TUNER_EXPLAIN_H

#include "plugin/comm/comm.h"

/* The answer after one policy of the generation, for `explain`. */
struct nb_explain_step {
	const char *policy; /* name of the policy, valid under the lock */
	int algo, proto;
	uint32_t channels;
	bool changed;
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
	uint32_t generation;
	/* order of the policies that run, as indices of step */
	struct nb_order order;
	struct nb_explain_step step[NB_GEN_MAX_POLICIES];
};

/*
 * nb_comm_explain - find what @c would decide for @coll and @bytes, and why
 *
 * It runs the current generation on copies of its maps. The context comes from
 * the latest decision of that collective and size bucket. If there is none,
 * @out->seen is false, and policies see every combination as offered and no
 * choice of NCCL.
 *
 * Costs are those of that decision while they are kept (NB_SEEN tables);
 * otherwise policies do not know them. An answer with only an algorithm or only
 * a protocol is then completed from the latest decision if that fits, else with
 * the first offered combination. The caller holds NB_LOCK_STATE. Returns 0,
 * NB_E_NOMEM or NB_E_ARG (@coll).
 */
int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes, struct nb_explain *out,
		    struct nb_err *err);

/*
 * The two parts of nb_comm_explain, for plugin/control/commands/explain.c. The
 * first fills the context that policies get for @e->basis with @bytes; @table
 * keeps its costs. The second turns the answer that policies left in @ctx into
 * @e->answer, which must contain NCCL's choice when it is called.
 */
struct ncclbpf_tuner;
void nb_comm_explain_context(const struct nb_comm *c, const struct nb_explain *e, uint64_t bytes,
			     float table[NB_COSTS_KNOWN], struct ncclbpf_tuner *ctx);
void nb_comm_explain_answer(const struct nb_comm *c, struct nb_explain *e,
			    const struct ncclbpf_tuner *ctx);

#endif
