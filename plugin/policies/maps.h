// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_MAPS_H
#define NB_PLUGIN_POLICIES_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/generation/policy.h"

/*
 * A map that a command names. The pointers are borrowed, valid until the lock
 * is released.
 */
struct nb_map_ref {
	struct nb_policy *policy;
	uint32_t map; /* index of the map in policy->img->maps */
	const struct nb_map_spec *spec;
	/*
	 * the map; of a coherent map, the baseline's copy, or NULL if the
	 * policy is not in the baseline
	 */
	struct nb_map *object;
	bool coherent;
	bool in_use; /* the policy is part of the baseline */
};

/*
 * nb_held_map_find - resolve a map name: "map" or "policy/map", where policy is
 * a name or a digest
 *
 * A plain map name is searched first in the baseline's policies, in order, then
 * in all held policies. Returns 0, NB_E_NOENT (the hint suggests similar
 * names), or NB_E_ARG (several policies have such a map). The caller holds
 * NB_LOCK_STATE.
 */
int nb_held_map_find(const char *name, struct nb_map_ref *out, struct nb_err *err);
/* Fill in a reference to map @map of held policy @p. */
void nb_held_map(struct nb_policy *p, uint32_t map, struct nb_map_ref *out);

#endif
