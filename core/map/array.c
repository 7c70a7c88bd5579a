// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_ARRAY: max_entries values side by side, each padded to eight
// bytes, all present from the start. Nothing here can fail later or needs a
// lock: a look-up is one compare and one multiplication. Checks and their
// order follow kernel/bpf/arraymap.c. Data sections of policies are such
// maps with one element.
#include "core/map/array.h"

#include <errno.h>
#include <limits.h>

static bool plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size)
{
	uint64_t all;

	(void)ncpus;
	if (__builtin_mul_overflow((uint64_t)nb_round8(def->value_size),
				   (uint64_t)def->max_entries, &all))
		return false;
	return !__builtin_add_overflow(all, sizeof(struct nb_map), size);
}

static void init(struct nb_map *m)
{
	m->elem_size = nb_round8(m->def.value_size);
	m->base = (unsigned char *)(m + 1);
}

static inline unsigned char *element(const struct nb_map *m, uint32_t index)
{
	return m->base + m->elem_size * index; /* size_t: no 32-bit product */
}

static void *lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	(void)cpu;
	if (index >= m->max_entries)
		return NULL;
	return element(m, index);
}

/* 0 or why the kernel would not store there; in its order. */
int nb_array_refuse(const struct nb_map *m, uint32_t index, uint64_t flags)
{
	if (flags > NB_EXIST)
		return -EINVAL;
	if (index >= m->max_entries)
		return -E2BIG;
	if (flags == NB_NOEXIST)
		return -EEXIST; /* all elements are present */
	return 0;
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	uint32_t index = nb_array_index(key);
	int rc = nb_array_refuse(m, index, flags);

	if (rc)
		return rc;
	nb_value_store(m, element(m, index), value);
	return 0;
}

static int update(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags, uint32_t cpu)
{
	(void)cpu;
	return write(m, key, value, flags);
}

int nb_array_remove(struct nb_map *m, const void *key)
{
	(void)m;
	(void)key;
	return -EINVAL;
}

static int read(const struct nb_map *m, const void *key, void *value)
{
	uint32_t index = nb_array_index(key);

	if (index >= m->max_entries)
		return -ENOENT;
	nb_value_load(m, value, element(m, index));
	return 0;
}

/* An index outside starts over, as in the kernel. */
int nb_array_next(const struct nb_map *m, const void *key, void *next)
{
	uint32_t index = key ? nb_array_index(key) : UINT32_MAX;

	if (index == m->max_entries - 1)
		return -ENOENT;
	index = index >= m->max_entries ? 0 : index + 1;
	memcpy(next, &index, sizeof(index));
	return 0;
}

bool nb_array_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu)
{
	if (c->visited >= m->max_entries)
		return false;
	c->index = c->visited++;
	c->key = &c->index;
	c->value = m->ops->lookup(m, &c->index, cpu);
	return true;
}

uint32_t nb_array_count(const struct nb_map *m)
{
	return m->max_entries;
}

static void copy(struct nb_map *to, const struct nb_map *from)
{
	nb_slot_copy(to->base, from->base, from->elem_size * from->max_entries);
	for (uint32_t i = 0; to->lock && i < to->max_entries; i++)
		nb_value_unlock(to, element(to, i));
}

const struct nb_map_ops nb_map_array_ops = {
	.plan = plan,
	.init = init,
	.lookup = lookup,
	.update = update,
	.remove = nb_array_remove,
	.read = read,
	.write = write,
	.next = nb_array_next,
	.each = nb_array_each,
	.count = nb_array_count,
	.copy = copy,
};
