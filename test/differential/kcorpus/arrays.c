// SPDX-License-Identifier: MIT
// The self-tests of the older form, programs as arrays of instructions: built
// against a kernel tree by run.sh alone, where arrays.inc includes the files
// one by one, and printed as lines for kcorpus:
//
//   program file|name|type|attach type|flags|expected
//   map kind|slot                 (any number)
//   code hex
#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/btf.h>
#include <linux/if_ether.h>

#include "../../../include/linux/filter.h"
#include "test_btf.h"

enum { MAX_INSNS = 512, MAX_FIXUPS = 8, RUNS = 8, SKIP_LEN = 32, BTF_MAX = 256 };

#define TEST_DATA_LEN 64
#define POINTER_VALUE 0xcafe4all
#define INSN_OFF_MASK ((__s16)0xFFFF)
#define INSN_IMM_MASK ((__s32)0xFFFFFFFF)
#define SKIP_INSNS() BPF_RAW_INSN(0xde, 0xa, 0xd, 0xbeef, 0xdeadbeef)
#define F_NEEDS_EFFICIENT_UNALIGNED_ACCESS 1
#define F_LOAD_WITH_STRICT_ALIGNMENT 2
#define F_NEEDS_JIT_ENABLED 4
#define bpf_fill_big_prog_with_loop_1 NULL
#define bpf_fill_jump_around_ld_abs NULL
#define bpf_fill_ld_abs_vlan_push_pop NULL
#define bpf_fill_rand_ld_dw NULL
#define bpf_fill_scale NULL
#define bpf_fill_torturous_jumps NULL

#ifndef offsetofend
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#endif

/* Sequences that many tests begin with: cut out of test_verifier.c. */
#include "macros.inc"

struct pair {
	const char *kfunc;
	int insn_idx;
};

struct run {
	uint32_t retval, retval_unpriv;
	union {
		__u8 data[TEST_DATA_LEN];
		__u64 data64[TEST_DATA_LEN / 8];
	};
};

#define MAPS(X)        \
	X(hash_8b)     \
	X(hash_48b)    \
	X(hash_16b)    \
	X(array_48b)   \
	X(array_ro)    \
	X(array_wo)    \
	X(array_small) \
	X(ringbuf)     \
	X(kptr)        \
	X(event_output)

/* The names are those that the tests initialise. */
struct test {
	const char *descr;
	struct bpf_insn insns[MAX_INSNS];
	struct bpf_insn *fill_insns;
	struct bpf_insn expected_insns[SKIP_LEN], unexpected_insns[SKIP_LEN];
#define FIXUP(kind) int fixup_map_##kind[MAX_FIXUPS];
	MAPS(FIXUP)
	int fixup_map_timer[MAX_FIXUPS];
	struct pair fixup_kfunc_btf_id[MAX_FIXUPS];
	const char *errstr, *errstr_unpriv;
	uint32_t insn_processed;
	int prog_len;
	enum { UNDEF, ACCEPT, REJECT, VERBOSE_ACCEPT } result, result_unpriv;
	enum bpf_prog_type prog_type;
	uint8_t flags;
	void (*fill_helper)(struct test *self);
	int runs;
	union {
		struct {
			uint32_t retval, retval_unpriv;
			union {
				__u8 data[TEST_DATA_LEN];
				__u64 data64[TEST_DATA_LEN / 8];
			};
		};
		struct run retvals[RUNS];
	};
	enum bpf_attach_type expected_attach_type;
	const char *kfunc;
	struct bpf_func_info func_info[8];
	int func_info_cnt;
	char btf_strings[BTF_MAX];
	__u32 btf_types[BTF_MAX];
};

#define FILE_BEGINS(name) { .descr = NULL, .kfunc = name },

static const struct test tests[] = {
#include "arrays.inc"
};

static unsigned length(const struct test *t)
{
	unsigned n = MAX_INSNS;

	while (n && !t->insns[n - 1].code && !t->insns[n - 1].imm)
		n--;
	return n;
}

static void print_maps(const struct test *t)
{
#define PRINT(kind)                                                         \
	for (unsigned i = 0; i < MAX_FIXUPS && t->fixup_map_##kind[i]; i++) \
		printf("map " #kind "|%d\n", t->fixup_map_##kind[i]);
	MAPS(PRINT)
}

int main(void)
{
	const char *file = "?";

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		const struct test *t = &tests[i];
		const unsigned char *code = (const unsigned char *)t->insns;
		unsigned n = length(t);

		if (!t->descr) {
			file = t->kfunc;
			continue;
		}
		/* Made by code, with kernel functions or timers: not here. */
		if (!n || t->fixup_kfunc_btf_id[0].kfunc || t->func_info_cnt ||
		    t->fixup_map_timer[0])
			continue;
		printf("program %s|%s|%d|%d|%d|%d\n", file, t->descr,
		       t->prog_type ? (int)t->prog_type : BPF_PROG_TYPE_SOCKET_FILTER,
		       t->expected_attach_type,
		       t->flags & F_LOAD_WITH_STRICT_ALIGNMENT ? BPF_F_STRICT_ALIGNMENT : 0,
		       t->result == ACCEPT || t->result == VERBOSE_ACCEPT);
		print_maps(t);
		printf("code ");
		for (unsigned k = 0; k < n * sizeof(t->insns[0]); k++)
			printf("%02x", code[k]);
		printf("\n");
	}
	return 0;
}
