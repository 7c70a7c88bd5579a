// SPDX-License-Identifier: MIT
// The versions of NCCL whose structs are known.
#include "test/fakes/vgpu/layout.h"

// What all versions of NCCL share, and RCCL does not.
#define NVIDIA                                                                                 \
	.mask_words = 1, .args_storage = 16, .args_size = 32, .p2p_flags = 46, .p2p_size = 48, \
	.coll_profiled_bit = 1U << 31, .channel_size = 368, .peer_conns = 2, .conn_size = 152

static const struct vg_layout layouts[] = {
	{
		NVIDIA,
		.version = 22203,
		.coll_count = 24,
		.coll_size = 64,
		.comm_size = 64,
		.channel_ring_index = 24,
		.plan_args_size = 56,
		.host_hash = 213576,
		.host_rank = 213584,
		.host_device = 215080,
		.p2p_reversed = true,
		.ntype = 10,
	},
	{
		NVIDIA,
		.version = 22809,
		.coll_count = 56,
		.coll_size = 96,
		.comm_size = 88,
		.channel_ring_index = 24,
		.channel_counter = 352,
		.plan_args_size = 56,
		.host_hash = 1066184,
		.host_rank = 1066192,
		.host_device = 1069096,
		.symk_channels = 208,
		.symk_size = 224,
		.ntype = 12,
		.pat = true,
	},
	{
		NVIDIA,
		.version = 22907,
		.coll_count = 56,
		.coll_size = 96,
		.comm_size = 88,
		.channel_ring_index = 32,
		.channel_counter = 360,
		.plan_args_size = 64,
		.host_hash = 1181392,
		.host_rank = 1181400,
		.host_device = 1184304,
		.symk_channels = 272,
		.symk_size = 288,
		.ntype = 12,
		.pat = true,
		.allgatherv = true,
	},
	{
		.version = 22707, // ROCm 7.2.4
		.rccl = true,
		.mask_words = 2,
		.args_storage = 24,
		.args_size = 48,
		.p2p_flags = 62,
		.p2p_size = 64,
		.coll_profiled = 8,
		.coll_profiled_bit = 1U << 16,
		.channel_size = 384,
		.peer_conns = 3,
		.conn_size = 168,
		.clock_tick_ns = 10,
		.coll_count = 72,
		.coll_size = 128,
		.comm_size = 88,
		.channel_ring_index = 24,
		.channel_counter = 368,
		.plan_args_size = 56,
		.host_hash = 872168,
		.host_rank = 872176,
		.host_device = 875592,
		.ntype = 12,
		.pat = true,
	},
};

const struct vg_layout *vg_layout = &layouts[0];

bool vg_layout_choose(int version, bool rccl)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		if (layouts[i].version == version && layouts[i].rccl == rccl) {
			vg_layout = &layouts[i];
			return true;
		}
	}
	return false;
}
