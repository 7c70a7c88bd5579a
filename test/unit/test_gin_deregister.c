// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Windows that are deregistered while operations use them: no byte of theirs is
// read or written afterwards, what cannot be finished fails by name, and a
// signal never arrives without the puts before it. Each case has a twin whose
// window stays.
#include "test/unit/gin_ranks.h"

#include <sys/mman.h>

enum { LARGE = 1 << 20 };

/* A window of its own mapping: touching it after unmap_window is a fault. */
static void *map_window(struct rank *r, char **at)
{
	*at = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(*at, MAP_FAILED);
	memset(*at, 'a' + r->rank, LARGE);
	return registered(r, *at, LARGE);
}

static void unmap_window(struct rank *r, void *handle, char *at)
{
	ck_assert_int_eq(t->dereg_mr(r->coll, handle), 0);
	ck_assert_int_eq(munmap(at, LARGE), 0);
}

/* Two ranks with small socket buffers, and a window of each. */
static bool windows_open(void *handle[2], char *at[2])
{
	nb_tcp_conf.buffer = 32768;
	nb_gin_tcp_conf.close_ns = 1000000;
	ranks_open(2);
	for (int i = 0; i < 2; i++)
		handle[i] = map_window(&ranks[i], &at[i]);
	for (int i = 0; i < 50; i++)
		turn(2); /* announcements */
	return true;
}

static const char *state_of(int rank, uint32_t peer)
{
	struct nb_gin_link l;

	t->link(ranks[rank].coll, peer, &l);
	return l.state;
}

/* A put of the whole window by rank 0, with signal 0. */
static void post_large(struct nb_gin_message *o, void *handle)
{
	*o = (struct nb_gin_message){ .kind = NB_GIN_SIGNAL,
				      .rank = 1,
				      .src = handle,
				      .dst = handle,
				      .size = LARGE,
				      .signal = ranks[0].signals,
				      .signal_op = NB_GIN_INCREMENT };
	ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, o), 0);
}

static bool has_ended(const struct nb_gin_message *o)
{
	return o->state != NB_GIN_POSTED;
}

/* _i 0: the window stays; 1: it goes in mid-put; 2: before the first byte. */
TEST_EACH(the_source_of_a_put_that_waits, 0, 3)
{
	struct nb_gin_message o, behind, next;
	void *handle[2];
	char *at[2];
	bool failed = true;

	if (!windows_open(handle, at))
		return;
	post_large(&o, handle[0]);
	ck_assert_int_eq(post_signal(&ranks[0], &behind, 1, 0, 0, 1, 0), 0);
	for (int i = 0; _i == 1 && i < 20; i++)
		t->progress(ranks[0].coll, NULL);
	ck_assert(!has_ended(&o));
	if (_i)
		unmap_window(&ranks[0], handle[0], at[0]);
	while (!has_ended(&o) || !has_ended(&behind))
		turn(2);
	ck_assert_int_eq(o.state, _i ? NB_GIN_FAILED : NB_GIN_DONE);
	ck_assert_int_eq(behind.state, o.state);
	while (!read_signal(&ranks[1], 1) && strcmp(state_of(1, 0), "open") == 0)
		turn(2);
	/* the signal behind the put came with it, or not at all */
	ck_assert_uint_eq(read_signal(&ranks[1], 0), !_i);
	ck_assert_uint_eq(read_signal(&ranks[1], 1), !_i);
	ck_assert_int_eq(at[1][LARGE - 1], _i ? 'b' : 'a');
	ck_assert(!strstr(said, "a put reads was deregistered on this rank") == !_i);
	ck_assert_int_eq(post_signal(&ranks[0], &next, 0, 0, 0, 2, 0), _i ? NB_NET_REMOTE : 0);
	ck_assert_int_eq(t->query_error(ranks[0].coll, NULL, &failed), 0);
	ck_assert_int_eq(failed, _i != 0);
	ranks_close(2);
}

/* The peer that is asked keeps to the protocol, and is not blamed. */
TEST_EACH(the_target_of_a_get_that_waits, 0, 3)
{
	uint64_t before =
		nb_gin_tcp_offences(NB_GIN_BAD_REGION) + nb_gin_tcp_offences(NB_GIN_BAD_ANSWER);
	struct nb_gin_message o = { .kind = NB_GIN_GET, .rank = 1, .size = LARGE };
	void *handle[2];
	char *at[2];

	if (!windows_open(handle, at))
		return;
	o.src = o.dst = handle[0];
	ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, &o), 0);
	t->progress(ranks[0].coll, NULL);
	/* 1: before the answer's header came; 2: in the middle of its data */
	for (int i = 0; _i != 1 && at[0][0] != 'b'; i++)
		turn(2);
	ck_assert(!has_ended(&o));
	if (_i)
		unmap_window(&ranks[0], handle[0], at[0]);
	while (!has_ended(&o))
		turn(2);
	ck_assert_int_eq(o.state, _i ? NB_GIN_FAILED : NB_GIN_DONE);
	if (!_i)
		ck_assert_int_eq(at[0][LARGE - 1], 'b');
	ck_assert(!strstr(said, "a get fills was deregistered on this rank") == !_i);
	ck_assert_uint_eq(nb_gin_tcp_offences(NB_GIN_BAD_REGION) +
				  nb_gin_tcp_offences(NB_GIN_BAD_ANSWER),
			  before);
	ranks_close(2);
}

/* ---- the data path in a thread of its own, as NCCL has it ---- */

static bool stop;

static void *serve(void *arg)
{
	struct rank *r = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		t->progress(r->coll, NULL);
	return NULL;
}

/* Rank 0 puts without end. Rank 1 deregisters the target, and unmaps it at
 * once: a byte that is still written would be a fault. */
TEST(a_target_is_free_when_deregister_returns)
{
	enum { OPS = 8 };
	static struct nb_gin_message o[OPS];
	void *handle[2];
	char *at[2];
	pthread_t thread;
	unsigned posts = 0;

	if (!windows_open(handle, at))
		return;
	stop = false;
	for (int i = 0; i < OPS; i++)
		post_large(&o[i], handle[0]);
	ck_assert_int_eq(pthread_create(&thread, NULL, serve, &ranks[1]), 0);
	while (posts < 3)
		for (int i = 0; i < OPS; i++) {
			t->progress(ranks[0].coll, NULL);
			if (!has_ended(&o[i]))
				continue;
			post_large(&o[i], handle[0]);
			posts++;
		}
	unmap_window(&ranks[1], handle[1], at[1]);
	/* and rank 0 learns that its puts do not arrive */
	while (strcmp(state_of(0, 1), "open") == 0)
		t->progress(ranks[0].coll, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	ck_assert_str_eq(state_of(1, 0), "lost");
	ck_assert_ptr_nonnull(strstr(said, "memory that is not registered"));
	ck_assert_uint_ge(nb_gin_tcp_offences(NB_GIN_BAD_REGION), 1);
	ranks_close(2);
}

/* Windows come and go while another one is used: nobody is disturbed. */
TEST(other_windows_come_and_go_meanwhile)
{
	enum { TIMES = 50 };
	struct nb_gin_message o;
	void *handle[2];
	char *at[2], *other;
	pthread_t thread;

	if (!windows_open(handle, at))
		return;
	stop = false;
	ck_assert_int_eq(pthread_create(&thread, NULL, serve, &ranks[1]), 0);
	for (uint64_t i = 0; i < TIMES; i++) {
		void *h = map_window(&ranks[1], &other);

		ck_assert_int_eq(post_signal(&ranks[0], &o, 1, 5000, 64, 0, 0), 0);
		unmap_window(&ranks[1], h, other);
		while (!has_ended(&o) || read_signal(&ranks[1], 0) <= i)
			t->progress(ranks[0].coll, NULL);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	ck_assert_str_eq(state_of(0, 1), "open");
	ck_assert_str_eq(said, "");
	ranks_close(2);
}

// clang-format off
UNIT_MAIN("gin_deregister")
