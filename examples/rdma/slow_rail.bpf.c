// SPDX-License-Identifier: MIT
/*
 * slow_rail finds the adapter that is late. It records each adapter's mean
 * time of a send in windows of a thousand completions, and counts the windows
 * in which that time was twice the fastest adapter's.
 *
 *	ncclbpf-shell map dump rails
 */
#include "ncclbpf_policy.h"

enum { RAILS = 16, WINDOW = 1000 };

struct rail {
	__u64 count, sum_ns; /* sums of the current window */
	__u64 mean_ns;	     /* mean of the last window; 0: none */
	/*
	 * number of windows in which this adapter was twice as slow as the
	 * fastest
	 */
	__u64 windows, slow;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RAILS);
	__type(key, __u32);
	__type(value, struct rail);
} rails SEC(".maps");

static __always_inline __u64 fastest(void)
{
	__u64 best = ~0ull;

	for (__u32 i = 0; i < RAILS; i++) {
		struct rail *r = bpf_map_lookup_elem(&rails, &i);

		if (r && r->mean_ns && r->mean_ns < best)
			best = r->mean_ns;
	}
	return best;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	__u32 number = ctx->device;
	struct rail *r = bpf_map_lookup_elem(&rails, &number);

	if (!r || !ctx->send || ctx->status || !ctx->ns)
		return 0;
	r->count++;
	r->sum_ns += ctx->ns;
	if (r->count < WINDOW)
		return 0;
	r->mean_ns = r->sum_ns / r->count;
	r->count = 0;
	r->sum_ns = 0;
	r->windows++;
	if (r->mean_ns / 2 >= fastest())
		r->slow++;
	return 0;
}
