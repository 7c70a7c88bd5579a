// SPDX-License-Identifier: MIT
#ifndef NB_NCCLBPF_H
#define NB_NCCLBPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/bpf/generation/generation.h"
#include "core/bpf/generation/policy.h"
#include "core/bpf/image/image.h"
#include "core/bpf/verify/verify.h"

/*
 * The pipeline from a policy image to an answer, one call for each stage:
 *
 *     bytes --nb_policy_new--> policy --nb_gen_new--> generation
 *           --nb_gen_run_tuner--> answer
 */

struct nb_policy_opts {
	/* nb_policy_new sets policy_insns and policy_spent. */
	struct nb_verify_opts verify;
	/* Limit of the whole policy; 0 means the default of
	 * NCCLBPF_MAX_VERIFY, and for @max_memory that of
	 * NCCLBPF_MAX_POLICY_MEMORY. */
	uint32_t max_insns;
	uint64_t max_memory; /* Bytes of all maps together. */
	/* Policies whose shared maps may be joined; see nb_policy_make. */
	struct nb_policy *const *peers;
	uint32_t npeers;
	/* Run the programs by the interpreter, not as machine code. */
	bool interpret;
	bool perf_map; /* Name machine code for perf. */
	/* Limit of a run, see run_limit.h; 0 for the default. */
	uint32_t max_run;
	/* On NB_E_VERIFY these get the finding, as text of several lines
	 * and as one JSON object; NULL if not wanted. Otherwise they are
	 * unchanged. */
	struct nb_buf *finding_text;
	struct nb_buf *finding_json;
};

/*
 * nb_policy_new - read an image, verify every program, create the local maps
 * @bytes: @size untrusted bytes, copied
 * @opts:  may be NULL for the defaults
 *
 * *@out has one reference (nb_policy_put). It is NULL on failure: NB_E_VERIFY
 * (err says program, instruction, what was required and known), an error of
 * nb_image_read, NB_E_NOMEM, NB_E_MAPDEF, or NB_E_LIMIT (nb_policy_memory,
 * before anything is verified or allocated). Pure except for memory; any
 * thread. Not for a decision path.
 */
int nb_policy_new(struct nb_policy **out, const void *bytes, size_t size,
		  const struct nb_policy_opts *opts, struct nb_err *err);

/* Replace limits of the policy that are 0 by the defaults. */
void nb_policy_limits(struct nb_policy_opts *opts);

/*
 * nb_verify_env - may program @prog of SEC("env") answer ranks differently?
 *
 * @limits: limits of the verification; policy_spent grows by its work
 *
 * Verifies the program as if ranks that look up the same variable with the
 * same value had to get the same answer. The value that the program returns
 * does not count. *@out is NULL if ranks get the same answer. Otherwise *@out
 * is the refusing verdict, to be freed, and nb_finding_about_ranks says
 * whether ranks may get different answers; if not, the verifier gave up, for
 * example at a limit, and the answer is not known. On an error of nb_verify,
 * *@out is NULL too.
 */
int nb_verify_env(struct nb_verdict **out, const struct nb_image *img, uint32_t prog,
		  struct nb_verify_opts *limits, struct nb_err *err);
bool nb_finding_about_ranks(const struct nb_finding *f);

/* Return the index of the policy's map named @map, or -1. */
int nb_policy_map(const struct nb_policy *p, const char *map);

/* Does map @map of the image change only at fences? */
bool nb_policy_map_coherent(const struct nb_policy *p, uint32_t map);

#endif
