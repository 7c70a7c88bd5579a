// SPDX-License-Identifier: MIT
#ifndef NB_ISA_INSN_H
#define NB_ISA_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/isa/budgets.h"
#include "core/spec/spec.h"

enum { NB_SLOT_SIZE = 8, NB_NREGS = 11, NB_R10 = 10, NB_STACK_SIZE = 512, NB_MAX_FRAMES = 8 };

/* One slot as objects and images contain it (RFC 9669, section 3). */
struct nb_slot {
	uint8_t opcode;
	/* Register dst in the low nibble, src in the high nibble. */
	uint8_t regs;
	int16_t off;
	int32_t imm;
};

/*
 * A decoded instruction. Every stage after decoding uses this, never raw
 * bytes. There is one for each slot, so that an index (pc) equals the number
 * that people and jump offsets use; the second slot of an LDDW is
 * NB_OP_LDDW_HI and is never executed.
 *
 * @op:     enum nb_op; @kind to @traits: copied from its row
 * @dst @src: register numbers, 0 where unused
 * @off:    LOAD, STORE, ATOMIC: byte offset of the access.
 *          JMP, JA, MAY_GOTO: slots to add to pc + 1 when taken.
 *          CALL_LOCAL: slots to add to pc + 1.
 *          LDDW_FUNC: slots to add to pc + 1 (the callback's first slot)
 * @imm:    ALU, JMP, STORE: the immediate, sign-extended to 64 bits.
 *          CALL_HELPER: the helper's number.
 *          LDDW_IMM: all 64 bits.
 *          LDDW_MAP: map index. LDDW_MAP_VALUE: map index in the low and
 *          offset into the value in the high 32 bits.
 */
struct nb_insn {
	uint16_t op;
	uint8_t kind, fn, width, operand;
	uint8_t dst, src;
	uint8_t reads, writes; /* NB_REGS_* bits of the registers. */
	uint16_t traits;       /* NB_INSN_* bits of the instruction. */
	int32_t off;
	int64_t imm;
};

/* Return the registers of NB_REGS_* @set, bit r for register r. */
static inline uint16_t nb_regs(unsigned set, unsigned dst, unsigned src)
{
	return (uint16_t)((set & NB_REGS_D ? 1u << dst : 0) | (set & NB_REGS_S ? 1u << src : 0) |
			  (set & NB_REGS_R0 ? 1u : 0) | (set & NB_REGS_ARGS ? 0x3eu : 0));
}

static inline uint16_t nb_insn_reads(const struct nb_insn *insn)
{
	return nb_regs(insn->reads, insn->dst, insn->src);
}

static inline uint16_t nb_insn_writes(const struct nb_insn *insn)
{
	return nb_regs(insn->writes, insn->dst, insn->src);
}

static inline bool nb_insn_calls_helper(const struct nb_insn *insn)
{
	return insn->fn == NB_FN_HELPER;
}

static inline bool nb_insn_calls_func(const struct nb_insn *insn)
{
	return insn->fn == NB_FN_LOCAL;
}

/* Does dst get the second operand unchanged? */
static inline bool nb_insn_copies(const struct nb_insn *insn)
{
	return (insn->traits & (NB_INSN_MOVE | NB_INSN_SIGNED)) == NB_INSN_MOVE;
}

/* Do these traits of an instruction say that it subtracts? */
static inline bool nb_is_difference(unsigned traits)
{
	return traits & NB_INSN_SUM && traits & NB_INSN_CANCELS;
}

/* Return the sum or the difference that an instruction with NB_INSN_SUM makes.
 */
static inline uint64_t nb_sum(unsigned traits, uint64_t a, uint64_t b)
{
	return nb_is_difference(traits) ? a - b : a + b;
}

/* Does the instruction load the address of a map, or of a value of a map? */
static inline bool nb_insn_names_map(const struct nb_insn *insn)
{
	return insn->fn == NB_FN_MAP || insn->fn == NB_FN_MAP_VALUE;
}

/* Does the instruction call a function of the program, or take the address
 * of a callback? */
static inline bool nb_insn_names_func(const struct nb_insn *insn)
{
	return nb_insn_calls_func(insn) || insn->fn == NB_FN_FUNC;
}

/* Return the slot that the instruction at @pc jumps to, calls or names. */
static inline int64_t nb_insn_target(const struct nb_insn *insn, uint32_t pc)
{
	return (int64_t)pc + 1 + insn->off;
}

/* Is the condition of a jump true? @fn: NB_FN_J*; @width: 32 or 64. */
bool nb_jump_holds(unsigned fn, unsigned width, uint64_t a, uint64_t b);

/* Facts about a slot that nb_verify finds and execution may use. */
enum {
	NB_AUX_REACHED = 1,	 /* Some path executes the slot. */
	NB_AUX_BRANCH_TAKEN = 2, /* JMP: some path takes the jump. */
	NB_AUX_BRANCH_FALLS = 4, /* JMP: some path falls through. */
	/* DIV and MOD: the divisor, at its width, is never 0. */
	NB_AUX_NONZERO = 8
};

/*
 * nb_decode - decode @nslots slots into @out (as many elements)
 *
 * Refuses unknown opcodes, registers above r10, set reserved fields, and an
 * LDDW without its second slot; err->at is the slot. It does not look at
 * jump targets (nb_verify does). Returns 0 or NB_E_INSN. Pure.
 * Source: RFC 9669, sections 3 to 5.
 */
int nb_decode(struct nb_insn *out, const struct nb_slot *slots, size_t nslots, struct nb_err *err);

/*
 * Write instruction @pc in the style of the kernel's verifier log ("r0 =
 * *(u32 *)(r1 +8)", "if r1 > 15 goto pc+3"), at most @size bytes with the
 * NUL. @map_name (may be NULL) returns the name of map @index, or NULL if
 * unknown.
 */
typedef const char *nb_map_name_fn(void *arg, uint32_t index);
void nb_disasm(char *text, size_t size, const struct nb_insn *insn, nb_map_name_fn *map_name,
	       void *arg);

#endif
