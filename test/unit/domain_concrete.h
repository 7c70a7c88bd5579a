// SPDX-License-Identifier: MIT
#ifndef NB_TEST_DOMAIN_CONCRETE_H
#define NB_TEST_DOMAIN_CONCRETE_H

#include <check.h>

#include "test/unit/rfc9669.h"

/* The operations on the verifier's numbers, and what the machine does: rfc9669.h. */
static const enum nb_fn alu_fns[] = { NB_FN_ADD,  NB_FN_SUB,  NB_FN_MUL,  NB_FN_DIV, NB_FN_MOD,
				      NB_FN_OR,	  NB_FN_AND,  NB_FN_XOR,  NB_FN_LSH, NB_FN_RSH,
				      NB_FN_ARSH, NB_FN_SDIV, NB_FN_SMOD, NB_FN_NEG, NB_FN_MOV };
static const enum nb_fn jump_fns[] = { NB_FN_JEQ,  NB_FN_JNE,  NB_FN_JGT,  NB_FN_JGE,
				       NB_FN_JLT,  NB_FN_JLE,  NB_FN_JSGT, NB_FN_JSGE,
				       NB_FN_JSLT, NB_FN_JSLE, NB_FN_JSET };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#endif
