// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A divisor in a register may be 0: the quotient is 0 then (RFC 9669, 4.1). So
// channels becomes 0, "no opinion", where NCCL does not say nvl_domains.
#include "ncclbpf_policy.h"

SEC("tuner")
int division_by_zero_is_zero(struct ncclbpf_tuner *ctx)
{
	ctx->channels = ctx->bytes / ctx->nvl_domains & 31;
	return 0;
}
