// SPDX-License-Identifier: MIT
// The tap between a program that opens libibverbs as NCCL does and the virtual
// adapter: what programs of verbs/... are told, and that the caller gets what
// the adapter said. LD_LIBRARY_PATH names the tap's folder, then the adapter's.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fakes/verbs/check.h"

/* ---- claims ---- */

static void life_of_a_queue_pair(void)
{
	static struct pair p;
	const struct ncclbpf_verbs_qp *q = told.qp;
	uint32_t first, second;
	bool good;

	listen_to(BIT(QP));
	if (!pair_new(&p)) {
		ok(false, "a pair of queue pairs");
		return;
	}
	first = p.qp[0]->qp_num;
	second = p.qp[1]->qp_num;
	ok(told.nqp == 14 && q[0].phase == 0 && q[0].qp == first && q[1].phase == 0 &&
		   q[1].qp == second,
	   "two are created; each has three changes, told before and after");
	good = true;
	for (int i = 0; i < 6; i++) {
		const struct ncclbpf_verbs_qp *c = &q[2 + i];

		good &= c->qp == first && c->phase == (i & 1 ? 2u : 1u) &&
			c->from == (uint32_t)i / 2 && c->to == (uint32_t)i / 2 + 1 && !c->error;
	}
	ok(good, "RESET to INIT, RTR and RTS, in order");
	ok(!q[2].peer_qp && q[4].peer_qp == second && q[4].mtu == 4096 && q[4].gid &&
		   q[6].peer_qp == second,
	   "RTR tells the peer's queue pair number, GID and MTU");
	ok(to_rts(p.qp[0]) == EINVAL && told.nqp == 16 && q[15].error == EINVAL &&
		   q[15].from == 3 && sums().failed_changes == 1,
	   "a change that the adapter refuses: told, counted, returned");
	pair_free(&p);
	ok(told.nqp == 18 && q[16].phase == 3 && q[16].qp == first && q[17].qp == second &&
		   !sums().live_qps,
	   "and before they are destroyed");
}

static void values_of_a_policy(void)
{
	static struct pair p;

	listen_to(BIT(QP));
	answering = true;
	answer = (struct ncclbpf_verbs_qp){ 0,
					    .traffic_class = 105,
					    .sl = 3,
					    .min_rnr_timer = 9,
					    .timeout = 20,
					    .retry_cnt = 5,
					    .rnr_retry = 6 };
	ok(pair_new(&p) && sums().tuned == 4 && !sums().refused,
	   "a policy's values are used at RTR and at RTS");
	pair_free(&p);
	setenv("VHCA_MAX_TIMEOUT", "18", 1);
	ok(pair_new(&p) && sums().tuned == 6 && sums().undone == 2,
	   "those that the adapter refuses: the change is made with NCCL's");
	pair_free(&p);
	unsetenv("VHCA_MAX_TIMEOUT");
	answer = (struct ncclbpf_verbs_qp){ 0,
					    .traffic_class = 256,
					    .sl = 16,
					    .min_rnr_timer = 32,
					    .timeout = 32,
					    .retry_cnt = 8,
					    .rnr_retry = -2 };
	ok(pair_new(&p) && sums().tuned == 6 && sums().refused == 12,
	   "values out of range are counted and not used");
	pair_free(&p);
	answering = false;
}

static void posts_and_completions(void)
{
	static struct pair p;
	const struct ncclbpf_verbs_post *c = told.post;
	const struct ncclbpf_verbs_done *d = told.done;
	struct ibv_wc wc;

	listen_to(BIT(POST) | BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	memset(p.data[0], 7, ROOM);
	receive(&p, 50);
	send_bytes(&p, 100, 1, 0, IBV_WR_RDMA_WRITE);
	send_bytes(&p, 200, 2, 0, IBV_WR_RDMA_WRITE);
	send_bytes(&p, 300, 3, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE_WITH_IMM);
	ok(told.npost == 4 && !c[0].send && c[1].send && c[1].bytes == 100 && !c[1].signaled &&
		   c[3].signaled == 1 && c[3].opcode == 1 && c[3].outstanding == 3 && c[3].ns &&
		   c[3].requests == 1,
	   "each post with its bytes, its kind and what it took");
	wc = poll_one(p.cq[0]);
	ok(wc.wr_id == 3 && !wc.status && told.ndone == 1 && d[0].send && d[0].retired == 3 &&
		   d[0].bytes == 600 && d[0].ns && !d[0].outstanding && d[0].qp == p.qp[0]->qp_num,
	   "a completion ends the posts before it that have none");
	wc = poll_one(p.cq[1]);
	ok(wc.wr_id == 50 && told.ndone == 2 && !d[1].send && d[1].bytes == 300 &&
		   d[1].retired == 1 && d[1].ns && !memcmp(p.data[0], p.data[1], 300),
	   "a receive with its bytes, and they are there");
	listen_to(0);
	send_bytes(&p, 10, 4, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	listen_to(BIT(DONE));
	wc = poll_one(p.cq[0]);
	ok(wc.wr_id == 4 && told.ndone == 1 && !d[0].ns && d[0].bytes == 10,
	   "of a post before the program came the bytes are known, the time is "
	   "not");
	pair_free(&p);
}

static void post_refused(void)
{
	struct ibv_qp_init_attr want = { .qp_type = IBV_QPT_RC, .cap = { 16, 16, 1, 1, 0 } };
	static struct pair p;

	listen_to(BIT(POST));
	p.cq[0] = v.create_cq(device, 64, NULL, NULL, 0);
	p.mr[0] = p.mr[1] = v.reg_mr(pd, p.data[0], ROOM, BOTH);
	want.send_cq = want.recv_cq = p.cq[0];
	p.qp[0] = v.create_qp(pd, &want);
	ok(p.qp[0] && send_bytes(&p, 1, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) == EINVAL &&
		   told.npost == 1 && told.post[0].error == EINVAL && !told.post[0].requests &&
		   !told.post[0].outstanding,
	   "a post that the adapter refuses is not outstanding");
	v.destroy_qp(p.qp[0]);
	v.destroy_cq(p.cq[0]);
	v.dereg_mr(p.mr[0]);
}

static void fault_told(const char *what, enum ibv_wc_status status)
{
	static struct pair p;
	struct nb_tap_sums before = sums();
	char name[128];
	struct ibv_wc wc;

	listen_to(BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, what);
		return;
	}
	receive(&p, 60);
	fault_next(what);
	send_bytes(&p, 8, 61, 0, IBV_WR_RDMA_WRITE_WITH_IMM);
	wc = poll_one(p.cq[0]);
	snprintf(name, sizeof(name), "%s: the program and the caller see status %d", what, status);
	ok(wc.status == status && wc.wr_id == 61 && told.ndone == 1 &&
		   told.done[0].status == (uint32_t)status && told.done[0].send &&
		   told.done[0].retired == 1 && !told.done[0].bytes &&
		   told.done[0].vendor_error == 0x76 && sums().errors == before.errors + 1,
	   name);
	fault_next(NULL);
	send_bytes(&p, 8, 62, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	wc = poll_one(p.cq[0]);
	snprintf(name, sizeof(name), "%s: what is posted then is flushed", what);
	ok(wc.status == IBV_WC_WR_FLUSH_ERR && told.done[1].status == 5, name);
	pair_free(&p);
}

static void completion_lost(void)
{
	static struct pair p;
	struct ibv_wc wc;

	listen_to(BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	receive(&p, 69);
	fault_next("lost");
	send_bytes(&p, 8, 70, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE_WITH_IMM);
	ok(ibv_poll_cq(p.cq[0], 1, &wc) == 0 && !told.ndone,
	   "a completion that never comes is not told");
	fault_next(NULL);
	send_bytes(&p, 8, 71, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	wc = poll_one(p.cq[0]);
	ok(wc.wr_id == 71 && told.ndone == 1 && told.done[0].outstanding == 1,
	   "and its post stays outstanding");
	pair_free(&p);
}

static struct nb_tap_qp_view waiting;

static bool keep_waiting(const struct nb_tap_qp_view *view, void *n)
{
	waiting = *view;
	++*(int *)n;
	return true;
}

/* How many queue pairs are newly reported as waiting for so long? */
static int watched(uint64_t limit_ns)
{
	int n = 0;

	tap->watch(limit_ns, keep_waiting, &n);
	return n;
}

struct outstanding {
	uint32_t qp;
	uint64_t n;
};

static bool add_outstanding(const struct nb_tap_qp_view *view, void *arg)
{
	struct outstanding *o = arg;

	if (view->qp == o->qp)
		o->n += view->outstanding[0] + view->outstanding[1];
	return true;
}

/* How many work requests of @qp have not completed? */
static uint64_t outstanding_of(const struct ibv_qp *qp)
{
	struct outstanding o = { qp->qp_num, 0 };

	tap->qps(add_outstanding, &o);
	return o.n;
}

static void completion_awaited(void)
{
	enum { LONG = 1000000000 };
	static struct pair p;
	struct ibv_send_wr *bad;
	struct ibv_sge pieces[8] = { { 0 } };
	struct ibv_send_wr too_many = { .wr_id = 77,
					.sg_list = pieces,
					.num_sge = 8,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	listen_to(0);
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	receive(&p, 73);
	send_bytes(&p, 8, 74, 0, IBV_WR_RDMA_WRITE);
	ok(ibv_post_send(p.qp[0], &too_many, &bad) == EINVAL && !watched(0) && !watched(0) &&
		   !sums().stalled,
	   "a send without a completion, and a refused one: nobody waits");
	fault_next("lost");
	send_bytes(&p, 8, 75, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE_WITH_IMM);
	fault_next(NULL);
	ok(!watched(0) && !watched(LONG * UINT64_C(1000)) && !sums().stalled,
	   "a send with one: not long yet");
	ok(watched(1) == 1 && waiting.qp == p.qp[0]->qp_num && waiting.peer_qp == p.qp[1]->qp_num &&
		   waiting.outstanding[1] == 2 && waiting.waiting_ns && sums().stalled == 1,
	   "a lost completion: the queue pair that waits, and its peer");
	ok(!watched(1) && sums().stalled == 1, "it is reported once");
	send_bytes(&p, 8, 76, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	ok(poll_one(p.cq[0]).wr_id == 76 && !watched(1) && !sums().stalled,
	   "and no more after the next completion");
	fault_next("lost");
	send_bytes(&p, 8, 78, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	fault_next(NULL);
	ok(watched(0) == 1 && !v.modify_qp(p.qp[0], &reset, IBV_QP_STATE) && !watched(0) &&
		   !watched(0) && !sums().stalled && !outstanding_of(p.qp[0]),
	   "nor after a reset, which removes what is outstanding");
	pair_free(&p);
	ok(!watched(0) && !watched(0), "destroyed queue pairs do not wait");
}

static void asynchronous_event(void)
{
	static struct pair p;
	struct ibv_async_event e;
	struct ibv_wc wc;

	listen_to(BIT(EVENT) | BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	fault_next("fatal");
	send_bytes(&p, 8, 80, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	fault_next(NULL);
	wc = poll_one(p.cq[0]);
	ok(!v.get_async_event(device, &e) && e.event_type == IBV_EVENT_QP_FATAL &&
		   told.nevent == 1 && told.event[0].event == 1 &&
		   told.event[0].qp == p.qp[0]->qp_num && !told.event[0].port &&
		   wc.status == IBV_WC_GENERAL_ERR,
	   "an asynchronous event with its queue pair");
	pair_free(&p);
}

static void regions(void)
{
	static char data[8192];
	struct nb_tap_sums before = sums();
	struct ibv_mr *a, *b;

	listen_to(BIT(MR));
	a = v.reg_mr(pd, data, 4096, BOTH);
	b = v.reg_mr_iova2(pd, data, 8192, (uintptr_t)data, BOTH | IBV_ACCESS_RELAXED_ORDERING);
	ok(a && b && told.nmr == 2 && told.mr[0].bytes == 4096 && told.mr[0].lkey == a->lkey &&
		   told.mr[1].bytes == 8192 && told.mr[1].registered && told.mr[0].ns &&
		   sums().region_bytes == before.region_bytes + 12288,
	   "regions, also where libibverbs is older than ibv_reg_mr_iova2");
	errno = 0;
	ok(!v.reg_dmabuf_mr(pd, 0, 4096, 0, -1, BOTH) && errno == EOPNOTSUPP && told.nmr == 3 &&
		   told.mr[2].error == EOPNOTSUPP && told.mr[2].dmabuf,
	   "DMA-BUF is not promised where libibverbs has none");
	v.dereg_mr(a);
	v.dereg_mr(b);
	ok(told.nmr == 5 && !told.mr[3].registered && told.mr[3].bytes == 4096 &&
		   sums().regions == before.regions,
	   "and their end");
}

/* An adapter that takes more posts than it said, without completions. */
static void beyond_the_queue(void)
{
	static struct pair p;
	struct nb_tap_sums before = sums();
	struct ibv_wc wc;

	listen_to(BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	for (int i = 0; i < 100; i++)
		send_bytes(&p, 8, (uint64_t)i, 0, IBV_WR_RDMA_WRITE);
	ok(sums().overflows == before.overflows + 84, "posts beyond the queue's size are counted");
	send_bytes(&p, 8, 100, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	wc = poll_one(p.cq[0]);
	ok(wc.wr_id == 100 && told.done[0].retired == 16 && !told.done[0].outstanding,
	   "and a completion ends those that are remembered");
	pair_free(&p);
}

static bool count_qp(const struct nb_tap_qp_view *q, void *arg)
{
	int *n = arg;

	*n += q->state == 3 && q->ready_ns && !strcmp(q->device_name, "vhca0");
	return true;
}

static void *many(void *arg)
{
	static _Thread_local struct pair p;
	intptr_t sent = 0;
	struct ibv_wc wc;

	(void)arg;
	if (!pair_new(&p))
		return (void *)-1;
	for (int i = 0; i < 2000; i++) {
		sent += !send_bytes(&p, 8, (uint64_t)i, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
		wc = poll_one(p.cq[0]);
		sent -= wc.status || wc.wr_id != (uint64_t)i ? 10000 : 0;
	}
	pair_free(&p);
	return (void *)sent;
}

static void threads(void)
{
	struct nb_tap_sums before = sums(), after;
	pthread_t t[4];
	bool good = true;
	void *sent;
	int n = 0;

	listen_to(0);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many, NULL);
	for (int i = 0; i < 50; i++)
		tap->qps(count_qp, &n);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &sent);
		good &= (intptr_t)sent == 2000;
	}
	after = sums();
	ok(good && after.posts[1] == before.posts[1] + 8000 &&
		   after.completions[1] == before.completions[1] + 8000 &&
		   after.bytes[1] == before.bytes[1] + 64000 && after.strays == before.strays &&
		   !after.unseen && after.overflows == before.overflows,
	   "four threads with queue pairs of their own: nothing lost");
}

int main(void)
{
	struct ibv_device **list;
	static struct pair p;
	int n = 0;
	bool found = find_all();

	ok(found, "all functions are found as NCCL looks them up");
	if (!found)
		return 1;
	list = v.get_device_list(&n);
	device = n ? v.open_device(list[0]) : NULL;
	v.free_device_list(list);
	pd = device ? v.alloc_pd(device) : NULL;
	ok(pd != NULL && sums().devices == 1, "an adapter is opened");
	if (!pd)
		return 1;
	ok(pair_new(&p) && !send_bytes(&p, 5, 9, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
		   poll_one(p.cq[0]).wr_id == 9 && sums().posts[1] == 1 &&
		   sums().completions[1] == 1,
	   "nobody listens: all is passed on and counted");
	n = 0;
	tap->qps(count_qp, &n);
	ok(n == 2, "queue pairs are listed");
	pair_free(&p);
	tap->attach(&sink);
	life_of_a_queue_pair();
	values_of_a_policy();
	posts_and_completions();
	post_refused();
	fault_told("retry", IBV_WC_RETRY_EXC_ERR);
	fault_told("rnr", IBV_WC_RNR_RETRY_EXC_ERR);
	fault_told("access", IBV_WC_REM_ACCESS_ERR);
	completion_lost();
	completion_awaited();
	asynchronous_event();
	regions();
	beyond_the_queue();
	threads();
	hostile_adapter();
	work_on_adapters();
	tap->attach(NULL);
	return checks_end();
}
