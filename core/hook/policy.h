// SPDX-License-Identifier: MIT
#ifndef NB_HOOK_POLICY_H
#define NB_HOOK_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/exec/trace.h"
#include "core/image/image.h"
#include "core/map/map.h"

/* What verification of one program took, for display, and what bounds its
 * runs. */
struct nb_policy_effort {
	uint32_t insns_walked, states_peak;
	uint32_t stack_bytes;
	uint32_t lap, numbers; /* of struct nb_verdict */
	uint64_t time_ns;
};

/*
 * A policy held by a process: a verified image, its local maps and its trace
 * ring. Counted; everything but the contents of the maps and the ring is
 * immutable. Local maps live as long as the policy; coherent maps belong to
 * generations (core/hook/gen.h).
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
	unsigned publish; /* NB_PUBLISH_* of core/exec/exec.h */
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
