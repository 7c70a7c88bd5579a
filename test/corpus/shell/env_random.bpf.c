// SPDX-License-Identifier: MIT
// A variable that each rank finds different: accepted, with a warning.
#include "ncclbpf_policy.h"

SEC("env")
int on_env(struct ncclbpf_env *ctx)
{
	if (bpf_get_prandom_u32() & 1)
		ncclbpf_env_set(ctx, "Ring");
	return 0;
}
