// SPDX-License-Identifier: MIT
/* Mark values that an analysis step relied on. engine/precision.c explains
 * the method. */
#include "core/bpf/verify/state/marks.h"

void nb_mark(struct nb_env *env, uint64_t deps)
{
	struct nb_marks *m = env->walk.marks;

	while (m && (deps &= ~m->precise)) {
		uint64_t up = 0;

		m->precise |= deps;
		for (uint64_t d = deps; d; d &= d - 1)
			if (nb_slot_lowest(d) < m->nslots)
				up |= m->deps[nb_slot_lowest(d)];
		deps = up;
		m = m->up;
	}
}
