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

struct ncclbpf_tuner {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_tuner.h"
#ifndef __bpf__
	/* NCCL's cost table of this decision, for helpers that take the context; programs
	 * cannot access it. It has NCCL_NUM_ALGOS rows of NCCL_NUM_PROTOS predicted times in
	 * microseconds, negative for combinations that NCCL does not offer. NULL if not known. */
	const float *costs;
#endif
};

struct ncclbpf_coll_done {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_coll_done.h"
};

struct ncclbpf_p2p_done {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_p2p_done.h"
};

struct ncclbpf_proxy_step {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_proxy_step.h"
};

struct ncclbpf_kernel_ch {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_kernel_ch.h"
};

struct ncclbpf_group {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_group.h"
};

struct ncclbpf_net_listen {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_listen.h"
};

struct ncclbpf_net_connect {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_connect.h"
};

struct ncclbpf_net_accept {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_accept.h"
};

struct ncclbpf_net_isend {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_isend.h"
};

struct ncclbpf_net_irecv {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_irecv.h"
};

struct ncclbpf_net_test {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_test.h"
};

struct ncclbpf_net_close {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_net_close.h"
};

struct ncclbpf_verbs_qp {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_verbs_qp.h"
};

struct ncclbpf_verbs_post {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_verbs_post.h"
};

struct ncclbpf_verbs_done {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_verbs_done.h"
};

struct ncclbpf_verbs_event {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_verbs_event.h"
};

struct ncclbpf_verbs_mr {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_verbs_mr.h"
};

struct ncclbpf_controller {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_controller.h"
};

/* Texts in contexts. They end in a zero byte and are padded with zero bytes. */
struct ncclbpf_text64 {
	uint64_t word[8];
};
struct ncclbpf_text128 {
	uint64_t word[16];
};

struct ncclbpf_env {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_env.h"
};

struct ncclbpf_gin_connect {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_gin_connect.h"
};

struct ncclbpf_gin_put {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_gin_put.h"
};

struct ncclbpf_gin_done {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_gin_done.h"
};

struct ncclbpf_gin_signal {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_gin_signal.h"
};

struct ncclbpf_gin_close {
#define FIELD(name, type, access, label, unit, doc, source) type name;
#include "core/defs/hook_gin_close.h"
};

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

#endif
