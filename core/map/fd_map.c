// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_PROG_ARRAY: values name programs. The kernel takes file
 * descriptors; here a value is a number in the image, so it means the same in
 * every process and generation. The verifier allows no look-up. Checks and
 * their order follow kernel/bpf/arraymap.c (fd_array_*).
 */
#include "core/map/map.h"
#include "core/map/ops.h"

/* May @number be a value? It has to name an allowed program. */
static bool fd_allowed(const struct nb_map *m, uint32_t number)
{
	return number < 32 && m->programs >> number & 1;
}

/* Return an element: its value plus one, or 0 if it is empty, so that one
 * load is enough. */
static uint64_t *fd_slot(const struct nb_map *m, uint32_t index)
{
	return (uint64_t *)(void *)m->base + index;
}

static uint64_t fd_load(const struct nb_map *m, uint32_t index)
{
	return index < m->max_entries
		       ? __atomic_load_n(fd_slot(m, index), __ATOMIC_RELAXED)
		       : 0;
}

int64_t nb_prog_array_at(const struct nb_map *m, uint32_t index)
{
	return (int64_t)fd_load(m, index) - 1;
}

static uint64_t fd_array_size(const struct nb_map_def *def, uint32_t ncpus)
{
	(void)ncpus;
	return sizeof(struct nb_map) + 8 * (uint64_t)def->max_entries;
}

static void fd_array_init(struct nb_map *m)
{
	m->elem_size = 8;
	m->base = (unsigned char *)(m + 1);
}

/* Update an element; only the management side does so. */
static int fd_array_update(struct nb_map *m, const void *key, const void *value,
			   uint64_t flags, uint32_t cpu)
{
	uint32_t index = nb_array_index(key), number = nb_array_index(value);

	if (flags != NB_ANY || cpu != NB_ALL_CPUS)
		return -EINVAL;
	if (index >= m->max_entries)
		return -E2BIG;
	if (!fd_allowed(m, number))
		return -EBADF;
	__atomic_store_n(fd_slot(m, index), (uint64_t)number + 1,
			 __ATOMIC_RELAXED);
	return 0;
}

static int fd_array_remove(struct nb_map *m, const void *key)
{
	uint32_t index = nb_array_index(key);

	if (index >= m->max_entries)
		return -E2BIG;
	return __atomic_exchange_n(fd_slot(m, index), 0, __ATOMIC_RELAXED)
		       ? 0
		       : -ENOENT;
}

static int fd_array_read(struct nb_map *m, const void *key, void *value)
{
	uint64_t element = fd_load(m, nb_array_index(key));
	uint32_t number = (uint32_t)element - 1;

	if (!element)
		return -ENOENT;
	memcpy(value, &number, sizeof(number));
	return 0;
}

static uint32_t fd_array_count(struct nb_map *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->max_entries; i++)
		n += fd_load(m, i) != 0;
	return n;
}

const struct nb_map_ops nb_map_fd_array_ops = {
	.size = fd_array_size,
	.init = fd_array_init,
	.update = fd_array_update,
	.remove = fd_array_remove,
	.read = fd_array_read,
	.next = nb_array_next,
	.count = fd_array_count,
	.copy = nb_array_copy,
};
