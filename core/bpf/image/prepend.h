// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_PREPEND_H
#define NB_IMAGE_PREPEND_H

#include "core/bpf/image/image.h"

/* Instructions to insert before a program's own, and their name. */
struct nb_prefix {
	const char *name; /* Name of the new policy */
	const char *text; /* Source line of the instructions, for people. */
	/* The code; it ends at the program's first slot, or exits. */
	const struct nb_slot *slots;
	uint32_t nslots; /* Number of slots, 1 or more. */
};

/*
 * nb_image_prepend - copy an image and insert instructions before its programs
 * @out: gets the copy's bytes; unchanged on failure
 *
 * Changes each program of @hook. The copy is as untrusted as any image, so it must be
 * verified before it runs. Returns 0, NB_E_LIMIT (too long, or a name),
 * NB_E_NOMEM, NB_E_INSN or NB_E_IMAGE (no program of @hook). Pure.
 */
int nb_image_prepend(struct nb_buf *out, const struct nb_image *in, enum nb_hook hook,
		     const struct nb_prefix *prefix, struct nb_err *err);

#endif
