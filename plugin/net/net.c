// SPDX-License-Identifier: MIT
/*
 * The layer between NCCL and a transport, which shows connections and requests
 * to policies. NCCL holds pointers to our objects, which point to the
 * transport's. The requests of a connection form a ring, so a completed request
 * stays readable for irecvConsumed. Only opening and closing connections locks
 * or allocates.
 */
#include "plugin/net/net.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/net/list.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"
#include "plugin/wrap/wrapped.h"

enum { TRIPS = 64 };

/*
 * Pending connects. The transport keeps its state in NCCL's handle, so we find
 * ours by the handle's address and the thread. Protected by net.lock. If the
 * table is full, a new connect replaces the oldest one.
 */
struct trip {
	const void *handle;
	pthread_t thread;
	struct nb_net_conn *conn;
	int traffic_class;
};

static struct {
	pthread_mutex_t lock;
	bool chosen;
	/*
	 * functions of the transport; NULL if there is no device. NCCL's
	 * threads write it, under NCCL's lock; threads of ours read it by
	 * nb_net_ops_used.
	 */
	const struct nb_net_ops *ops;
	/* number of devices reported to NCCL; accessed atomically */
	int devices;
	unsigned next_trip;
	struct trip trip[TRIPS];
	/* number of successful inits; protected by NCCL's lock */
	unsigned inits;
	uint64_t conns; /* accessed atomically */
} net = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Context for versions before 11, in which NCCL passes no context. */
static struct nb_net_ctx nobody = { .traffic_class = NB_NET_CLASS_NONE };

const char nb_net_name[] = "ncclbpf";

static const struct nb_net_ops *net_open_wrapped(void)
{
	const struct nb_net_ops *ops;
	const char *theirs = NULL;
	int version = 0;

	if (nb_wrapped_open_late(NB_WRAPPED_NET, NB_LIBRARY_TCP))
		return NULL;
	ops = nb_net_wrap(nb_wrapped[NB_WRAPPED_NET].file.handle, &version, &theirs);
	if (!ops) {
		nb_wrapped_leave_out(
			NB_WRAPPED_NET,
			"the library has no complete net interface of versions 6 to 12");
		return NULL;
	}
	if (!nb_wrapped_take(NB_WRAPPED_NET, (uint32_t)version, theirs))
		return NULL;
	nb_net_take_log(nb_wrapped[NB_WRAPPED_NET].file.handle);
	return ops;
}

/*
 * Returns true if the user chose this library. NCCL also loads libnccl-net.so,
 * which may be a link to this library.
 */
static bool is_named(void)
{
	const char *v = getenv("NCCL_NET_PLUGIN");

	return v && *v;
}

static void net_choose_transport(bool usable)
{
	const struct nb_net_ops *ops;

	if (!usable || nb_params.num[NB_P_NET] || !is_named())
		return;
	ops = net_open_wrapped();
	__atomic_store_n(&net.ops, ops, __ATOMIC_RELEASE);
	if (!ops)
		nb_log(NB_LOG_WARN, "net: NCCL uses its own network");
}

const struct nb_net_ops *nb_net_ops_used(void)
{
	return __atomic_load_n(&net.ops, __ATOMIC_ACQUIRE);
}

const char *nb_net_used(int *devices)
{
	*devices = __atomic_load_n(&net.devices, __ATOMIC_RELAXED);
	return nb_net_ops_used() ? nb_wrapped[NB_WRAPPED_NET].name : NULL;
}

uint64_t nb_net_counted(enum nb_net_count what)
{
	/* an init that fails may store NULL at any time */
	const struct nb_net_ops *ops = nb_net_ops_used();

	return ops && ops->extension ? ops->extension->counted(what) : 0;
}

/*
 * Reset the state in a forked child. Another thread may have held the lock. The
 * choice of a transport starts again if it was pending. Pending connects belong
 * to the parent.
 */
void nb_net_forked(void)
{
	pthread_mutex_init(&net.lock, NULL);
	memset(net.trip, 0, sizeof(net.trip));
	nb_net_list_forked();
}

/*
 * Count an error that a wrapped plugin's function @what returned. Returns @rc.
 */
static int count_result(const char *what, int rc)
{
	if (__builtin_expect(rc != NB_NET_OK, 0))
		nb_wrapped_count_failure(NB_WRAPPED_NET, what, rc);
	return rc;
}

/*
 * Count the error of a wrapped plugin's call that belongs to no connection.
 * Returns @rc.
 */
static int count_lone_result(const char *what, int rc)
{
	if (rc)
		nb_net_list_error();
	return count_result(what, rc);
}

/*
 * Handle a failed init. The first failure reports no device, so NCCL uses its
 * own network: an error would end the communicator, and crash old releases. A
 * later failure is an error.
 */
static int net_init_failed(int rc)
{
	if (net.inits)
		return rc;
	nb_wrapped_leave_out(NB_WRAPPED_NET,
			     "the init of the plugin returned %d, so NCCL uses its own network",
			     rc);
	__atomic_store_n(&net.ops, NULL, __ATOMIC_RELAXED);
	return NB_NET_OK;
}

static bool has_device(void)
{
	int n = 0;

	return !net.ops->devices(&n) && n > 0;
}

/*
 * Without a device, *@to is NULL. NCCL 2.28 finalizes this plugin then, and if
 * its InfiniBand transport cannot be initialised either, frees the same pointer
 * again.
 */
int nb_net_init(void **to, const struct nb_net_init *init, bool usable)
{
	struct nb_net_ctx *c;
	int rc = NB_NET_OK;

	pthread_mutex_lock(&net.lock);
	if (!net.chosen)
		net_choose_transport(usable);
	net.chosen = true;
	pthread_mutex_unlock(&net.lock);
	if (to)
		*to = NULL;
	if (!net.ops) /* nb_net_devices reports no device */
		return NB_NET_OK;
	/*
	 * NCCL before v11 never finalizes the context, and its connections use
	 * it: another one would take its place
	 */
	if (!to && nobody.inner)
		return NB_NET_OK;
	c = to ? calloc(1, sizeof(*c)) : &nobody;
	if (!c)
		return NB_NET_OK;
	c->comm_id = init->comm_id;
	c->traffic_class = init->traffic_class;
	rc = count_lone_result("init", net.ops->init(&c->inner, init));
	if (rc)
		rc = net_init_failed(rc);
	else if (!net.inits++ && to && !has_device())
		rc = net.ops->finalize ? net.ops->finalize(c->inner) : 0;
	else if (to)
		*to = c;
	if (to && !*to)
		free(c);
	return rc;
}

int nb_net_finalize(void *ctx)
{
	struct nb_net_ctx *c = ctx;
	int rc = NB_NET_OK;

	if (!c)
		return NB_NET_OK;
	if (net.ops && net.ops->finalize)
		rc = count_lone_result("finalize", net.ops->finalize(c->inner));
	free(c);
	return rc;
}

static struct nb_net_ctx *ctx_of(void *ctx)
{
	return ctx ? ctx : &nobody;
}

int nb_net_devices(int *n)
{
	int rc;

	if (!n)
		return NB_NET_ARGUMENT;
	*n = 0;
	if (!net.ops)
		return NB_NET_OK;
	rc = count_lone_result("devices", net.ops->devices(n));
	__atomic_store_n(&net.devices, rc ? 0 : *n, __ATOMIC_RELAXED);
	return rc;
}

int nb_net_get_properties(int dev, struct nb_net_props *props)
{
	memset(props, 0, sizeof(*props));
	return net.ops ? count_result("getProperties", net.ops->get_properties(dev, props))
		       : NB_NET_ARGUMENT;
}

int nb_net_make_vdevice(int *dev, struct nb_net_vprops *props)
{
	return net.ops && net.ops->make_vdevice
		       ? count_lone_result("makeVDevice", net.ops->make_vdevice(dev, props))
		       : NB_NET_INTERNAL;
}

int nb_net_set_net_attr(void *ctx, void *attr)
{
	return net.ops && net.ops->set_net_attr
		       ? count_lone_result("setNetAttr",
					   net.ops->set_net_attr(ctx_of(ctx)->inner, attr))
		       : NB_NET_OK;
}

static struct nb_net_conn *conn_new(enum nb_net_kind kind, int dev, uint64_t comm_id)
{
	size_t n = kind == NB_NET_LISTENER ? 0 : NB_NET_REQUESTS;
	struct nb_net_conn *c;
	struct nb_net_props p;

	c = calloc(1, sizeof(*c) + n * sizeof(c->request[0]));
	if (!c)
		return NULL;
	c->kind = kind;
	c->dev = (uint32_t)dev;
	if (!nb_net_get_properties(dev, &p))
		c->speed = (uint32_t)p.speed;
	c->comm_id = comm_id;
	c->id = __atomic_add_fetch(&net.conns, 1, __ATOMIC_RELAXED);
	c->born_ns = nb_clock_system();
	for (size_t i = 0; i < n; i++)
		c->request[i].conn = c;
	return c;
}

int nb_net_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	const struct nb_net_ctx *x = ctx_of(ctx);
	struct nb_net_conn *c;
	int rc;

	if (!net.ops || !handle || !listen_comm)
		return NB_NET_ARGUMENT;
	*listen_comm = NULL;
	c = conn_new(NB_NET_LISTENER, dev, x->comm_id);
	if (!c)
		return NB_NET_SYSTEM;
	rc = count_lone_result("listen", net.ops->listen(x->inner, dev, handle, &c->inner));
	if (rc) {
		free(c);
		return rc;
	}
	nb_net_list_add(c);
	*listen_comm = c;
	if (nb_hooks_on(NB_HOOK_NET_LISTEN))
		nb_net_run_listen(c);
	return NB_NET_OK;
}

/*
 * Find a pending connect of this handle and thread. The caller holds the lock.
 */
static struct trip *find_connecting(const void *handle, int dev, uint64_t comm_id)
{
	for (int i = 0; i < TRIPS; i++)
		if (net.trip[i].conn && net.trip[i].handle == handle &&
		    net.trip[i].conn->dev == (uint32_t)dev &&
		    net.trip[i].conn->comm_id == comm_id &&
		    pthread_equal(net.trip[i].thread, pthread_self()))
			return &net.trip[i];
	return NULL;
}

/* Returns the pending connect of this handle, or a new connection. */
static struct nb_net_conn *connecting_take(const struct nb_net_ctx *x, int dev, const void *handle,
					   int *traffic_class)
{
	struct nb_net_conn *c = NULL;
	struct trip *t;

	pthread_mutex_lock(&net.lock);
	t = find_connecting(handle, dev, x->comm_id);
	if (t) {
		c = t->conn;
		*traffic_class = t->traffic_class;
		t->conn = NULL;
	}
	pthread_mutex_unlock(&net.lock);
	if (c)
		return c;
	c = conn_new(NB_NET_SEND, dev, x->comm_id);
	if (c && nb_hooks_on(NB_HOOK_NET_CONNECT)) {
		int wanted = nb_net_run_connect(c, false);

		if (wanted >= 0 && (net.ops->takes_class || net.ops->extension))
			*traffic_class = wanted;
	}
	return c;
}

/* Keep a connect that NCCL must continue with further calls. */
static void connecting_put(const void *handle, struct nb_net_conn *c, int traffic_class)
{
	struct trip *t;

	pthread_mutex_lock(&net.lock);
	t = &net.trip[net.next_trip++ % TRIPS];
	free(t->conn); /* NCCL has given up this connect, or starts it again */
	*t = (struct trip){ handle, pthread_self(), c, traffic_class };
	pthread_mutex_unlock(&net.lock);
}

static void learn_peer(struct nb_net_conn *c)
{
	if (net.ops->extension)
		net.ops->extension->peer(c->inner, &c->peer);
}

int nb_net_connect(void *ctx, int dev, int traffic_class, void *handle, void **send_comm,
		   void **dev_handle)
{
	const struct nb_net_ctx *x = ctx_of(ctx);
	struct nb_net_conn *c;
	int rc;

	if (!net.ops || !handle || !send_comm)
		return NB_NET_ARGUMENT;
	*send_comm = NULL;
	if (traffic_class ==
	    /*
	     * from v11 on, NCCL passes the traffic class to init, not to
	     * connect
	     */
	    NB_NET_CLASS_NONE)
		traffic_class = x->traffic_class;
	c = connecting_take(x, dev, handle, &traffic_class);
	if (!c)
		return NB_NET_SYSTEM;
	rc = count_lone_result("connect", net.ops->connect(x->inner, dev, traffic_class, handle,
							   &c->inner, dev_handle));
	if (rc) {
		free(c);
		return rc;
	}
	if (!c->inner) {
		connecting_put(handle, c, traffic_class);
		return NB_NET_OK;
	}
	learn_peer(c);
	nb_net_list_add(c);
	*send_comm = c;
	if (nb_hooks_on(NB_HOOK_NET_CONNECT))
		nb_net_run_connect(c, true);
	return NB_NET_OK;
}

int nb_net_accept(void *listen_comm, void **recv_comm, void **dev_handle)
{
	struct nb_net_conn *l = listen_comm, *c;
	void *inner = NULL;
	int rc;

	if (!net.ops || !l || !recv_comm)
		return NB_NET_ARGUMENT;
	*recv_comm = NULL;
	rc = count_result("accept", net.ops->accept(l->inner, &inner, dev_handle));
	if (rc || !inner) {
		NB_NET_COUNT(l->errors, rc != 0);
		return rc;
	}
	c = conn_new(NB_NET_RECV, (int)l->dev, l->comm_id);
	if (!c) {
		net.ops->close_recv(inner);
		return NB_NET_SYSTEM;
	}
	c->inner = inner;
	c->listener = l->id;
	learn_peer(c);
	nb_net_list_add(c);
	*recv_comm = c;
	if (nb_hooks_on(NB_HOOK_NET_ACCEPT))
		nb_net_run_accept(c, l->born_ns);
	return NB_NET_OK;
}

static int net_close_with(void *comm, const char *what, int (*fn)(void *))
{
	struct nb_net_conn *c = comm;
	int rc;

	if (nb_hooks_on(NB_HOOK_NET_CLOSE))
		nb_net_run_close(c);
	rc = count_lone_result(what, fn(c->inner));
	nb_net_list_remove(c);
	free(c);
	return rc;
}

int nb_net_close_send(void *comm)
{
	return comm && net.ops ? net_close_with(comm, "closeSend", net.ops->close_send) : 0;
}

int nb_net_close_recv(void *comm)
{
	return comm && net.ops ? net_close_with(comm, "closeRecv", net.ops->close_recv) : 0;
}

int nb_net_close_listen(void *comm)
{
	return comm && net.ops ? net_close_with(comm, "closeListen", net.ops->close_listen) : 0;
}

static void *inner_of(void *comm)
{
	return comm ? ((struct nb_net_conn *)comm)->inner : NULL;
}

int nb_net_reg_mr(void *comm, void *data, size_t size, int type, void **mhandle)
{
	return net.ops && comm ? count_lone_result("regMr", net.ops->reg_mr(inner_of(comm), data,
									    size, type, mhandle))
			       : NB_NET_ARGUMENT;
}

int nb_net_reg_mr_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			 void **mhandle)
{
	return net.ops && net.ops->reg_mr_dmabuf && comm
		       ? count_lone_result("regMrDmaBuf",
					   net.ops->reg_mr_dmabuf(inner_of(comm), data, size, type,
								  offset, fd, mhandle))
		       : NB_NET_ARGUMENT;
}

int nb_net_dereg_mr(void *comm, void *mhandle)
{
	return net.ops && comm
		       ? count_lone_result("deregMr", net.ops->dereg_mr(inner_of(comm), mhandle))
		       : NB_NET_ARGUMENT;
}

int nb_net_get_device_mr(void *comm, void *mhandle, void **dptr)
{
	return net.ops && net.ops->get_device_mr && comm
		       ? count_lone_result("getDeviceMr",
					   net.ops->get_device_mr(inner_of(comm), mhandle, dptr))
		       : NB_NET_INTERNAL;
}

enum { HOOKED_POST = 1u << NB_HOOK_NET_ISEND | 1u << NB_HOOK_NET_IRECV | 1u << NB_HOOK_NET_TEST };

/*
 * Returns a free request, in ring order, or NULL if all are in use; NCCL then
 * tries again.
 */
static struct nb_net_request *conn_free_request(struct nb_net_conn *c)
{
	for (uint64_t i = 0; i < NB_NET_REQUESTS; i++) {
		struct nb_net_request *r = &c->request[(c->requests + i) % NB_NET_REQUESTS];

		if (!r->busy)
			return r;
	}
	return NULL;
}

static bool post_hooked(void)
{
	return __builtin_expect(nb_hooks_any(HOOKED_POST), 0);
}

/*
 * Start a request of a connection of this kind. Returns NULL if NCCL's
 * arguments are invalid (*@rc is then the result), or if all requests are in
 * use. It runs before the transport is called, because the transport may finish
 * the request within the call.
 */
static struct nb_net_request *request_begin(struct nb_net_conn *c, enum nb_net_kind kind,
					    void **request, int *rc)
{
	struct nb_net_request *r;

	*rc = NB_NET_ARGUMENT;
	if (!request)
		return NULL;
	*request = NULL;
	if (!c || c->kind != kind)
		return NULL;
	*rc = NB_NET_OK;
	r = conn_free_request(c);
	if (!r)
		return NULL;
	r->inner = NULL;
	r->start_ns = post_hooked() ? nb_clock_system() : 0;
	return r;
}

/*
 * Fill in a request that the transport has accepted and give it to NCCL. @rc is
 * the transport's result, which is returned. A request that it did not accept
 * stays free.
 */
static int request_posted(struct nb_net_request *r, int rc, uint32_t kind, uint64_t bytes,
			  uint32_t tag, uint32_t buffers, void **request)
{
	struct nb_net_conn *c = r->conn;

	if (rc || !r->inner) {
		NB_NET_COUNT(c->errors, rc != 0);
		return rc;
	}
	r->busy = true;
	r->kind = kind;
	r->bytes = bytes;
	r->tag = tag;
	r->buffers = buffers;
	r->polls = 0;
	r->failed = false;
	r->number = c->requests;
	NB_NET_COUNT(c->requests, 1);
	NB_NET_COUNT(c->outstanding, 1);
	if (post_hooked())
		nb_net_run_posted(r);
	*request = r;
	return NB_NET_OK;
}

int nb_net_isend(void *send_comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
		 void **request)
{
	struct nb_net_conn *c = send_comm;
	int rc;
	struct nb_net_request *r = request_begin(c, NB_NET_SEND, request, &rc);

	if (!r)
		return rc;
	rc = count_result("isend",
			  net.ops->isend(c->inner, data, size, tag, mhandle, phandle, &r->inner));
	return request_posted(r, rc, NB_NET_SEND, size, (uint32_t)tag, 1, request);
}

static uint64_t sum_sizes(const size_t *sizes, int n)
{
	uint64_t all = 0;

	for (int i = 0; i < n; i++)
		all += sizes[i];
	return all;
}

int nb_net_irecv(void *recv_comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
		 void **phandles, void **request)
{
	/* NCCL may pass a hint in *request, which the transport gets */
	void *hint = request ? *request : NULL;
	struct nb_net_conn *c = recv_comm;
	int rc;
	struct nb_net_request *r = request_begin(c, NB_NET_RECV, request, &rc);

	if (r && (n < 1 || !sizes))
		return NB_NET_ARGUMENT;
	if (!r)
		return rc;
	r->inner = hint;
	rc = count_result("irecv", net.ops->irecv(c->inner, n, data, sizes, tags, mhandles,
						  phandles, &r->inner));
	return request_posted(r, rc, NB_NET_RECV, sum_sizes(sizes, n), tags ? (uint32_t)tags[0] : 0,
			      (uint32_t)n, request);
}

int nb_net_iflush(void *recv_comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	struct nb_net_conn *c = recv_comm;
	uint64_t bytes = 0;
	int rc;
	struct nb_net_request *r = request_begin(c, NB_NET_RECV, request, &rc);

	if (rc || !net.ops->iflush)
		return rc;
	if (!r)
		/* a NULL request would mean that the flush is complete */
		return NB_NET_SYSTEM;
	rc = count_result("iflush", net.ops->iflush(c->inner, n, data, sizes, mhandles, &r->inner));
	for (int i = 0; sizes && i < n; i++)
		bytes += (uint64_t)sizes[i];
	return request_posted(r, rc, NB_NET_LISTENER, bytes, 0, (uint32_t)n, request);
}

/* Complete a request of the transport and free its entry. */
static void request_done(struct nb_net_request *r, const int *sizes)
{
	struct nb_net_conn *c = r->conn;

	if (r->kind == NB_NET_RECV && sizes) {
		r->bytes = 0;
		for (uint32_t i = 0; i < r->buffers; i++)
			r->bytes += (uint64_t)sizes[i];
	}
	NB_NET_COUNT(c->outstanding, -1u);
	if (r->kind != NB_NET_LISTENER) /* a flush moves no data of its own */
		NB_NET_COUNT(c->bytes, r->bytes);
	r->busy = false;
	if (nb_hooks_on(NB_HOOK_NET_TEST))
		nb_net_run_test(r, NB_NET_OK);
}

/*
 * Mark a request as failed. It stays busy, so NCCL gets the same error again.
 */
static void request_failed(struct nb_net_request *r, int error)
{
	NB_NET_COUNT(r->conn->errors, 1);
	r->bytes = 0;
	if (!r->failed && nb_hooks_on(NB_HOOK_NET_TEST))
		nb_net_run_test(r, error);
	r->failed = true;
}

int nb_net_test(void *request, int *done, int *sizes)
{
	struct nb_net_request *r = request;
	int own[NB_NET_MAX_RECVS];
	int rc;

	if (!done)
		return NB_NET_ARGUMENT;
	*done = 0;
	if (!r || !r->busy)
		return NB_NET_ARGUMENT;
	r->polls++;
	/*
	 * get the sizes even if NCCL does not ask, since they are the bytes
	 * received
	 */
	if (!sizes && r->kind == NB_NET_RECV && r->buffers <= NB_NET_MAX_RECVS) {
		memset(own, 0, r->buffers * sizeof(own[0]));
		sizes = own;
	}
	rc = count_result("test", net.ops->test(r->inner, done, sizes));
	if (rc)
		request_failed(r, rc);
	else if (*done)
		request_done(r, sizes);
	return rc;
}

int nb_net_irecv_consumed(void *recv_comm, int n, void *request)
{
	struct nb_net_request *r = request;

	if (!net.ops || !net.ops->irecv_consumed || !recv_comm || !r)
		return NB_NET_OK;
	return count_lone_result("irecvConsumed",
				 net.ops->irecv_consumed(inner_of(recv_comm), n, r->inner));
}
