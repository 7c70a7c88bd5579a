// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code against the interpreter: look-ups in line, keys that are
// constants, helpers, and the stack at their calls.
#include "test/unit/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#include "core/bpf/exec/run/trace.h"
#include "test/unit/jit_both.h"

/* r0 for the key that ctx points to, and for the constant key @k. */
static void look_up(struct nb_map *m, uint32_t k)
{
	char text[400];
	struct both b;

	snprintf(text, sizeof(text),
		 "ldxw %%r3, [%%r1]\nstxw [%%r10-8], %%r3\nstw [%%r10-4], 0\n"
		 "mov %%r2, %%r10\nadd %%r2, -8\nlddw map %%r1, 0\n"
		 "call 1\nexit");
	b = assembled(text, &m, 1);
	ck_assert_uint_eq(enter(&b, &k, 4), nb_exec_interpret(b.x, &k, 4));
	ck_assert_uint_eq(enter(&b, &k, 4), (uintptr_t)nb_map_lookup(m, (uint64_t[]){ k }, 0));
	drop(b);
	snprintf(text, sizeof(text),
		 "stw [%%r10-8], %d\nstw [%%r10-4], 0\n"
		 "mov %%r2, %%r10\nadd %%r2, -8\nlddw map %%r1, 0\n"
		 "call 1\njne %%r0, 0, there\nmov %%r0, 77\nthere:\nexit",
		 (int32_t)k);
	b = assembled(text, &m, 1);
	ck_assert_uint_eq(enter(&b, NULL, 0), nb_exec_interpret(b.x, NULL, 0));
	drop(b);
}

TEST(lookups_in_line)
{
	static const uint32_t sizes[] = { 1, 8, 12, 24, 64, 4000, 65536 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct nb_map *m = map_new(NB_MAP_ARRAY, 4, sizes[i], 1 + 5 * (uint32_t)(i % 3));
		uint32_t keys[] = { 0, 5, 10, 11, 1, 6, 0x7fffffff, 64, 200, UINT32_MAX };

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			look_up(m, keys[k]);
		nb_map_put(m);
	}
}

/* CVE-2022-50167: element numbers times sizes go beyond 32 bits. The memory is
 * not there, only its addresses. */
TEST(lookups_beyond_4_gib)
{
	static const uint32_t sizes[] = { 1 << 20, (1 << 20) + 8 };

	for (size_t i = 0; i < 2; i++) {
		struct nb_map *m = map_new(NB_MAP_ARRAY, 4, sizes[i], 1);

		m->max_entries = 8192;
		look_up(m, 4096);
		look_up(m, 8191);
		look_up(m, 8192);
		ck_assert_uint_eq((uintptr_t)nb_map_lookup(m, (uint64_t[]){ 8191 }, 0),
				  (uintptr_t)m->base + 8191ull * sizes[i]);
		m->max_entries = 1;
		nb_map_put(m);
	}
}

/* An element beyond 2 GiB from the first cannot be: but one beyond what 31
 * bits of product hold can, where sizes are multiplied in 32 bits. */
TEST(lookups_in_large_arrays)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, 1000, 250000);

	look_up(m, 249999);
	look_up(m, 250000);
	look_up(m, 131072);
	nb_map_put(m);
}

TEST(lookups_without_the_helper)
{
	struct nb_map *m = map_new(NB_MAP_HASH, 8, 16, 8);
	uint64_t key = 5, value[2] = { 7, 8 };

	ck_assert(!nb_map_update(m, &key, value, 0, 0));
	look_up(m, 5);
	look_up(m, 6);
	nb_map_put(m);
}

/* What is known of a key ends at a jump's target, a store that may hit it, a
 * call. */
TEST(constant_keys_are_forgotten_in_time)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, 8, 4);
	static const char *const text[] = {
		/* two ways to the look-up, with a key each */
		"stw [%r10-4], 0\njeq %r2, 0, go\nstw [%r10-4], 1\ngo:\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* a store through another pointer */
		"mov %r3, %r10\nadd %r3, -4\nstw [%r10-4], 0\nmov %r4, 1\n"
		"sub %r3, %r4\nadd %r3, %r4\nstxw [%r3], %r2\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* a store of one byte in the middle */
		"stw [%r10-4], 0\nstb [%r10-3], 1\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* eight bytes of which the upper half is the key */
		"stdw [%r10-8], -1\nstw [%r10-8], 2\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		"lddw %r3, 0x200000003\nstxdw [%r10-8], %r3\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* two bytes stored, of which the second is the key's first */
		"stw [%r10-8], 1\nstw [%r10-4], 1\nsth [%r10-5], 512\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* eight bytes that nobody knows, over the key and before it */
		"stw [%r10-4], 1\nlsh %r2, 32\nstxdw [%r10-8], %r2\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* the same where the store begins in the key */
		"stw [%r10-12], 1\nstxdw [%r10-12], %r2\n"
		"mov %r2, %r10\nadd %r2, -12\nlddw map %r1, 0\ncall 1\n"
		"exit",
		/* a store of another kind */
		"stw [%r10-4], 1\nstore_release32 [%r10-4], %r2\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* a callee stores through an argument */
		"stw [%r10-4], 0\nmov %r1, %r10\nadd %r1, -4\n"
		"call local f\nmov %r2, %r10\nadd %r2, -4\n"
		"lddw map %r1, 0\ncall 1\nexit\nf:\nstw [%r1], 3\n"
		"mov %r0, 0\nexit",
		/* an atomic */
		"stw [%r10-4], 0\nmov %r3, 2\nlock add32 [%r10-4], %r3\n"
		"mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* a pointer changed after it was made */
		"stw [%r10-4], 0\nstw [%r10-8], 1\nmov %r3, 4\n"
		"mov %r2, %r10\nadd %r2, -4\nsub %r2, %r3\n"
		"lddw map %r1, 0\ncall 1\nexit",
		/* a 32-bit copy of a pointer is none: compared only */
		"stw [%r10-4], 3\nmov %r3, %r10\nmov %r4, 3\nadd %r4, 1\n"
		"jgt %r4, 3, go\nmov %r0, 5\nexit\ngo:\nmov %r2, %r10\n"
		"add %r2, -4\nlddw map %r1, 0\ncall 1\nexit",
		/* the answer is known, and so is the branch on it */
		"stw [%r10-4], 3\nmov %r2, %r10\nadd %r2, -4\n"
		"lddw map %r1, 0\ncall 1\njeq %r0, 0, none\nadd %r0, 1\n"
		"jeq %r0, 0, none\nexit\nnone:\nmov %r0, 5\nexit",
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		for (uint64_t size = 0; size < 4; size++) {
			struct both b = assembled(text[i], &m, 1);

			NEED(enter(&b, NULL, size) == nb_exec_interpret(b.x, NULL, size), "%s",
			     text[i]);
			drop(b);
		}
	nb_map_put(m);
}

/* Branches on constants are decided before anything runs. */
TEST(branches_on_constants)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);

		if (row->kind != NB_KIND_JMP)
			continue;
		for (unsigned i = 0; i < NEDGE * NEDGE; i++) {
			uint64_t x = edge[i / NEDGE], y = edge[i % NEDGE];
			struct both b;

			p.n = 0;
			put_const(3, x);
			put_const(4, y);
			put((enum nb_op)op, 3, 4, 2, (int32_t)(uint32_t)y);
			put(NB_OP_MOV64_K, 0, 0, 0, 0);
			put(NB_OP_EXIT, 0, 0, 0, 0);
			put(NB_OP_MOV64_K, 0, 0, 0, 1);
			put(NB_OP_EXIT, 0, 0, 0, 0);
			b = make(NULL, 0, NULL, (unsigned)ALL);
			if (row->operand == NB_OPND_IMM)
				y = (uint64_t)(int64_t)(int32_t)(uint32_t)y;
			NEED(enter(&b, NULL, 0) == compares(row, x, y), "%s %#lx %#lx",
			     row->mnemonic, x, y);
			drop(b);
		}
	}
}

TEST(helpers_see_the_run_and_keep_r6_to_r9)
{
	struct nb_map *m = map_new(NB_MAP_PERCPU_ARRAY, 4, 8, 4);
	struct both b = assembled("mov %r6, 1\nmov %r7, 2\nmov %r8, 4\nmov %r9, 8\n"
				  "stw [%r10-4], 2\nstdw [%r10-16], 32\n"
				  "call 8\nstxdw [%r10-24], %r0\n"
				  "call 8\nldxdw %r1, [%r10-24]\nsub %r0, %r1\n"
				  "jne %r0, 0, bad\n"
				  "mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\n"
				  "jeq %r0, 0, bad\nstdw [%r0], 5\n"
				  "mov %r2, %r10\nadd %r2, -4\nmov %r3, %r10\nadd %r3, -16\n"
				  "mov %r4, 0\nlddw map %r1, 0\ncall 2\njne %r0, 0, bad\n"
				  "mov %r2, %r10\nadd %r2, -4\nlddw map %r1, 0\ncall 1\n"
				  "ldxdw %r0, [%r0]\nadd %r0, %r6\nadd %r0, %r7\n"
				  "add %r0, %r8\nadd %r0, %r9\nexit\n"
				  "bad:\nmov %r0, -1\nexit",
				  &m, 1);

	ck_assert_uint_eq(enter(&b, NULL, 0), 47);
	ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0), 47);
	drop(b);
	nb_map_put(m);
}

TEST(helpers_write_to_the_programs_trace)
{
	static const char text[] = "lddw %r3, 0x000a642564257364\nstxdw [%r10-8], %r3\n"
				   "mov %r1, %r10\nadd %r1, -8\nmov %r2, 8\nmov %r3, 4\n"
				   "mov %r4, 2\nmov %r5, 0\ncall 6\nexit";
	struct both b = assembled(text, NULL, 0);
	struct nb_trace *t = nb_trace_new();
	struct nb_trace_line line;

	ck_assert_uint_eq(enter(&b, NULL, 0), (uint64_t)-EINVAL);
	b.x->trace = t;
	ck_assert_uint_eq(enter(&b, NULL, 0), 5);
	ck_assert(nb_trace_read(t, 0, &line));
	ck_assert_str_eq(line.text, "ds42");
	drop(b);
	nb_trace_free(t);
}

/* Stands in for a map's look-up: is the stack aligned as the ABI has it, and
 * does the program do without what a function may change? */
static bool aligned;

static void *nosy_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)m, (void)key, (void)cpu;
	aligned = (uintptr_t)__builtin_frame_address(0) % 16 == 0;
#if defined(__x86_64__)
	__asm__ volatile("mov $-1, %%rcx\n\tmov %%rcx, %%rdx\n\t"
			 "mov %%rcx, %%rsi\n\tmov %%rcx, %%rdi\n\t"
			 "mov %%rcx, %%r8\n\tmov %%rcx, %%r9\n\t"
			 "mov %%rcx, %%r10\n\tmov %%rcx, %%r11"
			 :
			 :
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
#elif defined(__aarch64__)
	__asm__ volatile("mov x1, #-1\n\tmov x2, x1\n\tmov x3, x1\n\t"
			 "mov x4, x1\n\tmov x5, x1\n\tmov x6, x1\n\t"
			 "mov x7, x1\n\tmov x8, x1\n\tmov x9, x1\n\t"
			 "mov x10, x1\n\tmov x11, x1\n\tmov x12, x1\n\t"
			 "mov x13, x1\n\tmov x14, x1\n\tmov x15, x1\n\t"
			 "mov x16, x1\n\tmov x17, x1"
			 :
			 :
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
			   "x12", "x13", "x14", "x15", "x16", "x17");
#endif
	return m;
}

TEST(the_stack_is_aligned_at_calls)
{
	/* of keys whose look-up no machine code has in line */
	struct nb_map *m = map_new(NB_MAP_HASH, 16, 8, 4);
	char text[600];

	m->lookup = nosy_lookup;
	/* each number of saved registers, with and without a frame, directly
	 * and by the helper, in the entry and below it */
	for (unsigned kind = 0; kind < 80; kind++) {
		static const char *const regs[] = {
			"", "mov %r6, 1\n", "mov %r6, 1\nmov %r7, 1\n",
			"mov %r6, 1\nmov %r7, 1\nmov %r8, 1\n",
			"mov %r6, 1\nmov %r7, 1\nmov %r8, 1\nmov %r9, 1\n"
		};
		struct both b;

		snprintf(text, sizeof(text), "%s%s%s%s%scall 1\nexit",
			 kind / 5 & 1 ? "mov %r2, %r1\ncall local f\nexit\n"
					"f:\n"
				      : "",
			 regs[kind % 5], kind / 10 & 1 ? "stdw [%r10-8], 1\n" : "",
			 kind / 20 & 1 ? "lddw map %r1, 0\n"
				       : "lddw map %r3, 0\nja +0\n"
					 "x:\nmov %r1, %r3\n",
			 kind / 40 & 1 ? "mov %r4, %r10\nsub %r4, %r10\n" : "");
		b = assembled(text, &m, 1);
		aligned = false;
		ck_assert_uint_eq(enter(&b, NULL, 0), (uintptr_t)m);
		NEED(aligned, "%s", text);
		drop(b);
	}
	nb_map_put(m);
}

UNIT_MAIN_WITH("jit_maps", if (!jit_available()) return no_compiler();)
