// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_LINKS_H
#define NB_VERIFY_STATE_LINKS_H

#include "core/bpf/verify/state/state.h"

enum { NB_MAX_LINKS = NB_MAX_FRAMES * (NB_NREGS + 8) };

/* A map from the ids (nb_reg.id) of an older state to those of a newer
 * state, with the difference of their deltas. More links in the newer state
 * only mean fewer behaviours, so two older ids may map to one newer id. */
struct nb_links {
	uint32_t n;
	struct {
		uint32_t old, now;
		int64_t shift;
	} pair[NB_MAX_LINKS];
};

/* Is @now linked as @old is, according to the pairs so far? Adds the pair
 * of their ids. With @equal, neither state may have a link that the other
 * lacks. */
bool nb_links_match(struct nb_links *l, const struct nb_reg *old, const struct nb_reg *now,
		    bool equal);

#endif
