// SPDX-License-Identifier: MIT
// Instructions put before those of a policy's programs: the way to give a
// policy a condition without its source. Jumps and calls are relative, so what
// stood there moves as a whole; functions and source lines move along.
#include "core/image/prepend.h"

#include <string.h>

static bool is_named(const struct nb_image *img, uint32_t prog)
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
		named |= is_named(img, i) ? 1u << i : 0;
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
		others |= !is_named(img, i);
	return !others || !is_named(img, prog);
}

/* @p with @front before it, in memory of @a. */
static int put_before(struct nb_arena *a, struct nb_prog *p,
		      const struct nb_front *front, struct nb_err *err)
{
	size_t n = (size_t)front->nslots + p->nslots;
	struct nb_slot *slots;
	struct nb_func *funcs;
	struct nb_line *lines;

	if (n > NB_IMAGE_MAX_SLOTS)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "program %s: %zu instructions with those before "
			       "it (allowed: %d)",
			       p->name, n, NB_IMAGE_MAX_SLOTS);
	slots = nb_arena_alloc(a, n * sizeof(*slots));
	funcs = nb_arena_alloc(a, p->nfuncs * sizeof(*funcs));
	lines = nb_arena_alloc(a, ((size_t)p->nlines + 1) * sizeof(*lines));
	if (!slots || !funcs || !lines) {
		nb_fail(err, NB_E_NOMEM, 0, "no memory for a policy");
		return NB_E_NOMEM;
	}
	memcpy(slots, front->slots, front->nslots * sizeof(*slots));
	memcpy(slots + front->nslots, p->slots, p->nslots * sizeof(*slots));
	for (uint32_t i = 0; i < p->nfuncs; i++) {
		funcs[i] = p->funcs[i];
		funcs[i].start += i ? front->nslots : 0;
		funcs[i].end += front->nslots;
	}
	lines[0] = (struct nb_line){ .file = front->name, .text = front->text };
	for (uint32_t i = 0; i < p->nlines; i++) {
		lines[i + 1] = p->lines[i];
		lines[i + 1].pc += front->nslots;
	}
	p->slots = slots;
	p->nslots += front->nslots;
	p->funcs = funcs;
	p->lines = lines;
	p->nlines++;
	return 0;
}

int nb_image_front(struct nb_buf *out, const struct nb_image *in,
		   enum nb_hook hook, const struct nb_front *front,
		   struct nb_err *err)
{
	struct nb_image img = *in;
	struct nb_prog *progs;
	struct nb_arena a;
	uint32_t n = 0;
	int rc = 0;

	nb_arena_init(&a, 0);
	progs = nb_arena_alloc(&a, in->nprogs * sizeof(*progs));
	if (!progs) {
		nb_arena_fini(&a);
		nb_fail(err, NB_E_NOMEM, 0, "no memory for a policy");
		return NB_E_NOMEM;
	}
	for (uint32_t i = 0; !rc && i < in->nprogs; i++) {
		progs[i] = in->progs[i];
		if (progs[i].hook != hook || !nb_image_runs(in, i))
			continue;
		rc = put_before(&a, &progs[i], front, err);
		n++;
	}
	img.name = front->name;
	img.progs = progs;
	if (!rc && !n)
		rc = nb_fail(err, NB_E_IMAGE, 0,
			     "policy %s: no program of that hook", in->name);
	if (!rc)
		rc = nb_image_write(out, &img, err);
	nb_arena_fini(&a);
	return rc;
}
