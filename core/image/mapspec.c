// SPDX-License-Identifier: MIT
// Whether a map definition can be had: the kernel's rules for each type
// (map_alloc_check of array, per-CPU array and hash), then ours: sizes, tags
// and what a data section must look like. Every refusal names the map.
#include <stdio.h>

#include "core/image/image.h"
#include "core/map/map.h"

/* A value of a per-CPU map lies in one unit of the per-CPU allocator. */
enum { PERCPU_MAX_VALUE = 32 << 10 };

static int check_type(const struct nb_map_spec *m, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);
	char known[320] = "";
	size_t n, used = 0;

	if (t)
		return 0;
	t = nb_spec_map_types(&n);
	for (size_t i = 0; i < n && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used,
					 "%s%s (%u)", i ? ", " : "", t[i].word,
					 t[i].id);
	return nb_fail(err, NB_E_MAPDEF, 0,
		       "map %s: type %u is not supported; known: %s", m->name,
		       m->type, known);
}

static int check_flags(const struct nb_map_spec *m, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);
	const uint32_t both = NB_F_RDONLY_PROG | NB_F_WRONLY_PROG;

	if (m->flags & ~t->flags)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: map_flags 0x%x: a map of type %s takes "
			       "only 0x%x",
			       m->name, m->flags, t->word, t->flags);
	if ((m->flags & both) == both)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: map_flags 0x%x: BPF_F_RDONLY_PROG and "
			       "BPF_F_WRONLY_PROG exclude each other",
			       m->name, m->flags);
	return 0;
}

/* Kernel: ringbuf_map_alloc; its page is taken to be of 4096 bytes. */
static int check_ring(const struct nb_map_spec *m, struct nb_err *err)
{
	if (m->key_size || m->value_size)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: key of %u and value of %u bytes; a "
			       "ring buffer has neither",
			       m->name, m->key_size, m->value_size);
	if (m->max_entries < 4096 || m->max_entries & (m->max_entries - 1))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: max_entries %u is the ring buffer's "
			       "size in bytes: a power of two, 4096 or more",
			       m->name, m->max_entries);
	if (m->max_entries > NB_MAP_MAX_BYTES / 4)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map %s: a ring buffer of %u bytes; at most %d",
			       m->name, m->max_entries, NB_MAP_MAX_BYTES / 4);
	return 0;
}

/* Kernel: trie_alloc. */
static int check_prefix(const struct nb_map_spec *m, struct nb_err *err)
{
	if (m->key_size < 5 || m->key_size > 260)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: key of %u bytes; a number of bits in 4 "
			       "bytes and 1 to 256 bytes of them",
			       m->name, m->key_size);
	if (!m->value_size)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: value of 0 bytes; 1 or more are needed",
			       m->name);
	if (!(m->flags & NB_F_NO_PREALLOC))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: map_flags lack BPF_F_NO_PREALLOC (1), "
			       "which type lpm_trie demands",
			       m->name);
	return 0;
}

static int check_sizes(const struct nb_map_spec *m, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);
	const char *type = t->word;

	if (!m->max_entries)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: max_entries is 0; a map of type %s "
			       "needs 1 or more",
			       m->name, type);
	if (t->keys == NB_KEYS_RING)
		return check_ring(m, err);
	if (t->keys == NB_KEYS_INDEX && m->key_size != 4)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: key of %u bytes; the key of type %s is "
			       "an index of 4 bytes",
			       m->name, m->key_size, type);
	if (t->traits & (NB_TRAIT_PROGS | NB_TRAIT_MAPS) && m->value_size != 4)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: value of %u bytes; the value of type "
			       "%s is the number of a %s, 4 bytes",
			       m->name, m->value_size, type,
			       t->traits & NB_TRAIT_MAPS ? "map" : "program");
	if (t->keys == NB_KEYS_PREFIX)
		return check_prefix(m, err);
	if (t->keys == NB_KEYS_NONE && m->key_size)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: key of %u bytes; the values of type %s "
			       "have no keys",
			       m->name, m->key_size, type);
	if ((!m->key_size && t->keys != NB_KEYS_NONE) || !m->value_size)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: %s of 0 bytes; 1 or more are needed",
			       m->name, m->value_size ? "key" : "value");
	return 0;
}

static int check_limits(const struct nb_map_spec *m, struct nb_err *err)
{
	bool percpu = nb_spec_map_type(m->type)->traits & NB_TRAIT_PERCPU;
	uint32_t most = percpu				? PERCPU_MAX_VALUE
			: m->origin == NB_ORIGIN_RODATA ? NB_IMAGE_MAX_DATA
							: NB_IMAGE_MAX_VALUE;
	uint64_t total =
		((uint64_t)m->key_size + m->value_size) * m->max_entries;

	if (m->key_size > NB_IMAGE_MAX_KEY)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map %s: key of %u bytes; at most %d", m->name,
			       m->key_size, NB_IMAGE_MAX_KEY);
	if (m->value_size > most)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map %s: value of %u bytes; at most %u", m->name,
			       m->value_size, most);
	if (total > NB_MAP_MAX_BYTES)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map %s: %u elements of %u + %u bytes are over "
			       "the limit of %d bytes",
			       m->name, m->max_entries, m->key_size,
			       m->value_size, NB_MAP_MAX_BYTES);
	return 0;
}

/* What controllers see of all processes together. */
static int check_merged(const struct nb_map_spec *m, struct nb_err *err)
{
	static const uint32_t types =
		1u << NB_MAP_HASH | 1u << NB_MAP_ARRAY |
		1u << NB_MAP_PERCPU_HASH | 1u << NB_MAP_PERCPU_ARRAY |
		1u << NB_MAP_LRU_HASH | 1u << NB_MAP_LRU_PERCPU_HASH;

	if ((m->tags & NB_MAPF_MERGED) == NB_MAPF_MERGED)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: merged by sum and by max: one of them",
			       m->name);
	if (m->tags & NB_MAPF_COHERENT)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a coherent map is equal in all "
			       "processes: there is nothing to merge",
			       m->name);
	if (!(types >> m->type & 1) || m->origin != NB_ORIGIN_DEFINED ||
	    m->lock)
		return nb_fail(
			err, NB_E_MAPDEF, 0,
			"map %s: only hashes and arrays, without a lock, "
			"are merged",
			m->name);
	if (m->value_size % 8)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: values of %u bytes are merged 8 bytes "
			       "after the other: a multiple of 8",
			       m->name, m->value_size);
	return 0;
}

static int check_tags(const struct nb_map_spec *m, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(m->type);

	if (m->tags &
	    ~(uint32_t)(NB_MAPF_COHERENT | NB_MAPF_SHARED | NB_MAPF_MERGED))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: tags 0x%x; known: 1 (coherent), "
			       "2 (shared), 4 (sum), 8 (max)",
			       m->name, m->tags);
	if (m->tags & NB_MAPF_MERGED && check_merged(m, err))
		return NB_E_MAPDEF;
	if (m->tags & NB_MAPF_SHARED &&
	    t->traits & (NB_TRAIT_PROGS | NB_TRAIT_MAPS))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a map of type %s cannot be shared: its "
			       "values are numbers of one policy",
			       m->name, t->word);
	if (!(m->tags & NB_MAPF_COHERENT))
		return 0;
	if (t->traits & NB_TRAIT_PERCPU)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a per-CPU map cannot be coherent: what "
			       "it answers depends on the CPU",
			       m->name);
	if (t->traits & NB_TRAIT_LOCAL)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a map of type %s cannot be coherent",
			       m->name, t->word);
	if (m->flags & NB_F_WRONLY_PROG)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: programs only read a coherent map; "
			       "BPF_F_WRONLY_PROG forbids that",
			       m->name);
	return 0;
}

/* A data section is an array of one element that programs see as memory. */
static int check_data(const struct nb_map_spec *m, struct nb_err *err)
{
	bool rodata = m->origin == NB_ORIGIN_RODATA;

	if (m->origin == NB_ORIGIN_DEFINED || m->origin == NB_ORIGIN_INNER)
		return 0;
	if (m->type != NB_MAP_ARRAY || m->max_entries != 1 || m->tags)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a data section is an untagged array of "
			       "one element, not %u of type %s with tags 0x%x",
			       m->name, m->max_entries,
			       nb_spec_map_type(m->type)->word, m->tags);
	if (m->flags & NB_F_WRONLY_PROG ||
	    rodata != !!(m->flags & NB_F_RDONLY_PROG))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: map_flags 0x%x: of the data sections, "
			       ".rodata alone is read-only",
			       m->name, m->flags);
	return 0;
}

bool nb_image_may_hold(const struct nb_image *img, uint32_t outer, uint32_t i)
{
	const struct nb_map_spec *in = &img->maps[img->maps[outer].inner - 1];
	const struct nb_map_spec *m = &img->maps[i];

	/* Controllers see a merged map by its own name alone. */
	return m->origin == NB_ORIGIN_DEFINED && !(m->tags & NB_MAPF_MERGED) &&
	       m->type == in->type && m->key_size == in->key_size &&
	       m->value_size == in->value_size && m->flags == in->flags &&
	       m->lock == in->lock &&
	       (m->max_entries == in->max_entries || m->type != NB_MAP_ARRAY) &&
	       ((m->tags ^ in->tags) & NB_MAPF_COHERENT) == 0;
}

/* Kernel: map_check_btf; a lock is one of an element that stays in place. */
static int check_lock(const struct nb_map_spec *m, struct nb_err *err)
{
	const uint32_t fixed = NB_F_RDONLY_PROG | NB_F_WRONLY_PROG;

	if (!m->lock)
		return 0;
	if (m->type != NB_MAP_HASH && m->type != NB_MAP_ARRAY)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a struct bpf_spin_lock in values of "
			       "type %s; only hash and array have locks",
			       m->name, nb_spec_map_type(m->type)->word);
	if (m->flags & fixed || m->tags & NB_MAPF_COHERENT)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a struct bpf_spin_lock in values that "
			       "programs only read or only write",
			       m->name);
	if ((m->lock - 1) % 4 || m->value_size < 4 ||
	    m->lock - 1 > m->value_size - 4)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: a lock at offset %u of a value of %u "
			       "bytes; it takes 4 bytes at a multiple of 4",
			       m->name, m->lock - 1, m->value_size);
	return 0;
}

int nb_map_spec_check(const struct nb_map_spec *m, struct nb_err *err)
{
	static int (*const checks[])(const struct nb_map_spec *,
				     struct nb_err *) = {
		check_type, check_flags, check_sizes, check_limits,
		check_tags, check_data,	 check_lock,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int rc = checks[i](m, err);

		if (rc)
			return rc;
	}
	return 0;
}
