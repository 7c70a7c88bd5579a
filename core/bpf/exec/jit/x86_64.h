// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_X86_64_H
#define NB_EXEC_JIT_X86_64_H

/*
 * Code generation for x86-64 with the System V calling convention. BPF
 * registers are where helpers expect them: run in RDI, r1 to r5 in the next
 * five argument registers, r0 in RAX, r6 to r10 in registers that calls
 * preserve. So a helper call is one move and the call. RDI, R10 and R11 are
 * scratch; R13 points to the run's own data if local calls move the stack.
 *
 * Stack of a program without local calls, from RSP up: the run's data, the
 * frame of 512 bytes, saved registers. With local calls the entry is a stub
 * that calls slot 0, every EXIT is a return, and each call site saves r6 to r9
 * and allocates the callee's frame, because functions may share code.
 */
#include "core/bpf/exec/jit/enc_x86_64.h"
#include "core/bpf/exec/jit/lower.h"

#if defined(__x86_64__)

enum { FEATURE_BMI2 = 1 };

/* Machine operation of an ALU or atomic operation. */
static const uint8_t op_of[NB_NFNS] = {
	[NB_FN_ADD] = X_ADD, [NB_FN_OR] = X_OR,	  [NB_FN_AND] = X_AND, [NB_FN_SUB] = X_SUB,
	[NB_FN_XOR] = X_XOR, [NB_FN_LSH] = X_SHL, [NB_FN_RSH] = X_SHR, [NB_FN_ARSH] = X_SAR
};

enum { RUN_SIZE = NB_JIT_RUN_SIZE };

/* Does RBP hold r10? It does only if r10 is used as more than a base;
 * otherwise r10 is a distance from RSP. */
static inline bool frame_in_rbp(const struct nb_jit_ctx *c)
{
	return c->needs.calls_local || (c->needs.frame && c->needs.frame_value);
}

static inline int32_t run_size(const struct nb_jit_ctx *c)
{
	return nb_jit_wants_run(c) ? RUN_SIZE : 0;
}

static inline struct mem address(const struct nb_jit_ctx *c, unsigned reg, int32_t off)
{
	if (reg == NB_R10 && !frame_in_rbp(c))
		return (struct mem){ RSP, run_size(c) + NB_STACK_SIZE + off };
	return (struct mem){ reg_of(reg), off };
}

static inline void move_rsp(struct nb_jit_ctx *c, unsigned op, int32_t by)
{
	if (by)
		x_alu_imm(c, true, op, RSP, by);
}

void nb_x86_push_saved(struct nb_jit_ctx *c);
void nb_x86_pop_saved(struct nb_jit_ctx *c);
/* Machine conditions by NB_ORDER_*. NONE is for JSET, after TEST set the
 * flags. */
extern const uint8_t nb_x86_condition[NB_NORDERS];
void nb_x86_locked(struct nb_jit_ctx *c, bool w, unsigned op, unsigned src, struct mem m);

#endif
#endif
