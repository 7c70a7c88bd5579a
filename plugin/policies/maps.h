// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_MAPS_H
#define NB_PLUGIN_POLICIES_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/generation/policy.h"

/* A map that a command names. Borrowed pointers, valid under the lock. */
struct nb_map_ref {
	struct nb_policy *policy;
	uint32_t map; /* index into policy->img->maps */
	const struct nb_map_spec *spec;
	struct nb_map *object; /* coherent: the baseline generation's; NULL if
				* the policy is not in the baseline */
	bool coherent;
	bool in_use; /* the policy is in the baseline generation */
};

/*
 * nb_held_map_find - resolve "map", or "policy/map" with the policy's name or
 * digest
 *
 * A bare name is looked for in the baseline's policies first, in order, then
 * in all that are held. 0, NB_E_NOENT (with near names as hint), NB_E_ARG
 * (several policies have it). With NB_LOCK_STATE.
 */
int nb_held_map_find(const char *name, struct nb_map_ref *out,
		     struct nb_err *err);
/* Fill in the reference to map @map of held policy @p. */
void nb_held_map(struct nb_policy *p, uint32_t map, struct nb_map_ref *out);

#endif
