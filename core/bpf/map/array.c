// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_ARRAY and BPF_MAP_TYPE_PERCPU_ARRAY: max_entries values side by
 * side, each padded to eight bytes, all present from the start. No operation
 * needs a lock or memory. Data sections of policies are arrays with one
 * element.
 *
 * A per-CPU array is one array for each possible CPU on cache lines of its own,
 * so counting on one CPU never slows another. A program that moves to another
 * CPU may share a value with another program for a moment: exact counts need
 * atomic additions. Checks and their order follow kernel/bpf/arraymap.c.
 */
#include "core/bpf/map/map.h"
#include "core/bpf/map/ops.h"

static bool array_is_percpu(const struct nb_map_def *def)
{
	return nb_spec_map_type(def->type)->traits & NB_TRAIT_PERCPU;
}

static uint64_t array_size(const struct nb_map_def *def, uint32_t ncpus)
{
	/* The sum is below 2^63, because a value has less than 2^31 bytes. */
	uint64_t all = (uint64_t)nb_round8(def->value_size) * def->max_entries;

	if (array_is_percpu(def) &&
	    __builtin_mul_overflow(nb_whole_lines(all), (uint64_t)ncpus, &all))
		return UINT64_MAX;
	return __builtin_add_overflow(all, sizeof(struct nb_map), &all) ? UINT64_MAX : all;
}

static void array_init(struct nb_map *m)
{
	m->elem_size = nb_round8(m->def.value_size);
	m->base = (unsigned char *)(m + 1);
	if (m->percpu)
		m->cpu_size = nb_whole_lines((uint64_t)m->elem_size * m->max_entries);
}

static void *array_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	(void)cpu;
	if (index >= m->max_entries)
		return NULL;
	return m->base + m->elem_size * index;
}

static void *percpu_array_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	return nb_percpu_array_lookup(m, key, cpu);
}

static int array_update(struct nb_map *m, const void *key, const void *value, uint64_t flags,
			uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	if (flags > NB_EXIST)
		return -EINVAL;
	if (index >= m->max_entries)
		return -E2BIG;
	if (flags == NB_NOEXIST)
		/* All elements are present, so none can be added. */
		return -EEXIST;
	nb_values_store(m, nb_array_element(m, index, 0), value, cpu);
	return 0;
}

static int array_read(struct nb_map *m, const void *key, void *value)
{
	uint32_t index = nb_array_index(key);

	if (index >= m->max_entries)
		return -ENOENT;
	nb_values_load(m, value, nb_array_element(m, index, 0));
	return 0;
}

/*
 * Step to the next index. An index out of range starts over, as in the kernel.
 */
int nb_array_next(struct nb_map *m, const void *key, void *next)
{
	uint32_t index = key ? nb_array_index(key) : UINT32_MAX;

	if (index == m->max_entries - 1)
		return -ENOENT;
	index = index >= m->max_entries ? 0 : index + 1;
	memcpy(next, &index, sizeof(index));
	return 0;
}

static bool array_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu)
{
	if (c->visited >= m->max_entries)
		return false;
	c->index = c->visited++;
	c->key = &c->index;
	c->value = m->lookup(m, &c->index, cpu);
	return true;
}

/* Copy the elements, which are all the bytes that follow base. A host map
 * has fewer bytes there than @to, which ends with a whole cache line. */
void nb_array_copy(struct nb_map *to, struct nb_map *from)
{
	size_t head = (size_t)(to->base - (unsigned char *)to);
	size_t size = to->memory - head;

	if (from->host)
		size = from->elem_size * from->max_entries;
	nb_slot_copy(to->base, from->base, size);
}

#define ARRAY_OPS(find)                                                                           \
	{                                                                                         \
		.size = array_size, .init = array_init, .lookup = (find), .update = array_update, \
		.read = array_read, .next = nb_array_next, .each = array_each,                    \
		.copy = nb_array_copy                                                             \
	}

const struct nb_map_ops nb_map_array_ops = ARRAY_OPS(array_lookup);
const struct nb_map_ops nb_map_percpu_array_ops = ARRAY_OPS(percpu_array_lookup);
