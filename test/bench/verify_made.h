// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_MADE_H
#define NB_TEST_VERIFY_MADE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/image/image.h"

/*
 * Programs of a wanted size and shape that a verifier takes: what a verdict
 * costs is measured on them.
 */
enum { MADE_SHAPES = 6 };

struct made {
	char name[32];
	struct nb_slot *slots; /* heap */
	uint32_t n, room;
	struct nb_func funcs[NB_IMAGE_MAX_FUNCS];
	struct nb_prog prog;
	struct nb_image img;
};

/* About @size slots of shape @shape; false: no memory. */
bool made_program(struct made *m, unsigned shape, uint32_t size);
void made_free(struct made *m);

#endif
