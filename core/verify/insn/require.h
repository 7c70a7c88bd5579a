// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_REQUIRE_H
#define NB_VERIFY_INSN_REQUIRE_H

#include <stdint.h>

#include "core/isa/insn.h"

/*
 * What an instruction needs of the state before it, as data: require.c lists
 * it, check.c asks whether the state grants it. The order is the order in
 * which messages make most sense.
 */
enum nb_need_kind {
	NB_NEED_WRITABLE, /* @reg may be written: not r10 */
	NB_NEED_INIT,	  /* @reg holds something */
	NB_NEED_COUNT,	  /* the immediate is a legal shift count */
	NB_NEED_ARITH,	  /* operands that the ALU function takes */
	NB_NEED_LOAD,	  /* @size bytes readable at @reg + off */
	NB_NEED_STORE,	  /* @size bytes writable; @value is stored, or -1 */
	NB_NEED_ATOMIC,	  /* both, aligned; @value is a number */
	NB_NEED_ORDERED,  /* aligned and not the context */
	NB_NEED_CALL,	  /* room for one more frame */
	NB_NEED_HELPER,	  /* the helper exists */
	NB_NEED_ARGS,	  /* r1-r5 fit the helper's row */
	NB_NEED_RETURN	  /* r0 may leave the function */
};

struct nb_need {
	enum nb_need_kind kind;
	int8_t reg, value;
	uint8_t size;
};

enum { NB_MAX_NEEDS = 8 };

struct nb_needs {
	unsigned n;
	struct nb_need at[NB_MAX_NEEDS];
};

/* Pure. */
void nb_require(struct nb_needs *out, const struct nb_insn *insn);

#endif
