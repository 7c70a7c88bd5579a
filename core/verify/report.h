// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_H
#define NB_VERIFY_REPORT_H

#include "core/verify/env.h"

/*
 * nb_refuse - fill the finding; the first one of a verification stays
 * @reg: register concerned, -1 for none
 * @required, @known: sentences made by nb_say; @hint: "" for the class's own
 *
 * Returns NB_E_VERIFY.
 */
int nb_refuse(struct nb_env *env, enum nb_finding_class cls, uint32_t pc,
	      int reg, const char *required, const char *known,
	      const char *hint);

/* Text in the verdict's arena; "" when memory is used up. */
const char *nb_say(struct nb_env *env, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "r2: scalar 0..255", "r1: pointer to value of map limits, offset 8" */
const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number);
/* "4 to 20", or one number */
const char *nb_say_span(struct nb_env *env, int64_t min, int64_t max);
const char *nb_map_name(const struct nb_env *env, uint32_t map);
/* The source line of a slot: "size_aware.bpf.c:31", or "slot 12". */
const char *nb_say_where(struct nb_env *env, uint32_t pc);

/* One line of opts.trace: slot, instruction, what is known; nothing without. */
void nb_trace_state(struct nb_env *env, const struct nb_state *st, uint32_t pc);

/* What is known before slot @pc, as lines of opts.trace (not NULL). */
void nb_trace_state(struct nb_env *env, const struct nb_state *st, uint32_t pc);

#endif
