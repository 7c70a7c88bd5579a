// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_PREPEND_H
#define NB_IMAGE_PREPEND_H

#include "core/image/image.h"

/* Instructions to put before a program's own, and what to call them. */
struct nb_prefix {
	const char *name;	     /* the new policy's name */
	const char *text;	     /* their source line, for people */
	const struct nb_slot *slots; /* end in the program's first, or exit */
	uint32_t nslots;	     /* 1 or more */
};

/*
 * nb_image_prepend - a copy of an image in which other instructions come first
 * @out: gets the copy's bytes; unchanged on failure
 *
 * Changes each program of @hook that the hook runs by itself; targets of tail
 * calls stay as they are. The copy is as untrusted as any image, so it must be
 * verified before it runs. 0, NB_E_LIMIT (too long, or a name), NB_E_NOMEM,
 * NB_E_INSN, NB_E_IMAGE (no program of @hook). Pure.
 */
int nb_image_prepend(struct nb_buf *out, const struct nb_image *in,
		     enum nb_hook hook, const struct nb_prefix *prefix,
		     struct nb_err *err);

#endif
