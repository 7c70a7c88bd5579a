// SPDX-License-Identifier: MIT
#ifndef NB_LOAD_WRITE_H
#define NB_LOAD_WRITE_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/bpf/image/image.h"

/*
 * nb_object_write - write an image as a BPF object file that libbpf opens
 * @out: gets the ELF bytes; unchanged on failure
 *
 * For policies that were made without a compiler: programs of one function
 * each, read-only data sections, maps whose keys and values are plain
 * integers, with their tags, and program arrays. nb_object_image turns the
 * object back into an image with the same programs and maps. Returns 0,
 * NB_E_NOTSUP (the image has more than that) or NB_E_NOMEM. Pure.
 */
int nb_object_write(struct nb_buf *out, const struct nb_image *img, struct nb_err *err);

#endif
