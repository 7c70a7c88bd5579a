// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_HINTS_H
#define NB_VERIFY_REPORT_HINTS_H

#include "core/verify/report/refusal.h"

/*
 * Refusals whose rule depends on what the instruction does with the bytes.
 * Of @x, pc, reg, st, off and size are set: @size bytes at @off are not all
 * inside a value or memory of @limit bytes, or a frame; or byte @bad of them
 * was never written. All return NB_E_VERIFY.
 */
int nb_refuse_span(struct nb_env *env, struct nb_refusal *x);
int nb_refuse_frame(struct nb_env *env, struct nb_refusal *x);
int nb_refuse_unwritten(struct nb_env *env, struct nb_refusal *x, int64_t bad);

/* Words of report/words.h that are computed. */
const char *nb_say_memory(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_access(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_bound(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_variable(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_declared(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_missing(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_member(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_too_small(struct nb_env *env, const struct nb_refusal *x);

#endif
