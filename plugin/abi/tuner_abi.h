// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_TUNER_ABI_H
#define NB_PLUGIN_ABI_TUNER_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/*
 * NCCL's tuner ABI, versions 2 to 7, in our own declarations. NCCL 2.21 uses
 * v2, 2.22 v3, 2.24 v4, 2.28 v5, 2.30 v6, 2.32.6 v7.
 *
 * Version 1 is not supported. Its getCollInfo gets no context, so it cannot
 * tell communicators apart, and NCCL 2.19 and 2.20, which only look for v1, do
 * not check the answer. These releases find no tuner in this library, so NCCL
 * decides.
 */
#define NB_EXPORT __attribute__((visibility("default")))

/* Values of ncclResult_t. Only the init of a wrapped tuner may fail. */
enum { NB_NCCL_SUCCESS = 0, NB_NCCL_INTERNAL = 3 };

typedef void nb_nccl_logger(int level, unsigned long flags, const char *file, int line,
			    const char *fmt, ...);

/* NVLink domains (from v5 on), which are read-only. */
struct nb_nvl_domain_info {
	int nvl_domains, min_ranks, max_ranks;
};
static_assert(sizeof(struct nb_nvl_domain_info) == 12, "ABI ref., 1.3");
static_assert(offsetof(struct nb_nvl_domain_info, max_ranks) == 8, "ABI ref., 1.3");

/*
 * Constants of NCCL's cost model (v5 and v6), which init may edit. Our tuner
 * never edits them, because all ranks would have to make the same edits. A
 * wrapped tuner may edit them. RCCL's constants have another layout behind the
 * same pointer, with more bytes.
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
static_assert(offsetof(struct nb_tuner_constants, hw_latencies) == 168, "ABI ref., 1.3");
static_assert(offsetof(struct nb_tuner_constants, ll_max_bws) == 672, "ABI ref., 1.3");
static_assert(offsetof(struct nb_tuner_constants, per_ch_max_nvls_tree_bws) == 1056,
	      "ABI ref., 1.3");

/*
 * The same constants in v7, which have one more row of the tables that a GPU's
 * generation selects. So these tables lie elsewhere.
 */
struct nb_tuner_constants_v7 {
	double base_latencies[7][3];
	double hw_latencies[3][7][3];
	double ll_max_bws[5][3];
	double per_ch_max_ring_ll128_bws[5][3];
	double per_ch_max_tree_ll128_bws[5][3];
	double per_ch_max_tree_bws[5][3];
	double per_ch_max_nvls_tree_bws[5][3];
};
static_assert(sizeof(struct nb_tuner_constants_v7) == 1272, "tuner_v7.h");
static_assert(offsetof(struct nb_tuner_constants_v7, ll_max_bws) == 672, "tuner_v7.h");
static_assert(offsetof(struct nb_tuner_constants_v7, per_ch_max_ring_ll128_bws) == 792,
	      "tuner_v7.h");
static_assert(offsetof(struct nb_tuner_constants_v7, per_ch_max_nvls_tree_bws) == 1152,
	      "tuner_v7.h");

/* Types of init in v2 to v4, in v5 and v6, and in v7. */
typedef int nb_tuner_init_v2(size_t ranks, size_t nodes, nb_nccl_logger *logger, void **context);
typedef int nb_tuner_init_v5(void **context, uint64_t comm_id, size_t ranks, size_t nodes,
			     nb_nccl_logger *logger, struct nb_nvl_domain_info *nvl,
			     struct nb_tuner_constants *constants);
typedef int nb_tuner_init_v7(void **context, uint64_t comm_id, size_t ranks, size_t nodes,
			     nb_nccl_logger *logger, struct nb_nvl_domain_info *nvl,
			     struct nb_tuner_constants_v7 *constants);

/*
 * Types of getCollInfo in v2, in v3, and from v4 on. @table is declared as
 * rows but is one block of memory.
 */
typedef int nb_tuner_ask_v2(void *context, int coll, size_t bytes, int collnet, int nvls,
			    int pipe_ops, int *algo, int *proto, int *channels);
typedef int nb_tuner_ask_v3(void *context, int coll, size_t bytes, int pipe_ops, float **table,
			    int nalgo, int nproto, int *channels);
typedef int nb_tuner_ask_v4(void *context, int coll, size_t bytes, int pipe_ops, float **table,
			    int nalgo, int nproto, int reg_buff, int *channels);
/* Type of getChunkSize, which v6 and v7 have. */
typedef int nb_tuner_chunk_v6(void *context, int coll, size_t bytes, int algo, int proto,
			      int channels, size_t *chunk_size);

/*
 * Defines a version's table, and declares the object that we export. Version 5
 * calls the third function finalize; older versions call it destroy.
 */
#define NB_TUNER(v, at_init, at_ask, bytes, ...)                                     \
	struct nb_tuner_v##v {                                                       \
		const char *name;                                                    \
		nb_tuner_init_##at_init *init;                                       \
		nb_tuner_ask_##at_ask *get_coll_info;                                \
		int (*finalize)(void *context);                                      \
		__VA_ARGS__                                                          \
	};                                                                           \
	static_assert(offsetof(struct nb_tuner_v##v, init) == 8 &&                   \
			      offsetof(struct nb_tuner_v##v, get_coll_info) == 16 && \
			      offsetof(struct nb_tuner_v##v, finalize) == 24 &&      \
			      sizeof(struct nb_tuner_v##v) == (bytes),               \
		      "ABI ref., 1.1");                                              \
	extern const struct nb_tuner_v##v ncclTunerPlugin_v##v
NB_TUNER(2, v2, v2, 32, );
NB_TUNER(3, v2, v3, 32, );
NB_TUNER(4, v2, v4, 32, );
NB_TUNER(5, v5, v4, 32, );
NB_TUNER(6, v5, v4, 40, nb_tuner_chunk_v6 *get_chunk_size;);
NB_TUNER(7, v7, v4, 40, nb_tuner_chunk_v6 *get_chunk_size;);
#undef NB_TUNER

/* Arguments of init in any version. */
struct nb_tuner_init {
	uint32_t abi;
	/* identity of the communicator, which NCCL passes from v5 on */
	uint64_t comm_id;
	size_t ranks, nodes;
	nb_nccl_logger *logger;
	/* NVLink domains; NULL in versions before v5 */
	struct nb_nvl_domain_info *nvl;
	/*
	 * constants of the cost model, nb_tuner_constants_v7 in v7, before that
	 * nb_tuner_constants; NULL in versions before v5
	 */
	void *constants;
};

#endif
