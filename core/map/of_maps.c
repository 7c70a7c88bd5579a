// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_ARRAY_OF_MAPS and BPF_MAP_TYPE_HASH_OF_MAPS: what a look-up by a
// program finds is another map, of the shape that the inner definition tells.
// Values are numbers of the image's maps, so that they mean the same in every
// process and generation; beside the elements lies a table from these numbers
// to the maps. Whoever makes the map fills the table (nb_map_set_maps) and
// keeps those maps alive. Checks and their order follow kernel/bpf/arraymap.c
// (fd_array_*) and hashtab.c (htab_of_map_*).
#include <errno.h>

#include "core/map/array.h"
#include "core/map/hash.h"

static size_t table_size(void)
{
	return NB_MAP_MAX_INNER * sizeof(struct nb_map *);
}

/* The table ends the map's memory. */
static void place_table(struct nb_map *m)
{
	m->inner = (struct nb_map **)(void *)((unsigned char *)m + m->memory -
					      table_size());
}

/* The map with number @value - 1. */
static struct nb_map *inner(const struct nb_map *m, uint64_t value)
{
	return value && value <= NB_MAP_MAX_INNER ? m->inner[value - 1] : NULL;
}

/* Is @value (4 bytes) the number of a map that may be here? */
static bool may_hold(const struct nb_map *m, const void *value)
{
	return inner(m, (uint64_t)nb_array_index(value) + 1) != NULL;
}

static void copy_table(struct nb_map *to, const struct nb_map *from)
{
	memcpy(to->inner, from->inner, table_size());
}

/* ---- by index ----------------------------------------------------------- */

static bool array_plan(const struct nb_map_def *def, uint32_t ncpus,
		       uint64_t *size)
{
	(void)ncpus;
	*size = sizeof(struct nb_map) + 8 * (uint64_t)def->max_entries +
		table_size() + NB_CACHE_LINE;
	return true;
}

static void array_init(struct nb_map *m)
{
	m->elem_size = 8;
	m->base = (unsigned char *)(m + 1);
	place_table(m);
}

/* An element: the number plus one, 0 for none. */
static uint64_t *place_of(const struct nb_map *m, uint32_t index)
{
	return (uint64_t *)(void *)m->base + index;
}

static void *array_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	(void)cpu;
	if (index >= m->max_entries)
		return NULL;
	return inner(m, __atomic_load_n(place_of(m, index), __ATOMIC_RELAXED));
}

static int array_read(const struct nb_map *m, const void *key, void *value)
{
	uint32_t index = nb_array_index(key), number;
	uint64_t v = 0;

	if (index < m->max_entries)
		v = __atomic_load_n(place_of(m, index), __ATOMIC_RELAXED);
	if (!v)
		return -ENOENT;
	number = (uint32_t)(v - 1);
	memcpy(value, &number, sizeof(number));
	return 0;
}

static int array_write(struct nb_map *m, const void *key, const void *value,
		       uint64_t flags)
{
	uint32_t index = nb_array_index(key);

	if (flags != NB_ANY)
		return -EINVAL;
	if (index >= m->max_entries)
		return -E2BIG;
	if (!may_hold(m, value))
		return -EBADF;
	__atomic_store_n(place_of(m, index),
			 (uint64_t)nb_array_index(value) + 1, __ATOMIC_RELAXED);
	return 0;
}

static int array_remove(struct nb_map *m, const void *key)
{
	uint32_t index = nb_array_index(key);

	if (index >= m->max_entries)
		return -E2BIG;
	return __atomic_exchange_n(place_of(m, index), 0, __ATOMIC_RELAXED)
		       ? 0
		       : -ENOENT;
}

static uint32_t array_count(const struct nb_map *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->max_entries; i++)
		n += __atomic_load_n(place_of(m, i), __ATOMIC_RELAXED) != 0;
	return n;
}

static void array_copy(struct nb_map *to, const struct nb_map *from)
{
	copy_table(to, from);
	nb_slot_copy(to->base, from->base, from->elem_size * from->max_entries);
}

const struct nb_map_ops nb_map_array_of_maps_ops = {
	.plan = array_plan,
	.init = array_init,
	.lookup = array_lookup,
	.update = nb_no_update,
	.remove = array_remove,
	.read = array_read,
	.write = array_write,
	.next = nb_array_next,
	.count = array_count,
	.copy = array_copy,
};

/* ---- by key ------------------------------------------------------------- */

static bool hash_plan(const struct nb_map_def *def, uint32_t ncpus,
		      uint64_t *size)
{
	bool fits = nb_hash_plan(def, ncpus, size);

	*size += table_size() + NB_CACHE_LINE;
	return fits;
}

static void hash_init(struct nb_map *m)
{
	nb_hash_init(m);
	place_table(m);
}

static void *hash_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	const unsigned char *e = find_sized(h, key, m->def.key_size);
	uint32_t number;

	(void)cpu;
	if (!e)
		return NULL;
	nb_slot_load(&number, e + h->value_off, sizeof(number));
	return inner(m, (uint64_t)number + 1);
}

/* As in the kernel's system call: BPF_F_LOCK of what has no lock, the value,
 * then the other flags. */
enum { WITH_LOCK = 4 };

static int hash_write(struct nb_map *m, const void *key, const void *value,
		      uint64_t flags)
{
	if (flags & WITH_LOCK)
		return -EINVAL;
	if (!may_hold(m, value))
		return -EBADF;
	return nb_hash_write(m, key, value, flags);
}

static void hash_copy(struct nb_map *to, const struct nb_map *from)
{
	copy_table(to, from);
	nb_hash_copy(to, from);
}

const struct nb_map_ops nb_map_hash_of_maps_ops = {
	.plan = hash_plan,
	.init = hash_init,
	.lookup = hash_lookup,
	.update = nb_no_update,
	.remove = nb_hash_remove,
	.read = nb_hash_read,
	.write = hash_write,
	.next = nb_hash_next,
	.count = nb_hash_count,
	.copy = hash_copy,
};
