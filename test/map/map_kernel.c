// SPDX-License-Identifier: MIT
// Our maps against the running kernel's: the same random sequences through
// the management calls and through bpf(2), and the same definitions offered
// to both. TAP; everything is skipped where bpf() is not permitted.
#include "test/map/sequence.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ntests, nfailed;

static void ok(bool good, const char *name, const char *why)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++ntests, name);
	if (!good) {
		nfailed++;
		printf("# %s\n", why);
	}
}

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static int kernel_map(const struct nb_map_def *def)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = def->type;
	a.key_size = def->key_size;
	a.value_size = def->value_size;
	a.max_entries = def->max_entries;
	a.map_flags = def->flags;
	return bpf(BPF_MAP_CREATE, &a);
}

static int element(enum bpf_cmd cmd, void *self, const void *key,
		   const void *value, uint64_t flags)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_fd = (uint32_t) * (int *)self;
	a.key = (uintptr_t)key;
	a.value = (uintptr_t)value; /* next_key shares its place */
	a.flags = flags;
	return bpf(cmd, &a);
}

static int kernel_lookup(void *self, const void *key, void *value)
{
	return element(BPF_MAP_LOOKUP_ELEM, self, key, value, 0);
}

static int kernel_update(void *self, const void *key, const void *value,
			 uint64_t flags)
{
	return element(BPF_MAP_UPDATE_ELEM, self, key, value, flags);
}

static int kernel_remove(void *self, const void *key)
{
	return element(BPF_MAP_DELETE_ELEM, self, key, NULL, 0);
}

/* Types without keys: the kernel wants no address of a key. */
static int value_lookup(void *self, const void *key, void *value)
{
	(void)key;
	return element(BPF_MAP_LOOKUP_ELEM, self, NULL, value, 0);
}

static int value_update(void *self, const void *key, const void *value,
			uint64_t flags)
{
	(void)key;
	return element(BPF_MAP_UPDATE_ELEM, self, NULL, value, flags);
}

static int value_remove(void *self, const void *key)
{
	(void)key;
	return element(BPF_MAP_DELETE_ELEM, self, NULL, NULL, 0);
}

static int value_take(void *self, void *value)
{
	return element(BPF_MAP_LOOKUP_AND_DELETE_ELEM, self, NULL, value, 0);
}

static int kernel_next(void *self, const void *key, void *next)
{
	return element(BPF_MAP_GET_NEXT_KEY, self, key, next, 0);
}

/* One sequence on fresh maps; 0, or -1 and why. */
static int compare(const struct shape *shape, uint64_t seed, int steps,
		   char *why, size_t size)
{
	struct side ours,
		theirs = { "kernel",	  NULL,		 kernel_lookup,
			   kernel_update, kernel_remove, kernel_next,
			   value_take };
	int fd = kernel_map(&shape->def), rc = -1;
	struct nb_err err;
	struct nb_map *m;

	if (shape_keys(&shape->def) == NB_KEYS_NONE) {
		theirs.lookup = value_lookup;
		theirs.update = value_update;
		theirs.remove = value_remove;
	}
	if (fd < 0) {
		snprintf(why, size, "kernel refuses the map: %s",
			 strerror(-fd));
	} else if (nb_map_new(&m, &shape->def, &err)) {
		snprintf(why, size, "we refuse the map: %s", err.text);
	} else {
		theirs.self = &fd;
		side_manage(&ours, m);
		rc = sequence_run(shape, seed, steps, &ours, &theirs, why,
				  size);
		nb_map_put(m);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

/* One long sequence, and @n short ones that each begin with an empty map. */
static void sequence(const struct shape *shape, uint64_t seed, int steps, int n)
{
	char name[128], why[512] = "";
	int rc = compare(shape, seed, steps, why, sizeof(why));

	snprintf(name, sizeof(name), "%s: %d steps as the kernel", shape->name,
		 steps);
	ok(rc == 0, name, why);
	for (int i = rc = 0; !rc && i < n; i++) {
		uint64_t of = seed * 1000003 + (uint64_t)i + 1;
		int few = 1 + (int)(sequence_random(&of) >> 33) % 40;

		rc = compare(shape, of, few, why, sizeof(why));
	}
	snprintf(name, sizeof(name), "%s: %d short sequences as the kernel",
		 shape->name, n);
	ok(rc == 0, name, why);
}

/* Do we take and refuse the definitions that the kernel takes and refuses? */
static const struct nb_map_def offers[] = {
	{ "good", NB_MAP_ARRAY, 4, 8, 1, 0 },
	{ "no entries", NB_MAP_ARRAY, 4, 8, 0, 0 },
	{ "no value", NB_MAP_ARRAY, 4, 0, 1, 0 },
	{ "key of 8", NB_MAP_ARRAY, 8, 8, 1, 0 },
	{ "key of 0", NB_MAP_ARRAY, 0, 8, 1, 0 },
	{ "NO_PREALLOC", NB_MAP_ARRAY, 4, 8, 1, NB_F_NO_PREALLOC },
	{ "MMAPABLE", NB_MAP_ARRAY, 4, 8, 1, NB_F_MMAPABLE },
	{ "RDONLY_PROG", NB_MAP_ARRAY, 4, 8, 1, NB_F_RDONLY_PROG },
	{ "both", NB_MAP_ARRAY, 4, 8, 1, NB_F_RDONLY_PROG | NB_F_WRONLY_PROG },
	{ "unknown flag", NB_MAP_ARRAY, 4, 8, 1, 1u << 30 },
	{ "value over INT_MAX", NB_MAP_ARRAY, 4, 1u << 31, 1, 0 },
	{ "good", NB_MAP_PERCPU_ARRAY, 4, 8, 1, 0 },
	{ "32 KiB", NB_MAP_PERCPU_ARRAY, 4, 32 << 10, 1, 0 },
	{ "over 32 KiB", NB_MAP_PERCPU_ARRAY, 4, (32 << 10) + 1, 1, 0 },
	{ "MMAPABLE", NB_MAP_PERCPU_ARRAY, 4, 8, 1, NB_F_MMAPABLE },
	{ "key of 2", NB_MAP_PERCPU_ARRAY, 2, 8, 1, 0 },
	{ "no entries", NB_MAP_PERCPU_ARRAY, 4, 8, 0, 0 },
	{ "good", NB_MAP_HASH, 8, 8, 1, 0 },
	{ "no key", NB_MAP_HASH, 0, 8, 1, 0 },
	{ "no value", NB_MAP_HASH, 8, 0, 1, 0 },
	{ "no entries", NB_MAP_HASH, 8, 8, 0, 0 },
	{ "NO_PREALLOC", NB_MAP_HASH, 8, 8, 1, NB_F_NO_PREALLOC },
	{ "MMAPABLE", NB_MAP_HASH, 8, 8, 1, NB_F_MMAPABLE },
	{ "both", NB_MAP_HASH, 8, 8, 1, NB_F_RDONLY_PROG | NB_F_WRONLY_PROG },
	{ "over 4 MiB", NB_MAP_HASH, 8, 4 << 20, 1, 0 },
	{ "key over 4 MiB", NB_MAP_HASH, 5 << 20, 8, 1, 0 },
	{ "sizes wrap", NB_MAP_HASH, UINT32_MAX, 8, 1, 0 },
	{ "NO_COMMON_LRU", NB_MAP_HASH, 8, 8, 1, NB_F_NO_COMMON_LRU },
	{ "good", NB_MAP_PERCPU_HASH, 8, 8, 1, 0 },
	{ "no key", NB_MAP_PERCPU_HASH, 0, 8, 1, 0 },
	{ "32 KiB", NB_MAP_PERCPU_HASH, 8, 32 << 10, 1, 0 },
	{ "over 32 KiB", NB_MAP_PERCPU_HASH, 8, (32 << 10) + 1, 1, 0 },
	{ "NO_PREALLOC", NB_MAP_PERCPU_HASH, 8, 8, 1, NB_F_NO_PREALLOC },
	{ "good", NB_MAP_LRU_HASH, 8, 8, 64, 0 },
	{ "NO_COMMON_LRU", NB_MAP_LRU_HASH, 8, 8, 64, NB_F_NO_COMMON_LRU },
	{ "NO_PREALLOC", NB_MAP_LRU_HASH, 8, 8, 64, NB_F_NO_PREALLOC },
	{ "MMAPABLE", NB_MAP_LRU_HASH, 8, 8, 64, NB_F_MMAPABLE },
	{ "good", NB_MAP_LRU_PERCPU_HASH, 8, 8, 64, 0 },
	{ "over 32 KiB", NB_MAP_LRU_PERCPU_HASH, 8, (32 << 10) + 1, 64, 0 },
	{ "NO_PREALLOC", NB_MAP_LRU_PERCPU_HASH, 8, 8, 64, NB_F_NO_PREALLOC },
	{ "good", NB_MAP_LPM_TRIE, 8, 8, 3, NB_F_NO_PREALLOC },
	{ "preallocated", NB_MAP_LPM_TRIE, 8, 8, 3, 0 },
	{ "key of 4", NB_MAP_LPM_TRIE, 4, 8, 3, NB_F_NO_PREALLOC },
	{ "key of 5", NB_MAP_LPM_TRIE, 5, 8, 3, NB_F_NO_PREALLOC },
	{ "key of 260", NB_MAP_LPM_TRIE, 260, 8, 3, NB_F_NO_PREALLOC },
	{ "key of 261", NB_MAP_LPM_TRIE, 261, 8, 3, NB_F_NO_PREALLOC },
	{ "no value", NB_MAP_LPM_TRIE, 8, 0, 3, NB_F_NO_PREALLOC },
	{ "no entries", NB_MAP_LPM_TRIE, 8, 8, 0, NB_F_NO_PREALLOC },
	{ "RDONLY_PROG", NB_MAP_LPM_TRIE, 8, 8, 3,
	  NB_F_NO_PREALLOC | NB_F_RDONLY_PROG },
	{ "good", NB_MAP_PROG_ARRAY, 4, 4, 8, 0 },
	{ "key of 8", NB_MAP_PROG_ARRAY, 8, 4, 8, 0 },
	{ "value of 8", NB_MAP_PROG_ARRAY, 4, 8, 8, 0 },
	{ "RDONLY_PROG", NB_MAP_PROG_ARRAY, 4, 4, 8, NB_F_RDONLY_PROG },
	{ "good", NB_MAP_RINGBUF, 0, 0, 4096, 0 },
	{ "key", NB_MAP_RINGBUF, 4, 0, 4096, 0 },
	{ "value", NB_MAP_RINGBUF, 0, 4, 4096, 0 },
	{ "half a page", NB_MAP_RINGBUF, 0, 0, 2048, 0 },
	{ "three pages", NB_MAP_RINGBUF, 0, 0, 12288, 0 },
	{ "no size", NB_MAP_RINGBUF, 0, 0, 0, 0 },
	{ "RDONLY_PROG", NB_MAP_RINGBUF, 0, 0, 4096, NB_F_RDONLY_PROG },
	{ "good", NB_MAP_QUEUE, 0, 8, 3, 0 },
	{ "key", NB_MAP_QUEUE, 4, 8, 3, 0 },
	{ "no value", NB_MAP_QUEUE, 0, 0, 3, 0 },
	{ "no entries", NB_MAP_QUEUE, 0, 8, 0, 0 },
	{ "NO_PREALLOC", NB_MAP_QUEUE, 0, 8, 3, NB_F_NO_PREALLOC },
	{ "RDONLY_PROG", NB_MAP_QUEUE, 0, 8, 3, NB_F_RDONLY_PROG },
	{ "over 4 MiB", NB_MAP_QUEUE, 0, (4 << 20) + 1, 3, 0 },
	{ "good", NB_MAP_STACK, 0, 8, 3, 0 },
	{ "key", NB_MAP_STACK, 4, 8, 3, 0 },
	{ "good", NB_MAP_BLOOM_FILTER, 0, 8, 3, 0 },
	{ "key", NB_MAP_BLOOM_FILTER, 4, 8, 3, 0 },
	{ "no value", NB_MAP_BLOOM_FILTER, 0, 0, 3, 0 },
	{ "no entries", NB_MAP_BLOOM_FILTER, 0, 8, 0, 0 },
	{ "NO_PREALLOC", NB_MAP_BLOOM_FILTER, 0, 8, 3, NB_F_NO_PREALLOC },
	{ "RDONLY_PROG", NB_MAP_BLOOM_FILTER, 0, 8, 3, NB_F_RDONLY_PROG },
};

static void offer(const struct nb_map_def *def)
{
	struct nb_err err = { .text = "taken" };
	struct nb_map *m;
	char name[128], why[600];
	int fd = kernel_map(def), rc = nb_map_new(&m, def, &err);

	snprintf(name, sizeof(name), "definition as the kernel: %s, %s",
		 nb_spec_map_type(def->type)->word, def->name);
	snprintf(why, sizeof(why), "kernel: %s; ours: %s",
		 fd < 0 ? strerror(-fd) : "taken", err.text);
	ok((fd < 0) == (rc == NB_E_MAPDEF), name, why);
	if (fd >= 0)
		close(fd);
	nb_map_put(m);
}

/*
 * Bloom filters: what was added is found, flags and the operations that do not
 * exist are answered alike. Which values are found by mistake differs (the
 * hash functions do); that it is few is checked for both.
 */
static void bloom(uint64_t seed, int steps)
{
	const struct nb_map_def def = {
		"b", NB_MAP_BLOOM_FILTER, 0, 12, 500, 0
	};
	uint64_t v[2] = { 0 }, wrong[2] = { 0, 0 }, asked = 0;
	int fd = kernel_map(&def), rc = fd < 0 ? -1 : 0;
	struct side ours;
	struct nb_map *m;
	char why[160] = "";

	if (rc || nb_map_new(&m, &def, NULL)) {
		ok(false, "bloom filter as the kernel", "no map");
		return;
	}
	side_manage(&ours, m);
	for (int i = 0; i < steps && !rc; i++) {
		uint64_t flags =
			sequence_random(&seed) % 8 ? 0 : (uint64_t)i % 4;
		bool add = i < 500 && i % 2;
		int a, b;

		v[0] = (uint64_t)i / (add ? 1u : 2u); /* half of them added */
		v[1] = v[0] * 7 & 0xffffffff;
		if (add) {
			a = ours.update(m, NULL, v, flags);
			b = value_update(&fd, NULL, v, flags);
			if (!a) {
				a = ours.lookup(m, NULL, v);
				b = value_lookup(&fd, NULL, v);
			}
			rc = a != b;
		} else if (i >= 500) {
			v[0] = sequence_random(&seed) | 1ull << 63;
			asked++;
			wrong[0] += !ours.lookup(m, NULL, v);
			wrong[1] += !value_lookup(&fd, NULL, v);
			a = b = 0;
		} else {
			a = ours.remove(m, NULL);
			b = value_remove(&fd, NULL);
			rc = a != b;
		}
		if (rc)
			snprintf(why, sizeof(why),
				 "step %d: ours %d, kernel %d", i, a, b);
	}
	if (!rc && (wrong[0] > asked / 20 || wrong[1] > asked / 20)) {
		snprintf(why, sizeof(why),
			 "false answers: %llu and %llu of %llu",
			 (unsigned long long)wrong[0],
			 (unsigned long long)wrong[1],
			 (unsigned long long)asked);
		rc = -1;
	}
	ok(!rc, "bloom filter as the kernel", why);
	close(fd);
	nb_map_put(m);
}

/* Three maps like the inner definition, in the kernel and here. */
struct inner {
	int fd[3];
	uint32_t id[3];
	struct nb_map *map[3];
};

static uint32_t id_of(int fd)
{
	struct bpf_map_info info;
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	memset(&info, 0, sizeof(info));
	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &a) ? 0 : info.id;
}

static void make_inner(struct inner *in, const struct nb_map_def *def)
{
	for (int i = 0; i < 3; i++) {
		in->fd[i] = kernel_map(def);
		in->id[i] = id_of(in->fd[i]);
		if (nb_map_new(&in->map[i], def, NULL))
			abort();
	}
}

/* One random operation on both; 0 or what to say. */
static const char *of_maps_step(const struct inner *in, struct side *ours,
				int fd, uint64_t *seed)
{
	uint32_t key = (uint32_t)(sequence_random(seed) % 7), a = 9, b = 9;
	uint32_t number = (uint32_t)(sequence_random(seed) % 4);
	int32_t value = number < 3 ? in->fd[number] : -1;
	uint64_t what = sequence_random(seed) % 3;
	uint64_t flags = sequence_random(seed) % 3 ? 0 : what % 2 + 1;
	int x, y;

	if (what == 0)
		return ours->update(ours->self, &key, &number, flags) ==
				       kernel_update(&fd, &key, &value, flags)
			       ? NULL
			       : "update";
	if (what == 1)
		return ours->remove(ours->self, &key) ==
				       kernel_remove(&fd, &key)
			       ? NULL
			       : "delete";
	x = ours->lookup(ours->self, &key, &a);
	y = kernel_lookup(&fd, &key, &b);
	return x == y && (x || in->id[a] == b) ? NULL : "look-up";
}

/* Values are numbers here, ids there; which map is meant is compared. */
static void of_maps(uint32_t type, uint64_t seed, int steps)
{
	const struct nb_map_def inner = { "in", NB_MAP_ARRAY, 4, 8, 2, 0 };
	const struct nb_map_def def = { "out", type, 4, 4, 5, 0 };
	const char *word = nb_spec_map_type(type)->word, *why = NULL;
	char name[80], text[80] = "";
	struct inner in;
	union bpf_attr a;
	struct side ours;
	struct nb_map *m;
	int fd, i;

	make_inner(&in, &inner);
	memset(&a, 0, sizeof(a));
	a.map_type = type;
	a.key_size = a.value_size = 4;
	a.max_entries = def.max_entries;
	a.inner_map_fd = (uint32_t)in.fd[0];
	fd = bpf(BPF_MAP_CREATE, &a);
	if (fd < 0 || nb_map_new(&m, &def, NULL)) {
		ok(false, word, "no map");
		return;
	}
	nb_map_set_maps(m, in.map, 3);
	side_manage(&ours, m);
	for (i = 0; i < steps && !why; i++)
		why = of_maps_step(&in, &ours, fd, &seed);
	snprintf(name, sizeof(name), "%s: %d steps as the kernel", word, steps);
	if (why)
		snprintf(text, sizeof(text), "step %d: %s differs", i, why);
	ok(!why, name, text);
	nb_map_put(m);
	close(fd);
	for (i = 0; i < 3; i++) {
		close(in.fd[i]);
		nb_map_put(in.map[i]);
	}
}

int main(int argc, char **argv)
{
	const struct nb_map_def probe = offers[0];
	uint64_t seed = sequence_seed();
	int steps = argc > 1 ? atoi(argv[1]) : 5000, fd = kernel_map(&probe);
	int sequences = argc > 2 ? atoi(argv[2]) : 100;

	if (fd < 0) {
		printf("ok 1 - maps as the kernel # SKIP bpf() is not "
		       "permitted\n# %s\n1..1\n",
		       strerror(-fd));
		return 0;
	}
	close(fd);
	printf("# SEED=%llu\n", (unsigned long long)seed);
	for (size_t i = 0; i < nshapes; i++)
		sequence(&shapes[i], seed + i, steps, sequences);
	bloom(seed, steps);
	/* the kernel waits for a grace period in each of their updates */
	of_maps(NB_MAP_ARRAY_OF_MAPS, seed, steps / 5);
	of_maps(NB_MAP_HASH_OF_MAPS, seed, steps / 5);
	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++)
		offer(&offers[i]);
	printf("1..%d\n", ntests);
	return nfailed ? 1 : 0;
}
