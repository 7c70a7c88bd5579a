// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_LINK_H
#define NB_PLUGIN_AGENT_LINK_H

#include <stdbool.h>

struct nb_agent;

/*
 * The agent's link to the coordinator (plugin/agent/gather.h). While it lasts,
 * the agent gets the keys of order/ over it, has no watch of them in the store,
 * and sends its answers over it. When the link ends, the agent reads and
 * watches order/ in the store at once, and writes its answers there.
 */
struct nb_link;

/* Draw the agent's secret. Returns NULL if there is no memory. */
struct nb_link *nb_link_new(struct nb_agent *a);
void nb_link_free(struct nb_link *l);
/* SHA-256 of the agent's secret, in hexadecimal, for the key site/SITE. */
const char *nb_link_life(const struct nb_link *l);
/* Returns true while the agent is linked. */
bool nb_link_on(const struct nb_link *l);
/*
 * Returns true while the next request waits for an answer that the agent
 * prepares.
 */
bool nb_link_holds(const struct nb_link *l);
/*
 * End the link, for the reason @why, and read order/ from the store. The agent
 * tries to link again after a while.
 */
void nb_link_end(struct nb_link *l, const char *why);
/* Send the latest answer to the coordinator at once. */
void nb_link_hurry(struct nb_link *l);
/*
 * Two steps of each iteration of the agent's loop. The first ends the link if
 * there is another coordinator, before orders are carried out. The second sends
 * due requests afterwards.
 */
void nb_link_check(struct nb_link *l);
void nb_link_tick(struct nb_link *l);

#endif
