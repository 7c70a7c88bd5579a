// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_REFUSAL_H
#define NB_VERIFY_REPORT_REFUSAL_H

#include "core/verify/state/env.h"

/*
 * A refusal as data: which rule is broken, where, and the facts that the
 * rule's templates name. report/words.h says which facts a word needs; the
 * others stay 0. Nothing is kept beyond the call.
 */
struct nb_refusal {
	uint32_t pc;
	int reg;		   /* register concerned, -1: none */
	const struct nb_state *st; /* before the instruction at @pc */
	const struct nb_reg *pointer, *was, *is;
	const struct nb_helper_spec *helper;
	const struct nb_range *off;
	const struct nb_ref *ref;
	const struct nb_cell *object;
	const uint32_t *chain; /* @count functions, each calls the next */
	const char *name, *text;
	uint32_t map, where; /* an index, a slot */
	enum nb_arg arg;
	enum nb_name_part part;
	int64_t number, to;
	uint64_t size, limit, count;
};

/*
 * nb_refuse - fill the finding; the first one of a verification stays
 *
 * Returns NB_E_VERIFY.
 */
int nb_refuse(struct nb_env *env, enum nb_rule rule,
	      const struct nb_refusal *refusal);

/* The same with the facts that follow, of the program and not of a register. */
#define nb_refuse_program(env, rule, ...) \
	nb_refuse(env, rule, &(struct nb_refusal){ .reg = -1, __VA_ARGS__ })

/* @text with its words in braces made from @x; itself if it has none. */
const char *nb_expand(struct nb_env *env, const char *text,
		      const struct nb_refusal *x);

/* The first word of @text in braces that words.h has no row for; its length
 * is @n. NULL: there is none. For tests. */
const char *nb_rule_unknown_word(const char *text, size_t *n);

#endif
