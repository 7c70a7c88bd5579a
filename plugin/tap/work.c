// SPDX-License-Identifier: MIT
/* The tap's data path: posting work requests and polling completions. */
#include <errno.h>

#include "core/defs/ctx.h"
#include "plugin/runtime/clock.h"
#include "plugin/tap/state.h"

static inline uint64_t bytes_of(const struct nb_ibv_wr *w)
{
	uint64_t bytes = 0;

	for (int i = 0; i < w->num_sge; i++)
		bytes += w->sg_list[i].length;
	return bytes;
}

static inline const struct nb_ibv_send_wr *send_of(const struct nb_ibv_wr *w)
{
	return (const void *)w;
}

/* Returns true if a send has a completion of its own. Every receive has one. */
static inline bool is_signaled(const struct nb_tap_qp *q, const struct nb_ibv_wr *w)
{
	return q->signal_all || send_of(w)->send_flags & NB_IBV_SEND_SIGNALED;
}

/*
 * Record the work requests of a call that begins with @w. They are recorded
 * before the adapter gets them, because another thread may poll their
 * completions before the post returns. A receive's bytes are known when it
 * completes.
 */
static inline __attribute__((always_inline)) void
posting_begin(struct nb_tap_qp *q, const struct nb_ibv_wr *w, bool send)
{
	const struct nb_tap_sink *s = nb_tap_sink_timed(NB_TAP_HOOK(POST) | NB_TAP_HOOK(DONE));
	uint64_t now = __builtin_expect(s != NULL, 0) ? nb_clock_system() : 0;

	for (; w; w = w->next) {
		const struct nb_tap_post post = { now, w->wr_id, send ? bytes_of(w) : 0,
						  !send || is_signaled(q, w) };

		if (__builtin_expect(!nb_tap_queue_push(&q->queue[send], &post), 0))
			nb_tap_count(&nb_tap.overflows, 1);
	}
}

/*
 * Returns how many work requests precede @end; 0 if @end is not NULL and no
 * request of the list.
 */
static uint32_t requests_before(const struct nb_ibv_wr *w, const struct nb_ibv_wr *end)
{
	uint32_t n = 0;

	for (; w && w != end; w = w->next)
		n++;
	return w == end ? n : 0;
}

/*
 * Run programs after a call that posted @posted work requests, the first of
 * which is @w.
 */
static void posting_tell(const struct nb_tap_sink *s, const struct nb_tap_qp *q,
			 const struct nb_ibv_wr *w, uint32_t posted, uint64_t began, bool send,
			 int rc)
{
	bool timed = nb_tap_sink_timed(NB_TAP_HOOK(POST));
	uint64_t now = timed ? nb_clock_system() : 0;
	struct ncclbpf_verbs_post c = {
		.now_ns = timed && began ? began : now,
		.ns = timed && began ? now - began : 0,
		.device = q->device->number,
		.qp = q->num,
		.send = send,
		.opcode = send && w ? send_of(w)->opcode : 0,
		.requests = posted,
		.outstanding = nb_tap_queue_outstanding(&q->queue[send]),
		.error = rc < 0 ? errno : rc,
	};

	for (; w && posted--; w = w->next) {
		c.bytes += bytes_of(w);
		c.signaled += !send || is_signaled(q, w);
		c.inlined += send && send_of(w)->send_flags & NB_IBV_SEND_INLINE;
	}
	(timed ? s->run : s->run_untimed)(NB_HOOK_VERBS_POST, &c, sizeof(c));
}

/*
 * Finish a post, if the adapter returned an error or programs are attached.
 * @refused: the first work request that the adapter refused; it refused the
 * later ones too. NULL: it refused all
 */
static __attribute__((noinline)) void posting_end(struct nb_tap_qp *q,
						  const struct nb_ibv_wr *first,
						  const void *refused, int rc, bool send)
{
	struct nb_tap_queue *queue = &q->queue[send];
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(POST));
	uint32_t n = requests_before(first, NULL), posted = n;
	uint64_t began = 0;

	if (n)
		began = queue->post[(queue->head - 1) & queue->mask].ns;
	if (rc) {
		posted = refused ? requests_before(first, refused) : 0;
		nb_tap_queue_take_back(queue, n - posted);
	}
	if (s)
		posting_tell(s, q, first, posted, began, send, rc);
}

int nb_tap_post_send(struct nb_ibv_qp *qp, struct nb_ibv_send_wr *wr, struct nb_ibv_send_wr **bad)
{
	/*
	 * use our own variable, because an adapter that fails may leave *bad
	 * unset
	 */
	struct nb_ibv_send_wr *refused = NULL;
	const struct nb_tap_device *d = nb_tap_device_of(qp->context);
	struct nb_tap_qp *q;
	int rc;

	if (__builtin_expect(!d, 0))
		return ENODEV; /* another thread is closing the adapter */
	q = nb_tap_qp_find(d, qp->qp_num);
	if (__builtin_expect(!q, 0))
		return d->post_send(qp, wr, bad);
	posting_begin(q, (const void *)wr, NB_TAP_SEND);
	rc = d->post_send(qp, wr, &refused);
	if (__builtin_expect(rc || nb_tap_sink_for(NB_TAP_HOOK(POST)), 0))
		posting_end(q, (const void *)wr, refused, rc, NB_TAP_SEND);
	if (__builtin_expect(rc && refused, 0))
		*bad = refused;
	return rc;
}

int nb_tap_post_recv(struct nb_ibv_qp *qp, struct nb_ibv_recv_wr *wr, struct nb_ibv_recv_wr **bad)
{
	/* see nb_tap_post_send */
	struct nb_ibv_recv_wr *refused = NULL;
	const struct nb_tap_device *d = nb_tap_device_of(qp->context);
	struct nb_tap_qp *q;
	int rc;

	if (__builtin_expect(!d, 0))
		return ENODEV;
	q = nb_tap_qp_find(d, qp->qp_num);
	if (__builtin_expect(!q, 0))
		return d->post_recv(qp, wr, bad);
	posting_begin(q, (const void *)wr, NB_TAP_RECV);
	rc = d->post_recv(qp, wr, &refused);
	if (__builtin_expect(rc || nb_tap_sink_for(NB_TAP_HOOK(POST)), 0))
		posting_end(q, (const void *)wr, refused, rc, NB_TAP_RECV);
	if (__builtin_expect(rc && refused, 0))
		*bad = refused;
	return rc;
}

/*
 * Returns true if a completion belongs to the send queue. Its opcode says so,
 * but on failure only wr_id and status are defined.
 */
static bool completes_send(const struct nb_tap_qp *q, const struct nb_ibv_cq *cq,
			   const struct nb_ibv_wc *wc)
{
	if (!wc->status)
		return !(wc->opcode & NB_IBV_WC_RECV);
	if (q->cq[NB_TAP_SEND] != q->cq[NB_TAP_RECV])
		return q->cq[NB_TAP_SEND] == cq;
	return nb_tap_queue_has(&q->queue[NB_TAP_SEND], wc->wr_id) ||
	       !nb_tap_queue_has(&q->queue[NB_TAP_RECV], wc->wr_id);
}

static void completion(const struct nb_tap_device *d, const struct nb_tap_sink *s,
		       const struct nb_ibv_cq *cq, const struct nb_ibv_wc *wc)
{
	struct nb_tap_qp *q = nb_tap_qp_find(d, wc->qp_num);
	struct nb_tap_retired r;
	struct nb_tap_queue *queue;
	uint64_t now;
	bool send, timed;

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
	timed = nb_tap_sink_timed(NB_TAP_HOOK(DONE));
	now = timed ? nb_clock_system() : 0;
	(timed ? s->run : s->run_untimed)(NB_HOOK_VERBS_DONE,
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
 * This is a separate function, so that a poll without completions does not have
 * to save registers.
 */
static __attribute__((noinline)) void completions(uint32_t device, const struct nb_ibv_cq *cq,
						  const struct nb_ibv_wc *wc, int n)
{
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(DONE));

	for (int i = 0; i < n; i++)
		completion(&nb_tap_device[device], s, cq, &wc[i]);
}

static inline __attribute__((always_inline)) int poll_device(uint32_t device, struct nb_ibv_cq *cq,
							     int n, struct nb_ibv_wc *wc)
{
	/*
	 * volatile: the arguments are stored on the stack. In registers they
	 * would cost an empty poll twice as many instructions.
	 */
	struct nb_ibv_cq *volatile kept_cq = cq;
	struct nb_ibv_wc *volatile kept_wc = wc;
	volatile int kept_n = n;
	int got = nb_tap_device[device].poll_cq(cq, n, wc);

	if (__builtin_expect(got > 0, 0))
		completions(device, kept_cq, kept_wc, got < kept_n ? got : kept_n);
	return got;
}

/*
 * Threads poll empty queues all the time. The adapters opened first therefore
 * have a function each, which need not search the adapter's entry. Its common
 * path fits in one cache line.
 */
#define POLLS(_) _(0) _(1) _(2) _(3) _(4) _(5) _(6) _(7)
#define POLL(number)                                                                       \
	static __attribute__((aligned(64))) int poll_##number(struct nb_ibv_cq *cq, int n, \
							      struct nb_ibv_wc *wc)        \
	{                                                                                  \
		return poll_device(number, cq, n, wc);                                     \
	}
POLLS(POLL)

static int poll_any(struct nb_ibv_cq *cq, int n, struct nb_ibv_wc *wc)
{
	const struct nb_tap_device *d = nb_tap_device_of(cq->context);

	if (!d)
		return -1; /* another thread is closing the adapter */
	return poll_device(d->number, cq, n, wc);
}

nb_ibv_poll_cq_fn *nb_tap_poll_cq_of(const struct nb_tap_device *d)
{
#define NAME(number) poll_##number,
	static nb_ibv_poll_cq_fn *const polls[] = { POLLS(NAME) };

	return d->number < sizeof(polls) / sizeof(polls[0]) ? polls[d->number] : poll_any;
}
