// SPDX-License-Identifier: MIT
/* Coherent variables with first contents, and a parameter that is an index: 4 is out of bounds. */
#include "ncclbpf_policy.h"

NCCLBPF_PARAM(deep, 0, 0, 4);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t[4]);
} offsets SEC(".maps") __coherent;

__coherent_data uint32_t more = 1;
__coherent_data struct {
	uint32_t unused, channels;
} least = { .unused = 7 };

SEC("tuner")
int kept(struct ncclbpf_tuner *ctx)
{
	uint32_t zero = 0;
	uint32_t *offset = bpf_map_lookup_elem(&offsets, &zero);

	if (offset && ctx->channels)
		ctx->channels +=
			more + least.channels + deep + *(volatile uint32_t *)(offset + deep);
	return 0;
}
