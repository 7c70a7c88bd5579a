// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_VERIFY_H
#define NB_VERIFY_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/image/image.h"
#include "core/bpf/verify/report/text.h"
#include "core/bpf/verify/state/verdict.h"

/*
 * nb_verify - verify program @prog of @img
 * @opts: may be NULL for the defaults
 *
 * Returns 0 if a verdict was reached, even a rejection: read (*out)->accepted,
 * and free *@out with nb_verdict_free. Otherwise returns NB_E_NOMEM or
 * NB_E_BUG and sets *@out to NULL. The image must outlive the verdict. Pure,
 * any thread; the options bound time and memory.
 */
int nb_verify(struct nb_verdict **out, const struct nb_image *img, uint32_t prog,
	      const struct nb_verify_opts *opts, struct nb_err *err);
void nb_verdict_free(struct nb_verdict *v);

#endif
