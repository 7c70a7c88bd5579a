// SPDX-License-Identifier: MIT
/* Compare the links between scalars of two states. */
#include "core/bpf/verify/state/links.h"

bool nb_links_match(struct nb_links *l, const struct nb_reg *old, const struct nb_reg *now,
		    bool equal)
{
	int64_t shift = (int64_t)now->delta - old->delta;

	/* Without an id the pointer could be into any value, so either both
	 * states have an id or neither has. */
	if (nb_reg_is_pointer(old) && !old->id != !now->id)
		return false;
	if (!old->id)
		return !equal || !now->id;
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->pair[i].old == old->id)
			return now->id && l->pair[i].now == now->id && l->pair[i].shift == shift;
		if (equal && l->pair[i].now == now->id)
			return false;
	}
	if (l->n == NB_MAX_LINKS || (equal && !now->id))
		return false;
	/* A value without a link can match one value of the older state,
	 * but not two that are linked. */
	l->pair[l->n].old = old->id;
	l->pair[l->n].now = now->id;
	l->pair[l->n].shift = shift;
	l->n++;
	return true;
}
