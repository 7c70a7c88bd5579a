// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_HINTS_H
#define NB_VERIFY_REPORT_HINTS_H

#include "core/verify/report/refuse.h"

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
