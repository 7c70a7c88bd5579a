// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_X86_64_MEM_H
#define NB_EXEC_JIT_X86_64_MEM_H

#include "core/exec/jit/x86_64.h"

#if defined(__x86_64__)

void nb_x86_load(struct nb_jit_ctx *c, const struct nb_code *i,
		 const struct nb_insn_spec *row);
void nb_x86_store(struct nb_jit_ctx *c, const struct nb_code *i,
		  const struct nb_insn_spec *row);
void nb_x86_store_imm(struct nb_jit_ctx *c, const struct nb_code *i,
		      const struct nb_insn_spec *row);
void nb_x86_locked(struct nb_jit_ctx *c, bool w, unsigned op, unsigned src,
		   struct mem m);
void nb_x86_atomic(struct nb_jit_ctx *c, const struct nb_code *i,
		   const struct nb_insn_spec *row);

#endif

#endif
