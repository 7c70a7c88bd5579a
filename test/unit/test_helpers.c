// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Helpers of our own and those over text, at the edges of what they take; the
// inline arithmetic of policies/ncclbpf_math.h as host code.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/bpf/exec/run/exec.h"
#include "core/spec/spec.h"
#include "core/defs/ctx.h"
#include "core/bpf/exec/run/helpers.h"
#include "test/unit/unit.h"

static uint64_t call(const char *name, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const struct nb_helper_spec *h = nb_spec_helper_named(name);
	struct nb_run run = { .cpu = UINT32_MAX };

	ck_assert_ptr_nonnull(h);
	return nb_helper_body(h->id)(&run, a, b, c, d, e);
}

#undef __always_inline
#define __always_inline inline __attribute__((unused))
static uint64_t bpf_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	return call("mul_div", a, b, c, 0, 0);
}
#include "policies/ncclbpf_math.h"

/* ---- costs ---- */

static float costs[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];

static uint64_t cost(const struct ncclbpf_tuner *ctx, int algo, int proto)
{
	return call("nccl_cost", (uintptr_t)ctx, (uint64_t)algo, (uint64_t)proto, 0, 0);
}

static int proto_of(const struct ncclbpf_tuner *ctx, int algo)
{
	return (int)call("nccl_cheapest_proto", (uintptr_t)ctx, (uint64_t)algo, 0, 0, 0);
}

static int algo_of(const struct ncclbpf_tuner *ctx, int proto)
{
	return (int)call("nccl_cheapest_algo", (uintptr_t)ctx, (uint64_t)proto, 0, 0, 0);
}

static struct ncclbpf_tuner context(void)
{
	for (int i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		costs[i] = -1.0f;
	costs[NCCL_ALGO_TREE * 3 + NCCL_PROTO_LL] = 12.5f;
	costs[NCCL_ALGO_RING * 3 + NCCL_PROTO_LL] = 40.0f;
	costs[NCCL_ALGO_RING * 3 + NCCL_PROTO_LL128] = 20.0f;
	costs[NCCL_ALGO_RING * 3 + NCCL_PROTO_SIMPLE] = 20.0f;
	costs[NCCL_ALGO_NVLS * 3 + NCCL_PROTO_SIMPLE] = 0.0004f;
	return (struct ncclbpf_tuner){
		.usable = 1u << (NCCL_ALGO_TREE * 3 + NCCL_PROTO_LL) | 7u << NCCL_ALGO_RING * 3 |
			  1u << (NCCL_ALGO_NVLS * 3 + NCCL_PROTO_SIMPLE),
		.costs = costs,
	};
}

TEST(a_cost_is_the_table_s_in_ns)
{
	struct ncclbpf_tuner ctx = context();

	ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL), 12500);
	ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_NVLS, NCCL_PROTO_SIMPLE), 0);
	costs[NCCL_ALGO_RING * 3] = 3.5e9f; /* just under NCCL's limit */
	ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_RING, 0), 3500000000000);
}

TEST(what_is_not_offered_costs_more_than_anything)
{
	struct ncclbpf_tuner ctx = context();
	const int beyond[] = { -1, 3, 7, INT32_MAX, INT32_MIN };

	ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_TREE, NCCL_PROTO_SIMPLE), UINT64_MAX);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_RING, beyond[i]), UINT64_MAX);
		if (beyond[i] != 3)
			ck_assert_uint_eq(cost(&ctx, beyond[i], 0), UINT64_MAX);
	}
	/* offered by the flags alone (tuner v2), or not known at all */
	ctx.usable |= 1u << NCCL_ALGO_PAT * 3;
	ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_PAT, 0), UINT64_MAX);
	ctx.costs = NULL;
	ck_assert_uint_eq(cost(&ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL), UINT64_MAX);
	ck_assert_int_eq(algo_of(&ctx, -1), -1);
	ck_assert_int_eq(proto_of(&ctx, NCCL_ALGO_RING), -1);
}

TEST(the_cheapest_is_the_first_of_the_least)
{
	struct ncclbpf_tuner ctx = context();

	ck_assert_int_eq(proto_of(&ctx, NCCL_ALGO_RING), NCCL_PROTO_LL128);
	ck_assert_int_eq(proto_of(&ctx, NCCL_ALGO_TREE), NCCL_PROTO_LL);
	ck_assert_int_eq(proto_of(&ctx, NCCL_ALGO_PAT), -1);
	ck_assert_int_eq(proto_of(&ctx, -1), -1);
	ck_assert_int_eq(proto_of(&ctx, 7), -1);
	ck_assert_int_eq(algo_of(&ctx, -1), NCCL_ALGO_NVLS);
	ck_assert_int_eq(algo_of(&ctx, NCCL_PROTO_LL), NCCL_ALGO_TREE);
	ck_assert_int_eq(algo_of(&ctx, NCCL_PROTO_LL128), NCCL_ALGO_RING);
	ck_assert_int_eq(algo_of(&ctx, 3), -1);
	ck_assert_int_eq(algo_of(&ctx, -2), -1);
	ctx.usable &= ~(1u << (NCCL_ALGO_NVLS * 3 + NCCL_PROTO_SIMPLE));
	ck_assert_int_eq(algo_of(&ctx, -1), NCCL_ALGO_TREE);
}

/* ---- arithmetic ---- */

TEST(arithmetic_stays_in_range)
{
	const uint64_t top = UINT64_MAX;

	ck_assert_uint_eq(ncclbpf_sat_add(top - 1, 1), top);
	ck_assert_uint_eq(ncclbpf_sat_add(top, 1), top);
	ck_assert_uint_eq(ncclbpf_sat_add(top, top), top);
	ck_assert_uint_eq(ncclbpf_sat_sub(1, 1), 0);
	ck_assert_uint_eq(ncclbpf_sat_sub(0, top), 0);
	ck_assert_uint_eq(ncclbpf_sat_sub(top, 1), top - 1);
	ck_assert_uint_eq(ncclbpf_sat_mul(0, top), 0);
	ck_assert_uint_eq(ncclbpf_sat_mul(top, 0), 0);
	ck_assert_uint_eq(ncclbpf_sat_mul(top, 1), top);
	ck_assert_uint_eq(ncclbpf_sat_mul(1ull << 32, 1ull << 31), 1ull << 63);
	ck_assert_uint_eq(ncclbpf_sat_mul(1ull << 32, 1ull << 32), top);
	ck_assert_uint_eq(bpf_mul_div(top, top, top), top);
	ck_assert_uint_eq(bpf_mul_div(top, top, top - 1), top);
	ck_assert_uint_eq(bpf_mul_div(7, 5, 3), 11);
	ck_assert_uint_eq(bpf_mul_div(0, 5, 0), top);
	ck_assert_uint_eq(ncclbpf_fixed_div(1, 3, 16), 21845);
	ck_assert_uint_eq(ncclbpf_fixed_div(top, 2, 1), top);
	ck_assert_uint_eq(ncclbpf_fixed_div(top, 1, 1), top);
	ck_assert_uint_eq(ncclbpf_fixed_div(3, 0, 8), top);
	ck_assert_uint_eq(ncclbpf_fixed_mul(top, 1 << 15, 16), top / 2);
}

TEST(an_average_comes_to_its_sample)
{
	const uint64_t ends[] = { 0, 1, 1000, UINT64_MAX };

	ck_assert_uint_eq(ncclbpf_ewma(1000, 2000, 0), 2000);
	ck_assert_uint_eq(ncclbpf_ewma(1000, 2000, 2), 1250);
	ck_assert_uint_eq(ncclbpf_ewma(2000, 1000, 2), 1750);
	ck_assert_uint_eq(ncclbpf_ewma(0, UINT64_MAX, 63), 2);
	for (size_t i = 0; i < 16; i++) {
		uint64_t v = ends[i / 4];
		int n = 0;

		for (; v != ends[i % 4] && n < 1000; n++)
			v = ncclbpf_ewma(v, ends[i % 4], 3);
		ck_assert_int_lt(n, 1000);
	}
}

/* ---- text ---- */

static int64_t read_number(const char *name, const char *text, uint64_t base, int64_t *value)
{
	*value = 77;
	return (int64_t)call(name, (uintptr_t)text, strlen(text) + 1, base, (uintptr_t)value, 0);
}

static const struct {
	const char *text;
	uint64_t base;
	int64_t rc, value;
} numbers[] = {
	{ "0", 0, 1, 0 },
	{ "42", 0, 2, 42 },
	{ " \t-42x", 10, 5, -42 },
	{ "0x1F", 0, 4, 31 },
	{ "0x1F", 16, 4, 31 },
	{ "1f", 16, 2, 31 },
	{ "1f", 10, 1, 1 },
	{ "0755", 0, 4, 493 },
	{ "0755", 10, 4, 755 },
	{ "089", 0, 1, 0 },
	{ "0x", 0, 1, 0 },
	{ "0x", 16, -EINVAL, 0 },
	{ "", 0, -EINVAL, 0 },
	{ "-", 0, -EINVAL, 0 },
	{ "+1", 0, -EINVAL, 0 },
	{ "x", 0, -EINVAL, 0 },
	{ "1", 2, -EINVAL, 0 },
	{ "1", 1ull << 32, -EINVAL, 0 },
	{ "9223372036854775807", 0, 19, INT64_MAX },
	{ "-9223372036854775808", 0, 20, INT64_MIN },
	{ "9223372036854775808", 0, -ERANGE, 0 },
	{ "-9223372036854775809", 0, -ERANGE, 0 },
	{ "99999999999999999999999999", 0, -ERANGE, 0 },
};

TEST_EACH(strtol_reads_what_is_a_number, 0, (int)(sizeof(numbers) / sizeof(numbers[0])))
{
	int64_t v;
	int64_t rc = read_number("strtol", numbers[_i].text, numbers[_i].base, &v);

	ck_assert_msg(rc == numbers[_i].rc && v == numbers[_i].value, "\"%s\", %d: %d, %lld",
		      numbers[_i].text, (int)numbers[_i].base, (int)rc, (long long)v);
}

TEST(strtoul_takes_no_sign_and_keeps_to_its_memory)
{
	int64_t v;

	ck_assert_int_eq(read_number("strtoul", "-1", 0, &v), -EINVAL);
	ck_assert_int_eq(v, 0);
	ck_assert_int_eq(read_number("strtoul", "18446744073709551615", 0, &v), 20);
	ck_assert_int_eq(v, -1);
	ck_assert_int_eq(read_number("strtoul", "18446744073709551616", 0, &v), -ERANGE);
	/* as many characters as it was told, whatever comes after */
	ck_assert_int_eq((int64_t)call("strtoul", (uintptr_t) "1234", 2, 10, (uintptr_t)&v, 0), 2);
	ck_assert_int_eq(v, 12);
	ck_assert_int_eq((int64_t)call("strtoul", (uintptr_t) "0x1f", 2, 0, (uintptr_t)&v, 0), 1);
	ck_assert_int_eq(v, 0);
}

static int64_t print(char *out, uint64_t size, const char *fmt, const uint64_t *arg,
		     uint64_t arg_size)
{
	return (int64_t)call("snprintf", (uintptr_t)out, size, (uintptr_t)fmt, (uintptr_t)arg,
			     arg_size);
}

TEST(snprintf_counts_what_has_no_room)
{
	const uint64_t arg[13] = { 5, (uint64_t)-7, 255 };
	char out[16];

	ck_assert_int_eq(print(out, 16, "%u %lld %x", arg, 24), 8);
	ck_assert_str_eq(out, "5 -7 ff");
	memset(out, '#', sizeof(out));
	ck_assert_int_eq(print(out, 4, "%u %lld %x", arg, 24), 8);
	ck_assert_str_eq(out, "5 -");
	ck_assert_int_eq(out[4], '#');
	ck_assert_int_eq(print(out, 0, "%u", arg, 8), 2);
	ck_assert_int_eq(out[0], '5');
	ck_assert_int_eq(print(out, 16, "", arg, 0), 1);
	ck_assert_int_eq(print(out, 16, "ring", NULL, 0), 5);
	ck_assert_str_eq(out, "ring");
	ck_assert_int_eq(print(out, 16, "%u%u%u%u%u%u%u%u%u%u%u%u", arg, 96), 24);
}

TEST(snprintf_refuses_and_leaves_zeroes)
{
	static const char *const bad[] = { "%s", "%u %u", "%", "%hd", "%5u" };
	const uint64_t arg[13] = { 0 };
	char out[16], zero[16] = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(out, '#', sizeof(out));
		ck_assert_int_eq(print(out, 16, bad[i], arg, 8), -EINVAL);
		ck_assert_int_eq(out[0], 0);
	}
	memset(out, '#', sizeof(out));
	ck_assert_int_eq(print(out, 16, "x", arg, 4), -EINVAL);
	ck_assert_int_eq(memcmp(out, zero, 16), 0);
	ck_assert_int_eq(print(out, 16, "x", arg, 104), -EINVAL);
}

/*
 * CVE-2022-2785 was a helper that took a struct with addresses in it for its
 * word. Memory that a program hands over is bytes here: where Linux's formats
 * go to what the bytes say (a string, an IP address, a symbol) there is none.
 */
TEST(helpers_follow_no_stored_address)
{
	static const char *const follow[] = { "%s",   "%pks", "%pus", "%pI4",
					      "%pi6", "%pB",  "%ps",  "%pS" };
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t at[1] = { (uintptr_t)page };
	char out[32];

	ck_assert(page != MAP_FAILED);
	for (size_t i = 0; i < sizeof(follow) / sizeof(follow[0]); i++) {
		int64_t n = print(out, sizeof(out), follow[i], at, 8);
		int64_t m = (int64_t)call("trace_printk", (uintptr_t)follow[i],
					  strlen(follow[i]) + 1, at[0], 0, 0);

		/* refused, or a number and then letters */
		ck_assert_msg(n == -EINVAL || follow[i][1] == 'p', "%s", follow[i]);
		ck_assert_msg(m == -EINVAL || follow[i][1] == 'p', "%s", follow[i]);
	}
	ck_assert_int_gt(print(out, sizeof(out), "%llx", at, 8), 1);
	ck_assert_uint_eq(strtoull(out, NULL, 16), at[0]);
	munmap(page, 4096);
}

// clang-format off
UNIT_MAIN("helpers")
