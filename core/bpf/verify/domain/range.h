// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_RANGE_H
#define NB_VERIFY_DOMAIN_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"
#include "core/bpf/verify/domain/bounds.h"

NB_DOM_FN struct nb_range nb_range_const(uint64_t v);
NB_DOM_FN struct nb_range nb_range_unknown(void);
NB_DOM_FN struct nb_range nb_range_u(uint64_t min, uint64_t max);
NB_DOM_FN struct nb_range nb_range_s(int64_t min, int64_t max);
NB_DOM_FN struct nb_range nb_range_t(struct nb_tnum t);

static inline bool nb_range_is_const(const struct nb_range *r)
{
	return r->t.mask == 0;
}

NB_DOM_FN bool nb_range_is_unknown(const struct nb_range *r);
NB_DOM_FN bool nb_range_has(const struct nb_range *r, uint64_t v);
/* Does every view of @a lie inside the same view of @b? */
NB_DOM_FN bool nb_range_within(const struct nb_range *a, const struct nb_range *b);
NB_DOM_FN bool nb_range_equal(const struct nb_range *a, const struct nb_range *b);
/* Intersect @a and @b; returns false (and leaves *@out undefined) if they
 * share no member. */
NB_DOM_FN bool nb_range_meet(struct nb_range *out, const struct nb_range *a,
			     const struct nb_range *b);
NB_DOM_FN struct nb_range nb_range_join(const struct nb_range *a, const struct nb_range *b);

/* Bring the views into agreement; returns false if the range has no member. */
NB_DOM_FN bool nb_range_sync(struct nb_range *r);

/* Return nb_range_sync of a range that has members by construction. */
static inline struct nb_range nb_range_synced(struct nb_range r)
{
	struct nb_range copy = r;

	return nb_range_sync(&r) ? r : copy;
}

#endif
