// SPDX-License-Identifier: MIT
#ifndef NB_TEST_BENCH_VERBS_CALLS_H
#define NB_TEST_BENCH_VERBS_CALLS_H

#include "plugin/tap/ibv_abi.h"

/*
 * The loops of verbs_bench. They are built twice: into the program, and as
 * verbs_calls.so. NCCL calls the tap from libnccl.so, which the loader maps
 * near the tap. A program lies more than 4 GiB away from both, and on Intel's
 * processors each return over such a distance takes longer.
 */
struct verbs_calls {
	/* Poll @n times; returns the nanoseconds, or -1 if one found something.
	 */
	double (*empty_polls)(nb_ibv_poll_cq_fn *poll, struct nb_ibv_cq *cq, int n);
	/* Post @n sends; returns the nanoseconds, or -1 if one failed. */
	double (*posts)(nb_ibv_post_send_fn *post, struct nb_ibv_qp *qp, int n);
};
extern const struct verbs_calls verbs_calls;
#define VERBS_CALLS_SYMBOL "verbs_calls"

#endif
