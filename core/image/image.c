// SPDX-License-Identifier: MIT
// An image in memory: its end, look-ups in it, and whether bytes begin like
// one. Reading, writing and checking stand in files of their own.
#include "core/image/image.h"

#include <stdlib.h>
#include <string.h>

#include "core/image/format.h"

void nb_image_free(struct nb_image *img)
{
	if (!img)
		return;
	nb_arena_fini(&img->arena);
	free(img);
}

bool nb_image_is(const void *bytes, size_t size)
{
	return size >= 8 && !memcmp(bytes, NB_IMAGE_MAGIC, 8);
}

int nb_image_map(const struct nb_image *img, const char *name)
{
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (img->maps[i].origin != NB_ORIGIN_INNER &&
		    !strcmp(img->maps[i].name, name))
			return (int)i;
	return -1;
}

const struct nb_line *nb_prog_line(const struct nb_prog *p, uint32_t pc)
{
	uint32_t lo = 0, hi = p->nlines;

	/* lines[lo - 1].pc <= pc < lines[hi].pc */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->lines[mid].pc <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || p->lines[lo - 1].pc < nb_prog_func(p, pc)->start)
		return NULL; /* the record is of the function before */
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
