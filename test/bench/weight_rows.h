// SPDX-License-Identifier: MIT
#ifndef NB_TEST_WEIGHT_ROWS_H
#define NB_TEST_WEIGHT_ROWS_H

#include <stdint.h>

/*
 * The calls that weight_bench.c measures. Each helper has a row in which it
 * works as hard as its weight allows (unit-weight checks that none lacks).
 */
enum { CALLS = 16, LONG_KEY = 512, CHAINED = 15360 };

/* The maps, by their numbers in the programs. */
enum map {
	HASH8,
	FULL_LRU,
	RING,
	WIDE,
	SPARSE,
	ARRAY,
	FORMATS,
	LONG,	/* 31 keys of 512 bytes that share a bucket and 504 bytes */
	CHAINS, /* such keys, 32 in each bucket that has any */
	CPUS,
	DRAINED, /* a ring buffer that is empty before each measurement */
	WEIGHT_NMAPS
};

struct row {
	const char *what;
	const char *before, *call; /* once; of each call */
	int calls;		   /* 0: CALLS */
	uint32_t steps;		   /* callback invocations and iterator steps of all calls
			 */
};

#define CHAIN                                                              \
	"lddw %r1, 0\nstxdw [%r10-8], %r1\nlddw %r1, 0\nstxdw [%r10-16], " \
	"%r1\n"
#define ZERO64                                                               \
	"mov %r1, 0\nstxdw [%r10-64], %r1\nstxdw [%r10-56], %r1\n"           \
	"stxdw [%r10-48], %r1\nstxdw [%r10-40], %r1\nstxdw [%r10-32], %r1\n" \
	"stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\nstxdw [%r10-8], %r1\n"
#define AT(map, n) "lddw map %r1, " #map "\nmov %r2, %r10\nadd %r2, -" #n "\n"
#define ZERO512                                                   \
	"mov %r1, 0\nmov %r2, %r10\nadd %r2, -512\nmov %r3, 64\n" \
	"zero:\nstxdw [%r2], %r1\nadd %r2, 8\nsub %r3, 1\n"       \
	"jne %r3, 0, zero\n"
#define VALUE "mov %r3, %r10\nadd %r3, -16\nmov %r4, 0\n"
#define CALL(n) "call " #n "\n"

static const struct row rows[] = {
	{ "the clock (`bpf_ktime_get_ns`)", "", CALL(5), 0, 0 },
	{ "`bpf_mul_div`", "mov %r6, -1\n",
	  "mov %r1, %r6\nmov %r2, %r6\nmov %r3, 3\n" CALL(0x20004), 0, 0 },
	{ "`bpf_nccl_cheapest_algo`", "mov %r6, %r1\n", "mov %r1, %r6\nmov %r2, -1\n" CALL(0x20003),
	  0, 0 },
	{ "`bpf_nccl_cost`", "mov %r6, %r1\n",
	  "mov %r1, %r6\nmov %r2, 1\nmov %r3, 1\n" CALL(0x20001), 0, 0 },
	{ "`bpf_get_prandom_u32`", "", CALL(7), 0, 0 },
	{ "`bpf_trace_printk`, 3 numbers, 48 characters",
	  "lddw %r1, 0x20786c6c2520786c\nstxdw [%r10-48], %r1\n"
	  "stxdw [%r10-16], %r1\nstxdw [%r10-24], %r1\n"
	  "stxdw [%r10-32], %r1\nstxdw [%r10-40], %r1\n"
	  "lddw %r1, 0x00786c6c25206c25\nstxdw [%r10-8], %r1\n",
	  "mov %r1, %r10\nadd %r1, -48\nmov %r2, 48\nmov %r3, -1\n"
	  "mov %r4, -2\nmov %r5, -3\n" CALL(6),
	  0, 0 },
	{ "`bpf_snprintf`, 12 numbers, 200 characters",
	  "mov %r1, -1\n"
	  "stxdw [%r10-96], %r1\nstxdw [%r10-88], %r1\nstxdw [%r10-80], %r1\n"
	  "stxdw [%r10-72], %r1\nstxdw [%r10-64], %r1\nstxdw [%r10-56], %r1\n"
	  "stxdw [%r10-48], %r1\nstxdw [%r10-40], %r1\nstxdw [%r10-32], %r1\n"
	  "stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\nstxdw [%r10-8], %r1\n",
	  "mov %r1, %r10\nadd %r1, -480\nmov %r2, 384\n"
	  "lddw map_value %r3, 6, 0\nmov %r4, %r10\nadd %r4, -96\n"
	  "mov %r5, 96\n" CALL(165),
	  0, 0 },
	{ "`bpf_strtol`, 24 characters",
	  "lddw %r1, 0x3030303030303030\nstxdw [%r10-32], %r1\n"
	  "stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\n",
	  "mov %r1, %r10\nadd %r1, -32\nmov %r2, 24\nmov %r3, 10\n"
	  "mov %r4, %r10\nadd %r4, -8\n" CALL(105),
	  0, 0 },
	{ "look-up in an array", "stw [%r10-4], 5\n", AT(5, 4) CALL(1), 0, 0 },
	{ "look-up in a hash, key of 8 bytes, 31 others in the bucket", CHAIN, AT(0, 8) CALL(1), 0,
	  0 },
	{ "update in a hash, 31 others in the bucket", CHAIN, AT(0, 8) VALUE CALL(2), 0, 0 },
	{ "look-up in a hash, key of 512 bytes, 31 others with 504 of them", ZERO512,
	  AT(7, 512) CALL(1), 0, 0 },
	{ "deletion in a hash, the same key", ZERO512, AT(7, 512) CALL(3), 0, 0 },
	{ "update of a full LRU hash with a new key (the weight allows for "
	  "1,024 elements passed)",
	  CHAIN "mov %r7, 0\n", "call 7\nlsh %r0, 16\nstxdw [%r10-8], %r0\n" AT(1, 8) VALUE CALL(2),
	  0, 0 },
	{ "a record of 64 bytes to a ring buffer that is full", ZERO64,
	  AT(2, 64) "mov %r3, 64\nmov %r4, 1\n" CALL(130), 0, 0 },
	{ "update of an array, 4,096 bytes",
	  "stw [%r10-4], 0\n" AT(3, 4) CALL(1) "jeq %r0, 0, out\nmov %r6, %r0\n",
	  AT(3, 4) "mov %r3, %r6\nmov %r4, 0\n" CALL(2), 0, 0 },
	{ "walk of an empty hash of 65,536", "",
	  "lddw map %r1, 4\nlddw func %r2, back\nmov %r3, 0\nmov %r4, 0\n" CALL(164), 2, 0 },
	{ "walk of a hash of 15,360 keys of 512 bytes, 32 in a bucket", "",
	  "lddw map %r1, 8\nlddw func %r2, back\nmov %r3, 0\nmov %r4, 0\n" CALL(164), 1, CHAINED },
	{ "walk of a hash of 4,096 keys of 8 bytes that are spread", "",
	  "lddw map %r1, 1\nlddw func %r2, back\nmov %r3, 0\nmov %r4, 0\n" CALL(164), 1, 4096 },
	{ "`bpf_loop`, 64 iterations", "",
	  "mov %r1, 64\nlddw func %r2, back\nmov %r3, 0\nmov %r4, 0\n" CALL(181), 1, 64 },
	// clang-format off
	{ "an iterator of one number", "",
	  "mov %r1, %r10\nadd %r1, -8\nmov %r2, 0\nmov %r3, 1\n" CALL(0x10001)
	  "mov %r1, %r10\nadd %r1, -8\n" CALL(0x10002)
	  "mov %r1, %r10\nadd %r1, -8\n" CALL(0x10003),
	  0, CALLS },
	// clang-format on
	{ "the CPU (`bpf_get_smp_processor_id`)", "", CALL(8), 0, 0 },
	{ "`bpf_nccl_cheapest_proto`", "mov %r6, %r1\n", "mov %r1, %r6\nmov %r2, 1\n" CALL(0x20002),
	  0, 0 },
	{ "`bpf_strtoul`, 24 characters",
	  "lddw %r1, 0x3030303030303030\nstxdw [%r10-32], %r1\n"
	  "stxdw [%r10-24], %r1\nstxdw [%r10-16], %r1\n",
	  "mov %r1, %r10\nadd %r1, -32\nmov %r2, 24\nmov %r3, 10\n"
	  "mov %r4, %r10\nadd %r4, -8\n" CALL(106),
	  0, 0 },
	{ "a value of another CPU", "stw [%r10-4], 1\n", AT(9, 4) "mov %r3, 0\n" CALL(195), 0, 0 },
	{ "a record of 64 bytes reserved and submitted", "",
	  "lddw map %r1, 10\nmov %r2, 64\nmov %r3, 0\n" CALL(
		  131) "jeq %r0, 0, +3\nmov %r1, %r0\nmov %r2, 1\n" CALL(132),
	  0, 0 },
	{ "a record of 64 bytes reserved and discarded", "",
	  "lddw map %r1, 10\nmov %r2, 64\nmov %r3, 0\n" CALL(
		  131) "jeq %r0, 0, +3\nmov %r1, %r0\nmov %r2, 1\n" CALL(133),
	  0, 0 },
	{ "a ring buffer asked for its data", "", "lddw map %r1, 10\nmov %r2, 0\n" CALL(134), 0,
	  0 },
};

#undef CHAIN
#undef ZERO64
#undef ZERO512
#undef AT
#undef VALUE
#undef CALL

#endif
