// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_CHECK_H
#define NB_IMAGE_CHECK_H

#include "core/bpf/image/image.h"

/*
 * nb_image_check - check everything about an image's content that needs no run
 * (see nb_image_read)
 * @at: offset of each section for err->at, or NULL: the record's number
 */
int nb_image_check(const struct nb_image *img, const uint32_t *at, struct nb_err *err);

/* May @text be in a line record? It has to be printable UTF-8 and tabs, at
 * most 255 bytes. */
bool nb_image_text_ok(const char *text);

/* Is @name a policy's name? It has 1 to 63 letters, digits, _ - . and does
 * not begin with - or a dot. */
bool nb_image_name_ok(const char *name);

#endif
