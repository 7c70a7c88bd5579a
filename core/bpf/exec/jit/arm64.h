// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_ARM64_H
#define NB_EXEC_JIT_ARM64_H

/*
 * Code generation for 64-bit Arm with its procedure call standard. BPF
 * registers are where helpers expect them: run in x0, r1 to r5 in x1 to x5; r0
 * is x7, and r6 to r10 are registers that calls preserve. So a helper call is
 * one move, the call, and a move of its result. x9 to x12 and x16 are scratch;
 * x23 points to the run's own data if local calls move the stack.
 *
 * Stack of a program without local calls, from SP up: the run's data, the
 * frame of 512 bytes, saved registers. With local calls the entry is a stub
 * that calls slot 0. Functions may share code, so each call site saves r6 to
 * r9 and allocates the callee's frame: 512 bytes and, above them, the return
 * address, which EXIT loads.
 */
#include "core/bpf/exec/jit/enc_arm64.h"
#include "core/bpf/exec/jit/lower.h"

#if defined(__aarch64__)

enum { FEATURE_LSE = 1 };

/* The bit of AT_HWCAP that asm/hwcap.h calls HWCAP_ATOMICS. */
enum { HWCAP_LSE = 1 << 8 };

/* Scratch registers, then the registers that hold a function's address, r0, the
 * run's data and r10. */
enum { T0 = 9, T1 = 10, T2 = 11, T3 = 12 };
enum { FN = 16, R0 = 7, RUN = 23, FRAME = 24 };

/* Machine operation of an ALU operation, and the LSE instruction that does
 * the same in memory. */
static const struct {
	uint32_t alu, lse;
} op_of[NB_NFNS] = { [NB_FN_ADD] = { A_ADD, A_LDADD }, [NB_FN_SUB] = { A_SUB, 0 },
		     [NB_FN_OR] = { A_ORR, A_LDSET },  [NB_FN_AND] = { A_AND, A_LDCLR },
		     [NB_FN_XOR] = { A_EOR, A_LDEOR }, [NB_FN_XCHG] = { 0, A_SWP },
		     [NB_FN_LSH] = { A_LSL, 0 },       [NB_FN_RSH] = { A_LSR, 0 },
		     [NB_FN_ARSH] = { A_ASR, 0 } };

enum { RUN_SIZE = NB_JIT_RUN_SIZE };

/* Bytes above a callee's frame that hold the return address. */
enum { RETURN = 16 };

static inline uint32_t run_size(const struct nb_jit_ctx *c)
{
	return nb_jit_wants_run(c) ? RUN_SIZE : 0;
}

static inline void move_sp(struct nb_jit_ctx *c, uint32_t op, uint32_t by)
{
	if (by)
		a_add_imm(c, true, op, SP, SP, by);
}

/* Machine conditions by NB_ORDER_*. NONE is for JSET, after ANDS set the
 * flags. */
extern const uint8_t nb_arm_condition[NB_NORDERS];
/* Emit dst = src + imm, or src - imm for A_SUB. */
void nb_arm_add_const(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned dst, unsigned src,
		      int64_t imm);

#endif
#endif
