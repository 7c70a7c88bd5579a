// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_POLICY_H
#define NB_GENERATION_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/exec/jit/jit.h"
#include "core/bpf/exec/run/trace.h"
#include "core/bpf/image/image.h"
#include "core/bpf/isa/budgets.h"
#include "core/bpf/map/map.h"

/* Cost of verifying one program, for display, and the bounds of the
 * program's runs. */
struct nb_policy_effort {
	struct nb_verify_stats stats;
	struct nb_run_bounds runs;
};

/*
 * nb_runs_path - return the weighted instructions of a run's longest path,
 * with the steps of short iterators and one iteration of each kind of loop
 * @iteration: the longest iteration of the run
 *
 * nb_runs_loops - return the weighted instructions of loops with a constant
 * bound, or of the iterations on which the verdict relies (@r->iterations) if
 * these are more
 */
uint64_t nb_runs_path(const struct nb_run_bounds *r, uint64_t iteration);
uint64_t nb_runs_loops(const struct nb_run_bounds *r, uint64_t iteration);

/*
 * A policy held by a process: a verified image, its local maps and its
 * trace ring. It is reference-counted; everything but the contents of the
 * maps and the ring is immutable. Local maps live as long as the policy;
 * coherent maps belong to generations (core/bpf/generation/generation.h).
 */
struct nb_policy {
	struct nb_image *img;
	/* The img->nmaps maps; NULL for a coherent map. */
	struct nb_map **maps;
	/* One element for each of the img->nprogs programs. */
	struct nb_policy_effort *effort;
	struct nb_trace *trace;
	/* The verifier's facts about each program's slots, for the compiler
	 * (NB_AUX_*); NULL if unknown. */
	uint8_t *aux[NB_IMAGE_MAX_PROGS];
	bool interpret;	  /* Generations do not compile this policy's programs. */
	bool perf_map;	  /* Name the machine code of programs for perf. */
	uint32_t max_run; /* Value of NCCLBPF_MAX_RUN; 0 means NB_RUN_LIMIT. */
	uint32_t refs;	  /* The reference count; atomic. */
};

/*
 * nb_policy_make - make a policy with the maps of an image whose programs were
 * accepted
 * @img: the policy takes ownership and frees it, also on failure
 * @effort: img->nprogs elements, copied; NULL: nothing is known of the programs
 * @peers:  @npeers policies to share maps with, or NULL. Maps of the same name
 * and shape that both policies tag "ncclbpf:shared" are one map. A coherent
 * map is never shared.
 *
 * *@out has one reference; it is NULL on failure: NB_E_NOMEM, NB_E_MAPDEF or
 * NB_E_LIMIT. Callers outside core/ use nb_policy_new (core/ncclbpf.h), which
 * verifies.
 */
int nb_policy_make(struct nb_policy **out, struct nb_image *img,
		   const struct nb_policy_effort *effort, struct nb_policy *const *peers,
		   uint32_t npeers, struct nb_err *err);

/* Take a reference; returns @p. Any thread. */
struct nb_policy *nb_policy_get(struct nb_policy *p);
/* Drop a reference; the last one frees @p, which may be NULL. Never on a
 * decision path. */
void nb_policy_put(struct nb_policy *p);

/*
 * nb_policy_memory - compare the memory of all maps of an image with a limit
 * @bytes: gets the sum, with coherent maps counted once
 * @most:  bytes allowed
 *
 * Allocates nothing. The result is the same on every host: per-CPU maps count
 * for 256 CPUs. Returns 0, NB_E_LIMIT (over @most) or NB_E_MAPDEF.
 */
int nb_policy_memory(uint64_t *bytes, const struct nb_image *img, uint64_t most,
		     struct nb_err *err);

/* Create map number @map of the image with its initial contents. */
int nb_policy_map_new(struct nb_map **out, const struct nb_image *img, uint32_t map,
		      struct nb_err *err);

#endif
