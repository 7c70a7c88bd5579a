// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_VERIFY_H
#define NB_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/image/image.h"
#include "core/verify/report/text.h"
#include "core/verify/state/verdict.h"

/*
 * nb_verify - judge program @prog of @img
 * @opts: may be NULL for the defaults
 *
 * 0 when a verdict could be reached, also a bad one: see (*out)->accepted,
 * and free it with nb_verdict_free. NB_E_NOMEM, NB_E_BUG otherwise, *@out
 * NULL. The image must outlive the verdict. Pure, any thread; bounded in
 * time and memory by the options.
 */
int nb_verify(struct nb_verdict **out, const struct nb_image *img,
	      uint32_t prog, const struct nb_verify_opts *opts,
	      struct nb_err *err);
void nb_verdict_free(struct nb_verdict *v);

#endif
