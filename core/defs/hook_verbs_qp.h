// SPDX-License-Identifier: MIT
/*
 * Context of SEC("verbs/qp"): struct ncclbpf_verbs_qp. A program runs when a
 * queue pair is created, before and after each change of its state, and before
 * it is destroyed. Before a change it may set the values that only this end
 * decides: traffic_class, sl and min_rnr_timer on the way to RTR, the others on
 * the way to RTS. A value out of range is counted and not used. If the adapter
 * refuses the values, the change is repeated with NCCL's own.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "0: verbs know no communicator", "-")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(ns,             uint64_t, IN,    LOCAL,    "ns",     "how long the call took; 0: not made yet", "the plugin")
FIELD(age_ns,         uint64_t, IN,    LOCAL,    "ns",     "since the queue pair was created", "the plugin")
FIELD(gid,            uint64_t, IN,    LOCAL,    "1",      "hash of the peer's GID; 0: not known (before RTR, or no global route)", "ibv_modify_qp ah_attr.grh.dgid")
FIELD(device,         uint32_t, IN,    LOCAL,    "1",      "number of the opened adapter in this process, from 0", "ibv_open_device")
FIELD(qp,             uint32_t, IN,    LOCAL,    "1",      "number of the queue pair", "ibv_qp qp_num")
FIELD(peer_qp,        uint32_t, IN,    LOCAL,    "1",      "number of the peer's; 0: not known (before RTR)", "ibv_modify_qp dest_qp_num")
FIELD(phase,          uint32_t, IN,    LOCAL,    "1",      "0: created, 1: before a change of state, 2: after it, 3: before it is destroyed", "the plugin")
FIELD(from,           uint32_t, IN,    LOCAL,    "1",      "state before: 0 RESET, 1 INIT, 2 RTR, 3 RTS, 4 SQD, 5 SQE, 6 ERR", "ibv_qp state")
FIELD(to,             uint32_t, IN,    LOCAL,    "1",      "state wanted; as from where there is no change", "ibv_modify_qp qp_state")
FIELD(mtu,            uint32_t, IN,    LOCAL,    "B",      "path MTU; 0: not set by this change", "ibv_modify_qp path_mtu")
FIELD(error,          int32_t,  IN,    LOCAL,    "1",      "0, or the errno of a change that failed", "ibv_modify_qp")
FIELD(traffic_class,  int32_t,  OUT,   LOCAL,    "1",      "traffic class wanted, 0 to 255; -1: NCCL's", "ibv_modify_qp ah_attr.grh.traffic_class")
FIELD(sl,             int32_t,  OUT,   LOCAL,    "1",      "service level wanted, 0 to 15; -1: NCCL's", "ibv_modify_qp ah_attr.sl")
FIELD(min_rnr_timer,  int32_t,  OUT,   LOCAL,    "1",      "code of the least wait after receiver-not-ready, 0 to 31; -1: NCCL's", "ibv_modify_qp min_rnr_timer")
FIELD(timeout,        int32_t,  OUT,   LOCAL,    "1",      "acknowledgement time-out wanted, 4.096 us times 2 to this, 0 (for ever) to 31; -1: NCCL's", "ibv_modify_qp timeout")
FIELD(retry_cnt,      int32_t,  OUT,   LOCAL,    "1",      "repetitions without an acknowledgement, 0 to 7; -1: NCCL's", "ibv_modify_qp retry_cnt")
FIELD(rnr_retry,      int32_t,  OUT,   LOCAL,    "1",      "repetitions to a receiver that is not ready, 0 to 6, 7: no limit; -1: NCCL's", "ibv_modify_qp rnr_retry")

#undef FIELD
