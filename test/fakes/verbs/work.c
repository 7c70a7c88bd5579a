// SPDX-License-Identifier: MIT
// Work on several adapters, in lists, and while programs come and go.
#include <pthread.h>
#include <string.h>

#include "test/fakes/verbs/check.h"

/* A second context of the adapter has its own number and its own queues. */
static void second_adapter(void)
{
	struct ibv_context *first = device;
	struct ibv_pd *first_pd = pd, *second_pd;
	struct ibv_context *second;
	static struct pair here, there;
	struct ibv_device **list = v.get_device_list(NULL);
	struct nb_tap_sums before;
	struct ibv_wc wc = { 0 };

	listen_to(BIT(POST) | BIT(DONE));
	device = v.open_device(list[0]);
	pd = device ? v.alloc_pd(device) : NULL;
	ok(pd && pair_new(&there), "an adapter is opened again");
	second = device;
	second_pd = pd;
	device = first;
	pd = first_pd;
	if (!there.qp[1] || !pair_new(&here))
		return;
	before = sums();
	ok(!ibv_poll_cq(there.cq[0], 1, &wc) &&
		   !send_bytes(&there, 9, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
		   !ibv_poll_cq(here.cq[0], 1, &wc) && poll_one(there.cq[0]).wr_id == 1 &&
		   told.npost == 1 && told.post[0].device == 1 && told.ndone == 1 &&
		   told.done[0].device == 1 && told.done[0].bytes == 9,
	   "its work is told with its own number");
	ok(!send_bytes(&here, 5, 2, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
		   poll_one(here.cq[0]).wr_id == 2 && !told.post[1].device &&
		   !told.done[1].device && sums().devices == 2 &&
		   sums().completions[1] == before.completions[1] + 2,
	   "and the first one's with the first number");
	pair_free(&here);
	pair_free(&there);
	v.free_device_list(list);
	ok(!v.dealloc_pd(second_pd) && !v.close_device(second) && pair_new(&here) &&
		   !send_bytes(&here, 5, 3, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
		   poll_one(here.cq[0]).wr_id == 3,
	   "the second is closed: the first goes on");
	pair_free(&here);
}

/*
 * The first eight adapters have a poll function each, the others share one. Two
 * of these are open at once, and its search must tell them apart.
 */
static void ninth_adapter(void)
{
	enum { ADAPTERS = 10, SHARED = 8, OPENED = 1 };
	struct ibv_context *first = device, *opened[ADAPTERS];
	struct ibv_pd *first_pd = pd, *pds[ADAPTERS];
	static struct pair p;
	struct ibv_wc wc = { 0 };
	struct ibv_device **list = v.get_device_list(NULL);
	bool good = sums().devices == OPENED + 1, closed = true;
	int shared = 0;

	for (int i = OPENED; i < ADAPTERS && good; i++) {
		opened[i] = v.open_device(list[0]);
		pds[i] = opened[i] ? v.alloc_pd(opened[i]) : NULL;
		good = pds[i] != NULL;
	}
	v.free_device_list(list);
	ok(good && sums().devices == ADAPTERS, "ten adapters were opened");
	for (uint32_t i = SHARED; i < ADAPTERS && good; i++) {
		struct nb_tap_sums before = sums();

		listen_to(BIT(POST) | BIT(DONE));
		device = opened[i];
		pd = pds[i];
		shared += pair_new(&p) && !ibv_poll_cq(p.cq[0], 1, &wc) &&
			  !send_bytes(&p, 9 + i, i, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
			  poll_one(p.cq[0]).wr_id == i && told.ndone == 1 &&
			  told.done[0].device == i && told.done[0].bytes == 9 + i &&
			  sums().completions[1] == before.completions[1] + 1;
		pair_free(&p);
	}
	ok(shared == ADAPTERS - SHARED,
	   "those after the eighth are polled, each with its own number");
	device = first;
	pd = first_pd;
	for (int i = OPENED; i < ADAPTERS && good; i++)
		closed &= !v.dealloc_pd(pds[i]) && !v.close_device(opened[i]);
	ok(closed, "they are closed");
}

/* Send 9 bytes over @c. True if the adapter with number @number reports them. */
static bool told_by(struct ibv_context *c, uint32_t number)
{
	struct ibv_context *first = device;
	struct ibv_pd *first_pd = pd;
	static struct pair p;
	bool sent, told_so;

	device = c;
	pd = v.alloc_pd(c);
	listen_to(BIT(POST) | BIT(DONE));
	sent = pd && pair_new(&p) && !send_bytes(&p, 9, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
	       poll_one(p.cq[0]).wr_id == 1;
	told_so = told.ndone == 1 && told.done[0].device == number && told.done[0].bytes == 9;
	if (sent)
		pair_free(&p);
	v.dealloc_pd(pd);
	device = first;
	pd = first_pd;
	return sent && told_so;
}

/* An adapter that is opened again and again stays in sight. */
static void opened_often(void)
{
	enum { ROOM_FOR = 64, TIMES = 200 };
	struct ibv_device **list = v.get_device_list(NULL);
	struct ibv_context *c, *open[ROOM_FOR];
	struct nb_tap_sums before = sums();
	bool good = true;

	for (int i = 0; i < TIMES; i++) {
		c = v.open_device(list[0]);
		good &= c && !v.close_device(c);
	}
	ok(good && sums().devices == before.devices && !sums().beyond,
	   "an adapter that is closed and opened keeps its entry");
	/* one has been open all the time */
	for (int i = 1; i < ROOM_FOR; i++)
		open[i] = v.open_device(list[0]);
	ok(sums().devices == ROOM_FOR && !sums().beyond && told_by(open[1], 1) &&
		   told_by(open[ROOM_FOR - 1], 63),
	   "64 contexts are told of");
	c = v.open_device(list[0]);
	ok(c && sums().beyond == 1 && !told_by(c, 0) && !v.close_device(c),
	   "one more is counted as not seen");
	for (int i = 1; i < ROOM_FOR; i++)
		good &= !v.close_device(open[i]);
	c = v.open_device(list[0]);
	ok(good && c && told_by(c, 1) && sums().beyond == 1,
	   "and one after they were closed is told of");
	v.close_device(c);
	v.free_device_list(list);
}

/* A list of three sends, the last of which has more pieces than is allowed. */
static void lists(void)
{
	static struct pair p;
	struct ibv_sge piece[8] = { { 0 } };
	struct ibv_send_wr w[3], *bad = NULL;
	struct ibv_recv_wr r[2] = { { .wr_id = 7 }, { .wr_id = 8 } };
	struct ibv_recv_wr *bad_receive = NULL;
	struct nb_tap_sums before;

	listen_to(BIT(POST) | BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	before = sums();
	for (int i = 0; i < 3; i++) {
		piece[i] = (struct ibv_sge){ (uintptr_t)p.data[0], (uint32_t)i + 1, p.mr[0]->lkey };
		w[i] = (struct ibv_send_wr){ .wr_id = (uint64_t)i,
					     .next = i < 2 ? &w[i + 1] : NULL,
					     .sg_list = &piece[i],
					     .num_sge = 1,
					     .opcode = IBV_WR_RDMA_WRITE };
		w[i].wr.rdma.remote_addr = (uintptr_t)p.data[1];
		w[i].wr.rdma.rkey = p.mr[1]->rkey;
	}
	w[1].send_flags = IBV_SEND_SIGNALED;
	w[2].num_sge = 5;
	ok(ibv_post_send(p.qp[0], w, &bad) && bad == &w[2] && told.npost == 1 &&
		   told.post[0].error && told.post[0].requests == 2 && told.post[0].bytes == 3 &&
		   told.post[0].signaled == 1 && sums().posts[1] == before.posts[1] + 2,
	   "of a list the adapter refuses the last: the others are posted");
	ok(poll_one(p.cq[0]).wr_id == 1 && told.ndone == 1 && told.done[0].retired == 2 &&
		   told.done[0].bytes == 3 && !told.done[0].outstanding,
	   "and complete");
	r[0].next = &r[1];
	ok(!ibv_post_recv(p.qp[1], r, &bad_receive) && !bad_receive && told.npost == 2 &&
		   !told.post[1].send && told.post[1].requests == 2 && told.post[1].signaled == 2 &&
		   told.post[1].outstanding == 2,
	   "a list of receives is one call");
	pair_free(&p);
}

/* No clock is read for programs that read no times. */
static void untimed(void)
{
	static struct pair p;

	listen_to(BIT(POST) | BIT(DONE));
	ignore_times();
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	send_bytes(&p, 9, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	ok(poll_one(p.cq[0]).wr_id == 1 && told.nuntimed == 2 && told.npost == 1 &&
		   told.post[0].bytes == 9 && !told.post[0].now_ns && !told.post[0].ns &&
		   told.ndone == 1 && told.done[0].bytes == 9 && !told.done[0].now_ns &&
		   !told.done[0].ns,
	   "programs that read no times get none");
	send_bytes(&p, 9, 2, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	listen_to(BIT(POST) | BIT(DONE));
	ok(poll_one(p.cq[0]).wr_id == 2 && !told.nuntimed && told.done[0].now_ns &&
		   !told.done[0].ns,
	   "of a post before such a program came the time is not known");
	pair_free(&p);
}

/* ---- programs that come and go ---- */

enum { SENDERS = 3, SENDS = 3000 };

static uint32_t wanted;	    /* hooks with programs */
static uint64_t seen[2];    /* posts and completions that were told */
static uint64_t told_twice; /* of them, those told a second time */
/*
 * Each call of a sender has another number, and tells of at most one post or
 * completion. The program runs in the thread that calls.
 */
static _Thread_local uint64_t call, told_at[2];

static void count(enum nb_hook hook, void *ctx, uint64_t size)
{
	uint64_t *at = &told_at[hook == NB_HOOK_VERBS_DONE];

	(void)ctx, (void)size;
	if (hook != NB_HOOK_VERBS_POST && hook != NB_HOOK_VERBS_DONE)
		return;
	if (*at == call)
		__atomic_fetch_add(&told_twice, 1, __ATOMIC_RELAXED);
	*at = call;
	__atomic_fetch_add(&seen[hook == NB_HOOK_VERBS_DONE], 1, __ATOMIC_RELAXED);
}

static const struct nb_tap_sink counting = { &wanted, &wanted, count, count };

static void *sender(void *arg)
{
	static _Thread_local struct pair p;
	intptr_t wrong = 0;

	(void)arg;
	if (!pair_new(&p))
		return (void *)1;
	for (uint64_t i = 0; i < SENDS; i++) {
		if (i % 500 == 499) {
			pair_free(&p);
			if (!pair_new(&p))
				return (void *)2;
		}
		call++;
		wrong += send_bytes(&p, 8, i, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) != 0;
		wrong += poll_one(p.cq[0]).wr_id != i;
	}
	pair_free(&p);
	return (void *)wrong;
}

static bool look(const struct nb_tap_qp_view *q, void *arg)
{
	*(uint64_t *)arg += q->posts[1] + q->outstanding[0];
	return true;
}

static void programs_come_and_go(void)
{
	static const uint32_t turns[] = { BIT(POST), BIT(DONE), 0,
					  BIT(POST) | BIT(DONE) | BIT(QP) };
	struct nb_tap_sums before = sums(), after;
	pthread_t t[SENDERS];
	uint64_t sum = 0;
	intptr_t wrong = 0;
	void *result;

	/* What check.c keeps is for one thread: its sink goes first. */
	tap->attach(NULL);
	for (int i = 0; i < SENDERS; i++)
		pthread_create(&t[i], NULL, sender, NULL);
	for (int i = 0; i < 400; i++) {
		__atomic_store_n(&wanted, turns[i % 4], __ATOMIC_RELAXED);
		tap->attach(i % 5 ? &counting : NULL);
		tap->qps(look, &sum);
		tap->sums(&after);
	}
	__atomic_store_n(&wanted, BIT(POST) | BIT(DONE), __ATOMIC_RELAXED);
	tap->attach(&counting);
	for (int i = 0; i < SENDERS; i++) {
		pthread_join(t[i], &result);
		wrong += (intptr_t)result;
	}
	after = sums();
	ok(!wrong && after.posts[1] == before.posts[1] + SENDERS * SENDS &&
		   after.completions[1] == before.completions[1] + SENDERS * SENDS &&
		   after.live_qps == before.live_qps && after.strays == before.strays &&
		   after.unseen == before.unseen && after.overflows == before.overflows,
	   "programs come and go below three threads: every post is counted");
	seen[0] = seen[1] = 0;
	ok(!told_twice && !sender(NULL) && !told_twice && seen[0] == SENDS && seen[1] == SENDS,
	   "none is told twice, and all while the programs stay");
	tap->attach(&sink);
}

void work_on_adapters(void)
{
	second_adapter();
	ninth_adapter();
	opened_often();
	lists();
	untimed();
	programs_come_and_go();
	listen_to(0);
}
