// SPDX-License-Identifier: MIT
// How long a helper takes, in instructions, for the length of laps: the bytes
// that it copies, hashes or reads, the nodes of a trie, the buckets of a hash
// that is walked. A small key or value is part of the call's own instruction.
#include "core/verify/weight.h"

#include "core/verify/check_args.h"

enum {
	BYTES = 16,  /* an instruction's */
	BUCKETS = 4, /* likewise, also where nothing is in them */
	HASHES = 5,  /* of a bloom filter, each over the value */
	MOST = 1 << 20
};

static bool is_memory(enum nb_arg arg)
{
	return arg == NB_ARG_KEY || arg == NB_ARG_VALUE || arg == NB_ARG_MEM ||
	       arg == NB_ARG_MEM0 || arg == NB_ARG_OUT || arg == NB_ARG_FILL;
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

/* What there is to do in @m besides its keys and values. */
static uint64_t map_weight(const struct nb_env *env,
			   const struct nb_helper_spec *h,
			   const struct nb_map_spec *m)
{
	enum nb_map_keys keys = nb_spec_map_type(m->type)->keys;

	if (h->effect == NB_EFFECT_CALLS)
		return keys == NB_KEYS_INDEX ? 0
					     : elements(env->img, m) / BUCKETS;
	if (keys == NB_KEYS_PREFIX) /* a node a bit */
		return 8 * ((uint64_t)m->key_size - 4);
	if (m->type == NB_MAP_BLOOM_FILTER)
		return (HASHES - 1) * (uint64_t)m->value_size / BYTES;
	return 0;
}

uint32_t nb_helper_weight(const struct nb_env *env, const struct nb_state *st,
			  uint32_t pc)
{
	const struct nb_helper_spec *h = nb_env_helper(env, env->insns[pc].imm);
	const struct nb_map_spec *m = h ? nb_helper_map(env, st, h) : NULL;
	uint64_t weight = m ? map_weight(env, h, m) : 0;

	for (unsigned i = 0; h && i < 5; i++)
		if (is_memory(h->arg[i]))
			weight += nb_helper_extent(env, st, h, i).max / BYTES;
	return weight < MOST ? (uint32_t)weight : MOST;
}
