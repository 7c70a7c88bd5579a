// SPDX-License-Identifier: MIT
/*
 * Arena of malloc'ed blocks. Loading and verifying take all their memory from
 * one arena, so that every return path frees it with a single call.
 */
#include "core/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Blocks grow from FIRST to BLOCK: a loaded policy keeps its arena, and most are small. */
enum { ALIGN = 16, FIRST = 4 << 10, BLOCK = 64 << 10 };

struct nb_arena_block {
	struct nb_arena_block *next;
	size_t size;
	size_t used;
	size_t pad;
};

void nb_arena_init(struct nb_arena *a, size_t limit)
{
	a->blocks = NULL;
	a->used = 0;
	a->limit = limit ? limit : SIZE_MAX;
	a->at_limit = false;
}

void nb_arena_fini(struct nb_arena *a)
{
	while (a->blocks) {
		struct nb_arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
	a->used = 0;
}

static struct nb_arena_block *arena_grow(struct nb_arena *a, size_t size)
{
	size_t want = a->blocks ? 2 * a->blocks->size : FIRST;
	struct nb_arena_block *b;

	want = want > BLOCK ? BLOCK : want;
	want = want < size ? size : want;
	b = malloc(sizeof(*b) + want);
	if (!b)
		return NULL;
	b->size = want;
	b->used = 0;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *nb_arena_alloc(struct nb_arena *a, size_t size)
{
	struct nb_arena_block *b = a->blocks;
	unsigned char *p;

	if (size > SIZE_MAX - ALIGN)
		return NULL;
	size = size ? (size + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
	if (size > a->limit - a->used) {
		a->at_limit = true;
		return NULL;
	}
	if (!b || b->size - b->used < size)
		b = arena_grow(a, size);
	if (!b)
		return NULL;
	p = (unsigned char *)(b + 1) + b->used;
	b->used += size;
	a->used += size;
	return memset(p, 0, size);
}

void *nb_arena_array(struct nb_arena *a, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	return nb_arena_alloc(a, total);
}

void *nb_arena_again(struct nb_arena *a, void *old, size_t n, size_t size)
{
	return old ? memset(old, 0, n * size) : nb_arena_array(a, n, size);
}

void *nb_arena_dup(struct nb_arena *a, const void *from, size_t size)
{
	void *p = nb_arena_alloc(a, size);

	if (p && size)
		memcpy(p, from, size);
	return p;
}

char *nb_arena_str(struct nb_arena *a, const char *from, size_t max)
{
	size_t n = strnlen(from, max);
	char *p = nb_arena_alloc(a, n + 1);

	if (p)
		memcpy(p, from, n);
	return p;
}
