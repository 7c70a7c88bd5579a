// SPDX-License-Identifier: MIT
// plugin/tap/ibv_abi.h against libibverbs' own header: it compiles only if all
// that the tap reads stands where the real structures have it.
#include <infiniband/verbs.h>

#include "plugin/tap/ibv_abi.h"

#define SAME(s, ours, theirs)                                                                 \
	_Static_assert(offsetof(struct nb_ibv_##s, ours) == offsetof(struct ibv_##s, theirs), \
		       #s " " #ours);                                                         \
	_Static_assert(sizeof(((struct nb_ibv_##s *)0)->ours) ==                              \
			       sizeof(((struct ibv_##s *)0)->theirs),                         \
		       #s " " #ours " size")
SAME(context, device, device);
SAME(context, poll_cq, ops.poll_cq);
SAME(context, post_send, ops.post_send);
SAME(context, post_recv, ops.post_recv);
SAME(context, cmd_fd, cmd_fd);
SAME(context, async_fd, async_fd);
SAME(context, abi_compat, abi_compat);
SAME(cq, context, context);
SAME(qp, context, context);
SAME(qp, qp_num, qp_num);
SAME(qp, state, state);
SAME(pd, context, context);
SAME(mr, context, context);
SAME(mr, pd, pd);
SAME(mr, length, length);
SAME(mr, lkey, lkey);
SAME(qp_init_attr, send_cq, send_cq);
SAME(qp_init_attr, recv_cq, recv_cq);
SAME(qp_init_attr, cap, cap);
SAME(qp_init_attr, sq_sig_all, sq_sig_all);
SAME(qp_attr, qp_state, qp_state);
SAME(qp_attr, path_mtu, path_mtu);
SAME(qp_attr, dest_qp_num, dest_qp_num);
SAME(qp_attr, ah_attr, ah_attr);
SAME(ah_attr, dgid, grh.dgid);
SAME(ah_attr, traffic_class, grh.traffic_class);
SAME(ah_attr, sl, sl);
SAME(ah_attr, is_global, is_global);
SAME(qp_attr, min_rnr_timer, min_rnr_timer);
SAME(qp_attr, timeout, timeout);
SAME(qp_attr, retry_cnt, retry_cnt);
SAME(qp_attr, rnr_retry, rnr_retry);
SAME(sge, length, length);
SAME(send_wr, wr_id, wr_id);
SAME(send_wr, next, next);
SAME(send_wr, sg_list, sg_list);
SAME(send_wr, num_sge, num_sge);
SAME(send_wr, opcode, opcode);
SAME(send_wr, send_flags, send_flags);
SAME(recv_wr, wr_id, wr_id);
SAME(recv_wr, next, next);
SAME(recv_wr, sg_list, sg_list);
SAME(recv_wr, num_sge, num_sge);
SAME(wc, wr_id, wr_id);
SAME(wc, status, status);
SAME(wc, opcode, opcode);
SAME(wc, vendor_err, vendor_err);
SAME(wc, byte_len, byte_len);
SAME(wc, qp_num, qp_num);
SAME(async_event, element, element);
SAME(async_event, event_type, event_type);
/* From the end: newer fields of verbs_context are added at its beginning. */
#define AT_END(ours, theirs)                                                                      \
	_Static_assert(sizeof(struct nb_ibv_extended) - offsetof(struct nb_ibv_extended, ours) == \
			       sizeof(struct verbs_context) -                                     \
				       offsetof(struct verbs_context, theirs),                    \
		       #theirs)
AT_END(context, context);
AT_END(sz, sz);
AT_END(create_qp_ex, create_qp_ex);
AT_END(create_cq_ex, create_cq_ex);
_Static_assert(sizeof(struct nb_ibv_context) == sizeof(struct ibv_context), "context");
_Static_assert(sizeof(struct nb_ibv_wc) == sizeof(struct ibv_wc), "wc");
_Static_assert(sizeof(struct nb_ibv_qp_attr) == sizeof(struct ibv_qp_attr),
	       "qp_attr is copied whole");
#define EQUAL(name, theirs) _Static_assert((int)NB_IBV_##name == (int)IBV_##theirs, #name)
EQUAL(QP_STATE, QP_STATE);
EQUAL(QP_AV, QP_AV);
EQUAL(QP_PATH_MTU, QP_PATH_MTU);
EQUAL(QP_TIMEOUT, QP_TIMEOUT);
EQUAL(QP_RETRY_CNT, QP_RETRY_CNT);
EQUAL(QP_RNR_RETRY, QP_RNR_RETRY);
EQUAL(QP_MIN_RNR_TIMER, QP_MIN_RNR_TIMER);
EQUAL(QP_DEST_QPN, QP_DEST_QPN);
EQUAL(SEND_SIGNALED, SEND_SIGNALED);
EQUAL(SEND_INLINE, SEND_INLINE);
EQUAL(WC_RECV, WC_RECV);
EQUAL(QPS_RESET, QPS_RESET);
EQUAL(QPS_RTS, QPS_RTS);
EQUAL(QPS_ERR, QPS_ERR);
EQUAL(EVENT_CQ_ERR, EVENT_CQ_ERR);
EQUAL(EVENT_QP_FATAL, EVENT_QP_FATAL);
EQUAL(EVENT_QP_REQ_ERR, EVENT_QP_REQ_ERR);
EQUAL(EVENT_QP_ACCESS_ERR, EVENT_QP_ACCESS_ERR);
EQUAL(EVENT_PATH_MIG_ERR, EVENT_PATH_MIG_ERR);
EQUAL(EVENT_PORT_ERR, EVENT_PORT_ERR);
EQUAL(EVENT_SRQ_ERR, EVENT_SRQ_ERR);
EQUAL(EVENT_WQ_FATAL, EVENT_WQ_FATAL);
EQUAL(EVENT_DEVICE_FATAL, EVENT_DEVICE_FATAL);
EQUAL(EVENT_QP_LAST_WQE, EVENT_QP_LAST_WQE_REACHED);
EQUAL(EVENT_PORT_ACTIVE, EVENT_PORT_ACTIVE);
EQUAL(EVENT_PORT_LAST, EVENT_SM_CHANGE);
_Static_assert(NB_IBV_ACCESS_OPTIONAL == (unsigned)IBV_ACCESS_OPTIONAL_RANGE, "optional rights");
