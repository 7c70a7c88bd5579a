// SPDX-License-Identifier: MIT
#ifndef NB_NCCLBPF_H
#define NB_NCCLBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/generation/generation.h"
#include "core/generation/policy.h"
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
	struct nb_verify_opts verify; /* policy_insns and _spent are set here */
	/* of the whole policy; 0: the default of NCCLBPF_MAX_VERIFY and of
	 * NCCLBPF_MAX_POLICY_MEMORY */
	uint32_t max_insns;
	uint64_t max_memory; /* bytes of maps */
	/* policies whose shared maps may be joined; see nb_policy_make */
	struct nb_policy *const *peers;
	uint32_t npeers;
	bool interpret;	  /* run by the interpreter, not as machine code */
	unsigned publish; /* NB_PUBLISH_*: tell perf or gdb of machine code */
	uint32_t max_run; /* see run_limit.h; 0: the default */
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
 * nb_image_read, NB_E_NOMEM, NB_E_MAPDEF, NB_E_LIMIT (nb_policy_memory, before
 * anything is verified or allocated). Pure but for memory;
 * any thread. Not for a decision path.
 */
int nb_policy_new(struct nb_policy **out, const void *bytes, size_t size,
		  const struct nb_policy_opts *opts, struct nb_err *err);

/* Put the defaults in place of limits of the policy that are 0. */
void nb_policy_limits(struct nb_policy_opts *opts);

/* What is kept of a verdict. */
struct nb_policy_effort nb_policy_effort_of(const struct nb_verdict *v);

/*
 * nb_verify_env - may program @prog of SEC("env") answer ranks differently?
 *
 * Judges it as if ranks that look up the same variable with the same value had
 * to get the same answer. *@out is the refusal that says why they may not, to
 * be freed, or NULL: they do. What the program returns does not count. Errors
 * as of nb_verify; *@out is NULL then.
 */
int nb_verify_env(struct nb_verdict **out, const struct nb_image *img,
		  uint32_t prog, struct nb_err *err);

/* Map @map of the policy, by name; its index, or -1. */
int nb_policy_map(const struct nb_policy *p, const char *map);

/* Is map @map of the image one that changes only at fences? */
bool nb_policy_map_coherent(const struct nb_policy *p, uint32_t map);

#endif
