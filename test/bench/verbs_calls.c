// SPDX-License-Identifier: MIT
// The loops of verbs_bench: see verbs_calls.h.
#include "test/bench/verbs_calls.h"

#include <time.h>

static double calls_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double empty_polls(nb_ibv_poll_cq_fn *poll, struct nb_ibv_cq *cq, int n)
{
	double start = calls_now();
	struct nb_ibv_wc wc[4];

	for (int i = 0; i < n; i++)
		if (poll(cq, 4, wc))
			return -1;
	return calls_now() - start;
}

static double posts(nb_ibv_post_send_fn *post, struct nb_ibv_qp *qp, int n)
{
	struct nb_ibv_sge piece = { 0, 4096, 0 };
	struct nb_ibv_send_wr w = { .sg_list = &piece,
				    .num_sge = 1,
				    .send_flags = NB_IBV_SEND_SIGNALED };
	struct nb_ibv_send_wr *bad;
	double start = calls_now();

	for (int i = 0; i < n; i++)
		if (post(qp, &w, &bad))
			return -1;
	return calls_now() - start;
}

__attribute__((visibility("default")))
const struct verbs_calls verbs_calls = { empty_polls, posts };
