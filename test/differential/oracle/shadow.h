// SPDX-License-Identifier: MIT
#ifndef NB_TEST_SHADOW_H
#define NB_TEST_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/image/image.h"
#include "core/bpf/isa/insn.h"
#include "test/differential/oracle/rng.h"

/*
 * An interpreter that trusts no verifier. Every value carries whether it was
 * ever written and, if it is an address, the one object it points into; every
 * access is checked against that object. Addresses are made up, so nothing
 * here can touch the host. Semantics written from RFC 9669, apart from
 * core/exec.
 */

enum { SH_CTX_MAX = 256, SH_POOL = 64 };

/* What one run gets; the same input gives the same run. */
struct sh_input {
	uint64_t coherent; /* seed of all that ranks share */
	uint64_t local;	   /* seed of everything else, addresses included */
	uint32_t passes;   /* of may_goto */
	uint64_t max_steps;
	/* numbers that the program compares with, to be near them often */
	const int64_t *pool;
	uint32_t npool;
	const uint8_t *aux; /* NB_AUX_* to hold against the run; NULL: not */
	bool trace;	    /* print every step */
	bool returns_any;   /* ranks may differ: r0 may be an address */
};

enum sh_fault {
	SH_OK,
	SH_UNINIT,  /* a register or byte that was never written */
	SH_BOUNDS,  /* outside of the object, or no object */
	SH_ACCESS,  /* a store where programs only read, or the reverse */
	SH_DANGLES, /* the object is gone */
	SH_ALIGN,   /* a misaligned atomic */
	SH_WILD,    /* control left the program, or a call no helper */
	SH_RETURN,  /* r0 not a number at the end */
	SH_STEPS,   /* more steps than allowed */
	SH_AUX	    /* what the verdict says of a slot is not so */
};

struct sh_result {
	enum sh_fault fault;
	uint32_t pc;
	char why[160];
	uint64_t r0, steps;
	uint8_t ctx[SH_CTX_MAX];
};

struct shadow;

/* Room for runs; one a thread. NULL: no memory. */
struct shadow *shadow_new(void);
void shadow_free(struct shadow *s);

/*
 * Run the program once. @insns: the decoded slots of @prog. Stops at the
 * first fault.
 */
void shadow_run(struct shadow *s, const struct nb_image *img, const struct nb_prog *prog,
		const struct nb_insn *insns, const struct sh_input *in, struct sh_result *out);

const char *shadow_fault_word(enum sh_fault f);

#endif
