// SPDX-License-Identifier: MIT
// Threads on the same maps and trace ring at once, built with ThreadSanitizer:
// map_stress [seconds]. Besides races it checks what the maps promise: a key
// that is present throughout is found by every look-up, walk and clone; a
// value read by the management side was stored whole; no increment of a
// per-CPU or array value is lost; a trace line is read whole or not at all;
// records of a ring buffer come once, in their writers' order; an LRU
// hash never holds more than it may.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/exec/run/helpers.h"
#include "core/bpf/exec/run/trace.h"
#include "core/bpf/map/ops.h"
#include "core/bpf/map/ringbuf.h"

enum { STAY = 12, CHURN = 40, ENTRIES = 20, WORDS = 5, COUNTERS = 4 };

/* Each word of a hash value is its key and a version, mixed. */
struct value {
	uint64_t word[WORDS];
};

static struct nb_map *hash, *pairs, *array, *percpu;
static struct nb_map *ring, *lru;
static struct nb_trace *trace;
static bool stop;
static uint64_t added; /* to the array's counters */
static int nfailed;

static bool stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void fail(const char *what, uint64_t key)
{
	if (__atomic_fetch_add(&nfailed, 1, __ATOMIC_RELAXED) < 5)
		printf("# %s: key %llu\n", what, (unsigned long long)key);
}

static uint64_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

static struct value value_of(uint64_t key, uint64_t version)
{
	struct value v;

	for (uint64_t i = 0; i < WORDS; i++)
		v.word[i] = key << 40 | version << 8 | i;
	return v;
}

static bool whole(const struct value *v, uint64_t key)
{
	for (uint64_t i = 0; i < WORDS; i++)
		if (v->word[i] >> 40 != key || (v->word[i] & 0xff) != i ||
		    v->word[i] >> 8 != v->word[0] >> 8)
			return false;
	return true;
}

/* Program side: replaces values of keys that stay. */
static void *replace(void *arg)
{
	uint64_t s = (uintptr_t)arg;

	for (uint64_t n = 0; !stopped(); n++) {
		uint64_t key = rnd(&s) % STAY;
		struct value v = value_of(key, n & 0xffffffff);
		int rc = nb_map_update(hash, &key, &v, n % 2 ? NB_ANY : NB_EXIST, 0);

		if (rc && rc != -EBUSY)
			fail("a key that stays cannot be replaced", key);
	}
	return NULL;
}

/* Inserts and deletes other keys, more than there is room for. */
static void *churn(void *arg)
{
	uint64_t s = (uintptr_t)arg;

	for (uint64_t n = 0; !stopped(); n++) {
		uint64_t key = STAY + rnd(&s) % CHURN;
		struct value v = value_of(key, n & 0xffffffff);
		int rc = rnd(&s) % 2 ? nb_map_update(hash, &key, &v, NB_ANY, 0)
				     : nb_map_delete(hash, &key);

		if (rc && rc != -EBUSY && rc != -E2BIG && rc != -ENOENT)
			fail("unexpected answer", key);
		if (nb_map_count(hash) > ENTRIES)
			fail("more elements than max_entries", key);
	}
	return NULL;
}

static void *look_up(void *arg)
{
	uint64_t s = (uintptr_t)arg;
	struct value v;

	while (!stopped()) {
		uint64_t key = rnd(&s) % STAY, other = STAY + rnd(&s) % CHURN;
		int rc = nb_map_read(hash, &other, &v, NULL);

		if (!nb_map_lookup(hash, &key, 0))
			fail("look-up misses a key that stays", key);
		if (rc == 0 && !whole(&v, other))
			fail("torn value", other);
		if (nb_map_read(hash, &key, &v, NULL) || !whole(&v, key))
			fail("a key that stays reads wrong", key);
	}
	return NULL;
}

/*
 * Keys of two words, always the same one twice: a look-up that takes one word
 * from the element's last key and one from its next would find a mixed key.
 */
static void *churn_pairs(void *arg)
{
	uint64_t s = (uintptr_t)arg, v = 0;

	while (!stopped()) {
		uint64_t w = rnd(&s) % 4, key[2] = { w, w };

		nb_map_update(pairs, key, &v, NB_ANY, 0);
		w = rnd(&s) % 4;
		key[0] = key[1] = w;
		nb_map_delete(pairs, key);
	}
	return NULL;
}

static void *look_up_mixed(void *arg)
{
	uint64_t s = (uintptr_t)arg;

	while (!stopped()) {
		uint64_t key[2] = { rnd(&s) % 4, rnd(&s) % 4 };

		if (key[0] != key[1] && nb_map_lookup(pairs, key, 0))
			fail("found a key that never was", key[0]);
	}
	return NULL;
}

static void walk(const struct nb_map *m, const char *what)
{
	uint64_t seen = 0, key = 0;
	const void *from = NULL;

	for (int n = 0; nb_map_next(m, from, &key) == 0; n++, from = &key) {
		if (n > STAY + CHURN) {
			fail("walk does not end", key);
			return;
		}
		if (key < STAY)
			seen |= 1ull << key;
	}
	if (seen != (1ull << STAY) - 1)
		fail(what, seen);
}

static void *walk_and_clone(void *arg)
{
	struct nb_map *copy;
	struct value v;

	while (!stopped()) {
		walk(hash, "walk misses keys that stay; seen");
		if (nb_map_clone(&copy, hash, NULL))
			continue;
		walk(copy, "clone misses keys that stay; seen");
		for (uint64_t key = 0; key < STAY + CHURN; key++)
			if (!nb_map_read(copy, &key, &v, NULL) && !whole(&v, key))
				fail("torn value in a clone", key);
		nb_map_put(copy);
	}
	return arg;
}

/* Counts as a policy does; the management side reads and copies meanwhile. */
static void *count_up(void *arg)
{
	nb_helper_fn *lookup = nb_helper_body(1), *random = nb_helper_body(7);
	uint64_t mine = 0, *p;

	for (uint32_t i = 0; !stopped(); i = (i + 1) % COUNTERS) {
		struct nb_run run = { .trace = trace, .cpu = UINT32_MAX };

		p = (uint64_t *)(uintptr_t)lookup(&run, (uintptr_t)array, (uintptr_t)&i, 0, 0, 0);
		__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
		mine++;
		p = (uint64_t *)(uintptr_t)lookup(&run, (uintptr_t)percpu, (uintptr_t)&i, 0, 0, 0);
		__atomic_fetch_add(p, 1, __ATOMIC_RELAXED);
		if (random(&run, 0, 0, 0, 0, 0) >> 32)
			fail("random number over 32 bits", i);
	}
	__atomic_fetch_add(&added, mine, __ATOMIC_RELAXED);
	return arg;
}

static void *read_counters(void *arg)
{
	uint64_t last[COUNTERS] = { 0 }, now[1];
	struct nb_map *copy;

	while (!stopped()) {
		for (uint32_t i = 0; i < COUNTERS; i++) {
			if (nb_map_read(array, &i, now, NULL) || now[0] < last[i])
				fail("counter goes back", i);
			last[i] = now[0];
		}
		if (nb_map_clone(&copy, percpu, NULL) == 0)
			nb_map_put(copy);
		/* a get and a put of a reference are anybody's */
		nb_map_put(nb_map_get(array));
	}
	return arg;
}

static void *write_trace(void *arg)
{
	const uint64_t me = (uintptr_t)arg;
	nb_helper_fn *print = nb_helper_body(6);
	static const char fmt[] = "%llu %llu %llu";

	for (uint64_t n = 0; !stopped(); n++) {
		struct nb_run run = { .trace = trace };

		print(&run, (uintptr_t)fmt, sizeof(fmt), me, n, me * n);
	}
	return NULL;
}

static void *read_trace(void *arg)
{
	struct nb_trace_line line;
	unsigned long long a, b, c;

	for (uint64_t at = 0; !stopped(); at++) {
		uint64_t next = nb_trace_next(trace);

		/* Near the writers, and where lines are being overwritten. */
		if (at >= next || at + NB_TRACE_LINES < next)
			at = next > NB_TRACE_LINES ? next - NB_TRACE_LINES : 0;
		if (!nb_trace_read(trace, at, &line))
			continue;
		if (line.number != at || sscanf(line.text, "%llu %llu %llu", &a, &b, &c) != 3 ||
		    a * b != c)
			fail("torn trace line", at);
	}
	return arg;
}

/* A record: who, the how manieth, and as many more words as that says. */
static void *write_ring(void *arg)
{
	uint64_t me = (uintptr_t)arg % 2, n = 0;

	while (!stopped()) {
		uint64_t words = 2 + n % 40, *r;

		r = nb_ringbuf_reserve(ring, words * 8);
		if (!r) {
			sched_yield();
			continue;
		}
		for (uint64_t i = 0; i < words; i++)
			r[i] = i ? n : me;
		if (n % 7 == 3) {
			nb_ringbuf_discard(r, 0);
			n++;
			continue;
		}
		nb_ringbuf_submit(r, 0);
		n++;
	}
	return NULL;
}

static void *read_ring(void *arg)
{
	uint64_t r[64], next[2] = { 0, 0 };
	size_t size;

	while (!stopped()) {
		if (nb_ringbuf_read(ring, r, sizeof(r), &size)) {
			sched_yield();
			continue;
		}
		if (r[0] > 1 || r[1] < next[r[0]] || size != (2 + r[1] % 40) * 8)
			fail("ring: order or size", r[1]);
		for (size_t i = 1; i < size / 8; i++)
			if (r[i] != r[1])
				fail("ring: torn record", r[1]);
		for (; next[r[0] & 1] < r[1]; next[r[0] & 1]++)
			if (next[r[0] & 1] % 7 != 3)
				fail("ring: lost record", next[r[0] & 1]);
		next[r[0] & 1] = r[1] + 1;
	}
	return arg;
}

static void *peek_ring(void *arg)
{
	uint64_t r[64], at, pos;
	size_t size;

	while (!stopped()) {
		at = 0;
		while (!nb_ringbuf_peek(ring, &at, &pos, r, sizeof(r), &size))
			if (r[0] > 1 || size != (2 + r[1] % 40) * 8)
				fail("ring: torn record in a peek", r[1]);
		sched_yield();
	}
	return arg;
}

static void *use_lru(void *arg)
{
	uint64_t s = (uintptr_t)arg;
	struct value v;

	for (uint64_t n = 0; !stopped(); n++) {
		uint64_t key = rnd(&s) % 100;
		int rc;

		v = value_of(key, n & 0xffffffff);
		rc = nb_map_update(lru, &key, &v, NB_ANY, 0);
		if (rc && rc != -EBUSY && rc != -ENOMEM)
			fail("lru: unexpected answer", key);
		if (nb_map_count(lru) > ENTRIES)
			fail("lru: more elements than max_entries", key);
		key = rnd(&s) % 100;
		nb_map_lookup(lru, &key, 0);
		if (!nb_map_read(lru, &key, &v, NULL) && !whole(&v, key))
			fail("lru: torn value, or another key's", key);
		if (n % 16 == 0)
			nb_map_delete(lru, &key);
	}
	return NULL;
}

static uint64_t total(const struct nb_map *m)
{
	size_t n = nb_map_user_value_size(m) / 8;
	uint64_t sum = 0, *v = calloc(n, 8);

	for (uint32_t i = 0; v && i < COUNTERS; i++) {
		nb_map_read(m, &i, v, NULL);
		for (size_t w = 0; w < n; w++)
			sum += v[w];
	}
	free(v);
	return sum;
}

/* Refused and raced updates have given their elements back. */
static bool refills(struct nb_map *m)
{
	struct value v = value_of(1, 1);
	uint64_t key = 1000;

	for (uint64_t k = 0; k < STAY + CHURN; k++)
		nb_map_delete(m, &k);
	if (nb_map_count(m) != 0)
		return false;
	for (; key < 1000 + ENTRIES; key++)
		if (nb_map_update(m, &key, &v, NB_NOEXIST, 0))
			return false;
	return nb_map_update(m, &key, &v, NB_ANY, 0) == -E2BIG && nb_map_count(m) == ENTRIES;
}

static void check(int number, const char *name, bool good)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, name);
	if (!good)
		nfailed++;
}

static bool set_up(void)
{
	const struct nb_map_def h = { "hash", NB_MAP_HASH, 8, 8 * WORDS, ENTRIES, 0 };
	const struct nb_map_def q = { "pairs", NB_MAP_HASH, 16, 8, 2, 0 };
	const struct nb_map_def a = { "array", NB_MAP_ARRAY, 4, 8, COUNTERS, 0 };
	const struct nb_map_def p = { "percpu", NB_MAP_PERCPU_ARRAY, 4, 8, COUNTERS, 0 };

	const struct nb_map_def more[] = {
		{ "ring", NB_MAP_RINGBUF, 0, 0, 4096, 0 },
		{ "lru", NB_MAP_LRU_HASH, 8, 8 * WORDS, ENTRIES, 0 },
	};
	struct nb_map **const maps[] = { &ring, &lru };

	for (size_t i = 0; i < 2; i++)
		if (nb_map_new(maps[i], &more[i], NULL))
			return false;
	if (nb_map_new(&hash, &h, NULL) || nb_map_new(&pairs, &q, NULL) ||
	    nb_map_new(&array, &a, NULL) || nb_map_new(&percpu, &p, NULL))
		return false;
	for (uint64_t key = 0; key < STAY; key++) {
		struct value v = value_of(key, 0);

		if (nb_map_write(hash, &key, &v, NB_NOEXIST, NULL))
			return false;
	}
	trace = nb_trace_new();
	return trace != NULL;
}

int main(int argc, char **argv)
{
	static void *(*const work[])(void *) = {
		replace,	replace,     churn,	  churn,	 look_up,     look_up,
		walk_and_clone, count_up,    count_up,	  read_counters, write_trace, write_trace,
		read_trace,	churn_pairs, churn_pairs, look_up_mixed, write_ring,  write_ring,
		read_ring,	peek_ring,   use_lru,	  use_lru
	};
	enum { N = sizeof(work) / sizeof(work[0]) };
	struct timespec t = { argc > 1 ? atoi(argv[1]) : 5, 0 };
	pthread_t thread[N];

	if (!set_up()) {
		printf("not ok 1 - maps and ring are made\n1..1\n");
		return 1;
	}
	for (uintptr_t i = 0; i < N; i++)
		if (pthread_create(&thread[i], NULL, work[i], (void *)(i + 1)))
			abort();
	nanosleep(&t, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < N; i++)
		pthread_join(thread[i], NULL);
	check(1, "keys that stay are found, values are whole", nfailed == 0);
	check(2, "no increment of an array is lost", total(array) == added);
	check(3, "no increment of a per-CPU array is lost", total(percpu) == added);
	check(4, "no element of a hash is lost", refills(hash));
	printf("# %llu increments, %llu trace lines\n1..5\n", (unsigned long long)added,
	       (unsigned long long)nb_trace_next(trace));
	nb_map_put(hash);
	nb_map_put(pairs);
	nb_map_put(array);
	nb_map_put(percpu);
	nb_map_put(ring);
	nb_map_put(lru);
	nb_trace_free(trace);
	return nfailed ? 1 : 0;
}
