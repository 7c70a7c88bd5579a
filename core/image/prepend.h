// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_PREPEND_H
#define NB_IMAGE_PREPEND_H

#include "core/image/image.h"

/* Instructions to stand before a program's own, and what to call them. */
struct nb_front {
	const char *name;	     /* of the new policy */
	const char *text;	     /* their source line, for people */
	const struct nb_slot *slots; /* end in the program's first, or exit */
	uint32_t nslots;	     /* 1 or more */
};

/*
 * nb_image_front - a copy of an image in which other instructions come first
 * @out: gets the copy's bytes; unchanged on failure
 *
 * Of each program of @hook that the hook runs; what is there for tail calls
 * alone stays as it is. The copy is as untrusted as any image: whoever runs it
 * verifies it. 0, NB_E_LIMIT (too long, or a name), NB_E_NOMEM, NB_E_INSN,
 * NB_E_IMAGE (no program of @hook). Pure.
 */
int nb_image_front(struct nb_buf *out, const struct nb_image *in,
		   enum nb_hook hook, const struct nb_front *front,
		   struct nb_err *err);

/*
 * Does a hook run program @prog by itself? What program arrays name from the
 * start is there for tail calls; unless they name all programs, for something
 * has to begin.
 */
bool nb_image_runs(const struct nb_image *img, uint32_t prog);

/*
 * Programs that tail calls may go to, bit i for program i: those that program
 * arrays name from the start; all where these name none.
 */
uint32_t nb_image_targets(const struct nb_image *img);

/*
 * Programs that elements of program array @map may name, bit i for program i:
 * targets whose hook is that of a program that uses the map. A tail call to
 * any other falls through. All targets where no program uses the map.
 */
uint32_t nb_image_callable(const struct nb_image *img, uint32_t map);

#endif
