// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_ARM64_ALU_H
#define NB_EXEC_JIT_ARM64_ALU_H

#include "core/exec/jit/arm64.h"

#if defined(__aarch64__)

bool nb_arm_reaches(int64_t distance);
void nb_arm_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc,
			     const struct nb_insn_spec *row);
void nb_arm_may_goto(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_jump(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_add_const(struct nb_jit_ctx *c, bool w, uint32_t op, unsigned dst,
		      unsigned src, int64_t imm);
void nb_arm_alu(struct nb_jit_ctx *c, uint32_t pc,
		const struct nb_insn_spec *row);
void nb_arm_constant(struct nb_jit_ctx *c, unsigned reg, uint64_t v);
bool nb_arm_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i,
			 int64_t k);

#endif

#endif
