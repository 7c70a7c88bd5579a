// SPDX-License-Identifier: MIT
// rail_backoff: fewer channels while RDMA devices of the host lose packets. The
// controller reads the host map that the daemon host_signals writes and sets
// the coherent map `rails`; the tuner program only reads that, so all ranks
// take the same number of channels at the same decision. Without fresh signals
// it has no opinion.
#include "host_signals.h"
#include "ncclbpf_policy.h"

enum { MOST = 12, LEAST = 2 }; /* limits of the number of channels */
/* events a second; a rail with more is congested */
enum { TROUBLES = 100 };
#define FRESH_NS 2000000000ull /* older signals are ignored */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOST_ELEMENTS);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG);
	__type(key, __u32);
	__type(value, struct host_signal);
} host SEC(".maps") __host;

struct state {
	__u32 channels;		/* 0: the policy has no opinion */
	__u32 congested, fresh; /* numbers of rails */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} rails SEC(".maps") __coherent;

SEC("tuner")
int rail_backoff(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	struct state *s = bpf_map_lookup_elem(&rails, &key);

	if (s && s->channels)
		ctx->channels = s->channels;
	return 0;
}

SEC("controller")
int watch_rails(struct ncclbpf_controller *ctx)
{
	struct state s = { 0 };
	__u32 key = 0;

	for (__u32 i = 1; i <= HOST_RAILS; i++) {
		__u32 rail = i;
		struct host_signal *h = bpf_map_lookup_elem(&host, &rail);

		if (!h || ncclbpf_host_age(h) > FRESH_NS)
			continue;
		s.fresh++;
		s.congested += h->troubles_per_s > TROUBLES;
	}
	if (s.fresh)
		s.channels = MOST * (s.fresh - s.congested) / s.fresh;
	if (s.fresh && s.channels < LEAST)
		s.channels = LEAST;
	return bpf_map_update_elem(&rails, &key, &s, BPF_ANY);
}
