// SPDX-License-Identifier: MIT
#ifndef NB_TEST_FAIL_ALLOC_H
#define NB_TEST_FAIL_ALLOC_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

/*
 * Functions in the place of malloc's (-Wl,--wrap=, test/unit/rules.mk): the
 * one with number alloc_until fails. What the C library allocates inside is
 * not seen. One file of a test program includes this.
 */
enum alloc_where { ALLOC_ANY, ALLOC_MAIN, ALLOC_OTHERS };

static atomic_long alloc_live;	     /* blocks not freed */
static atomic_long alloc_count;	     /* asked for */
static atomic_long alloc_until = -1; /* before one fails; -1: never */
static atomic_bool alloc_failed;
static atomic_int alloc_where; /* whose are counted */
static pthread_t alloc_main;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void __wrap_free(void *p);

static bool alloc_fails(void)
{
	int where = atomic_load(&alloc_where);
	bool main_thread = pthread_equal(pthread_self(), alloc_main);

	if ((where == ALLOC_MAIN && !main_thread) || (where == ALLOC_OTHERS && main_thread))
		return false;
	atomic_fetch_add(&alloc_count, 1);
	if (atomic_load(&alloc_until) < 0 || atomic_fetch_sub(&alloc_until, 1) > 0)
		return false;
	atomic_store(&alloc_failed, true);
	errno = ENOMEM;
	return true;
}

/* From now on; @k -1: none fails. */
static inline void alloc_arm(enum alloc_where where, long k)
{
	alloc_main = pthread_self();
	atomic_store(&alloc_where, where);
	atomic_store(&alloc_failed, false);
	atomic_store(&alloc_until, k);
}

static void *alloc_counted(void *p)
{
	atomic_fetch_add(&alloc_live, p != NULL);
	return p;
}

void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : alloc_counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return alloc_fails() ? NULL : alloc_counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	void *q;

	if (alloc_fails())
		return NULL;
	q = __real_realloc(p, size);
	return p ? q : alloc_counted(q);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	void *q;

	if (alloc_fails())
		return NULL;
	q = __real_reallocarray(p, n, size);
	return p ? q : alloc_counted(q);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return alloc_fails() ? NULL : alloc_counted(__real_aligned_alloc(align, size));
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	return alloc_fails() ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, off);
}

void __wrap_free(void *p)
{
	atomic_fetch_sub(&alloc_live, p != NULL);
	__real_free(p);
}

#endif
