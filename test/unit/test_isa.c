// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Decoding, assembling and disassembling, over every row of
// core/defs/isa.h and over the forms that must be refused.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/bpf/isa/insn.h"
#include "test/unit/asm.h"

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static bool wide(const struct nb_insn_spec *row)
{
	return row->kind == NB_KIND_LDDW;
}

/* A slot that row @op matches, with its free fields from @dst to @imm. */
static struct nb_slot slot_of(const struct nb_insn_spec *row, unsigned dst, unsigned src,
			      int16_t off, int32_t imm)
{
	struct nb_slot s = { .opcode = row->opcode };

	dst = row->dst == NB_FIELD_ANY ? dst : (unsigned)row->dst;
	src = row->src == NB_FIELD_ANY ? src : (unsigned)row->src;
	s.regs = (uint8_t)(src << 4 | dst);
	s.off = row->off == NB_FIELD_ANY ? off : (int16_t)row->off;
	s.imm = row->imm == NB_FIELD_ANY ? imm : row->imm;
	return s;
}

/* Decoding loses nothing: the slots come back. */
static void round_trip(enum nb_op op, const struct nb_slot *s)
{
	const struct nb_insn_spec *row = nb_spec_insn(op);
	size_t n = wide(row) ? 2 : 1;
	struct nb_insn in[2];
	struct nb_slot out[2];
	struct nb_err err;

	ck_assert_msg(!nb_decode(in, s, n, &err), "%s: %s", row->mnemonic, err.text);
	ck_assert_msg(in[0].op == op, "%s decoded as %s", row->mnemonic,
		      nb_spec_insn((enum nb_op)in[0].op)->mnemonic);
	ck_assert_int_eq(in[0].kind, row->kind);
	ck_assert_int_eq(in[0].fn, row->fn);
	ck_assert_int_eq(in[0].width, row->width);
	ck_assert_int_eq(in[0].operand, row->operand);
	slots_again(out, &in[0]);
	ck_assert_msg(!memcmp(out, s, n * sizeof(*s)), "%s changed", row->mnemonic);
	ck_assert(n == 1 || in[1].op == NB_OP_LDDW_HI);
}

TEST(every_row_round_trips)
{
	static const int32_t edge[] = { 0, 1, -1, INT32_MIN, INT32_MAX, 0x1234 };
	static const int16_t offs[] = { 0, 1, -1, INT16_MIN, INT16_MAX, 8 };

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++)
		for (unsigned k = 0; k < 6 * 6 + TIMES(500); k++) {
			const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
			bool edges = k < 36;
			struct nb_slot s[2] = { slot_of(row, (unsigned)(rnd() % 11),
							(unsigned)(rnd() % 11),
							edges ? offs[k / 6] : (int16_t)rnd(),
							edges ? edge[k % 6] : (int32_t)rnd()) };

			if (row->fn == NB_FN_IMM || row->fn == NB_FN_MAP_VALUE)
				s[1].imm = edges ? edge[k / 6] : (int32_t)rnd();
			round_trip((enum nb_op)op, s);
		}
}

static bool overlap(int32_t a, int32_t b)
{
	return a == b || a == NB_FIELD_ANY || b == NB_FIELD_ANY;
}

TEST(no_two_rows_match_the_same_bytes)
{
	for (unsigned i = 0; i < NB_OP_LDDW_HI; i++)
		for (unsigned k = i + 1; k < NB_OP_LDDW_HI; k++) {
			const struct nb_insn_spec *a = nb_spec_insn((enum nb_op)i);
			const struct nb_insn_spec *b = nb_spec_insn((enum nb_op)k);

			ck_assert_msg(a->opcode != b->opcode || !overlap(a->dst, b->dst) ||
					      !overlap(a->src, b->src) ||
					      !overlap(a->off, b->off) || !overlap(a->imm, b->imm),
				      "%s and %s", a->mnemonic, b->mnemonic);
		}
}

/* The fields of a decoded instruction, in all forms that differ. */
TEST(fields_land_where_the_header_says)
{
	static const struct {
		struct nb_slot s[2];
		size_t n;
		struct nb_insn want;
	} t[] = {
		{ { { 0x07, 0x03, 0, -5 } }, 1, { .op = NB_OP_ADD64_K, .dst = 3, .imm = -5 } },
		{ { { 0x3f, 0x21, 1, 0 } }, 1, { .op = NB_OP_SDIV64_X, .dst = 1, .src = 2 } },
		{ { { 0x1d, 0x21, -7, 0 } },
		  1,
		  { .op = NB_OP_JEQ64_X, .dst = 1, .src = 2, .off = -7 } },
		{ { { 0x06, 0, 0, -100000 } }, 1, { .op = NB_OP_JA32, .off = -100000 } },
		{ { { 0x85, 0x10, 0, 70000 } }, 1, { .op = NB_OP_CALL_LOCAL, .off = 70000 } },
		{ { { 0x85, 0, 0, 5 } }, 1, { .op = NB_OP_CALL_HELPER, .imm = 5 } },
		{ { { 0xdb, 0x21, 8, 0xf1 } },
		  1,
		  { .op = NB_OP_ATOMIC_CMPXCHG64, .dst = 1, .src = 2, .off = 8 } },
		{ { { 0x18, 0x04, 0, -1 }, { 0, 0, 0, 1 } },
		  2,
		  { .op = NB_OP_LDDW_IMM, .dst = 4, .imm = 0x1ffffffff } },
		{ { { 0x18, 0x12, 0, 3 }, { 0, 0, 0, 0 } },
		  2,
		  { .op = NB_OP_LDDW_MAP, .dst = 2, .imm = 3 } },
		{ { { 0x18, 0x22, 0, 3 }, { 0, 0, 0, 16 } },
		  2,
		  { .op = NB_OP_LDDW_MAP_VALUE, .dst = 2, .imm = 0x1000000003 } },
		{ { { 0x18, 0x42, 0, -9 }, { 0, 0, 0, 0 } },
		  2,
		  { .op = NB_OP_LDDW_FUNC, .dst = 2, .off = -9 } },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct nb_insn in[2];

		ck_assert_int_eq(nb_decode(in, t[i].s, t[i].n, NULL), 0);
		ck_assert_int_eq(in[0].op, t[i].want.op);
		ck_assert_int_eq(in[0].dst, t[i].want.dst);
		ck_assert_int_eq(in[0].src, t[i].want.src);
		ck_assert_int_eq(in[0].off, t[i].want.off);
		ck_assert_int_eq(in[0].imm, t[i].want.imm);
	}
}

static void refused(struct nb_slot s, const char *words)
{
	struct nb_slot two[3] = { { 0xb7, 0, 0, 0 }, s };
	struct nb_insn in[3];
	struct nb_err err = { 0 };

	ck_assert_int_eq(nb_decode(in, two, s.opcode == 0x18 ? 3 : 2, &err), NB_E_INSN);
	ck_assert_int_eq(err.code, NB_E_INSN);
	ck_assert_uint_eq(err.at, 1);
	ck_assert_msg(strstr(err.text, words), "\"%s\" lacks \"%s\"", err.text, words);
}

TEST(what_linux_has_and_we_have_not_is_refused_by_name)
{
	static const uint8_t packet[] = { 0x20, 0x28, 0x30, 0x38, 0x40, 0x48, 0x50, 0x58 };

	for (size_t i = 0; i < sizeof(packet); i++)
		refused((struct nb_slot){ packet[i], 0, 0, 4 }, "packet load");
	refused((struct nb_slot){ 0x8d, 2, 0, 0 }, "call through a register");
	refused((struct nb_slot){ 0xbf, 0x21, 1, 1 }, "address-space cast");
	refused((struct nb_slot){ 0x85, 0x20, 0, 9 }, "kernel function");
	refused((struct nb_slot){ 0x18, 0x31, 0, 9 }, "kernel variable");
	refused((struct nb_slot){ 0x18, 0x51, 0, 9 }, "map by index");
	refused((struct nb_slot){ 0x18, 0x61, 0, 9 }, "map value by index");
	refused((struct nb_slot){ 0xff, 0, 0, 0 }, "unknown opcode 0xff");
	refused((struct nb_slot){ 0x00, 0, 0, 0 }, "unknown opcode 0x00");
}

TEST(fields_are_refused_with_found_and_allowed)
{
	refused((struct nb_slot){ 0x07, 0x10, 0, 0 }, "field src holds 1, allowed 0");
	refused((struct nb_slot){ 0x37, 0x00, 2, 0 }, "field off holds 2, allowed 0, 1");
	refused((struct nb_slot){ 0xbf, 0x21, 9, 0 }, "field off holds 9, allowed 0, 8, 16, 32");
	refused((struct nb_slot){ 0xd4, 0x01, 0, 17 }, "field imm holds 17, allowed 16, 32, 64");
	refused((struct nb_slot){ 0x07, 0x0b, 0, 0 }, "field dst holds 11, allowed r0 to r10");
	refused((struct nb_slot){ 0x0f, 0xf0, 0, 0 }, "field src holds 15, allowed r0 to r10");
	/* exchange has no form without fetch */
	refused((struct nb_slot){ 0xdb, 0x21, 0, 0xe0 }, "field imm holds 0xe0, allowed 0, 0x40");
	/* atomics of one and two bytes are only loads and stores */
	refused((struct nb_slot){ 0xd3, 0x21, 0, 0 }, "field imm holds 0, allowed 0x100, 0x110");
	refused((struct nb_slot){ 0x85, 0x30, 0, 1 }, "field src holds 3, allowed 0, 1");
}

/* Each field of each row that stands for exactly one value refuses others. */
TEST(every_reserved_field_is_refused)
{
	unsigned tried = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		int32_t exact[4] = { row->dst, row->src, row->off, row->imm };

		for (int f = 0; f < 4; f++) {
			struct nb_slot s[2] = { slot_of(row, 1, 2, 0, 0) };
			struct nb_insn in[2];
			struct nb_err err = { 0 };

			if (exact[f] == NB_FIELD_ANY)
				continue;
			/* 9 and 0x77 are the exact value of no field */
			if (f < 2)
				s[0].regs = (uint8_t)(s[0].regs | 9 << 4 * f);
			else if (f == 2)
				s[0].off = 0x77;
			else
				s[0].imm = 0x77;
			ck_assert_msg(nb_decode(in, s, wide(row) ? 2 : 1, &err) == NB_E_INSN,
				      "%s field %d", row->mnemonic, f);
			tried++;
		}
	}
	ck_assert_uint_gt(tried, 250);
}

TEST(second_slot_of_lddw_is_checked)
{
	static const struct {
		struct nb_slot hi;
		const char *words;
	} bad[] = {
		{ { 0xb7, 0, 0, 0 }, "field opcode holds 183, allowed 0" },
		{ { 0, 0x01, 0, 0 }, "field dst holds 1, allowed 0" },
		{ { 0, 0x20, 0, 0 }, "field src holds 2, allowed 0" },
		{ { 0, 0, -3, 0 }, "field off holds -3, allowed 0" },
	};
	struct nb_slot s[2] = { { 0x18, 0, 0, 1 } };
	struct nb_insn in[2];
	struct nb_err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		s[1] = bad[i].hi;
		ck_assert_int_eq(nb_decode(in, s, 2, &err), NB_E_INSN);
		ck_assert_uint_eq(err.at, 1);
		ck_assert_msg(strstr(err.text, bad[i].words), "%s", err.text);
	}
	ck_assert_int_eq(nb_decode(in, s, 1, &err), NB_E_INSN);
	ck_assert(strstr(err.text, "missing"));
	/* a map has no upper half */
	s[0].regs = 0x10;
	s[1] = (struct nb_slot){ 0, 0, 0, 5 };
	ck_assert_int_eq(nb_decode(in, s, 2, &err), NB_E_INSN);
	ck_assert(strstr(err.text, "field imm holds 5, allowed 0"));
	/* and alone it is nothing */
	s[0] = (struct nb_slot){ 0 };
	ck_assert_int_eq(nb_decode(in, s, 1, &err), NB_E_INSN);
}

/* One line a row, dst 1, src 2, off 8, imm 3. */
static const char *const golden[NB_OP_LDDW_HI] = {
#define GOLD(op, text) [NB_OP_##op] = text,
#include "test/unit/disasm_golden.h"
#undef GOLD
};

static const char *map_name(void *arg, uint32_t index)
{
	return index == 3 ? arg : NULL;
}

TEST(disassembly_of_every_row)
{
	static char name[] = "limits";

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		struct nb_slot s[2] = { slot_of(row, 1, 2, 8, 3) };
		struct nb_insn in[2];
		char text[96];

		if (row->fn == NB_FN_MAP_VALUE)
			s[1].imm = 16;
		ck_assert_int_eq(nb_decode(in, s, wide(row) ? 2 : 1, NULL), 0);
		nb_disasm(text, sizeof(text), in, map_name, name);
		ck_assert_msg(golden[op] && !strcmp(text, golden[op]), "GOLD(%s, \"%s\") is \"%s\"",
			      row->mnemonic, text, golden[op] ? golden[op] : "missing");
	}
}

static void disasm_is(struct nb_insn in, const char *want)
{
	const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)in.op);
	char text[96];

	in.kind = (uint8_t)row->kind;
	in.fn = (uint8_t)row->fn;
	in.width = row->width;
	in.operand = (uint8_t)row->operand;
	nb_disasm(text, sizeof(text), &in, NULL, NULL);
	ck_assert_str_eq(text, want);
}

TEST(disassembly_of_signs_and_unknown_names)
{
	disasm_is((struct nb_insn){ .op = NB_OP_JA, .off = -4 }, "goto pc-4");
	disasm_is((struct nb_insn){ .op = NB_OP_LDX32, .src = 10, .off = -8 },
		  "r0 = *(u32 *)(r10 -8)");
	disasm_is((struct nb_insn){ .op = NB_OP_ADD64_K, .imm = -1 }, "r0 += -1");
	disasm_is((struct nb_insn){ .op = NB_OP_CALL_HELPER, .imm = 5 }, "call bpf_ktime_get_ns#5");
	disasm_is((struct nb_insn){ .op = NB_OP_CALL_HELPER, .imm = 4242 }, "call unknown#4242");
	/* none of ours, but one that kernels have */
	disasm_is((struct nb_insn){ .op = NB_OP_CALL_HELPER, .imm = 14 },
		  "call bpf_get_current_pid_tgid#14");
	disasm_is((struct nb_insn){ .op = NB_OP_LDDW_MAP, .imm = 7 }, "r0 = map[#7]");
	disasm_is((struct nb_insn){ .op = NB_OP_LDDW_IMM, .imm = -1 }, "r0 = 0xffffffffffffffff");
	disasm_is((struct nb_insn){ .op = NB_OP_LDDW_HI }, "(second slot)");
}

TEST(disassembly_stays_in_its_buffer)
{
	struct nb_insn in = {
		.op = NB_OP_LDDW_IMM, .kind = NB_KIND_LDDW, .fn = NB_FN_IMM, .imm = -1
	};
	char text[8] = "#######";

	nb_disasm(text, 5, &in, NULL, NULL);
	ck_assert_str_eq(text, "r0 =");
	ck_assert_int_eq(text[5], '#');
}

static size_t assemble(struct nb_slot out[16], const char *text)
{
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_msg(!nb_asm(out, 16, &n, text, &err), "%s: %s", text, err.text);
	return n;
}

TEST(assembled_lines_are_the_bytes_meant)
{
	static const struct {
		const char *text;
		struct nb_slot want;
	} t[] = {
		{ "add %r1, %r2", { 0x0f, 0x21, 0, 0 } },
		{ "add32 %r10, -1", { 0x04, 0x0a, 0, -1 } },
		{ "mov32 %r0, 0xffffffff", { 0xb4, 0, 0, -1 } },
		{ "mov %r0, -2147483648 # least", { 0xb7, 0, 0, INT32_MIN } },
		{ "smod32 %r3, %r4", { 0x9c, 0x43, 1, 0 } },
		{ "movsx1664 %r3, %r4", { 0xbf, 0x43, 16, 0 } },
		{ "swap32 %r5", { 0xd7, 5, 0, 32 } },
		{ "be64 %r5", { 0xdc, 5, 0, 64 } },
		{ "ldxw %r0, [%r1+4]", { 0x61, 0x10, 4, 0 } },
		{ "ldxsb %r0, [%r1]", { 0x91, 0x10, 0, 0 } },
		{ "ldxb %r0, [%r1+0x7fff]", { 0x71, 0x10, 0x7fff, 0 } },
		{ "stxdw [%r10-8], %r2", { 0x7b, 0x2a, -8, 0 } },
		{ "stb [%r10 - 8], 7", { 0x72, 0x0a, -8, 7 } },
		{ "lock fetch add32 [%r1+8], %r2", { 0xc3, 0x21, 8, 1 } },
		{ "lock cmpxchg [%r1], %r2", { 0xdb, 0x21, 0, 0xf1 } },
		{ "load_acquire16 %r1, [%r2+2]", { 0xcb, 0x21, 2, 0x100 } },
		{ "store_release64 [%r1+8], %r2", { 0xdb, 0x21, 8, 0x110 } },
		{ "jne %r1, 0x10, +3", { 0x55, 1, 3, 16 } },
		{ "jslt32 %r1, %r2, -1", { 0xce, 0x21, -1, 0 } },
		{ "ja +2", { 0x05, 0, 2, 0 } },
		{ "ja32 +70000", { 0x06, 0, 0, 70000 } },
		{ "may_goto -3", { 0xe5, 0, -3, 0 } },
		{ "call 7", { 0x85, 0, 0, 7 } },
		{ "call local +1", { 0x85, 0x10, 0, 1 } },
		{ "call %r2", { 0x8d, 2, 0, 0 } },
		{ "  exit\t", { 0x95, 0, 0, 0 } },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct nb_slot out[16];

		ck_assert_uint_eq(assemble(out, t[i].text), 1);
		ck_assert_msg(!memcmp(out, &t[i].want, sizeof(out[0])), "%s", t[i].text);
	}
}

TEST(labels_count_slots)
{
	struct nb_slot out[16];

	ck_assert_uint_eq(assemble(out, "start:\n"
					"lddw %r0, 0x8000000000000001\n"
					"\n"
					"# a comment\n"
					"jeq %r0, 0, end\n"
					"ja start\n"
					"call local end\n"
					"jne %r0, 1, exit\n"
					"end:\n"
					"mov %r0, 2\n"
					"exit"),
			  8);
	ck_assert_int_eq(out[0].imm, 1);
	ck_assert_int_eq(out[1].imm, INT32_MIN);
	ck_assert_int_eq(out[2].off, 3);
	ck_assert_int_eq(out[3].off, -4);
	ck_assert_int_eq(out[4].imm, 1);
	ck_assert_int_eq(out[5].off, 1); /* the exit, though no label */
}

TEST(bad_text_is_refused_with_its_line)
{
	static const struct {
		const char *text;
		uint32_t line;
		const char *words;
	} t[] = {
		{ "exit\nldxq %r0, %r1", 2, "invalid mnemonic ldxq" },
		{ "or %r0, %r50", 1, "invalid register %r50" },
		{ "or %r0, %r11", 1, "invalid register %r11" },
		{ "or %r0, %r-1", 1, "invalid register" },
		{ "lock or [%r10-8]", 1, "number of operands for lock" },
		{ "lock", 1, "number of operands for lock" },
		{ "lock xchg8 [%r1], %r2", 1, "lock" },
		{ "lddw %r0", 1, "number of operands for lddw" },
		{ "exit 1", 1, "number of operands for exit" },
		{ "ldxb %r0, %r1", 1, "invalid operand" },
		{ "ldxb %r0, [%r1+0x10000]", 1, "invalid offset" },
		{ "ldxb %r0, [%r1-32769]", 1, "invalid offset" },
		{ "ldxb %r0, [%r1", 1, "no ]" },
		{ "mov32 %r0, 2147483648", 1, "invalid immediate" },
		{ "mov32 %r0, 0x100000000", 1, "invalid immediate" },
		{ "mov32 %r0, -2147483649", 1, "invalid immediate" },
		{ "mov32 %r0, 12z", 1, "invalid immediate" },
		{ "lddw %r0, 0x10000000000000000", 1, "invalid immediate" },
		{ "ja nowhere", 1, "unknown label nowhere" },
		{ "ja exit", 1, "unknown label exit" },
		{ "ja +40000", 1, "allowed -32768 to 32767" },
		{ "ja +1z", 1, "invalid jump distance" },
		{ "a:\na:\nexit", 2, "stands twice" },
		{ "add %r0,", 1, "empty" },
		{ "add %r0, 1, 2, 3", 1, "at most 3" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct nb_slot out[4];
		struct nb_err err = { 0 };
		size_t n = 9;

		ck_assert_msg(nb_asm(out, 4, &n, t[i].text, &err) == NB_E_FORMAT, "%s", t[i].text);
		ck_assert_uint_eq(err.at, t[i].line);
		ck_assert_msg(strstr(err.text, t[i].words), "\"%s\" lacks \"%s\"", err.text,
			      t[i].words);
		ck_assert_uint_eq(n, 0);
	}
}

TEST(room_and_labels_are_bounded)
{
	struct nb_slot out[2];
	struct nb_err err = { 0 };
	char labels[4096] = "";
	size_t n;

	ck_assert_int_eq(nb_asm(out, 2, &n, "exit\nexit", &err), 0);
	ck_assert_int_eq(nb_asm(out, 1, &n, "exit\nexit", &err), NB_E_LIMIT);
	ck_assert_int_eq(nb_asm(out, 1, &n, "lddw %r0, 1", &err), NB_E_LIMIT);
	for (int i = 0; i < 193; i++)
		sprintf(labels + strlen(labels), "l%d:\n", i);
	ck_assert_int_eq(nb_asm(out, 2, &n, labels, &err), NB_E_LIMIT);
	ck_assert_uint_eq(err.at, 193);
}

TEST(a_near_mnemonic_is_offered)
{
	struct nb_slot out[2];
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_int_eq(nb_asm(out, 2, &n, "exitt", &err), NB_E_FORMAT);
	ck_assert_str_eq(err.hint, "did you mean exit?");
}

UNIT_MAIN("isa")
