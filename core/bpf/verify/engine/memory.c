// SPDX-License-Identifier: MIT
/* Memory of a walk: blocks of a few sizes from the verdict's arena, which
 * are reused once freed, and copies of the current state in such blocks. */
#include "core/bpf/verify/engine/memory.h"

enum {
	UNIT = 64,	/* Block sizes are multiples of this many bytes. */
	RESERVE = 4096, /* Bytes reserved for the text of the finding. */
	/* Copying this many bytes of state costs as much as an instruction. */
	BYTES_A_UNIT = 256
};

void *nb_block_take(struct nb_walk *w, size_t size)
{
	size_t class = (size + UNIT - 1) / UNIT;
	struct nb_arena *a = w->env->program.arena;
	struct nb_free_block *b = class < NB_BLOCK_CLASSES ? w->mem->blocks[class] : NULL;

	if (b) {
		w->mem->blocks[class] = b->next;
		return b;
	}
	if (a->limit - a->used > RESERVE + class * UNIT)
		return nb_arena_alloc(a, class * UNIT);
	a->at_limit = true;
	return NULL;
}

void nb_block_give(struct nb_walk *w, void *p, size_t size)
{
	size_t class = (size + UNIT - 1) / UNIT;
	struct nb_free_block *b = p;

	if (!b || class >= NB_BLOCK_CLASSES)
		return;
	b->next = w->mem->blocks[class];
	w->mem->blocks[class] = b;
}

void nb_walk_live(const struct nb_walk *w, uint32_t pc, struct nb_live *live)
{
	const uint16_t *at = w->env->program.cfg.live;

	for (uint32_t i = 0; i + 1 < w->st->nframes; i++) {
		const struct nb_frame *callee = &w->st->frames[i + 1];

		/* A local call clobbers r0-r5, so only r6-r9 of the caller
		 * live on. A helper that calls back has arguments in r1-r5,
		 * which its next iteration reads. */
		live->regs[i] =
			callee->callback ? at[callee->ret - 1] & 0x3fe : at[callee->ret] & 0x3c0;
	}
	live->regs[w->st->nframes - 1] = at[pc];
}

void nb_walk_charge(struct nb_walk *w, size_t size)
{
	w->env->walk.work += size / BYTES_A_UNIT;
}

static struct nb_saved *save(struct nb_walk *w, const struct nb_live *live, uint32_t *size,
			     unsigned times)
{
	struct nb_saved *s;

	*size = (uint32_t)nb_state_size(w->st, live);
	nb_walk_charge(w, (size_t)*size * times);
	s = nb_block_take(w, *size);
	if (s)
		nb_state_save(s, w->st, live);
	return s;
}

struct nb_saved *nb_walk_save(struct nb_walk *w, uint32_t pc, uint32_t *size)
{
	struct nb_live live;

	nb_walk_live(w, pc, &live);
	return save(w, &live, size, 1);
}

struct nb_saved *nb_walk_save_all(struct nb_walk *w, uint32_t *size)
{
	struct nb_live all;

	for (uint32_t i = 0; i < w->st->nframes; i++)
		all.regs[i] = 0x7ff;
	/*
	 * The factor 3 covers saving, restoring and the search for linked
	 * scalars.
	 */
	return save(w, &all, size, 3);
}
