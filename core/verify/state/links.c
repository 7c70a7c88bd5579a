// SPDX-License-Identifier: MIT
/* Links between scalars, compared in two states. */
#include "core/verify/state/links.h"

bool nb_links_match(struct nb_links *l, const struct nb_reg *old,
		    const struct nb_reg *now, bool equal)
{
	int64_t shift = (int64_t)now->delta - old->delta;

	/* A pointer's id tells map values apart. */
	if (nb_reg_is_pointer(old) && !old->id != !now->id)
		return false;
	if (!old->id)
		return !equal || !now->id;
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->pair[i].old == old->id)
			return now->id && l->pair[i].now == now->id &&
			       l->pair[i].shift == shift;
		if (equal && l->pair[i].now == now->id)
			return false;
	}
	if (l->n == NB_MAX_LINKS || (equal && !now->id))
		return false;
	/* Without a link now: right for one value, wrong for a second one. */
	l->pair[l->n].old = old->id;
	l->pair[l->n].now = now->id;
	l->pair[l->n].shift = shift;
	l->n++;
	return true;
}
