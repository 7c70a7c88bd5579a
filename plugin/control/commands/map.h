// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_MAP_H
#define NB_PLUGIN_CONTROL_COMMANDS_MAP_H

#include "plugin/control/reply.h"

/*
 * What the commands on maps share: a map looked up once, with references, so
 * that the work on its elements needs no lock. Control thread only.
 */

/* Room for a queue's value or a ring buffer's record that a reply carries. */
enum { NB_MAP_RECORD = 32 << 10 };

struct nb_map_target {
	struct nb_policy *policy;
	const struct nb_map_spec *spec; /* in the policy's image */
	struct nb_map *object;		/* NULL: coherent, policy not in use */
	bool coherent, in_use;
	char name[2 * NB_IMAGE_NAME]; /* "policy/map" */
};

/*
 * Resolve the map that the request's first argument names, if it has content.
 * 0; errors of nb_held_map_find, NB_E_REFUSED (no content: not in use).
 */
int nb_map_target_take(struct nb_call *call, struct nb_map_target *t);
void nb_map_target_drop(struct nb_map_target *t);

/* Bytes of a value, of all CPUs together. */
size_t nb_map_target_value_size(const struct nb_map_target *t);
enum nb_map_keys nb_map_target_keys(const struct nb_map_target *t);

/* Members of one map; the object is open. @object may be NULL. */
void nb_map_members(struct nb_json *j, const struct nb_policy *p,
		    const struct nb_map_spec *s, const struct nb_map *object,
		    bool coherent, bool in_use);
/* Members of the map of a target; the object is open. */
void nb_map_target_members(struct nb_json *j, const struct nb_map_target *t);
/* Does an element fit into a reply? 0 or NB_E_LIMIT. */
int nb_map_target_fits(const struct nb_map_target *t, struct nb_err *err);
/* One element {key, value} without a key of its own: @number, little-endian,
 * of @bytes bytes. */
void nb_map_numbered(struct nb_json *j, uint64_t number, size_t bytes,
		     const void *value, size_t size);

#endif
