// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The GIN transport between ranks of one process: what arrives, in which order,
// and when a put is done; gets; memory that comes and goes; the end.
#include "test/unit/gin_ranks.h"

#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>

static void until_done(int n, const struct nb_gin_message *o)
{
	while (o->state == NB_GIN_POSTED)
		turn(n);
	ck_assert_int_eq(o->state, NB_GIN_DONE);
}

TEST(a_put_with_a_signal_arrives_and_the_signal_last)
{
	struct nb_gin_message put, sig;

	ranks_open(2);
	memset(ranks[0].data, 'x', 5000);
	ck_assert_int_eq(post_put(&ranks[0], &put, 1, 0, 100, 3000), 0);
	ck_assert_int_eq(post_signal(&ranks[0], &sig, 1, 2000, 8000, 3, 5), 0);
	while (!read_signal(&ranks[1], 3))
		turn(2);
	ck_assert_uint_eq(read_signal(&ranks[1], 3), 5);
	ck_assert_int_eq(memcmp(ranks[1].data + 100, ranks[0].data, 3000), 0);
	ck_assert_int_eq(memcmp(ranks[1].data + 8000, ranks[0].data, 2000), 0);
	ck_assert_int_eq(ranks[1].data[99] | ranks[1].data[3100], 0);
	until_done(2, &put);
	until_done(2, &sig);
	ck_assert_uint_eq(ranks[1].arrivals, 1);
	ck_assert_uint_eq(ranks[1].last.puts, 2);
	ck_assert_uint_eq(ranks[1].last.bytes, 5000);
	ck_assert_uint_eq(ranks[1].last.rank, 0);
	ck_assert_uint_eq(ranks[1].last.offset, 24);
	ranks_close(2);
	ck_assert_str_eq(said, "");
}

TEST(order_holds_with_small_socket_buffers)
{
	enum { ROUNDS = 40, SIZE = 100000 };
	static struct nb_gin_message put[ROUNDS], sig[ROUNDS];
	uint64_t seen = 0;

	nb_tcp_conf.buffer = 32768;
	ranks_open(2);
	memset(ranks[0].data, 'y', SIZE);
	for (int i = 0; i < ROUNDS; i++) {
		/* the put before the signal's own */
		ck_assert_int_eq(post_put(&ranks[0], &put[i], 1, 0, (size_t)i * 20000, 20000), 0);
		ck_assert_int_eq(post_signal(&ranks[0], &sig[i], 1, 16, 900000, 0, 0), 0);
	}
	while (seen < ROUNDS) {
		uint64_t now = read_signal(&ranks[1], 0);

		for (; seen < now; seen++)
			ck_assert_int_eq(memcmp(ranks[1].data + seen * 20000, ranks[0].data, 20000),
					 0);
		turn(2);
	}
	for (int i = 0; i < ROUNDS; i++)
		until_done(2, &sig[i]);
	ranks_close(2);
	nb_tcp_conf.buffer = 0;
}

TEST(a_put_is_done_only_when_the_kernel_has_its_bytes)
{
	struct nb_gin_message o;

	nb_tcp_conf.buffer = 32768;
	ranks_open(2);
	ck_assert_int_eq(post_put(&ranks[0], &o, 1, 0, 0, BYTES), 0);
	for (int i = 0; i < 100; i++)
		t->progress(ranks[0].coll, NULL);
	/* nobody reads: the socket's buffers cannot hold it */
	ck_assert_int_eq(o.state, NB_GIN_POSTED);
	until_done(2, &o);
	ranks_close(2);
	nb_tcp_conf.buffer = 0;
}

TEST(both_directions_at_once_do_not_block)
{
	struct nb_gin_message a, b;

	nb_tcp_conf.buffer = 32768;
	ranks_open(2);
	memset(ranks[0].data, 'a', BYTES / 2);
	memset(ranks[1].data, 'b', BYTES / 2);
	ck_assert_int_eq(post_put(&ranks[0], &a, 1, 0, BYTES / 2, BYTES / 2), 0);
	ck_assert_int_eq(post_put(&ranks[1], &b, 0, 0, BYTES / 2, BYTES / 2), 0);
	until_done(2, &a);
	until_done(2, &b);
	while (ranks[0].data[BYTES - 1] != 'b' || ranks[1].data[BYTES - 1] != 'a')
		turn(2);
	ranks_close(2);
	nb_tcp_conf.buffer = 0;
}

TEST(all_to_all_among_eight_ranks)
{
	enum { N = 8, SIZE = 4096 };
	static struct nb_gin_message o[N][N];

	ranks_open(N);
	for (int r = 0; r < N; r++)
		memset(ranks[r].data, 'A' + r, SIZE);
	for (int r = 0; r < N; r++)
		for (uint32_t p = 0; p < N; p++)
			ck_assert_int_eq(post_signal(&ranks[r], &o[r][p], p, SIZE,
						     SIZE * (size_t)(r + 1), 1, 0),
					 0);
	for (int r = 0; r < N; r++)
		while (read_signal(&ranks[r], 1) < N)
			turn(N);
	for (int r = 0; r < N; r++)
		for (int p = 0; p < N; p++) {
			ck_assert_int_eq(ranks[r].data[SIZE * (p + 1)], 'A' + p);
			ck_assert_int_eq(ranks[r].data[SIZE * (p + 2) - 1], 'A' + p);
		}
	ranks_close(N);
	ck_assert_str_eq(said, "");
}

TEST(our_own_rank_is_served_in_order)
{
	struct nb_gin_message o;

	ranks_open(2);
	strcpy(ranks[0].data, "self");
	ck_assert_int_eq(post_signal(&ranks[0], &o, 0, 5, 600, 2, 9), 0);
	ck_assert_int_eq(o.state, NB_GIN_DONE);
	ck_assert_str_eq(ranks[0].data + 600, "self");
	ck_assert_uint_eq(read_signal(&ranks[0], 2), 9);
	ck_assert_uint_eq(ranks[0].arrivals, 1);
	/* and so is a refusal: nothing of it is written */
	ck_assert_int_eq(post_put(&ranks[0], &o, 0, 0, BYTES - 4, 5), NB_NET_ARGUMENT);
	ck_assert_int_eq(ranks[0].data[BYTES - 4], 0);
	ranks_close(2);
}

TEST(a_single_rank_needs_no_peer)
{
	struct nb_gin_message o;

	ranks_open(1);
	ck_assert_int_eq(post_signal(&ranks[0], &o, 0, 0, 0, 0, 0), 0);
	ck_assert_uint_eq(read_signal(&ranks[0], 0), 1);
	ck_assert_int_eq(t->progress(ranks[0].coll, NULL), 0);
	ranks_close(1);
}

TEST(a_signal_needs_no_put_and_a_put_may_be_empty)
{
	struct nb_gin_message put, sig;

	ranks_open(2);
	ck_assert_int_eq(post_put(&ranks[0], &put, 1, 0, 0, 0), 0);
	ck_assert_int_eq(post_signal(&ranks[0], &sig, 1, 0, 0, 4, 0), 0);
	while (!read_signal(&ranks[1], 4))
		turn(2);
	ck_assert_uint_eq(ranks[1].last.puts, 0);
	ck_assert_uint_eq(ranks[1].last.since_ns, 0);
	until_done(2, &put);
	ranks_close(2);
}

/* What the peer would refuse does not cost the connection. */
TEST(a_wrong_signal_is_refused_here)
{
	struct nb_gin_message o;

	ranks_open(2);
	for (uint32_t op = 0; op < 4; op++) {
		o = (struct nb_gin_message){ .kind = NB_GIN_SIGNAL,
					     .rank = 1,
					     .signal = ranks[0].signals,
					     .signal_op = op };
		ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, &o),
				 op == NB_GIN_INCREMENT || op == NB_GIN_ADD ? 0 : NB_NET_ARGUMENT);
		for (int i = 0; i < 50; i++)
			turn(2);
	}
	o = (struct nb_gin_message){ .kind = NB_GIN_SIGNAL, .rank = 1, .signal_op = NB_GIN_ADD };
	ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, &o), NB_NET_ARGUMENT);
	for (int i = 0; i < 50; i++)
		turn(2);
	ck_assert_uint_eq(read_signal(&ranks[1], 0), 1);
	ranks_close(2);
	ck_assert_str_eq(said, "");
}

TEST(signals_add_with_all_64_bits_and_wrap)
{
	struct nb_gin_message o;

	ranks_open(2);
	ranks[1].signal[0] = UINT64_MAX - 1;
	ck_assert_int_eq(post_signal(&ranks[0], &o, 1, 0, 0, 0, UINT64_C(0x8000000000000003)), 0);
	while (read_signal(&ranks[1], 0) == UINT64_MAX - 1)
		turn(2);
	ck_assert_uint_eq(read_signal(&ranks[1], 0), UINT64_C(0x8000000000000001));
	ranks_close(2);
}

/* A window of which only touched pages exist. */
TEST(offsets_and_sizes_go_beyond_4_gib)
{
	const size_t size = (size_t)5 << 30, at = ((size_t)4 << 30) + 12345;
	struct nb_gin_message o = { .kind = NB_GIN_PUT, .rank = 1, .size = 70000 };
	char *big[2];

	ranks_open(2);
	for (int i = 0; i < 2; i++) {
		big[i] = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		ck_assert_ptr_ne(big[i], MAP_FAILED);
		o.src = o.dst = registered(&ranks[i], big[i], size);
	}
	memset(big[0] + at, 'z', o.size);
	o.src_off = o.dst_off = at;
	ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, &o), 0);
	until_done(2, &o);
	while (big[1][at + o.size - 1] != 'z')
		turn(2);
	ck_assert_int_eq(big[1][at - 1] | big[1][at + o.size], 0);
	/* a size of more than 32 bits reaches the bounds check whole */
	o.size = size - at + 1;
	ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, &o), NB_NET_ARGUMENT);
	ranks_close(2);
	for (int i = 0; i < 2; i++)
		munmap(big[i], size);
}

static int post_get(struct rank *r, struct nb_gin_message *o, uint32_t from, size_t remote_off,
		    size_t local_off, size_t size)
{
	*o = (struct nb_gin_message){ .kind = NB_GIN_GET,
				      .rank = from,
				      .src = r->window,
				      .dst = r->window,
				      .src_off = remote_off,
				      .dst_off = local_off,
				      .size = size };
	return nb_gin_tcp_post(r->coll, o);
}

TEST(a_get_reads_what_earlier_puts_wrote)
{
	struct nb_gin_message put, get[3], own;

	ranks_open(2);
	memset(ranks[0].data, 'g', 200000);
	ck_assert_int_eq(post_put(&ranks[0], &put, 1, 0, 0, 200000), 0);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(
			post_get(&ranks[0], &get[i], 1, i, 300000 + 200000 * i, 150000 * !!i), 0);
	for (int i = 0; i < 3; i++)
		until_done(2, &get[i]);
	for (size_t i = 1; i < 3; i++)
		ck_assert_int_eq(memcmp(ranks[0].data + 300000 + 200000 * i, ranks[0].data, 150000),
				 0);
	ck_assert_int_eq(post_get(&ranks[0], &own, 0, 0, 900000, 7), 0);
	ck_assert_int_eq(own.state, NB_GIN_DONE);
	ck_assert_int_eq(ranks[0].data[900006], 'g');
	ranks_close(2);
}

TEST(message_numbers_wrap)
{
	static struct nb_gin_message o[64];
	struct nb_gin_tcp *a, *b;

	ranks_open(2);
	/* let the announcements pass first */
	for (int i = 0; i < 50; i++)
		turn(2);
	a = ranks[0].coll;
	b = ranks[1].coll;
	ck_assert_uint_eq(a->peer[1].sent, b->peer[0].received);
	a->peer[1].sent = b->peer[0].received = UINT32_MAX - 20;
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(post_signal(&ranks[0], &o[i], 1, 0, 0, 0, 0), 0);
	while (read_signal(&ranks[1], 0) < 64)
		turn(2);
	ranks_close(2);
	ck_assert_str_eq(said, "");
}

TEST(regions_come_and_go_while_others_are_used)
{
	enum { TIMES = NB_GIN_CHUNK * 3 };
	struct nb_gin_message o;
	void *mh[2];

	ranks_open(2);
	for (int i = 0; i < TIMES; i++) {
		char own[2][64];

		for (int r = 0; r < 2; r++)
			mh[r] = registered(&ranks[r], own[r], 64);
		ck_assert_ptr_eq(mh[0], mh[1]);
		for (int r = 0; r < 2; r++)
			ck_assert_int_eq(t->dereg_mr(ranks[r].coll, mh[r]), 0);
		ck_assert_int_eq(t->dereg_mr(ranks[0].coll, mh[0]), NB_NET_ARGUMENT);
		turn(2);
	}
	ck_assert_int_eq(post_signal(&ranks[0], &o, 1, 100, 0, 0, 0), 0);
	while (!read_signal(&ranks[1], 0))
		turn(2);
	ranks_close(2);
}

TEST(memory_that_the_cpu_cannot_read_is_refused)
{
	struct nb_gin_memory m = { .size = 4096, .type = NB_NET_CUDA_MEMORY };
	void *mh = NULL, *gh = NULL;

	ranks_open(1);
	m.data = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(m.data, MAP_FAILED);
	ck_assert_int_eq(t->reg_mr(ranks[0].coll, &m, &mh, &gh), NB_NET_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(said, "the CPU cannot read them"));
	munmap(m.data, 4096);
	ranks_close(1);
}

/* NCCL_NET_PLUGIN=tcp alone: NCCL's own GIN, over InfiniBand, stays in use. */
TEST(there_are_devices_only_if_a_variable_asks_for_gin)
{
	static const char *const asks[][2] = {
		{ "NCCL_GIN_PLUGIN", "tcp" },
		{ "NCCL_RMA_PLUGIN", "tcp" },
		{ "NCCLBPF_GIN", "on" },
		{ "NCCLBPF_CHAIN_GIN", "tcp" },
	};
	static const char *const refusals[] = { "None", "none", "off", "none" };
	void *ctx = &ctx;
	int n = 1, none = 1;

	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	for (int i = 0; i < 4; i++)
		setenv(asks[i][0], refusals[i], 1);
	ck_assert_int_eq(t->init(&ctx, 7, NULL), 0);
	ck_assert_ptr_null(ctx);
	ck_assert_int_eq(t->devices(&n), 0);
	ck_assert_int_eq(n, 0);
	for (int i = 0; i < 4; i++) {
		setenv(asks[i][0], asks[i][1], 1);
		ck_assert_int_eq(t->devices(&n), 0);
		ck_assert_int_gt(n, 0);
		ck_assert_int_eq(t->init(&ctx, 7, NULL), 0);
		ck_assert_ptr_nonnull(ctx);
		t->finalize(ctx);
		unsetenv(asks[i][0]);
		ck_assert_int_eq(t->devices(&none), 0);
		ck_assert_int_eq(none, 0);
	}
}

TEST(a_window_that_cannot_be_written_is_refused)
{
	struct nb_gin_memory m = { .size = 8192, .type = NB_NET_HOST_MEMORY };
	void *mh = NULL, *gh = NULL;
	char *at;

	ranks_open(1);
	m.data = at =
		mmap(NULL, m.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(m.data, MAP_FAILED);
	at[0] = 'a';
	at[m.size - 1] = 'z';
	ck_assert_int_eq(t->reg_mr(ranks[0].coll, &m, &mh, &gh), 0);
	ck_assert_int_eq(at[0], 'a');
	ck_assert_int_eq(at[m.size - 1], 'z');
	ck_assert_str_eq(said, "");
	for (int page = 0; page < 2; page++) {
		mprotect(at, m.size, PROT_READ | PROT_WRITE);
		mprotect(at + 4096 * page, 4096, PROT_READ);
		ck_assert_int_eq(t->reg_mr(ranks[0].coll, &m, &mh, &gh), NB_NET_ARGUMENT);
		ck_assert_ptr_nonnull(strstr(said, "the CPU cannot write them"));
		said[0] = '\0';
	}
	munmap(m.data, m.size);
	ranks_close(1);
}

TEST(windows_of_different_size_are_reported)
{
	char own[200];

	ranks_open(2);
	registered(&ranks[0], own, 64);
	registered(&ranks[1], own + 64, 128);
	while (!strstr(said, "has 128 bytes on rank 1 and 64 on rank 0"))
		turn(2);
	/* once a peer */
	registered(&ranks[0], own, 32);
	registered(&ranks[1], own + 64, 136);
	for (int i = 0; i < 50; i++)
		turn(2);
	ck_assert_ptr_null(strstr(said, "136 bytes"));
	ranks_close(2);
}

TEST(one_rank_may_close_before_the_other)
{
	struct nb_gin_message o, late;

	ranks_open(2);
	memset(ranks[0].data, 'c', 1000);
	ck_assert_int_eq(post_signal(&ranks[0], &o, 1, 1000, 0, 0, 0), 0);
	rank_close(&ranks[0]); /* sends what is queued */
	while (!read_signal(&ranks[1], 0))
		ck_assert_int_eq(t->progress(ranks[1].coll, NULL), 0);
	ck_assert_int_eq(ranks[1].data[999], 'c');
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(t->progress(ranks[1].coll, NULL), 0);
	ck_assert_str_eq(said, "");
	/* but it cannot take a put any more */
	ck_assert_int_eq(post_put(&ranks[1], &late, 0, 0, 0, 8), NB_NET_REMOTE);
	ck_assert_ptr_nonnull(strstr(said, "rank 0, which has closed its end"));
	rank_close(&ranks[1]);
}

static bool stop;

/* Puts to rank 0 as long as it takes them, and reads what comes. */
static void *put_and_serve(void *arg)
{
	struct rank *r = arg;
	struct nb_gin_message o = { .state = NB_GIN_DONE };
	int rc = 0;

	usleep(50000); /* the other rank closes meanwhile */
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		if (!rc && o.state != NB_GIN_POSTED)
			rc = post_put(r, &o, 0, 0, 8, 8);
		t->progress(r->coll, NULL);
	}
	return NULL;
}

/* What comes for a closed connection makes the kernel discard what it has not
 * sent. _i 0: it could send all at once, 1: it could not. */
TEST_EACH(all_arrives_though_the_peer_sends_to_a_closing_rank, 0, 2)
{
	enum { N = 16 };
	static struct nb_gin_message o[N];
	const size_t size = _i ? 5000 : 100000;
	pthread_t thread;

	nb_gin_tcp_conf.close_ns = UINT64_C(60000000000);
	nb_tcp_conf.buffer = _i ? 32768 : 0;
	ranks_open(2);
	stop = false;
	for (int i = 0; i < N; i++)
		ck_assert_int_eq(post_signal(&ranks[0], &o[i], 1, size, 0, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, put_and_serve, &ranks[1]), 0);
	rank_close(&ranks[0]);
	while (read_signal(&ranks[1], 0) < N)
		sched_yield();
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	rank_close(&ranks[1]);
}

// clang-format off
UNIT_MAIN("gin")
