// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code against the interpreter: jumps at every distance where their
// form changes, long programs, calls, frames and the registers of callers.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/ncclbpf.h"
#include "test/unit/jit_both.h"

/* ---- control ---- */

/* Jumps over n slots of 3 to 10 bytes, forwards and backwards: the short form
 * reaches 127 bytes, and some distance falls on each side of that. */
TEST(jumps_of_every_distance)
{
	for (int32_t n = 0; n < 140; n++)
		for (unsigned kind = 0; kind < 3; kind++) {
			enum nb_op filler = kind == 0	? NB_OP_ADD64_X
					    : kind == 1 ? NB_OP_ADD64_K
							: NB_OP_ADD32_X;
			struct both b;

			p.n = 0;
			put(NB_OP_MOV64_K, 0, 0, 0, 1);
			put(NB_OP_MOV64_K, 3, 0, 0, 1);
			put(NB_OP_JNE64_K, 1, 0, n, 0);
			for (int32_t i = 0; i < n; i++)
				put(filler, 0, 3, 0, 1000 * (int)kind);
			put(NB_OP_ADD64_K, 1, 0, 0, 1);
			put(NB_OP_JSLT64_K, 1, 0, -(n + 2), 3);
			put(NB_OP_JA, 0, 0, 1, 0);
			put(NB_OP_MOV64_K, 0, 0, 0, 0);
			put(NB_OP_EXIT, 0, 0, 0, 0);
			b = make(NULL, 0, NULL, (unsigned)ALL);
			for (uintptr_t v = 0; v < 3; v++)
				ck_assert_uint_eq(enter(&b, (void *)v, 0),
						  nb_exec_interpret(b.x, (void *)v, 0));
			drop(b);
		}
}

TEST(a_jump_between_a_copy_and_an_addition)
{
	static const char text[] = "mov %r3, 40\nmov %r0, 5\n"
				   "jeq %r2, 1, middle\nmov %r0, %r3\n"
				   "middle:\nadd %r0, 2\nexit";

	ck_assert_uint_eq(run_with(text, NULL, 0), 42);
	ck_assert_uint_eq(run_with(text, NULL, 1), 7);
}

TEST(long_programs)
{
	struct both b;

	/* each jump leads to the next over the whole program and back */
	p.n = 0;
	put(NB_OP_MOV64_K, 0, 0, 0, 0);
	for (int32_t i = 0; i < 300; i++) {
		put(NB_OP_ADD64_K, 0, 0, 0, i);
		put(NB_OP_JGT64_K, 0, 0, 100, 1 << 30);
		put(NB_OP_JNE64_K, 0, 0, 2 * (300 - i) + 20000, -5);
		put(NB_OP_EXIT, 0, 0, 0, 0);
	}
	while (p.n < 45000)
		put(NB_OP_ADD64_K, 0, 0, 0, 1 << 20);
	put(NB_OP_JA32, 0, 0, 0, 20000);
	while (p.n < 65000)
		put(NB_OP_XOR64_K, 0, 0, 0, (int32_t)p.n);
	put(NB_OP_JSET64_K, 0, 0, 1, 1);
	put(NB_OP_ADD64_K, 0, 0, 0, 77);
	put(NB_OP_MUL64_K, 0, 0, 0, 3);
	put(NB_OP_JA32, 0, 0, 0, -30000);
	p.s[35004] = (struct nb_slot){ 0x95, 0, 0, 0 };
	b = make(NULL, 0, NULL, (unsigned)ALL);
	ck_assert_uint_eq(enter(&b, NULL, 0), nb_exec_interpret(b.x, NULL, 0));
	ck_assert_uint_gt(b.j->size, 200000);
	drop(b);
}

/* A jump over as much code as one can be over, then from one end to the other
 * and a call back across the middle. */
static void put_longest(void)
{
	enum { FUNCTION = 70000, LAST = 100000 };

	p.n = 0;
	put(NB_OP_MOV64_K, 0, 0, 0, 1);
	put(NB_OP_JEQ64_K, 0, 0, INT16_MAX, 1);
	while (p.n < 2 + INT16_MAX)
		put(NB_OP_ATOMIC_CMPXCHG64, 10, 0, -8, 0);
	put(NB_OP_ADD64_K, 0, 0, 0, 5);
	put(NB_OP_JA32, 0, 0, 0, MAX - 5 - (int32_t)p.n - 1);
	while (p.n < FUNCTION)
		put(NB_OP_ADD64_K, 0, 0, 0, 0x12345678);
	put(NB_OP_MOV64_X, 0, 1, 0, 0);
	put(NB_OP_MUL64_K, 0, 0, 0, 3);
	put(NB_OP_EXIT, 0, 0, 0, 0);
	while (p.n < LAST)
		put(NB_OP_ADD64_K, 0, 0, 0, (int32_t)p.n);
	put(NB_OP_XOR64_K, 0, 0, 0, 0x55);
	put(NB_OP_EXIT, 0, 0, 0, 0);
	while (p.n < MAX - 5)
		put(NB_OP_XOR64_K, 0, 0, 0, (int32_t)p.n);
	put(NB_OP_ADD64_K, 0, 0, 0, 7);
	put(NB_OP_MOV64_X, 1, 0, 0, 0);
	put(NB_OP_CALL_LOCAL, 0, 0, 0, FUNCTION - (int32_t)p.n - 1);
	put(NB_OP_JNE64_K, 0, 0, 0, 0);
	put(NB_OP_JA32, 0, 0, 0, LAST - MAX);
}

TEST(longest_program)
{
	for (unsigned features = 0; features < 2; features++) {
		struct both b;

		put_longest();
		ck_assert_uint_eq(p.n, NB_IMAGE_MAX_SLOTS);
		b = make(NULL, 0, NULL, features ? (unsigned)ALL : 0);
		printf("# %zu bytes of machine code\n", b.j->size);
		ck_assert_uint_eq(enter(&b, NULL, 0), 13 * 3 ^ 0x55);
		ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0), 13 * 3 ^ 0x55);
		drop(b);
	}
}

/* Loops whose callback can be any of many have a call of each. */
TEST(too_much_machine_code)
{
	enum { CALLBACKS = 250, LOOPS = 5000, END = 3 * CALLBACKS + 2 * LOOPS };
	struct nb_err err = { 0 };
	struct nb_exec *x;

	p.n = 0;
	for (int32_t i = 0; i < CALLBACKS; i++) {
		put(NB_OP_LDDW_FUNC, 2, 0, 0, 2 * (CALLBACKS + LOOPS) - (int32_t)p.n + i);
		p.s[p.n++] = (struct nb_slot){ 0 };
	}
	for (int32_t i = 0; i < LOOPS; i++) {
		put(NB_OP_LDX64, 2, 10, -8, 0);
		put(NB_OP_CALL_HELPER, 0, 0, 0, 181);
	}
	while (p.n < END + 1)
		put(NB_OP_EXIT, 0, 0, 0, 0);
	ck_assert(!bind(&x, NULL, 0, &err));
	ck_assert_int_eq(compile_one(x, NULL, &err), NB_E_NOTSUP);
	ck_assert(!x->jit);
	ck_assert_msg(strstr(err.text, "of machine code; at most 16777216"), "%s", err.text);
	nb_exec_free(x);
}

TEST(calls_keep_r6_to_r9_and_r10)
{
	ck_assert_uint_eq(run("mov %r6, 1\nmov %r7, 2\nmov %r8, 4\n"
			      "mov %r9, 8\nmov %r1, 16\nstdw [%r10-8], 32\n"
			      "mov %r4, %r10\ncall local f\n"
			      "add %r0, %r6\nadd %r0, %r7\nadd %r0, %r8\n"
			      "add %r0, %r9\nldxdw %r1, [%r10-8]\n"
			      "add %r0, %r1\nexit\n"
			      "f:\nmov %r0, %r1\nmov %r6, 0\nmov %r7, 0\n"
			      "mov %r8, 0\nmov %r9, 0\nstdw [%r10-8], 0\n"
			      "sub %r4, %r10\njsgt %r4, 511, fine\n"
			      "jslt %r4, -511, fine\nmov %r0, -1000\n"
			      "fine:\nexit"),
			  63);
	/* arguments and what a callee leaves in r1 to r5 */
	ck_assert_uint_eq(run("mov %r1, 1\nmov %r2, 2\nmov %r3, 3\n"
			      "mov %r4, 4\nmov %r5, 5\ncall local f\nexit\n"
			      "f:\nmov %r0, %r1\nadd %r0, %r2\n"
			      "add %r0, %r3\nadd %r0, %r4\nadd %r0, %r5\n"
			      "exit"),
			  15);
	/* the entry called again, and code that two functions share */
	ck_assert_uint_eq(run_with("jeq %r2, 3, +3\nmov %r2, 3\n"
				   "call local -3\nja over\n"
				   "mov %r0, 40\nover:\nadd %r0, 1\nexit",
				   NULL, 0),
			  42);
}

static const char eight_frames[] = "mov %r1, 8\ncall local f\nexit\n"
				   "f:\nmov %r6, %r1\nmov %r2, %r10\nmov %r3, %r10\n"
				   "sub %r2, 512\nfill:\nstxdw [%r2], %r6\nadd %r2, 8\n"
				   "jlt %r2, %r3, fill\n"
				   "mov %r0, 0\njeq %r6, 2, bottom\nmov %r1, %r6\nsub %r1, 1\n"
				   "call local f\nbottom:\n"
				   "mov %r2, %r10\nsub %r2, 512\nsum:\nldxdw %r1, [%r2]\n"
				   "add %r0, %r1\nadd %r2, 8\njlt %r2, %r10, sum\nexit";

TEST(eight_frames_each_with_its_own_stack)
{
	ck_assert_uint_eq(run(eight_frames), 64 * 35);
}

static void *on_small_stack(void *arg)
{
	struct both *b = arg;

	return (void *)(uintptr_t)enter(b, NULL, 0);
}

/* 16 KiB of stack, or the least that threads may have, with pages that nobody
 * may touch on both sides: the thread's own needs and eight frames fit. */
TEST(eight_frames_between_guard_pages)
{
	struct both b = assembled(eight_frames, NULL, 0);
#if defined(__SANITIZE_THREAD__)
	size_t size = 1 << 20; /* it claims most of this for itself */
#else
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	size_t size = least > 16384 ? least : 16384;
#endif
	pthread_attr_t attr;
	void *r0;
	pthread_t t;

	ck_assert(!pthread_attr_init(&attr));
	ck_assert(!pthread_attr_setstack(&attr, guarded(size), size));
	ck_assert(!pthread_create(&t, &attr, on_small_stack, &b));
	ck_assert(!pthread_join(t, &r0));
	ck_assert_uint_eq((uintptr_t)r0, 64 * 35);
	drop(b);
}

TEST(address_of_a_callback_is_its_slot)
{
	ck_assert_uint_eq(run("mov %r1, 0\nlddw func %r0, f\nexit\n"
			      "mov %r0, 1\nf:\nexit"),
			  5);
}

/* r0 of @text, whose budget each run has anew. */
static uint64_t run_again(const char *text)
{
	struct both b = assembled(text, NULL, 0);
	uint64_t r0 = nb_exec_interpret(b.x, NULL, 0);

	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(enter(&b, NULL, 0), r0);
	ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0), r0);
	drop(b);
	return r0;
}

TEST(may_goto_has_the_interpreters_budget)
{
	ck_assert_uint_eq(run_again("mov %r0, 0\nagain:\nmay_goto out\n"
				    "add %r0, 1\nja again\nout:\nexit"),
			  NB_MAY_GOTO_PASSES);
	/* all loops of a run share it, also across frames, and once it is
	 * used up it stays so */
	ck_assert_uint_eq(run_again("mov %r0, 0\ncall local f\nmay_goto out\n"
				    "add %r0, 1000\nout:\nexit\n"
				    "f:\nmay_goto out\nmay_goto out\n"
				    "add %r0, 1\nja f"),
			  NB_MAY_GOTO_PASSES / 2);
}

#if defined(__x86_64__)
/* Threads that never meet cannot tell: every atomic but the exchange, which
 * locks by itself, has the prefix. */
TEST(atomics_have_the_lock_prefix)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		struct both b;

		if (row->kind != NB_KIND_ATOMIC || row->fn == NB_FN_XCHG)
			continue;
		p.n = 0;
		put((enum nb_op)op, 6, 7, 0, 0);
		put(NB_OP_EXIT, 0, 0, 0, 0);
		b = make(NULL, 0, NULL, (unsigned)ALL);
		ck_assert_msg(memchr(b.j->code, 0xf0, b.j->size) != NULL, "%s", row->mnemonic);
		drop(b);
	}
}

/* Registers that callers expect to find again, in their order here. */
static uint64_t enter_checked(const struct both *b, void *ctx, uint64_t size, bool *kept)
{
	const struct nb_exec *x = b->x;
	uint64_t r0, changed;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* the red zone */
			 "push %%rbx\n\tpush %%rbp\n\tpush %%r12\n\tpush %%r13\n\t"
			 "push %%r14\n\tpush %%r15\n\t"
			 "mov %[fn], %%rax\n\t"
			 "mov $0x1111, %%ebx\n\tmov $0x2222, %%ebp\n\t"
			 "mov $0x3333, %%r12d\n\tmov $0x4444, %%r13d\n\t"
			 "mov $0x5555, %%r14d\n\tmov $0x6666, %%r15d\n\t"
			 /* aligned for the call, whatever it was before */
			 "mov %%rsp, %%r10\n\tand $-16, %%rsp\n\t"
			 "push %%r10\n\tpush %%r10\n\t"
			 "call *%%rax\n\t"
			 "pop %%r10\n\tmov %%r10, %%rsp\n\t"
			 "xor $0x1111, %%rbx\n\txor $0x2222, %%rbp\n\t"
			 "xor $0x3333, %%r12\n\txor $0x4444, %%r13\n\t"
			 "xor $0x5555, %%r14\n\txor $0x6666, %%r15\n\t"
			 "or %%rbx, %%rbp\n\tor %%r12, %%r13\n\tor %%r14, %%r15\n\t"
			 "or %%rbp, %%r13\n\tor %%r13, %%r15\n\tmov %%r15, %%rcx\n\t"
			 "pop %%r15\n\tpop %%r14\n\tpop %%r13\n\tpop %%r12\n\t"
			 "pop %%rbp\n\tpop %%rbx\n\t"
			 "lea 128(%%rsp), %%rsp\n\t"
			 : "=&a"(r0), "=&c"(changed), "+D"(x), "+S"(ctx), "+d"(size)
			 : [fn] "r"(b->j->entry)
			 : "r8", "r9", "r10", "r11", "cc", "memory");
	*kept = changed == 0;
	return r0;
}
#endif

#if defined(__aarch64__)
/* The same: what the standard says a function keeps, and SP. */
static uint64_t enter_checked(const struct both *b, void *ctx, uint64_t size, bool *kept)
{
	register uint64_t x0 __asm__("x0") = (uintptr_t)b->x;
	register uint64_t x1 __asm__("x1") = (uintptr_t)ctx;
	register uint64_t x2 __asm__("x2") = size;
	register nb_engine_fn *fn __asm__("x9") = b->j->entry;
	register uint64_t changed __asm__("x10");

	__asm__ volatile("stp x29, x30, [sp, #-112]!\n\t"
			 "stp x19, x20, [sp, #16]\n\tstp x21, x22, [sp, #32]\n\t"
			 "stp x23, x24, [sp, #48]\n\tstp x25, x26, [sp, #64]\n\t"
			 "stp x27, x28, [sp, #80]\n\t"
			 "mov x19, #0x1111\n\tmov x20, #0x2222\n\t"
			 "mov x21, #0x3333\n\tmov x22, #0x4444\n\t"
			 "mov x23, #0x5555\n\tmov x24, #0x6666\n\t"
			 "mov x25, #0x7777\n\tmov x26, #0x8888\n\t"
			 "mov x27, #0x9999\n\tmov x28, sp\n\tmov x29, #0xaaaa\n\t"
			 "blr x9\n\t"
			 "mov x10, sp\n\teor x10, x10, x28\n\tmov sp, x28\n\t"
			 "mov x11, #0x1111\n\teor x19, x19, x11\n\t"
			 "mov x11, #0x2222\n\teor x20, x20, x11\n\t"
			 "mov x11, #0x3333\n\teor x21, x21, x11\n\t"
			 "mov x11, #0x4444\n\teor x22, x22, x11\n\t"
			 "mov x11, #0x5555\n\teor x23, x23, x11\n\t"
			 "mov x11, #0x6666\n\teor x24, x24, x11\n\t"
			 "mov x11, #0x7777\n\teor x25, x25, x11\n\t"
			 "mov x11, #0x8888\n\teor x26, x26, x11\n\t"
			 "mov x11, #0x9999\n\teor x27, x27, x11\n\t"
			 "mov x11, #0xaaaa\n\teor x29, x29, x11\n\t"
			 "orr x10, x10, x19\n\torr x10, x10, x20\n\t"
			 "orr x10, x10, x21\n\torr x10, x10, x22\n\t"
			 "orr x10, x10, x23\n\torr x10, x10, x24\n\t"
			 "orr x10, x10, x25\n\torr x10, x10, x26\n\t"
			 "orr x10, x10, x27\n\torr x10, x10, x29\n\t"
			 "ldp x19, x20, [sp, #16]\n\tldp x21, x22, [sp, #32]\n\t"
			 "ldp x23, x24, [sp, #48]\n\tldp x25, x26, [sp, #64]\n\t"
			 "ldp x27, x28, [sp, #80]\n\tldp x29, x30, [sp], #112\n\t"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(fn), "=r"(changed)
			 :
			 : "x3", "x4", "x5", "x6", "x7", "x8", "x11", "x12", "x13", "x14", "x15",
			   "x16", "x17", "x18", "cc", "memory");
	*kept = changed == 0;
	return x0;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static const char *const users_of_registers[] = {
	"mov %r0, 1\nexit",
	"mov %r6, 1\nmov %r0, 1\nexit",
	"mov %r7, 1\nmov %r9, 3\nmov %r0, 1\nexit",
	"mov %r6, 1\nmov %r7, 1\nmov %r8, 1\nmov %r9, 1\nmov %r0, 1\nexit",
	"stdw [%r10-8], 1\nmov %r0, 1\nexit",
	"mov %r8, %r10\nmov %r0, 1\nstxdw [%r10-8], %r10\nexit",
	"mov %r8, 1\nlock fetch or [%r10-8], %r8\nmov %r0, 1\nexit",
	"call 7\nmov %r0, 1\nexit",
	"mov %r9, 9\ncall 7\nmov %r0, 1\nexit",
	"mov %r9, 9\nstdw [%r10-8], 8\ncall 7\nmov %r0, 1\nexit",
	"mov %r8, 9\nmov %r9, %r10\nadd %r9, %r10\ncall 7\nmov %r0, 1\nexit",
	"mov %r6, 1\ncall local +2\nmov %r0, 1\nexit\nmov %r6, 3\n"
	"mov %r7, 3\ncall 7\nexit",
	"call local +2\nmov %r0, 1\nexit\nexit",
	"may_goto +1\ncall local +2\nmov %r0, 1\nexit\nmov %r9, 1\ncall 7\n"
	"may_goto +0\nexit",
};

TEST(callers_find_their_registers_again)
{
	for (size_t i = 0; i < sizeof(users_of_registers) / sizeof(char *); i++) {
		struct both b = assembled(users_of_registers[i], NULL, 0);
		bool kept;

		ck_assert_uint_eq(enter_checked(&b, NULL, 0, &kept), 1);
		NEED(kept, "%s", users_of_registers[i]);
		drop(b);
	}
}
#endif

UNIT_MAIN_WITH("jit_control", if (!jit_available()) return no_compiler();)
