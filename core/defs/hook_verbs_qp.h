// SPDX-License-Identifier: MIT
/*
 * Context of SEC("verbs/qp"): struct ncclbpf_verbs_qp. A program runs when a
 * queue pair is created, before and after each change of its state, and before
 * it is destroyed. Before a change it may set the values that only this end
 * decides: traffic_class, sl and min_rnr_timer on the way to RTR, the others on
 * the way to RTS. A value out of range is counted and not used. If the adapter
 * refuses the values, the change is repeated with NCCL's own.
 */
CONTEXT(verbs_qp)
FIELD(verbs_qp, comm_id,       uint64_t, IN,  LOCAL, "1",
	"always 0, because verbs know no communicator", "-")
FIELD(verbs_qp, now_ns,        uint64_t, IN,  LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(verbs_qp, ns,            uint64_t, IN,  LOCAL, "ns",
	"duration of the call; 0 before the call", "the plugin")
FIELD(verbs_qp, age_ns,        uint64_t, IN,  LOCAL, "ns",
	"time since the queue pair was created", "the plugin")
FIELD(verbs_qp, gid,           uint64_t, IN,  LOCAL, "1",
	"hash of the peer's GID; 0: not known (before RTR, or no global route)",
	"ibv_modify_qp ah_attr.grh.dgid")
FIELD(verbs_qp, device,        uint32_t, IN,  LOCAL, "1",
	"number of the opened adapter in this process, from 0", "ibv_open_device")
FIELD(verbs_qp, qp,            uint32_t, IN,  LOCAL, "1",
	"number of the queue pair", "ibv_qp qp_num")
FIELD(verbs_qp, peer_qp,       uint32_t, IN,  LOCAL, "1",
	"number of the peer's queue pair; 0: not known (before RTR)", "ibv_modify_qp dest_qp_num")
FIELD(verbs_qp, phase,         uint32_t, IN,  LOCAL, "1",
	"0: the queue pair was created, 1: its state will change, 2: its state has changed, "
	"3: it will be destroyed",
	"the plugin")
FIELD(verbs_qp, from,          uint32_t, IN,  LOCAL, "1",
	"previous state: 0 RESET, 1 INIT, 2 RTR, 3 RTS, 4 SQD, 5 SQE, 6 ERR", "ibv_qp state")
FIELD(verbs_qp, to,            uint32_t, IN,  LOCAL, "1",
	"requested state; equal to from if there is no change", "ibv_modify_qp qp_state")
FIELD(verbs_qp, mtu,           uint32_t, IN,  LOCAL, "B",
	"path MTU; 0 if this change does not set it", "ibv_modify_qp path_mtu")
FIELD(verbs_qp, error,         int32_t,  IN,  LOCAL, "1",
	"0: success, or the errno of the failed change", "ibv_modify_qp")
FIELD(verbs_qp, traffic_class, int32_t,  OUT, LOCAL, "1",
	"traffic class to use, 0 to 255; -1: NCCL's value",
	"ibv_modify_qp ah_attr.grh.traffic_class")
FIELD(verbs_qp, sl,            int32_t,  OUT, LOCAL, "1",
	"service level to use, 0 to 15; -1: NCCL's value", "ibv_modify_qp ah_attr.sl")
FIELD(verbs_qp, min_rnr_timer, int32_t,  OUT, LOCAL, "1",
	"code of the shortest wait after receiver-not-ready, 0 to 31; -1: NCCL's value",
	"ibv_modify_qp min_rnr_timer")
FIELD(verbs_qp, timeout,       int32_t,  OUT, LOCAL, "1",
	"acknowledgement time-out as an exponent: "
	"4.096 us * 2^value, 0 (no time-out) to 31; -1: NCCL's value",
	"ibv_modify_qp timeout")
FIELD(verbs_qp, retry_cnt,     int32_t,  OUT, LOCAL, "1",
	"retries if no acknowledgement arrives, 0 to 7; -1: NCCL's value",
	"ibv_modify_qp retry_cnt")
FIELD(verbs_qp, rnr_retry,     int32_t,  OUT, LOCAL, "1",
	"retries if the receiver is not ready, 0 to 6, 7: no limit; -1: NCCL's value",
	"ibv_modify_qp rnr_retry")
CONTEXT_END(verbs_qp)
