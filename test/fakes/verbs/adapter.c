// SPDX-License-Identifier: MIT
// A virtual InfiniBand adapter: a libibverbs.so.1 on which NCCL's own
// transport, and whatever else opens libibverbs at run time, runs between
// processes of one user, without kernel modules or root. Queue pairs,
// completion queues and the table of memory regions are in the file that VHCA
// names, shared by the processes; data goes by process_vm_writev. Keys, bounds,
// rights, protection domains, packet numbers and states are checked as an
// adapter does. Reliable connections with RDMA WRITE, with and without
// immediate value, and SEND.
//
//	VHCA=FILE           the fabric; it is made if it is not there
//	VHCA_RAILS=N        there are N adapters of the same fabric, vhca0 to at most vhca7
//	VHCA_SLOW_US=N      each send takes N us more
//	VHCA_SLOW_RAIL=N    but only those of adapter N
//	VHCA_LOSS=N         N % of the sends wait for the queue pair's time-out,
//	  as if lost once; FILE.retries grows by a byte for each
//	VHCA_MAX_TIMEOUT=N  a change of state with a longer time-out is refused
//	VHCA_BROKEN=V,...   these verbs fail (create_qp,poll_cq), or all
//	VHCA_UVERBS=FILE    an opened adapter keeps it open as its device file
//
// The first byte of FILE is a fault that the next send of any process takes;
// it may be written while they run:
//
//	r n a  retries used up, receiver not ready, no remote access
//	f      the queue pair fails with an asynchronous event
//	l      no completion; a write with immediate value takes it
//	t      its completion comes twice
//	u g    its completion is of no queue pair; of random bytes
//	b      its last byte arrives inverted, and its completion says success;
//	  a write of more than 64 bytes takes it
#include "test/fakes/verbs/adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fabric *vhca;
int vhca_events[2] = { -1, -1 };
#define RAIL(number)                                                          \
	{                                                                     \
		.node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, \
		.name = "vhca" #number, .dev_name = "uverbs" #number,         \
		.dev_path = "/sys/class/infiniband_verbs/uverbs" #number,     \
		.ibdev_path = "/sys/class/infiniband/vhca" #number            \
	}
static struct ibv_device rails[] = {
	RAIL(0), RAIL(1), RAIL(2), RAIL(3), RAIL(4), RAIL(5), RAIL(6), RAIL(7),
};
enum { MOST_RAILS = sizeof(rails) / sizeof(rails[0]) };

static int place(atomic_int *of, size_t stride, int n, int value)
{
	for (int i = 0; i < n; i++) {
		int none = 0;
		atomic_int *at = (void *)((uintptr_t)of + (size_t)i * stride);

		if (atomic_compare_exchange_strong(at, &none, value))
			return i;
	}
	errno = ENOMEM;
	return -1;
}

bool vhca_broken(const char *verb)
{
	const char *list = getenv("VHCA_BROKEN"), *at;
	size_t n = strlen(verb);

	if (!list)
		return false;
	at = strstr(list, verb);
	if (strcmp(list, "all") != 0 &&
	    (!at || (at > list && at[-1] != ',') || (at[n] && at[n] != ',')))
		return false;
	errno = EIO;
	return true;
}

/* ---- adapter ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
	struct ibv_device **l = calloc(MOST_RAILS + 1, sizeof(*l));
	const char *more = getenv("VHCA_RAILS");
	int asked = more ? atoi(more) : 1;
	int count = asked < 1 ? 1 : asked > MOST_RAILS ? MOST_RAILS : asked;

	for (int i = 0; l && i < count; i++)
		l[i] = &rails[i];
	if (n)
		*n = l ? count : 0;
	return l;
}

void ibv_free_device_list(struct ibv_device **l)
{
	free(l);
}

int vhca_rail(const struct ibv_context *c)
{
	return (int)(c->device - rails);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
	return d->name;
}

/* Calls by name inside this library would find the tap's functions. */
static struct ibv_cq *cq_new(struct ibv_context *c, int cqe, void *cq_context)
{
	struct my_cq *q = calloc(1, sizeof(*q));
	int i = !q || vhca_broken("create_cq")
			? -1
			: place(&vhca->cq[0].used, sizeof(struct cq), CQS, 1);

	if (i < 0) {
		free(q);
		return NULL;
	}
	vhca->cq[i].head = vhca->cq[i].tail = 0;
	q->i = i;
	q->v.context = c;
	q->v.cq_context = cq_context;
	q->v.cqe = cqe;
	return &q->v;
}

static struct ibv_qp *qp_new(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct my_qp *q = calloc(1, sizeof(*q));
	int i = !q || vhca_broken("create_qp")
			? -1
			: place(&vhca->qp[0].pid, sizeof(struct qp), QPS, getpid());
	struct qp *me;

	if (i < 0) {
		free(q);
		return NULL;
	}
	me = &vhca->qp[i];
	me->state = IBV_QPS_RESET;
	me->send_cq = ((struct my_cq *)a->send_cq)->i;
	me->recv_cq = ((struct my_cq *)a->recv_cq)->i;
	me->pd = (uintptr_t)pd;
	me->rights = 0;
	me->head = me->tail = 0;
	/* one that is gone is not taken for its successor in the same place */
	me->timeout = 0;
	me->lottery = (uint32_t)i * 40503u;
	me->num = (uint32_t)i + QPS * (++me->generation % 4096);
	q->i = i;
	q->sq_sig_all = a->sq_sig_all;
	q->v = (struct ibv_qp){ .context = pd->context,
				.qp_context = a->qp_context,
				.pd = pd,
				.send_cq = a->send_cq,
				.recv_cq = a->recv_cq,
				.qp_num = me->num,
				.state = IBV_QPS_RESET,
				.qp_type = a->qp_type };
	return &q->v;
}

/* The extended interface, as far as the tap counts who uses it. */
static struct ibv_qp *create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *a)
{
	struct ibv_qp_init_attr plain = { .send_cq = a->send_cq,
					  .recv_cq = a->recv_cq,
					  .cap = a->cap,
					  .qp_type = a->qp_type,
					  .sq_sig_all = a->sq_sig_all };

	(void)c;
	return qp_new(a->pd, &plain);
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *a)
{
	return (struct ibv_cq_ex *)cq_new(c, (int)a->cqe, a->cq_context);
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
	const char *path = getenv("VHCA"), *file = getenv("VHCA_UVERBS");
	struct verbs_context *x;
	int fd = path && !vhca_broken("open_device")
			 ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
			 : -1;

	if (fd < 0)
		return NULL;
	if (!vhca && !ftruncate(fd, (off_t)sizeof(*vhca))) {
		void *at = mmap(NULL, sizeof(*vhca), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		vhca = at == MAP_FAILED ? NULL : at;
	}
	close(fd);
	if (!vhca || (vhca_events[0] < 0 && pipe2(vhca_events, O_CLOEXEC)))
		return NULL;
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->sz = sizeof(*x);
	x->create_qp_ex = create_qp_ex;
	x->create_cq_ex = create_cq_ex;
	x->context = (struct ibv_context){
		.device = d,
		.ops = { .post_send = vhca_post_send,
			 .post_recv = vhca_post_recv,
			 .poll_cq = vhca_poll_cq },
		.cmd_fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1,
		.async_fd = vhca_events[0],
		.abi_compat = __VERBS_ABI_IS_EXTENDED,
	};
	return &x->context;
}

int ibv_close_device(struct ibv_context *c)
{
	if (vhca_broken("close_device"))
		return -1;
	if (c->cmd_fd >= 0)
		close(c->cmd_fd);
	free(verbs_get_ctx(c));
	return 0;
}

int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *e)
{
	if (vhca_broken("get_async_event"))
		return -1;
	return read(c->async_fd, e, sizeof(*e)) == (ssize_t)sizeof(*e) ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *e)
{
	(void)e;
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *a)
{
	uint64_t guid = 1 + (uint64_t)vhca_rail(c);

	*a = (struct ibv_device_attr){
		.sys_image_guid = guid,
		.node_guid = guid,
		.max_mr_size = UINT64_MAX,
		.max_qp = QPS,
		.max_cq = CQS,
		.max_mr = MRS,
		.max_qp_wr = RECVS,
		.max_cqe = WCS,
		.max_sge = MAX_SGE,
		.phys_port_cnt = 1,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
	};
	return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	struct ibv_port_attr a = {
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.gid_tbl_len = 1,
		.pkey_tbl_len = 1,
		.max_msg_sz = 1u << 30,
		.lid = 1,
		.active_width = 2,
		.active_speed = 32,
		.phys_state = 5,
		.link_layer = IBV_LINK_LAYER_INFINIBAND,
	};

	(void)c, (void)port;
	/* callers of this name have the structure of before port_cap_flags2 */
	memcpy(attr, &a, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

int ibv_query_gid(struct ibv_context *c, uint8_t port, int i, union ibv_gid *gid)
{
	(void)c, (void)port, (void)i;
	*gid = (union ibv_gid){ .raw = { 0xfe, 0x80, [15] = 1 } };
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->context = c;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t n, int access)
{
	struct ibv_mr *m = calloc(1, sizeof(*m));
	int i = !m || vhca_broken("reg_mr") ? -1
					    : place(&vhca->mr[0].pid, sizeof(struct mr), MRS, -1);
	struct mr *r;

	if (i < 0) {
		free(m);
		return NULL;
	}
	r = &vhca->mr[i];
	r->addr = (uintptr_t)addr;
	r->length = n;
	r->rights = access;
	r->pd = (uintptr_t)pd;
	/* the key of a region that is gone is not its successor's */
	r->key = (uint32_t)i + MRS * (1 + r->generation++ % 65536);
	r->pid = getpid();
	*m = (struct ibv_mr){ .context = pd->context,
			      .pd = pd,
			      .addr = addr,
			      .length = n,
			      .lkey = r->key,
			      .rkey = r->key };
	return m;
}

int ibv_dereg_mr(struct ibv_mr *m)
{
	if (vhca_broken("dereg_mr"))
		return EIO;
	vhca->mr[m->lkey % MRS].pid = 0;
	free(m);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	(void)channel, (void)vector;
	return cq_new(c, cqe, cq_context);
}

int ibv_destroy_cq(struct ibv_cq *q)
{
	vhca->cq[((struct my_cq *)q)->i].used = 0;
	free(q);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	return qp_new(pd, a);
}

/* What a reliable connection's change to this state has to set. */
static int needed_for(enum ibv_qp_state state)
{
	switch ((int)state) {
	case IBV_QPS_INIT:
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPS_RTS:
		return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return 0;
}

static bool change_allowed(const struct qp *me, const struct ibv_qp_attr *a, int mask)
{
	const char *most = getenv("VHCA_MAX_TIMEOUT");
	int need = needed_for(a->qp_state);

	if (mask & IBV_QP_TIMEOUT && most && a->timeout > atoi(most))
		return false;
	if (!(mask & IBV_QP_STATE) || a->qp_state == IBV_QPS_RESET || a->qp_state == IBV_QPS_ERR)
		return true;
	return (int)a->qp_state == me->state + 1 && (mask & need) == need;
}

int ibv_modify_qp(struct ibv_qp *q, struct ibv_qp_attr *a, int mask)
{
	struct qp *me = &vhca->qp[((struct my_qp *)q)->i];

	if (vhca_broken("modify_qp"))
		return EIO;
	if (!change_allowed(me, a, mask))
		return EINVAL;
	if (mask & IBV_QP_ACCESS_FLAGS)
		me->rights = (int)a->qp_access_flags;
	if (mask & IBV_QP_DEST_QPN)
		me->dest = a->dest_qp_num;
	if (mask & IBV_QP_TIMEOUT)
		me->timeout = a->timeout;
	if (mask & IBV_QP_RQ_PSN)
		me->rq_psn = a->rq_psn;
	if (mask & IBV_QP_SQ_PSN)
		me->sq_psn = a->sq_psn;
	if (mask & IBV_QP_STATE) {
		q->state = a->qp_state;
		me->state = (int)a->qp_state;
		if (a->qp_state == IBV_QPS_ERR)
			vhca_fail(me);
	}
	return 0;
}

int ibv_query_qp(struct ibv_qp *q, struct ibv_qp_attr *a, int mask, struct ibv_qp_init_attr *i)
{
	(void)mask, (void)i;
	*a = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)vhca->qp[((struct my_qp *)q)->i].state
	};
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *q)
{
	if (vhca_broken("destroy_qp"))
		return EIO;
	vhca->qp[((struct my_qp *)q)->i].pid = 0;
	free(q);
	return 0;
}

int ibv_fork_init(void)
{
	return 0;
}

const char *ibv_event_type_str(enum ibv_event_type e)
{
	return e == IBV_EVENT_QP_FATAL ? "local work queue catastrophic error" : "event";
}
