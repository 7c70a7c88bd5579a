// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_GROUP_H
#define NB_PLUGIN_AGENT_GROUP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/agent/view.h"

/*
 * A communicator as its keys comm/COMM/SITE show it, and its members, the sites
 * that had ranks of it when all ranks had registered (key members/COMM). The
 * functions use only the view and have no side effects.
 */
enum { NB_COMM_ID = 16 }; /* length of COMM */

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
/* Returns the site of key @i, a key comm/COMM/SITE. */
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
const json_t *nb_group_members(const struct nb_view *v,
			       const struct nb_group *g);
/*
 * Returns the next member without ranks in the group, or NULL: the site has
 * ended, or has destroyed the communicator.
 * @members: result of nb_group_members
 * @i: in: index of the first member to look at; out: index to continue with
 */
const char *nb_group_gone(const struct nb_view *v, const struct nb_group *g,
			  const json_t *members, size_t *i);
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
json_t *nb_groups_members(const struct nb_view *v, size_t *i, char members[32],
			  int64_t *mod);

#endif
