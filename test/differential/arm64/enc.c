// SPDX-License-Identifier: MIT
// Every encoding of core/bpf/exec/jit/enc_arm64.h beside what the assembler has
// to make of its text: lines "machine word <TAB> text".
// test/differential/arm64/arm64_enc.t asks the assembler. Runs on any machine.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/exec/jit/enc_arm64.h"

static unsigned char bytes[64];
static struct nb_jit_ctx ctx;

static struct nb_jit_ctx *fresh(void)
{
	ctx.out = bytes;
	ctx.room = sizeof(bytes);
	ctx.pos = 0;
	return &ctx;
}

/* The words that were emitted, the first with @text. */
static void line(const char *text)
{
	for (uint32_t at = 0; at < ctx.pos; at += 4) {
		uint32_t word;

		memcpy(&word, bytes + at, 4);
		printf("%08" PRIx32 "%s", word, at + 4 < ctx.pos ? " " : "\t");
	}
	puts(text);
}

#define IS(emit, ...)                                      \
	do {                                               \
		char text[200];                            \
		struct nb_jit_ctx *c = fresh();            \
		emit;                                      \
		snprintf(text, sizeof(text), __VA_ARGS__); \
		line(text);                                \
	} while (0)

static const char *reg(bool w, unsigned r)
{
	static char names[4][8];
	static unsigned next;
	char *n = names[next++ % 4];

	snprintf(n, 8, r == ZR ? "%czr" : "%c%u", w ? 'x' : 'w', r);
	return n;
}

static void registers(bool w)
{
	static const struct {
		uint32_t op;
		const char *name;
	} ops[] = { { A_AND, "and" },  { A_ADD, "add" }, { A_UDIV, "udiv" }, { A_SDIV, "sdiv" },
		    { A_LSL, "lsl" },  { A_LSR, "lsr" }, { A_ASR, "asr" },   { A_ORR, "orr" },
		    { A_ORN, "orn" },  { A_EOR, "eor" }, { A_SUB, "sub" },   { A_ANDS, "ands" },
		    { A_SUBS, "subs" } };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (unsigned r = 0; r < 31; r += 5)
			IS(a_rrr(c, w, ops[i].op, r, (r + 7) % 31, 30 - r), "%s %s, %s, %s",
			   ops[i].name, reg(w, r), reg(w, (r + 7) % 31), reg(w, 30 - r));
	IS(a_madd(c, w, 1, 2, 3, 4), "madd %s, %s, %s, %s", reg(w, 1), reg(w, 2), reg(w, 3),
	   reg(w, 4));
	IS(a_msub(c, w, 21, 22, 23, ZR), "msub %s, %s, %s, %s", reg(w, 21), reg(w, 22), reg(w, 23),
	   reg(w, ZR));
	IS(a_mov(c, w, 19, 7), "mov %s, %s", reg(w, 19), reg(w, 7));
	IS(a_rr(c, w, A_REV16, 3, 4), "rev16 %s, %s", reg(w, 3), reg(w, 4));
	IS(a_rr(c, w, w ? A_REV64 : A_REV32, 3, 4), "rev %s, %s", reg(w, 3), reg(w, 4));
	for (unsigned n = 0; n < (w ? 64 : 32); n += 7) {
		IS(a_shift_imm(c, w, A_LSL, 5, 6, n), "lsl %s, %s, #%u", reg(w, 5), reg(w, 6), n);
		IS(a_shift_imm(c, w, A_LSR, 5, 6, n), "lsr %s, %s, #%u", reg(w, 5), reg(w, 6), n);
		IS(a_shift_imm(c, w, A_ASR, 5, 6, n), "asr %s, %s, #%u", reg(w, 5), reg(w, 6), n);
	}
	IS(a_bitfield(c, w, A_SBFM, 5, 6, 0, 7), "sxtb %s, w6", reg(w, 5));
	IS(a_bitfield(c, w, A_SBFM, 5, 6, 0, 15), "sxth %s, w6", reg(w, 5));
}

static void immediates(bool w)
{
	static const uint32_t imm[] = { 0, 1, 4095, 4096, 0xfff000 };

	for (size_t i = 0; i < 5; i++) {
		IS(a_add_imm(c, w, A_ADD, 1, 2, imm[i]), "add %s, %s, #%u", reg(w, 1), reg(w, 2),
		   imm[i]);
		IS(a_add_imm(c, w, A_SUB, 1, 2, imm[i]), "sub %s, %s, #%u", reg(w, 1), reg(w, 2),
		   imm[i]);
		IS(a_add_imm(c, w, A_SUBS, ZR, 2, imm[i]), "cmp %s, #%u", reg(w, 2), imm[i]);
	}
	/* every run of ones, rotated, in pieces of every size */
	for (unsigned size = 2; size <= (w ? 64 : 32); size *= 2)
		for (unsigned n = 1; n<size; n += size> 8 ? 5 : 1)
			for (unsigned r = 0; r<size; r += size> 8 ? 7 : 1) {
				uint64_t e = ones(n), v = 0;
				uint32_t fields;

				e = (e >> r | e << (size - r)) & ones(size);
				if (!r)
					e = ones(n);
				for (unsigned at = 0; at < (w ? 64 : 32); at += size)
					v |= e << at;
				if (!bitmask(v, w, &fields)) {
					printf("none\tand %s, %s, #%#" PRIx64 "\n", reg(w, 9),
					       reg(w, 8), v);
					continue;
				}
				IS(a_logical_imm(c, w, A_AND, 9, 8, fields),
				   "and %s, %s, #%#" PRIx64, reg(w, 9), reg(w, 8), v);
			}
	for (int i = 0; i < 3; i++) {
		static const uint32_t op[] = { A_ORR, A_EOR, A_ANDS };
		static const char *const name[] = { "orr", "eor", "ands" };
		uint32_t fields = 0;

		bitmask(0xff0, w, &fields);
		IS(a_logical_imm(c, w, op[i], 9, 8, fields), "%s %s, %s, #0xff0", name[i],
		   reg(w, 9), reg(w, 8));
	}
}

static void memory(void)
{
	static const char *const load[] = { "ldrb w", "ldrh w", "ldr w", "ldr x" };
	static const char *const store[] = { "strb w", "strh w", "str w", "str x" };
	static const char *const with_sign[] = { "ldrsb x", "ldrsh x", "ldrsw x" };
	static const char *const u[] = { "ldurb w", "ldurh w", "ldur w", "ldur x" };

	for (unsigned log = 0; log < 4; log++) {
		uint32_t far = 4095u << log;

		IS(a_mem(c, A_LOAD, log, 3, 4, far), "%s3, [x4, #%u]", load[log], far);
		IS(a_mem(c, A_STORE, log, 3, SP, 8), "%s3, [sp, #8]", store[log]);
		IS(a_mem_unscaled(c, A_LOAD, log, 3, 4, -256), "%s3, [x4, #-256]", u[log]);
		IS(a_mem_unscaled(c, A_LOAD, log, 30, 4, 255), "%s30, [x4, #255]", u[log]);
		IS(a_mem_reg(c, A_STORE, log, 3, 4, 10), "%s3, [x4, x10]", store[log]);
		if (log < 3) {
			IS(a_mem(c, A_LOAD_SIGNED, log, 3, 4, 0), "%s3, [x4]", with_sign[log]);
			IS(a_mem_reg(c, A_LOAD_SIGNED, log, 3, 4, 10), "%s3, [x4, x10]",
			   with_sign[log]);
		}
	}
	IS(a_push_pair(c, 19, 20), "stp x19, x20, [sp, #-16]!");
	IS(a_pop_pair(c, 29, 30), "ldp x29, x30, [sp], #16");
}

static void ordered(void)
{
	static const char *const suffix[] = { "b w", "h w", " w", " x" };

	for (unsigned log = 0; log < 4; log++) {
		const char *s = suffix[log];

		IS(a_ordered(c, A_LDAR, log, 0, 5, 6), "ldar%s5, [x6]", s);
		IS(a_ordered(c, A_STLR, log, 0, 5, 6), "stlr%s5, [x6]", s);
		IS(a_ordered(c, A_LDAXR, log, 0, 5, 6), "ldaxr%s5, [x6]", s);
		IS(a_ordered(c, A_STLXR, log, 9, 5, 6), "stlxr%.*s w9, %s5, [x6]", log < 2 ? 1 : 0,
		   s, log == 3 ? "x" : "w");
	}
	for (unsigned log = 2; log < 4; log++) {
		static const uint32_t op[] = { A_LDADD, A_LDCLR, A_LDEOR, A_LDSET, A_SWP, A_CAS };
		static const char *const name[] = { "ldaddal", "ldclral", "ldeoral",
						    "ldsetal", "swpal",	  "casal" };
		bool w = log == 3;

		for (int i = 0; i < 6; i++)
			IS(a_ordered(c, op[i], log, 11, 12, 6), "%s %s, %s, [x6]", name[i],
			   reg(w, 11), reg(w, 12));
	}
}

static void control(void)
{
	static const char *const cc[] = { "eq", "ne", "hs", "lo", "mi", "pl", "vs",
					  "vc", "hi", "ls", "ge", "lt", "gt", "le" };

	for (unsigned i = 0; i < 14; i++)
		IS(a_b19(c, A_BCOND | i, 4 * (int64_t)i - 16), "b.%s . + %d", cc[i],
		   4 * (int)i - 16);
	IS(a_b19(c, A_CBZ | 7, 1048572), "cbz w7, . + 1048572");
	IS(a_b19(c, A_CBNZ | wide_bit(true) | 7, -1048576), "cbnz x7, . - 1048576");
	IS(a_b(c, A_B, -134217728), "b . - 134217728");
	IS(a_b(c, A_BL, 134217724), "bl . + 134217724");
	IS(a4(c, A_BLR | 16 << 5), "blr x16");
	IS(a4(c, A_RET), "ret");
	IS(a4(c, A_DMB), "dmb ish");
	IS(a4(c, A_BTI_C), "bti c");
	IS(a4(c, A_UDF), "udf #0");
	IS(a_csel(c, 7, 8, ZR, CC_LO), "csel x7, x8, xzr, lo");
	IS(a_add_shifted(c, 7, 8, 9, 13), "add x7, x8, x9, lsl #13");
}

int main(void)
{
	for (int w = 0; w < 2; w++) {
		registers(w);
		immediates(w);
	}
	memory();
	ordered();
	control();
	return 0;
}
