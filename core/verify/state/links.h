// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_LINKS_H
#define NB_VERIFY_STATE_LINKS_H

#include "core/verify/state/state.h"

enum { NB_MAX_LINKS = NB_MAX_FRAMES * (NB_NREGS + 8) };

/*
 * Which id (nb_reg.id) of a newer state stands for an id of an older one, and
 * how much their deltas differ. More links in the newer state only mean fewer
 * behaviours, so two older ids may stand for one newer id.
 */
struct nb_links {
	uint32_t n;
	struct {
		uint32_t old, now;
		int64_t shift;
	} pair[NB_MAX_LINKS];
};

/* Is @now linked as @old is, given the pairs so far? Adds their pair. @equal:
 * neither state may have a link that the other has not. */
bool nb_links_match(struct nb_links *l, const struct nb_reg *old,
		    const struct nb_reg *now, bool equal);

#endif
