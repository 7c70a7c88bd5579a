// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_REFUSAL_H
#define NB_VERIFY_REPORT_REFUSAL_H

#include "core/verify/state/env.h"

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
	const struct nb_cell *object;
	/* A chain of @count functions in which each calls the next. */
	const uint32_t *chain;
	const char *name, *text;
	/* The index of a map, and the slot that uses it. */
	uint32_t map, where;
	enum nb_arg arg;
	enum nb_name_part part;
	int64_t number, to;
	uint64_t size, limit, count;
};

#endif
