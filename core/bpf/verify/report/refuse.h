// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_REFUSE_H
#define NB_VERIFY_REPORT_REFUSE_H

#include "core/bpf/verify/state/env.h"

/*
 * A refusal as data: the broken rule, the slot, and the facts that the
 * rule's templates name. report/words.h lists the facts that each word
 * needs; the others stay 0. nb_refuse keeps no pointer to it.
 */
struct nb_refusal {
	uint32_t pc;
	int reg; /* The register concerned, or -1 if there is none. */
	/* The state before the instruction at @pc. */
	const struct nb_state *st;
	const struct nb_reg *pointer, *was, *is;
	const struct nb_helper_spec *helper;
	const struct nb_range *off;
	const struct nb_ref *ref;
	/* A chain of @count functions in which each calls the next. */
	const uint32_t *chain;
	const char *name, *text;
	/* A template that replaces the rule's hint, unless its text is "". */
	const char *hint;
	/* The index of a map, and the slot that uses it. */
	uint32_t map, where;
	enum nb_arg arg;
	enum nb_name_part part;
	int64_t number, to;
	uint64_t size, limit, count;
};

/*
 * nb_refuse - fill the finding; the first finding of a verification stays
 *
 * Returns NB_E_VERIFY.
 */
int nb_refuse(struct nb_env *env, enum nb_rule rule, const struct nb_refusal *refusal);

/* Copy the branches of the current path to *@to. */
void nb_way_keep(struct nb_env *env, struct nb_way *to);

/* Call nb_refuse for a fact about the program and not about a register; the
 * arguments initialise members of struct nb_refusal. */
#define nb_refuse_program(env, rule, ...) \
	nb_refuse(env, rule, &(struct nb_refusal){ .reg = -1, __VA_ARGS__ })

/* Store the notes of an accepted program in env->v; fewer if out of memory. They come
 * from facts that the walks recorded. */
void nb_notes_fill(struct nb_env *env);

/* Replace the words in braces in @text with words made from @x. Returns
 * @text itself if it has no such word. */
const char *nb_expand(struct nb_env *env, const char *text, const struct nb_refusal *x);

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

#endif
