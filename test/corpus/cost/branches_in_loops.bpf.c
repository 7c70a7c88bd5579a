// SPDX-License-Identifier: MIT
// Programs that take many steps to verify, each beside one that does the same
// and takes few: test_verify_branches.c.
#include "ncclbpf_policy.h"

struct row {
	__u64 f[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct row);
} rows SEC(".maps") __coherent;

#define ADD(k)                        \
	if (r->f[k] > bytes + (k))    \
		d += r->f[k] - bytes; \
	else                          \
		d += k

static __always_inline __u64 distance(const struct row *r, __u64 bytes, __u32 ranks)
{
	__u64 d = 0;

	ADD(0);
	ADD(1);
	ADD(2);
	ADD(3);
	ADD(4);
	ADD(5);
	ADD(6);
	ADD(7);
	ADD(8);
	ADD(9);
	if (ranks > 8 && d > 100)
		d *= 3;
	return d;
}

static __noinline __u64 distance_of(const struct row *r, __u64 bytes, __u32 ranks)
{
	return distance(r, bytes, ranks);
}

#define NEAREST(ctx, distance)                                                  \
	__u32 at = 0, seen[16] = {};                                            \
	__u64 best = ~0ull, d;                                                  \
	int i, j;                                                               \
                                                                                \
	ncclbpf_for(i, 0, 16)                                                   \
	{                                                                       \
		ncclbpf_for(j, 0, 16)                                           \
		{                                                               \
			__u32 key = i * 16 + j;                                 \
			const struct row *r = bpf_map_lookup_elem(&rows, &key); \
                                                                                \
			if (!r)                                                 \
				continue;                                       \
			d = distance(r, (ctx)->bytes, (ctx)->ranks);            \
			if (d < best) {                                         \
				best = d;                                       \
				at = key;                                       \
			}                                                       \
			seen[at & 15]++;                                        \
		}                                                               \
	}                                                                       \
	if (at < 16)                                                            \
	(ctx)->channels = seen[at] & 63

SEC("tuner/1")
int body_in_the_loop(struct ncclbpf_tuner *ctx)
{
	NEAREST(ctx, distance);
	return 0;
}

SEC("tuner/2")
int body_in_a_function(struct ncclbpf_tuner *ctx)
{
	NEAREST(ctx, distance_of);
	return 0;
}

static __always_inline __u32 next(__u32 a, __u64 f, const struct ncclbpf_tuner *ctx)
{
	if (f > ctx->bytes)
		a = a * 2 + 1;
	else if (f > ctx->ranks)
		a = a * 3;
	if (a > 200)
		a -= 77;
	return a;
}

static const struct row *first_row(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&rows, &key);
}

SEC("tuner/3")
int plain_loop(struct ncclbpf_tuner *ctx)
{
	const struct row *r = first_row();
	__u32 a = 0;

	if (!r)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 64; i++)
		a = next(a, r->f[i & 15], ctx);
	ctx->channels = r->f[a & 15] & 63;
	return 0;
}

SEC("tuner/4")
int counted_loop(struct ncclbpf_tuner *ctx)
{
	const struct row *r = first_row();
	__u32 a = 0;
	int i;

	if (!r)
		return 0;
	ncclbpf_for(i, 0, 64) a = next(a, r->f[i & 15], ctx);
	ctx->channels = r->f[a & 15] & 63;
	return 0;
}

SEC("tuner/5")
int long_loop(struct ncclbpf_tuner *ctx)
{
	__u64 a = ctx->bytes;

#pragma clang loop unroll(disable)
	for (int i = 0; i < 1000000; i++)
		asm volatile("%0 += 1" : "+r"(a));
	ctx->channels = a & 63;
	return 0;
}

SEC("tuner/6")
int short_loop(struct ncclbpf_tuner *ctx)
{
	__u64 a = ctx->bytes;

#pragma clang loop unroll(disable)
	for (int i = 0; i < 1000; i++)
		asm volatile("%0 += 1" : "+r"(a));
	ctx->channels = a & 63;
	return 0;
}
