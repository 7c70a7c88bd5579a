// SPDX-License-Identifier: MIT
/*
 * Write one instruction as a line of text in the style of the kernel's
 * verifier log. Numbers are decimal except for 64-bit constants; a target
 * is pc+N, counted from the next slot. Reads only the instruction and the
 * tables.
 */
#include "core/bpf/isa/insn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A register's name: "r3", or "w3" for its low half. */
struct reg {
	char text[4];
};

static struct reg reg(unsigned width, unsigned n)
{
	struct reg r;

	snprintf(r.text, sizeof(r.text), "%c%u", width == 32 ? 'w' : 'r', n % 100);
	return r;
}

static const char *fn_text(unsigned fn)
{
	return nb_spec_fn(fn)->text;
}

/* Write the second operand of an ALU instruction or jump. */
static void disasm_operand(char *text, size_t size, const struct nb_insn *i)
{
	if (i->operand == NB_OPND_REG)
		snprintf(text, size, "%s", reg(i->width, i->src).text);
	else
		snprintf(text, size, "%" PRId64, i->imm);
}

static void disasm_alu(char *text, size_t size, const struct nb_insn *i)
{
	struct reg d = reg(i->width, i->dst), s = reg(i->width, i->src);
	char opnd[24];

	disasm_operand(opnd, sizeof(opnd), i);
	switch (i->fn) {
	case NB_FN_NEG:
		snprintf(text, size, "%s = -%s", d.text, d.text);
		return;
	case NB_FN_LE:
	case NB_FN_BE:
	case NB_FN_BSWAP:
		snprintf(text, size, "r%u = %s%u r%u", i->dst, fn_text(i->fn), i->width, i->dst);
		return;
	case NB_FN_MOVSX8:
	case NB_FN_MOVSX16:
	case NB_FN_MOVSX32:
		snprintf(text, size, "%s = (%s)%s", d.text, fn_text(i->fn), s.text);
		return;
	}
	snprintf(text, size, "%s %s %s", d.text, fn_text(i->fn), opnd);
}

static void disasm_atomic(char *text, size_t size, const struct nb_insn *i)
{
	/* The last word, for example "add32" of "lock fetch add32". */
	const char *word = strrchr(nb_spec_insn(i->op)->mnemonic, ' ') + 1;
	const char *name = i->width == 64 ? "atomic64" : "atomic";

	if (!(i->traits & NB_INSN_FETCH))
		snprintf(text, size, "lock *(u%u *)(r%u %+d) %s r%u", i->width, i->dst, i->off,
			 fn_text(i->fn), i->src);
	else if (i->writes & NB_REGS_R0)
		snprintf(text, size, "r0 = %s_cmpxchg((u%u *)(r%u %+d), r0, r%u)", name, i->width,
			 i->dst, i->off, i->src);
	else
		snprintf(text, size, "r%u = %s_%s%.*s((u%u *)(r%u %+d), r%u)", i->src, name,
			 i->fn == NB_FN_XCHG ? "" : "fetch_", (int)strcspn(word, "0123456789"),
			 word, i->width, i->dst, i->off, i->src);
}

static void disasm_call(char *text, size_t size, const struct nb_insn *i)
{
	const struct nb_helper_spec *h;
	const char *name;

	if (nb_insn_calls_func(i)) {
		snprintf(text, size, "call pc%+d", i->off);
		return;
	}
	h = i->imm >= 0 && i->imm <= INT32_MAX ? nb_spec_helper((int32_t)i->imm) : NULL;
	name = h ? h->name : nb_spec_kernel_helper(i->imm);
	snprintf(text, size, "call %s%s#%" PRId64, name ? "bpf_" : "", name ? name : "unknown",
		 i->imm);
}

static void disasm_lddw(char *text, size_t size, const struct nb_insn *i, nb_map_name_fn *map_name,
			void *arg)
{
	uint32_t index = (uint32_t)i->imm;
	const char *name = NULL;
	char number[16];

	if (i->fn == NB_FN_IMM) {
		snprintf(text, size, "r%u = 0x%" PRIx64, i->dst, (uint64_t)i->imm);
		return;
	}
	if (i->fn == NB_FN_FUNC) {
		snprintf(text, size, "r%u = func pc%+d", i->dst, i->off);
		return;
	}
	if (map_name)
		name = map_name(arg, index);
	if (!name) {
		snprintf(number, sizeof(number), "#%" PRIu32, index);
		name = number;
	}
	if (i->fn == NB_FN_MAP)
		snprintf(text, size, "r%u = map[%s]", i->dst, name);
	else
		snprintf(text, size, "r%u = map_value[%s]+%" PRIu32, i->dst, name,
			 (uint32_t)((uint64_t)i->imm >> 32));
}

static void disasm_load(char *text, size_t size, const struct nb_insn *i)
{
	if (i->traits & NB_INSN_ORDERED)
		snprintf(text, size, "r%u = load_acquire((u%u *)(r%u %+d))", i->dst, i->width,
			 i->src, i->off);
	else
		snprintf(text, size, "r%u = *(%c%u *)(r%u %+d)", i->dst,
			 i->traits & NB_INSN_SIGNED ? 's' : 'u', i->width, i->src, i->off);
}

static void disasm_store(char *text, size_t size, const struct nb_insn *i)
{
	if (i->traits & NB_INSN_ORDERED)
		snprintf(text, size, "store_release((u%u *)(r%u %+d), r%u)", i->width, i->dst,
			 i->off, i->src);
	else if (i->operand == NB_OPND_IMM)
		snprintf(text, size, "*(u%u *)(r%u %+d) = %" PRId64, i->width, i->dst, i->off,
			 i->imm);
	else
		snprintf(text, size, "*(u%u *)(r%u %+d) = r%u", i->width, i->dst, i->off, i->src);
}

static void disasm_jump(char *text, size_t size, const struct nb_insn *i)
{
	char opnd[24];

	disasm_operand(opnd, sizeof(opnd), i);
	snprintf(text, size, "if %s %s %s goto pc%+d", reg(i->width, i->dst).text, fn_text(i->fn),
		 opnd, i->off);
}

void nb_disasm(char *text, size_t size, const struct nb_insn *insn, nb_map_name_fn *map_name,
	       void *arg)
{
	switch ((enum nb_kind)insn->kind) {
	case NB_KIND_ALU:
		disasm_alu(text, size, insn);
		return;
	case NB_KIND_JMP:
		disasm_jump(text, size, insn);
		return;
	case NB_KIND_JA:
		snprintf(text, size, "%s pc%+d", insn->width == 32 ? "gotol" : "goto", insn->off);
		return;
	case NB_KIND_MAY_GOTO:
		snprintf(text, size, "may_goto pc%+d", insn->off);
		return;
	case NB_KIND_CALL:
		disasm_call(text, size, insn);
		return;
	case NB_KIND_EXIT:
		snprintf(text, size, "exit");
		return;
	case NB_KIND_LOAD:
		disasm_load(text, size, insn);
		return;
	case NB_KIND_STORE:
		disasm_store(text, size, insn);
		return;
	case NB_KIND_ATOMIC:
		disasm_atomic(text, size, insn);
		return;
	case NB_KIND_LDDW:
		disasm_lddw(text, size, insn, map_name, arg);
		return;
	case NB_KIND_LDDW_HI:
		snprintf(text, size, "(second slot)");
		return;
	}
	snprintf(text, size, "?");
}
