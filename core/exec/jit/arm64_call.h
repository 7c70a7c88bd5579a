// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_ARM64_CALL_H
#define NB_EXEC_JIT_ARM64_CALL_H

#include "core/exec/jit/arm64.h"

#if defined(__aarch64__)

void nb_arm_call_out(struct nb_jit_ctx *c, uint64_t fn);
void nb_arm_call_helper(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_arm_lookup_array(struct nb_jit_ctx *c, const struct nb_map *m);
void nb_arm_cpu(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_arm_lookup_percpu(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_lookup_direct(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_call_local(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_spin_lock(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_arm_spin_unlock(struct nb_jit_ctx *c, const struct nb_code *i);
void nb_arm_ring_finish(struct nb_jit_ctx *c, bool discard);
void nb_arm_loop(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_each(struct nb_jit_ctx *c, uint32_t pc);
void nb_arm_tail_call(struct nb_jit_ctx *c, const struct nb_code *i);

#endif

#endif
