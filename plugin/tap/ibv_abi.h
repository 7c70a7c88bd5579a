// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_IBV_ABI_H
#define NB_PLUGIN_TAP_IBV_ABI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The parts of libibverbs' public structures that the tap uses, with the ABI
 * that libibverbs has had since IBVERBS_1.1. The tap is therefore built without
 * libibverbs' header. test/fakes/verbs/abi_check.c compares the offsets with
 * the real header. Names are libibverbs' names with the prefix nb_; members
 * that the tap does not read only keep the offsets.
 */
struct nb_ibv_device;
struct nb_ibv_pd;
struct nb_ibv_srq;
struct nb_ibv_qp;
struct nb_ibv_cq;
struct nb_ibv_send_wr;
struct nb_ibv_recv_wr;
struct nb_ibv_wc;

typedef int nb_ibv_post_send_fn(struct nb_ibv_qp *qp, struct nb_ibv_send_wr *wr,
				struct nb_ibv_send_wr **bad);
typedef int nb_ibv_post_recv_fn(struct nb_ibv_qp *qp, struct nb_ibv_recv_wr *wr,
				struct nb_ibv_recv_wr **bad);
typedef int nb_ibv_poll_cq_fn(struct nb_ibv_cq *cq, int n, struct nb_ibv_wc *wc);

struct nb_ibv_context {
	struct nb_ibv_device *device;
	void *ops0[11];
	nb_ibv_poll_cq_fn *poll_cq;
	void *ops12[13];
	nb_ibv_post_send_fn *post_send;
	nb_ibv_post_recv_fn *post_recv;
	void *ops27[5];
	int cmd_fd, async_fd, num_comp_vectors;
	pthread_mutex_t mutex;
	void *abi_compat;
};

/*
 * An ibv_context whose abi_compat is NB_IBV_EXTENDED is preceded by these
 * fields.
 */
struct nb_ibv_cq_attr_ex;
struct nb_ibv_qp_attr_ex;
typedef void *nb_ibv_create_cq_ex_fn(struct nb_ibv_context *c, struct nb_ibv_cq_attr_ex *a);
typedef struct nb_ibv_qp *nb_ibv_create_qp_ex_fn(struct nb_ibv_context *c,
						 struct nb_ibv_qp_attr_ex *a);

struct nb_ibv_extended {
	nb_ibv_create_cq_ex_fn *create_cq_ex;
	void *ops1[7];
	nb_ibv_create_qp_ex_fn *create_qp_ex;
	void *ops9[4];
	uint64_t unused;
	size_t sz; /* size of the whole structure, with the context */
	struct nb_ibv_context context;
};
#define NB_IBV_EXTENDED ((void *)UINTPTR_MAX)

struct nb_ibv_cq {
	struct nb_ibv_context *context;
};

struct nb_ibv_qp {
	struct nb_ibv_context *context;
	void *qp_context;
	struct nb_ibv_pd *pd;
	struct nb_ibv_cq *send_cq, *recv_cq;
	struct nb_ibv_srq *srq;
	uint32_t handle, qp_num, state, qp_type;
};

struct nb_ibv_pd {
	struct nb_ibv_context *context;
};

struct nb_ibv_mr {
	struct nb_ibv_context *context;
	struct nb_ibv_pd *pd;
	void *addr;
	size_t length;
	uint32_t handle, lkey, rkey;
};

struct nb_ibv_qp_cap {
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge;
	uint32_t max_inline_data;
};

struct nb_ibv_qp_init_attr {
	void *qp_context;
	struct nb_ibv_cq *send_cq, *recv_cq;
	struct nb_ibv_srq *srq;
	struct nb_ibv_qp_cap cap;
	uint32_t qp_type;
	int sq_sig_all;
};

struct nb_ibv_ah_attr {
	uint8_t dgid[16] __attribute__((aligned(8)));
	uint32_t flow_label;
	uint8_t sgid_index, hop_limit, traffic_class;
	uint16_t dlid;
	uint8_t sl, src_path_bits, static_rate, is_global, port_num;
};

struct nb_ibv_qp_attr {
	uint32_t qp_state, cur_qp_state, path_mtu, path_mig_state;
	uint32_t qkey, rq_psn, sq_psn, dest_qp_num, qp_access_flags;
	struct nb_ibv_qp_cap cap;
	struct nb_ibv_ah_attr ah_attr, alt_ah_attr;
	uint16_t pkey_index, alt_pkey_index;
	uint8_t en_sqd_async_notify, sq_draining, max_rd_atomic;
	uint8_t max_dest_rd_atomic, min_rnr_timer, port_num, timeout;
	uint8_t retry_cnt, rnr_retry, alt_port_num, alt_timeout;
	uint32_t rate_limit;
};

struct nb_ibv_sge {
	uint64_t addr;
	uint32_t length, lkey;
};

struct nb_ibv_send_wr {
	uint64_t wr_id;
	struct nb_ibv_send_wr *next;
	struct nb_ibv_sge *sg_list;
	int num_sge;
	uint32_t opcode, send_flags;
};

struct nb_ibv_recv_wr {
	uint64_t wr_id;
	struct nb_ibv_recv_wr *next;
	struct nb_ibv_sge *sg_list;
	int num_sge;
};

/* The fields with which both kinds of work requests begin. */
struct nb_ibv_wr {
	uint64_t wr_id;
	struct nb_ibv_wr *next;
	struct nb_ibv_sge *sg_list;
	int num_sge;
};
_Static_assert(offsetof(struct nb_ibv_send_wr, num_sge) == offsetof(struct nb_ibv_wr, num_sge) &&
		       offsetof(struct nb_ibv_recv_wr, num_sge) ==
			       offsetof(struct nb_ibv_wr, num_sge),
	       "both kinds begin alike");

struct nb_ibv_wc {
	uint64_t wr_id;
	uint32_t status, opcode, vendor_err, byte_len, imm_data, qp_num;
	uint32_t src_qp, wc_flags;
	uint16_t pkey_index, slid;
	uint8_t sl, dlid_path_bits;
};

struct nb_ibv_async_event {
	union {
		struct nb_ibv_qp *qp;
		int port_num;
	} element;
	uint32_t event_type;
};

/*
 * Constants of libibverbs: bits of ibv_modify_qp's mask, send flags, and enum
 * values.
 */
enum {
	NB_IBV_QP_STATE = 1 << 0,
	NB_IBV_QP_AV = 1 << 7,
	NB_IBV_QP_PATH_MTU = 1 << 8,
	NB_IBV_QP_TIMEOUT = 1 << 9,
	NB_IBV_QP_RETRY_CNT = 1 << 10,
	NB_IBV_QP_RNR_RETRY = 1 << 11,
	NB_IBV_QP_MIN_RNR_TIMER = 1 << 15,
	NB_IBV_QP_DEST_QPN = 1 << 20,
	NB_IBV_SEND_SIGNALED = 1 << 1,
	NB_IBV_SEND_INLINE = 1 << 3,
	NB_IBV_WC_RECV = 1 << 7,
	NB_IBV_QPS_RESET = 0,
	NB_IBV_QPS_RTS = 3,
	NB_IBV_QPS_ERR = 6,
	NB_IBV_EVENT_CQ_ERR = 0,
	NB_IBV_EVENT_QP_FATAL = 1,
	NB_IBV_EVENT_QP_REQ_ERR = 2,
	NB_IBV_EVENT_QP_ACCESS_ERR = 3,
	NB_IBV_EVENT_PATH_MIG_ERR = 7,
	NB_IBV_EVENT_DEVICE_FATAL = 8,
	NB_IBV_EVENT_QP_LAST_WQE = 16,
	NB_IBV_EVENT_PORT_ACTIVE = 9,
	NB_IBV_EVENT_PORT_ERR = 10,
	NB_IBV_EVENT_SRQ_ERR = 14,
	NB_IBV_EVENT_WQ_FATAL = 19,
	NB_IBV_EVENT_PORT_LAST = 13
};

/* Access rights that a library may drop if it does not support them. */
#define NB_IBV_ACCESS_OPTIONAL 0x3ff00000u

#endif
