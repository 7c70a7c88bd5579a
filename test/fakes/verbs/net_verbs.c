// SPDX-License-Identifier: MIT
// A small net plugin (interface v8) over verbs: one reliable connection each
// way, host memory. The receiver writes where a message may go into a ring of
// the sender's (RDMA WRITE); the sender writes there with an immediate value,
// which completes an empty receive. So nothing is sent that was not asked for,
// as in NCCL's own transport. libibverbs is opened by the names, and in the
// order, of NCCL's.
//
// Two sides meet over TCP: the listener's address is in the handle; who
// connects says its GID, queue pair and PSN, and hears the other's. On an
// adapter with RoCE the first v2 GID of an IPv4 address is used.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/fakes/host/net.h"

enum { OK, SYSTEM = 2, INTERNAL = 3, USAGE = 5, REMOTE = 6, DEPTH = 64, WARN = 2 };

#undef ibv_reg_mr
#define VERBS(X)                                                                    \
	X(struct ibv_device **, get_device_list, (int *))                           \
	X(void, free_device_list, (struct ibv_device **))                           \
	X(const char *, get_device_name, (struct ibv_device *))                     \
	X(struct ibv_context *, open_device, (struct ibv_device *))                 \
	X(struct ibv_pd *, alloc_pd, (struct ibv_context *))                        \
	X(struct ibv_mr *, reg_mr, (struct ibv_pd *, void *, size_t, int))          \
	X(int, dereg_mr, (struct ibv_mr *))                                         \
	X(struct ibv_cq *, create_cq,                                               \
	  (struct ibv_context *, int, void *, struct ibv_comp_channel *, int))      \
	X(int, destroy_cq, (struct ibv_cq *))                                       \
	X(struct ibv_qp *, create_qp, (struct ibv_pd *, struct ibv_qp_init_attr *)) \
	X(int, modify_qp, (struct ibv_qp *, struct ibv_qp_attr *, int))             \
	X(int, destroy_qp, (struct ibv_qp *))                                       \
	X(int, get_async_event, (struct ibv_context *, struct ibv_async_event *))   \
	X(void, ack_async_event, (struct ibv_async_event *))                        \
	X(int, query_gid, (struct ibv_context *, uint8_t, int, union ibv_gid *))

static struct {
#define X(type, name, args) type(*name) args;
	VERBS(X)
#undef X
} verbs;
static host_net_logger *logger;
static struct ibv_context *device;
static struct ibv_pd *pd;
static union ibv_gid own_gid;
static uint8_t gid_index;
static bool roce;
static char device_name[64];

/* What the sides tell each other. */
struct hello {
	union ibv_gid gid;
	uint32_t qp, psn, rkey, spare;
	uint64_t ring;
};

/* Where a message may go. An RDMA WRITE is done from its first byte to its last
 * on the adapters meant here, so number comes last. */
struct grant {
	uint64_t addr;
	uint32_t rkey, room;
	_Atomic uint64_t number;
};

struct request {
	struct conn *conn;
	bool busy, done;
	int bytes;
};

struct conn {
	int fd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct hello mine, other;
	struct ibv_mr *ring_mr;
	uint64_t next; /* number of the next message */
	int posted;    /* without a completion yet */
	struct grant ring[DEPTH];
	struct request request[DEPTH];
};

struct handle {
	struct sockaddr_in at;
	struct conn *conn; /* of connect's earlier calls */
};

/* ---- adapter ---- */

static bool open_verbs(void)
{
	void *lib = dlopen("libibverbs.so", RTLD_NOW);

	if (!lib)
		lib = dlopen("libibverbs.so.1", RTLD_NOW);
	if (!lib)
		return false;
#define X(type, name, args)                                               \
	*(void **)&verbs.name = dlvsym(lib, "ibv_" #name, "IBVERBS_1.1"); \
	if (!verbs.name)                                                  \
		return false;
	VERBS(X)
#undef X
	return true;
}

static bool find_gid(void)
{
	for (uint8_t i = 0; i < 16; i++) {
		char path[256], type[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d",
			 device_name, i);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (!fgets(type, sizeof(type), f))
			type[0] = 0;
		fclose(f);
		if (strncmp(type, "RoCE v2", 7) != 0 || verbs.query_gid(device, 1, i, &own_gid) ||
		    own_gid.raw[10] != 0xff || own_gid.raw[11] != 0xff)
			continue;
		gid_index = i;
		return true;
	}
	return false;
}

/* Is @name this rank's adapter? NET_VERBS_DEVICE is a list, such as
 * "rxe0,rxe1", of which the ranks take one after the other; unset: any. */
static bool is_ours(const char *name)
{
	const char *list = getenv("NET_VERBS_DEVICE"), *rank = getenv("RANK");
	unsigned n = 1, at;

	if (!list)
		return true;
	for (const char *c = list; *c; c++)
		n += *c == ',';
	at = rank ? (unsigned)strtoul(rank, NULL, 10) % n : 0;
	while (at--)
		list = strchr(list, ',') + 1;
	n = (unsigned)strcspn(list, ",");
	return strlen(name) == n && !memcmp(name, list, n);
}

static int init(host_net_logger *log)
{
	struct ibv_device **list;
	int n = 0;

	logger = log;
	if (device || !open_verbs())
		return OK;
	list = verbs.get_device_list(&n);
	for (int i = 0; list && i < n && !device; i++) {
		const char *name = verbs.get_device_name(list[i]);

		if (!is_ours(name))
			continue;
		snprintf(device_name, sizeof(device_name), "%s", name);
		device = verbs.open_device(list[i]);
	}
	if (list)
		verbs.free_device_list(list);
	if (!device)
		return OK;
	roce = find_gid();
	pd = verbs.alloc_pd(device);
	if (!pd)
		device = NULL;
	return OK;
}

static int devices(int *n)
{
	*n = device ? 1 : 0;
	return OK;
}

static int properties(int dev, struct host_props_v8 *p)
{
	(void)dev;
	*p = (struct host_props_v8){ .name = device_name,
				     .guid = 1,
				     .ptrSupport = 1,
				     .regIsGlobal = 1,
				     .speed = 1000,
				     .port = 1,
				     .maxComms = 65536,
				     .maxRecvs = 1 };
	return OK;
}

/* ---- connections ---- */

/* The last grant may be acknowledged after the message that it asked for. Take
 * its completion too, so that each post has had one; not for ever. */
static void drain(struct conn *c)
{
	struct ibv_wc wc;

	for (int i = 0; i < 50 && c->posted > 0; i++) {
		int n = ibv_poll_cq(c->cq, 1, &wc);

		if (n < 0)
			return;
		c->posted -= n;
		if (!n)
			usleep(10000);
	}
}

static int close_conn(void *comm)
{
	struct conn *c = comm;

	drain(c);
	if (c->qp)
		verbs.destroy_qp(c->qp);
	if (c->ring_mr)
		verbs.dereg_mr(c->ring_mr);
	if (c->cq)
		verbs.destroy_cq(c->cq);
	if (c->fd >= 0)
		close(c->fd);
	free(c);
	return OK;
}

static bool conn_prepare(struct conn *c)
{
	const int write = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_qp_init_attr want = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
				 .port_num = 1,
				 .qp_access_flags = (unsigned)write };

	c->cq = verbs.create_cq(device, 4 * DEPTH, NULL, NULL, 0);
	if (!c->cq)
		return false;
	want.send_cq = want.recv_cq = c->cq;
	want.cap = (struct ibv_qp_cap){ 2 * DEPTH, DEPTH, 1, 1, 0 };
	c->qp = verbs.create_qp(pd, &want);
	if (!c->qp ||
	    verbs.modify_qp(c->qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return false;
	c->ring_mr = verbs.reg_mr(pd, c->ring, sizeof(c->ring), write);
	if (!c->ring_mr)
		return false;
	c->mine = (struct hello){ .gid = own_gid,
				  .qp = c->qp->qp_num,
				  .rkey = c->ring_mr->rkey,
				  .ring = (uintptr_t)c->ring };
	return getrandom(&c->mine.psn, 3, 0) == 3;
}

static struct conn *conn_new(void)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = -1;
	if (conn_prepare(c))
		return c;
	close_conn(c);
	return NULL;
}

static int conn_ready(struct conn *c)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = c->other.qp,
		.rq_psn = c->other.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .dlid = 1,
			     .port_num = 1,
			     .grh = { .dgid = c->other.gid,
				      .sgid_index = gid_index,
				      .hop_limit = 64 } },
	};
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .timeout = 18,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .sq_psn = c->mine.psn,
				   .max_rd_atomic = 1 };
	int rc = verbs.modify_qp(c->qp, &rtr,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER);

	if (!rc)
		rc = verbs.modify_qp(c->qp, &rts,
				     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					     IBV_QP_MAX_QP_RD_ATOMIC);
	if (rc)
		logger(WARN, ~0ul, __FILE__, __LINE__, "verbs: queue pair %u to RTS: %s",
		       c->qp->qp_num, strerror(rc));
	return rc ? SYSTEM : OK;
}

static int listen_at(int dev, void *handle, void **comm)
{
	struct handle *h = handle;
	struct conn *c = calloc(1, sizeof(*c));
	socklen_t n = sizeof(h->at);

	(void)dev;
	if (!c)
		return SYSTEM;
	memset(h, 0, sizeof(*h));
	h->at.sin_family = AF_INET;
	h->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (roce)
		memcpy(&h->at.sin_addr, own_gid.raw + 12, 4);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || bind(c->fd, (void *)&h->at, sizeof(h->at)) || listen(c->fd, 64) ||
	    getsockname(c->fd, (void *)&h->at, &n)) {
		close_conn(c);
		return SYSTEM;
	}
	*comm = c;
	return OK;
}

static int connect_to(int dev, void *handle, void **comm, void **device_handle)
{
	struct handle *h = handle;
	struct conn *c = h->conn;

	(void)dev, (void)device_handle;
	*comm = NULL;
	if (!c) {
		c = conn_new();
		if (!c)
			return SYSTEM;
		h->conn = c;
		c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(c->fd, (void *)&h->at, sizeof(h->at)) ||
		    send(c->fd, &c->mine, sizeof(c->mine), 0) != (ssize_t)sizeof(c->mine))
			return SYSTEM;
	}
	if (recv(c->fd, &c->other, sizeof(c->other), MSG_DONTWAIT | MSG_PEEK) !=
	    (ssize_t)sizeof(c->other))
		return errno == EAGAIN ? OK : REMOTE;
	close(c->fd);
	c->fd = -1;
	if (conn_ready(c))
		return SYSTEM;
	*comm = c;
	return OK;
}

static int accept_from(void *listener, void **comm, void **device_handle)
{
	struct conn *l = listener, *c;
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)device_handle;
	*comm = NULL;
	if (fd < 0)
		return OK;
	c = conn_new();
	if (!c) {
		close(fd);
		return SYSTEM;
	}
	c->fd = fd;
	if (recv(fd, &c->other, sizeof(c->other), MSG_WAITALL) != (ssize_t)sizeof(c->other) ||
	    conn_ready(c) || send(fd, &c->mine, sizeof(c->mine), 0) != (ssize_t)sizeof(c->mine)) {
		close_conn(c);
		return SYSTEM;
	}
	*comm = c;
	return OK;
}

/* ---- memory and messages ---- */

static int reg(void *comm, void *data, size_t size, int type, void **mh)
{
	(void)comm, (void)type;
	*mh = verbs.reg_mr(pd, data, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return *mh ? OK : SYSTEM;
}

static int dereg(void *comm, void *mh)
{
	(void)comm;
	return verbs.dereg_mr(mh) ? SYSTEM : OK;
}

static struct request *request_new(struct conn *c)
{
	for (int i = 0; i < DEPTH; i++)
		if (!c->request[i].busy) {
			c->request[i] = (struct request){ .conn = c, .busy = true };
			return &c->request[i];
		}
	return NULL;
}

static int isend(void *comm, void *data, int size, int tag, void *mh, void **request)
{
	struct conn *c = comm;
	struct grant *to = &c->ring[c->next % DEPTH];
	struct ibv_sge piece = { (uintptr_t)data, (uint32_t)size, ((struct ibv_mr *)mh)->lkey };
	struct ibv_send_wr w = { .sg_list = &piece,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl((uint32_t)size) };
	struct ibv_send_wr *bad;
	struct request *r;

	(void)tag;
	*request = NULL;
	if (atomic_load(&to->number) != c->next + 1)
		return OK; /* not asked for yet: NCCL calls again */
	r = request_new(c);
	if (!r)
		return OK;
	if ((uint32_t)size > to->room)
		return USAGE;
	w.wr_id = (uintptr_t)r;
	w.wr.rdma.remote_addr = to->addr;
	w.wr.rdma.rkey = to->rkey;
	r->bytes = size;
	if (ibv_post_send(c->qp, &w, &bad))
		return SYSTEM;
	c->posted++;
	c->next++;
	*request = r;
	return OK;
}

static int irecv(void *comm, int n, void **data, int *sizes, int *tags, void **mh, void **request)
{
	struct conn *c = comm;
	struct grant *at = &c->ring[c->next % DEPTH];
	struct request *r = n == 1 ? request_new(c) : NULL;
	struct ibv_recv_wr empty = { .wr_id = (uintptr_t)r }, *bad_recv;
	struct ibv_sge piece = { (uintptr_t)at, sizeof(*at), c->ring_mr->lkey };
	struct ibv_send_wr w = { .sg_list = &piece,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad_send;

	(void)tags;
	*request = NULL;
	if (!r)
		return OK;
	at->addr = (uintptr_t)data[0];
	at->rkey = ((struct ibv_mr *)mh[0])->rkey;
	at->room = (uint32_t)sizes[0];
	at->number = c->next + 1;
	w.wr.rdma.remote_addr = c->other.ring + c->next % DEPTH * sizeof(*at);
	w.wr.rdma.rkey = c->other.rkey;
	if (ibv_post_recv(c->qp, &empty, &bad_recv) || ibv_post_send(c->qp, &w, &bad_send))
		return SYSTEM;
	c->posted += 2;
	c->next++;
	*request = r;
	return OK;
}

/* One asynchronous event, if there is any. */
static void take_event(void)
{
	struct pollfd p = { .fd = device->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	if (poll(&p, 1, 0) != 1 || verbs.get_async_event(device, &e))
		return;
	logger(WARN, ~0ul, __FILE__, __LINE__, "verbs: asynchronous event %d", e.event_type);
	verbs.ack_async_event(&e);
}

static int take(struct conn *c, const struct ibv_wc *wc)
{
	struct request *r = (void *)(uintptr_t)wc->wr_id;

	c->posted--;
	if (wc->status) {
		c->posted = 0; /* the queue is in error: nothing to wait for */
		take_event();
		logger(WARN, ~0ul, __FILE__, __LINE__,
		       "verbs: queue pair %u: completion with status %d", wc->qp_num, wc->status);
		return REMOTE;
	}
	if (!r)
		return OK; /* a grant has been written */
	r->done = true;
	if (wc->opcode & IBV_WC_RECV)
		r->bytes = (int)ntohl(wc->imm_data);
	return OK;
}

static int test(void *request, int *done, int *sizes)
{
	struct request *r = request;
	struct ibv_wc wc[8];
	int n = ibv_poll_cq(r->conn->cq, 8, wc), rc = OK;

	*done = 0;
	if (n < 0)
		return SYSTEM;
	for (int i = 0; i < n && !rc; i++)
		rc = take(r->conn, &wc[i]);
	if (rc || !r->done)
		return rc;
	*done = 1;
	if (sizes)
		sizes[0] = r->bytes;
	r->busy = false;
	return OK;
}

static int flush(void *comm, int n, void **data, int *sizes, void **mh, void **request)
{
	(void)comm, (void)n, (void)data, (void)sizes, (void)mh;
	*request = NULL;
	return OK;
}

__attribute__((visibility("default"))) struct host_net_v8 ncclNetPlugin_v8 = {
	.name = "verbs",
	.init = init,
	.devices = devices,
	.getProperties = properties,
	.listen = listen_at,
	.connect = connect_to,
	.accept = accept_from,
	.regMr = reg,
	.deregMr = dereg,
	.isend = isend,
	.irecv = irecv,
	.iflush = flush,
	.test = test,
	.closeSend = close_conn,
	.closeRecv = close_conn,
	.closeListen = close_conn,
};
