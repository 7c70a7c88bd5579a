// SPDX-License-Identifier: MIT
/*
 * The peers of a context. NCCL up to 2.32.3 passes a stride, and later releases
 * pass a list, which a wrapped plugin of these interfaces may need.
 */
#include "plugin/gin/peers.h"

#include <stdlib.h>

bool nb_gin_peers_of(const struct nb_gin_config *k, struct nb_gin_peers *p)
{
	int stride = k->rank_stride > 0 ? k->rank_stride : 1;

	*p = (struct nb_gin_peers){ .list = k->peers, .n = k->npeers };
	if (k->has_peers || k->nranks < 1)
		return true;
	p->made = calloc((size_t)k->nranks, sizeof(*p->made));
	if (!p->made)
		return false;
	p->list = p->made;
	p->n = 0;
	for (int r = k->rank % stride; r < k->nranks; r += stride)
		p->made[p->n++] = r;
	return true;
}

void nb_gin_peers_free(struct nb_gin_peers *p)
{
	free(p->made);
	p->made = NULL;
}
