// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_VIEW_H
#define NB_PLUGIN_AGENT_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The agent's copy of the job's keys in the store, sorted by key. A value that
 * is not a JSON object counts as absent.
 */
struct nb_view_key {
	char *key;     /* key relative to the job's prefix */
	json_t *value; /* the value, always a JSON object */
	/* store revisions at which the key was created and last changed */
	int64_t made, mod;
};

struct nb_view {
	struct nb_view_key *at;
	size_t n, room;
};

/*
 * Insert a key or replace its value. Returns false if there is no memory or
 * @value is not a JSON object.
 */
bool nb_view_put(struct nb_view *v, const char *key, const char *value,
		 size_t size, int64_t made, int64_t mod);
/* Like nb_view_put, for a parsed value; the view keeps a reference to it. */
bool nb_view_put_json(struct nb_view *v, const char *key, json_t *value,
		      int64_t made, int64_t mod);
void nb_view_remove(struct nb_view *v, const char *key);
void nb_view_clear(struct nb_view *v);

/* Returns the entry of @key, or NULL if there is none. */
const struct nb_view_key *nb_view_get(const struct nb_view *v, const char *key);
/*
 * Returns the index of the first key not below @prefix. Use nb_view_below as
 * the loop condition.
 */
size_t nb_view_first(const struct nb_view *v, const char *prefix);
/* Returns true if key @i exists and begins with @prefix. */
bool nb_view_below(const struct nb_view *v, size_t i, const char *prefix);

/*
 * Return a member of an object; if it is missing or has another type, return 0
 * or "".
 */
int64_t nb_view_int(const json_t *o, const char *name);
const char *nb_view_str(const json_t *o, const char *name);

/*
 * Returns @text as a JSON string. A byte that is not part of a UTF-8 character
 * becomes a question mark: a buffer may end within a character.
 */
json_t *nb_view_text(const char *text);

/*
 * Returns the value of key @family/@site; borrowed, NULL: no such key.
 */
const json_t *nb_view_at_site(const struct nb_view *v, const char *family,
			      const char *site);

/*
 * Returns true if all processes of the site have ended since revision @since.
 * The key ended/SITE of an earlier run of the site does not count.
 */
bool nb_view_ended(const struct nb_view *v, const char *site, int64_t since);

#endif
