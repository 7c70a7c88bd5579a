// SPDX-License-Identifier: MIT
// A union with a field behind its start, in a struct without a name.
#include "ncclbpf_policy.h"

union halves {
	struct {
		__u32 low, high;
	};
	__u64 whole;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, union halves);
} halves SEC(".maps");

SEC("tuner")
int keep(struct ncclbpf_tuner *ctx)
{
	__u32 zero = 0;

	bpf_map_lookup_elem(&halves, &zero);
	return 0;
}
