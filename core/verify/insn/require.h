// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_REQUIRE_H
#define NB_VERIFY_INSN_REQUIRE_H

#include <stdint.h>

#include "core/isa/insn.h"

/*
 * What an instruction needs of the state before it, as data: require.c
 * lists the needs, and check.c asks whether the state grants them. They are
 * listed in the order in which messages make most sense.
 */
enum nb_need_kind {
	NB_NEED_WRITABLE, /* Register @reg may be written, so it is not r10. */
	NB_NEED_INIT,	  /* Register @reg is initialised. */
	NB_NEED_COUNT,	  /* The immediate is a legal shift count. */
	NB_NEED_ARITH,	  /* The ALU function accepts the operands. */
	NB_NEED_LOAD,	  /* The program may read @size bytes at @reg + off. */
	/* The program may write @size bytes, from register @value or (-1) a
	 * constant. */
	NB_NEED_STORE,
	/* Memory is readable, writable and aligned; @value is a number. */
	NB_NEED_ATOMIC,
	NB_NEED_ORDERED, /* Memory is aligned and not in the context. */
	NB_NEED_CALL,	 /* There is room for one more frame. */
	NB_NEED_HELPER,	 /* The called helper exists. */
	NB_NEED_ARGS,	 /* The registers r1-r5 fit the helper's row. */
	NB_NEED_RETURN	 /* The function may return r0. */
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

/* List the needs of @insn in @out. This is a pure function. */
void nb_require(struct nb_needs *out, const struct nb_insn *insn);

#endif
