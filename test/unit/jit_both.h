// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_JIT_BOTH_H
#define NB_TEST_UNIT_JIT_BOTH_H

/*
 * For the tests of machine code: a program under construction, bound and
 * compiled, and run by both engines over a register file.
 */
#include "test/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/ncclbpf.h"
#include "test/unit/asm.h"
#include "test/unit/compile_features.h"
#include "test/unit/rfc9669.h"

enum { MAX = NB_IMAGE_MAX_SLOTS, NREGS = 10, NMAPS = 6, ALL = -1 };

/* Maps of random programs: the first two are arrays. */
enum { PERCPU = 4, RING = 5 };

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

static inline int32_t field(int32_t fixed, int32_t wanted)
{
	return fixed == NB_FIELD_ANY ? wanted : fixed;
}

static inline size_t put(enum nb_op op, unsigned dst, unsigned src, int32_t off, int32_t imm)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);

	NEED(p.n < MAX, "%zu slots", p.n);
	p.s[p.n] = (struct nb_slot){ row->opcode,
				     (uint8_t)(field(row->dst, (int32_t)dst) |
					       field(row->src, (int32_t)src) << 4),
				     (int16_t)field(row->off, off), field(row->imm, imm) };
	if (op == NB_OP_CALL_HELPER && imm >= 0 && imm < NHELPERS)
		called[imm]++;
	return p.n++;
}

static inline void put_const(unsigned dst, uint64_t v)
{
	put(NB_OP_LDDW_IMM, dst, 0, 0, (int32_t)(uint32_t)v);
	p.s[p.n++] = (struct nb_slot){ .imm = (int32_t)(uint32_t)(v >> 32) };
}

static inline void put_map(unsigned dst, int32_t map)
{
	put(NB_OP_LDDW_MAP, dst, 0, 0, map);
	p.s[p.n++] = (struct nb_slot){ 0 };
}

static inline int bind(struct nb_exec **x, struct nb_map *const *maps, uint32_t nmaps,
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
	const struct nb_image img = {
		.name = "test", .maps = specs, .nmaps = nmaps, .progs = &prog, .nprogs = 1
	};

	return nb_exec_new(x, &img, 0, maps, NULL, err);
}

/* The program in p, interpreted and compiled. */
struct both {
	struct nb_exec *x;
	const struct nb_jit *j;
};

static inline struct both make(struct nb_map *const *maps, uint32_t nmaps, const uint8_t *aux,
			       unsigned features)
{
	struct nb_err err = { 0 };
	struct both b;

	NEED(!bind(&b.x, maps, nmaps, &err), "%s", err.text);
	NEED(!compile_for(b.x, aux, features, &err), "%s", err.text);
	b.j = b.x->jit;
	return b;
}

static inline void drop(struct both b)
{
	nb_exec_free(b.x);
}

static inline uint64_t enter(const struct both *b, void *ctx, uint64_t size)
{
	return b->j->entry(b->x, ctx, size);
}

static inline void put_program(const char *text)
{
	struct nb_err err = { 0 };

	NEED(!nb_asm(p.s, MAX, &p.n, text, &err), "%s: %s", text, err.text);
}

static inline struct both assembled(const char *text, struct nb_map *const *maps, uint32_t nmaps)
{
	put_program(text);
	return make(maps, nmaps, NULL, (unsigned)ALL);
}

/* r0 of @text by both engines, which must be the same. */
static inline uint64_t run_with(const char *text, void *ctx, size_t size)
{
	struct both b = assembled(text, NULL, 0);
	uint64_t r0 = enter(&b, ctx, size);

	ck_assert_uint_eq(r0, nb_exec_interpret(b.x, ctx, size));
	drop(b);
	return r0;
}

static inline uint64_t run(const char *text)
{
	return run_with(text, NULL, 0);
}

static inline uint64_t reference(const struct nb_insn_spec *row, uint64_t a, uint64_t b)
{
	return rfc_alu(row->fn, row->width, a, b);
}

static inline bool compares(const struct nb_insn_spec *row, uint64_t a, uint64_t b)
{
	return rfc_jump(row->fn, row->width, a, b);
}

/* ---- every register ---- */

/* ctx: ten words in, ten words out, and what else a program wants. */
struct file {
	uint64_t in[NREGS], out[NREGS], cell[4];
};

/* The context's address stays at r10 - 8; every register gets its word. */
static inline void load_file(void)
{
	put(NB_OP_STX64, 10, 1, -8, 0);
	for (unsigned r = 0; r < NREGS; r++)
		if (r != 1)
			put(NB_OP_LDX64, r, 1, (int32_t)(8 * r), 0);
	put(NB_OP_LDX64, 1, 1, 8, 0);
}

/* By way of the frame, from -96 on: all registers are in use. */
static inline void store_file(void)
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

static inline void fill(struct file *f, uint64_t salt)
{
	memset(f, 0, sizeof(*f));
	for (unsigned r = 0; r < NREGS; r++)
		f->in[r] = (salt + r + 1) * 0x9e3779b97f4a7c15;
}

/* Both engines over @f; the results must be the same everywhere. */
static inline struct file agree(const struct both *b, const struct file *f, const char *what,
				unsigned dst, unsigned src)
{
	struct file mine = *f, theirs = *f;
	uint64_t r0 = enter(b, &mine, sizeof(mine));

	NEED(r0 == nb_exec_interpret(b->x, &theirs, sizeof(theirs)), "%s: r0", what);
	for (unsigned r = 0; r < NREGS; r++)
		NEED(mine.out[r] == theirs.out[r],
		     "%s r%u r%u of %#lx and %#lx: r%u is %#lx, not "
		     "%#lx",
		     what, dst, src, f->in[dst], f->in[src], r, mine.out[r], theirs.out[r]);
	NEED(!memcmp(&mine, &theirs, sizeof(mine)), "%s: memory", what);
	return mine;
}

/* A page of memory between two that nobody may touch. */
static inline unsigned char *guarded(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *m =
		mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(m != MAP_FAILED);
	ck_assert(!mprotect(m + page, size, PROT_READ | PROT_WRITE));
	return m + page;
}

static inline struct nb_map *map_new(uint32_t type, uint32_t key_size, uint32_t value_size,
				     uint32_t n)
{
	const struct nb_map_def def = { "test", type, key_size, value_size, n, 0 };
	struct nb_err err = { 0 };
	struct nb_map *m;

	NEED(!nb_map_new(&m, &def, &err), "%s", err.text);
	return m;
}

/* In a main: without a compiler for this machine there is nothing to test. */
static inline int no_compiler(void)
{
	puts("1..0 # SKIP jit: no compiler for this machine");
	return 0;
}

#endif
