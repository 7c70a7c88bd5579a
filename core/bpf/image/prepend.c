// SPDX-License-Identifier: MIT
/*
 * Insert instructions before those of a policy's programs, which adds a
 * condition to a policy without its source. Jumps and calls are relative,
 * so the old code moves as a whole; functions and source lines move with
 * it.
 */
#include "core/bpf/image/prepend.h"

#include <string.h>

static int prepend_nomem(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "no memory for a policy");
}

/* Replace the program by one with @prefix before it, in memory of @a. */
static int prepend_prog(struct nb_arena *a, struct nb_prog *p, const struct nb_prefix *prefix,
			struct nb_err *err)
{
	size_t n = (size_t)prefix->nslots + p->nslots;
	struct nb_slot *slots;
	struct nb_func *funcs;
	struct nb_line *lines;

	if (n > NB_IMAGE_MAX_SLOTS)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "program %s: %zu instructions, with the inserted ones; at most %d",
			       p->name, n, NB_IMAGE_MAX_SLOTS);
	slots = nb_arena_array(a, n, sizeof(*slots));
	funcs = nb_arena_dup(a, p->funcs, p->nfuncs * sizeof(*funcs));
	lines = nb_arena_array(a, (size_t)p->nlines + 1, sizeof(*lines));
	if (!slots || !funcs || !lines)
		return prepend_nomem(err);
	memcpy(slots, prefix->slots, prefix->nslots * sizeof(*slots));
	memcpy(slots + prefix->nslots, p->slots, p->nslots * sizeof(*slots));
	for (uint32_t i = 0; i < p->nfuncs; i++) {
		funcs[i].start += i ? prefix->nslots : 0;
		funcs[i].end += prefix->nslots;
	}
	lines[0] = (struct nb_line){ .file = prefix->name, .text = prefix->text };
	for (uint32_t i = 0; i < p->nlines; i++) {
		lines[i + 1] = p->lines[i];
		lines[i + 1].pc += prefix->nslots;
	}
	p->slots = slots;
	p->nslots += prefix->nslots;
	p->funcs = funcs;
	p->lines = lines;
	p->nlines++;
	return 0;
}

int nb_image_prepend(struct nb_buf *out, const struct nb_image *in, enum nb_hook hook,
		     const struct nb_prefix *prefix, struct nb_err *err)
{
	struct nb_image img = *in;
	struct nb_prog *progs;
	struct nb_arena a;
	uint32_t n = 0;
	int rc = 0;

	nb_arena_init(&a, 0);
	progs = nb_arena_dup(&a, in->progs, in->nprogs * sizeof(*progs));
	if (!progs)
		rc = prepend_nomem(err);
	for (uint32_t i = 0; progs && !rc && i < in->nprogs; i++)
		if (progs[i].hook == hook) {
			rc = prepend_prog(&a, &progs[i], prefix, err);
			n++;
		}
	img.name = prefix->name;
	img.progs = progs;
	if (!rc && !n)
		rc = nb_fail(err, NB_E_IMAGE, 0, "policy %s: no program of that hook", in->name);
	if (!rc)
		rc = nb_image_write(out, &img, err);
	nb_arena_fini(&a);
	return rc;
}
