// SPDX-License-Identifier: MIT
/*
 * Context structs made of the field rows, for the host's C and for policies
 * alike. A policy includes policies/ncclbpf_policy.h, which supplies the
 * integer types; the host's files have <stdint.h>.
 */
#ifndef NB_DEFS_CTX_H
#define NB_DEFS_CTX_H

#ifndef __bpf__
#include <stdint.h>
#endif

/* Texts in contexts. They end in a zero byte and are padded with zero bytes. */
struct ncclbpf_text64 {
	uint64_t word[8];
};
struct ncclbpf_text128 {
	uint64_t word[16];
};

#define CONTEXT(ctx) struct ncclbpf_##ctx {
#define FIELD(ctx, name, type, access, label, unit, doc, source) type name;
#ifdef __bpf__
#define HIDDEN_FIELD(ctx, name, type)
#else
#define HIDDEN_FIELD(ctx, name, type) type name;
#endif
#define CONTEXT_END(ctx) };
#include "core/defs/contexts.h"

enum ncclbpf_coll {
#define NCCL_COLL(name, value, word) NCCL_COLL_##name = value,
#include "core/defs/nccl.h"
	NCCL_NUM_COLLS = 5
};

enum ncclbpf_algo {
	NCCL_ALGO_UNDEF = -1,
#define NCCL_ALGO(name, value, word) NCCL_ALGO_##name = value,
#include "core/defs/nccl.h"
	NCCL_NUM_ALGOS = 7
};

enum ncclbpf_proto {
	NCCL_PROTO_UNDEF = -1,
#define NCCL_PROTO(name, value, word) NCCL_PROTO_##name = value,
#include "core/defs/nccl.h"
	NCCL_NUM_PROTOS = 3
};

/*
 * Range of chunk sizes. NCCL rounds a size down to whole lines of the protocol,
 * of at most 1,920 bytes, and does not check whether 0 is left.
 */
enum ncclbpf_chunk { NCCL_CHUNK_LEAST = 4096, NCCL_CHUNK_MOST = 1 << 30 };

/* A fact about the ranks' hosts (core/defs/platform.h) that is not the same for all of them. */
#define NCCLBPF_MIXED 4294967295u

#endif
