// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SHAPE_H
#define NB_VERIFY_STATE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

/* The control-flow graph of a program, built by flow/cfg.c. */

/* A function: slots [start, end). */
struct nb_cfg_func {
	uint32_t start, end;
	const char *name;
	bool joined; /* ipdom is computed for it */
};

enum {
	NB_MARK_REACHED = 1,
	NB_MARK_JOIN = 2 /* several paths lead here: explored states */
};

/* A function that the helper called at a slot was seen to call back. */
struct nb_callee {
	struct nb_callee *next;
	uint32_t start;
};

struct nb_cfg {
	struct nb_cfg_func *funcs;
	uint32_t nfuncs;
	uint16_t *func_of; /* function of each slot */
	uint8_t *mark;	   /* NB_MARK_* of each slot */
	uint16_t *live;	   /* registers read before written from here on */
	uint32_t *ipdom;   /* see nb_cfg_join */
	uint64_t work;	   /* left for finding @ipdom */
	struct nb_callee **callees; /* by slot; NULL: no callbacks yet */
};

#endif
