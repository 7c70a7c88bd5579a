// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The interpreter: arithmetic and jumps beside a second reading of RFC 9669.
#include "test/unit/interp_programs.h"

/* r3 and r4 from memory, then @op on r3 (and r4 or @imm), result in r0. */
static struct nb_exec *alu_program(const struct nb_insn_spec *row, int32_t imm, bool same)
{
	bool reg = row->operand == NB_OPND_REG;
	unsigned src = !reg ? 0 : same ? 3 : 4;
	struct nb_slot s[] = {
		{ LDX64, 0x13, 0, 0 },
		{ LDX64, 0x14, 8, 0 },
		{ row->opcode, (uint8_t)(src << 4 | 3), (int16_t)row->off,
		  row->imm == NB_FIELD_ANY ? imm : row->imm },
		{ MOV64_X, 0x30, 0, 0 },
		{ EXIT, 0, 0, 0 },
	};

	return bound(s, sizeof(s) / sizeof(s[0]));
}

static void alu_reg(const struct nb_insn_spec *row)
{
	struct nb_exec *x = alu_program(row, 0, false);
	struct nb_exec *same = alu_program(row, 0, true);

	for (int i = 0; i < NEDGE; i++)
		for (int k = 0; k < NEDGE; k++) {
			uint64_t m[2] = { edge[i], edge[k] };
			uint64_t got = nb_exec_run(x, m, sizeof(m));

			ck_assert_msg(got == alu(row, m[0], m[1]),
				      "%s of %#lx and %#lx is %#lx, not %#lx", row->name, m[0],
				      m[1], alu(row, m[0], m[1]), got);
			ck_assert_uint_eq(nb_exec_run(same, m, sizeof(m)), alu(row, m[0], m[0]));
		}
	nb_exec_free(x);
	nb_exec_free(same);
}

static void alu_imm(const struct nb_insn_spec *row)
{
	for (int k = 0; k < NEDGE; k++) {
		int32_t imm = (int32_t)(uint32_t)edge[k];
		struct nb_exec *x = alu_program(row, imm, false);

		for (int i = 0; i < NEDGE; i++) {
			uint64_t m[2] = { edge[i], 0 };
			uint64_t b = extend((uint32_t)imm, 32, 64);
			uint64_t got = nb_exec_run(x, m, sizeof(m));

			ck_assert_msg(got == alu(row, m[0], b),
				      "%s of %#lx and %d is %#lx, not %#lx", row->name, m[0], imm,
				      alu(row, m[0], b), got);
		}
		nb_exec_free(x);
	}
}

TEST(alu_over_edge_values)
{
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);

		if (row->kind != NB_KIND_ALU)
			continue;
		if (row->operand == NB_OPND_IMM)
			alu_imm(row);
		else
			alu_reg(row);
		rows++;
	}
	ck_assert_uint_eq(rows, 72);
}

/* Spot values worked out by hand, in case both readings err alike. */
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

static struct nb_exec *jump_program(const struct nb_insn_spec *row, int32_t imm)
{
	unsigned src = row->operand == NB_OPND_REG ? 4 : 0;
	struct nb_slot s[] = {
		{ LDX64, 0x13, 0, 0 },
		{ LDX64, 0x14, 8, 0 },
		{ MOV64_K, 0, 0, 0 },
		{ row->opcode, (uint8_t)(src << 4 | 3), 1, row->operand == NB_OPND_IMM ? imm : 0 },
		{ EXIT, 0, 0, 0 },
		{ MOV64_K, 0, 0, 1 },
		{ EXIT, 0, 0, 0 },
	};

	return bound(s, sizeof(s) / sizeof(s[0]));
}

TEST(jumps_over_edge_values)
{
	unsigned rows = 0;

	for (unsigned op = 0; op < NB_OP_LDDW_HI; op++) {
		const struct nb_insn_spec *row = nb_spec_insn((enum nb_op)op);
		bool reg = row->operand == NB_OPND_REG;

		if (row->kind != NB_KIND_JMP)
			continue;
		rows++;
		for (int k = 0; k < NEDGE; k++) {
			int32_t imm = (int32_t)(uint32_t)edge[k];
			uint64_t b = reg ? edge[k] : extend((uint32_t)imm, 32, 64);
			struct nb_exec *x = jump_program(row, imm);

			for (int i = 0; i < NEDGE; i++) {
				uint64_t m[2] = { edge[i], edge[k] };

				ck_assert_msg(nb_exec_run(x, m, sizeof(m)) == jump(row, m[0], b),
					      "%s of %#lx and %#lx", row->name, m[0], b);
			}
			nb_exec_free(x);
		}
	}
	ck_assert_uint_eq(rows, 44);
}

TEST(jumps_go_both_ways_and_far)
{
	ck_assert_uint_eq(run("mov %r0, 0\nmov %r1, 5\nagain:\n"
			      "add %r0, %r1\nsub %r1, 1\n"
			      "jne %r1, 0, again\nexit"),
			  15);
	ck_assert_uint_eq(run("ja over\nback:\nmov %r0, 7\nexit\n"
			      "over:\nja32 back"),
			  7);
	ck_assert_uint_eq(run("lddw %r0, 0x1ffffffff\nja +2\n"
			      "lddw %r0, 5\nexit"),
			  0x1ffffffff);
}

UNIT_MAIN("interp")
