// EXPECT: map_read_only
// SPDX-License-Identifier: MIT
// near: const volatile __u32 limit => volatile __u32 limit
// golden
// Constants of the object are read-only to its programs as well.
#include "ncclbpf_policy.h"

const volatile __u32 limit = 8;

SEC("tuner")
int write_to_rodata(struct ncclbpf_tuner *ctx)
{
	*(volatile __u32 *)&limit = 4;
	return 0;
}
