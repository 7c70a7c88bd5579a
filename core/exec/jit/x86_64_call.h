// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_X86_64_CALL_H
#define NB_EXEC_JIT_X86_64_CALL_H

#include "core/exec/jit/x86_64.h"

#if defined(__x86_64__)

void nb_x86_call_out(struct nb_jit_ctx *c, uint64_t fn);
void nb_x86_call_helper(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_x86_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m);
void nb_x86_cpu(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_x86_lookup_percpu(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_lookup_direct(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_call_local(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_spin_lock(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_x86_spin_unlock(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_x86_ring_finish(struct nb_jit_ctx *c, bool discard);
void nb_x86_loop(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_each(struct nb_jit_ctx *c, uint32_t pc);
void nb_x86_tail_call(struct nb_jit_ctx *c, const struct nb_code *i);

#endif

#endif
