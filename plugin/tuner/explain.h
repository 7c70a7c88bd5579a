// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_EXPLAIN_H
#define NB_PLUGIN_TUNER_EXPLAIN_H

#include "plugin/comm/comm.h"

/* The answer after each policy of the generation, for `explain`. */
struct nb_explain_step {
	const char *policy; /* name; valid under the lock */
	int algo, proto;
	uint32_t channels;
	bool changed;
};

struct nb_explain {
	bool seen; /* a decision of that bucket exists; else NCCL's own choice
		    * and the offered combinations are not known */
	struct nb_decision basis;  /* the decision the context comes from */
	struct nb_decision answer; /* after checking */
	uint32_t generation;
	struct nb_order order; /* policies that run, by number in step */
	struct nb_explain_step step[NB_GEN_MAX_POLICIES];
};

/*
 * nb_comm_explain - what @c would decide for @coll and @bytes, and why
 *
 * Runs the current generation on copies of its maps with a context made from
 * the latest decision of that collective and size bucket; where there is none,
 * @out->seen is false and the policies see every combination offered and no
 * choice of NCCL's. Costs are those of that decision while they are kept
 * (NB_SEEN tables); otherwise policies do not know them, and an answer that
 * names an algorithm or a protocol alone gets the partner of the latest
 * decision where that fits, else the first one offered. With
 * NB_LOCK_STATE. 0, NB_E_NOMEM, NB_E_ARG (@coll).
 */
int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes,
		    struct nb_explain *out, struct nb_err *err);

/*
 * The parts of it, for plugin/control/commands/explain.c: the context that
 * policies get for
 * @e->basis with @bytes (@table keeps its costs); and from what they left in
 * @ctx the answer, into @e->answer, which holds NCCL's choice before.
 */
struct ncclbpf_tuner;
void nb_comm_explain_context(const struct nb_comm *c,
			     const struct nb_explain *e, uint64_t bytes,
			     float table[NB_COSTS_KNOWN],
			     struct ncclbpf_tuner *ctx);
void nb_comm_explain_answer(const struct nb_comm *c, struct nb_explain *e,
			    const struct ncclbpf_tuner *ctx);

#endif
