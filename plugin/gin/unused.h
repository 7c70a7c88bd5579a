// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_UNUSED_H
#define NB_PLUGIN_GIN_UNUSED_H

#include <stdbool.h>

/*
 * Why NCCL does not use GIN of ours although it is on. Releases look in
 * different places, and variables of NCCL keep it from looking (docs/gin.md).
 */

/* NCCL's variables that decide: name without "NCCL_". */
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
 * Keep the variables' values as they are now, cut to size. At init, in a thread
 * of NCCL: getenv(3) is not safe later.
 */
void nb_gin_variables_read(void);
/* "": not set */
const char *nb_gin_variable(enum nb_gin_variable v);

/* What is known of this process. */
struct nb_gin_situation {
	int nccl; /* NCCL's version, 22809 for 2.28.9; 0: not known */
	/* values; NULL or "": not set */
	const char *variable[NB_GIN_NVARIABLES];
	bool wrapping;	/* NCCLBPF_CHAIN_GIN is set, else NCCLBPF_GIN is on */
	bool called;	/* NCCL has called our init */
	bool transport; /* ... and we have chosen one */
	bool net_ours;	/* NCCL's net plugin is ours */
	bool net_off;	/* NCCLBPF_NET=off */
};

struct nb_gin_reason {
	char text[256], hint[160]; /* hint "": none */
};

/* Call it only if NCCL was given no device of ours. */
void nb_gin_unused(const struct nb_gin_situation *s,
		   struct nb_gin_reason *reason);

#endif
