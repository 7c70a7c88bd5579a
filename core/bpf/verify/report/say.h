// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_SAY_H
#define NB_VERIFY_REPORT_SAY_H

#include "core/bpf/verify/state/env.h"

/* The stable word of a finding's class, and what the class means. */
struct nb_finding_words {
	const char *word, *text;
};
const struct nb_finding_words *nb_finding_words(enum nb_finding_class cls);

/* Return the file name of a path; "" for NULL. */
const char *nb_base_name(const char *path);

/* Describe a span as "4 to 20", or as one number. */
const char *nb_say_span(struct nb_env *env, int64_t min, int64_t max);
/* Return the source line of a slot, for example "size_aware.bpf.c:31", or
 * else "slot 12". */
const char *nb_say_where(struct nb_env *env, uint32_t pc);

/* Return the line record that covers @pc and has a line number, or NULL;
 * images of tests have none. */
const struct nb_line *nb_line_of(const struct nb_prog *p, uint32_t pc);
/* Is this a line of the policy header, which the author of the policy did not
 * write? */
bool nb_line_is_header(const struct nb_line *l);
/* Return the instruction at @pc as text. */
const char *nb_say_insn(struct nb_env *env, uint32_t pc);
/* Return the name of the function that holds @pc. */
const char *nb_say_func(struct nb_env *env, uint32_t pc);
/* Describe a register, for example "r2: number 0 to 255" or "r1: pointer to the
 * context, offset 8"; @number -1: only its value. */
const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number);
/* Say where a reference was acquired, for example "reserved at x.bpf.c:31". */
const char *nb_say_ref(struct nb_env *env, const struct nb_ref *ref);
/* Release the reserved memory, so that a finding has its text even if memory
 * ran out. */
void nb_more_words(struct nb_env *env);

#endif
