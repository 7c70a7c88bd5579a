// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_VIEW_H
#define NB_PLUGIN_AGENT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The job's keys as an agent knows them, in the order of keys. A value that is
 * no JSON object counts as absent, whoever wrote it.
 */
struct nb_view_key {
	char *key;	   /* below the job's prefix */
	json_t *value;	   /* an object */
	int64_t made, mod; /* revisions: created, last changed */
};

struct nb_view {
	struct nb_view_key *at;
	size_t n, room;
};

/* Enter a key, or its new value. False: no memory, or no JSON object. */
bool nb_view_put(struct nb_view *v, const char *key, const char *value,
		 size_t size, int64_t made, int64_t mod);
void nb_view_remove(struct nb_view *v, const char *key);
void nb_view_clear(struct nb_view *v);

/* NULL: there is no such key. */
const struct nb_view_key *nb_view_get(const struct nb_view *v, const char *key);
/* The first key from @prefix on; compare with nb_view_below. */
size_t nb_view_first(const struct nb_view *v, const char *prefix);
/* Does key @i exist and begin with @prefix? */
bool nb_view_below(const struct nb_view *v, size_t i, const char *prefix);

/* Members of an object; a missing one, or of another type, is 0 or "". */
int64_t nb_view_int(const json_t *o, const char *name);
const char *nb_view_str(const json_t *o, const char *name);

#endif
