// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_HINTS_H
#define NB_VERIFY_REPORT_HINTS_H

#include "core/verify/report/refusal.h"

/*
 * Reject an access whose rule depends on how the instruction uses the
 * bytes. Of @x, the caller sets pc, reg, st, off and size. nb_refuse_span:
 * the @size bytes at @off are not all inside a value or memory of @limit
 * bytes, or inside a frame. nb_refuse_unwritten: byte @bad of them was
 * never written. All return NB_E_VERIFY.
 */
int nb_refuse_span(struct nb_env *env, struct nb_refusal *x);
int nb_refuse_frame(struct nb_env *env, struct nb_refusal *x);
int nb_refuse_unwritten(struct nb_env *env, struct nb_refusal *x, int64_t bad);

/* These functions compute the words that report/words.h names. */
const char *nb_say_memory(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_access(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_bound(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_variable(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_declared(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_missing(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_member(struct nb_env *env, const struct nb_refusal *x);
const char *nb_say_too_small(struct nb_env *env, const struct nb_refusal *x);

#endif
