// SPDX-License-Identifier: MIT
// Nanoseconds a map operation takes, as a policy's helper call makes it.
// Rows take turns in short rounds, so that a noisy machine disturbs all of
// them alike; medians over the rounds are printed, with the ratio to a plain
// C array access behind a call of the same shape. Two columns: operations
// that do not wait for each other, and a chain in which each key depends on
// the value found before.
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/exec/run/helpers.h"
#include "core/bpf/map/host.h"
#include "core/bpf/map/ops.h"
#include "core/bpf/map/ringbuf.h"
#include "test/bench/bench.h"

enum {
	KEYS = 1024,
	ROUNDS = 101,
	EACH = 4 * KEYS,
	SMALL = 64,
	LARGE = 1 << 16,
	HUGE = 1 << 20,
	HUGE_PAGE = 2 << 20 /* sizes of pages() are multiples of it */
};

struct key {
	uint64_t word[2];
};

static struct key keys[KEYS], far_keys[KEYS], absent[KEYS], all_keys[KEYS];
static struct key huge_keys[1 << 16];
static uint32_t huge_at;
static uint32_t index_of[KEYS];
static uint64_t plain[SMALL];
/* The large map's shape without anything for other threads: chains of the same
 * length, in as much memory. */
static struct line {
	uint64_t next, key, value; /* next: a number, or ~0 */
} * lines;
static uint64_t *heads;
static struct nb_map *array, *host, *percpu, *hash4, *hash8, *hash16, *large;
static struct nb_map *hash1k, *huge;
static struct nb_map *lru, *full_lru, *ring;
static struct nb_run run;
static nb_helper_fn *lookup, *update, *removal;

static __attribute__((noinline)) uint64_t *plain_lookup(const uint32_t *key)
{
	uint32_t i = *key;

	__asm__ volatile("" : "+r"(i));
	return i < SMALL ? &plain[i] : NULL;
}

static uint64_t *find(struct nb_map *m, const void *key)
{
	return (uint64_t *)(uintptr_t)lookup(&run, (uintptr_t)m, (uintptr_t)key, 0, 0, 0);
}

static uint64_t store(struct nb_map *m, const void *key)
{
	static const uint64_t zero;

	return update(&run, (uintptr_t)m, (uintptr_t)key, (uintptr_t)&zero, 0, 0);
}

/* Written and read: the reader's part is in it. */
static uint64_t ring_record(void)
{
	uint64_t *r = nb_ringbuf_reserve(ring, 16), to[2];
	size_t size;

	if (!r)
		return 1;
	r[0] = r[1] = 0;
	nb_ringbuf_submit(r, 0);
	return nb_ringbuf_read(ring, to, sizeof(to), &size) ? 1 : to[0];
}

/* The next ones each time, so that none is in the caches; waits for @k. */
static const struct key *huge_key(uint32_t k)
{
	uint32_t turn = huge_at++ / KEYS;

	return &huge_keys[(turn * KEYS + k) % (sizeof(huge_keys) / sizeof(huge_keys[0]))];
}

/* @op of key number k answers 0. Two loops: with a choice inside one, the
 * compiler makes every turn wait for the one before. */
#define ROW(name, op)                                    \
	static uint64_t name(bool chained)               \
	{                                                \
		uint64_t sum = 0;                        \
		uint32_t i, k;                           \
                                                         \
		for (i = 0; !chained && i < EACH; i++) { \
			k = i % KEYS;                    \
			sum += (op);                     \
		}                                        \
		for (i = 0; chained && i < EACH; i++) {  \
			k = (i + (uint32_t)sum) % KEYS;  \
			sum += (op);                     \
		}                                        \
		return sum;                              \
	}

ROW(plain_row, *plain_lookup(&index_of[k]))
/* The same code for both, so that the difference is the maps'. */
static struct nb_map *either;
static __attribute__((noinline)) uint64_t either_row(bool chained);
ROW(either_row, *find(either, &index_of[k]))
static uint64_t array_row(bool chained)
{
	either = array;
	return either_row(chained);
}
static uint64_t host_row(bool chained)
{
	either = host;
	return either_row(chained);
}
ROW(percpu_row, *find(percpu, &index_of[k]))
ROW(percpu_fresh_row, (run.cpu = UINT32_MAX, *find(percpu, &index_of[k])))
ROW(hash4_row, *find(hash4, &index_of[k]))
ROW(hash8_row, *find(hash8, &keys[k]))
ROW(hash8_absent_row, (uintptr_t)find(hash8, &absent[k]))
ROW(hash16_row, *find(hash16, &keys[k]))
ROW(large_row, *find(large, &far_keys[k]))
ROW(hash1k_row, *find(hash1k, &all_keys[k]))
ROW(huge_row, *find(huge, huge_key(k)))

static uint64_t *head_of(uint64_t key)
{
	return &heads[key * 0x9e3779b97f4a7c15 >> 44];
}

static __attribute__((noinline)) uint64_t *chained_lookup(const void *key)
{
	uint64_t wanted = *(const uint64_t *)key, i = *head_of(wanted);

	while (i != UINT64_MAX && lines[i].key != wanted)
		i = lines[i].next;
	return i != UINT64_MAX ? &lines[i].value : NULL;
}

ROW(native_huge_row, *chained_lookup(huge_key(k)))
ROW(array_update_row, store(array, &index_of[k]))
ROW(percpu_update_row, store(percpu, &index_of[k]))
ROW(hash8_update_row, store(hash8, &keys[k]))
ROW(hash16_update_row, store(hash16, &keys[k]))
ROW(lru_row, *find(lru, &keys[k]))
ROW(lru_update_row, store(lru, &keys[k]))
ROW(lru_evict_row, store(full_lru, &far_keys[k]))
ROW(ring_row, ((void)k, ring_record()))
ROW(hash8_cycle_row,
    removal(&run, (uintptr_t)hash8, (uintptr_t)&keys[k], 0, 0, 0) + store(hash8, &keys[k]))

static const struct {
	const char *name;
	uint64_t (*fn)(bool chained);
	const char *key; /* of a row of the table; ns: its budget */
	double ns;
} rows[] = {
	{ "plain C array access", plain_row, NULL, 0 },
	{ "array look-up", array_row, NULL, 0 },
	{ "host map look-up", host_row, NULL, 0 },
	{ "percpu_array look-up", percpu_row, NULL, 0 },
	{ "percpu_array look-up, CPU asked for", percpu_fresh_row, NULL, 0 },
	{ "hash look-up, 4-byte key", hash4_row, NULL, 0 },
	{ "hash look-up, 8-byte key", hash8_row, NULL, 0 },
	{ "hash look-up, 8-byte key, absent", hash8_absent_row, NULL, 0 },
	{ "hash look-up, 16-byte key", hash16_row, NULL, 0 },
	{ "hash look-up, 8-byte key, 65536 entries", large_row, NULL, 0 },
	{ "hash look-up, 8-byte key, 1024 entries", hash1k_row, "map.hash", 6 },
	{ "hash look-up, 8-byte key, 1048576 entries", huge_row, "map.hash_1m", 0 },
	{ "the same in a native table of chains", native_huge_row, NULL, 0 },
	{ "array update", array_update_row, NULL, 0 },
	{ "percpu_array update", percpu_update_row, "map.percpu_update", 3 },
	{ "hash update, 8-byte key", hash8_update_row, NULL, 0 },
	{ "hash update, 16-byte key", hash16_update_row, NULL, 0 },
	{ "hash delete + insert, 8-byte key", hash8_cycle_row, NULL, 0 },
	{ "lru_hash look-up, 8-byte key", lru_row, NULL, 0 },
	{ "lru_hash update, 8-byte key", lru_update_row, NULL, 0 },
	{ "lru_hash insert that evicts, 8-byte key", lru_evict_row, NULL, 0 },
	{ "ringbuf reserve + submit + read, 16 bytes", ring_row, NULL, 0 },
};
enum { ARRAY_ROW = 1, HOST_ROW, NROWS = sizeof(rows) / sizeof(rows[0]) };

static struct nb_map *make(uint32_t type, uint32_t key_size, uint32_t entries)
{
	const struct nb_map_def def = { "bench", type, key_size, type == NB_MAP_RINGBUF ? 0 : 8,
					entries, 0 };
	struct nb_err err;
	struct nb_map *m;

	if (nb_map_new(&m, &def, &err)) {
		fprintf(stderr, "map_bench: %s\n", err.text);
		exit(1);
	}
	return m;
}

/* A host map that is attached to a sealed memory file. */
static struct nb_map *make_host(void)
{
	const struct nb_map_def def = { "host", NB_MAP_ARRAY, 4, 8, SMALL, 0 };
	int fd = memfd_create("host", MFD_ALLOW_SEALING);
	struct nb_err err;
	struct nb_map *m;

	if (fd < 0 || ftruncate(fd, 8 * SMALL) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE) ||
	    nb_map_host_new(&m, &def, &err) || nb_map_host_attach(m, fd, &err)) {
		fprintf(stderr, "map_bench: no host map\n");
		exit(1);
	}
	close(fd);
	return m;
}

static uint64_t scatter(uint64_t x)
{
	x = (x + 1) * 0xbf58476d1ce4e5b9;
	return x ^ x >> 31;
}

/* In huge pages, as a large map is. */
static void *pages(size_t size)
{
	void *p = aligned_alloc(HUGE_PAGE, size);

	if (!p) {
		fprintf(stderr, "map_bench: no memory\n");
		exit(1);
	}
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

static void set_up(void)
{
	array = make(NB_MAP_ARRAY, 4, SMALL);
	host = make_host();
	percpu = make(NB_MAP_PERCPU_ARRAY, 4, SMALL);
	hash4 = make(NB_MAP_HASH, 4, SMALL);
	hash8 = make(NB_MAP_HASH, 8, SMALL);
	hash16 = make(NB_MAP_HASH, 16, SMALL);
	large = make(NB_MAP_HASH, 8, LARGE);
	hash1k = make(NB_MAP_HASH, 8, KEYS);
	huge = make(NB_MAP_HASH, 8, HUGE);
	lru = make(NB_MAP_LRU_HASH, 8, 2 * SMALL);
	full_lru = make(NB_MAP_LRU_HASH, 8, 2 * SMALL);
	ring = make(NB_MAP_RINGBUF, 0, 4096);
	lines = pages(HUGE * sizeof(*lines));
	heads = pages(HUGE * sizeof(*heads));
	memset(heads, 0xff, HUGE * sizeof(*heads));
	lookup = nb_helper_body(1);
	update = nb_helper_body(2);
	removal = nb_helper_body(3);
	for (uint64_t i = 0; i < LARGE; i++) {
		uint64_t key = scatter(i);

		store(large, &key);
	}
	for (uint64_t i = 0; i < HUGE; i++) {
		uint64_t key = scatter(i);

		store(huge, &key);
		lines[i] = (struct line){ *head_of(key), key, 0 };
		*head_of(key) = i;
	}
	for (uint64_t i = 0; i < sizeof(huge_keys) / sizeof(huge_keys[0]); i++)
		huge_keys[i].word[0] = scatter((scatter(i) >> 20) % HUGE);
	for (uint32_t i = 0; i < KEYS; i++) {
		all_keys[i].word[0] = scatter(i);
		store(hash1k, &all_keys[i]);
		index_of[i] = (uint32_t)(scatter(i) >> 40) % SMALL;
		keys[i].word[0] = scatter(index_of[i]);
		keys[i].word[1] = scatter(index_of[i] + SMALL);
		absent[i].word[0] = ~keys[i].word[0];
		far_keys[i].word[0] = scatter((scatter(i) >> 20) % LARGE);
		store(hash4, &index_of[i]);
		store(hash8, &keys[i]);
		store(hash16, &keys[i]);
		store(lru, &keys[i]);
	}
}

static double took[2][NROWS][ROUNDS];

/* ---- threads ---- */

enum { THREAD_ROUNDS = 400 };

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds of a thread's own time that look-ups take. */
static void *look_up(void *ns)
{
	struct nb_run own = { 0 };
	double start = cpu_ns();
	uint64_t sum = 0;

	for (unsigned i = 0; i < THREAD_ROUNDS * EACH; i++)
		sum += *(uint64_t *)(uintptr_t)lookup(&own, (uintptr_t)hash1k,
						      (uintptr_t)&all_keys[i % KEYS], 0, 0, 0);
	*(double *)ns = cpu_ns() - start + (double)sum;
	return NULL;
}

/* One thread alone, then two at once, in turns. */
static void two_threads(void)
{
	enum { TURNS = 9 };
	double ratio[TURNS];

	for (int i = 0; i < TURNS; i++) {
		double alone, both[2];
		pthread_t other;

		look_up(&alone);
		if (pthread_create(&other, NULL, look_up, &both[1])) {
			bench_skip("map.threads", "two threads", "no thread");
			return;
		}
		look_up(&both[0]);
		pthread_join(other, NULL);
		ratio[i] = (both[0] + both[1]) / (2 * alone);
	}
	bench_row("map.threads",
		  "hash look-up, CPU time beside another thread / "
		  "alone",
		  bench_median(ratio, TURNS), "x", 1.2);
}

/* The medians of the large map's row and its native twin's, each look-up after
 * the one before; rounds are sorted by now. */
static void against_chains(void)
{
	size_t ours = 0, native = 0;

	for (size_t r = 0; r < NROWS; r++) {
		ours = rows[r].fn == huge_row ? r : ours;
		native = rows[r].fn == native_huge_row ? r : native;
	}
	bench_row("map.misses", "hash look-up, 1048576 entries / in a native table of chains",
		  took[1][ours][ROUNDS / 2] / took[1][native][ROUNDS / 2], "x", 1.2);
}

/* What a host map's look-up takes beyond an array's: pairs of one round. */
static void against_array(void)
{
	double more[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		more[i] = took[0][HOST_ROW][i] - took[0][ARRAY_ROW][i];
	bench_row("map.host", "host map look-up, added to an array look-up",
		  bench_median(more, ROUNDS), "ns", 2);
}

int main(void)
{
	double base[2];

	set_up();
	for (int round = -5; round < ROUNDS; round++) {
		bench_yardstick();
		for (size_t r = 0; r < NROWS; r++)
			for (int chained = 0; chained < 2; chained++) {
				double start, ns;

				rows[r].fn(chained); /* its data at hand */
				start = bench_now();
				if (rows[r].fn(chained) != 0) {
					fprintf(stderr,
						"map_bench: %s: a value is not "
						"0\n",
						rows[r].name);
					return 1;
				}
				ns = (bench_now() - start) / EACH;
				if (round >= 0) /* the first warm up */
					took[chained][r][round] = ns;
			}
	}
	against_array(); /* before the rounds are sorted */
	printf("%-42s %8s %6s %10s %6s\n", "ns per operation (median)", "apart", "ratio",
	       "in a chain", "ratio");
	for (size_t r = 0; r < NROWS; r++) {
		double m[2];

		for (int c = 0; c < 2; c++) {
			m[c] = bench_median(took[c][r], ROUNDS);
			if (r == 0)
				base[c] = m[c];
		}
		printf("%-42s %8.2f %6.2f %10.2f %6.2f\n", rows[r].name, m[0], m[0] / base[0], m[1],
		       m[1] / base[1]);
		if (rows[r].key)
			bench_row(rows[r].key, rows[r].name, m[0], "ns", rows[r].ns);
	}
	against_chains();
	two_threads();
	return 0;
}
