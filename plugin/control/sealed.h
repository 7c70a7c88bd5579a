// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_SEALED_H
#define NB_PLUGIN_CONTROL_SEALED_H

#include <stddef.h>

#include "plugin/control/dispatch.h"

/*
 * nb_sealed_take - read the memory file of a request
 * @what: name of the contents, for errors ("the image")
 * @out:  the caller's, to be freed
 *
 * The oldest descriptor of the connection is taken and closed. The file must
 * be sealed against writing and resizing, so that nobody can change or shorten
 * it while it is read; 1 to NB_IMAGE_MAX_SIZE bytes. 0; NB_E_ARG (none came,
 * or not sealed), NB_E_LIMIT, NB_E_IO, NB_E_NOMEM. Control thread.
 */
int nb_sealed_take(struct nb_call *call, const char *what, void **out,
		   size_t *size);

#endif
