// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_SEALED_H
#define NB_PLUGIN_CONTROL_SEALED_H

#include <stddef.h>

#include "plugin/control/dispatch.h"

/*
 * nb_sealed_take - read the memory file of a request
 * @what: name of the contents, for error messages ("the image")
 * @out: the contents, which the caller frees
 *
 * It takes and closes the connection's oldest descriptor. The file must be
 * sealed against writing and resizing, so nobody can change or shorten it
 * meanwhile. It has 1 to NB_IMAGE_MAX_SIZE bytes. Returns 0, NB_E_ARG (no
 * descriptor came, or the file is not sealed), NB_E_LIMIT, NB_E_IO or
 * NB_E_NOMEM. Control thread only.
 */
int nb_sealed_take(struct nb_call *call, const char *what, void **out, size_t *size);

#endif
