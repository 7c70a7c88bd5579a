// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_UNUSED_H
#define NB_PLUGIN_GIN_UNUSED_H

#include <stdbool.h>

/*
 * Explains why NCCL does not use our GIN transport although it is on. NCCL
 * releases look for plugins in different places, and some NCCL variables
 * disable the search (docs/gin.md).
 */

/* NCCL's variables that decide about GIN, without their prefix "NCCL_". */
#define NB_GIN_VARIABLES(X) \
	X(GIN_ENABLE)       \
	X(GIN_TYPE)         \
	X(GIN_PLUGIN)       \
	X(RMA_PLUGIN)       \
	X(NET_PLUGIN)       \
	X(NET)              \
	X(CROSS_NIC)        \
	X(WIN_ENABLE)       \
	X(CUMEM_ENABLE)

enum nb_gin_variable {
#define X(name) NB_GIN_VAR_##name,
	NB_GIN_VARIABLES(X)
#undef X
		NB_GIN_NVARIABLES
};

/*
 * Copy the variables' current values, truncated to 63 bytes. NCCL's thread
 * calls it at init, because getenv(3) is not safe later.
 */
void nb_gin_variables_read(void);
/* Returns the copied value, or "" if the variable is not set. */
const char *nb_gin_variable(enum nb_gin_variable v);

/* Facts about this process from which nb_gin_unused finds the reason. */
struct nb_gin_situation {
	int nccl; /* NCCL's version, 22809 for 2.28.9; 0 if it is not known */
	/* values of NCCL's variables; NULL or "" if not set */
	const char *variable[NB_GIN_NVARIABLES];
	/*
	 * the user asked for a wrapped plugin (NCCLBPF_CHAIN_GIN), else for our
	 * own transport (NCCLBPF_GIN)
	 */
	bool wrapping;
	bool called;	/* NCCL has called our GIN init function */
	bool transport; /* our GIN init has chosen a transport */
	bool net_ours;	/* NCCL uses our net plugin for the network */
	bool net_off;	/* NCCLBPF_NET=off is set */
};

struct nb_gin_reason {
	/* text of the reason; hint is "" if there is no advice */
	char text[256], hint[160];
};

/*
 * Explain why NCCL uses no GIN device of ours. Call it only if NCCL was given
 * none.
 */
void nb_gin_unused(const struct nb_gin_situation *s,
		   struct nb_gin_reason *reason);

#endif
