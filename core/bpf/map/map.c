// SPDX-License-Identifier: MIT
/*
 * Code that all map types share: one block of memory for each map, references,
 * and the management side with its messages. ops.h lists a type's operations.
 */
#include "core/bpf/map/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#include "core/bpf/map/ops.h"
#include "core/bpf/map/seqlock.h"

static void *no_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)m, (void)key, (void)cpu;
	return NULL;
}

static const struct nb_map_ops *ops_of(uint32_t type)
{
	switch (type) {
#define MAPTYPE(name, id, word, ops, keys, traits, flags, doc) \
	case id:                                               \
		return &nb_map_##ops##_ops;
#include "core/defs/maps.h"
	}
	return NULL;
}

/*
 * Large maps use huge pages, which save TLB misses in look-ups. Small maps do
 * not: most of a huge page would be wasted.
 */
enum { HUGE_PAGE = 2 << 20, LARGE = 2 * HUGE_PAGE };

static uint64_t round_to_pages(uint64_t size)
{
	return (size + HUGE_PAGE - 1) & ~(uint64_t)(HUGE_PAGE - 1);
}

int nb_map_plan(uint64_t *size, const struct nb_map_def *def, uint32_t ncpus, struct nb_err *err)
{
	struct nb_map_def d = *def;
	int rc;

	d.name = def->name ? def->name : "";
	rc = nb_map_def_check(&d, err);
	if (rc)
		return rc;
	*size = ops_of(d.type)->size(&d, ncpus);
	if (*size > UINT64_MAX - HUGE_PAGE)
		*size = UINT64_MAX;
	else if (*size < LARGE)
		*size = nb_whole_lines(*size);
	else
		*size = round_to_pages(*size);
	return 0;
}

static void *allocate_pages(size_t size)
{
	void *p;

	if (size < LARGE)
		return aligned_alloc(NB_CACHE_LINE, size);
	p = aligned_alloc(HUGE_PAGE, round_to_pages(size));
	/* A kernel without huge pages refuses this, which does no harm. */
	if (p)
		madvise(p, round_to_pages(size), MADV_HUGEPAGE);
	return p;
}

struct nb_map *nb_map_allocate(const struct nb_map_def *def, size_t size)
{
	const char *name = def->name ? def->name : "";
	const struct nb_map_ops *ops = ops_of(def->type);
	struct nb_map *m = allocate_pages(size);

	if (!m)
		return NULL;
	/* Touch all pages now, so that no program waits for one later. */
	memset(m, 0, size);
	memcpy(m->name, name, strlen(name));
	m->def = *def;
	m->def.name = m->name;
	m->ops = ops;
	m->lookup = ops->lookup ? ops->lookup : no_lookup;
	m->max_entries = def->max_entries;
	m->percpu = nb_spec_map_type(def->type)->traits & NB_TRAIT_PERCPU;
	m->memory = size;
	m->refs = 1;
	if (ops->init)
		ops->init(m);
	return m;
}

int nb_map_new(struct nb_map **out, const struct nb_map_def *def, struct nb_err *err)
{
	const char *name = def->name ? def->name : "";
	uint64_t size = 0;
	int rc = nb_map_plan(&size, def, nb_ncpus(), err);

	*out = NULL;
	if (rc)
		return rc;
	if (size > NB_MAP_MAX_BYTES)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "map \"%s\": %" PRIu32 " entries of %" PRIu32 " + %" PRIu32
			       " bytes are over the limit of %d MiB a map",
			       name, def->max_entries, def->key_size, def->value_size,
			       NB_MAP_MAX_BYTES >> 20);
	*out = nb_map_allocate(def, size);
	return *out ? 0
		    : nb_fail(err, NB_E_NOMEM, 0, "map \"%s\": no memory for %" PRIu64 " bytes",
			      name, size);
}

/* Cast a map that the caller only reads: even readers may have to take a
 * lock. */
static struct nb_map *for_reading(const struct nb_map *m)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return (struct nb_map *)(uintptr_t)m;
}

int nb_map_clone(struct nb_map **out, const struct nb_map *from, struct nb_err *err)
{
	int rc = nb_map_new(out, &from->def, err);
	struct nb_map *m = *out;

	if (!m)
		return rc;
	from->ops->copy(m, for_reading(from));
	m->frozen = from->frozen || from->host;
	m->replicated = from->replicated;
	m->state_off = from->state_off;
	return 0;
}

void nb_map_seed(struct nb_map *m)
{
	struct timespec now;
	uint64_t random;

	if (nb_spec_map_type(m->def.type)->keys != NB_KEYS_BYTES)
		return;
	/* getrandom fails early at boot and in some sandboxes. */
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		random = (uint64_t)now.tv_nsec << 32 ^ (uintptr_t)m;
	}
	nb_hash_seed(m, random);
}

size_t nb_map_replicate(struct nb_map *m, size_t off)
{
	m->replicated = true;
	m->state_off = (uint32_t)off;
	return m->elem_size * m->max_entries;
}

int nb_map_of_state(struct nb_map **out, const struct nb_map *m, unsigned char *state,
		    struct nb_err *err)
{
	struct nb_map *copy = NULL;
	int rc = nb_map_clone(&copy, m, err);

	*out = copy;
	for (uint32_t i = 0; copy && !rc && i < m->max_entries; i++)
		nb_slot_copy(nb_map_state(copy, i, NULL), nb_map_state(m, i, state), m->elem_size);
	return rc;
}

struct nb_map *nb_map_get(struct nb_map *m)
{
	if (!m)
		return NULL;
	__atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
	return m;
}

void nb_map_put(struct nb_map *m)
{
	if (m && __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		nb_map_host_unmap(m);
		free(m);
	}
}

const struct nb_map_def *nb_map_definition(const struct nb_map *m)
{
	return &m->def;
}

uint32_t nb_map_count(const struct nb_map *m)
{
	return m->ops->count ? m->ops->count(for_reading(m)) : m->max_entries;
}

size_t nb_map_memory(const struct nb_map *m)
{
	return m->memory;
}

void *nb_map_array_base(struct nb_map *m)
{
	return m->def.type == NB_MAP_ARRAY ? m->base : NULL;
}

size_t nb_map_user_value_size(const struct nb_map *m)
{
	if (!m->percpu)
		return m->def.value_size;
	return nb_round8(m->def.value_size) * nb_ncpus();
}

/* Name a key as "index 7" or "key 0011...": the first sixteen bytes in
 * memory order. */
static void name_key(char text[64], const struct nb_map *m, const void *key)
{
	unsigned keys = nb_spec_map_type(m->def.type)->keys;
	const unsigned char *p = key;
	size_t n = m->def.key_size < 16 ? m->def.key_size : 16;
	int at;

	if (keys == NB_KEYS_INDEX) {
		snprintf(text, 64, "index %" PRIu32, nb_array_index(key));
		return;
	}
	at = snprintf(text, 64, "key ");
	for (size_t i = 0; i < n; i++)
		at += snprintf(text + at, 64 - (size_t)at, "%02x", p[i]);
	if (n < m->def.key_size)
		snprintf(text + at, 64 - (size_t)at, "...");
}

/* Turn the negative errno @rc of an operation into an error with a message. */
static int map_fail(const struct nb_map *m, const void *key, uint64_t flags, int rc,
		    struct nb_err *err)
{
	const struct nb_map_type_spec *type = nb_spec_map_type(m->def.type);
	char k[64];

	if (rc == -NB_ENOTSUPP || rc == -EOPNOTSUPP)
		return nb_fail(err, NB_E_NOTSUP, 0, "map \"%s\": type %s lacks this operation",
			       m->name, type->word);
	name_key(k, m, key);
	switch (rc) {
	case -ENOENT:
		return nb_fail(err, NB_E_NOKEY, 0, "map \"%s\" has no %s", m->name, k);
	case -EEXIST:
		return nb_fail(err, NB_E_EXISTS, 0, "map \"%s\" has %s already", m->name, k);
	case -ENOSPC:
		return nb_fail(err, NB_E_FULL, 0,
			       "map \"%s\": no room for %s: %d keys share its bucket, "
			       "the limit is %d; delete one of them or raise max_entries",
			       m->name, k, NB_MAP_CHAIN_MAX, NB_MAP_CHAIN_MAX);
	case -E2BIG:
		if (type->keys == NB_KEYS_INDEX)
			return nb_fail(err, NB_E_BIG, 0, "map \"%s\": %s; the last is %" PRIu32,
				       m->name, k, m->max_entries - 1);
		return nb_fail(err, NB_E_FULL, 0,
			       "map \"%s\": no room for %s: all %" PRIu32 " entries are in use",
			       m->name, k, m->max_entries);
	case -EBUSY:
		return nb_fail(err, NB_E_BUSY, 0, "map \"%s\": %s stays busy; try again", m->name,
			       k);
	case -EINVAL:
		return nb_fail(err, NB_E_FLAGS, 0,
			       "map \"%s\": flags %#" PRIx64
			       "; 0 (any), 1 (no such key yet) or 2 (key must exist)",
			       m->name, flags);
	}
	return nb_fail(err, NB_E_BUG, 0, "map \"%s\": %s: unexpected answer %d", m->name, k, rc);
}

int nb_map_read(const struct nb_map *m, const void *key, void *value, struct nb_err *err)
{
	int rc = m->ops->read ? m->ops->read(for_reading(m), key, value) : nb_map_lacks(m);

	return rc ? map_fail(m, key, 0, rc, err) : 0;
}

void nb_map_freeze(struct nb_map *m)
{
	m->frozen = true;
}

static bool map_is_fixed(const struct nb_map *m)
{
	return m->frozen || m->host;
}

static int refuse_fixed(const struct nb_map *m, struct nb_err *err)
{
	if (m->host)
		return nb_fail(err, NB_E_READONLY, 0,
			       "map \"%s\" is a host map: only its writer on the host changes it",
			       m->name);
	return nb_fail(err, NB_E_READONLY, 0, "map \"%s\" is frozen: its contents never change",
		       m->name);
}

int nb_map_write(struct nb_map *m, const void *key, const void *value, uint64_t flags,
		 struct nb_err *err)
{
	int rc, times = 0;

	if (map_is_fixed(m))
		return refuse_fixed(m, err);
	do
		rc = nb_map_update(m, key, value, flags, NB_ALL_CPUS);
	while (rc == -EBUSY && nb_seq_sleep_again(&times));
	return rc ? map_fail(m, key, flags, rc, err) : 0;
}

/* Store @size bytes in one access. @to is a multiple of @size, which is 1,
 * 2, 4 or 8. */
static void store_whole(unsigned char *to, const unsigned char *from, uint32_t size)
{
	uint64_t w = 0;

	memcpy(&w, from, size); /* This assumes a little-endian host. */
	switch (size) {
	case 8:
		__atomic_store_n((uint64_t *)(void *)to, w, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)(void *)to, (uint32_t)w, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)(void *)to, (uint16_t)w, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n(to, (unsigned char)w, __ATOMIC_RELEASE);
	}
}

int nb_map_write_part(struct nb_map *m, const void *key, uint32_t at, uint32_t size,
		      const void *bytes, struct nb_err *err)
{
	uint64_t end = (uint64_t)at + size;
	unsigned char *to;
	uint32_t step;

	if (map_is_fixed(m))
		return refuse_fixed(m, err);
	if (m->def.type != NB_MAP_ARRAY)
		return map_fail(m, NULL, 0, -EOPNOTSUPP, err);
	to = nb_map_lookup(m, key, 0);
	if (!to)
		return map_fail(m, key, 0, -E2BIG, err);
	if (!size || end > m->def.value_size)
		return nb_fail(err, NB_E_ARG, 0,
			       "map \"%s\": bytes %" PRIu32 " to %" PRIu64 " of a value of %" PRIu32
			       " bytes",
			       m->name, at, end, m->def.value_size);
	step = size <= 8 && !(size & (size - 1)) && !(at % size) ? size : 1;
	for (uint32_t i = 0; i < size; i += step)
		store_whole(to + at + i, (const unsigned char *)bytes + i, step);
	return 0;
}

int nb_map_erase(struct nb_map *m, const void *key, struct nb_err *err)
{
	const struct nb_map_type_spec *spec = nb_spec_map_type(m->def.type);
	int rc, times = 0;

	if (map_is_fixed(m))
		return refuse_fixed(m, err);
	do
		rc = nb_map_delete(m, key);
	while (rc == -EBUSY && nb_seq_sleep_again(&times));
	if (rc == -EINVAL && spec->keys == NB_KEYS_INDEX)
		return nb_fail(
			err, NB_E_FLAGS, 0,
			"map \"%s\": elements of an array cannot be deleted; write zeros instead",
			m->name);
	return rc ? map_fail(m, key, 0, rc, err) : 0;
}

int nb_map_next(const struct nb_map *m, const void *key, void *next)
{
	return !m->ops->next || m->ops->next(for_reading(m), key, next) ? NB_E_NOKEY : 0;
}
