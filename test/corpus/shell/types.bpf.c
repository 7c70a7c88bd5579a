// SPDX-License-Identifier: MIT
// Maps of every kind of type, for the shell's reading and writing of values.
#include "ncclbpf_policy.h"

enum mode { MODE_OFF, MODE_ON = 5, MODE_ODD = -3 };

union number {
	__u32 whole;
	__u8 part[4];
};

struct inner {
	__s16 low;
	__u16 high;
};

struct everything {
	__u64 u64;
	__s64 s64;
	__s32 s32;
	__u8 u8;
	char text[7];
	enum mode mode;
	enum ncclbpf_algo algo;
	__u32 three : 3;
	__s32 five : 5;
	__u32 rest : 24;
	struct inner pair[2];
	union number number;
	struct {
		__u32 hidden;
		_Bool flag;
	};
	const volatile __u16 fixed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, struct inner);
	__type(value, struct everything);
} everything SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u64);
	__type(value, __u32);
} plain SEC(".maps");

int total = 7;

SEC("tuner")
int types(struct ncclbpf_tuner *ctx)
{
	__u32 slot = 0;
	__u64 *n = bpf_map_lookup_elem(&counts, &slot);
	struct inner key = { .low = -1, .high = 2 };
	__u64 coll = ctx->coll;
	__u32 one = 1;

	if (n)
		*n += 1;
	if (!bpf_map_lookup_elem(&everything, &key))
		total++;
	bpf_map_update_elem(&plain, &coll, &one, BPF_ANY);
	return 0;
}
