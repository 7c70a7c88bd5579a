// SPDX-License-Identifier: MIT
/*
 * Check whether an image can define a map: the definition itself
 * (nb_map_def_check), the limits of images, and tags and data sections. Each
 * message names the map.
 */
#include "core/bpf/image/image.h"

struct nb_map_def nb_map_spec_def(const struct nb_map_spec *s)
{
	return (struct nb_map_def){
		.name = s->name,
		.type = s->type,
		.key_size = s->key_size,
		.value_size = s->value_size,
		.max_entries = s->max_entries,
		.flags = s->flags,
	};
}

static int check_def(const struct nb_map_spec *m, struct nb_err *err)
{
	struct nb_map_def def = nb_map_spec_def(m);

	return nb_map_def_check(&def, err);
}

static int check_limits(const struct nb_map_spec *m, struct nb_err *err)
{
	uint32_t most = m->origin == NB_ORIGIN_RODATA ? NB_IMAGE_MAX_DATA : NB_IMAGE_MAX_VALUE;
	uint64_t total = ((uint64_t)m->key_size + m->value_size) * m->max_entries;

	if (m->key_size > NB_IMAGE_MAX_KEY)
		return nb_fail(err, NB_E_LIMIT, 0, "map %s: key of %u bytes; at most %d", m->name,
			       m->key_size, NB_IMAGE_MAX_KEY);
	if (m->value_size > most)
		return nb_fail(err, NB_E_LIMIT, 0, "map %s: value of %u bytes; at most %u", m->name,
			       m->value_size, most);
	if (nb_spec_map_type(m->type)->keys == NB_KEYS_RING &&
	    m->max_entries > NB_MAP_MAX_BYTES / 4)
		return nb_fail(err, NB_E_LIMIT, 0, "map %s: a ring buffer of %u bytes; at most %d",
			       m->name, m->max_entries, NB_MAP_MAX_BYTES / 4);
	if (total > NB_MAP_MAX_BYTES)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map %s: %u elements of %u + %u bytes; at most %d bytes in all",
			       m->name, m->max_entries, m->key_size, m->value_size,
			       NB_MAP_MAX_BYTES);
	return 0;
}

/* Check a map that controllers see merged over all processes. */
static int check_merged(const struct nb_map_spec *m, struct nb_err *err)
{
	static const uint32_t types = 1u << NB_MAP_HASH | 1u << NB_MAP_ARRAY |
				      1u << NB_MAP_PERCPU_ARRAY | 1u << NB_MAP_LRU_HASH;

	if ((m->tags & NB_MAPF_MERGED) == NB_MAPF_MERGED)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: merged by both sum and max; choose one of them", m->name);
	if (m->tags & NB_MAPF_COHERENT)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a coherent map is equal in all processes: "
			       "there is nothing to merge",
			       m->name);
	if (!(types >> m->type & 1) || m->origin != NB_ORIGIN_DEFINED)
		return nb_fail(err, NB_E_MAPDEF, 0, "map %s: only hashes and arrays are merged",
			       m->name);
	if (m->value_size % 8)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a merged value has %u bytes, but must have a multiple of 8",
			       m->name, m->value_size);
	return 0;
}

/* Check a map whose memory the host provides. */
static int check_host(const struct nb_map_spec *m, struct nb_err *err)
{
	const uint32_t needed = NB_F_MMAPABLE | NB_F_RDONLY_PROG;

	if (m->type != NB_MAP_ARRAY || m->origin != NB_ORIGIN_DEFINED || m->flags != needed)
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"map %s: type %s with map_flags 0x%x; "
			"a host map is an array with BPF_F_MMAPABLE | BPF_F_RDONLY_PROG (0x%x)",
			m->name, nb_spec_map_type(m->type)->word, m->flags, needed);
	if (m->tags != NB_MAPF_HOST)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a host map has no other tag: each host writes its own",
			       m->name);
	if (m->value_size < 8)
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"map %s: values of %u bytes; "
			"values of a host map begin with 8 bytes for the time of the last write",
			m->name, m->value_size);
	return 0;
}

/* Check a map whose contents each communicator has, equal on all ranks. */
static int check_replicated(const struct nb_map_spec *m, struct nb_err *err)
{
	uint64_t bytes = ((uint64_t)m->value_size + 7) / 8 * 8 * m->max_entries;

	if (m->type != NB_MAP_ARRAY || m->origin != NB_ORIGIN_DEFINED || m->flags ||
	    m->tags != NB_MAPF_REPLICATED)
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"map %s: type %s with map_flags 0x%x and tags 0x%x; a replicated map "
			"is an array without map_flags and other tags",
			m->name, nb_spec_map_type(m->type)->word, m->flags, m->tags);
	if (bytes > NB_MAP_MAX_STATE)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map %s: %llu bytes in each communicator; replicated maps have at "
			       "most %d",
			       m->name, (unsigned long long)bytes, NB_MAP_MAX_STATE);
	return 0;
}

static int check_tags(const struct nb_map_spec *m, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);

	if (m->tags & ~(uint32_t)(NB_MAPF_COHERENT | NB_MAPF_SHARED | NB_MAPF_MERGED |
				  NB_MAPF_HOST | NB_MAPF_REPLICATED))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: tags 0x%x; known: 1 (coherent), 2 (shared), 4 (sum), "
			       "8 (max), 16 (host), 32 (replicated)",
			       m->name, m->tags);
	if (m->tags & NB_MAPF_REPLICATED)
		return check_replicated(m, err);
	if (m->tags & NB_MAPF_HOST)
		return check_host(m, err);
	if (m->tags & NB_MAPF_MERGED && check_merged(m, err))
		return NB_E_MAPDEF;
	if (!(m->tags & NB_MAPF_COHERENT))
		return 0;
	if (t->traits & NB_TRAIT_PERCPU)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a per-CPU map cannot be coherent: "
			       "the value that a program finds depends on the CPU",
			       m->name);
	if (t->traits & NB_TRAIT_LOCAL)
		return nb_fail(err, NB_E_MAPDEF, 0, "map %s: a map of type %s cannot be coherent",
			       m->name, t->word);
	if (m->flags & NB_F_WRONLY_PROG)
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"map %s: programs only read a coherent map; BPF_F_WRONLY_PROG forbids that",
			m->name);
	return 0;
}

/* A data section is an array of one element that programs see as memory. */
static int check_data(const struct nb_map_spec *m, struct nb_err *err)
{
	bool rodata = m->origin == NB_ORIGIN_RODATA;
	uint32_t allowed = m->origin == NB_ORIGIN_DATA ? NB_MAPF_COHERENT : 0;

	if (m->origin == NB_ORIGIN_DEFINED)
		return 0;
	if (m->type != NB_MAP_ARRAY || m->max_entries != 1 || m->tags & ~allowed)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a data section is an array of one element without tags, "
			       "but .data may be coherent; not %u of type %s with tags 0x%x",
			       m->name, m->max_entries, nb_spec_map_type(m->type)->word, m->tags);
	if (m->flags & NB_F_WRONLY_PROG || rodata != !!(m->flags & NB_F_RDONLY_PROG))
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"map %s: map_flags 0x%x: of the data sections, .rodata alone is read-only",
			m->name, m->flags);
	return 0;
}

int nb_map_spec_check(const struct nb_map_spec *m, struct nb_err *err)
{
	static int (*const checks[])(const struct nb_map_spec *, struct nb_err *) = {
		check_def,
		check_limits,
		check_tags,
		check_data,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int rc = checks[i](m, err);

		if (rc)
			return rc;
	}
	return 0;
}
