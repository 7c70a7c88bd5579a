// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The interpreter: memory, atomics, helpers and maps. What machine code does as
// well (arithmetic, jumps, calls, frames) is tested with both engines side by
// side, beside a reference: test_jit.c, test_jit_control.c.
#include "test/unit/unit.h"

#include <pthread.h>
#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "test/unit/asm.h"

enum { MAX = 256 };

/* ---- programs ---- */

static int bind(struct nb_exec **x, const struct nb_slot *slots, size_t n,
		struct nb_map *const *maps, uint32_t nmaps, struct nb_err *err)
{
	static const struct nb_map_spec specs[4];
	const struct nb_func func = { .name = "f", .end = (uint32_t)n };
	const struct nb_prog prog = { .name = "f",
				      .section = "tuner",
				      .slots = slots,
				      .nslots = (uint32_t)n,
				      .funcs = &func,
				      .nfuncs = 1 };
	const struct nb_image img = {
		.name = "test", .maps = specs, .nmaps = nmaps, .progs = &prog, .nprogs = 1
	};

	return nb_exec_new(x, &img, 0, maps, NULL, err);
}

static struct nb_exec *program(const char *text, struct nb_map *const *maps, uint32_t nmaps)
{
	struct nb_slot slots[MAX];
	struct nb_err err = { 0 };
	struct nb_exec *x;
	size_t n;

	ck_assert_msg(!nb_asm(slots, MAX, &n, text, &err), "%s", err.text);
	ck_assert_msg(!bind(&x, slots, n, maps, nmaps, &err), "%s", err.text);
	return x;
}

static uint64_t run_with(const char *text, void *ctx, size_t size)
{
	struct nb_exec *x = program(text, NULL, 0);
	uint64_t r0 = nb_exec_run(x, ctx, size);

	nb_exec_free(x);
	return r0;
}

static uint64_t run(const char *text)
{
	return run_with(text, NULL, 0);
}

static uint64_t mask(unsigned width)
{
	return width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
}

static uint64_t top(unsigned width)
{
	return (uint64_t)1 << (width - 1);
}

static uint64_t extend(uint64_t a, unsigned from, unsigned to)
{
	a &= mask(from);
	return a & top(from) ? a | (mask(to) & ~mask(from)) : a;
}

enum { LDX64 = 0x79, MOV64_X = 0xbf, MOV64_K = 0xb7, EXIT = 0x95 };

static struct nb_exec *bound(const struct nb_slot *s, size_t n)
{
	struct nb_err err = { 0 };
	struct nb_exec *x;

	ck_assert_msg(!bind(&x, s, n, NULL, 0, &err), "%s", err.text);
	return x;
}

/* Spot values worked out by hand; unit-jit compares both engines with a reference. */
TEST(alu_by_hand)
{
	ck_assert_uint_eq(run("lddw %r0, 0x8000000000000000\n"
			      "sdiv %r0, -1\nexit"),
			  0x8000000000000000);
	ck_assert_uint_eq(run("lddw %r0, 0x8000000000000000\n"
			      "smod %r0, -1\nexit"),
			  0);
	ck_assert_uint_eq(run("mov %r0, -13\nsmod %r0, 3\nexit"), (uint64_t)-1);
	ck_assert_uint_eq(run("mov %r0, 13\nsmod %r0, -3\nexit"), 1);
	ck_assert_uint_eq(run("mov %r0, -13\nsdiv32 %r0, 3\nexit"), 0xfffffffc);
	ck_assert_uint_eq(run("mov %r0, -1\nmod32 %r0, 0\nexit"), 0xffffffff);
	ck_assert_uint_eq(run("mov %r0, -1\nmod %r0, 0\nexit"), UINT64_MAX);
	ck_assert_uint_eq(run("mov %r0, 7\ndiv %r0, 0\nexit"), 0);
	ck_assert_uint_eq(run("mov %r0, 7\ndiv %r0, -1\nexit"), 0);
	ck_assert_uint_eq(run("mov %r0, 1\nlsh %r0, 65\nexit"), 2);
	ck_assert_uint_eq(run("mov %r0, 1\nlsh32 %r0, 33\nexit"), 2);
	ck_assert_uint_eq(run("mov %r0, -1\nmov32 %r0, -2\nexit"), 0xfffffffe);
	ck_assert_uint_eq(run("mov %r1, 0x80\nmovsx832 %r0, %r1\nexit"), 0xffffff80);
	ck_assert_uint_eq(run("mov %r1, 0x80\nmovsx864 %r0, %r1\nexit"), 0xffffffffffffff80);
	ck_assert_uint_eq(run("lddw %r0, 0x1122334455667788\nbe16 %r0\nexit"), 0x8877);
	ck_assert_uint_eq(run("lddw %r0, 0x1122334455667788\nle32 %r0\nexit"), 0x55667788);
}

/* ---- memory ---- */

TEST(loads_of_each_size_at_each_offset)
{
	unsigned char m[32];

	for (unsigned i = 0; i < sizeof(m); i++)
		m[i] = (unsigned char)(i * 37 + 0x71);
	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		bool sign = row->traits & NB_INSN_SIGNED;

		if (row->kind != NB_KIND_LOAD || row->traits & NB_INSN_ORDERED)
			continue;
		for (int off = -8; off <= 8; off++) {
			struct nb_slot s[] = {
				{ row->opcode, 0x10, (int16_t)off, 0 },
				{ EXIT, 0, 0, 0 },
			};
			struct nb_exec *x = bound(s, 2);
			uint64_t want = 0;

			for (unsigned i = row->width / 8u; i-- > 0;)
				want = want << 8 | m[16 + off + (int)i];
			if (sign)
				want = extend(want, row->width, 64);
			ck_assert_msg(nb_exec_run(x, m + 16, 16) == want, "%s at %d", row->mnemonic,
				      off);
			nb_exec_free(x);
		}
	}
}

TEST(stores_of_each_size_touch_only_their_bytes)
{
	const uint64_t v = 0x8899aabbccddeeff;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		bool imm = row->operand == NB_OPND_IMM;
		uint64_t value = imm ? extend(v & 0xffffffff, 32, 64) : v;

		if (row->kind != NB_KIND_STORE || row->traits & NB_INSN_ORDERED)
			continue;
		for (int off = -8; off <= 8; off++) {
			unsigned char m[32], want[32];
			struct nb_slot s[] = {
				{ 0x18, 2, 0, (int32_t)(uint32_t)v },
				{ 0, 0, 0, (int32_t)(v >> 32) },
				{ row->opcode, imm ? 0x01 : 0x21, (int16_t)off,
				  imm ? (int32_t)(uint32_t)v : 0 },
				{ MOV64_K, 0, 0, 0 },
				{ EXIT, 0, 0, 0 },
			};
			struct nb_exec *x = bound(s, 5);

			memset(m, 0x55, sizeof(m));
			memset(want, 0x55, sizeof(want));
			for (int i = 0; i < row->width / 8; i++)
				want[16 + off + i] = (unsigned char)(value >> 8 * i);
			nb_exec_run(x, m + 16, 16);
			ck_assert_msg(!memcmp(m, want, sizeof(m)), "%s at %d", row->mnemonic, off);
			nb_exec_free(x);
		}
	}
}

TEST(context_and_its_size_arrive_in_r1_and_r2)
{
	unsigned char m[24] = { [23] = 9 };

	ck_assert_uint_eq(run_with("mov %r0, %r2\nexit", m, sizeof(m)), 24);
	ck_assert_uint_eq(run_with("add %r1, %r2\nldxb %r0, [%r1-1]\nexit", m, sizeof(m)), 9);
}

/* ---- atomics ---- */

struct cells {
	uint64_t cell, src, r0;
};

/* What an atomic leaves behind: in memory, in src and in r0. */
static struct cells atomic(const struct nb_insn_spec *row, struct cells c)
{
	uint64_t m = mask(row->width), old = c.cell & m, new = c.src &m;
	bool fetch = row->traits & NB_INSN_FETCH;
	struct cells out = c;

	if (row->fn == NB_FN_ADD)
		new = (old + new) & m;
	else if (row->fn == NB_FN_OR)
		new = old | new;
	else if (row->fn == NB_FN_AND)
		new = old &new;
	else if (row->fn == NB_FN_XOR)
		new = old ^ new;
	else if (row->fn == NB_FN_CMPXCHG && old != (c.r0 & m))
		new = old;
	out.cell = (c.cell & ~m) | new;
	if (row->fn == NB_FN_CMPXCHG)
		out.r0 = old;
	else if (fetch)
		out.src = old;
	return out;
}

static void atomic_row(const struct nb_insn_spec *row, struct cells c)
{
	struct nb_slot s[] = {
		{ MOV64_X, 0x16, 0, 0 }, { LDX64, 0x62, 8, 0 },
		{ LDX64, 0x60, 16, 0 },	 { row->opcode, 0x26, 0, row->imm },
		{ 0x7b, 0x26, 8, 0 },	 { 0x7b, 0x06, 16, 0 },
		{ EXIT, 0, 0, 0 },
	};
	struct nb_exec *x = bound(s, sizeof(s) / sizeof(s[0]));
	struct cells want = atomic(row, c), got = c;

	nb_exec_run(x, &got, sizeof(got));
	ck_assert_msg(!memcmp(&got, &want, sizeof(got)),
		      "%s of %#lx %#lx %#lx: %#lx %#lx %#lx, not %#lx %#lx "
		      "%#lx",
		      row->mnemonic, c.cell, c.src, c.r0, want.cell, want.src, want.r0, got.cell,
		      got.src, got.r0);
	nb_exec_free(x);
}

TEST(atomics_leave_what_they_should)
{
	static const uint64_t some[] = { 0, 1, 0xffffffff, UINT64_MAX, 0x123456789abcdef0 };
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);

		if (row->kind != NB_KIND_ATOMIC)
			continue;
		rows++;
		for (int i = 0; i < 5 * 5 * 5; i++)
			atomic_row(row,
				   (struct cells){ some[i % 5], some[i / 5 % 5], some[i / 25] });
	}
	ck_assert_uint_eq(rows, 20);
}

TEST(ordered_loads_and_stores)
{
	uint64_t m[2] = { 0x8182838485868788, 0 };

	ck_assert_uint_eq(run_with("load_acquire8 %r0, [%r1]\nexit", m, 16), 0x88);
	ck_assert_uint_eq(run_with("load_acquire16 %r0, [%r1]\nexit", m, 16), 0x8788);
	ck_assert_uint_eq(run_with("load_acquire32 %r0, [%r1+4]\nexit", m, 16), 0x81828384);
	ck_assert_uint_eq(run_with("load_acquire64 %r0, [%r1]\nexit", m, 16), m[0]);
	run_with("mov %r2, -2\nmov %r0, 0\nstore_release8 [%r1+8], %r2\n"
		 "store_release16 [%r1+10], %r2\n"
		 "store_release32 [%r1+12], %r2\nexit",
		 m, 16);
	ck_assert_uint_eq(m[1], 0xfffffffefffe00fe);
	run_with("mov %r2, -2\nmov %r0, 0\nstore_release64 [%r1+8], %r2\nexit", m, 16);
	ck_assert_uint_eq(m[1], 0xfffffffffffffffe);
}

struct shared {
	const struct nb_exec *x;
	uint64_t m[4];
};

enum { THREADS = 4, ROUNDS = 20000 };

static void *hammer(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < ROUNDS; i++)
		nb_exec_run(s->x, s->m, sizeof(s->m));
	return NULL;
}

TEST(atomics_are_atomic_between_threads)
{
	struct nb_exec *x = program("mov %r2, 1\nmov %r3, 1\nmov %r4, 3\n"
				    "lock add [%r1], %r2\n"
				    "lock fetch add32 [%r1+8], %r3\n"
				    "again:\nldxdw %r0, [%r1+16]\n"
				    "mov %r5, %r0\nadd %r5, 2\nmov %r6, %r0\n"
				    "lock cmpxchg [%r1+16], %r5\n"
				    "jne %r0, %r6, again\nexit",
				    NULL, 0);
	struct shared s = { .x = x };
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, hammer, &s), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(s.m[0], THREADS * ROUNDS);
	ck_assert_uint_eq(s.m[1], THREADS * ROUNDS);
	ck_assert_uint_eq(s.m[2], 2 * THREADS * ROUNDS);
	nb_exec_free(x);
}

/* ---- helpers and maps ---- */

static struct nb_map *map_new(uint32_t type, uint32_t value_size, uint32_t n)
{
	const struct nb_map_def def = {
		.name = "m", .type = type, .key_size = 4, .value_size = value_size, .max_entries = n
	};
	struct nb_err err = { 0 };
	struct nb_map *m;

	ck_assert_msg(!nb_map_new(&m, &def, &err), "%s", err.text);
	return m;
}

/* clang-format off */
#define KEY(k)                             \
	"stw [%r10-4], " #k "\n"           \
	"lddw map %r1, 0\nmov %r2, %r10\n" \
	"sub %r2, 4\n"

/* Update key 2, look it up, add what is at the first key past an array. */
static const char *const map_text =
	KEY(2)
	"stdw [%r10-16], 77\nmov %r3, %r10\nsub %r3, 16\n"
	"mov %r4, 0\ncall 2\nmov %r6, %r0\n"
	KEY(2)
	"call 1\njeq %r0, 0, none\nldxdw %r7, [%r0]\nadd %r6, %r7\n"
	"stdw [%r0], 78\n"
	KEY(4)
	"call 1\nadd %r6, %r0\nmov %r0, %r6\nexit\n"
	"none:\nmov %r0, -1\nexit";
/* clang-format on */

TEST(look_up_and_update_in_each_map_type)
{
	static const uint32_t types[] = { NB_MAP_ARRAY, NB_MAP_HASH, NB_MAP_PERCPU_ARRAY };

	for (size_t i = 0; i < 3; i++) {
		struct nb_map *m = map_new(types[i], 8, 4);
		struct nb_exec *x = program(map_text, &m, 1);
		size_t size = nb_map_user_value_size(m) / 8;
		static uint64_t values[4096];
		uint64_t sum = 0;
		uint32_t key = 2;

		ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 77);
		ck_assert_uint_le(size, 4096);
		ck_assert_int_eq(nb_map_read(m, &key, values, NULL), 0);
		while (size-- > 0)
			sum += values[size];
		ck_assert_uint_eq(sum, 78);
		nb_exec_free(x);
		nb_map_put(m);
	}
}

TEST(a_program_keeps_its_maps)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 12, 3);
	struct nb_exec *x = program(KEY(1) "call 1\nldxw %r0, [%r0+8]\nexit", &m, 1);
	uint32_t value[3] = { 1, 2, 3 }, key = 1;

	ck_assert_int_eq(nb_map_write(m, &key, value, NB_ANY, NULL), 0);
	nb_map_put(m);
	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 3);
	nb_exec_free(x);
	nb_exec_free(NULL);
}

TEST(address_inside_a_map_value)
{
	struct nb_map *m = map_new(NB_MAP_ARRAY, 32, 1);
	struct nb_exec *x = program("lddw map_value %r1, 0, 24\n"
				    "mov %r0, 5\nstxdw [%r1], %r0\n"
				    "ldxb %r0, [%r1]\nexit",
				    &m, 1);

	ck_assert_uint_eq(nb_exec_run(x, NULL, 0), 5);
	ck_assert_uint_eq(((uint64_t *)nb_map_array_base(m))[3], 5);
	nb_exec_free(x);
	nb_map_put(m);
}

TEST(helpers_run)
{
	/* two readings of a clock that never goes back, and one CPU a run */
	ck_assert_uint_eq(run("call 5\nmov %r6, %r0\ncall 5\n"
			      "jlt %r0, %r6, bad\njeq %r6, 0, bad\n"
			      "call 8\nmov %r7, %r0\ncall 8\n"
			      "jne %r0, %r7, bad\nmov %r0, 1\nexit\n"
			      "bad:\nmov %r0, 0\nexit"),
			  1);
	/* without a trace ring: -EINVAL */
	ck_assert_uint_eq(run("stdw [%r10-8], 0x41\nmov %r1, %r10\n"
			      "sub %r1, 8\nmov %r2, 2\ncall 6\nexit"),
			  (uint64_t)-22);
}

static void not_bound(const char *text, struct nb_map *m, int code, const char *words)
{
	struct nb_slot slots[MAX];
	struct nb_err err = { 0 };
	struct nb_exec *x;
	size_t n;

	ck_assert_msg(!nb_asm(slots, MAX, &n, text, &err), "%s", err.text);
	ck_assert_int_eq(bind(&x, slots, n, &m, m != NULL, &err), code);
	ck_assert_ptr_null(x);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
	ck_assert_uint_eq(err.at, 1);
}

TEST(what_cannot_be_bound_is_named)
{
	struct nb_map *m = map_new(NB_MAP_HASH, 8, 4);

	not_bound("mov %r0, 0\ncall 99\nexit", NULL, NB_E_NOTSUP, "99");
	not_bound("mov %r0, 0\nlddw map %r1, 3\nexit", m, NB_E_NOTSUP, "map 3 of 1");
	not_bound("mov %r0, 0\nlddw map_value %r1, 0, 0\nexit", m, NB_E_NOTSUP, "\"m\"");
	not_bound("mov %r0, 0\ncall %r1\nexit", NULL, NB_E_INSN, "call through a register");
	nb_map_put(m);
}

UNIT_MAIN("interp")
