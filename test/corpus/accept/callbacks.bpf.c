// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Callbacks of both kinds, one in the other, with the caller's stack as their
// context, and one of two chosen at run time.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 8);
} weights __coherent SEC(".maps");

struct sums {
	__u64 all, odd;
};

static long add(void *map, __u32 *key, __u64 *value, struct sums *s)
{
	s->all += *value + *key;
	return s->all > 1 << 20;
}

static long add_odd(__u64 i, struct sums *s)
{
	if (i & 1)
		s->odd += i;
	return 0;
}

static long add_all(__u64 i, struct sums *s)
{
	bpf_for_each_map_elem(&weights, add, s, 0);
	return i == 5;
}

SEC("tuner")
int callbacks(struct ncclbpf_tuner *ctx)
{
	struct sums s = { 0 };
	long n;

	n = bpf_loop(7, ctx->ranks > 4 ? (void *)add_all : (void *)add_odd, &s, 0);
	n += bpf_loop(3, add_all, &s, 0);
	if ((s.all + s.odd + n) & 1)
		ctx->channels = 2;
	return 0;
}
