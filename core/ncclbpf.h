// SPDX-License-Identifier: MIT
#ifndef NB_NCCLBPF_H
#define NB_NCCLBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/hook/gen.h"
#include "core/hook/policy.h"
#include "core/image/image.h"
#include "core/verify/verify.h"

/*
 * The pipeline from a policy image to something that decides, one call a
 * stage:
 *
 *	bytes --nb_policy_new--> policy --nb_gen_new--> generation
 *	      --nb_gen_run_tuner--> answer
 */

struct nb_policy_opts {
	struct nb_verify_opts verify;
	/* policies whose shared maps may be joined; see nb_policy_make */
	struct nb_policy *const *peers;
	uint32_t npeers;
	bool interpret;	  /* run by the interpreter, not as machine code */
	unsigned publish; /* NB_PUBLISH_*: tell perf or gdb of machine code */
	/* On NB_E_VERIFY these get the finding, as text of several lines and
	 * as one JSON object; NULL: not wanted. Untouched otherwise. */
	struct nb_buf *finding_text;
	struct nb_buf *finding_json;
};

/*
 * nb_policy_new - read an image, verify every program, make the local maps
 * @bytes: @size untrusted bytes, copied
 * @opts:  may be NULL for the defaults
 *
 * The result has one reference (nb_policy_put). NULL on failure: NB_E_VERIFY
 * (err says program, instruction, what was required and known), the errors of
 * nb_image_read, NB_E_NOMEM, NB_E_MAPDEF, NB_E_LIMIT. Pure but for memory;
 * any thread. Not for a decision path.
 */
int nb_policy_new(struct nb_policy **out, const void *bytes, size_t size,
		  const struct nb_policy_opts *opts, struct nb_err *err);

/*
 * nb_policy_verify - the verification stage alone
 *
 * Verifies the programs of @img in order up to the first refused one.
 * @effort: img->nprogs elements to fill, or NULL. 0, NB_E_VERIFY, NB_E_NOMEM.
 */
int nb_policy_verify(const struct nb_image *img,
		     const struct nb_policy_opts *opts,
		     struct nb_policy_effort *effort, struct nb_err *err);

/* Map @map of the policy, by name; its index, or -1. */
int nb_policy_map(const struct nb_policy *p, const char *map);

/* Is map @map of the image one that changes only at fences? */
bool nb_policy_map_coherent(const struct nb_policy *p, uint32_t map);

#endif
