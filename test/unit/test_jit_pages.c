// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code that knows what the verifier knows, its pages, and which engine
// runs a program.
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/ncclbpf.h"
#include "core/defs/ctx.h"
#include "test/unit/made.h"
#include "test/unit/jit_both.h"

/* ---- what the verifier knows ---- */

TEST(what_is_never_reached_is_not_there)
{
	enum { R = NB_AUX_REACHED };
	const uint8_t aux[] = { R,
				R,
				R | NB_AUX_BRANCH_TAKEN,
				0,
				0,
				0,
				R | NB_AUX_NONZERO,
				R | NB_AUX_BRANCH_FALLS,
				R,
				0,
				0 };
	static const char text[] = "ldxdw %r0, [%r1]\nldxdw %r2, [%r1+8]\n"
				   "jgt %r2, 0, live\nlddw %r0, 5\nja +3\n"
				   "live:\ndiv %r0, %r2\njeq %r2, 0, dead\nexit\n"
				   "dead:\nmov %r0, 99\nexit";
	uint64_t m[2] = { 91, 7 };
	struct both all, less;

	all = assembled(text, NULL, 0);
	ck_assert_uint_eq(p.n, sizeof(aux));
	less = make(NULL, 0, aux, (unsigned)ALL);
	ck_assert_uint_eq(enter(&all, m, 16), 13);
	ck_assert_uint_eq(enter(&less, m, 16), 13);
	ck_assert_uint_lt(less.j->size, all.j->size);
	drop(all);
	drop(less);
}

TEST(divisors_known_not_to_be_zero)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		const uint8_t aux[] = { 1, 1, 1 | NB_AUX_NONZERO, 1, 1 };
		struct both b;

		if (row->kind != NB_KIND_ALU || row->operand != NB_OPND_REG ||
		    (row->fn != NB_FN_DIV && row->fn != NB_FN_MOD && row->fn != NB_FN_SDIV &&
		     row->fn != NB_FN_SMOD))
			continue;
		p.n = 0;
		put(NB_OP_LDX64, 3, 1, 0, 0);
		put(NB_OP_LDX64, 4, 1, 8, 0);
		put((enum nb_op)op, 3, 4, 0, 0);
		put(NB_OP_MOV64_X, 0, 3, 0, 0);
		put(NB_OP_EXIT, 0, 0, 0, 0);
		b = make(NULL, 0, aux, (unsigned)ALL);
		for (unsigned i = 0; i < NEDGE * NEDGE; i++) {
			uint64_t m[2] = { edge[i / NEDGE], edge[i % NEDGE] };

			if (row->width == 64 ? m[1] : (uint32_t)m[1])
				ck_assert_uint_eq(enter(&b, m, 16), reference(row, m[0], m[1]));
		}
		drop(b);
	}
}

/* ---- pages ---- */

TEST(pages_are_never_writable_and_executable)
{
	struct both b = assembled("mov %r0, 7\nexit", NULL, 0);
	FILE *f = fopen("/proc/self/maps", "r");
	char line[500], mode[8];
	unsigned found = 0;

	ck_assert(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		ck_assert_int_eq(sscanf(line, "%lx-%lx %7s", &from, &to, mode), 3);
		NEED(!strchr(mode, 'w') || !strchr(mode, 'x'), "%s", line);
		if ((uintptr_t)b.j->code >= from && (uintptr_t)b.j->code < to) {
			ck_assert_str_eq(mode, "r-xp");
			found++;
		}
	}
	fclose(f);
	ck_assert_uint_eq(found, 1);
	ck_assert_uint_le(b.j->size, b.j->pages->mapped);
	drop(b);
}

/* From here on the kernel refuses to make pages executable. */
static bool refuse_executable(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

TEST(refused_executable_memory_is_said_so)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;

	put_program("mov %r0, 7\nexit");
	ck_assert(!bind(&x, NULL, 0, &err));
	if (refuse_executable()) {
		ck_assert_int_eq(compile_one(x, NULL, &err), NB_E_NOTSUP);
		ck_assert(!x->jit);
		ck_assert(strstr(err.text, "refuses executable memory"));
		ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	}
	nb_exec_free(x);
}

/* nb_exec_run's engine: before, where memory is refused, and after. */
TEST(runs_go_to_the_engine_there_is)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;

	put_program("mov %r0, 7\nexit");
	ck_assert(!bind(&x, NULL, 0, &err));
	ck_assert_uint_eq(nb_exec_compiled(x), 0);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	ck_assert_int_eq(compile_one(x, NULL, &err), 0);
	ck_assert_uint_gt(nb_exec_compiled(x), 0);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	nb_exec_free(x);
	if (!refuse_executable())
		return;
	ck_assert(!bind(&x, NULL, 0, &err));
	ck_assert_int_eq(compile_one(x, NULL, &err), NB_E_NOTSUP);
	ck_assert_uint_eq(nb_exec_compiled(x), 0);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	nb_exec_free(x);
}

/* A generation's programs are compiled unless the policy says not to, or the
 * system does. */
TEST(generations_are_compiled)
{
	for (int how = 0; how < 3; how++) {
		const struct nb_policy_opts opts = { .interpret = how == 1 };
		struct ncclbpf_tuner ctx = { .algo = -1, .proto = -1 };
		struct nb_gen_count count = { 0 };
		struct nb_err err = { 0 };
		struct nb_policy *policy;
		struct nb_gen *g;
		struct nb_buf b;

		if (how == 2 && !refuse_executable())
			break;
		made_image(&b, "p", MADE_CHOOSE(1, 2), NULL, 0);
		NEED(!nb_policy_new(&policy, b.data, b.size, &opts, &err), "%s", err.text);
		NEED(!nb_gen_new(&g, &policy, 1, NULL, &err), "%s", err.text);
		ck_assert_int_eq(nb_exec_compiled(g->prog[0].exec) != 0, how == 0);
		nb_gen_run_tuner(g, &ctx, &count);
		ck_assert_int_eq(ctx.algo, 1);
		ck_assert_int_eq(ctx.proto, 2);
		nb_gen_put(g);
		nb_policy_put(policy);
		nb_buf_fini(&b);
	}
}

/* What the verifier found is used where the programs are compiled again and
 * again, and the answer is the same. */
TEST(generations_use_what_is_known)
{
	static const char text[] = "ldxw %r2, [%r1+76]\nand %r2, 7\n"
				   "jle %r2, 7, fine\n"
				   "lddw %r3, 0x123456789abcdef\n"
				   "stw [%r1+68], 3\nfine:\n"
				   "stw [%r1+68], 1\nstw [%r1+72], 2\n"
				   "mov %r0, 0\nexit\n";
	struct ncclbpf_tuner ctx = { .algo = -1, .proto = -1 };
	struct nb_gen_count count = { 0 };
	struct nb_policy *policy;
	struct nb_err err = { 0 };
	struct nb_gen *g;
	struct nb_buf b;
	struct both all;

	made_image(&b, "p", text, NULL, 0);
	NEED(!nb_policy_new(&policy, b.data, b.size, NULL, &err), "%s", err.text);
	NEED(!nb_gen_new(&g, &policy, 1, NULL, &err), "%s", err.text);
	all = assembled(text, NULL, 0);
	ck_assert_uint_lt(nb_exec_compiled(g->prog[0].exec), all.j->size);
	nb_gen_run_tuner(g, &ctx, &count);
	ck_assert_int_eq(ctx.algo, 1);
	ck_assert_int_eq(ctx.proto, 2);
	drop(all);
	nb_gen_put(g);
	nb_policy_put(policy);
	nb_buf_fini(&b);
}

/* A policy that does this and that, as .rodata says. */
static struct nb_gen *made_with(uint32_t constant)
{
	static const char text[] = "lddw map_value %r2, 0, 0\n"
				   "ldxw %r3, [%r2]\njeq %r3, 7, seven\n"
				   "lddw %r4, 0x12fe34dc00001890\n"
				   "stxw [%r1+76], %r4\nja out\nseven:\n"
				   "stw [%r1+76], 5\nout:\n"
				   "mov %r0, 0\nexit\n";
	unsigned char bytes[sizeof(constant)];
	const struct nb_map_spec rodata = { .name = ".rodata",
					    .type = NB_MAP_ARRAY,
					    .key_size = 4,
					    .value_size = sizeof(constant),
					    .max_entries = 1,
					    .flags = NB_F_RDONLY_PROG,
					    .origin = NB_ORIGIN_RODATA,
					    .init = bytes };
	struct nb_policy *policy;
	struct nb_err err = { 0 };
	struct nb_gen *g;
	struct nb_buf b;

	memcpy(bytes, &constant, sizeof(constant));
	made_image(&b, "p", text, &rodata, 1);
	NEED(!nb_policy_new(&policy, b.data, b.size, NULL, &err), "%s", err.text);
	NEED(!nb_gen_new(&g, &policy, 1, NULL, &err), "%s", err.text);
	nb_policy_put(policy);
	nb_buf_fini(&b);
	return g;
}

/* Constants decide branches before there is any code, and nobody writes to
 * them any more. */
TEST(rodata_is_folded_and_frozen)
{
	const uint64_t wide_constant = 0x12fe34dc00001890;
	const uint32_t key = 0, eight = 8;
	struct nb_gen *seven = made_with(7), *other = made_with(8);
	const struct nb_jit *without = seven->prog[0].exec->jit;
	const struct nb_jit *with = other->prog[0].exec->jit;
	struct nb_gen_count count = { 0 };
	struct ncclbpf_tuner ctx = { .algo = -1, .proto = -1 };
	struct nb_err err = { 0 };

	ck_assert(without && with);
	ck_assert_uint_lt(without->size, with->size);
#if defined(__x86_64__)
	ck_assert(memmem(with->code, with->size, &wide_constant, 8));
#endif
	ck_assert(!memmem(without->code, without->size, &wide_constant, 8));
	ck_assert_int_eq(nb_map_write(seven->policy[0].maps[0], &key, &eight, NB_ANY, &err),
			 NB_E_READONLY);
	ck_assert_msg(strstr(err.text, "frozen"), "%s", err.text);
	nb_gen_run_tuner(seven, &ctx, &count);
	ck_assert_uint_eq(ctx.channels, 5);
	nb_gen_run_tuner(other, &ctx, &count);
	ck_assert_uint_eq(ctx.channels, 0x1890);
	nb_gen_put(seven);
	nb_gen_put(other);
}

TEST(programs_that_are_not_compiled)
{
	static const char *const text[] = { "mov %r10, 1\nexit", "ldxdw %r10, [%r1]\nexit",
					    "ja +5\nexit", "jeq %r0, 1, -3\nexit",
					    "call local +9\nexit" };

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct nb_err err = { 0 };
		struct nb_exec *x;

		put_program(text[i]);
		ck_assert(!bind(&x, NULL, 0, &err));
		ck_assert_int_eq(compile_one(x, NULL, &err), NB_E_NOTSUP);
		ck_assert(!x->jit && *err.text);
		nb_exec_free(x);
	}
}

UNIT_MAIN_WITH("jit_pages", if (!jit_available()) return no_compiler();)
