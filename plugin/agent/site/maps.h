// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_MAPS_H
#define NB_PLUGIN_AGENT_SITE_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * The merged maps of the fleet's other sites, for controllers. The
 * coordinator's agent asks each other agent for them while the controllers of
 * its site read merged maps, and posts the replies in the mailbox of its site
 * (plugin/controller/sites.h).
 */
struct nb_agent;
struct nb_maps;

/* Returns NULL if there is no memory. */
struct nb_maps *nb_maps_new(struct nb_agent *a);
/* Cancel all requests and free @m, which may be NULL. */
void nb_maps_free(struct nb_maps *m);
/* Do the due work, without waiting. */
void nb_maps_tick(struct nb_maps *m);

/*
 * An agent's reply to controller maps. @bytes: the maps, within the reply;
 * @age_ms: time since the site's process merged them
 */
struct nb_maps_reply {
	uint64_t age_ms;
	uint32_t processes, missing;
	const void *bytes;
	size_t size;
};
/*
 * Read a reply: a line of the control protocol, and the maps after it. Returns
 * 0; NB_E_REFUSED: the reply is an error, whose text @err has; NB_E_PROTOCOL;
 * or NB_E_LIMIT.
 */
int nb_maps_read(const void *reply, size_t size, struct nb_maps_reply *out, struct nb_err *err);

#endif
