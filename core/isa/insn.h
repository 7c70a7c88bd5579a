// SPDX-License-Identifier: MIT
#ifndef NB_ISA_INSN_H
#define NB_ISA_INSN_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/spec/spec.h"

enum {
	NB_SLOT_SIZE = 8,
	NB_NREGS = 11,
	NB_R10 = 10,
	NB_STACK_SIZE = 512,
	/* the first iterators of a run come to their end for sure, if they
	 * have so few numbers; of others the end may come early */
	NB_ITERS_SURE = 64,
	NB_ITER_SURE = 4096,
	NB_MAX_FRAMES = 8,
	/* turns of helpers' loops and numbers of iterators in a run */
	NB_TURNS_MAX = 1 << 25
};

/*
 * What bounds a run. A lap are the instructions from one pass of a may_goto,
 * end of a callback's turn or number of an iterator to the next one or the
 * program's end; the verifier knows how many they are at most. Of passes, of
 * turns, and of numbers that come for sure, a run has as many as make
 * NB_RUN_BUDGET instructions by the longest lap of its programs. Each tail call
 * adds two laps at most, so that a run ends within NB_RUN_MAX instructions:
 * after 3 * NB_RUN_BUDGET + NB_LAP_MAX, or, where there are tail calls and
 * nothing comes for sure, 2 * NB_RUN_BUDGET + 67 * NB_LAP_MAX.
 */
enum { NB_LAP_MAX = 1000000, NB_RUN_BUDGET = 1 << 25, NB_RUN_MAX = 1 << 27 };

/* How often a run may do what @lap instructions follow, of @most times. */
static inline uint32_t nb_laps(uint32_t lap, uint32_t most)
{
	uint32_t n = lap ? (uint32_t)NB_RUN_BUDGET / lap : most;

	return n < most ? n : most;
}

/* One slot as it stands in objects and images (RFC 9669, section 3). */
struct nb_slot {
	uint8_t opcode;
	uint8_t regs; /* dst in the low nibble, src in the high one */
	int16_t off;
	int32_t imm;
};

/*
 * A decoded instruction. Everything after decoding switches on this, never
 * on raw bytes. There is one for each slot, so that an index (pc) is what
 * people and jump offsets count; the second slot of an LDDW is NB_OP_LDDW_HI
 * and is never executed.
 *
 * @op:     enum nb_op; @kind, @fn, @width, @operand: copied from its row
 * @dst @src: register numbers, 0 where unused
 * @off:    LDX, ST, STX, atomics: byte offset of the access.
 *          JMP, JA, MAY_GOTO: slots to add to pc + 1 when taken.
 *          CALL_LOCAL: slots to add to pc + 1.
 *          LDDW_FUNC: slots to add to pc + 1 (the callback's first slot)
 * @imm:    ALU, JMP, ST: the immediate, sign-extended to 64 bits.
 *          CALL_HELPER: the helper's number.
 *          LDDW_IMM: all 64 bits.
 *          LDDW_MAP: map index. LDDW_MAP_VALUE: map index in the low and
 *          offset into the value in the high 32 bits.
 */
struct nb_insn {
	uint16_t op;
	uint8_t kind, fn, width, operand;
	uint8_t dst, src;
	int32_t off;
	int64_t imm;
};

/* Facts about a slot that nb_verify finds and execution may use. */
enum {
	NB_AUX_REACHED = 1,	 /* some path executes it */
	NB_AUX_BRANCH_TAKEN = 2, /* JMP: some path jumps */
	NB_AUX_BRANCH_FALLS = 4, /* JMP: some path falls through */
	/* DIV/MOD: the divisor, at its width, is never 0 */
	NB_AUX_NONZERO = 8
};

/*
 * nb_decode - decode @nslots slots into @out (as many elements)
 *
 * Refuses unknown opcodes, registers above r10, set reserved fields, and an
 * LDDW without its second slot; err->at is the slot. It does not look at
 * jump targets (nb_verify does). 0 or NB_E_INSN. Pure.
 * Source: RFC 9669, sections 3 to 5.
 */
int nb_decode(struct nb_insn *out, const struct nb_slot *slots, size_t nslots,
	      struct nb_err *err);

/*
 * nb_encode - the inverse: @n decoded instructions to @n slots
 *
 * decode(encode(x)) = x for everything that decode makes. 0 or NB_E_INSN
 * when a field does not fit its encoding.
 */
int nb_encode(struct nb_slot *out, const struct nb_insn *in, size_t n,
	      struct nb_err *err);

/*
 * nb_asm - assemble text (the syntax of bpf_conformance's data files:
 * mnemonics of core/tbl/isa.h, %r0..%r10, [%r1+4], labels, +N targets, #
 * comments, one instruction a line) to slots
 * @out: up to @max slots; *@n gets the count
 *
 * 0, NB_E_FORMAT (err->at is the line, from 1) or NB_E_LIMIT.
 */
int nb_asm(struct nb_slot *out, size_t max, size_t *n, const char *text,
	   struct nb_err *err);

/*
 * Text of instruction @pc in the style of the kernel's verifier log
 * ("r0 = *(u32 *)(r1 +8)", "if r1 > 15 goto pc+3"), at most @size bytes
 * with the NUL. @map_name (may be NULL): name of map @index, NULL if unknown.
 */
typedef const char *nb_map_name_fn(void *arg, uint32_t index);
void nb_disasm(char *text, size_t size, const struct nb_insn *insn,
	       nb_map_name_fn *map_name, void *arg);

#endif
