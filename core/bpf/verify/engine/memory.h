// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_MEMORY_H
#define NB_VERIFY_ENGINE_MEMORY_H

#include "core/bpf/verify/engine/walk.h"

/* Return @size bytes from the walk's free lists or the arena; NULL if out
 * of memory. */
void *nb_block_take(struct nb_walk *w, size_t size);
/* Return the @size bytes at @p to the free lists; @p may be NULL. */
void nb_block_give(struct nb_walk *w, void *p, size_t size);

/* Find the registers that are live in each frame when the path is at @pc. */
void nb_walk_live(const struct nb_walk *w, uint32_t pc, struct nb_live *live);

/* Count the work of copying or comparing @size bytes of a state. */
void nb_walk_charge(struct nb_walk *w, size_t size);

/*
 * Copy the state to continue this path later: the values live at @pc, or
 * all values. Stores the size of the copy in *@size. Returns NULL if out of
 * memory.
 */
struct nb_saved *nb_walk_save(struct nb_walk *w, uint32_t pc, uint32_t *size);
struct nb_saved *nb_walk_save_all(struct nb_walk *w, uint32_t *size);

#endif
