// SPDX-License-Identifier: MIT
// Controllers that go wrong: what `ask` says, one writes too many elements,
// one never ends by itself, one writes what is there already.
#include "ncclbpf_policy.h"

enum { NOTHING, TOO_MANY, NO_END, SAME, ONE };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ask SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} many SEC(".maps") __coherent;

/* Decisions of each process; all together in the controller. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counted SEC(".maps") __merged(sum);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} longest SEC(".maps") __merged(max);

/* What the last run saw, for the test. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 6);
	__type(key, __u32);
	__type(value, __u64);
} saw SEC(".maps");

SEC("tuner")
int count(struct ncclbpf_tuner *ctx)
{
	__u32 zero = 0;
	__u64 seq = ctx->seq + 1;
	__u64 *n = bpf_map_lookup_elem(&counted, &zero);

	if (n)
		++*n;
	bpf_map_update_elem(&longest, &zero, &seq, BPF_ANY);
	return 0;
}

static __always_inline void note(__u32 at, __u64 value)
{
	bpf_map_update_elem(&saw, &at, &value, BPF_ANY);
}

SEC("controller")
int loop(struct ncclbpf_controller *ctx)
{
	__u32 zero = 0, i;
	int k;
	__u64 *what = bpf_map_lookup_elem(&ask, &zero);
	__u64 *sum = bpf_map_lookup_elem(&counted, &zero);
	__u64 *max = bpf_map_lookup_elem(&longest, &zero), one = ctx->run;

	note(0, sum ? *sum : 0);
	note(1, max ? *max : 0);
	note(2, ctx->processes - ctx->missing);
	note(3, ctx->ranks);
	note(4, bpf_ktime_get_ns() - ctx->now_ns);
	note(5, ctx->wall_ns);
	if (!what)
		return 0;
	if (*what == TOO_MANY) {
		ncclbpf_for(k, 0, 8000)
		{
			i = (__u32)k;
			bpf_map_update_elem(&many, &i, &one, BPF_ANY);
		}
	} else if (*what == NO_END) {
		ncclbpf_repeat(1 << 23) ncclbpf_repeat(1 << 23) bpf_get_prandom_u32();
	} else if (*what == SAME) {
		one = *what;
		bpf_map_update_elem(&ask, &zero, &one, BPF_ANY);
	} else if (*what == ONE) {
		bpf_map_update_elem(&many, &zero, &one, BPF_ANY);
	}
	return 0;
}
