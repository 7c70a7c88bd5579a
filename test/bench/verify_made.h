// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_MADE_H
#define NB_TEST_VERIFY_MADE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/image/image.h"

/*
 * Programs of a wanted size and shape that a verifier takes: what a verdict
 * costs is measured on them.
 */
enum {
	MADE_BRANCHES,
	MADE_LOOPS,
	MADE_SUBPROGRAMS,
	MADE_FEW, /* those before stand for all where time is short */
	MADE_STRAIGHT = MADE_FEW,
	MADE_OFFSETS,
	MADE_LADDERS,
	MADE_NESTS,
	MADE_SPILLS,
	MADE_LOOKUPS,
	MADE_CALLS,
	MADE_CALLBACKS,
	MADE_SHAPES
};

struct made {
	char name[32], key[32]; /* "look-ups 10 k", "lookups_10k" */
	struct nb_slot *slots;	/* heap */
	uint32_t n, room;
	struct nb_func funcs[NB_IMAGE_MAX_FUNCS];
	struct nb_prog prog;
	struct nb_image img;
};

/* About @size slots of shape @shape; false: no memory. */
bool made_program(struct made *m, unsigned shape, uint32_t size);
void made_free(struct made *m);

#endif
