// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SHAPE_H
#define NB_VERIFY_STATE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* The control-flow graph of a program, built by flow/cfg.c. */

/* A function of the program: the instruction slots [start, end). */
struct nb_cfg_func {
	uint32_t start, end;
	const char *name;
	bool joined; /* The ipdom entries of this function are computed. */
};

enum {
	NB_MARK_REACHED = 1,
	/* Several paths meet at this slot, so the engine keeps explored
	 * states here. */
	NB_MARK_JOIN = 2,
	NB_MARK_LOOP = 4 /* A jump back leads to this slot. */
};

struct nb_cfg {
	struct nb_cfg_func *funcs;
	uint32_t nfuncs;
	uint16_t *func_of; /* Number of the function that holds each slot. */
	uint8_t *mark;	   /* NB_MARK_* bits of each slot. */
	/* For each slot: registers that some path from there reads before
	 * writing. */
	uint16_t *live;
	/* Immediate post-dominator of each slot; see nb_cfg_join. */
	uint32_t *ipdom;
	uint64_t work; /* Work that may still be spent on computing @ipdom. */
};

#endif
