// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of write_to_input_field: `channels` is an output.
#include "ncclbpf_policy.h"

SEC("tuner")
int write_to_output_field(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 4;
	return 0;
}
