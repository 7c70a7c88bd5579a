// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_SITES_H
#define NB_PLUGIN_CONTROLLER_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/controller/mailbox.h"

/*
 * The maps of the fleet's other sites (docs/fleet.md). On each of these sites
 * the elected process merges the maps of its site (controller.h). The
 * coordinator's agent asks for them, and posts them in the mailbox of its own
 * site, where the elected process merges them. Places from NB_SEG_PROCS on
 * belong to the agent: the first has the list's header, and each of the others
 * has a site: its state, and its maps behind a header.
 *
 * All times are CLOCK_MONOTONIC in ms. Agent and processes of a site have one
 * kernel.
 */
struct nb_gen;
struct nb_segment;

enum {
	/* most sites whose maps are merged, beside the coordinator's */
	NB_SITES_MOST = 1024,
	/* room for the names of missing sites in a process's state */
	NB_SITES_TEXT = 800,
	NB_SITES_NAME = 72,
	NB_SITES_WHY = 200
};

/*
 * The list of sites. It counts until @until_ms. @more: number of sites for
 * which it has no place
 */
struct nb_sites_list {
	uint32_t n, more;
	uint64_t until_ms;
};

/* A site of the list. */
struct nb_sites_state {
	char site[NB_SITES_NAME];
	uint32_t processes;	/* number of the site's processes */
	char why[NB_SITES_WHY]; /* why the last request failed; "" if none did
				 */
};

/*
 * Header of a site's maps, which count until @until_ms. Of the site's
 * @processes, @missing did not answer the site's elected process.
 */
struct nb_sites_maps {
	char site[NB_SITES_NAME];
	uint64_t taken_ms, until_ms;
	uint32_t processes, missing;
};

/*
 * The agent calls these functions. They post the list, the state of site @i, or
 * the site's maps, and return 0 or an error of nb_mailbox_post.
 */
int nb_sites_post_list(struct nb_mailbox *b, const struct nb_sites_list *list, struct nb_err *err);
int nb_sites_post_state(struct nb_mailbox *b, uint32_t i, const struct nb_sites_state *state,
			struct nb_err *err);
int nb_sites_post_maps(struct nb_mailbox *b, uint32_t i, const struct nb_sites_maps *head,
		       const void *bytes, size_t size, struct nb_err *err);
/* Result of nb_sites_merge. */
struct nb_sites_result {
	uint32_t sites, missing_sites; /* numbers of the other sites */
	/*
	 * number of processes of the other sites, and of processes whose maps
	 * are missing
	 */
	uint32_t processes, missing;
	char text[NB_SITES_TEXT]; /* names the missing sites, with reasons */
};

/*
 * nb_sites_merge - merge the posted maps of other sites into @own
 * @own:  made by nb_gen_for_controllers
 * @now_ms: the time
 * @lost: incremented for each element without room
 *
 * It leaves out maps that are too old, and those that nb_controllers_check
 * refuses.
 */
void nb_sites_merge(const struct nb_mailbox *b, struct nb_gen *own, uint64_t now_ms, uint64_t *lost,
		    struct nb_sites_result *out);

#endif
