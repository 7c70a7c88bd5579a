// SPDX-License-Identifier: MIT
/*
 * The cost of a helper call, in weighted instructions of about a nanosecond:
 * make bench-weights measures each and fails where one is less than half.
 * It covers the most work that the call can do by itself: the bytes that it
 * copies, hashes or scans, the nodes of a trie, the buckets of a walk. Waiting
 * for other threads is not part of it. A small key or value is part of the
 * call's own instruction.
 */
#include "core/verify/feature/helper_cost.h"

#include <string.h>

#include "core/map/map.h"
#include "core/verify/state/operands.h"

enum {
	BYTES = 16,   /* copied in a unit */
	WALK = 4,     /* to visit the buckets of an element, also if empty */
	NODE = 8,     /* of a trie */
	HASHES = 5,   /* of a Bloom filter, each over the value */
	NUMBER = 32,  /* to write one number as text */
	DIGIT = 2,    /* to read one */
	NUMBERS = 12, /* most that a format takes */
	CPUS = 1024,  /* values that a new per-CPU element sets to 0 */
	MOST = 1 << 20
};

/* Helpers whose fixed part is more than an instruction; numbers of
 * core/defs/helpers.h. */
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

/* The part that depends on no argument. */
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
	case PRINTK: /* a line of the ring, its time, three numbers */
		return 128 + 3 * NUMBER;
	case SNPRINTF:
		return NUMBERS * NUMBER;
	}
	return 0;
}

/* Bytes that are read one by one, besides those that are copied: a format or
 * the digits of a number. */
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

static bool is_memory(enum nb_arg arg)
{
	return arg == NB_ARG_KEY || arg == NB_ARG_VALUE || arg == NB_ARG_MEM ||
	       arg == NB_ARG_MEM0 || arg == NB_ARG_OUT ||
	       arg == NB_ARG_OUT_VALUE;
}

/* May @m be what a look-up in a map of maps like @def found? */
static bool found_as(const struct nb_image *img, uint32_t def, uint32_t m)
{
	for (uint32_t i = 0; i < img->nmaps; i++)
		if (img->maps[i].inner == def + 1)
			return nb_image_may_hold(img, i, m);
	return false;
}

/* Most elements of @m. One found in a map may have more than its definition. */
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

/* The keys of one bucket are compared; an update may look for them, for a
 * place, and for an element to drop. */
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

/* What there is to do in @m besides its keys and values. */
static uint64_t map_weight(const struct nb_env *env,
			   const struct nb_helper_spec *h,
			   const struct nb_map_spec *m)
{
	enum nb_map_keys keys = nb_spec_map_type(m->type)->keys;

	if (h->effect == NB_EFFECT_CALLS)
		return keys == NB_KEYS_INDEX
			       ? 0
			       : (uint64_t)WALK * elements(env->img, m);
	if (keys == NB_KEYS_PREFIX) /* a node a bit */
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
		if (is_memory(h->arg[i]))
			weight += nb_helper_extent(env, st, h, i).max / BYTES;
	return weight < MOST ? (uint32_t)weight : MOST;
}

uint32_t nb_turn_weight(const struct nb_env *env, const struct nb_state *st,
			uint32_t pc)
{
	const struct nb_helper_spec *h = nb_env_helper(env, env->insns[pc].imm);
	const struct nb_map_spec *m = h ? nb_helper_map(env, st, h) : NULL;
	bool by_key = m && nb_spec_map_type(m->type)->keys == NB_KEYS_BYTES;

	return by_key ? NB_MAP_CHAIN_MAX : 0;
}
