// SPDX-License-Identifier: MIT
/*
 * The cost of a helper call in weighted instructions, about a nanosecond
 * each: the columns "cost" and "work" of its row (core/defs/helpers.h) and the
 * bytes of its arguments. `make bench-weights` measures each helper and fails
 * if a weight is less than half of the measured time. The cost covers the most
 * work that the call can do by itself: the bytes that it copies, hashes or
 * scans, the buckets of an iteration. Waiting for other
 * threads is not included. The cost of a small key or value is part of the call
 * instruction.
 */
#include "core/bpf/verify/feature/helper_cost.h"

#include <string.h>

#include "core/bpf/map/map.h"
#include "core/bpf/verify/state/operands.h"

enum {
	BYTES = 16, /* Bytes copied in one unit of cost. */
	/*
	 * Cost of visiting the buckets of one element, even if they are empty.
	 */
	WALK = 4,
	/* Cost of one element of a bucket in a step of an iteration. It may lie
	 * on a cache line of its own. */
	STEP = 2,
	DIGIT = 2, /* Cost of reading one digit. */
	MOST = 1 << 20
};

/* Return the length of the constant string in r3. */
static uint64_t string_length(const struct nb_program *program, const struct nb_state *st)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[3];
	const struct nb_map_spec *m;
	uint64_t at = r->r.t.value;

	if (r->kind != NB_REG_VALUE)
		return MOST;
	m = &program->img->maps[r->map];
	if (at >= m->value_size)
		return MOST;
	return m->init ? strnlen((const char *)m->init + at, m->value_size - at) : 0;
}

/* Return the cost of comparing the keys of one bucket. */
static uint64_t chain_cost(const struct nb_map_spec *m)
{
	return NB_MAP_CHAIN_MAX * (((uint64_t)m->key_size + BYTES - 1) / BYTES);
}

/* Return the cost of finding a key. */
static uint64_t search_cost(const struct nb_map_spec *m)
{
	return nb_spec_map_type(m->type)->keys == NB_KEYS_BYTES ? chain_cost(m) : 0;
}

/* Return the cost of an update. It may search for the key, for a free place,
 * and for an element to evict. */
static uint64_t store_cost(const struct nb_map_spec *m)
{
	uint64_t cost = search_cost(m);

	if (nb_spec_map_type(m->type)->traits & NB_TRAIT_LRU)
		cost += 2 * (NB_MAP_LRU_STEPS + cost);
	return cost;
}

/* Return the cost of the work that depends on the map. */
static uint64_t map_work_cost(enum nb_work work, const struct nb_map_spec *m)
{
	switch (work) {
	case NB_WORK_SEARCH:
		return search_cost(m);
	case NB_WORK_STORE:
		return store_cost(m);
	case NB_WORK_BUCKETS:
		return nb_map_is_array(m) ? 0 : (uint64_t)WALK * m->max_entries;
	case NB_WORK_NONE:
	case NB_WORK_FORMAT:
	case NB_WORK_DIGITS:
		break;
	}
	return 0;
}

/* Return the cost of the work that depends on the map and the arguments, in
 * addition to the cost of the bytes that the call copies. */
static uint64_t work_cost(const struct nb_program *program, const struct nb_state *st,
			  const struct nb_helper_spec *h, const struct nb_map_spec *m)
{
	if (!m && nb_arg_of(h, NB_ARG_MAP) >= 0)
		return MOST;
	if (h->work == NB_WORK_FORMAT)
		return nb_arg_of(h, NB_ARG_STR) < 0 ? nb_helper_extent(program, st, h, 0).max
						    : string_length(program, st);
	if (h->work == NB_WORK_DIGITS)
		return DIGIT * nb_helper_extent(program, st, h, 0).max;
	return m ? map_work_cost(h->work, m) : 0;
}

uint32_t nb_helper_weight(const struct nb_program *program, const struct nb_state *st, uint32_t pc)
{
	const struct nb_helper_spec *h = nb_spec_helper((int32_t)program->insns[pc].imm);
	const struct nb_map_spec *m = h ? nb_helper_map(program, st, h) : NULL;
	uint64_t weight;

	if (!h)
		return 0;
	weight = h->cost;
	weight += work_cost(program, st, h, m);
	for (unsigned i = 0; i < 5; i++)
		if (nb_arg_reads(h->arg[i]) || nb_arg_writes(h->arg[i]))
			weight += nb_helper_extent(program, st, h, i).max / BYTES;
	return weight < MOST ? (uint32_t)weight : MOST;
}

uint32_t nb_iteration_weight(const struct nb_program *program, const struct nb_state *st,
			     uint32_t pc)
{
	const struct nb_helper_spec *h = nb_spec_helper((int32_t)program->insns[pc].imm);
	const struct nb_map_spec *m = h ? nb_helper_map(program, st, h) : NULL;
	bool by_key = m && nb_spec_map_type(m->type)->keys == NB_KEYS_BYTES;

	return by_key ? STEP * NB_MAP_CHAIN_MAX : 0;
}
