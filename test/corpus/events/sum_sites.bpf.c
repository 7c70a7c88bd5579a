// SPDX-License-Identifier: MIT
// A controller that adds up a counter of the processes of all sites. `total`
// has the sum for all ranks. `saw` has it in the elected process alone, with
// the numbers of processes and of those whose maps are missing.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} mine SEC(".maps") __merged(sum);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} total SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} saw SEC(".maps");

static __always_inline void note(__u32 at, __u64 value)
{
	bpf_map_update_elem(&saw, &at, &value, BPF_ANY);
}

SEC("controller")
int add(struct ncclbpf_controller *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&mine, &zero);
	__u64 *have = bpf_map_lookup_elem(&total, &zero);
	__u64 sum = n ? *n : 0;

	note(0, sum);
	note(1, ctx->processes);
	note(2, ctx->missing);
	if (!have || *have != sum)
		bpf_map_update_elem(&total, &zero, &sum, BPF_ANY);
	return 0;
}
