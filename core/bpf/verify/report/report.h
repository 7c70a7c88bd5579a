// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_REPORT_H
#define NB_VERIFY_REPORT_REPORT_H

#include "core/bpf/verify/report/say.h"

/* Describe a register, for example "r2: scalar 0..255" or "r1: pointer to
 * value of map limits, offset 8". */
const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number);
/*
 * Write where a reference was acquired, for example "reserved at slot 12
 * (x.bpf.c:31)".
 */
const char *nb_say_ref(struct nb_env *env, const struct nb_ref *ref);

/* Append the state before slot @pc to opts.trace (not NULL), as lines of
 * text. */
void nb_trace_state(struct nb_env *env, const struct nb_state *st, uint32_t pc);

#endif
