// SPDX-License-Identifier: MIT
#ifndef NB_BASE_ARENA_H
#define NB_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Memory that is freed all at once. Not thread-safe: one owner at a time. The
 * limit bounds the memory that hostile input can make us allocate.
 */
struct nb_arena_block;
struct nb_arena {
	struct nb_arena_block *blocks;
	size_t used;
	size_t limit;
	bool at_limit; /* An allocation failed because of @limit. */
};

/* Initialise an empty arena. @limit: most bytes ever handed out; 0 for no
 * limit. */
void nb_arena_init(struct nb_arena *a, size_t limit);
void nb_arena_fini(struct nb_arena *a);

/* Allocate zeroed, 16-byte aligned memory; NULL if memory or the limit is
 * used up. */
void *nb_arena_alloc(struct nb_arena *a, size_t size);
/* Allocate @n elements of @size bytes, like nb_arena_alloc; NULL on
 * overflow too. */
void *nb_arena_array(struct nb_arena *a, size_t n, size_t size);
/* Return the array @old, cleared; NULL: a new one. */
void *nb_arena_again(struct nb_arena *a, void *old, size_t n, size_t size);
/* Copy @size bytes into the arena; NULL as for nb_arena_alloc. */
void *nb_arena_dup(struct nb_arena *a, const void *from, size_t size);
/* Copy at most @max bytes of a string into the arena and terminate the copy. */
char *nb_arena_str(struct nb_arena *a, const char *from, size_t max);

#endif
