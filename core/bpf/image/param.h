// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_PARAM_H
#define NB_IMAGE_PARAM_H

#include "core/bpf/image/image.h"

/*
 * The parameters of a policy are constants of 8 bytes in section .rodata.params, which
 * NCCLBPF_PARAM (ncclbpf_policy.h) defines. They get their values before the policy is verified, so
 * the verifier knows them. An image with another value is another image, with its own digest.
 */
enum { NB_IMAGE_MAX_PARAMS = 64 };

struct nb_image_param {
	const char *name;
	int64_t value;
	int64_t preset, min, max; /* The default, and the range with both ends. */
	uint32_t map, off;	  /* The place of the value: offset in the map's init. */
};

/*
 * nb_image_params - list the parameters of an image
 * @n: gets their number, 0 if the image has none
 *
 * Returns 0, or NB_E_IMAGE if the section does not have the form that NCCLBPF_PARAM gives it.
 * nb_image_check has found that form in every image that was read or written.
 */
int nb_image_params(const struct nb_image *img, struct nb_image_param out[NB_IMAGE_MAX_PARAMS],
		    uint32_t *n, struct nb_err *err);

/*
 * nb_image_param_values - list the parameters with the values that @text gives them
 * @text: NAME=VALUE, separated by commas; VALUE is a whole number, also with 0x, or with K, M, G or
 *        T for powers of 1024. Parameters that it does not name keep their values.
 *
 * Returns 0, NB_E_ARG (no such parameter, no number, out of range, named twice) or NB_E_NOMEM.
 */
int nb_image_param_values(struct nb_image_param p[NB_IMAGE_MAX_PARAMS], uint32_t *n,
			  const struct nb_image *img, const char *text, struct nb_err *err);

/* The section with the source of a decision table that has parameters. The rows decide what the
 * table's search tree is, so another value needs another tree. */
#define NB_IMAGE_TABLE_SOURCE ".rodata.source"

/*
 * nb_image_set - write an image with other values of its parameters
 * @img: an image that nb_image_read has made
 *
 * Returns 0, an error of nb_image_param_values, or NB_E_NOTSUP (a decision table).
 */
int nb_image_set(struct nb_buf *out, const struct nb_image *img, const char *text,
		 struct nb_err *err);

/* Put the values of @p into @bytes, a copy of the image's bytes or those bytes themselves. */
void nb_image_put_params(const struct nb_image *img, unsigned char *bytes,
			 const struct nb_image_param *p, uint32_t n);

#endif
