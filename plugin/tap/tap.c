// SPDX-License-Identifier: MIT
/*
 * The tap's control path. It wraps libibverbs' functions that create, change
 * and destroy queue pairs and memory regions. work.c wraps the three functions
 * of a context that post work and poll completions. The tap passes every call
 * on: it counts what it cannot observe and refuses nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "plugin/runtime/clock.h"
#include "plugin/tap/api.h"
#include "plugin/tap/real.h"
#include "plugin/tap/state.h"

#define EXPORT __attribute__((visibility("default")))

enum phase { CREATED, BEFORE, AFTER, DESTROYED };

/*
 * Protects the control path: creating, changing, registering and listing
 * objects.
 */
static pthread_mutex_t tap_lock = PTHREAD_MUTEX_INITIALIZER;
struct nb_tap_device nb_tap_device[NB_TAP_DEVICES];
struct nb_tap_state nb_tap;

struct nb_tap_device *nb_tap_device_search(const struct nb_ibv_context *c)
{
	uint32_t n = __atomic_load_n(&nb_tap.devices, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&nb_tap_device[i].context, __ATOMIC_ACQUIRE) == c)
			return &nb_tap_device[i];
	return NULL;
}

/*
 * Count a queue pair of the extended interface. Its work is posted and polled
 * through other functions, which the tap does not see.
 */
static struct nb_ibv_qp *count_qp_ex(struct nb_ibv_context *c, struct nb_ibv_qp_attr_ex *a)
{
	const struct nb_tap_device *d = nb_tap_device_of(c);
	struct nb_ibv_qp *qp;

	if (!d) {
		errno = ENODEV; /* another thread is closing the adapter */
		return NULL;
	}
	qp = d->create_qp_ex(c, a);
	nb_tap_count(&nb_tap.extended, qp != NULL);
	return qp;
}

static void *count_cq_ex(struct nb_ibv_context *c, struct nb_ibv_cq_attr_ex *a)
{
	const struct nb_tap_device *d = nb_tap_device_of(c);
	void *cq;

	if (!d) {
		errno = ENODEV;
		return NULL;
	}
	cq = d->create_cq_ex(c, a);
	nb_tap_count(&nb_tap.extended, cq != NULL);
	return cq;
}

/* Returns the extended context, or NULL if the context has none. */
static struct nb_ibv_extended *extended_of(struct nb_ibv_context *c)
{
	struct nb_ibv_extended *x = (void *)((char *)c - offsetof(struct nb_ibv_extended, context));

	return c->abi_compat == NB_IBV_EXTENDED && x->sz >= sizeof(*x) ? x : NULL;
}

static void functions_replace(struct nb_tap_device *d, struct nb_ibv_context *c)
{
	struct nb_ibv_extended *x = extended_of(c);

	d->post_send = c->post_send;
	d->post_recv = c->post_recv;
	d->poll_cq = c->poll_cq;
	d->create_qp_ex = x ? x->create_qp_ex : NULL;
	d->create_cq_ex = x ? x->create_cq_ex : NULL;
	/* from now on, other threads find the adapter by its context */
	__atomic_store_n(&d->context, c, __ATOMIC_RELEASE);
	if (d->number == nb_tap.devices)
		__atomic_store_n(&nb_tap.devices, d->number + 1, __ATOMIC_RELEASE);
	c->post_send = nb_tap_post_send;
	c->post_recv = nb_tap_post_recv;
	c->poll_cq = nb_tap_poll_cq_of(d);
	if (d->create_qp_ex)
		x->create_qp_ex = count_qp_ex;
	if (d->create_cq_ex)
		x->create_cq_ex = count_cq_ex;
}

static void functions_restore(const struct nb_tap_device *d, struct nb_ibv_context *c)
{
	struct nb_ibv_extended *x = extended_of(c);

	c->post_send = d->post_send;
	c->post_recv = d->post_recv;
	c->poll_cq = d->poll_cq;
	if (d->create_qp_ex)
		x->create_qp_ex = d->create_qp_ex;
	if (d->create_cq_ex)
		x->create_cq_ex = d->create_cq_ex;
}

/*
 * Returns an entry for an adapter that was opened: that of an earlier, closed
 * context of it, so that the adapter keeps its number, or a new one. NULL if
 * NB_TAP_DEVICES entries are in use. The caller holds the tap's lock.
 */
static struct nb_tap_device *device_entry(const char *name)
{
	uint32_t n = nb_tap.devices;
	struct nb_tap_device *d;

	for (uint32_t i = 0; i < n; i++) {
		d = &nb_tap_device[i];
		if (!NB_TAP_GET(d->context) && !strncmp(d->name, name, sizeof(d->name) - 1))
			return d;
	}
	if (n == NB_TAP_DEVICES) {
		nb_tap_count(&nb_tap.beyond, 1);
		return NULL;
	}
	d = &nb_tap_device[n];
	d->number = n;
	snprintf(d->name, sizeof(d->name), "%s", name);
	return d;
}

EXPORT struct nb_ibv_context *ibv_open_device(struct nb_ibv_device *dev);
struct nb_ibv_context *ibv_open_device(struct nb_ibv_device *dev)
{
	const struct nb_real *real = nb_real();
	struct nb_ibv_context *c = real->open_device ? real->open_device(dev) : NULL;
	const char *name;
	struct nb_tap_device *d;

	if (!c)
		return NULL;
	name = real->get_device_name ? real->get_device_name(dev) : NULL;
	pthread_mutex_lock(&tap_lock);
	d = device_entry(name ? name : "");
	if (d)
		functions_replace(d, c);
	pthread_mutex_unlock(&tap_lock);
	return c;
}

EXPORT int ibv_close_device(struct nb_ibv_context *c);
int ibv_close_device(struct nb_ibv_context *c)
{
	struct nb_tap_device *d = nb_tap_device_of(c);

	if (d) {
		/*
		 * Restore the provider's functions, since the close may fail or
		 * another thread may still poll. Free the entry, since the
		 * provider may reuse the context's address.
		 */
		pthread_mutex_lock(&tap_lock);
		functions_restore(d, c);
		__atomic_store_n(&d->context, NULL, __ATOMIC_RELAXED);
		pthread_mutex_unlock(&tap_lock);
	}
	return nb_real()->close_device ? nb_real()->close_device(c) : -1;
}

/* FNV-1a hash of a GID. The result 0 is reserved for "not known". */
static uint64_t gid_hash(const uint8_t gid[16])
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (int i = 0; i < 16; i++)
		h = (h ^ gid[i]) * UINT64_C(0x100000001b3);
	return h ? h : 1;
}

static struct ncclbpf_verbs_qp qp_context(const struct nb_tap_qp *q, enum phase phase)
{
	uint64_t now = nb_clock_system();

	return (struct ncclbpf_verbs_qp){
		.now_ns = now,
		.age_ns = now > q->born_ns ? now - q->born_ns : 0,
		.gid = NB_TAP_GET(q->gid),
		.device = q->device->number,
		.qp = q->num,
		.peer_qp = NB_TAP_GET(q->peer),
		.phase = phase,
		.from = NB_TAP_GET(q->state),
		.to = NB_TAP_GET(q->state),
		.traffic_class = -1,
		.sl = -1,
		.min_rnr_timer = -1,
		.timeout = -1,
		.retry_cnt = -1,
		.rnr_retry = -1,
	};
}

static void qp_told(struct nb_tap_qp *q, enum phase phase)
{
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(QP));
	struct ncclbpf_verbs_qp c;

	if (!s)
		return;
	c = qp_context(q, phase);
	s->run(NB_HOOK_VERBS_QP, &c, sizeof(c));
}

EXPORT struct nb_ibv_qp *ibv_create_qp(struct nb_ibv_pd *pd, struct nb_ibv_qp_init_attr *a);
struct nb_ibv_qp *ibv_create_qp(struct nb_ibv_pd *pd, struct nb_ibv_qp_init_attr *a)
{
	struct nb_ibv_qp *qp = nb_real()->create_qp ? nb_real()->create_qp(pd, a) : NULL;
	const struct nb_tap_device *d = qp ? nb_tap_device_of(qp->context) : NULL;
	struct nb_tap_qp *q;

	if (!d)
		return qp;
	pthread_mutex_lock(&tap_lock);
	/* the provider has written the actual queue sizes into @a */
	q = nb_tap_qp_add(d, qp->qp_num,
			  (const uint32_t[2]){ a->cap.max_recv_wr, a->cap.max_send_wr });
	if (q) {
		q->born_ns = nb_clock_system();
		q->cq[NB_TAP_RECV] = a->recv_cq;
		q->cq[NB_TAP_SEND] = a->send_cq;
		q->signal_all = a->sq_sig_all;
	}
	pthread_mutex_unlock(&tap_lock);
	if (!q)
		return qp;
	nb_tap_count(&nb_tap.qps, 1);
	nb_tap_count(&nb_tap.live_qps, 1);
	qp_told(q, CREATED);
	return qp;
}

/*
 * Copy a policy's value to *@to. Returns false and keeps NCCL's value if the
 * policy set none, the value is out of range, or @allowed is false (this state
 * change does not set the attribute).
 */
static bool value_taken(int32_t value, int32_t max, bool allowed, uint8_t *to)
{
	if (value == -1 || !allowed)
		return false;
	if (value < 0 || value > max) {
		nb_tap_count(&nb_tap.refused, 1);
		return false;
	}
	*to = (uint8_t)value;
	return true;
}

/*
 * Replace attributes of this state change by the policy's values. Returns true
 * if one was replaced.
 */
static bool values_taken(const struct ncclbpf_verbs_qp *c, int mask, struct nb_ibv_qp_attr *a)
{
	bool path = mask & NB_IBV_QP_AV;
	bool any = value_taken(c->traffic_class, 255, path && a->ah_attr.is_global,
			       &a->ah_attr.traffic_class);

	any |= value_taken(c->sl, 15, path, &a->ah_attr.sl);
	any |= value_taken(c->min_rnr_timer, 31, mask & NB_IBV_QP_MIN_RNR_TIMER, &a->min_rnr_timer);
	any |= value_taken(c->timeout, 31, mask & NB_IBV_QP_TIMEOUT, &a->timeout);
	any |= value_taken(c->retry_cnt, 7, mask & NB_IBV_QP_RETRY_CNT, &a->retry_cnt);
	any |= value_taken(c->rnr_retry, 7, mask & NB_IBV_QP_RNR_RETRY, &a->rnr_retry);
	return any;
}

static void qp_learn(struct nb_tap_qp *q, const struct nb_ibv_qp_attr *a, int mask)
{
	if (mask & NB_IBV_QP_DEST_QPN)
		NB_TAP_SET(q->peer, a->dest_qp_num);
	if (mask & NB_IBV_QP_AV && a->ah_attr.is_global)
		NB_TAP_SET(q->gid, gid_hash(a->ah_attr.dgid));
}

/*
 * Change the state with the policy's values. If the adapter refuses them, use
 * NCCL's values.
 */
static int qp_change(struct nb_ibv_qp *qp, struct nb_ibv_qp_attr *a, int mask,
		     const struct ncclbpf_verbs_qp *wanted)
{
	const struct nb_real *real = nb_real();
	struct nb_ibv_qp_attr mine = *a;
	int rc;

	if (!wanted || !values_taken(wanted, mask, &mine))
		return real->modify_qp(qp, a, mask);
	rc = real->modify_qp(qp, &mine, mask);
	if (!rc) {
		nb_tap_count(&nb_tap.tuned, 1);
		return 0;
	}
	rc = real->modify_qp(qp, a, mask);
	if (!rc)
		nb_tap_count(&nb_tap.undone, 1);
	return rc;
}

EXPORT int ibv_modify_qp(struct nb_ibv_qp *qp, struct nb_ibv_qp_attr *a, int mask);
int ibv_modify_qp(struct nb_ibv_qp *qp, struct nb_ibv_qp_attr *a, int mask)
{
	const struct nb_tap_device *d = nb_tap_device_of(qp->context);
	struct nb_tap_qp *q = d ? nb_tap_qp_find(d, qp->qp_num) : NULL;
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(QP));
	struct ncclbpf_verbs_qp c;
	uint64_t began = 0;
	int rc;

	if (!nb_real()->modify_qp)
		return ENOSYS;
	if (!q || !(mask & NB_IBV_QP_STATE))
		return nb_real()->modify_qp(qp, a, mask);
	qp_learn(q, a, mask);
	if (s) {
		c = qp_context(q, BEFORE);
		c.to = a->qp_state;
		if (mask & NB_IBV_QP_PATH_MTU && a->path_mtu < 8)
			c.mtu = 128u << a->path_mtu;
		s->run(NB_HOOK_VERBS_QP, &c, sizeof(c));
		began = nb_clock_system();
	}
	rc = qp_change(qp, a, mask, s ? &c : NULL);
	if (s) {
		c.now_ns = nb_clock_system();
		c.ns = c.now_ns - began;
		c.phase = AFTER;
		c.error = rc < 0 ? errno : rc;
		s->run(NB_HOOK_VERBS_QP, &c, sizeof(c));
	}
	if (rc) {
		nb_tap_count(&nb_tap.failed_changes, 1);
		return rc;
	}
	NB_TAP_SET(q->state, a->qp_state);
	/* a reset removes work requests and their completions */
	for (int i = 0; i < 2 && a->qp_state == NB_IBV_QPS_RESET; i++)
		nb_tap_queue_clear(&q->queue[i]);
	if (a->qp_state == NB_IBV_QPS_RTS && !NB_TAP_GET(q->ready_ns))
		NB_TAP_SET(q->ready_ns, nb_clock_system() - q->born_ns);
	return 0;
}

EXPORT int ibv_destroy_qp(struct nb_ibv_qp *qp);
int ibv_destroy_qp(struct nb_ibv_qp *qp)
{
	const struct nb_tap_device *d = nb_tap_device_of(qp->context);
	struct nb_tap_qp *q = d ? nb_tap_qp_find(d, qp->qp_num) : NULL;

	if (q) {
		qp_told(q, DESTROYED);
		/*
		 * remove the record first, since a new queue pair may get its
		 * number at once
		 */
		pthread_mutex_lock(&tap_lock);
		nb_tap_qp_remove(q);
		for (int i = 0; i < 2; i++) {
			nb_tap.posts[i] += NB_TAP_GET(q->queue[i].posts);
			nb_tap.completions[i] += NB_TAP_GET(q->queue[i].done);
			nb_tap.bytes[i] += NB_TAP_GET(q->queue[i].bytes);
		}
		nb_tap.errors += NB_TAP_GET(q->errors);
		pthread_mutex_unlock(&tap_lock);
		nb_tap_count(&nb_tap.live_qps, UINT64_MAX);
	}
	return nb_real()->destroy_qp ? nb_real()->destroy_qp(qp) : ENOSYS;
}

static void region_told(const struct nb_ibv_pd *pd, const struct nb_ibv_mr *mr,
			struct ncclbpf_verbs_mr *c, uint64_t began)
{
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(MR));
	const struct nb_tap_device *d = nb_tap_device_of(pd->context);
	int saved = errno;

	if (mr && c->registered) {
		nb_tap_count(&nb_tap.regions, 1);
		nb_tap_count(&nb_tap.region_bytes, mr->length);
	}
	if (!s || !d)
		return;
	c->now_ns = nb_clock_system();
	c->ns = began ? c->now_ns - began : 0;
	c->device = d->number;
	c->lkey = mr ? mr->lkey : 0;
	c->error = mr ? 0 : saved;
	s->run(NB_HOOK_VERBS_MR, c, sizeof(*c));
	errno = saved;
}

static uint64_t region_begin(void)
{
	const struct nb_tap_sink *s = nb_tap_sink_for(NB_TAP_HOOK(MR));

	return s ? nb_clock_system() : 0;
}

EXPORT struct nb_ibv_mr *ibv_reg_mr(struct nb_ibv_pd *pd, void *addr, size_t length, int access);
struct nb_ibv_mr *ibv_reg_mr(struct nb_ibv_pd *pd, void *addr, size_t length, int access)
{
	uint64_t began = region_begin();
	struct nb_ibv_mr *mr = NULL;

	errno = ENOSYS;
	if (nb_real()->reg_mr)
		mr = nb_real()->reg_mr(pd, addr, length, access);
	region_told(pd, mr,
		    &(struct ncclbpf_verbs_mr){
			    .bytes = length, .registered = 1, .access = (uint32_t)access },
		    began);
	return mr;
}

EXPORT struct nb_ibv_mr *ibv_reg_mr_iova2(struct nb_ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned access);
struct nb_ibv_mr *ibv_reg_mr_iova2(struct nb_ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				   unsigned access)
{
	uint64_t began = region_begin();
	struct nb_ibv_mr *mr = NULL;

	errno = EOPNOTSUPP;
	if (nb_real()->reg_mr_iova2)
		mr = nb_real()->reg_mr_iova2(pd, addr, length, iova, access);
	else if (nb_real()->reg_mr && iova == (uintptr_t)addr)
		/*
		 * NCCL calls ibv_reg_mr itself when ibv_reg_mr_iova2 does not
		 * exist
		 */
		mr = nb_real()->reg_mr(pd, addr, length, (int)(access & ~NB_IBV_ACCESS_OPTIONAL));
	region_told(
		pd, mr,
		&(struct ncclbpf_verbs_mr){ .bytes = length, .registered = 1, .access = access },
		began);
	return mr;
}

EXPORT struct nb_ibv_mr *ibv_reg_dmabuf_mr(struct nb_ibv_pd *pd, uint64_t offset, size_t length,
					   uint64_t iova, int fd, int access);
struct nb_ibv_mr *ibv_reg_dmabuf_mr(struct nb_ibv_pd *pd, uint64_t offset, size_t length,
				    uint64_t iova, int fd, int access)
{
	uint64_t began = region_begin();
	struct nb_ibv_mr *mr = NULL;

	/* EOPNOTSUPP tells NCCL that DMA-BUF is not supported */
	errno = EOPNOTSUPP;
	if (nb_real()->reg_dmabuf_mr)
		mr = nb_real()->reg_dmabuf_mr(pd, offset, length, iova, fd, access);
	region_told(
		pd, mr,
		&(struct ncclbpf_verbs_mr){
			.bytes = length, .registered = 1, .access = (uint32_t)access, .dmabuf = 1 },
		began);
	return mr;
}

EXPORT int ibv_dereg_mr(struct nb_ibv_mr *mr);
int ibv_dereg_mr(struct nb_ibv_mr *mr)
{
	uint64_t bytes = mr->length;
	int rc;

	region_told(mr->pd, mr, &(struct ncclbpf_verbs_mr){ .bytes = bytes }, 0);
	rc = nb_real()->dereg_mr ? nb_real()->dereg_mr(mr) : ENOSYS;
	if (!rc) {
		nb_tap_count(&nb_tap.regions, UINT64_MAX);
		nb_tap_count(&nb_tap.region_bytes, -bytes);
	}
	return rc;
}

/* Returns true if an asynchronous event reports a failure. */
static bool event_fails(uint32_t event)
{
	static const uint32_t fail = 1u << NB_IBV_EVENT_CQ_ERR | 1u << NB_IBV_EVENT_QP_FATAL |
				     1u << NB_IBV_EVENT_QP_REQ_ERR |
				     1u << NB_IBV_EVENT_QP_ACCESS_ERR |
				     1u << NB_IBV_EVENT_PATH_MIG_ERR |
				     1u << NB_IBV_EVENT_DEVICE_FATAL | 1u << NB_IBV_EVENT_PORT_ERR |
				     1u << NB_IBV_EVENT_SRQ_ERR | 1u << NB_IBV_EVENT_WQ_FATAL;

	return event < 32 && fail >> event & 1;
}

/* Returns the queue pair that an event belongs to, or NULL. */
static const struct nb_ibv_qp *event_qp(const struct nb_ibv_async_event *e)
{
	bool any = (e->event_type >= NB_IBV_EVENT_QP_FATAL &&
		    e->event_type < NB_IBV_EVENT_DEVICE_FATAL) ||
		   e->event_type == NB_IBV_EVENT_QP_LAST_WQE;

	return any ? e->element.qp : NULL;
}

static void event_counted(const struct nb_tap_device *d, const struct nb_ibv_async_event *e)
{
	const struct nb_ibv_qp *qp = event_qp(e);
	struct nb_tap_qp *q = d && qp ? nb_tap_qp_find(d, qp->qp_num) : NULL;

	nb_tap_count(&nb_tap.events, 1);
	if (!event_fails(e->event_type))
		return;
	nb_tap_count(&nb_tap.failures, 1);
	/* the adapter moved the queue pair to the error state, not its owner */
	if (q)
		NB_TAP_SET(q->state, NB_IBV_QPS_ERR);
}

EXPORT int ibv_get_async_event(struct nb_ibv_context *context, struct nb_ibv_async_event *e);
int ibv_get_async_event(struct nb_ibv_context *context, struct nb_ibv_async_event *e)
{
	const struct nb_tap_device *d;
	const struct nb_tap_sink *s;
	const struct nb_ibv_qp *qp;
	struct ncclbpf_verbs_event c;
	int rc = -1;

	if (nb_real()->get_async_event)
		rc = nb_real()->get_async_event(context, e);
	if (rc)
		return rc;
	s = nb_tap_sink_for(NB_TAP_HOOK(EVENT));
	d = nb_tap_device_of(context);
	event_counted(d, e);
	if (!s || !d)
		return 0;
	c = (struct ncclbpf_verbs_event){
		.now_ns = nb_clock_system(),
		.device = d->number,
		.event = e->event_type,
	};
	qp = event_qp(e);
	if (qp)
		c.qp = qp->qp_num;
	else if (e->event_type >= NB_IBV_EVENT_PORT_ACTIVE &&
		 e->event_type <= NB_IBV_EVENT_PORT_LAST)
		c.port = (uint32_t)e->element.port_num;
	s->run(NB_HOOK_VERBS_EVENT, &c, sizeof(c));
	return 0;
}

static void tap_attach(const struct nb_tap_sink *sink)
{
	__atomic_store_n(&nb_tap.sink, sink, __ATOMIC_RELEASE);
}

static bool sum_qp(struct nb_tap_qp *q, void *arg)
{
	struct nb_tap_sums *s = arg;

	for (int i = 0; i < 2; i++) {
		s->posts[i] += NB_TAP_GET(q->queue[i].posts);
		s->completions[i] += NB_TAP_GET(q->queue[i].done);
		s->bytes[i] += NB_TAP_GET(q->queue[i].bytes);
	}
	s->errors += NB_TAP_GET(q->errors);
	s->stalled += q->stall_told;
	return true;
}

static void sums(struct nb_tap_sums *s)
{
	*s = (struct nb_tap_sums){ .devices = NB_TAP_GET(nb_tap.devices) };
#define SUM(what) s->what = NB_TAP_GET(nb_tap.what)
	SUM(qps), SUM(live_qps), SUM(failed_changes), SUM(events), SUM(regions);
	SUM(region_bytes), SUM(tuned), SUM(refused), SUM(undone), SUM(unseen);
	SUM(strays), SUM(overflows), SUM(extended), SUM(failures), SUM(beyond);
#undef SUM
	pthread_mutex_lock(&tap_lock);
	for (int i = 0; i < 2; i++) {
		s->posts[i] = nb_tap.posts[i];
		s->completions[i] = nb_tap.completions[i];
		s->bytes[i] = nb_tap.bytes[i];
	}
	s->errors = nb_tap.errors;
	nb_tap_qp_each(sum_qp, s);
	for (uint32_t i = 0; i < nb_tap.devices; i++) {
		const struct nb_ibv_context *c = nb_tap_device[i].context;

		s->files += c && c->cmd_fd >= 0;
	}
	pthread_mutex_unlock(&tap_lock);
}

struct viewing {
	bool (*each)(const struct nb_tap_qp_view *v, void *arg);
	void *arg;
	uint64_t now;
	uint64_t limit_ns; /* used by watch_qp */
};

static bool view_qp(struct nb_tap_qp *q, void *arg)
{
	struct viewing *w = arg;
	struct nb_tap_qp_view v = {
		.device = q->device->number,
		.qp = q->num,
		.peer_qp = NB_TAP_GET(q->peer),
		.state = NB_TAP_GET(q->state),
		.gid = NB_TAP_GET(q->gid),
		.age_ns = w->now - q->born_ns,
		.ready_ns = NB_TAP_GET(q->ready_ns),
		.errors = NB_TAP_GET(q->errors),
		.last_status = NB_TAP_GET(q->last_status),
	};

	if (q->waiting_since_ns)
		v.waiting_ns = w->now - q->waiting_since_ns;
	memcpy(v.device_name, q->device->name, sizeof(v.device_name));
	for (int i = 0; i < 2; i++) {
		v.posts[i] = NB_TAP_GET(q->queue[i].posts);
		v.completions[i] = NB_TAP_GET(q->queue[i].done);
		v.bytes[i] = NB_TAP_GET(q->queue[i].bytes);
		v.outstanding[i] = nb_tap_queue_outstanding(&q->queue[i]);
	}
	return w->each(&v, w->arg);
}

static void qps(bool (*each)(const struct nb_tap_qp_view *v, void *arg), void *arg)
{
	struct viewing w = { each, arg, nb_clock_system(), 0 };

	pthread_mutex_lock(&tap_lock);
	nb_tap_qp_each(view_qp, &w);
	pthread_mutex_unlock(&tap_lock);
}

/* Report @q if NCCL has waited too long for a completion of its sends. */
static bool watch_qp(struct nb_tap_qp *q, void *arg)
{
	const struct nb_tap_queue *sends = &q->queue[NB_TAP_SEND];
	const struct viewing *w = arg;
	uint32_t tail = NB_TAP_GET(sends->tail);
	/* in the error state, completions report what has happened */
	bool waits = nb_tap_queue_waits(sends) && NB_TAP_GET(q->state) != NB_IBV_QPS_ERR;

	if (!waits || tail != q->watched_tail || !q->waiting_since_ns) {
		q->watched_tail = tail;
		q->waiting_since_ns = waits ? w->now : 0;
		q->stall_told = false;
		return true;
	}
	if (q->stall_told || w->now - q->waiting_since_ns < w->limit_ns)
		return true;
	q->stall_told = true;
	return view_qp(q, arg);
}

static void watch(uint64_t limit_ns, bool (*each)(const struct nb_tap_qp_view *v, void *arg),
		  void *arg)
{
	struct viewing w = { each, arg, nb_clock_system(), limit_ns };

	pthread_mutex_lock(&tap_lock);
	nb_tap_qp_each(watch_qp, &w);
	pthread_mutex_unlock(&tap_lock);
}

static const char *adapter(uint32_t number)
{
	return number < __atomic_load_n(&nb_tap.devices, __ATOMIC_ACQUIRE)
		       ? nb_tap_device[number].name
		       : NULL;
}

EXPORT extern const struct nb_tap_api ncclbpf_tap;
const struct nb_tap_api ncclbpf_tap = { NB_TAP_BUILD, tap_attach, sums, qps, adapter, watch };
