// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_X86_64_ALU_H
#define NB_EXEC_JIT_X86_64_ALU_H

#include "core/exec/jit/x86_64.h"

#if defined(__x86_64__)

bool nb_x86_reaches(int64_t distance);
void nb_x86_compare_and_jump(struct nb_jit_ctx *c, uint32_t pc,
			     const struct nb_insn_spec *row);
void nb_x86_may_goto(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_jump(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_alu(struct nb_jit_ctx *c, uint32_t pc,
		const struct nb_insn_spec *row);
void nb_x86_constant(struct nb_jit_ctx *c, unsigned reg, uint64_t v);
bool nb_x86_copy_and_add(struct nb_jit_ctx *c, const struct nb_code *i,
			 int64_t k);

#endif

#endif
