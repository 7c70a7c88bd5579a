// SPDX-License-Identifier: MIT
/* An image in memory: free it, and look up its parts. Other files read,
 * write and check images. */
#include "core/image/image.h"

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

static bool is_target(const struct nb_image *img, uint32_t prog)
{
	for (uint32_t i = 0; i < img->nelems; i++)
		if (img->elems[i].value == prog &&
		    img->maps[img->elems[i].map].type == NB_MAP_PROG_ARRAY)
			return true;
	return false;
}

uint32_t nb_image_targets(const struct nb_image *img)
{
	uint32_t named = 0;

	_Static_assert((int)NB_IMAGE_MAX_PROGS <= 32, "a bit for each program");
	for (uint32_t i = 0; i < img->nprogs; i++)
		named |= is_target(img, i) ? 1u << i : 0;
	return named ? named : UINT32_MAX;
}

static bool uses_map(const struct nb_prog *p, uint32_t map)
{
	enum { LDDW = 0x18, MAP = 1 };

	for (uint32_t pc = 0; pc < p->nslots; pc++)
		if (p->slots[pc].opcode == LDDW &&
		    p->slots[pc].regs >> 4 == MAP &&
		    (uint32_t)p->slots[pc].imm == map)
			return true;
	return false;
}

uint32_t nb_image_callable(const struct nb_image *img, uint32_t map)
{
	uint32_t hooks = 0, of_hooks = 0;

	_Static_assert((int)NB_NHOOKS <= 32, "a bit for each hook");
	for (uint32_t i = 0; i < img->nprogs; i++)
		if (uses_map(&img->progs[i], map))
			hooks |= 1u << img->progs[i].hook;
	for (uint32_t i = 0; i < img->nprogs; i++)
		if (!hooks || hooks >> img->progs[i].hook & 1)
			of_hooks |= 1u << i;
	return of_hooks & nb_image_targets(img);
}

bool nb_image_runs(const struct nb_image *img, uint32_t prog)
{
	bool others = false;

	for (uint32_t i = 0; i < img->nprogs; i++)
		others |= !is_target(img, i);
	return !others || !is_target(img, prog);
}
