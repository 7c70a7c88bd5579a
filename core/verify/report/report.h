// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_REPORT_H
#define NB_VERIFY_REPORT_REPORT_H

#include "core/verify/state/env.h"

/* What core/defs/findings.h says of a class. */
struct nb_finding_words {
	const char *word, *text, *hint;
};
const struct nb_finding_words *nb_finding_words(enum nb_finding_class cls);

/* The file name of a path; "" for NULL. */
const char *nb_base_name(const char *path);

/* Text in the verdict's arena; "" when memory is used up. */
const char *nb_say(struct nb_env *env, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "r2: scalar 0..255", "r1: pointer to value of map limits, offset 8" */
const char *nb_say_reg(struct nb_env *env, const struct nb_reg *r, int number);
/* "4 to 20", or one number */
const char *nb_say_span(struct nb_env *env, int64_t min, int64_t max);
/* "a dynptr of a ring buffer's record" */
const char *nb_say_object(const struct nb_cell *c);
/* "reserved at slot 12 (x.bpf.c:31)" */
const char *nb_say_ref(struct nb_env *env, const struct nb_ref *ref);
const char *nb_map_name(const struct nb_env *env, uint32_t map);
/* The source line of a slot: "size_aware.bpf.c:31", or "slot 12". */
const char *nb_say_where(struct nb_env *env, uint32_t pc);

/* The line record that covers @pc, or NULL; in tests images have none. */
const struct nb_line *nb_line_of(const struct nb_prog *p, uint32_t pc);
/* The instruction as text. */
const char *nb_say_insn(struct nb_env *env, uint32_t pc);
/* The name of the function that holds @pc. */
const char *nb_say_func(struct nb_env *env, uint32_t pc);
/* Room for words also when memory is what ran out. */
void nb_more_words(struct nb_env *env);

/* What is known before slot @pc, as lines of opts.trace (not NULL). */
void nb_trace_state(struct nb_env *env, const struct nb_state *st, uint32_t pc);

#endif
