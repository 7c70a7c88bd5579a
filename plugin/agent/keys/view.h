// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_KEYS_VIEW_H
#define NB_PLUGIN_AGENT_KEYS_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The agent's copy of the job's keys in the store, sorted by key. A value that
 * is not a JSON object counts as absent. The view also lists the communicators:
 * for each member COMM of the object "comms" of a key site/SITE, it has a row
 * comm/COMM/SITE with that member's value.
 */
enum { NB_COMM_ID = 16 }; /* length of COMM */

struct nb_view_key {
	char *key;     /* key relative to the job's prefix */
	json_t *value; /* the value, always a JSON object */
	/* store revisions at which the key was created and last changed */
	int64_t made, mod;
};

struct nb_view {
	struct nb_view_key *at;
	size_t n, room;
	/*
	 * revision of the store that the view shows: all changes up to it, and
	 * none after it
	 */
	int64_t revision;
};

/*
 * Insert a key or replace its value. Returns false if there is no memory or
 * @value is not a JSON object.
 */
bool nb_view_put(struct nb_view *v, const char *key, const char *value, size_t size, int64_t made,
		 int64_t mod);
/* Like nb_view_put, for a parsed value; the view keeps a reference to it. */
bool nb_view_put_json(struct nb_view *v, const char *key, json_t *value, int64_t made, int64_t mod);
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
 * Returns the largest member @name of the keys below @prefix, or @most if that
 * is larger. A number beyond 2^31 counts as damage.
 */
int64_t nb_view_most(const struct nb_view *v, const char *prefix, const char *name, int64_t most);

/*
 * Returns @text as a JSON string. A byte that is not part of a UTF-8 character
 * becomes a question mark: a buffer may end within a character.
 */
json_t *nb_view_text(const char *text);

/*
 * Returns the value of key @family/@site; borrowed, NULL: no such key.
 */
const json_t *nb_view_at_site(const struct nb_view *v, const char *family, const char *site);

/*
 * Returns true if all processes of the site have ended since revision @since.
 * The key ended/SITE of an earlier run of the site does not count.
 */
bool nb_view_ended(const struct nb_view *v, const char *site, int64_t since);

/*
 * Returns the value of a key with a request line that makes the job's
 * generation: order/commit or order/state. The value has no line if the
 * generation cannot be stored; its member text then says why. Returns NULL if
 * there is no such key.
 */
json_t *nb_view_generation(const struct nb_view *v);

/*
 * A communicator as its rows comm/COMM/SITE show it, and its members, the sites
 * that had ranks of it when all ranks had registered (key members/COMM). The
 * functions use only the view and have no side effects.
 */
struct nb_group {
	char id[NB_COMM_ID + 1];
	size_t first, end; /* range of the group's keys in the view */
	int64_t ranks, nranks;
	uint32_t sites;
};

/*
 * Read the group of keys that begins at key @i. Returns false if there is none.
 */
bool nb_group_at(const struct nb_view *v, size_t i, struct nb_group *g);
/* Returns the site of row @i, a row comm/COMM/SITE. */
const char *nb_group_site(const struct nb_view *v, size_t i);
/*
 * Returns the largest creation revision of the sites' registrations, or 0 if
 * the store has not confirmed one of them.
 */
int64_t nb_group_registered(const struct nb_view *v, const struct nb_group *g);
/*
 * Returns the group's members as the coordinator wrote them when all ranks had
 * registered. Returns NULL if it has not written them, or if the key belongs to
 * an earlier communicator of the same identity.
 */
const json_t *nb_group_members(const struct nb_view *v, const struct nb_group *g);
/*
 * Returns the next member without ranks in the group, or NULL: the site has
 * ended, or has destroyed the communicator.
 * @members: result of nb_group_members
 * @i: in: index of the first member to look at; out: index to continue with
 */
const char *nb_group_gone(const struct nb_view *v, const struct nb_group *g, const json_t *members,
			  size_t *i);
/*
 * Returns the first of the members that has neither ranks in the group nor an
 * agent, or NULL. A site with an agent has destroyed the communicator. A site
 * whose processes have all ended has no ranks.
 */
const char *nb_group_left(const struct nb_view *v, const struct nb_group *g);

/*
 * nb_groups_whole - check that each site with ranks has an agent
 *
 * Returns false if the agent's lease of a site has ended, although the site has
 * ranks of a communicator (key members/COMM names the site). *@why names the
 * site. Its ranks continue to decide. A site is no longer needed when its key
 * ended/SITE says that all of its processes have ended.
 */
bool nb_groups_whole(const struct nb_view *v, char *why, size_t size);
/*
 * Returns true if the store has confirmed each site's registration of the
 * communicators whose ranks are all there. A change leaves out the others.
 */
bool nb_groups_registered(const struct nb_view *v);

/*
 * nb_groups_members - find the next communicator whose key members/COMM the
 * coordinator must write: all ranks have registered, but no key records the
 * communicator's sites
 * @i: in: index of the first key to search; out: index to continue with
 * @members: set to the key
 * @mod: set to the revision of the key's old value; 0 if there is no old value
 *
 * Returns the value to write, or NULL if no communicator is left.
 */
json_t *nb_groups_members(const struct nb_view *v, size_t *i, char members[32], int64_t *mod);

/*
 * The chain of a communicator's records (key order/record/COMM). Each record has
 * a random number (id) and names the one that it replaces (was). A record that a
 * site writes again has one member more (over). If the store has lost an outcome,
 * it is the id of the armed record that the outcome replaces; 0: none. If the
 * copy is armed, it is the copy's id. Revisions cannot order records: a store that
 * is restored from a backup uses the same revisions again for other records.
 */
int64_t nb_record_draw(void);
/* Returns the record's id; 0 if it has none. */
int64_t nb_record_id(const json_t *record);
/*
 * Give @record its place in the chain. Takes ownership of @record, and returns
 * it.
 */
json_t *nb_record_link(json_t *record, int64_t id, int64_t was);
/* Returns true if a site has written the record again (nb_site_again). */
bool nb_record_again(const json_t *record);
/* Returns @record without its place in the chain and without its fallback. */
json_t *nb_record_bare(const json_t *record);
/*
 * Returns the record that rolls the armed record @armed back, or NULL if
 * @armed has no fallback.
 */
json_t *nb_record_undo(const json_t *armed);

#endif
