// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_POLICY_H
#define NB_GENERATION_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/exec/jit/compile.h"
#include "core/exec/run/trace.h"
#include "core/image/image.h"
#include "core/map/map.h"

/* What verification of one program took, for display, and what bounds its
 * runs. */
struct nb_policy_effort {
	uint32_t insns_walked, states_peak;
	uint32_t stack_bytes;
	/* of struct nb_verdict */
	uint32_t lap, first, numbers, turns, constant_turns, lap_pc;
	bool passes, loops;
	uint64_t time_ns;
};

/*
 * nb_effort_path - weighted instructions of a run's longest path, with the
 *      numbers of short iterators and one turn of each kind of loop
 * @lap:   the longest lap of the programs that the run goes through
 * @tails: laps that tail calls may add
 *
 * nb_effort_turns - those of the turns that its loops take for sure
 */
uint64_t nb_effort_path(const struct nb_policy_effort *e, uint64_t lap,
			uint64_t tails);
uint64_t nb_effort_turns(const struct nb_policy_effort *e, uint64_t lap);

/*
 * A policy held by a process: a verified image, its local maps and its trace
 * ring. Counted; everything but the contents of the maps and the ring is
 * immutable. Local maps live as long as the policy; coherent maps belong to
 * generations (core/generation/generation.h).
 */
struct nb_policy {
	struct nb_image *img;
	/* img->nmaps elements; NULL where the map is coherent */
	struct nb_map **maps;
	/* img->nprogs elements */
	struct nb_policy_effort *effort;
	struct nb_trace *trace;
	/* What the verifier found of each program's slots, for compiling it
	 * (NB_AUX_*); NULL: not known. */
	uint8_t *aux[NB_IMAGE_MAX_PROGS];
	bool interpret;	  /* generations do not compile its programs */
	unsigned publish; /* NB_PUBLISH_* */
	uint32_t max_run; /* NCCLBPF_MAX_RUN; 0: NB_RUN_LIMIT */
	uint32_t refs;	  /* atomic */
};

/*
 * nb_policy_make - make the maps of an image whose programs were accepted
 * @img:    taken: freed with the policy, also when this fails
 * @effort: img->nprogs elements, copied; NULL: zeroes
 * @peers:  @npeers policies; a map tagged "ncclbpf:shared" here and in one of
 *          them, of the same name and shape, is one map. May be NULL when
 *          @npeers is 0. A coherent map is never shared.
 *
 * The result has one reference. Callers outside core/ use nb_policy_new
 * (core/ncclbpf.h), which verifies. NULL on failure: NB_E_NOMEM, NB_E_MAPDEF,
 * NB_E_LIMIT.
 */
int nb_policy_make(struct nb_policy **out, struct nb_image *img,
		   const struct nb_policy_effort *effort,
		   struct nb_policy *const *peers, uint32_t npeers,
		   struct nb_err *err);

/* One more reference; returns @p. Any thread. */
struct nb_policy *nb_policy_get(struct nb_policy *p);
/* One less; the last one frees. NULL is fine. Never on a decision path. */
void nb_policy_put(struct nb_policy *p);

/*
 * nb_policy_memory - memory of all maps of an image, against a limit
 * @bytes: the sum, coherent maps once
 * @most:  bytes allowed
 *
 * Allocates nothing. The answer is the same on every host: per-CPU maps count
 * for 256 CPUs. 0, NB_E_LIMIT (over @most), NB_E_MAPDEF.
 */
int nb_policy_memory(uint64_t *bytes, const struct nb_image *img, uint64_t most,
		     struct nb_err *err);

/* A new map as the image's map number @map says, with its initial contents
 * (a map of maps: without, see below); NULL for an inner definition. */
int nb_policy_map_new(struct nb_map **out, const struct nb_image *img,
		      uint32_t map, struct nb_err *err);

/*
 * nb_policy_map_link - tell a map of maps what its values mean
 * @maps: the image's maps; number @map is the one, before others see it
 * @fresh: and give it its initial contents
 */
int nb_policy_map_link(struct nb_map *const *maps, const struct nb_image *img,
		       uint32_t map, bool fresh, struct nb_err *err);

#endif
