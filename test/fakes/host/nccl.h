// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_NCCL_H
#define NB_TEST_HOST_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What the stand-in host knows of NCCL's tuner interface: our own
 * declarations of every version, made apart from the plugin's on purpose, so
 * that a mistake there is not repeated here.
 */

enum { HOST_ALGOS = 7, HOST_PROTOS = 3, HOST_TABLE = HOST_ALGOS * HOST_PROTOS };

typedef void host_logger(int level, unsigned long flags, const char *file, int line,
			 const char *fmt, ...);

struct host_nvl_domain_info {
	int domains, min_ranks, max_ranks;
};

struct host_tuner_v2 {
	const char *name;
	int (*init)(size_t ranks, size_t nodes, host_logger *log, void **ctx);
	int (*get)(void *ctx, int coll, size_t bytes, int collnet, int nvls, int pipe_ops,
		   int *algo, int *proto, int *channels);
	int (*destroy)(void *ctx);
};

struct host_tuner_v3 {
	const char *name;
	int (*init)(size_t ranks, size_t nodes, host_logger *log, void **ctx);
	int (*get)(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
		   int protos, int *channels);
	int (*destroy)(void *ctx);
};

struct host_tuner_v4 {
	const char *name;
	int (*init)(size_t ranks, size_t nodes, host_logger *log, void **ctx);
	int (*get)(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
		   int protos, int reg_buff, int *channels);
	int (*destroy)(void *ctx);
};

struct host_tuner_v5 {
	const char *name;
	int (*init)(void **ctx, uint64_t comm_id, size_t ranks, size_t nodes, host_logger *log,
		    struct host_nvl_domain_info *nvl, double *constants);
	int (*get)(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
		   int protos, int reg_buff, int *channels);
	int (*finalize)(void *ctx);
};

/* v7 differs in the constants alone. */
enum { HOST_CONSTANTS = 144, HOST_CONSTANTS_V7 = 159, HOST_CONSTANTS_RCCL = 204 };

struct host_tuner_v6 {
	struct host_tuner_v5 v5;
	int (*chunk)(void *ctx, int coll, size_t bytes, int algo, int proto, int channels,
		     size_t *chunk);
};

/* The tuner as one release of NCCL found it in a library. */
struct host_plugin {
	void *handle;
	int abi; /* 2..7 */
	union {
		const void *sym;
		const struct host_tuner_v2 *v2;
		const struct host_tuner_v3 *v3;
		const struct host_tuner_v4 *v4;
		const struct host_tuner_v5 *v5;
		const struct host_tuner_v6 *v6;
	} u;
};

/* A communicator object, that is: one rank. */
struct host_comm {
	const struct host_plugin *plugin;
	void *ctx;
	uint64_t id;
	size_t ranks, nodes;
	int max_channels; /* of the communicator */
	bool nvls;
	int algos; /* rows of the table this release has: 6 or 7 */
	/* bits of the algorithms that this call's configuration selects; 0: all */
	unsigned select;
};

struct host_choice {
	int algo, proto, channels;
	float us; /* what the untouched table said of it */
	int nccl_algo, nccl_proto;
	float nccl_us;
	/* chunks of the first part of the collective; NCCL's own */
	size_t chunk_size, nccl_chunk_size;
};

/* What ncclGetVersion tells plugins: 22809 for 2.28.9, unless it is changed. */
extern int host_version;
/* RCCL decides; see host_decide. */
extern bool host_rccl;

/*
 * Find and open a tuner by NCCL's rules (NCCL_TUNER_PLUGIN). @abi: the newest
 * interface the pretended release knows; it takes the newest symbol at or
 * below. 0 or -1 with a message on stderr.
 */
int host_open(struct host_plugin *p, int abi);

/* init as that release calls it. 0, or the plugin's result. */
int host_init(struct host_comm *c, host_logger *log);
/* finalize or destroy. */
int host_fini(struct host_comm *c);
/*
 * One decision as that release takes it: build the cost table, ask, read
 * the answer back by NCCL's rules. 0, or a result code as NCCL would return.
 * RCCL takes an entry of exactly 0; otherwise it chooses the cheapest one, and
 * then changes its protocol.
 * A selection that leaves nothing is asked about, and then given up, as with
 * forceAlgSelection 0. From v6 on the tuner is then asked for chunk sizes, as
 * in host_chunks.
 */
int host_decide(struct host_comm *c, int coll, size_t bytes, int reg_buff, struct host_choice *out);
/* The same, and nothing follows from the answer, so no chunk size is asked for. */
int host_probe(struct host_comm *c, int coll, size_t bytes, int reg_buff, struct host_choice *out);

/*
 * Ask for the chunk sizes of a collective, as NCCL does from tuner v6 on: once
 * for each kind of its channels, first, last and those between, with their
 * bytes. NCCL lowers the answer to the size of the protocol's buffers and rounds
 * it down to whole lines. 0, or a result code; 3 if chunks of 0 bytes were left,
 * or chunks that NVLS has no room for.
 */
int host_chunks(struct host_comm *c, int coll, size_t bytes, struct host_choice *choice);

/*
 * Ask the tuner with a table that offers nothing. 0, or 3 if the plugin has
 * failed or offers something now.
 */
int host_ask_nothing(struct host_comm *c, int coll, size_t bytes);

/*
 * Predicted microseconds of a combination, -1 where it cannot be used: a
 * shape like NCCL's for eight GPUs behind NVSwitches, not anybody's figures.
 */
float host_cost(const struct host_comm *c, int coll, size_t bytes, int algo, int proto);

#endif
