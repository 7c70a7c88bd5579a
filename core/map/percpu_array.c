// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_PERCPU_ARRAY: an array for each possible CPU, each on cache
// lines of its own, so that counting on one CPU never slows another. Programs
// see the array of the CPU they run on; a thread that is moved meanwhile may
// share it with another for a moment, so values still want atomic adds where
// every count matters. The management side sees all CPUs' values at once.
#include "core/map/array.h"
#include "core/map/ops.h"

#include <errno.h>

/* Bytes of one CPU's array: below 2^47, values being small. */
static uint64_t cpu_size(const struct nb_map_def *def)
{
	uint64_t n = (uint64_t)nb_round8(def->value_size) * def->max_entries;

	return (n + NB_CACHE_LINE - 1) & ~(uint64_t)(NB_CACHE_LINE - 1);
}

static bool plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size)
{
	uint64_t all;

	if (__builtin_mul_overflow(cpu_size(def), (uint64_t)ncpus, &all))
		return false;
	return !__builtin_add_overflow(all, sizeof(struct nb_map), size);
}

static void init(struct nb_map *m)
{
	m->elem_size = nb_round8(m->def.value_size);
	m->cpu_size = cpu_size(&m->def);
	m->base = (unsigned char *)(m + 1);
}

static void *lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	return nb_percpu_array_lookup(m, key, cpu);
}

static int update(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags, uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	if ((flags == NB_ANY || flags == NB_EXIST) && index < m->max_entries) {
		nb_slot_store(nb_array_element(m, index, cpu), value,
			      m->def.value_size);
		return 0;
	}
	return nb_array_refuse(m, index, flags);
}

static int read(const struct nb_map *m, const void *key, void *value)
{
	uint32_t index = nb_array_index(key);
	unsigned char *to = value;

	if (index >= m->max_entries)
		return -ENOENT;
	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++, to += m->elem_size)
		nb_slot_load(to, nb_array_element(m, index, cpu), m->elem_size);
	return 0;
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	uint32_t index = nb_array_index(key);
	const unsigned char *from = value;
	int rc = nb_array_refuse(m, index, flags);

	if (rc)
		return rc;
	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++, from += m->elem_size)
		nb_slot_store(nb_array_element(m, index, cpu), from,
			      m->def.value_size);
	return 0;
}

static void copy(struct nb_map *to, const struct nb_map *from)
{
	nb_slot_copy(to->base, from->base, from->cpu_size * nb_ncpus());
}

const struct nb_map_ops nb_map_percpu_array_ops = {
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
	.percpu = true,
};
