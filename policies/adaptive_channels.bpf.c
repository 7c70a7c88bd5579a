// SPDX-License-Identifier: MIT
// adaptive_channels: channels by size class. A controller, a script or a hand
// at the shell writes the wanted number for each class (base-2 logarithm of
// the bytes) into the coherent map `channels`; here it is only read, so all
// ranks ask for the same number at the same decision. 0 means no opinion.
//
// `decided` counts decisions per class and CPU: the other half of the loop,
// what the controller reads. A tuner program may write local maps; its answer
// must not depend on them. So the answer comes first, the counting last.
#include "ncclbpf_policy.h"

enum { CLASSES = 40 };

struct wanted {
	__u32 channels;	 /* most to use; 0: no opinion */
	__u32 min_ranks; /* only in communicators of so many ranks or more */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, struct wanted);
} channels SEC(".maps") __coherent;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CLASSES);
	__type(key, __u32);
	__type(value, __u64);
} decided SEC(".maps");

SEC("tuner")
int adaptive_channels(struct ncclbpf_tuner *ctx)
{
	__u32 class = ncclbpf_log2(ctx->bytes);
	struct wanted *w;
	__u64 *n;

	if (class >= CLASSES)
		class = CLASSES - 1;
	w = bpf_map_lookup_elem(&channels, &class);
	if (w && w->channels && ctx->ranks >= w->min_ranks)
		ctx->channels = w->channels;
	n = bpf_map_lookup_elem(&decided, &class);
	if (n)
		++*n;
	return 0;
}
