// SPDX-License-Identifier: MIT
/*
 * Check map definitions: the kernel's rules for each type, stated once.
 * Images, the loader and nb_map_new all use this check. Sources:
 * map_alloc_check and map_alloc of each type in kernel/bpf.
 */
#include "core/bpf/map/def.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/spec/spec.h"

enum {
	KMALLOC_MAX = 4 << 20, /* KMALLOC_MAX_SIZE of the kernel */
	/* A hash element: its key and value, and a header. */
	ELEM_MAX = KMALLOC_MAX - 64,
	PERCPU_MAX = 32 << 10, /* PCPU_MIN_UNIT_SIZE of the kernel */
	RING_MIN = 4096	       /* The size of one page */
};

/* Types of Linux for which policies use another one. */
static const struct {
	uint32_t id;
	const char *word, *instead;
} replaced[] = {
	{ 3, "prog_array", "static functions, or several policies on a hook" },
	{ 5, "percpu_hash",
	  "a percpu_array, or a hash whose values programs change by atomic additions" },
	{ 10, "lru_percpu_hash", "an lru_hash whose values programs change by atomic additions" },
	{ 11, "lpm_trie",
	  "a hash whose key has the prefix and its length, and look up each length" },
	{ 12, "array_of_maps", "one array, with an index made of both indices" },
	{ 13, "hash_of_maps", "one hash, with a key made of both keys" },
	{ 22, "queue", "a ringbuf" },
	{ 23, "stack", "an array with an index" },
	{ 30, "bloom_filter", "a hash" },
};

static int def_type(const struct nb_map_def *d, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(d->type);
	char known[320] = "";
	size_t n, used = 0;

	if (t)
		return 0;
	for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		if (replaced[i].id == d->type)
			return nb_fail(err, NB_E_MAPDEF, 0,
				       "map %s: type %s is not supported: use %s", d->name,
				       replaced[i].word, replaced[i].instead);
	t = nb_spec_map_types(&n);
	for (size_t i = 0; i < n && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s (%u)",
					 i ? ", " : "", t[i].word, t[i].id);
	return nb_fail(err, NB_E_MAPDEF, 0, "map %s: type %u is not supported; known: %s", d->name,
		       d->type, known);
}

static int def_name(const struct nb_map_def *d, struct nb_err *err)
{
	size_t n = strlen(d->name);

	if (n < NB_MAP_NAME)
		return 0;
	return nb_fail(err, NB_E_MAPDEF, 0, "map %.40s...: name of %zu bytes; at most %d", d->name,
		       n, NB_MAP_NAME - 1);
}

static int def_flags(const struct nb_map_def *d, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(d->type);
	const uint32_t both = NB_F_RDONLY_PROG | NB_F_WRONLY_PROG;

	if (d->flags & ~t->flags)
		return nb_fail(err, NB_E_MAPDEF, 0, "map %s: map_flags 0x%x; type %s allows 0x%x",
			       d->name, d->flags, t->word, t->flags);
	if ((d->flags & both) == both)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: map_flags 0x%x: "
			       "BPF_F_RDONLY_PROG and BPF_F_WRONLY_PROG exclude each other",
			       d->name, d->flags);
	return 0;
}

static int def_entries(const struct nb_map_def *d, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(d->type);

	if (!d->max_entries)
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: max_entries is 0; type %s needs 1 or more", d->name,
			       t->word);
	if (t->keys == NB_KEYS_RING &&
	    (d->max_entries < RING_MIN || d->max_entries & (d->max_entries - 1)))
		return nb_fail(err, NB_E_MAPDEF, 0,
			       "map %s: max_entries %u; "
			       "a ring buffer's size in bytes is a power of two, %d or more",
			       d->name, d->max_entries, RING_MIN);
	return 0;
}

/* Check that a size in bytes is between @least and @most. */
static int def_size(const struct nb_map_def *d, const char *what, uint32_t size, uint64_t least,
		    uint64_t most, struct nb_err *err)
{
	if (size >= least && size <= most)
		return 0;
	return nb_fail(err, NB_E_MAPDEF, 0,
		       "map %s: %s of %u bytes; type %s takes %" PRIu64 " to %" PRIu64, d->name,
		       what, size, nb_spec_map_type(d->type)->word, least, most);
}

static int def_key(const struct nb_map_def *d, struct nb_err *err)
{
	switch (nb_spec_map_type(d->type)->keys) {
	case NB_KEYS_INDEX:
		return def_size(d, "key", d->key_size, 4, 4, err);
	case NB_KEYS_BYTES:
		return def_size(d, "key", d->key_size, 1, ELEM_MAX - 2, err);
	case NB_KEYS_RING:
		break;
	}
	return def_size(d, "key", d->key_size, 0, 0, err);
}

static int def_value(const struct nb_map_def *d, struct nb_err *err)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(d->type);
	uint64_t least = 1, most = 0;

	switch (t->keys) {
	case NB_KEYS_INDEX:
		most = INT_MAX;
		break;
	case NB_KEYS_BYTES:
		most = ELEM_MAX - 1 - d->key_size;
		break;
	case NB_KEYS_RING:
		least = most = 0;
		break;
	}
	if (t->traits & NB_TRAIT_PERCPU && most > PERCPU_MAX)
		most = PERCPU_MAX;
	return def_size(d, "value", d->value_size, least, most, err);
}

int nb_map_def_check(const struct nb_map_def *def, struct nb_err *err)
{
	static int (*const checks[])(const struct nb_map_def *,
				     struct nb_err *) = { def_type,    def_name, def_flags,
							  def_entries, def_key,	 def_value };
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(checks) / sizeof(checks[0]); i++)
		rc = checks[i](def, err);
	return rc;
}
