// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_PROG_ARRAY, BPF_MAP_TYPE_ARRAY_OF_MAPS and
 * BPF_MAP_TYPE_HASH_OF_MAPS: values name programs or maps. The kernel takes
 * file descriptors; here a value is a number in the image, so it means the
 * same in every process and generation. A look-up in a map of maps finds
 * the inner map through a table at the end of the outer map's memory. The
 * map's owner fills that table (nb_map_set_maps) and keeps the inner maps
 * alive. Checks and their order follow kernel/bpf/arraymap.c (fd_array_*)
 * and hashtab.c (htab_of_map_*).
 */
#include "core/map/hash.h"
#include "core/map/map.h"

enum { FD_TABLE = NB_MAP_MAX_INNER * sizeof(struct nb_map *) };

/* Return the size of the table in bytes; one more cache line aligns it. */
static uint64_t fd_table_size(const struct nb_map_def *def)
{
	bool maps = nb_spec_map_type(def->type)->traits & NB_TRAIT_MAPS;

	return maps ? FD_TABLE + NB_CACHE_LINE : 0;
}

static void fd_table_init(struct nb_map *m)
{
	if (fd_table_size(&m->def))
		m->inner = (struct nb_map **)(void *)((unsigned char *)m +
						      m->memory - FD_TABLE);
}

static struct nb_map *fd_inner(const struct nb_map *m, uint64_t number)
{
	return number < NB_MAP_MAX_INNER ? m->inner[number] : NULL;
}

/* May @number be a value? It has to name an allowed program or map. */
static bool fd_allowed(const struct nb_map *m, uint32_t number)
{
	if (m->inner)
		return fd_inner(m, number);
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
	return sizeof(struct nb_map) + 8 * (uint64_t)def->max_entries +
	       fd_table_size(def);
}

static void fd_array_init(struct nb_map *m)
{
	m->elem_size = 8;
	m->base = (unsigned char *)(m + 1);
	fd_table_init(m);
}

/* The verifier allows no look-up in program arrays. */
static void *fd_array_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)cpu;
	return m->inner ? fd_inner(m, fd_load(m, nb_array_index(key)) - 1)
			: NULL;
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
	.lookup = fd_array_lookup,
	.update = fd_array_update,
	.remove = fd_array_remove,
	.read = fd_array_read,
	.next = nb_array_next,
	.count = fd_array_count,
	.copy = nb_array_copy,
};

static uint64_t fd_hash_size(const struct nb_map_def *def, uint32_t ncpus)
{
	uint64_t size = nb_hash_size(def, ncpus);

	return size == UINT64_MAX ? size : size + fd_table_size(def);
}

static void fd_hash_init(struct nb_map *m)
{
	nb_hash_init(m);
	m->lookup = m->ops->lookup;
	fd_table_init(m);
}

static void *fd_hash_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	unsigned char *e = find_sized(h, key, m->def.key_size);
	uint32_t number;

	(void)cpu;
	if (!e)
		return NULL;
	nb_slot_load(&number, value_of(h, e), sizeof(number));
	return fd_inner(m, number);
}

/* Checks are in the kernel's order: BPF_F_LOCK for a value without a lock,
 * then the value, then the other flags. */
enum { FD_WITH_LOCK = 4 };

static int fd_hash_update(struct nb_map *m, const void *key, const void *value,
			  uint64_t flags, uint32_t cpu)
{
	if (flags & FD_WITH_LOCK || cpu != NB_ALL_CPUS)
		return -EINVAL;
	if (!fd_allowed(m, nb_array_index(value)))
		return -EBADF;
	return nb_hash_update(m, key, value, flags, cpu);
}

const struct nb_map_ops nb_map_fd_hash_ops = {
	.size = fd_hash_size,
	.init = fd_hash_init,
	.lookup = fd_hash_lookup,
	.update = fd_hash_update,
	NB_HASH_OPS,
};
