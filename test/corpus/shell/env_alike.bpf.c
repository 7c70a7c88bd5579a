// SPDX-License-Identifier: MIT
// A variable by a coherent map. Times and counts are recorded and returned;
// they do not decide.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} chosen __coherent SEC(".maps");

static __u64 looks, last_ns;

SEC("env")
int on_env(struct ncclbpf_env *ctx)
{
	__u32 first = 0;
	__u64 *n = bpf_map_lookup_elem(&chosen, &first);

	looks++;
	last_ns = bpf_ktime_get_ns();
	if (n && *n)
		ncclbpf_env_set(ctx, "Ring");
	return (int)looks;
}
