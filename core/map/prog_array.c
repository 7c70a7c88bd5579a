// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_PROG_ARRAY: for each index the number of a program of the same
// image, or nothing. Programs only jump by it (bpf_tail_call); the management
// side reads, writes and empties elements. An element is one word, the number
// plus one and 0 for none, so that whoever jumps needs one load. Checks and
// their order follow kernel/bpf/arraymap.c (prog_array_map_ops, fd_array_*).
#include "core/map/array.h"
#include "core/map/ops.h"

#include <errno.h>

static bool plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size)
{
	(void)ncpus;
	*size = sizeof(struct nb_map) + 8 * (uint64_t)def->max_entries;
	return true;
}

static void init(struct nb_map *m)
{
	m->elem_size = 8;
	m->base = (unsigned char *)(m + 1);
}

static uint64_t *element(const struct nb_map *m, uint32_t index)
{
	return (uint64_t *)(void *)m->base + index;
}

int64_t nb_prog_array_at(const struct nb_map *m, uint32_t index)
{
	if (index >= m->max_entries)
		return -1;
	return (int64_t)__atomic_load_n(element(m, index), __ATOMIC_RELAXED) -
	       1;
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	uint32_t index = nb_array_index(key), prog;

	if (flags != NB_ANY)
		return -EINVAL;
	if (index >= m->max_entries)
		return -E2BIG;
	memcpy(&prog, value, sizeof(prog));
	if (prog > 31 || !(m->programs >> prog & 1))
		return -EBADF;
	__atomic_store_n(element(m, index), (uint64_t)prog + 1,
			 __ATOMIC_RELAXED);
	return 0;
}

static int take_out(struct nb_map *m, const void *key)
{
	uint32_t index = nb_array_index(key);

	if (index >= m->max_entries)
		return -E2BIG;
	return __atomic_exchange_n(element(m, index), 0, __ATOMIC_RELAXED)
		       ? 0
		       : -ENOENT;
}

static int read(const struct nb_map *m, const void *key, void *value)
{
	int64_t at = nb_prog_array_at(m, nb_array_index(key));
	uint32_t prog = (uint32_t)at;

	if (at < 0)
		return -ENOENT;
	memcpy(value, &prog, sizeof(prog));
	return 0;
}

static uint32_t count(const struct nb_map *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->max_entries; i++)
		n += nb_prog_array_at(m, i) >= 0;
	return n;
}

static void copy(struct nb_map *to, const struct nb_map *from)
{
	to->programs = from->programs;
	nb_slot_copy(to->base, from->base, from->elem_size * from->max_entries);
}

const struct nb_map_ops nb_map_prog_array_ops = {
	.plan = plan,
	.init = init,
	.lookup = nb_no_lookup, /* the verifier keeps programs away */
	.update = nb_no_update,
	.remove = take_out,
	.read = read,
	.write = write,
	.next = nb_array_next,
	.count = count,
	.copy = copy,
};
