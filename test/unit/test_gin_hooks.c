// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Programs on the hooks gin/...: exact counts per peer and context after a
// fixed pattern, and held puts, which arrive later but never out of order.
#include "test/unit/gin_pair.h"

#include <stdlib.h>

#include "core/bpf/map/ops.h"
#include "plugin/gin/list.h"
#include "plugin/policies/maps.h"
#include "plugin/runtime/lock.h"

/* As in policies/gin_*.bpf.c. */
struct peers_key {
	uint64_t comm_id;
	uint32_t rank, peer, context, pad;
};
struct peers {
	uint64_t puts, signals, bytes, done, errors, sum_ns, max_ns, bucket[20];
};
struct slow_key {
	uint64_t comm_id;
	uint32_t rank, peer;
};
struct slow {
	uint64_t signals, late, bytes, sum_ns, max_ns, last_late_ns;
};
struct paced_key {
	uint64_t coll;
	uint32_t peer, context;
};
struct paced {
	uint64_t free_ns, held, held_ns;
};
struct rate {
	uint64_t rate, burst;
};

static bool set_up(const char *names)
{
	const char *b = getenv("B");
	char list[1024] = "";

	for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ')
		snprintf(list + strlen(list), sizeof(list) - strlen(list),
			 "%s%s/policies/%.*s.policy", *list ? ":" : "", b ? b : "build/debug",
			 (int)strcspn(p, " "), p);
	setenv("NCCLBPF_POLICY", list, 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_gin_hooks", 1);
	setenv("NCCLBPF_GIN", "on", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return true;
}

/* The element of a local map; NULL: there is none. */
static void *element(const char *map, const void *key)
{
	struct nb_map_ref ref;
	struct nb_err err;
	void *value;

	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_held_map_find(map, &ref, &err), 0);
	ck_assert_ptr_nonnull(ref.object);
	value = nb_map_lookup(ref.object, key, 0);
	nb_unlock(NB_LOCK_STATE);
	return value;
}

static bool is_rank_0(const struct nb_gin_coll *c, void *arg)
{
	if (c->rank == 0)
		*(uint64_t *)arg = c->id;
	return true;
}

/* The number of rank 0's collComm: the ranks connect at the same time. */
static uint64_t own_coll(void)
{
	uint64_t id = 0;

	nb_gin_list_each(is_rank_0, &id);
	return id;
}

static const struct peers *peers_of(uint32_t peer, uint32_t context)
{
	struct peers_key k = { 77, 0, peer, context, 0 };

	return element("gin_peers", &k);
}

TEST(puts_are_counted_by_peer_and_context)
{
	const struct peers *p;
	const struct slow *s;
	struct slow_key sk = { 77, 1, 0 };
	uint64_t n = 0;

	set_up("gin_peers gin_slow");
	pair_open();
	for (int i = 0; i < 7; i++)
		pair_finish(pair_put(0, 1, 1000, 0, 5000, 0, 0, 0));
	for (int i = 0; i < 3; i++)
		pair_finish(pair_put(1, 1, 50, 0, 5000, 2, 2, 5));
	pair_finish(pair_put(1, 1, 0, 0, 0, 3, 1, 0));
	pair_finish(pair_put(0, 0, 8, 0, 4000, 1, 1, 0));
	while (!__atomic_load_n(&pair[1].signal[3], __ATOMIC_ACQUIRE))
		pair_tick();
	p = peers_of(1, 0);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->puts, 7);
	ck_assert_uint_eq(p->signals, 0);
	ck_assert_uint_eq(p->bytes, 7000);
	ck_assert_uint_eq(p->done, 7);
	ck_assert_uint_eq(p->errors, 0);
	ck_assert_uint_gt(p->max_ns, 0);
	for (int b = 0; b < 20; b++)
		n += p->bucket[b];
	ck_assert_uint_eq(n, 7);
	p = peers_of(1, 1);
	ck_assert_uint_eq(p->puts, 3);
	ck_assert_uint_eq(p->signals, 4);
	ck_assert_uint_eq(p->bytes, 150);
	p = peers_of(0, 0);
	ck_assert_uint_eq(p->puts, 1);
	ck_assert_ptr_null(peers_of(0, 1));
	/* at the other end: signals 2 (three times) and 3 */
	s = element("gin_slow", &sk);
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->signals, 4);
	ck_assert_uint_eq(s->bytes, 7150);
	ck_assert_uint_eq(pair[1].signal[2], 15);
	pair_close();
}

static void set_rate(uint32_t at, uint64_t rate, uint64_t burst)
{
	struct rate r = { rate, burst };

	memcpy(element("gin_rate", &at), &r, sizeof(r));
}

/* 20 puts of 10 kB at 1.01 MB/s are 9.9 ms each. Puts to the own rank and to
 * other contexts go at once. */
TEST(held_puts_keep_their_order_and_delay_nobody_else)
{
	enum { N = 20, SIZE = 10000 };
	struct paced_key k = { 0, 1, 0 };
	const struct paced *p;
	struct nb_gin_sums s;
	void *req[N], *other, *get = NULL;
	uint64_t seen = 0;
	int done = 0;

	set_up("gin_pace");
	pair_open();
	set_rate(0, 1010101, SIZE);
	for (int i = 0; i < N; i++) {
		/* each put writes its number, and its signal counts it */
		pair[0].data[i] = (char)(i + 1);
		req[i] = pair_put(0, 1, SIZE, (size_t)i, 30000, 0, 1, 0);
	}
	/* what is no put waits in the same lane */
	ck_assert_int_eq(rma->iget.rma_v15(pair[0].ctx, 0, 30000, pair[0].window, 1, 60000,
					   pair[0].window, 1, 0, &get),
			 0);
	set_rate(0, 0, 0);
	other = pair_put(1, 1, 4, 0, 50000, 5, 1, 0);
	while (!__atomic_load_n(&pair[1].signal[5], __ATOMIC_ACQUIRE))
		pair_tick();
	/* the other context has overtaken this one */
	ck_assert_uint_lt(__atomic_load_n(&pair[1].signal[0], __ATOMIC_ACQUIRE), N);
	ck_assert_int_eq(rma->test(pair[0].coll, req[N - 1], &done), 0);
	ck_assert_int_eq(done, 0);
	while (seen < N) {
		uint64_t now = __atomic_load_n(&pair[1].signal[0], __ATOMIC_ACQUIRE);

		if (now > seen) {
			seen = now;
			ck_assert_int_ge(pair[1].data[30000], (char)seen);
			ck_assert_int_le(pair[1].data[30000], N);
		}
		pair_tick();
	}
	for (int i = 0; i < N; i++)
		pair_finish(req[i]);
	pair_finish(get);
	ck_assert_int_eq(pair[0].data[60000], N);
	pair_finish(other);
	k.coll = own_coll();
	p = element("gin_paced", &k);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_ge(p->held, N - 3);
	nb_gin_list_sums(&s);
	ck_assert_uint_ge(s.held, p->held);
	pair_close();
}

/* _i 1: with puts that are still held back. */
TEST_EACH(a_collcomm_is_closed_with_what_was_posted_sent, 0, 2)
{
	enum { N = 30, SIZE = 2000 }; /* all fits into the sockets */

	set_up("gin_pace");
	pair_open();
	if (_i)
		set_rate(0, 1000000, 0);
	for (size_t i = 0; i < N; i++)
		pair_put(0, 1, SIZE, 0, 8000, 0, 1, 0);
	pair_put(1, 1, 0, 0, 0, 1, 1, 0);
	ck_assert_int_eq(rma->close_coll(pair[0].coll), 0);
	for (int i = 0; i < 1000; i++)
		rma->progress(pair[1].ctx);
	ck_assert_uint_eq(pair[1].signal[0], N);
	ck_assert_uint_eq(pair[1].signal[1], 1);
	ck_assert_int_eq(rma->close_coll(pair[1].coll), 0);
}

TEST(a_rate_that_needs_more_than_10_ms_is_cut)
{
	void *req[3];

	set_up("gin_pace");
	pair_open();
	set_rate(2, 1000, 0); /* 1 kB/s to rank 1 alone */
	for (int i = 0; i < 3; i++)
		req[i] = pair_put(0, 1, 60000, 0, 0, 0, 1, 0);
	for (int i = 0; i < 3; i++)
		pair_finish(req[i]); /* not after two minutes */
	pair_close();
}

TEST(a_full_ring_is_said_once)
{
	enum { N = 1500 };
	static void *req[N];
	struct {
		uint64_t coll;
		uint32_t peer, pad;
	} k = { 0, 1, 0 };
	const struct {
		uint32_t in_a_row, said;
		uint64_t full;
	} * v;

	set_up("gin_guard");
	pair_open();
	for (int i = 0; i < N; i++)
		req[i] = pair_put(0, 1, 8, 0, 0, 0, 0, 0);
	k.coll = own_coll();
	v = element("gin_guard", &k);
	ck_assert_ptr_nonnull(v);
	ck_assert_uint_eq(v->full, N - 239);
	ck_assert_uint_eq(v->said, 1);
	for (int i = 0; i < N; i++)
		pair_finish(req[i]);
	pair_finish(pair_put(0, 1, 8, 0, 0, 0, 0, 0));
	ck_assert_uint_eq(v->in_a_row, 0);
	pair_close();
}

// clang-format off
UNIT_MAIN("gin_hooks")
