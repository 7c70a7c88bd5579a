// SPDX-License-Identifier: MIT
/*
 * The cost of a helper call in weighted instructions, about a nanosecond
 * each. `make bench-weights` measures each helper and fails if a weight is
 * less than half of the measured time. The cost covers the most work that
 * the call can do by itself: the bytes that it copies, hashes or scans, the
 * nodes of a trie, the buckets of an iteration. Waiting for other threads
 * is not included. The cost of a small key or value is part of the call
 * instruction.
 */
#include "core/verify/feature/helper_cost.h"

#include <string.h>

#include "core/map/map.h"
#include "core/verify/state/operands.h"

enum {
	BYTES = 16, /* Bytes copied in one unit of cost. */
	/*
	 * Cost of visiting the buckets of one element, even if they are empty.
	 */
	WALK = 4,
	NODE = 8,     /* Cost of visiting a node of a trie. */
	HASHES = 5,   /* Hashes of a Bloom filter, each over the whole value. */
	NUMBER = 32,  /* Cost of writing one number as text. */
	DIGIT = 2,    /* Cost of reading one digit. */
	NUMBERS = 12, /* One format prints at most this many numbers. */
	/* Number of values that are set to 0 when a per-CPU element is
	 * created. */
	CPUS = 1024,
	MOST = 1 << 20
};

/* Helpers whose fixed cost is more than one instruction, by their numbers
 * of core/defs/helpers.h. */
enum {
	KTIME = 5,
	PRINTK = 6,
	PRANDOM = 7,
	STRTOL = 105,
	STRTOUL = 106,
	SNPRINTF = 165,
	CHEAPEST_PROTO = 0x20002,
	CHEAPEST_ALGO = 0x20003,
	MUL_DIV = 0x20004
};

/* Return the part of the cost that depends on no argument. */
static uint64_t fixed_cost(int32_t helper)
{
	switch (helper) {
	case KTIME:
		return 32;
	case MUL_DIV:
		return 8;
	case PRANDOM:
		return 3;
	case CHEAPEST_PROTO:
	case CHEAPEST_ALGO:
		return 64;
	/*
	 * Cost of writing a line to the ring, with its time and three numbers.
	 */
	case PRINTK:
		return 128 + 3 * NUMBER;
	case SNPRINTF:
		return NUMBERS * NUMBER;
	}
	return 0;
}

/*
 * Return the cost of bytes that the helper reads one by one, in addition to the
 * bytes that it copies: a format, or the digits of a number.
 */
static uint64_t scanned(const struct nb_env *env, const struct nb_state *st,
			const struct nb_helper_spec *h)
{
	const struct nb_reg *r = &st->frames[st->nframes - 1].regs[3];
	const struct nb_map_spec *m;
	uint64_t at = r->r.t.value;

	if (h->id == PRINTK)
		return nb_helper_extent(env, st, h, 0).max;
	if (h->id == STRTOL || h->id == STRTOUL)
		return DIGIT * nb_helper_extent(env, st, h, 0).max;
	if (h->id != SNPRINTF)
		return 0;
	if (r->kind != NB_REG_VALUE)
		return MOST;
	m = &env->img->maps[r->map];
	if (at >= m->value_size)
		return MOST;
	return m->init ? strnlen((const char *)m->init + at, m->value_size - at)
		       : 0;
}

/* May a look-up in a map of maps whose inner maps look like @def return map
 * @m? */
static bool found_as(const struct nb_image *img, uint32_t def, uint32_t m)
{
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (img->maps[i].inner == def + 1)
			return nb_image_may_hold(img, i, m);
	return false;
}

/* Return the most elements of @m. A map found in another map may have more
 * elements than its definition. */
static uint32_t elements(const struct nb_image *img,
			 const struct nb_map_spec *m)
{
	uint32_t most = m->max_entries;

	if (m->origin != NB_ORIGIN_INNER)
		return most;
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (img->maps[i].max_entries > most &&
		    found_as(img, (uint32_t)(m - img->maps), i))
			most = img->maps[i].max_entries;
	return most;
}

/* Return the cost of comparing the keys of one bucket. An update may search
 * for the key, for a free place, and for an element to evict. */
static uint64_t hash_cost(const struct nb_helper_spec *h,
			  const struct nb_map_spec *m)
{
	uint32_t traits = nb_spec_map_type(m->type)->traits;
	uint64_t chain = NB_MAP_CHAIN_MAX *
			 (((uint64_t)m->key_size + BYTES - 1) / BYTES);
	uint64_t cost = chain;

	if (h->id != NB_HELPER_UPDATE)
		return cost;
	if (traits & NB_TRAIT_LRU)
		cost += 2 * (NB_MAP_LRU_STEPS + chain);
	if (traits & NB_TRAIT_PERCPU)
		cost += CPUS * (1 + (uint64_t)m->value_size / BYTES);
	return cost;
}

/*
 * Return the cost of work in @m, in addition to the cost of its keys and
 * values.
 */
static uint64_t map_weight(const struct nb_env *env,
			   const struct nb_helper_spec *h,
			   const struct nb_map_spec *m)
{
	enum nb_map_keys keys = nb_spec_map_type(m->type)->keys;

	if (h->effect == NB_EFFECT_CALLS)
		return keys == NB_KEYS_INDEX
			       ? 0
			       : (uint64_t)WALK * elements(env->img, m);
	/* A look-up visits at most one node for each bit of the key. */
	if (keys == NB_KEYS_PREFIX)
		return NODE * 8 * ((uint64_t)m->key_size - 4);
	if (keys == NB_KEYS_BYTES)
		return hash_cost(h, m);
	if (m->type == NB_MAP_BLOOM_FILTER)
		return (HASHES - 1) * (uint64_t)m->value_size / BYTES;
	return 0;
}

uint32_t nb_helper_weight(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc)
{
	const struct nb_helper_spec *h = nb_env_helper(env, env->insns[pc].imm);
	const struct nb_map_spec *m = h ? nb_helper_map(env, st, h) : NULL;
	uint64_t weight;

	if (!h)
		return 0;
	weight = fixed_cost(h->id) + scanned(env, st, h);
	if (m)
		weight += map_weight(env, h, m);
	for (unsigned i = 0; i < 5; i++)
		if (nb_arg_reads(h->arg[i]) || nb_arg_writes(h->arg[i]))
			weight += nb_helper_extent(env, st, h, i).max / BYTES;
	return weight < MOST ? (uint32_t)weight : MOST;
}

uint32_t nb_iteration_weight(const struct nb_env *env,
			     const struct nb_state *st, uint32_t pc)
{
	const struct nb_helper_spec *h = nb_env_helper(env, env->insns[pc].imm);
	const struct nb_map_spec *m = h ? nb_helper_map(env, st, h) : NULL;
	bool by_key = m && nb_spec_map_type(m->type)->keys == NB_KEYS_BYTES;

	return by_key ? NB_MAP_CHAIN_MAX : 0;
}
