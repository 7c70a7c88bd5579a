// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_ARM64_MEM_H
#define NB_EXEC_JIT_ARM64_MEM_H

#include "core/exec/jit/arm64.h"

#if defined(__aarch64__)

void nb_arm_access(struct nb_jit_ctx *c, unsigned kind, unsigned log,
		   unsigned rt, unsigned base, int32_t off);
void nb_arm_store_imm(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row);
void nb_arm_load(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row);
void nb_arm_store(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row);
void nb_arm_load_acquire(struct nb_jit_ctx *c, const struct nb_code *i,
			 const struct nb_insn_spec *row);
void nb_arm_store_release(struct nb_jit_ctx *c, const struct nb_code *i,
			  const struct nb_insn_spec *row);
void nb_arm_atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row);

#endif

#endif
