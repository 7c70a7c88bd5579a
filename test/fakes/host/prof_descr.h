// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_PROF_DESCR_H
#define NB_TEST_HOST_PROF_DESCR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A profiler's event descriptors, version by version. */

/* ---- what is the same in all versions ---- */

struct proxy_op {
	pid_t pid;
	uint8_t channel;
	int peer, steps, chunk, send;
};
struct proxy_step {
	int step;
};
struct kernel_v3 {
	uint8_t channel;
};
struct kernel_v4 {
	uint8_t channel;
	uint64_t timer;
};
struct net_plugin {
	int64_t id;
	void *data;
};

struct descr_v1 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			uint8_t func;
			const void *send, *recv;
			size_t count;
			int root;
			uint8_t datatype;
			uint32_t op;
			size_t traffic;
			uint8_t channels, warps, algo, proto;
			int collnet, nvls;
		} coll;
		struct {
			const char *name;
			uint64_t hash;
			uint8_t func;
			void *buff;
			uint8_t datatype;
			size_t count;
			int peer;
		} p2p;
		struct proxy_op op;
		struct proxy_step step;
	} u;
};
_Static_assert(sizeof(struct descr_v1) == 120, "2.4");

struct coll_v2 {
	const char *name;
	uint64_t hash, seq;
	const char *func;
	const void *send, *recv;
	size_t count;
	int root;
	const char *datatype;
	size_t traffic;
	uint8_t channels, warps;
	const char *algo, *proto;
};
struct p2p_v2 {
	const char *name;
	uint64_t hash;
	const char *func;
	void *buff;
	const char *datatype;
	size_t count;
	int peer;
};

struct descr_v2 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct coll_v2 coll;
		struct p2p_v2 p2p;
		struct proxy_op op;
		struct proxy_step step;
	} u;
};
_Static_assert(sizeof(struct descr_v2) == 128, "2.4");

struct descr_v3 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			const char *func;
			const void *send, *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct p2p_v2 p2p;
		struct proxy_op op;
		struct proxy_step step;
		struct kernel_v3 kernel;
		struct net_plugin net;
	} u;
};
_Static_assert(sizeof(struct descr_v3) == 120, "2.4");

struct descr_v4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			uint64_t seq;
			const char *func;
			const void *send, *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct {
			const char *func;
			void *buff;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
		} p2p;
		struct proxy_op op;
		struct proxy_step step;
		struct kernel_v4 kernel;
		struct net_plugin net;
	} u;
};
_Static_assert(sizeof(struct descr_v4) == 104, "2.4");

/* v6 only adds members of the union that are not larger. */
struct descr_v5 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool captured;
			int depth;
		} group_api;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			int root;
			void *stream;
			bool captured;
		} coll_api;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			void *stream;
			bool captured;
		} p2p_api;
		struct {
			void *stream;
		} launch;
		struct {
			uint64_t seq;
			const char *func;
			const void *send, *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
			void *group;
		} coll;
		struct {
			const char *func;
			void *buff;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
		} p2p;
		struct proxy_op op;
		struct proxy_step step;
		struct kernel_v4 kernel;
		struct net_plugin net;
		struct {
			uint64_t seq;
			const char *func;
			const void *send, *recv;
			size_t count;
			int root;
			const char *datatype, *sync;
			bool intra;
			uint32_t batch, batches, ce_seq;
			void *stream;
		} ce_coll;
		struct {
			bool complete;
			int ranks;
		} ce_sync;
		struct {
			int ops;
			size_t bytes;
			bool intra;
		} ce_batch;
	} u;
};
_Static_assert(sizeof(struct descr_v5) == 112, "2.4");

/* v7 appends to those of v6: an application's tag, and what a symmetric kernel is. */
struct descr_v7 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool captured;
			int depth;
		} group_api;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			int root;
			void *stream;
			bool captured;
			uint64_t tag;
		} coll_api;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			void *stream;
			bool captured;
			uint64_t tag;
		} p2p_api;
		struct {
			void *stream;
		} launch;
		struct {
			uint64_t seq;
			const char *func;
			const void *send, *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
			void *group;
			const char *variant;
			bool symmetric;
			uint64_t tag;
		} coll;
		struct {
			const char *func;
			void *buff;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
			uint64_t tag;
		} p2p;
		struct proxy_op op;
		struct proxy_step step;
		struct kernel_v4 kernel;
		struct net_plugin net;
		struct {
			uint64_t seq;
			const char *func;
			const void *send, *recv;
			size_t count;
			int root;
			const char *datatype, *sync;
			bool intra;
			uint32_t batch, batches, ce_seq;
			void *stream;
			uint64_t tag;
		} ce_coll;
		struct {
			bool complete;
			int ranks;
		} ce_sync;
		struct {
			int ops;
			size_t bytes;
			bool intra;
		} ce_batch;
		struct {
			uint8_t channel, phase;
			const char *name;
			uint64_t timer;
		} phase;
	} u;
};
_Static_assert(sizeof(struct descr_v7) == 136, "profiler_v7.h");
#define AT7(field, at) _Static_assert(offsetof(struct descr_v7, u.field) == (at), "profiler_v7.h")
AT7(coll_api.captured, 64);
AT7(coll_api.tag, 72);
AT7(p2p_api.captured, 56);
AT7(p2p_api.tag, 64);
AT7(coll.group, 104);
AT7(coll.variant, 112);
AT7(coll.symmetric, 120);
AT7(coll.tag, 128);
AT7(p2p.channels, 60);
AT7(p2p.group, 64);
AT7(p2p.tag, 72);
AT7(ce_coll.stream, 104);
AT7(ce_coll.tag, 112);
AT7(phase.channel, 24);
AT7(phase.phase, 25);
AT7(phase.name, 32);
AT7(phase.timer, 40);
#undef AT7

#endif
