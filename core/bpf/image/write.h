// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_WRITE_H
#define NB_IMAGE_WRITE_H

#include "core/bpf/image/image.h"

/* Write an image like nb_image_write, but without the check. */
int nb_image_put(struct nb_buf *out, const struct nb_image *in, struct nb_err *err);

#endif
