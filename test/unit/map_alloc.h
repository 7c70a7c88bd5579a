// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_MAP_ALLOC_H
#define NB_TEST_UNIT_MAP_ALLOC_H

/* Maps of a test, and allocations that are counted and fail when told to. */
#include "test/unit/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/map/hash.h"
#include "core/bpf/map/ops.h"
#include "test/differential/map/sequence.h"

/* ---- allocations, counted and made to fail ------------------------------ */

/*
 * Only between watch and unwatch, where no assertion is made: libcheck may be
 * linked in and allocates as well.
 */
static bool watching;
static long live;	  /* allocations not freed */
static long fail_at = -1; /* allocations until one fails; -1: none */

static inline void watch(long fail)
{
	live = 0;
	fail_at = fail;
	watching = true;
}

static inline void unwatch(void)
{
	watching = false;
}

static inline bool fails(void)
{
	return watching && fail_at >= 0 && fail_at-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **p, size_t align, size_t size);
void __wrap_free(void *p);

static inline void *counted(void *p)
{
	live += watching && p;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : counted(__real_aligned_alloc(align, size));
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	int rc = fails() ? ENOMEM : __real_posix_memalign(p, align, size);

	live += watching && rc == 0;
	return rc;
}

void __wrap_free(void *p)
{
	live -= watching && p;
	__real_free(p);
}

/* ---- helpers ------------------------------------------------------------ */

static inline struct nb_map *make(uint32_t type, uint32_t key_size, uint32_t value_size,
				  uint32_t max_entries)
{
	const struct nb_map_def def = { "m", type, key_size, value_size, max_entries, 0 };
	struct nb_err err;
	struct nb_map *m;

	ck_assert_msg(nb_map_new(&m, &def, &err) == 0, "%s", err.text);
	return m;
}

static inline int put(struct nb_map *m, uint64_t key, uint64_t value, uint64_t flags)
{
	return nb_map_update(m, &key, &value, flags, 0);
}

static inline uint64_t *at(struct nb_map *m, uint64_t key)
{
	return nb_map_lookup(m, &key, 0);
}

static inline int drop(struct nb_map *m, uint64_t key)
{
	return nb_map_delete(m, &key);
}

#endif
