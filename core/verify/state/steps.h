// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_STEPS_H
#define NB_VERIFY_STATE_STEPS_H

#include <stdint.h>

#include "core/image/image.h"
#include "core/isa/insn.h"

enum { NB_MAX_STEPS = 128 };

/* Bounds to stop at when a number grows, ascending. */
struct nb_steps {
	uint32_t n;
	int64_t at[NB_MAX_STEPS];
};

/*
 * Collects the bounds that a program names: @insns (@n of them), the maps of
 * @img, and the ends of the integer types.
 */
void nb_steps_find(struct nb_steps *s, const struct nb_image *img,
		   const struct nb_insn *insns, uint32_t n);

#endif
