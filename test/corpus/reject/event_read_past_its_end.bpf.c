// EXPECT: ctx_bounds
// SPDX-License-Identifier: MIT
// near: ((volatile struct ncclbpf_coll_done *)ctx)->channels => 0
// A group's context is shorter than a collective's.
#include "ncclbpf_policy.h"

SEC("profiler/group")
int event_read_past_its_end(struct ncclbpf_group *ctx)
{
	return ((volatile struct ncclbpf_coll_done *)ctx)->channels;
}
