// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_TUNER_ABI_H
#define NB_PLUGIN_ABI_TUNER_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the versions of NCCL's tuner ABI have in common, declared by us
 * (ABI reference, sections 0 and 1). Each tuner_vN.c exports one data object
 * ncclTunerPlugin_vN.
 *
 * There is no v1. It hands out no context, so that its getCollInfo cannot tell
 * communicators apart: neither ranks nor decision numbers would be known, and
 * NCCL 2.19 and 2.20, which ask for v1 alone, use an answer without checking
 * it. On those releases the library is found to have no tuner and NCCL decides.
 */
#define NB_EXPORT __attribute__((visibility("default")))

/* ncclResult_t. No failure is ours, but a chained tuner's init may. */
enum { NB_NCCL_SUCCESS = 0, NB_NCCL_INTERNAL = 3 };

typedef void nb_nccl_logger(int level, unsigned long flags, const char *file,
			    int line, const char *fmt, ...);

/* v5 and v6: what init is told of NVLink domains; read-only. */
struct nb_nvl_domain_info {
	int nvl_domains, min_ranks, max_ranks;
};
static_assert(sizeof(struct nb_nvl_domain_info) == 12, "ABI ref., 1.3");
static_assert(offsetof(struct nb_nvl_domain_info, max_ranks) == 8,
	      "ABI ref., 1.3");

/*
 * v5 and v6: NCCL's model constants, which init may edit. We never do: edits
 * would have to be equal on all ranks. A tuner that is called through us may.
 */
struct nb_tuner_constants {
	double base_latencies[7][3];
	double hw_latencies[3][7][3];
	double ll_max_bws[4][3];
	double per_ch_max_ring_ll128_bws[4][3];
	double per_ch_max_tree_ll128_bws[4][3];
	double per_ch_max_tree_bws[4][3];
	double per_ch_max_nvls_tree_bws[4][3];
};
static_assert(sizeof(struct nb_tuner_constants) == 1152, "ABI ref., 1.3");
static_assert(offsetof(struct nb_tuner_constants, hw_latencies) == 168,
	      "ABI ref., 1.3");
static_assert(offsetof(struct nb_tuner_constants, ll_max_bws) == 672,
	      "ABI ref., 1.3");
static_assert(offsetof(struct nb_tuner_constants, per_ch_max_nvls_tree_bws) ==
		      1056,
	      "ABI ref., 1.3");

/* init of any version comes down to this; *@context may become NULL. */
struct nb_tuner_init {
	uint32_t abi;
	uint64_t comm_id; /* meant from v5 on */
	size_t ranks, nodes;
	nb_nccl_logger *logger;
	struct nb_nvl_domain_info *nvl;	      /* may be NULL */
	struct nb_tuner_constants *constants; /* may be NULL */
};
int nb_tuner_init(void **context, const struct nb_tuner_init *init);
/* finalize or destroy of any version; @context may be NULL */
int nb_tuner_finalize(void *context);

#endif
