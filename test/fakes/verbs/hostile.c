// SPDX-License-Identifier: MIT
// An adapter that fails everywhere or says what is not true: the tap passes on
// what it said, counts it, and its own records stay right. And the virtual
// adapter's own checks, without which the claims about faults mean nothing.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fakes/verbs/check.h"

static void fails_everywhere(void)
{
	struct ibv_qp_init_attr want = { .qp_type = IBV_QPT_RC, .cap = { 16, 16, 1, 1, 0 } };
	static struct pair p;
	static char data[64];
	struct nb_tap_sums before;
	struct ibv_async_event e;
	struct ibv_wc wc;

	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	want.send_cq = want.recv_cq = p.cq[0];
	listen_to(~0u);
	before = sums();
	setenv("VHCA_BROKEN", "all", 1);
	ok(!v.create_qp(pd, &want) && !v.reg_mr(pd, data, sizeof(data), BOTH) && errno == EIO &&
		   !told.nqp && told.nmr == 1 && told.mr[0].error == EIO && !told.mr[0].lkey,
	   "no queue pair and no region: the caller gets the errno");
	ok(to_rts(p.qp[0]) == EIO && told.nqp == 2 && told.qp[1].error == EIO &&
		   sums().failed_changes == before.failed_changes + 1,
	   "no change of state: told and counted");
	ok(send_bytes(&p, 8, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) == EIO &&
		   receive(&p, 2) == EIO && told.npost == 2 && told.post[0].error == EIO &&
		   !told.post[0].requests && !told.post[1].outstanding &&
		   sums().posts[0] == before.posts[0] && sums().posts[1] == before.posts[1],
	   "no post, and not said which: none is outstanding");
	ok(ibv_poll_cq(p.cq[0], 1, &wc) == -1 && !told.ndone &&
		   v.get_async_event(device, &e) == -1 && !told.nevent,
	   "no completion and no event");
	ok(v.dereg_mr(p.mr[0]) == EIO && sums().regions == before.regions,
	   "a region that cannot be deregistered is still one");
	unsetenv("VHCA_BROKEN");
	ok(!send_bytes(&p, 8, 3, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
		   poll_one(p.cq[0]).wr_id == 3 && told.ndone == 1 && told.done[0].retired == 1 &&
		   !told.done[0].outstanding,
	   "and when it works again, all is as before");
	pair_free(&p);
}

/* A failed destroy_qp leaves a queue pair that the tap no longer knows. */
static void unknown_queue_pairs(void)
{
	static struct pair p;
	struct nb_tap_sums before = sums();
	struct ibv_wc wc;

	listen_to(BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	fault_next("unknown");
	send_bytes(&p, 8, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	fault_next(NULL);
	wc = poll_one(p.cq[0]);
	ok(wc.wr_id == 1 && wc.qp_num == (p.qp[0]->qp_num ^ 0x800000) && !told.ndone &&
		   sums().unseen == before.unseen + 1,
	   "a completion of an unknown queue pair: passed on and counted");
	setenv("VHCA_BROKEN", "destroy_qp", 1);
	ok(v.destroy_qp(p.qp[0]) == EIO && sums().live_qps == before.live_qps + 1,
	   "a queue pair that cannot be destroyed: the caller hears it");
	unsetenv("VHCA_BROKEN");
	ok(!send_bytes(&p, 8, 2, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE) &&
		   poll_one(p.cq[0]).wr_id == 2 && !told.ndone &&
		   sums().unseen == before.unseen + 2,
	   "and may go on, not seen any more");
	pair_free(&p);
}

static void false_completions(void)
{
	static struct pair p;
	struct nb_tap_sums before;
	struct ibv_wc wc;

	listen_to(BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	before = sums();
	fault_next("twice");
	send_bytes(&p, 8, 1, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	fault_next(NULL);
	ok(poll_one(p.cq[0]).wr_id == 1 && poll_one(p.cq[0]).wr_id == 1 && told.ndone == 2 &&
		   !told.done[1].retired && !told.done[1].ns && !told.done[1].outstanding &&
		   sums().strays == before.strays + 1,
	   "a completion that comes twice ends nothing the second time");
	send_bytes(&p, 8, 2, 0, IBV_WR_RDMA_WRITE);
	fault_next("garbage");
	send_bytes(&p, 8, 3, IBV_SEND_SIGNALED, IBV_WR_RDMA_WRITE);
	fault_next(NULL);
	wc = poll_one(p.cq[0]);
	ok(wc.status == (enum ibv_wc_status)0xa5a5a5a5u && told.ndone == 3 &&
		   told.done[2].status == 0xa5a5a5a5u && !told.done[2].bytes &&
		   sums().errors == before.errors + 1,
	   "a completion of random bytes is one that failed");
	pair_free(&p);
}

/* ---- who goes past the tap ---- */

static void extended_interface(void)
{
	struct ibv_qp_init_attr_ex want = {
		.qp_type = IBV_QPT_RC,
		.cap = { 16, 16, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_cq_init_attr_ex want_cq = { .cqe = 16 };
	struct nb_tap_sums before = sums();
	struct ibv_cq *cq = v.create_cq(device, 16, NULL, NULL, 0);
	struct verbs_context *x = verbs_get_ctx(device);
	struct ibv_cq_ex *cq_ex = x ? x->create_cq_ex(device, &want_cq) : NULL;
	struct ibv_qp *qp;

	want.send_cq = want.recv_cq = cq;
	want.pd = pd;
	qp = x ? x->create_qp_ex(device, &want) : NULL;
	ok(cq_ex && qp && sums().extended == before.extended + 2 && sums().qps == before.qps,
	   "queues of the extended interface are counted as not seen");
	if (qp)
		v.destroy_qp(qp);
	if (cq_ex)
		v.destroy_cq((struct ibv_cq *)cq_ex);
	v.destroy_cq(cq);
}

/* ---- what the virtual adapter checks ---- */

/* One RDMA WRITE with @rkey to @at: what its completion says. */
static enum ibv_wc_status write_at(struct pair *p, uint32_t lkey, uint64_t at, uint32_t n,
				   uint32_t rkey)
{
	struct ibv_sge piece = { (uintptr_t)p->data[0], n, lkey };
	struct ibv_send_wr w = { .sg_list = &piece,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	w.wr.rdma.remote_addr = at;
	w.wr.rdma.rkey = rkey;
	if (ibv_post_send(p->qp[0], &w, &bad))
		return IBV_WC_GENERAL_ERR;
	return poll_one(p->cq[0]).status;
}

static void adapter_says(const char *name, enum ibv_wc_status want, enum ibv_wc_status got,
			 struct pair *p)
{
	char text[160];

	snprintf(text, sizeof(text), "the adapter refuses %s: status %d", name, want);
	if (got != want)
		printf("# status %d\n", got);
	ok(got == want, text);
	pair_free(p);
}

static void keys_and_rights(void)
{
	static struct pair p;
	struct ibv_pd *other;
	uint64_t at = (uintptr_t)p.data[1];
	uint32_t lkey, rkey;
	struct ibv_mr *m;

	listen_to(0);
#define FRESH                                       \
	if (!pair_new(&p)) {                        \
		ok(false, "a pair");                \
		return;                             \
	}                                           \
	lkey = p.mr[0]->lkey, rkey = p.mr[1]->rkey; \
	(void)lkey, (void)rkey
	FRESH;
	adapter_says("a byte beyond the region", IBV_WC_REM_ACCESS_ERR,
		     write_at(&p, lkey, at + ROOM - 8, 9, rkey), &p);
	FRESH;
	adapter_says("a byte before it", IBV_WC_REM_ACCESS_ERR, write_at(&p, lkey, at - 1, 8, rkey),
		     &p);
	FRESH;
	ok(write_at(&p, lkey, at + ROOM - 8, 8, rkey) == IBV_WC_SUCCESS,
	   "and takes the last bytes of it");
	v.dereg_mr(p.mr[1]);
	p.mr[1] = v.reg_mr(pd, p.data[1], ROOM, BOTH);
	adapter_says("the key of a region that is gone", IBV_WC_REM_ACCESS_ERR,
		     write_at(&p, lkey, at, 8, rkey), &p);
	FRESH;
	m = v.reg_mr(pd, p.data[1], ROOM, IBV_ACCESS_LOCAL_WRITE);
	adapter_says("a write without the right to it", IBV_WC_REM_ACCESS_ERR,
		     write_at(&p, lkey, at, 8, m->rkey), &p);
	v.dereg_mr(m);
	FRESH;
	other = v.alloc_pd(device);
	m = v.reg_mr(other, p.data[1], ROOM, BOTH);
	adapter_says("a key of another protection domain", IBV_WC_REM_ACCESS_ERR,
		     write_at(&p, lkey, at, 8, m->rkey), &p);
	v.dereg_mr(m);
	free(other);
	FRESH;
	adapter_says("a local key of another region", IBV_WC_LOC_PROT_ERR,
		     write_at(&p, rkey, at, 8, rkey), &p);
	FRESH;
	v.destroy_qp(p.qp[1]);
	ok(write_at(&p, lkey, at, 8, rkey) == IBV_WC_RETRY_EXC_ERR,
	   "a peer that is gone answers nothing");
	v.destroy_qp(p.qp[0]);
	for (int i = 0; i < 2; i++) {
		v.destroy_cq(p.cq[i]);
		v.dereg_mr(p.mr[i]);
	}
#undef FRESH
}

static void both_ends_fail(void)
{
	static struct pair p;
	struct ibv_wc wc;

	listen_to(BIT(DONE));
	if (!pair_new(&p)) {
		ok(false, "a pair");
		return;
	}
	receive(&p, 40);
	ok(write_at(&p, p.mr[0]->lkey, 0, 8, p.mr[1]->rkey) == IBV_WC_REM_ACCESS_ERR &&
		   (wc = poll_one(p.cq[1])).status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 40 &&
		   told.ndone == 2 && !told.done[1].send && told.done[1].status == 5 &&
		   told.done[1].retired == 1,
	   "the queue that was written to fails as well: its receives are "
	   "flushed, and told");
	pair_free(&p);
}

void hostile_adapter(void)
{
	fails_everywhere();
	unknown_queue_pairs();
	false_completions();
	extended_interface();
	keys_and_rights();
	both_ends_fail();
	listen_to(0);
}
