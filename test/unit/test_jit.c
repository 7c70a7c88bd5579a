// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Machine code against the interpreter, and arithmetic also against a
// reference of its own made of 128-bit integers. Each operation with each
// pair of registers, since encodings differ by register, with the whole
// register file compared.
#include "test/unit/unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "test/unit/jit_both.h"

static void alu_pair(const struct nb_insn_spec *row, enum nb_op op, unsigned dst, unsigned src,
		     unsigned features)
{
	struct file f, got;
	struct both b;

	p.n = 0;
	load_file();
	put(op, dst, src, 0, 0);
	store_file();
	b = make(NULL, 0, NULL, features);
	for (unsigned i = 0; i < NEDGE; i++)
		for (unsigned k = 0; k < NEDGE; k++) {
			fill(&f, i * 31 + k);
			f.in[src] = edge[k];
			if (row->operand != NB_OPND_REG || dst != src)
				f.in[dst] = edge[i];
			got = agree(&b, &f, row->mnemonic, dst, src);
			NEED(got.out[dst] == reference(row, f.in[dst], f.in[src]),
			     "%s r%u r%u of %#lx and %#lx", row->mnemonic, dst, src, f.in[dst],
			     f.in[src]);
			if (row->operand != NB_OPND_REG)
				break;
		}
	drop(b);
}

static void alu_immediates(const struct nb_insn_spec *row, enum nb_op op, unsigned dst)
{
	for (unsigned k = 0; k < NEDGE + 33; k++) {
		int32_t imm =
			k < NEDGE ? (int32_t)(uint32_t)edge[k] : (int32_t)(1u << (k - NEDGE) % 32);
		struct file f, got;
		struct both b;

		p.n = 0;
		load_file();
		put(op, dst, 0, 0, imm);
		store_file();
		b = make(NULL, 0, NULL, (unsigned)ALL);
		for (unsigned i = 0; i < NEDGE; i++) {
			fill(&f, k);
			f.in[dst] = edge[i];
			got = agree(&b, &f, row->mnemonic, dst, dst);
			NEED(got.out[dst] == reference(row, edge[i], (uint64_t)(int64_t)imm),
			     "%s r%u of %#lx and %d", row->mnemonic, dst, edge[i], imm);
		}
		drop(b);
	}
}

static unsigned alu_rows(bool imm)
{
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		bool reg = row->operand == NB_OPND_REG;
		bool shift = row->fn == NB_FN_LSH || row->fn == NB_FN_RSH || row->fn == NB_FN_ARSH;

		if (row->kind != NB_KIND_ALU || imm != (row->operand == NB_OPND_IMM))
			continue;
		rows++;
		for (unsigned dst = 0; dst < NREGS; dst++) {
			if (imm)
				alu_immediates(row, (enum nb_op)op, dst);
			for (unsigned src = 0; !imm && src < NREGS; src++) {
				if (!reg && src != dst)
					continue;
				alu_pair(row, (enum nb_op)op, dst, src, (unsigned)ALL);
				if (shift) /* without BMI2 */
					alu_pair(row, (enum nb_op)op, dst, src, 0);
			}
		}
	}
	return rows;
}

TEST(alu_of_every_pair_of_registers)
{
	ck_assert_uint_eq(alu_rows(false), 44);
}

TEST(alu_with_every_kind_of_immediate)
{
	ck_assert_uint_eq(alu_rows(true), 28);
}

static void jump_pair(const struct nb_insn_spec *row, enum nb_op op, unsigned dst, unsigned src,
		      int32_t imm)
{
	bool reg = row->operand == NB_OPND_REG;
	struct file f, got;
	struct both b;

	p.n = 0;
	load_file();
	put(NB_OP_STX64, 10, 3, -16, 0);
	put(op, dst, src, 2, imm);
	put(NB_OP_LDX64, 3, 10, -8, 0);
	put(NB_OP_ST64, 3, 0, 160, 1);
	put(NB_OP_LDX64, 3, 10, -16, 0);
	store_file();
	b = make(NULL, 0, NULL, (unsigned)ALL);
	for (unsigned i = 0; i < NEDGE; i++)
		for (unsigned k = 0; k < (reg ? NEDGE : 1); k++) {
			uint64_t second = (uint64_t)(int64_t)imm;

			fill(&f, i * 31 + k);
			f.in[dst] = edge[i];
			if (reg) {
				f.in[src] = edge[k];
				second = f.in[src];
			}
			got = agree(&b, &f, row->mnemonic, dst, src);
			NEED(got.cell[0] == !compares(row, f.in[dst], second),
			     "%s r%u r%u of %#lx and %#lx", row->mnemonic, dst, src, f.in[dst],
			     second);
		}
	drop(b);
}

TEST(jumps_of_every_pair_of_registers)
{
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		bool reg = row->operand == NB_OPND_REG;

		if (row->kind != NB_KIND_JMP)
			continue;
		rows++;
		for (unsigned dst = 0; dst < NREGS; dst++)
			for (unsigned k = 0; k < (reg ? NREGS : NEDGE); k++)
				jump_pair(row, (enum nb_op)op, dst, reg ? k : dst,
					  (int32_t)(uint32_t)edge[k]);
	}
	ck_assert_uint_eq(rows, 44);
}

/* ---- memory ---- */

/* @op at @off of the register @base, which points so that the access ends
 * where the memory does, or begins there. */
static void access_row(enum nb_op op, unsigned base, unsigned other, int32_t off, bool at_end)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);
	bool load = row->kind == NB_KIND_LOAD;
	enum { SIZE = 4096 };
	static unsigned char *m;
	unsigned char before[8], want[8];
	struct file f, copy;
	unsigned char *at;
	struct both b;
	size_t n;

	if (!m)
		m = guarded(SIZE);
	n = row->width / 8;
	at = at_end ? m + SIZE - n : m;
	p.n = 0;
	load_file();
	put(op, load ? other : base, load ? base : other, off, (int32_t)0x89abcdef);
	store_file();
	b = make(NULL, 0, NULL, (unsigned)ALL);
	fill(&f, base * 16 + other);
	f.in[base] = (uintptr_t)at - (uint64_t)(int64_t)off;
	for (size_t i = 0; i < n; i++)
		before[i] = at[i] = (unsigned char)(0x8f - 17 * i);
	copy = f;
	nb_exec_interpret(b.x, &copy, sizeof(copy));
	memcpy(want, at, n);
	memcpy(at, before, n);
	copy = f;
	enter(&b, &copy, sizeof(copy));
	NEED(!memcmp(at, want, n), "%s r%u r%u: memory", row->mnemonic, base, other);
	memcpy(at, before, n);
	agree(&b, &f, row->mnemonic, base, other);
	drop(b);
}

TEST(loads_and_stores_of_every_pair_of_registers)
{
	static const int32_t offs[] = { 0, 1, -1, 127, -128, 128, -129, 32767, -32768, 8 };
	unsigned n = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		enum nb_kind kind = nb_spec_insn((enum nb_op)op)->kind;

		if (kind != NB_KIND_LOAD && kind != NB_KIND_STORE)
			continue;
		for (unsigned i = 0; i < NREGS * NREGS * 10; i++, n++)
			access_row((enum nb_op)op, i % NREGS, i / 10 % NREGS, offs[i / 100], i & 1);
	}
	ck_assert_uint_eq(n, 23 * 1000);
}

/* Where r10 is only a base it is no register, where it is more it is one. */
TEST(frame_as_base_and_as_value)
{
	uint64_t m[2] = { 5, 0 };

	ck_assert_uint_eq(run("stdw [%r10-512], 7\nldxdw %r0, [%r10-512]\n"
			      "exit"),
			  7);
	ck_assert_uint_eq(run("stb [%r10-1], 7\nldxb %r0, [%r10-1]\nexit"), 7);
	ck_assert_uint_eq(run("mov %r1, %r10\nadd %r1, -16\nstdw [%r1+8], 3\n"
			      "mov %r2, %r10\nldxdw %r0, [%r2-8]\nexit"),
			  3);
	ck_assert_uint_eq(run("mov %r1, %r10\nadd %r1, -16\nstdw [%r1+8], 3\n"
			      "mov %r0, %r10\nsub %r0, %r1\nexit"),
			  16);
	ck_assert_uint_eq(run("mov %r1, 4\nadd %r1, %r10\nsub %r1, %r10\n"
			      "mov %r0, %r1\nstdw [%r10-8], 1\nexit"),
			  4);
	ck_assert_uint_eq(run("stdw [%r10-8], 1\nmov %r0, 9\n"
			      "jeq %r0, %r10, +1\nldxdw %r0, [%r10-8]\nexit"),
			  1);
	ck_assert_uint_eq(run("mov %r1, 5\nstxdw [%r10-8], %r10\n"
			      "lock add [%r10-8], %r1\nldxdw %r0, [%r10-8]\n"
			      "sub %r0, %r10\nexit"),
			  5);
	ck_assert_uint_eq(run_with("mov %r0, %r10\nstxdw [%r1+8], %r0\n"
				   "mov %r0, %r2\nldxdw %r2, [%r1]\n"
				   "add %r0, %r2\nexit",
				   m, sizeof(m)),
			  21);
	/* frames are 16-byte aligned in every form */
	ck_assert_uint_eq(run("mov %r0, %r10\nand %r0, 15\nexit"), 0);
	ck_assert_uint_eq(run("mov %r0, 0\nadd %r0, %r10\nand %r0, 15\nexit"), 0);
	ck_assert_uint_eq(run("call local f\nexit\nf:\nmov %r0, %r10\n"
			      "and %r0, 15\nexit"),
			  0);
}

static void atomic_pair(enum nb_op op, unsigned base, unsigned src, unsigned features)
{
	static const uint64_t some[] = { 0, 1, 0xffffffff, UINT64_MAX, 0x123456789abcdef0 };
	const struct nb_insn_spec *row = nb_spec_insn(op);
	static uint64_t cell[2];
	struct both b;

	p.n = 0;
	load_file();
	put(op, base, src, 8, 0);
	store_file();
	b = make(NULL, 0, NULL, features);
	for (int i = 0; i < 125; i++) {
		struct file mine, theirs;
		uint64_t old[2];

		fill(&mine, (uint64_t)i);
		mine.in[src] = some[i % 5];
		mine.in[0] = some[i / 25];
		mine.in[base] = (uintptr_t)cell - 8;
		if (i % 7 == 0 && base != 0) /* a cmpxchg that succeeds */
			mine.in[0] = some[i / 5 % 5] | (i & 1 ? 1ull << 40 : 0);
		theirs = mine;
		cell[0] = some[i / 5 % 5];
		enter(&b, &mine, sizeof(mine));
		memcpy(old, cell, sizeof(old));
		cell[0] = some[i / 5 % 5];
		nb_exec_interpret(b.x, &theirs, sizeof(theirs));
		NEED(!memcmp(old, cell, sizeof(old)) && !memcmp(&mine, &theirs, sizeof(mine)),
		     "%s r%u r%u", row->mnemonic, base, src);
	}
	drop(b);
}

TEST(atomics_of_every_pair_of_registers)
{
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		if (nb_spec_insn((enum nb_op)op)->kind != NB_KIND_ATOMIC)
			continue;
		rows++;
		for (unsigned i = 0; i < NREGS * NREGS; i++)
			for (int less = 0; less < 2; less++)
				atomic_pair((enum nb_op)op, i / NREGS, i % NREGS,
					    less ? 0 : (unsigned)ALL);
	}
	ck_assert_uint_eq(rows, 20);
}

struct shared {
	struct both b;
	uint64_t m[4];
	pthread_barrier_t start;
};

/* Long enough for the threads to meet. */
enum { THREADS = 4, ROUNDS = 500000 };

static void *hammer(void *arg)
{
	struct shared *s = arg;

	pthread_barrier_wait(&s->start);
	for (int i = 0; i < ROUNDS; i++)
		enter(&s->b, s->m, sizeof(s->m));
	return NULL;
}

static void atomics_between_threads(unsigned features)
{
	struct shared s = { 0 };
	pthread_t t[THREADS];

	put_program("mov %r2, 1\nmov %r3, 1\n"
		    "lock add [%r1], %r2\n"
		    "lock fetch add32 [%r1+8], %r3\n"
		    "mov %r4, 1\nlock fetch xor [%r1+24], %r4\n"
		    "again:\nldxdw %r0, [%r1+16]\n"
		    "mov %r5, %r0\nadd %r5, 2\nmov %r6, %r0\n"
		    "lock cmpxchg [%r1+16], %r5\n"
		    "jne %r0, %r6, again\nexit");
	s.b = make(NULL, 0, NULL, features);
	ck_assert(!pthread_barrier_init(&s.start, NULL, THREADS));
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, hammer, &s), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(s.m[0], THREADS * ROUNDS);
	ck_assert_uint_eq(s.m[1], THREADS * ROUNDS);
	ck_assert_uint_eq(s.m[2], 2 * THREADS * ROUNDS);
	ck_assert_uint_eq(s.m[3], 0);
	drop(s.b);
}

TEST(atomics_are_atomic_between_threads)
{
	atomics_between_threads((unsigned)ALL);
	atomics_between_threads(0);
}

/* ---- the rows that no test above goes through ---- */

/* One program a row that the loops over kinds leave out. */
static const struct {
	enum nb_op op;
	uint64_t want;
	const char *text;
} single[] = {
	{ NB_OP_JA, 3, "mov %r0, 3\nja over\nmov %r0, 4\nover:\nexit" },
	{ NB_OP_JA32, 3, "mov %r0, 3\nja32 over\nmov %r0, 4\nover:\nexit" },
	{ NB_OP_MAY_GOTO, 5,
	  "mov %r0, 0\nagain:\nadd %r0, 1\njeq %r0, 5, over\n"
	  "may_goto over\nja again\nover:\nexit" },
	{ NB_OP_CALL_HELPER, 9,
	  "mov %r1, 9\nlddw func %r2, f\nmov %r3, 0\nmov %r4, 0\n"
	  "call 181\nexit\nf:\nmov %r0, 0\nexit" },
	{ NB_OP_CALL_LOCAL, 8,
	  "mov %r1, 7\ncall local f\nexit\nf:\nmov %r0, %r1\nadd %r0, 1\n"
	  "exit" },
	{ NB_OP_EXIT, 1, "mov %r0, 1\nexit\nmov %r0, 2\nexit" },
	{ NB_OP_LDDW_IMM, 0x8000000180000001, "lddw %r0, 0x8000000180000001\nexit" },
	{ NB_OP_LDDW_MAP, 77,
	  "stw [%r10-4], 1\nmov %r2, %r10\nadd %r2, -4\n"
	  "lddw map %r1, 0\ncall 1\njeq %r0, 0, over\n"
	  "ldxdw %r0, [%r0]\nover:\nexit" },
	{ NB_OP_LDDW_MAP_VALUE, 77, "lddw map_value %r1, 0, 8\nldxdw %r0, [%r1]\nexit" },
	{ NB_OP_LDDW_FUNC, 12,
	  "mov %r1, 5\nmov %r3, %r10\nadd %r3, -8\nstdw [%r10-8], 2\n"
	  "lddw func %r2, f\nmov %r4, 0\ncall 181\nldxdw %r0, [%r10-8]\n"
	  "exit\nf:\nldxdw %r1, [%r2]\nadd %r1, 2\nstxdw [%r2], %r1\n"
	  "mov %r0, 0\nexit" },
};

/* Is @op among the instructions of p? */
static bool has_row(enum nb_op op)
{
	static struct nb_insn in[MAX];
	struct nb_err err = { 0 };
	bool is = false;

	NEED(!nb_decode(in, p.s, p.n, &err), "%s", err.text);
	for (size_t pc = 0; pc < p.n; pc++)
		is |= in[pc].op == op;
	return is;
}

static bool run_single(enum nb_op op, struct nb_map *m)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		struct both b;

		if (single[i].op != op)
			continue;
		found = true;
		b = assembled(single[i].text, &m, 1);
		NEED(has_row(op), "%s: not in its program", nb_spec_insn(op)->mnemonic);
		ck_assert_uint_eq(enter(&b, NULL, 0), single[i].want);
		ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0), single[i].want);
		drop(b);
	}
	return found;
}

/* So that a row which is added is noticed: it is of a kind whose rows are all
 * gone through above with every register and edge values, or it stands here. */
TEST(every_row_has_its_test)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, 8, 3);
	uint64_t value = 77;
	uint32_t key = 1;
	unsigned rows = 0;

	ck_assert(!nb_map_write(m, &key, &value, NB_ANY, NULL));
	for (unsigned i = 0; i < NB_OP_LDDW_HI; i++, rows++) {
		enum nb_op op = (enum nb_op)i;

		switch ((int)nb_spec_insn(op)->kind) {
		case NB_KIND_ALU:
		case NB_KIND_JMP:
		case NB_KIND_LOAD:
		case NB_KIND_STORE:
		case NB_KIND_ATOMIC:
			break;
		default:
			NEED(run_single(op, m), "%s has no test", nb_spec_insn(op)->mnemonic);
		}
	}
	for (unsigned dst = 0; dst < NREGS; dst++)
		for (unsigned i = 0; i < NEDGE; i++) {
			struct both b;

			p.n = 0;
			put_const(dst, edge[i]);
			put(NB_OP_MOV64_X, 0, dst, 0, 0);
			put(NB_OP_EXIT, 0, 0, 0, 0);
			b = make(NULL, 0, NULL, (unsigned)ALL);
			ck_assert_uint_eq(enter(&b, NULL, 0), edge[i]);
			drop(b);
		}
	printf("# %u rows\n", rows);
	nb_map_put(m);
}

UNIT_MAIN_WITH("jit", if (!jit_available()) return no_compiler();)
