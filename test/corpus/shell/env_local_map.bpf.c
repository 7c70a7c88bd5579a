// SPDX-License-Identifier: MIT
// A variable by what stands in a local map: accepted, with a warning. Its twin
// that has none is env_alike.bpf.c.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} chosen SEC(".maps");

SEC("env")
int on_env(struct ncclbpf_env *ctx)
{
	__u32 first = 0;
	__u64 *n = bpf_map_lookup_elem(&chosen, &first);

	if (n && *n)
		ncclbpf_env_set(ctx, "Ring");
	return 0;
}
