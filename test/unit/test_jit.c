// SPDX-License-Identifier: MIT
// Machine code against the interpreter, and arithmetic also against a
// reference of its own made of 128-bit integers. Each operation with each
// pair of registers, since encodings differ by register, with the whole
// register file compared; then jumps at every distance where their form
// changes, frames, helpers, and random programs with everything in them
// (JIT_PROGRAMS=N; JIT_SEED=N, alone: the one program of that seed).
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/exec/jit.h"
#include "core/exec/trace.h"
#include "core/map/ops.h"
#include "core/map/ringbuf.h"
#include "core/ncclbpf.h"
#include "core/tbl/ctx.h"
#include "test/unit/made.h"

enum { MAX = NB_IMAGE_MAX_SLOTS, NREGS = 10, NMAPS = 8, ALL = -1 };

/* Maps of random programs: the first two are arrays. */
enum { PERCPU = 4, QUEUE = 5, RING = 6, PROGS = 7 };

static const uint64_t edge[] = { 0,
				 1,
				 2,
				 7,
				 31,
				 32,
				 63,
				 64,
				 0x7f,
				 0x80,
				 0x8000,
				 0x7fffffff,
				 0x80000000,
				 0xffffffff,
				 0x100000000,
				 0x7fffffffffffffff,
				 0x8000000000000000,
				 0xffffffff80000000,
				 0xffffffffffffffff,
				 0xfffffffffffffff9,
				 0x0123456789abcdef,
				 0xfedcba9876543210 };
enum { NEDGE = sizeof(edge) / sizeof(edge[0]) };

/* Check writes a message for each of its assertions, true or not: too slow
 * where there are millions. */
#define NEED(good, ...)                            \
	do {                                       \
		if (!(good))                       \
			ck_abort_msg(__VA_ARGS__); \
	} while (0)

/* ---- programs ---- */

struct prog {
	struct nb_slot s[MAX];
	size_t n;
};

static struct prog p;

enum { NHELPERS = 0x20005 };
static unsigned called[NHELPERS]; /* helpers of the programs, by number */

static int32_t field(int32_t fixed, int32_t wanted)
{
	return fixed == NB_FIELD_ANY ? wanted : fixed;
}

static size_t put(enum nb_op op, unsigned dst, unsigned src, int32_t off,
		  int32_t imm)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);

	NEED(p.n < MAX, "%zu slots", p.n);
	p.s[p.n] =
		(struct nb_slot){ row->opcode,
				  (uint8_t)(field(row->dst, (int32_t)dst) |
					    field(row->src, (int32_t)src) << 4),
				  (int16_t)field(row->off, off),
				  field(row->imm, imm) };
	if (op == NB_OP_CALL_HELPER && imm >= 0 && imm < NHELPERS)
		called[imm]++;
	return p.n++;
}

static void put_const(unsigned dst, uint64_t v)
{
	put(NB_OP_LDDW_IMM, dst, 0, 0, (int32_t)(uint32_t)v);
	p.s[p.n++] = (struct nb_slot){ .imm = (int32_t)(uint32_t)(v >> 32) };
}

static void put_map(unsigned dst, int32_t map)
{
	put(NB_OP_LDDW_MAP, dst, 0, 0, map);
	p.s[p.n++] = (struct nb_slot){ 0 };
}

static int bind(struct nb_exec **x, struct nb_map *const *maps, uint32_t nmaps,
		struct nb_err *err)
{
	static const struct nb_map_spec specs[NMAPS];
	const struct nb_func func = { .name = "f", .end = (uint32_t)p.n };
	const struct nb_prog prog = { .name = "f",
				      .section = "tuner",
				      .slots = p.s,
				      .nslots = (uint32_t)p.n,
				      .funcs = &func,
				      .nfuncs = 1 };
	const struct nb_image img = { .name = "test",
				      .maps = specs,
				      .nmaps = nmaps,
				      .progs = &prog,
				      .nprogs = 1 };

	return nb_exec_new(x, &img, 0, maps, NULL, err);
}

/* The program in p, interpreted and compiled. */
struct both {
	struct nb_exec *x;
	struct nb_jit *j;
};

static struct both make(struct nb_map *const *maps, uint32_t nmaps,
			const uint8_t *aux, unsigned features)
{
	struct nb_err err = { 0 };
	struct both b;

	NEED(!bind(&b.x, maps, nmaps, &err), "%s", err.text);
	if (features == (unsigned)ALL)
		NEED(!nb_jit_compile(&b.j, b.x, aux, &err), "%s", err.text);
	else
		NEED(!nb_jit_compile_for(&b.j, b.x, aux, features, &err), "%s",
		     err.text);
	return b;
}

static void drop(struct both b)
{
	nb_jit_free(b.j);
	nb_exec_free(b.x);
}

static uint64_t enter(const struct both *b, void *ctx, uint64_t size)
{
	return b->j->entry(b->x, ctx, size);
}

static void put_program(const char *text)
{
	struct nb_err err = { 0 };

	NEED(!nb_asm(p.s, MAX, &p.n, text, &err), "%s: %s", text, err.text);
}

static struct both assembled(const char *text, struct nb_map *const *maps,
			     uint32_t nmaps)
{
	put_program(text);
	return make(maps, nmaps, NULL, (unsigned)ALL);
}

/* r0 of @text by both engines, which must be the same. */
static uint64_t run_with(const char *text, void *ctx, size_t size)
{
	struct both b = assembled(text, NULL, 0);
	uint64_t r0 = enter(&b, ctx, size);

	ck_assert_uint_eq(r0, nb_exec_interpret(b.x, ctx, size));
	drop(b);
	return r0;
}

static uint64_t run(const char *text)
{
	return run_with(text, NULL, 0);
}

/* ---- the reference ---- */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

static uint64_t cut(uwide v, unsigned width)
{
	return width == 64 ? (uint64_t)v
			   : (uint64_t)(v & (((uint64_t)1 << width) - 1));
}

static wide with_sign(uint64_t v, unsigned width)
{
	wide x = cut(v, width);

	return x >> (width - 1) & 1 ? x - ((wide)1 << width) : x;
}

static uint64_t reference(const struct nb_insn_spec *row, uint64_t a,
			  uint64_t b)
{
	unsigned w = row->width, n;
	wide sa = with_sign(a, w), sb = with_sign(b, w);
	uwide ua = cut(a, w), ub = cut(b, w), r = 0;

	n = (unsigned)(ub % w);
	switch ((int)row->fn) {
	case NB_FN_ADD:
		r = ua + ub;
		break;
	case NB_FN_SUB:
		r = ua - ub;
		break;
	case NB_FN_MUL:
		r = ua * ub;
		break;
	case NB_FN_DIV:
		r = ub ? ua / ub : 0;
		break;
	case NB_FN_MOD:
		r = ub ? ua % ub : ua;
		break;
	case NB_FN_SDIV:
		r = sb ? (uwide)(sa / sb) : 0;
		break;
	case NB_FN_SMOD:
		r = sb ? (uwide)(sa % sb) : ua;
		break;
	case NB_FN_OR:
		r = ua | ub;
		break;
	case NB_FN_AND:
		r = ua & ub;
		break;
	case NB_FN_XOR:
		r = ua ^ ub;
		break;
	case NB_FN_LSH:
		r = ua << n;
		break;
	case NB_FN_RSH:
		r = ua >> n;
		break;
	case NB_FN_ARSH:
		r = (uwide)(sa >> n);
		break;
	case NB_FN_MOV:
		r = ub;
		break;
	case NB_FN_NEG:
		r = (uwide)-sa;
		break;
	case NB_FN_MOVSX8:
		r = (uwide)with_sign(b, 8);
		break;
	case NB_FN_MOVSX16:
		r = (uwide)with_sign(b, 16);
		break;
	case NB_FN_MOVSX32:
		r = (uwide)with_sign(b, 32);
		break;
	case NB_FN_LE:
		r = ua;
		break;
	case NB_FN_BE:
	case NB_FN_BSWAP:
		for (unsigned i = 0; i < w; i += 8)
			r = r << 8 | (ua >> i & 0xff);
		break;
	default:
		ck_abort_msg("%s is no ALU row", row->name);
	}
	return cut(r, w);
}

/* ---- every register ---- */

/* ctx: ten words in, ten words out, and what else a program wants. */
struct file {
	uint64_t in[NREGS], out[NREGS], cell[4];
};

/* The context's address stays at r10 - 8; every register gets its word. */
static void load_file(void)
{
	put(NB_OP_STX64, 10, 1, -8, 0);
	for (unsigned r = 0; r < NREGS; r++)
		if (r != 1)
			put(NB_OP_LDX64, r, 1, (int32_t)(8 * r), 0);
	put(NB_OP_LDX64, 1, 1, 8, 0);
}

/* By way of the frame, from -96 on: all registers are in use. */
static void store_file(void)
{
	for (unsigned r = 0; r < NREGS; r++)
		put(NB_OP_STX64, 10, r, -96 + (int32_t)(8 * r), 0);
	put(NB_OP_LDX64, 1, 10, -8, 0);
	for (unsigned r = 0; r < NREGS; r++) {
		put(NB_OP_LDX64, 2, 10, -96 + (int32_t)(8 * r), 0);
		put(NB_OP_STX64, 1, 2, 80 + (int32_t)(8 * r), 0);
	}
	put(NB_OP_MOV64_K, 0, 0, 0, 0);
	put(NB_OP_EXIT, 0, 0, 0, 0);
}

static void fill(struct file *f, uint64_t salt)
{
	memset(f, 0, sizeof(*f));
	for (unsigned r = 0; r < NREGS; r++)
		f->in[r] = (salt + r + 1) * 0x9e3779b97f4a7c15;
}

/* Both engines over @f; the results must be the same everywhere. */
static struct file agree(const struct both *b, const struct file *f,
			 const char *what, unsigned dst, unsigned src)
{
	struct file mine = *f, theirs = *f;
	uint64_t r0 = enter(b, &mine, sizeof(mine));

	NEED(r0 == nb_exec_interpret(b->x, &theirs, sizeof(theirs)), "%s: r0",
	     what);
	for (unsigned r = 0; r < NREGS; r++)
		NEED(mine.out[r] == theirs.out[r],
		     "%s r%u r%u of %#lx and %#lx: r%u is %#lx, not "
		     "%#lx",
		     what, dst, src, f->in[dst], f->in[src], r, mine.out[r],
		     theirs.out[r]);
	NEED(!memcmp(&mine, &theirs, sizeof(mine)), "%s: memory", what);
	return mine;
}

static void alu_pair(const struct nb_insn_spec *row, enum nb_op op,
		     unsigned dst, unsigned src, unsigned features)
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
			got = agree(&b, &f, row->name, dst, src);
			NEED(got.out[dst] ==
				     reference(row, f.in[dst], f.in[src]),
			     "%s r%u r%u of %#lx and %#lx", row->name, dst, src,
			     f.in[dst], f.in[src]);
			if (row->operand != NB_OPND_REG)
				break;
		}
	drop(b);
}

static void alu_immediates(const struct nb_insn_spec *row, enum nb_op op,
			   unsigned dst)
{
	for (unsigned k = 0; k < NEDGE + 33; k++) {
		int32_t imm = k < NEDGE ? (int32_t)(uint32_t)edge[k]
					: (int32_t)(1u << (k - NEDGE) % 32);
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
			got = agree(&b, &f, row->name, dst, dst);
			NEED(got.out[dst] == reference(row, edge[i],
						       (uint64_t)(int64_t)imm),
			     "%s r%u of %#lx and %d", row->name, dst, edge[i],
			     imm);
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
		bool shift = row->fn == NB_FN_LSH || row->fn == NB_FN_RSH ||
			     row->fn == NB_FN_ARSH;

		if (row->kind != NB_KIND_ALU ||
		    imm != (row->operand == NB_OPND_IMM))
			continue;
		rows++;
		for (unsigned dst = 0; dst < NREGS; dst++) {
			if (imm)
				alu_immediates(row, (enum nb_op)op, dst);
			for (unsigned src = 0; !imm && src < NREGS; src++) {
				if (!reg && src != dst)
					continue;
				alu_pair(row, (enum nb_op)op, dst, src,
					 (unsigned)ALL);
				if (shift) /* without BMI2 */
					alu_pair(row, (enum nb_op)op, dst, src,
						 0);
			}
		}
	}
	return rows;
}

START_TEST(alu_of_every_pair_of_registers)
{
	ck_assert_uint_eq(alu_rows(false), 44);
}
END_TEST

START_TEST(alu_with_every_kind_of_immediate)
{
	ck_assert_uint_eq(alu_rows(true), 28);
}
END_TEST

static bool compares(const struct nb_insn_spec *row, uint64_t a, uint64_t b)
{
	unsigned w = row->width;
	wide sa = with_sign(a, w), sb = with_sign(b, w);

	a = cut(a, w);
	b = cut(b, w);
	switch ((int)row->fn) {
	case NB_FN_JEQ:
		return a == b;
	case NB_FN_JNE:
		return a != b;
	case NB_FN_JSET:
		return (a & b) != 0;
	case NB_FN_JGT:
		return a > b;
	case NB_FN_JGE:
		return a >= b;
	case NB_FN_JLT:
		return a < b;
	case NB_FN_JLE:
		return a <= b;
	case NB_FN_JSGT:
		return sa > sb;
	case NB_FN_JSGE:
		return sa >= sb;
	case NB_FN_JSLT:
		return sa < sb;
	case NB_FN_JSLE:
		return sa <= sb;
	}
	ck_abort_msg("%s is no jump", row->name);
	return false;
}

/* What is not jumped over sets ctx word 20 to 1. */
static void jump_pair(const struct nb_insn_spec *row, enum nb_op op,
		      unsigned dst, unsigned src, int32_t imm)
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
			got = agree(&b, &f, row->name, dst, src);
			NEED(got.cell[0] == !compares(row, f.in[dst], second),
			     "%s r%u r%u of %#lx and %#lx", row->name, dst, src,
			     f.in[dst], second);
		}
	drop(b);
}

START_TEST(jumps_of_every_pair_of_registers)
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
				jump_pair(row, (enum nb_op)op, dst,
					  reg ? k : dst,
					  (int32_t)(uint32_t)edge[k]);
	}
	ck_assert_uint_eq(rows, 44);
}
END_TEST

/* ---- memory ---- */

/* A page of memory between two that nobody may touch. */
static unsigned char *guarded(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *m = mmap(NULL, size + 2 * page, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(m != MAP_FAILED);
	ck_assert(!mprotect(m + page, size, PROT_READ | PROT_WRITE));
	return m + page;
}

/* @op at @off of the register @base, which points so that the access ends
 * where the memory does, or begins there. */
static void access_row(enum nb_op op, unsigned base, unsigned other,
		       int32_t off, bool at_end)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);
	bool load = row->kind == NB_KIND_LDX || row->kind == NB_KIND_LDXS ||
		    row->kind == NB_KIND_LOAD_ACQ;
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
	put(op, load ? other : base, load ? base : other, off,
	    (int32_t)0x89abcdef);
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
	NEED(!memcmp(at, want, n), "%s r%u r%u: memory", row->name, base,
	     other);
	memcpy(at, before, n);
	agree(&b, &f, row->name, base, other);
	drop(b);
}

START_TEST(loads_and_stores_of_every_pair_of_registers)
{
	static const int32_t offs[] = { 0,   1,	   -1,	  127,	  -128,
					128, -129, 32767, -32768, 8 };
	unsigned n = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		enum nb_kind kind = nb_spec_insn((enum nb_op)op)->kind;

		if (kind != NB_KIND_LDX && kind != NB_KIND_LDXS &&
		    kind != NB_KIND_ST && kind != NB_KIND_STX &&
		    kind != NB_KIND_LOAD_ACQ && kind != NB_KIND_STORE_REL)
			continue;
		for (unsigned i = 0; i < NREGS * NREGS * 10; i++, n++)
			access_row((enum nb_op)op, i % NREGS, i / 10 % NREGS,
				   offs[i / 100], i & 1);
	}
	ck_assert_uint_eq(n, 23 * 1000);
}
END_TEST

/* Where r10 is only a base it is no register, where it is more it is one. */
START_TEST(frame_as_base_and_as_value)
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
	ck_assert_uint_eq(run("mov %r0, 0\nadd %r0, %r10\nand %r0, 15\nexit"),
			  0);
	ck_assert_uint_eq(run("call local f\nexit\nf:\nmov %r0, %r10\n"
			      "and %r0, 15\nexit"),
			  0);
}
END_TEST

static void atomic_pair(enum nb_op op, unsigned base, unsigned src,
			unsigned features)
{
	static const uint64_t some[] = { 0, 1, 0xffffffff, UINT64_MAX,
					 0x123456789abcdef0 };
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
		NEED(!memcmp(old, cell, sizeof(old)) &&
			     !memcmp(&mine, &theirs, sizeof(mine)),
		     "%s r%u r%u", row->name, base, src);
	}
	drop(b);
}

START_TEST(atomics_of_every_pair_of_registers)
{
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		if (nb_spec_insn((enum nb_op)op)->kind != NB_KIND_ATOMIC)
			continue;
		rows++;
		for (unsigned i = 0; i < NREGS * NREGS; i++)
			for (int less = 0; less < 2; less++)
				atomic_pair((enum nb_op)op, i / NREGS,
					    i % NREGS,
					    less ? 0 : (unsigned)ALL);
	}
	ck_assert_uint_eq(rows, 20);
}
END_TEST

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

START_TEST(atomics_are_atomic_between_threads)
{
	atomics_between_threads((unsigned)ALL);
	atomics_between_threads(0);
}
END_TEST

/* ---- control ---- */

/* Jumps over n slots of 3 to 10 bytes, forwards and backwards: the short form
 * reaches 127 bytes, and some distance falls on each side of that. */
START_TEST(jumps_of_every_distance)
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
				ck_assert_uint_eq(
					enter(&b, (void *)v, 0),
					nb_exec_interpret(b.x, (void *)v, 0));
			drop(b);
		}
}
END_TEST

START_TEST(a_jump_between_a_copy_and_an_addition)
{
	static const char text[] = "mov %r3, 40\nmov %r0, 5\n"
				   "jeq %r2, 1, middle\nmov %r0, %r3\n"
				   "middle:\nadd %r0, 2\nexit";

	ck_assert_uint_eq(run_with(text, NULL, 0), 42);
	ck_assert_uint_eq(run_with(text, NULL, 1), 7);
}
END_TEST

START_TEST(long_programs)
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
END_TEST

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

START_TEST(longest_program)
{
	for (unsigned features = 0; features < 2; features++) {
		struct both b;

		put_longest();
		ck_assert_uint_eq(p.n, NB_IMAGE_MAX_SLOTS);
		b = make(NULL, 0, NULL, features ? (unsigned)ALL : 0);
		printf("# %zu bytes of machine code\n", b.j->size);
		ck_assert_uint_eq(enter(&b, NULL, 0), 13 * 3 ^ 0x55);
		ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0),
				  13 * 3 ^ 0x55);
		drop(b);
	}
}
END_TEST

/* Loops whose callback can be any of many have a call of each. */
START_TEST(too_much_machine_code)
{
	enum { CALLBACKS = 250, LOOPS = 5000, END = 3 * CALLBACKS + 2 * LOOPS };
	struct nb_err err = { 0 };
	struct nb_exec *x;
	struct nb_jit *j;

	p.n = 0;
	for (int32_t i = 0; i < CALLBACKS; i++) {
		put(NB_OP_LDDW_FUNC, 2, 0, 0,
		    2 * (CALLBACKS + LOOPS) - (int32_t)p.n + i);
		p.s[p.n++] = (struct nb_slot){ 0 };
	}
	for (int32_t i = 0; i < LOOPS; i++) {
		put(NB_OP_LDX64, 2, 10, -8, 0);
		put(NB_OP_CALL_HELPER, 0, 0, 0, 181);
	}
	while (p.n < END + 1)
		put(NB_OP_EXIT, 0, 0, 0, 0);
	ck_assert(!bind(&x, NULL, 0, &err));
	ck_assert_int_eq(nb_jit_compile(&j, x, NULL, &err), NB_E_NOTSUP);
	ck_assert(!j);
	ck_assert_msg(strstr(err.text, "of machine code; at most 16777216"),
		      "%s", err.text);
	nb_exec_free(x);
}
END_TEST

START_TEST(calls_keep_r6_to_r9_and_r10)
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
END_TEST

static const char eight_frames[] =
	"mov %r1, 8\ncall local f\nexit\n"
	"f:\nmov %r6, %r1\nmov %r2, %r10\nmov %r3, %r10\n"
	"sub %r2, 512\nfill:\nstxdw [%r2], %r6\nadd %r2, 8\n"
	"jlt %r2, %r3, fill\n"
	"mov %r0, 0\njeq %r6, 2, bottom\nmov %r1, %r6\nsub %r1, 1\n"
	"call local f\nbottom:\n"
	"mov %r2, %r10\nsub %r2, 512\nsum:\nldxdw %r1, [%r2]\n"
	"add %r0, %r1\nadd %r2, 8\njlt %r2, %r10, sum\nexit";

START_TEST(eight_frames_each_with_its_own_stack)
{
	ck_assert_uint_eq(run(eight_frames), 64 * 35);
}
END_TEST

static void *on_small_stack(void *arg)
{
	struct both *b = arg;

	return (void *)(uintptr_t)enter(b, NULL, 0);
}

/* 16 KiB of stack, or the least that threads may have, with pages that nobody
 * may touch on both sides: the thread's own needs and eight frames fit. */
START_TEST(eight_frames_between_guard_pages)
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
END_TEST

START_TEST(address_of_a_callback_is_its_slot)
{
	ck_assert_uint_eq(run("mov %r1, 0\nlddw func %r0, f\nexit\n"
			      "mov %r0, 1\nf:\nexit"),
			  5);
}
END_TEST

START_TEST(may_goto_has_the_interpreters_budget)
{
	ck_assert_uint_eq(run("mov %r0, 0\nagain:\nmay_goto out\n"
			      "add %r0, 1\nja again\nout:\nexit"),
			  NB_MAY_GOTO_PASSES);
	/* all loops of a run share it, also across frames, and once it is
	 * used up it stays so */
	ck_assert_uint_eq(run("mov %r0, 0\ncall local f\nmay_goto out\n"
			      "add %r0, 1000\nout:\nexit\n"
			      "f:\nmay_goto out\nmay_goto out\n"
			      "add %r0, 1\nja f"),
			  NB_MAY_GOTO_PASSES / 2);
}
END_TEST

#if defined(__x86_64__)
/* Threads that never meet cannot tell: every atomic but the exchange, which
 * locks by itself, has the prefix. */
START_TEST(atomics_have_the_lock_prefix)
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
		ck_assert_msg(memchr(b.j->code, 0xf0, b.j->size) != NULL, "%s",
			      row->name);
		drop(b);
	}
}
END_TEST

/* Registers that callers expect to find again, in their order here. */
static uint64_t enter_checked(const struct both *b, void *ctx, uint64_t size,
			      bool *kept)
{
	const struct nb_exec *x = b->x;
	uint64_t r0, changed;

	__asm__ volatile(
		"lea -128(%%rsp), %%rsp\n\t" /* the red zone */
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
static uint64_t enter_checked(const struct both *b, void *ctx, uint64_t size,
			      bool *kept)
{
	register uint64_t x0 __asm__("x0") = (uintptr_t)b->x;
	register uint64_t x1 __asm__("x1") = (uintptr_t)ctx;
	register uint64_t x2 __asm__("x2") = size;
	register nb_engine_fn *fn __asm__("x9") = b->j->entry;
	register uint64_t changed __asm__("x10");

	__asm__ volatile(
		"stp x29, x30, [sp, #-112]!\n\t"
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
		: "x3", "x4", "x5", "x6", "x7", "x8", "x11", "x12", "x13",
		  "x14", "x15", "x16", "x17", "x18", "cc", "memory");
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

START_TEST(callers_find_their_registers_again)
{
	for (size_t i = 0; i < sizeof(users_of_registers) / sizeof(char *);
	     i++) {
		struct both b = assembled(users_of_registers[i], NULL, 0);
		bool kept;

		ck_assert_uint_eq(enter_checked(&b, NULL, 0, &kept), 1);
		NEED(kept, "%s", users_of_registers[i]);
		drop(b);
	}
}
END_TEST
#endif

/* ---- maps and helpers ---- */

static struct nb_map *map_new(uint32_t type, uint32_t key_size,
			      uint32_t value_size, uint32_t n)
{
	const struct nb_map_def def = {
		"test", type, key_size, value_size, n, 0
	};
	struct nb_err err = { 0 };
	struct nb_map *m;

	NEED(!nb_map_new(&m, &def, &err), "%s", err.text);
	return m;
}

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
	ck_assert_uint_eq(enter(&b, &k, 4),
			  (uintptr_t)nb_map_lookup(m, (uint64_t[]){ k }, 0));
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

START_TEST(lookups_in_line)
{
	static const uint32_t sizes[] = { 1, 8, 12, 24, 64, 4000, 65536 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct nb_map *m = map_new(NB_MAP_ARRAY, 4, sizes[i],
					   1 + 5 * (uint32_t)(i % 3));
		uint32_t keys[] = { 0, 5,	   10, 11,  1,
				    6, 0x7fffffff, 64, 200, UINT32_MAX };

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			look_up(m, keys[k]);
		nb_map_put(m);
	}
}
END_TEST

/* CVE-2022-50167: element numbers times sizes go beyond 32 bits. The memory is
 * not there, only its addresses. */
START_TEST(lookups_beyond_4_gib)
{
	static const uint32_t sizes[] = { 1 << 20, (1 << 20) + 8 };

	for (size_t i = 0; i < 2; i++) {
		struct nb_map *m = map_new(NB_MAP_ARRAY, 4, sizes[i], 1);

		m->max_entries = 8192;
		look_up(m, 4096);
		look_up(m, 8191);
		look_up(m, 8192);
		ck_assert_uint_eq(
			(uintptr_t)nb_map_lookup(m, (uint64_t[]){ 8191 }, 0),
			(uintptr_t)m->base + 8191ull * sizes[i]);
		m->max_entries = 1;
		nb_map_put(m);
	}
}
END_TEST

/* An element beyond 2 GiB from the first cannot be: but one beyond what 31
 * bits of product hold can, where sizes are multiplied in 32 bits. */
START_TEST(lookups_in_large_arrays)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 4, 1000, 250000);

	look_up(m, 249999);
	look_up(m, 250000);
	look_up(m, 131072);
	nb_map_put(m);
}
END_TEST

START_TEST(lookups_without_the_helper)
{
	struct nb_map *m = map_new(NB_MAP_HASH, 8, 16, 8);
	uint64_t key = 5, value[2] = { 7, 8 };

	ck_assert(!nb_map_update(m, &key, value, 0, 0));
	look_up(m, 5);
	look_up(m, 6);
	nb_map_put(m);
}
END_TEST

/* What is known of a key ends at a jump's target, a store that may hit it, a
 * call. */
START_TEST(constant_keys_are_forgotten_in_time)
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

			NEED(enter(&b, NULL, size) ==
				     nb_exec_interpret(b.x, NULL, size),
			     "%s", text[i]);
			drop(b);
		}
	nb_map_put(m);
}
END_TEST

/* Branches on constants are decided before anything runs. */
START_TEST(branches_on_constants)
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
			NEED(enter(&b, NULL, 0) == compares(row, x, y),
			     "%s %#lx %#lx", row->name, x, y);
			drop(b);
		}
	}
}
END_TEST

START_TEST(helpers_see_the_run_and_keep_r6_to_r9)
{
	struct nb_map *m = map_new(NB_MAP_PERCPU_ARRAY, 4, 8, 4);
	struct both b = assembled(
		"mov %r6, 1\nmov %r7, 2\nmov %r8, 4\nmov %r9, 8\n"
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
END_TEST

START_TEST(helpers_write_to_the_programs_trace)
{
	static const char text[] =
		"lddw %r3, 0x000a642564257364\nstxdw [%r10-8], %r3\n"
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
END_TEST

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
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			   "r11");
#elif defined(__aarch64__)
	__asm__ volatile("mov x1, #-1\n\tmov x2, x1\n\tmov x3, x1\n\t"
			 "mov x4, x1\n\tmov x5, x1\n\tmov x6, x1\n\t"
			 "mov x7, x1\n\tmov x8, x1\n\tmov x9, x1\n\t"
			 "mov x10, x1\n\tmov x11, x1\n\tmov x12, x1\n\t"
			 "mov x13, x1\n\tmov x14, x1\n\tmov x15, x1\n\t"
			 "mov x16, x1\n\tmov x17, x1"
			 :
			 :
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
			   "x10", "x11", "x12", "x13", "x14", "x15", "x16",
			   "x17");
#endif
	return m;
}

START_TEST(the_stack_is_aligned_at_calls)
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
			 regs[kind % 5],
			 kind / 10 & 1 ? "stdw [%r10-8], 1\n" : "",
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
END_TEST

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
	{ NB_OP_LDDW_IMM, 0x8000000180000001,
	  "lddw %r0, 0x8000000180000001\nexit" },
	{ NB_OP_LDDW_MAP, 77,
	  "stw [%r10-4], 1\nmov %r2, %r10\nadd %r2, -4\n"
	  "lddw map %r1, 0\ncall 1\njeq %r0, 0, over\n"
	  "ldxdw %r0, [%r0]\nover:\nexit" },
	{ NB_OP_LDDW_MAP_VALUE, 77,
	  "lddw map_value %r1, 0, 8\nldxdw %r0, [%r1]\nexit" },
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
		NEED(has_row(op), "%s: not in its program",
		     nb_spec_insn(op)->name);
		ck_assert_uint_eq(enter(&b, NULL, 0), single[i].want);
		ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0),
				  single[i].want);
		drop(b);
	}
	return found;
}

/* So that a row which is added is noticed: it is of a kind whose rows are all
 * gone through above with every register and edge values, or it stands here. */
START_TEST(every_row_has_its_test)
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
		case NB_KIND_LDX:
		case NB_KIND_LDXS:
		case NB_KIND_ST:
		case NB_KIND_STX:
		case NB_KIND_LOAD_ACQ:
		case NB_KIND_STORE_REL:
		case NB_KIND_ATOMIC:
			break;
		default:
			NEED(run_single(op, m), "%s has no test",
			     nb_spec_insn(op)->name);
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
END_TEST

/* ---- what the verifier knows ---- */

START_TEST(what_is_never_reached_is_not_there)
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
	static const char text[] =
		"ldxdw %r0, [%r1]\nldxdw %r2, [%r1+8]\n"
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
END_TEST

START_TEST(divisors_known_not_to_be_zero)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		const uint8_t aux[] = { 1, 1, 1 | NB_AUX_NONZERO, 1, 1 };
		struct both b;

		if (row->kind != NB_KIND_ALU || row->operand != NB_OPND_REG ||
		    (row->fn != NB_FN_DIV && row->fn != NB_FN_MOD &&
		     row->fn != NB_FN_SDIV && row->fn != NB_FN_SMOD))
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

			if (cut(m[1], row->width))
				ck_assert_uint_eq(enter(&b, m, 16),
						  reference(row, m[0], m[1]));
		}
		drop(b);
	}
}
END_TEST

/* ---- pages ---- */

START_TEST(pages_are_never_writable_and_executable)
{
	struct both b = assembled("mov %r0, 7\nexit", NULL, 0);
	FILE *f = fopen("/proc/self/maps", "r");
	char line[500], mode[8];
	unsigned found = 0;

	ck_assert(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		ck_assert_int_eq(sscanf(line, "%lx-%lx %7s", &from, &to, mode),
				 3);
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
END_TEST

/* From here on the kernel refuses to make pages executable. */
static bool refuse_executable(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

START_TEST(refused_executable_memory_is_said_so)
{
	struct both b = assembled("mov %r0, 7\nexit", NULL, 0);
	struct nb_err err = { 0 };

	if (refuse_executable()) {
		nb_jit_free(b.j);
		ck_assert_int_eq(nb_jit_compile(&b.j, b.x, NULL, &err),
				 NB_E_NOTSUP);
		ck_assert(!b.j);
		ck_assert(strstr(err.text, "refuses executable memory"));
		ck_assert_uint_eq(nb_exec_interpret(b.x, NULL, 0), 7);
	}
	drop(b);
}
END_TEST

/* nb_exec_run's engine: before, where memory is refused, and after. */
START_TEST(runs_go_to_the_engine_there_is)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;

	put_program("mov %r0, 7\nexit");
	ck_assert(!bind(&x, NULL, 0, &err));
	ck_assert_uint_eq(nb_exec_compiled(x), 0);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	ck_assert_int_eq(nb_exec_compile(x, NULL, &err), 0);
	ck_assert_uint_gt(nb_exec_compiled(x), 0);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	nb_exec_free(x);
	if (!refuse_executable())
		return;
	ck_assert(!bind(&x, NULL, 0, &err));
	ck_assert_int_eq(nb_exec_compile(x, NULL, &err), NB_E_NOTSUP);
	ck_assert_uint_eq(nb_exec_compiled(x), 0);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 7);
	nb_exec_free(x);
}
END_TEST

/* A generation's programs are compiled unless the policy says not to, or the
 * system does. */
START_TEST(generations_are_compiled)
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
		NEED(!nb_policy_new(&policy, b.data, b.size, &opts, &err), "%s",
		     err.text);
		NEED(!nb_gen_new(&g, &policy, 1, NULL, &err), "%s", err.text);
		ck_assert_int_eq(nb_exec_compiled(g->prog[0].exec) != 0,
				 how == 0);
		nb_gen_run_tuner(g, &ctx, &count);
		ck_assert_int_eq(ctx.algo, 1);
		ck_assert_int_eq(ctx.proto, 2);
		nb_gen_put(g);
		nb_policy_put(policy);
		nb_buf_fini(&b);
	}
}
END_TEST

/* What the verifier found is used where the programs are compiled again and
 * again, and the answer is the same. */
START_TEST(generations_use_what_is_known)
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
	NEED(!nb_policy_new(&policy, b.data, b.size, NULL, &err), "%s",
	     err.text);
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
END_TEST

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
	NEED(!nb_policy_new(&policy, b.data, b.size, NULL, &err), "%s",
	     err.text);
	NEED(!nb_gen_new(&g, &policy, 1, NULL, &err), "%s", err.text);
	nb_policy_put(policy);
	nb_buf_fini(&b);
	return g;
}

/* Constants decide branches before there is any code, and nobody writes to
 * them any more. */
START_TEST(rodata_is_folded_and_frozen)
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
	ck_assert_int_eq(nb_map_write(seven->policy[0].maps[0], &key, &eight,
				      NB_ANY, &err),
			 NB_E_READONLY);
	ck_assert_msg(strstr(err.text, "frozen"), "%s", err.text);
	nb_gen_run_tuner(seven, &ctx, &count);
	ck_assert_uint_eq(ctx.channels, 5);
	nb_gen_run_tuner(other, &ctx, &count);
	ck_assert_uint_eq(ctx.channels, 0x1890);
	nb_gen_put(seven);
	nb_gen_put(other);
}
END_TEST

START_TEST(programs_that_are_not_compiled)
{
	static const char *const text[] = {
		"mov %r10, 1\nexit", "ldxdw %r10, [%r1]\nexit", "ja +5\nexit",
		"jeq %r0, 1, -3\nexit", "call local +9\nexit"
	};

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		struct nb_err err = { 0 };
		struct nb_exec *x;
		struct nb_jit *j;

		put_program(text[i]);
		ck_assert(!bind(&x, NULL, 0, &err));
		ck_assert_int_eq(nb_jit_compile(&j, x, NULL, &err),
				 NB_E_NOTSUP);
		ck_assert(!j && *err.text);
		nb_exec_free(x);
	}
	nb_jit_free(NULL);
}
END_TEST

/* ---- random programs ---- */

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

static unsigned pick(unsigned n)
{
	return (unsigned)(rnd() >> 33) % n;
}

static uint64_t interesting(void)
{
	uint64_t v = edge[pick(NEDGE)];

	switch (pick(4)) {
	case 0:
		return rnd();
	case 1:
		return v + pick(3) - 1;
	case 2:
		return (uint64_t)(int64_t)(int8_t)rnd();
	}
	return v;
}

/* Of the frame, programs use r10-8 (the context), -12 (turns left), and the
 * words from -80 to -16. */
enum { WORDS_END = -16, WORDS = 8, TURNS = 3 };

/* Functions: the entry, two that are called, a callback of bpf_loop and one
 * of bpf_for_each_map_elem. Each calls only later ones. */
enum { OF_LOOP = 3, OF_EACH = 4, NFUNCS = 5 };

/* Places whose target becomes known when all functions are there. */
struct calls {
	size_t at[4];
	unsigned to[4], n;
};

static enum nb_op alu_ops[100], load_ops[20], store_ops[20], atomic_ops[30],
	jump_ops[60];
static unsigned nalu, nload, nstore, natomic, njump;

static void sort_ops(void)
{
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		enum nb_kind kind = nb_spec_insn((enum nb_op)op)->kind;

		if (kind == NB_KIND_ALU)
			alu_ops[nalu++] = (enum nb_op)op;
		else if (kind == NB_KIND_LDX || kind == NB_KIND_LDXS ||
			 kind == NB_KIND_LOAD_ACQ)
			load_ops[nload++] = (enum nb_op)op;
		else if (kind == NB_KIND_ST || kind == NB_KIND_STX ||
			 kind == NB_KIND_STORE_REL)
			store_ops[nstore++] = (enum nb_op)op;
		else if (kind == NB_KIND_ATOMIC)
			atomic_ops[natomic++] = (enum nb_op)op;
		else if (kind == NB_KIND_JMP)
			jump_ops[njump++] = (enum nb_op)op;
	}
}

static int32_t some_word(unsigned width)
{
	unsigned bytes = width / 8;

	return WORDS_END - 8 * WORDS +
	       (int32_t)(pick(8 * WORDS / bytes) * bytes);
}

/* A register that holds an address for one slot, then a number again. */
static void access_memory(enum nb_op op)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);
	bool load = row->kind == NB_KIND_LDX || row->kind == NB_KIND_LDXS ||
		    row->kind == NB_KIND_LOAD_ACQ;
	int32_t at = some_word(row->width), imm = (int32_t)interesting();
	unsigned base = pick(3) ? 10 : pick(NREGS), other = pick(NREGS);

	/* cmpxchg uses r0; an address must not be stored */
	if (base == 0 || (base == other && !load))
		base = 10;
	if (base != 10) {
		put(NB_OP_MOV64_X, base, 10, 0, 0);
		if (pick(2)) {
			put(NB_OP_ADD64_K, base, 0, 0, at);
			at = 0;
		}
	}
	put(op, load ? other : base, load ? base : other, at, imm);
	if (base != 10 && !(load && base == other))
		put(NB_OP_MOV64_K, base, 0, 0, imm);
}

/* Context: words 20 on are for programs. */
static void access_context(void)
{
	unsigned base = 1 + pick(9), other = pick(NREGS);
	int32_t off = 160 + (int32_t)(8 * pick(4));

	if (base == other)
		other = 0;
	put(NB_OP_LDX64, base, 10, -8, 0);
	put(pick(2) ? NB_OP_LDX64 : NB_OP_STX64, pick(1) ? other : base, base,
	    off, 0);
	p.s[p.n - 1].regs = p.s[p.n - 1].opcode == 0x79
				    ? (uint8_t)(base << 4 | other)
				    : (uint8_t)(other << 4 | base);
	put(NB_OP_MOV32_K, base, 0, 0, (int32_t)rnd());
}

static void set_low_registers(void)
{
	for (unsigned r = 1; r < 6; r++)
		put(NB_OP_MOV64_K, r, 0, 0, (int32_t)interesting());
}

/* The key at r10 - 24, constant or not. */
static void put_key(void)
{
	unsigned r = pick(NREGS);

	if (pick(2)) {
		put(NB_OP_ST32, 10, 0, -24, (int32_t)pick(6));
	} else {
		put(NB_OP_AND32_K, r, 0, 0, 7);
		put(NB_OP_STX32, 10, r, -24, 0);
	}
	put(NB_OP_ST32, 10, 0, -20, 0);
}

/* r0: what is in the map, or a number. */
static void call_map(void)
{
	int32_t map = (int32_t)pick(QUEUE);

	put_key();
	put(NB_OP_MOV64_X, 2, 10, 0, 0);
	put(NB_OP_ADD64_K, 2, 0, 0, -24);
	if (pick(4) == 0) {
		put(NB_OP_MOV64_X, 3, 10, 0, 0);
		put(NB_OP_ADD64_K, 3, 0, 0, -80);
		put(NB_OP_MOV64_K, 4, 0, 0, (int32_t)pick(4));
		put_map(1, map);
		put(NB_OP_CALL_HELPER, 0, 0, 0, 2);
	} else {
		put_map(1, map);
		put(NB_OP_CALL_HELPER, 0, 0, 0, 1);
		if (pick(2)) {
			put(NB_OP_JEQ64_K, 0, 0, 3, 0);
			put(NB_OP_ATOMIC_FETCH_ADD64, 0, 6 + pick(4), 0, 0);
			put(NB_OP_LDX64, 0, 0, 0, 0);
			put(NB_OP_JA, 0, 0, 1, 0);
		} else {
			put(NB_OP_JNE64_K, 0, 0, 2, 0);
			put(NB_OP_MOV64_K, 0, 0, 0, 5);
			put(NB_OP_JA, 0, 0, 1, 0);
			put(NB_OP_LDX64, 0, 0, 0, 0);
		}
		put(NB_OP_ADD64_K, 0, 0, 0, 1);
	}
	set_low_registers();
}

/*
 * The other helpers, each with arguments that mostly make sense. "$" and a
 * letter is a number of its kind (number() below). They use the frame from
 * r10-256 to r10-104; the eight words from r10-168 on hold bytes.
 */
static const char *const helper_calls[] = {
	"lddw map %r1, $H\nmov %r2, %r10\nadd %r2, -24\ncall 3",
	"call 5\nmov %r0, $K",
	"mov %r1, %r10\nadd %r1, -168\nmov %r2, 8\nmov %r3, $K\n"
	"mov %r4, 1\nmov %r5, 2\ncall 6",
	"call 7\nmov %r0, $K",
	"call 8",
	"ldxdw %r1, [%r10-8]\nlddw map %r2, 7\nmov %r3, $S\ncall 12",
	"lddw map %r1, 5\nmov %r2, %r10\nadd %r2, -168\nmov %r3, $S\n"
	"call 87",
	"lddw map %r1, 5\nmov %r2, %r10\nadd %r2, -168\ncall 88",
	"lddw map %r1, 5\nmov %r2, %r10\nadd %r2, -160\ncall 89",
	"stdw [%r10-176], 0\nmov %r1, %r10\nadd %r1, -176\ncall 93\n"
	"add32 %r$R, $K\nmov %r1, %r10\nadd %r1, -176\ncall 94\n"
	"ldxw %r0, [%r10-176]",
	"mov %r1, %r10\nadd %r1, -168\nmov %r2, $L\nmov %r3, $B\n"
	"mov %r4, %r10\nadd %r4, -112\ncall 105",
	"mov %r1, %r10\nadd %r1, -144\nmov %r2, $L\nmov %r3, $B\n"
	"mov %r4, %r10\nadd %r4, -112\ncall 106",
	"lddw map %r1, 6\nmov %r2, %r10\nadd %r2, -168\nmov %r3, $L\n"
	"mov %r4, $S\ncall 130",
	"lddw map %r1, 6\nmov %r2, 16\nmov %r3, $Z\ncall 131\n"
	"jeq %r0, 0, +5\nstxdw [%r0], %r$R\nstdw [%r0+8], $K\n"
	"mov %r1, %r0\nmov %r2, $S\ncall $F\n",
	"lddw map %r1, 6\nmov %r2, $Q\ncall 134",
	"mov %r1, %r10\nadd %r1, -136\nmov %r2, $L\nmov %r3, %r10\n"
	"add %r3, -168\nmov %r4, %r10\nadd %r4, -152\nmov %r5, $E\n"
	"call 165",
	"lddw map %r1, 4\nmov %r2, %r10\nadd %r2, -24\nmov %r3, $P\n"
	"call 195\njeq %r0, 0, +1\nldxdw %r0, [%r0]",
	"mov %r1, %r10\nadd %r1, -168\nmov %r2, $L\nmov %r3, $Z\n"
	"mov %r4, %r10\nadd %r4, -192\ncall 197\n"
	"mov %r1, %r10\nadd %r1, -136\nmov %r2, $L\nmov %r3, %r10\n"
	"add %r3, -192\nmov %r4, $S\nmov %r5, 0\ncall 201\n"
	"mov %r6, %r0\nmov %r1, %r10\nadd %r1, -192\nmov %r2, $S\n"
	"mov %r3, 4\ncall 203\njeq %r0, 0, +1\nldxw %r0, [%r0]",
	"lddw map %r1, 6\nmov %r2, $L\nmov %r3, $Z\nmov %r4, %r10\n"
	"add %r4, -192\ncall 198\nmov %r7, %r0\n"
	"mov %r1, %r10\nadd %r1, -192\nmov %r2, $S\nmov %r3, %r10\n"
	"add %r3, -168\nmov %r4, $L\nmov %r5, 0\ncall 202\n"
	"mov %r8, %r0\nmov %r1, %r10\nadd %r1, -192\nmov %r2, 0\n"
	"call $D",
	"mov %r1, %r10\nadd %r1, -200\nmov %r2, $S\nmov %r3, $L\n"
	"call 0x10001\nmov %r6, %r0\nmov %r1, %r10\nadd %r1, -200\n"
	"call 0x10002\njeq %r0, 0, +5\nldxw %r0, [%r0]\nadd %r6, %r0\n"
	"mov %r1, %r10\nadd %r1, -200\nja -7\n"
	"mov %r1, %r10\nadd %r1, -200\ncall 0x10003\n",
	"mov %r1, %r10\nadd %r1, -104\nadd %r1, -88\nmov %r2, $S\n"
	"mov %r3, $S\ncall 0x2000$C",
	"mov %r1, $K\nmov %r2, $K\nmov %r3, $K\ncall 0x20004",
};
enum { NHELPER_CALLS = sizeof(helper_calls) / sizeof(helper_calls[0]) };

static int number(char kind)
{
	static const int bases[] = { 0, 8, 10, 16, 2, -1 };

	switch (kind) {
	case 'B':
		return bases[pick(6)];
	case 'C':
		return 1 + (int)pick(3);
	case 'D':
		return 199 + (int)pick(2);
	case 'E':
		return 8 * (int)pick(3);
	case 'F':
		return 132 + (int)pick(2);
	case 'H':
		return 2 + (int)pick(2);
	case 'L':
		return 1 + (int)pick(16);
	case 'P':
		return (int)pick(2) * 4096;
	case 'Q':
		return (int)pick(2) * (1 + 3 * (int)pick(2));
	case 'R':
		return 6 + (int)pick(4);
	case 'S':
		return (int)pick(4);
	case 'Z':
		return pick(8) == 0;
	}
	return (int)interesting();
}

static void put_text(const char *text)
{
	struct nb_err err = { 0 };
	char made[800];
	size_t used = 0, n;

	for (; *text; text++) {
		NEED(used + 16 < sizeof(made), "%s", text);
		if (*text == '$')
			used += (size_t)snprintf(made + used, 16, "%d",
						 number(*++text));
		else
			made[used++] = *text;
	}
	made[used] = '\0';
	NEED(!nb_asm(&p.s[p.n], MAX - p.n, &n, made, &err), "%s: %s", made,
	     err.text);
	for (size_t i = 0; i < n; i++)
		if (p.s[p.n + i].opcode == 0x85)
			called[(uint32_t)p.s[p.n + i].imm % NHELPERS]++;
	p.n += n;
}

/* Some of what helpers read: digits and formats. */
static void put_bytes(int32_t at)
{
	static const char text[][9] = { "12345678", "-0x7fff ", "  077-19",
					"0x12345",  "99999999", "%d,%x",
					"%llu",	    "%u %i %s", "" };
	uint32_t half[2] = { 0 };

	memcpy(half, text[pick(9)], sizeof(half));
	put(NB_OP_ST32, 10, 0, at, (int32_t)half[0]);
	put(NB_OP_ST32, 10, 0, at + 4, pick(2) ? (int32_t)half[1] : 0);
}

static void call_some_helper(void)
{
	const char *text = helper_calls[pick(NHELPER_CALLS)];

	put_key();
	/* a context without costs, or what text, values and records are */
	if (strstr(text, "0x2000$"))
		for (int32_t i = 0; i < 11; i++)
			put(NB_OP_ST64, 10, 0, -192 + 8 * i, 0);
	else
		for (int32_t i = 0; i < 8; i++)
			put_bytes(-168 + 8 * i);
	put(NB_OP_ST64, 10, 0, -104, 0); /* where text ends at last */
	put_text(text);
	/* what it wrote */
	if (pick(2))
		put(NB_OP_LDX64, 6 + pick(4), 10, -168 + 8 * (int)pick(8), 0);
	set_low_registers();
}

static void call_later(struct calls *c, unsigned to, enum nb_op op)
{
	c->to[c->n] = to;
	c->at[c->n++] = put(op, 2, 0, 0, 0);
	if (op == NB_OP_LDDW_FUNC)
		p.s[p.n++] = (struct nb_slot){ 0 };
}

/* A call of a later function, or many of a callback. */
static void call_function(unsigned func, bool maps, struct calls *c)
{
	unsigned to = func + 1 + pick(NFUNCS - func - 1);

	if (to == OF_EACH && !maps)
		return;
	if (to < OF_LOOP) {
		put(NB_OP_LDX64, 1, 10, -8, 0);
		call_later(c, to, NB_OP_CALL_LOCAL);
		return;
	}
	call_later(c, to, NB_OP_LDDW_FUNC);
	if (pick(2)) /* not known from here on which function it is */
		put(NB_OP_JEQ64_K, 0, 0, 0, 0);
	put(NB_OP_LDX64, 3, 10, -8, 0);
	put(NB_OP_MOV64_K, 4, 0, 0, pick(9) == 0);
	if (to == OF_EACH)
		/* arrays: a hash's order tells what was in it before */
		put_map(1, pick(3) ? (int32_t)pick(2) : PERCPU);
	else
		put(NB_OP_MOV64_K, 1, 0, 0, pick(9) ? (int)pick(4) : -1);
	put(NB_OP_CALL_HELPER, 0, 0, 0, to == OF_EACH ? 164 : 181);
	set_low_registers();
}

static void item(unsigned func, bool maps, struct calls *calls)
{
	switch (pick(maps ? 26 : 22)) {
	case 0:
	case 1:
		access_memory(load_ops[pick(nload)]);
		break;
	case 2:
	case 3:
		access_memory(store_ops[pick(nstore)]);
		break;
	case 4:
		access_memory(atomic_ops[pick(natomic)]);
		break;
	case 5:
		access_context();
		break;
	case 6:
		put_const(pick(NREGS), interesting());
		break;
	case 7:
		if (func + 1 < NFUNCS && calls->n < 4 && pick(4) == 0) {
			call_function(func, maps, calls);
			break;
		}
		put(NB_OP_MAY_GOTO, 0, 0, 0, 0);
		break;
	case 22:
	case 23:
		call_map();
		break;
	case 24:
	case 25:
		call_some_helper();
		break;
	default:
		put(alu_ops[pick(nalu)], pick(NREGS), pick(NREGS), 0,
		    (int32_t)interesting());
	}
}

/* Items, some of them jumps that lead past others, and one loop. */
static void body(unsigned func, bool maps, struct calls *calls)
{
	struct {
		size_t at;
		unsigned left;
	} open[8] = { 0 };
	unsigned nitems = 5 + pick(pick(8) ? 40 : 300), turn, head_item;
	size_t head = 0;

	turn = pick(2) ? nitems : pick(nitems);
	head_item = turn == nitems ? nitems : pick(turn + 1);
	for (unsigned i = 0; i < nitems; i++) {
		for (unsigned k = 0; k < 8; k++)
			if (open[k].at && --open[k].left == 0) {
				p.s[open[k].at].off =
					(int16_t)(p.n - open[k].at - 1);
				open[k].at = 0;
			}
		if (i == head_item)
			head = p.n;
		if (i == turn) { /* uses r0 */
			put(NB_OP_LDX32, 0, 10, -12, 0);
			put(NB_OP_SUB32_K, 0, 0, 0, 1);
			put(NB_OP_STX32, 10, 0, -12, 0);
			put(NB_OP_JSGT32_K, 0, 0, (int32_t)(head - p.n - 1), 0);
		}
		if (pick(8) == 0 && !open[i % 8].at) {
			open[i % 8].at =
				put(jump_ops[pick(njump)], pick(NREGS),
				    pick(NREGS), 0, (int32_t)interesting());
			open[i % 8].left = 1 + pick(6);
		} else {
			item(func, maps, calls);
		}
	}
	for (unsigned k = 0; k < 8; k++)
		if (open[k].at)
			p.s[open[k].at].off = (int16_t)(p.n - open[k].at - 1);
}

static void put_frame(void)
{
	put(NB_OP_ST32, 10, 0, -12, TURNS);
	for (int32_t i = 0; i < WORDS; i++)
		put(NB_OP_ST64, 10, 0, WORDS_END - 8 * WORDS + 8 * i,
		    (int32_t)interesting());
}

/* What a callee gives back: numbers, and the words of its frame folded. */
static void put_return(unsigned func)
{
	for (int32_t i = 0; i < WORDS; i++) {
		put(NB_OP_LDX64, 1, 10, WORDS_END - 8 * WORDS + 8 * i, 0);
		put(NB_OP_XOR64_X, 0, 1, 0, 0);
		put(NB_OP_MUL64_K, 0, 0, 0, 0x1e3779b1);
	}
	set_low_registers();
	if (func >= OF_LOOP) {
		put(NB_OP_MOD64_K, 0, 0, 0, 7);
		put(NB_OP_JLE64_K, 0, 0, 1, 1);
		put(NB_OP_MOV64_K, 0, 0, 0, 0);
	}
	put(NB_OP_EXIT, 0, 0, 0, 0);
}

/* Where a function finds the context, and what else it is given. */
static void put_arguments(unsigned func)
{
	static const unsigned ctx[NFUNCS] = { 1, 1, 1, 2, 4 };

	put(NB_OP_STX64, 10, ctx[func], -8, 0);
	if (func == OF_EACH) {
		put(NB_OP_LDX32, 2, 2, 0, 0);
		put(NB_OP_LDX64, 3, 3, 0, 0);
		put(NB_OP_MOV64_K, 4, 0, 0, 9);
	}
	if (func != OF_LOOP)
		put(NB_OP_MOV64_K, 1, 0, 0, 7);
	if (func == OF_LOOP)
		put(NB_OP_MOV64_K, 2, 0, 0, 8);
	/* in callbacks the rest is what the engine left there */
	for (unsigned r = 0; func >= OF_LOOP && r < NREGS; r++)
		if (r == 0 || r > 4 || (func == OF_LOOP && r > 2))
			put(NB_OP_MOV64_K, r, 0, 0, (int32_t)interesting());
}

/* A program of up to NFUNCS functions; only later ones are called. */
static void generate(bool maps)
{
	struct calls calls[NFUNCS] = { 0 };
	unsigned nfuncs = pick(3) ? 1 : NFUNCS;
	size_t start[NFUNCS];

	p.n = 0;
	for (unsigned f = 0; f < nfuncs; f++) {
		start[f] = p.n;
		if (f == 0)
			load_file();
		else
			put_arguments(f);
		put_frame();
		body(nfuncs == 1 ? NFUNCS : f, maps, &calls[f]);
		if (f == 0) {
			/* the frame's words go to the context as well */
			store_file();
			p.n -= 2;
			for (int32_t i = 0; i < WORDS; i++) {
				put(NB_OP_LDX64, 0, 10,
				    WORDS_END - 8 * WORDS + 8 * i, 0);
				put(NB_OP_ATOMIC_XOR64, 1, 0, 160 + 8 * (i % 4),
				    0);
			}
			put(NB_OP_EXIT, 0, 0, 0, 0);
		} else {
			put_return(f);
		}
	}
	for (unsigned f = 0; f < nfuncs; f++)
		for (unsigned i = 0; i < calls[f].n; i++) {
			size_t at = calls[f].at[i];

			p.s[at].imm = (int32_t)(start[calls[f].to[i]] - at - 1);
		}
}

/* All maps as they were: a few elements of known content. */
static void reset(struct nb_map *const *maps)
{
	unsigned char record[64];
	uint64_t popped;
	size_t size;

	while (!nb_map_pop(maps[QUEUE], &popped))
		;
	while (!nb_ringbuf_read(maps[RING], record, sizeof(record), &size))
		;
	for (unsigned i = 0; i < QUEUE; i++) {
		uint64_t value[8] = { 3, 4, 5 };

		for (uint64_t key = 0; key < 8; key++) {
			value[0] = key * 1000003 + i;
			if (maps[i]->def.type == NB_MAP_HASH && key > 2)
				nb_map_delete(maps[i], &key);
			else
				for (uint32_t c = 0;
				     c < (maps[i]->percpu ? nb_ncpus() : 1);
				     c++)
					nb_map_update(maps[i], &key, value, 0,
						      c);
		}
	}
}

static void show(uint64_t program)
{
	static struct nb_insn in[MAX];
	struct nb_err err;
	char text[100];

	fprintf(stderr, "# JIT_SEED=%#lx:\n", program);
	if (nb_decode(in, p.s, p.n, &err))
		return;
	for (size_t pc = 0; pc < p.n; pc++) {
		nb_disasm(text, sizeof(text), &in[pc], NULL, NULL);
		fprintf(stderr, "# %zu: %s\n", pc, text);
	}
}

static void one_program(struct nb_map *const *maps)
{
	uint64_t program = seed;
	struct both b;

	generate(pick(2));
	b = make(maps, NMAPS, NULL, pick(4) ? (unsigned)ALL : 0);
	for (int i = 0; i < 3; i++) {
		struct file f, mine, theirs;
		uint64_t r0;

		fill(&f, (uint64_t)i);
		for (unsigned r = 0; r < NREGS; r++)
			f.in[r] = interesting();
		mine = theirs = f;
		reset(maps);
		r0 = enter(&b, &mine, sizeof(mine));
		reset(maps);
		if (r0 != nb_exec_interpret(b.x, &theirs, sizeof(theirs)) ||
		    memcmp(&mine, &theirs, sizeof(mine)) != 0) {
			show(program);
			for (unsigned r = 0; r < sizeof(f) / 8; r++)
				fprintf(stderr, "# word %u: %#lx %#lx\n", r,
					((uint64_t *)&mine)[r],
					((uint64_t *)&theirs)[r]);
			ck_abort_msg("JIT_SEED=%#lx: machine code and "
				     "interpreter differ",
				     program);
		}
	}
	drop(b);
}

/* One CPU, so that a per-CPU value is the same one in both engines. */
static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert(!sched_setaffinity(0, sizeof(one), &one));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* So that a helper without a row above is noticed. */
static void every_helper_was_there(unsigned long programs)
{
	static const int32_t all[] = {
#define HELPER(number, name, ret, a1, a2, a3, a4, a5, maps, label, effect, \
	       doc)                                                        \
	number,
#include "core/tbl/helpers.h"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		NEED(programs < 2000 || called[all[i]],
		     "no program called helper %d", all[i]);
}

START_TEST(random_programs)
{
	const char *n = getenv("JIT_PROGRAMS"), *s = getenv("JIT_SEED");
	unsigned long programs = n ? strtoul(n, NULL, 0) : 200000, done;
	double start = now();
	struct nb_map *maps[NMAPS] = {
		map_new(NB_MAP_ARRAY, 4, 8, 5),
		map_new(NB_MAP_ARRAY, 4, 24, 3),
		map_new(NB_MAP_HASH, 8, 8, 6),
		map_new(NB_MAP_HASH, 4, 16, 16),
		map_new(NB_MAP_PERCPU_ARRAY, 4, 8, 5),
		map_new(NB_MAP_QUEUE, 0, 8, 4),
		map_new(NB_MAP_RINGBUF, 0, 0, 4096),
		map_new(NB_MAP_PROG_ARRAY, 4, 4, 2),
	};

	seed = s ? strtoull(s, NULL, 0) : 0x9e3779b97f4a7c15;
	if (s && !n)
		programs = 1;
	printf("# JIT_SEED=%#lx\n", seed);
	fflush(stdout);
	sort_ops();
	stay_here();
	for (done = 0; done < programs; done++) {
		one_program(maps);
		/* a slow machine or a sanitizer: some are better than none */
		if (!n && now() - start > 60)
			break;
	}
	printf("# %lu programs in %.1f s\n", done, now() - start);
	fflush(stdout);
	every_helper_was_there(done);
	for (unsigned i = 0; i < NMAPS; i++)
		nb_map_put(maps[i]);
}
END_TEST

#if defined(__x86_64__)
#define MACHINE_TESTS                                     \
	tcase_add_test(tc, atomics_have_the_lock_prefix); \
	tcase_add_test(tc, callers_find_their_registers_again);
#elif defined(__aarch64__)
#define MACHINE_TESTS tcase_add_test(tc, callers_find_their_registers_again);
#else
#define MACHINE_TESTS
#endif

static int no_compiler(void)
{
	puts("ok 1 - jit # SKIP no compiler for this machine");
	return 0;
}

UNIT_MAIN("jit", if (!nb_jit_arch()) return no_compiler();
	  tcase_set_timeout(tc, getenv("JIT_PROGRAMS") ? 86400 : 240);
	  tcase_add_test(tc, alu_of_every_pair_of_registers);
	  tcase_add_test(tc, alu_with_every_kind_of_immediate);
	  tcase_add_test(tc, jumps_of_every_pair_of_registers);
	  tcase_add_test(tc, loads_and_stores_of_every_pair_of_registers);
	  tcase_add_test(tc, frame_as_base_and_as_value);
	  tcase_add_test(tc, atomics_of_every_pair_of_registers);
	  tcase_add_test(tc, atomics_are_atomic_between_threads);
	  tcase_add_test(tc, jumps_of_every_distance);
	  tcase_add_test(tc, a_jump_between_a_copy_and_an_addition);
	  tcase_add_test(tc, long_programs);
	  tcase_add_test(tc, longest_program);
	  tcase_add_test(tc, too_much_machine_code);
	  tcase_add_test(tc, calls_keep_r6_to_r9_and_r10);
	  tcase_add_test(tc, eight_frames_each_with_its_own_stack);
	  tcase_add_test(tc, eight_frames_between_guard_pages);
	  tcase_add_test(tc, address_of_a_callback_is_its_slot);
	  tcase_add_test(tc, may_goto_has_the_interpreters_budget);
	  MACHINE_TESTS; tcase_add_test(tc, lookups_in_line);
	  tcase_add_test(tc, lookups_in_large_arrays);
	  tcase_add_test(tc, lookups_beyond_4_gib);
	  tcase_add_test(tc, lookups_without_the_helper);
	  tcase_add_test(tc, constant_keys_are_forgotten_in_time);
	  tcase_add_test(tc, branches_on_constants);
	  tcase_add_test(tc, helpers_see_the_run_and_keep_r6_to_r9);
	  tcase_add_test(tc, helpers_write_to_the_programs_trace);
	  tcase_add_test(tc, the_stack_is_aligned_at_calls);
	  tcase_add_test(tc, every_row_has_its_test);
	  tcase_add_test(tc, what_is_never_reached_is_not_there);
	  tcase_add_test(tc, divisors_known_not_to_be_zero);
	  tcase_add_test(tc, pages_are_never_writable_and_executable);
	  tcase_add_test(tc, refused_executable_memory_is_said_so);
	  tcase_add_test(tc, runs_go_to_the_engine_there_is);
	  tcase_add_test(tc, generations_are_compiled);
	  tcase_add_test(tc, generations_use_what_is_known);
	  tcase_add_test(tc, rodata_is_folded_and_frozen);
	  tcase_add_test(tc, programs_that_are_not_compiled);
	  tcase_add_test(tc, random_programs);)
