// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_PROF_H
#define NB_TEST_HOST_PROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What the stand-in host knows of NCCL's profiler interface: declarations of
 * our own of every version, as C structs, made apart from the plugin's table
 * of offsets on purpose, so that a mistake there is not repeated here.
 */
typedef void host_prof_logger(int level, unsigned long flags, const char *file, int line,
			      const char *fmt, ...);

enum host_event_type {
	HOST_GROUP = 1,
	HOST_COLL = 2,
	HOST_P2P = 4,
	HOST_PROXY_OP = 8,
	HOST_PROXY_STEP = 16,
	HOST_PROXY_CTRL = 32,
	HOST_KERNEL_CH = 64,
	HOST_NET_PLUGIN = 128,
	HOST_GROUP_API = 256,
	HOST_COLL_API = 512,
	HOST_P2P_API = 1024,
	HOST_KERNEL_LAUNCH = 2048,
	HOST_CE_COLL = 4096,
	HOST_CE_SYNC = 8192,
	HOST_CE_BATCH = 16384,
	HOST_KERNEL_PHASE = 32768,
	HOST_LAST = HOST_KERNEL_PHASE
};

struct host_profiler {
	const char *name;
	union {
		int (*v1)(void **ctx, int *mask);
		int (*v4)(void **ctx, int *mask, const char *name, uint64_t hash, int nodes,
			  int ranks, int rank, host_prof_logger *log);
		int (*v5)(void **ctx, uint64_t id, int *mask, const char *name, int nodes,
			  int ranks, int rank, host_prof_logger *log);
	} init;
	int (*start)(void *ctx, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, void *args);
	int (*finalize)(void *ctx);
};

/* One rank of a communicator, with the mask that all of a process share. */
struct host_prof {
	const struct host_profiler *p;
	int abi;
	int *mask;
	void *ctx;
	const char *name;
	uint64_t id;
	int nodes, ranks, rank;
};

/* An event in words; what a version has no place for is left out. */
struct host_event {
	uint64_t type;
	void *parent, *group;
	uint64_t seq, count, timer, tag;
	int func, algo, proto, datatype; /* NCCL's numbers */
	int peer, step, steps, channel, channels, send, phase;
	bool symmetric;
	pid_t pid;
};

/* The symbol of that version in a library. */
bool host_prof_open(struct host_prof *c, void *library, int abi);
int host_prof_init(struct host_prof *c, host_prof_logger *log);
/* The first version that has the event type. */
int host_prof_since(uint64_t type);
/* Builds the version's descriptor and starts; the handle it got. */
void *host_prof_start(struct host_prof *c, const struct host_event *e);
/* A state with a number as its argument: bytes, operations or a GPU clock. */
void host_prof_state(struct host_prof *c, void *handle, int state, uint64_t arg);
void host_prof_state_null(struct host_prof *c, void *handle, int state);
void host_prof_stop(struct host_prof *c, void *handle);
void host_prof_fini(struct host_prof *c);

/* What a collective is made of. */
struct host_coll {
	int func, algo, proto, datatype, channels, ops, steps;
	uint64_t seq, count;
	uint64_t gpu_from, gpu_to; /* the GPU's clock */
	uint64_t tag;		   /* of the application; told from v7 on */
	bool p2p;
	/* as 2.31 tells a symmetric kernel, which alone has phases */
	bool symmetric;
	/* what host_prof_call made of it; before that, false and NULL */
	bool called;
	void *group_api, *coll_api;
};
/* The call of the API alone, before the tuner is asked; the rest follows. */
void host_prof_call(struct host_prof *c, struct host_coll *k);
/* A call like @k for which NCCL asks no tuner. */
void host_prof_lone_call(struct host_prof *c, const struct host_coll *k);
/*
 * One collective as NCCL tells it, with the events that the mask asks for and
 * their ancestors: group and API calls, the collective, its channels' kernels,
 * proxy operations and steps. As from 2.31 on, v7 hears of kernels in a thread
 * of their own.
 */
void host_prof_coll(struct host_prof *c, const struct host_coll *k);

#endif
