// SPDX-License-Identifier: MIT
// Our maps against the running kernel's: the same random sequences through
// the management calls and through bpf(2), and the same definitions offered
// to both. TAP; everything is skipped where bpf() is not permitted.
// map_kernel STEPS SEQUENCES; SEED=N.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/differential/map/kernel.h"
#include "test/differential/map/sequence.h"

/* One sequence on fresh maps; 0, or -1 and why. */
static int compare(const struct shape *shape, uint64_t seed, int steps, char *why, size_t size)
{
	struct side ours, theirs;
	int fd = kernel_map(&shape->def), rc = -1;
	struct nb_err err;
	struct nb_map *m;

	if (fd < 0) {
		snprintf(why, size, "kernel refuses the map: %s", strerror(-fd));
	} else if (nb_map_new(&m, &shape->def, &err)) {
		snprintf(why, size, "we refuse the map: %s", err.text);
	} else {
		side_kernel(&theirs, &fd);
		side_manage(&ours, m);
		rc = sequence_run(shape, seed, steps, &ours, &theirs, why, size);
		if (!rc)
			rc = batch_run(shape, seed, m, fd, why, size);
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

	snprintf(name, sizeof(name), "%s: %d steps as the kernel", shape->name, steps);
	ok(rc == 0, name, why);
	for (int i = rc = 0; !rc && i < n; i++) {
		uint64_t of = seed * 1000003 + (uint64_t)i + 1;
		int few = 1 + (int)(sequence_random(&of) >> 33) % 40;

		rc = compare(shape, of, few, why, sizeof(why));
	}
	snprintf(name, sizeof(name), "%s: %d short sequences as the kernel", shape->name, n);
	ok(rc == 0, name, why);
}

/* Definitions that we accept or refuse as the kernel does. */
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
	{ "good", NB_MAP_LRU_HASH, 8, 8, 64, 0 },
	{ "NO_COMMON_LRU", NB_MAP_LRU_HASH, 8, 8, 64, NB_F_NO_COMMON_LRU },
	{ "NO_PREALLOC", NB_MAP_LRU_HASH, 8, 8, 64, NB_F_NO_PREALLOC },
	{ "MMAPABLE", NB_MAP_LRU_HASH, 8, 8, 64, NB_F_MMAPABLE },
	{ "good", NB_MAP_RINGBUF, 0, 0, 4096, 0 },
	{ "key", NB_MAP_RINGBUF, 4, 0, 4096, 0 },
	{ "value", NB_MAP_RINGBUF, 0, 4, 4096, 0 },
	{ "half a page", NB_MAP_RINGBUF, 0, 0, 2048, 0 },
	{ "three pages", NB_MAP_RINGBUF, 0, 0, 12288, 0 },
	{ "no size", NB_MAP_RINGBUF, 0, 0, 0, 0 },
	{ "RDONLY_PROG", NB_MAP_RINGBUF, 0, 0, 4096, NB_F_RDONLY_PROG },
};

static void offer(const struct nb_map_def *def)
{
	struct nb_err err = { .text = "taken" };
	struct nb_map *m;
	char name[128], why[600];
	int fd = kernel_map(def), rc = nb_map_new(&m, def, &err);

	snprintf(name, sizeof(name), "definition as the kernel: %s, %s",
		 nb_spec_map_type(def->type)->word, def->name);
	snprintf(why, sizeof(why), "kernel: %s; ours: %s", fd < 0 ? strerror(-fd) : "taken",
		 err.text);
	ok((fd < 0) == (rc == NB_E_MAPDEF), name, why);
	if (fd >= 0)
		close(fd);
	nb_map_put(m);
}

int main(int argc, char **argv)
{
	const struct nb_map_def probe = offers[0];
	uint64_t seed = sequence_seed();
	int steps = argc > 1 ? atoi(argv[1]) : 5000, fd = kernel_map(&probe);
	int sequences = argc > 2 ? atoi(argv[2]) : 100;

	if (fd < 0) {
		printf("1..0 # SKIP maps as the kernel: bpf() is not "
		       "permitted\n# %s\n",
		       strerror(-fd));
		return 0;
	}
	close(fd);
	printf("# SEED=%llu\n", (unsigned long long)seed);
	for (size_t i = 0; i < nshapes; i++)
		sequence(&shapes[i], seed + i, steps, sequences);
	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++)
		offer(&offers[i]);
	return ok_end();
}
