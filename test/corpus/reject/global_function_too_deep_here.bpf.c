// EXPECT: call_depth
// SPDX-License-Identifier: MIT
// near: n = f7(n) => n = n + 7
// It fits alone, in eight frames, but not behind its caller.
#include "ncclbpf_policy.h"

#define BARRIER asm volatile("" ::: "memory")

static __noinline uint32_t f7(uint32_t n)
{
	n = n + 1;
	BARRIER;
	return n;
}

static __noinline uint32_t f6(uint32_t n)
{
	n = f7(n);
	BARRIER;
	return n;
}

static __noinline uint32_t f5(uint32_t n)
{
	n = f6(n);
	BARRIER;
	return n;
}

static __noinline uint32_t f4(uint32_t n)
{
	n = f5(n);
	BARRIER;
	return n;
}

static __noinline uint32_t f3(uint32_t n)
{
	n = f4(n);
	BARRIER;
	return n;
}

static __noinline uint32_t f2(uint32_t n)
{
	n = f3(n);
	BARRIER;
	return n;
}

static __noinline uint32_t f1(uint32_t n)
{
	n = f2(n);
	BARRIER;
	return n;
}

__noinline uint32_t deep(uint32_t n)
{
	n = f1(n);
	BARRIER;
	return n;
}

SEC("tuner")
int global_function_too_deep_here(struct ncclbpf_tuner *ctx)
{
	uint32_t n = deep(ctx->ranks);

	ctx->channels = n & 7;
	return 0;
}
