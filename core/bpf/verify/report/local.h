// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_LOCAL_H
#define NB_VERIFY_REPORT_LOCAL_H

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

/*
 * Describe why the instruction at @pc, run with registers @regs, yields
 * rank-local data, and say what to do instead. @access is that of a load or
 * atomic. A hint of "" means the hint of the rule.
 */
struct nb_local_words {
	const char *text, *hint;
};
struct nb_local_words nb_say_local(struct nb_env *env, const struct nb_reg *regs,
				   const struct nb_mem_access *access, uint32_t pc);

#endif
