// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_MAP_H
#define NB_PLUGIN_CONTROL_COMMANDS_MAP_H

#include "plugin/control/reply.h"
#include "plugin/policies/maps.h"

/*
 * Functions that the map commands share. A map is looked up once and
 * referenced, so work on its elements needs no lock. Only the control thread
 * calls them.
 */

/*
 * Largest record of a ring buffer that a reply contains, in bytes.
 */
enum { NB_MAP_RECORD = 32 << 10 };

struct nb_map_target {
	/* the map, with references to its policy and its object */
	struct nb_map_ref ref;
	char name[2 * NB_IMAGE_NAME]; /* name as "policy/map" */
};

/*
 * Resolve the map that the request's first argument names. Returns 0, an error
 * of nb_held_map_find, or NB_E_REFUSED if the map has no content because its
 * policy is not in use.
 */
int nb_map_target_take(struct nb_call *call, struct nb_map_target *t);
void nb_map_target_drop(struct nb_map_target *t);

/* Returns the bytes of a value; of a per-CPU map, the bytes for all CPUs. */
size_t nb_map_target_value_size(const struct nb_map_target *t);
enum nb_map_keys nb_map_target_keys(const struct nb_map_target *t);

/* Write a map as members of the open JSON object. */
void nb_map_members(struct nb_json *j, const struct nb_map_ref *r);
/* Check that an element fits into a reply. Returns 0 or NB_E_LIMIT. */
int nb_map_target_fits(const struct nb_map_target *t, struct nb_err *err);

#endif
