// SPDX-License-Identifier: MIT
/*
 * Context of SEC("verbs/mr"): struct ncclbpf_verbs_mr. It runs after a memory
 * region was registered, and before it is deregistered. Columns and ABI rules:
 * core/defs/hook_verbs_qp.h.
 */
CONTEXT(verbs_mr)
FIELD(verbs_mr, comm_id,    uint64_t, IN, LOCAL, "1",
	"always 0, because verbs know no communicator", "-")
FIELD(verbs_mr, now_ns,     uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(verbs_mr, ns,         uint64_t, IN, LOCAL, "ns",
	"duration of the registration; 0 at deregistration", "the plugin")
FIELD(verbs_mr, bytes,      uint64_t, IN, LOCAL, "B",
	"size of the region", "ibv_reg_mr length")
FIELD(verbs_mr, device,     uint32_t, IN, LOCAL, "1",
	"number of the opened adapter in this process, from 0", "ibv_open_device")
FIELD(verbs_mr, registered, uint32_t, IN, LOCAL, "1",
	"1: registered, 0: deregistered", "the plugin")
FIELD(verbs_mr, access,     uint32_t, IN, LOCAL, "1",
	"access rights requested: 1 local write, 2 remote write, 4 remote read, 8 remote atomic; "
	"0 at deregistration",
	"ibv_reg_mr access")
FIELD(verbs_mr, lkey,       uint32_t, IN, LOCAL, "1",
	"local key; 0 if the registration failed", "ibv_mr lkey")
FIELD(verbs_mr, dmabuf,     uint32_t, IN, LOCAL, "1",
	"1 for memory of a device, registered by DMA-BUF", "ibv_reg_dmabuf_mr")
FIELD(verbs_mr, error,      int32_t,  IN, LOCAL, "1",
	"0: success, or the errno of the failed registration", "ibv_reg_mr")
CONTEXT_END(verbs_mr)
