// SPDX-License-Identifier: MIT
/* An image in memory: free it, and look up its parts. Other files read,
 * write and check images. */
#include "core/bpf/image/image.h"

#include <stdlib.h>
#include <string.h>

void nb_image_free(struct nb_image *img)
{
	if (!img)
		return;
	nb_arena_fini(&img->arena);
	free(img);
}

int nb_image_map(const struct nb_image *img, const char *name)
{
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (!strcmp(img->maps[i].name, name))
			return (int)i;
	return -1;
}

const struct nb_line *nb_prog_line(const struct nb_prog *p, uint32_t pc)
{
	uint32_t lo = 0, hi = p->nlines;

	/* At this point, lines[lo - 1].pc <= pc < lines[hi].pc holds. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->lines[mid].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || p->lines[lo - 1].pc < nb_prog_func(p, pc)->start)
		return NULL; /* The record belongs to the previous function. */
	return &p->lines[lo - 1];
}

const struct nb_func *nb_prog_func(const struct nb_prog *p, uint32_t pc)
{
	uint32_t lo = 0, hi = p->nfuncs;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->funcs[mid].start <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return &p->funcs[lo];
}
