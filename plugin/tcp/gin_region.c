// SPDX-License-Identifier: MIT
/*
 * Registered memory of a collComm. A registration number names a region. All
 * ranks register in the same order, so the number is the same on all ranks.
 * NCCL's threads register while the data path looks regions up: entries of the
 * table never move, and dereg waits until the data path has left the closed
 * region.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/tcp/gin.h"

void nb_gin_regions_init(struct nb_gin_regions *t)
{
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
}

void nb_gin_regions_fini(struct nb_gin_regions *t)
{
	for (int i = 0; i < NB_GIN_CHUNKS; i++)
		free(t->chunk[i]);
	pthread_mutex_destroy(&t->lock);
}

/*
 * Returns the chunk for region @number, or NULL if there is no memory or an old
 * region still has the entry. The caller holds the lock.
 */
static struct nb_gin_chunk *chunk_for(struct nb_gin_regions *t, uint32_t number)
{
	struct nb_gin_chunk **at = &t->chunk[number / NB_GIN_CHUNK % NB_GIN_CHUNKS];
	struct nb_gin_chunk *c = *at;

	if (c)
		return number % NB_GIN_CHUNK ? c : NULL;
	c = calloc(1, sizeof(*c));
	if (c)
		__atomic_store_n(at, c, __ATOMIC_RELEASE);
	return c;
}

int nb_gin_regions_add(struct nb_gin_regions *t, const struct nb_gin_memory *m, void **handle)
{
	struct nb_gin_chunk *c;
	struct nb_gin_region *r;
	uint32_t number;

	*handle = NULL;
	if ((!m->data && m->size) || (uintptr_t)m->data > UINTPTR_MAX - m->size)
		return NB_NET_ARGUMENT;
	/*
	 * NCCL registers GPU memory whatever our properties say, and its thread
	 * would crash later on memory that the CPU cannot reach; peers write
	 * into every window
	 */
	if (!nb_tcp_readable("gin", m->data, m->size) || !nb_tcp_writable("gin", m->data, m->size))
		return NB_NET_ARGUMENT;
	pthread_mutex_lock(&t->lock);
	number = t->next;
	c = number == NB_GIN_NO_REGION ? NULL : chunk_for(t, number);
	if (c) {
		r = &c->region[number % NB_GIN_CHUNK];
		r->base = m->data;
		r->size = m->size;
		r->number = number;
		__atomic_store_n(&r->open, true, __ATOMIC_RELEASE);
		c->used++;
		__atomic_store_n(&t->next, number + 1, __ATOMIC_RELEASE);
		*handle = nb_gin_region_handle(number);
	}
	pthread_mutex_unlock(&t->lock);
	if (!c)
		nb_tcp_say(
			true,
			"gin: registration %u failed: no memory, or registration %u is still open",
			number, number - NB_GIN_CHUNK * NB_GIN_CHUNKS);
	return c ? NB_NET_OK : NB_NET_SYSTEM;
}

/* Wait until the data path has left all regions that it found open. */
static void wait_for_data_path(const struct nb_gin_regions *t)
{
	uint64_t seen = __atomic_load_n(&t->epoch, __ATOMIC_SEQ_CST);

	while (seen % 2 && __atomic_load_n(&t->epoch, __ATOMIC_ACQUIRE) == seen)
		sched_yield();
}

int nb_gin_regions_remove(struct nb_gin_regions *t, void *handle)
{
	uint32_t number = nb_gin_region_number(handle);
	struct nb_gin_chunk **at = &t->chunk[number / NB_GIN_CHUNK % NB_GIN_CHUNKS];
	struct nb_gin_chunk *c, *gone = NULL;
	struct nb_gin_region *r;
	int rc = NB_NET_ARGUMENT;

	pthread_mutex_lock(&t->lock);
	c = *at;
	r = c ? &c->region[number % NB_GIN_CHUNK] : NULL;
	if (handle && r && r->number == number && r->open) {
		__atomic_store_n(&r->open, false, __ATOMIC_SEQ_CST);
		rc = NB_NET_OK;
		c->closed++;
		if (c->closed == NB_GIN_CHUNK) {
			gone = c;
			__atomic_store_n(at, NULL, __ATOMIC_SEQ_CST);
		}
		wait_for_data_path(t);
	}
	pthread_mutex_unlock(&t->lock);
	free(gone);
	return rc;
}

const struct nb_gin_region *nb_gin_region(const struct nb_gin_regions *t, uint32_t number)
{
	const struct nb_gin_chunk *c;
	const struct nb_gin_region *r;

	if (number >= __atomic_load_n(&t->next, __ATOMIC_ACQUIRE))
		return NULL;
	c = __atomic_load_n(&t->chunk[number / NB_GIN_CHUNK % NB_GIN_CHUNKS], __ATOMIC_SEQ_CST);
	if (!c)
		return NULL;
	r = &c->region[number % NB_GIN_CHUNK];
	return __atomic_load_n(&r->open, __ATOMIC_SEQ_CST) && r->number == number ? r : NULL;
}

void *nb_gin_region_handle(uint32_t number)
{
	return (void *)((uintptr_t)number + 1);
}

uint32_t nb_gin_region_number(void *handle)
{
	uintptr_t n = (uintptr_t)handle;

	return n && n <= NB_GIN_NO_REGION ? (uint32_t)(n - 1) : NB_GIN_NO_REGION;
}
