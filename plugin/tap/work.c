// SPDX-License-Identifier: MIT
/* The tap's data path: posting work requests and polling completions. */
#include <errno.h>

#include "core/defs/ctx.h"
#include "plugin/tap/state.h"

static uint64_t bytes_of(const struct nb_ibv_sge *sg, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += sg[i].length;
	return bytes;
}

static void queue_post(struct nb_tap_queue *q, uint64_t ns, uint64_t wr_id,
		       uint64_t bytes, bool signaled)
{
	const struct nb_tap_post p = { ns, wr_id, bytes, signaled };

	if (__builtin_expect(!nb_tap_queue_push(q, &p), 0))
		nb_tap_count(&nb_tap.overflows, 1);
}

/*
 * Remove the last @n posts, which the adapter refused. Posts are recorded
 * before the adapter gets them, because another thread may poll their
 * completions before the post returns.
 */
static void queue_take_back(struct nb_tap_queue *q, uint32_t n)
{
	__atomic_store_n(&q->head, q->head - n, __ATOMIC_RELEASE);
	NB_TAP_ADD(q->posts, -(uint64_t)n);
}

/*
 * Returns how many work requests precede @refused, the one that the adapter
 * named. Returns 0 if it named none or a request of another list.
 */
static uint32_t sends_before(const struct nb_ibv_send_wr *w,
			     const struct nb_ibv_send_wr *refused)
{
	uint32_t n = 0;

	for (; w && w != refused; w = w->next)
		n++;
	return w ? n : 0;
}

static uint32_t receives_before(const struct nb_ibv_recv_wr *w,
				const struct nb_ibv_recv_wr *refused)
{
	uint32_t n = 0;

	for (; w && w != refused; w = w->next)
		n++;
	return w ? n : 0;
}

/*
 * Run programs after a call that posted @posted work requests, the first of
 * which is @w.
 */
static __attribute__((noinline)) void send_told(const struct nb_tap_sink *s,
						const struct nb_tap_qp *q,
						const struct nb_ibv_send_wr *w,
						uint32_t posted, uint64_t began,
						int rc)
{
	struct ncclbpf_verbs_post c = {
		.now_ns = began,
		.ns = nb_tap_now(s) - began,
		.device = q->device->number,
		.qp = q->num,
		.send = 1,
		.opcode = w ? w->opcode : 0,
		.requests = posted,
		.outstanding = nb_tap_queue_outstanding(&q->queue[NB_TAP_SEND]),
		.error = rc < 0 ? errno : rc,
	};

	for (; w && posted--; w = w->next) {
		c.bytes += bytes_of(w->sg_list, w->num_sge);
		c.signaled +=
			q->signal_all || w->send_flags & NB_IBV_SEND_SIGNALED;
		c.inlined += (w->send_flags & NB_IBV_SEND_INLINE) != 0;
	}
	s->run(NB_HOOK_VERBS_POST, &c, sizeof(c));
}

static __attribute__((noinline)) void
receive_told(const struct nb_tap_sink *s, const struct nb_tap_qp *q,
	     const struct nb_ibv_recv_wr *w, uint32_t posted, uint64_t began,
	     int rc)
{
	struct ncclbpf_verbs_post c = {
		.now_ns = began,
		.ns = nb_tap_now(s) - began,
		.device = q->device->number,
		.qp = q->num,
		.requests = posted,
		.signaled = posted,
		.outstanding = nb_tap_queue_outstanding(&q->queue[NB_TAP_RECV]),
		.error = rc < 0 ? errno : rc,
	};

	for (; w && posted--; w = w->next)
		c.bytes += bytes_of(w->sg_list, w->num_sge);
	s->run(NB_HOOK_VERBS_POST, &c, sizeof(c));
}

int nb_tap_post_send(struct nb_ibv_qp *qp, struct nb_ibv_send_wr *wr,
		     struct nb_ibv_send_wr **bad)
{
	/*
	 * use our own variable, because an adapter that fails may leave *bad
	 * unset
	 */
	struct nb_ibv_send_wr *refused = NULL;
	const struct nb_tap_device *d = nb_tap_device_of(qp->context);
	struct nb_tap_qp *q = d ? nb_tap_qp_find(d, qp->qp_num) : NULL;
	const struct nb_tap_sink *s =
		nb_tap_sink_for(NB_TAP_HOOK(POST) | NB_TAP_HOOK(DONE));
	uint64_t now = s ? nb_tap_now(s) : 0;
	uint32_t n = 0;
	int rc;

	if (!d)
		return ENODEV; /* another thread is closing the adapter */
	if (!q)
		return d->post_send(qp, wr, bad);
	for (const struct nb_ibv_send_wr *w = wr; w; w = w->next, n++)
		queue_post(&q->queue[NB_TAP_SEND], now, w->wr_id,
			   bytes_of(w->sg_list, w->num_sge),
			   q->signal_all ||
				   w->send_flags & NB_IBV_SEND_SIGNALED);
	rc = d->post_send(qp, wr, &refused);
	if (__builtin_expect(rc, 0)) {
		uint32_t posted = sends_before(wr, refused);

		queue_take_back(&q->queue[NB_TAP_SEND], n - posted);
		n = posted;
		if (refused)
			*bad = refused;
	}
	if (__builtin_expect(s != NULL, 0) &&
	    nb_tap_sink_for(NB_TAP_HOOK(POST)))
		send_told(s, q, wr, n, now, rc);
	return rc;
}

int nb_tap_post_recv(struct nb_ibv_qp *qp, struct nb_ibv_recv_wr *wr,
		     struct nb_ibv_recv_wr **bad)
{
	/*
	 * use our own variable, because an adapter that fails may leave *bad
	 * unset
	 */
	struct nb_ibv_recv_wr *refused = NULL;
	const struct nb_tap_device *d = nb_tap_device_of(qp->context);
	struct nb_tap_qp *q = d ? nb_tap_qp_find(d, qp->qp_num) : NULL;
	const struct nb_tap_sink *s =
		nb_tap_sink_for(NB_TAP_HOOK(POST) | NB_TAP_HOOK(DONE));
	uint64_t now = s ? nb_tap_now(s) : 0;
	uint32_t n = 0;
	int rc;

	if (!d)
		return ENODEV;
	if (!q)
		return d->post_recv(qp, wr, bad);
	for (const struct nb_ibv_recv_wr *w = wr; w; w = w->next, n++)
		queue_post(&q->queue[NB_TAP_RECV], now, w->wr_id, 0, true);
	rc = d->post_recv(qp, wr, &refused);
	if (__builtin_expect(rc, 0)) {
		uint32_t posted = receives_before(wr, refused);

		queue_take_back(&q->queue[NB_TAP_RECV], n - posted);
		n = posted;
		if (refused)
			*bad = refused;
	}
	if (__builtin_expect(s != NULL, 0) &&
	    nb_tap_sink_for(NB_TAP_HOOK(POST)))
		receive_told(s, q, wr, n, now, rc);
	return rc;
}

/*
 * Returns true if a completion belongs to the send queue. Its opcode says so,
 * but on failure only wr_id and status are defined.
 */
static bool completes_send(const struct nb_tap_qp *q,
			   const struct nb_ibv_cq *cq,
			   const struct nb_ibv_wc *wc)
{
	if (!wc->status)
		return !(wc->opcode & NB_IBV_WC_RECV);
	if (q->cq[NB_TAP_SEND] != q->cq[NB_TAP_RECV])
		return q->cq[NB_TAP_SEND] == cq;
	return nb_tap_queue_has(&q->queue[NB_TAP_SEND], wc->wr_id) ||
	       !nb_tap_queue_has(&q->queue[NB_TAP_RECV], wc->wr_id);
}

static void completion(const struct nb_tap_device *d,
		       const struct nb_tap_sink *s, const struct nb_ibv_cq *cq,
		       const struct nb_ibv_wc *wc)
{
	struct nb_tap_qp *q = nb_tap_qp_find(d, wc->qp_num);
	struct nb_tap_retired r;
	struct nb_tap_queue *queue;
	uint64_t now;
	bool send;

	if (!q) {
		nb_tap_count(&nb_tap.unseen, 1);
		return;
	}
	send = completes_send(q, cq, wc);
	queue = &q->queue[send];
	r = nb_tap_queue_retire(queue, wc->wr_id, wc->status);
	if (!r.count)
		nb_tap_count(&nb_tap.strays, 1);
	if (wc->status) {
		NB_TAP_ADD(q->errors, 1);
		NB_TAP_SET(q->last_status, wc->status);
		/*
		 * the adapter has moved the reliable connection from RTS to the
		 * error state
		 */
		NB_TAP_SET(q->state, NB_IBV_QPS_ERR);
	} else if (!send) {
		r.bytes = wc->byte_len;
		NB_TAP_ADD(queue->bytes, r.bytes);
	}
	if (!s)
		return;
	now = nb_tap_now(s);
	s->run(NB_HOOK_VERBS_DONE,
	       &(struct ncclbpf_verbs_done){
		       .now_ns = now,
		       .ns = r.ns && now > r.ns ? now - r.ns : 0,
		       .bytes = wc->status ? 0 : r.bytes,
		       .device = d->number,
		       .qp = wc->qp_num,
		       .send = send,
		       .opcode = wc->opcode,
		       .status = wc->status,
		       .vendor_error = wc->status ? wc->vendor_err : 0,
		       .retired = r.count,
		       .outstanding = nb_tap_queue_outstanding(queue),
	       },
	       sizeof(struct ncclbpf_verbs_done));
}

/*
 * A function of its own, so that a poll without completions saves no registers.
 */
static __attribute__((noinline)) void
completions(const struct nb_ibv_cq *cq, const struct nb_ibv_wc *wc, int n)
{
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(DONE));
	const struct nb_tap_device *d = nb_tap_device_of(cq->context);

	for (int i = 0; d && i < n; i++)
		completion(d, s, cq, &wc[i]);
}

int nb_tap_poll_cq(struct nb_ibv_cq *cq, int n, struct nb_ibv_wc *wc)
{
	const struct nb_tap_device *d = nb_tap_device_of(cq->context);
	int got;

	if (__builtin_expect(!d, 0))
		return -1; /* another thread is closing the adapter */
	got = d->poll_cq(cq, n, wc);
	if (__builtin_expect(got > 0, 0))
		completions(cq, wc, got < n ? got : n);
	return got;
}
