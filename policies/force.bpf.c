// SPDX-License-Identifier: MIT
/* force sets the algorithm, protocol and channels that an operator has chosen,
 * for an experiment on a live job. It forces nothing until `enabled` is 1:
 *
 *	map set force 0 {algo=ring, proto=simple, channels=16, enabled=1}
 *
 * Set all fields, because an omitted field is 0 (tree for algo, ll for proto).
 * This sets only the channels: {algo=-1, proto=-1, channels=16, enabled=1}.
 * The map is __coherent, so a change reaches all ranks at the same decision. A
 * field of -1 (algo, proto) or 0 (channels) keeps the answer of NCCL or of the
 * previous policy. ncclbpf drops and counts what NCCL does not offer. */

#include "ncclbpf_policy.h"

struct force {
	__s32 algo;
	__s32 proto;
	__u32 channels;
	__u32 enabled;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct force);
} force SEC(".maps") __coherent;

SEC("tuner")
int force_choice(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	struct force *f = bpf_map_lookup_elem(&force, &key);

	if (!f || !f->enabled)
		return 0;
	if (f->algo >= 0)
		ctx->algo = f->algo;
	if (f->proto >= 0)
		ctx->proto = f->proto;
	if (f->channels)
		ctx->channels = f->channels;
	return 0;
}
