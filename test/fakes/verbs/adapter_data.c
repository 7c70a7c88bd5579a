// SPDX-License-Identifier: MIT
// The virtual adapter's data path: posts, data, completions and faults.
#include "test/fakes/verbs/adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static void lock(atomic_int *l)
{
	while (atomic_exchange(l, 1))
		sched_yield();
}

static void unlock(atomic_int *l)
{
	atomic_store(l, 0);
}

/* ---- faults ---- */

enum fault {
	NONE,
	RETRY = 'r',
	RNR = 'n',
	ACCESS = 'a',
	FATAL = 'f',
	LOST = 'l',
	UNKNOWN = 'u',
	GARBAGE = 'g',
	BYTE = 'b',
	TWICE = 't'
};

static uint64_t length_of(const struct ibv_send_wr *w)
{
	uint64_t n = 0;

	for (int i = 0; i < w->num_sge; i++)
		n += w->sg_list[i].length;
	return n;
}

static enum fault fault_taken(const struct ibv_send_wr *w)
{
	enum { GRANT = 64 }; /* bytes that NCCL's receivers write to senders */
	unsigned char next = atomic_load(&vhca->fault);

	if (next == LOST && w->opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
		return NONE;
	if (next == BYTE && length_of(w) <= GRANT)
		return NONE;
	if (next && atomic_compare_exchange_strong(&vhca->fault, &next, 0))
		return (enum fault)next;
	return NONE;
}

static void tell_fatal(struct ibv_qp *qp)
{
	struct ibv_async_event e = { .event_type = IBV_EVENT_QP_FATAL };

	e.element.qp = qp;
	if (write(vhca_events[1], &e, sizeof(e)) != (ssize_t)sizeof(e))
		abort();
}

/* ---- completions ---- */

static void complete(int cq, const struct ibv_wc *wc)
{
	struct cq *c = &vhca->cq[cq];

	lock(&c->lock);
	if (c->head - c->tail < WCS)
		c->wc[c->head++ % WCS] = *wc;
	unlock(&c->lock);
}

static bool take_recv(struct qp *q, struct recv *r)
{
	bool any;

	lock(&q->lock);
	any = q->head != q->tail;
	if (any)
		*r = q->recv[q->tail++ % RECVS];
	unlock(&q->lock);
	return any;
}

void vhca_fail(struct qp *q)
{
	struct recv r;

	q->state = IBV_QPS_ERR;
	while (take_recv(q, &r))
		complete(q->recv_cq, &(struct ibv_wc){ .wr_id = r.wr_id,
						       .status = IBV_WC_WR_FLUSH_ERR,
						       .opcode = IBV_WC_RECV,
						       .vendor_err = 0x76,
						       .qp_num = q->num });
}

/* ---- data ---- */

/* True if @key allows access to these bytes in the memory of @q's process. */
static bool allowed(const struct qp *q, uint32_t key, uint64_t at, uint64_t n, int rights)
{
	const struct mr *m = &vhca->mr[key % MRS];

	return !n ||
	       (key && m->key == key && m->pid == q->pid && m->pd == q->pd && at >= m->addr &&
		n <= m->length && at - m->addr <= m->length - n && (m->rights & rights) == rights);
}

static bool copy_to(int pid, uint64_t to, const struct ibv_sge *from)
{
	void *data = (void *)(uintptr_t)from->addr;
	struct iovec l = { data, from->length };
	struct iovec r = { (void *)(uintptr_t)to, from->length };

	if (pid == getpid()) {
		memcpy(r.iov_base, data, from->length);
		return true;
	}
	return process_vm_writev(pid, &l, 1, &r, 1, 0) == (ssize_t)r.iov_len;
}

static enum ibv_wc_status write_data(const struct qp *me, const struct ibv_send_wr *w, int pid,
				     uint64_t at)
{
	for (int i = 0; i < w->num_sge; i++) {
		const struct ibv_sge *g = &w->sg_list[i];

		if (!(w->send_flags & IBV_SEND_INLINE) &&
		    !allowed(me, g->lkey, g->addr, g->length, 0))
			return IBV_WC_LOC_PROT_ERR;
		if (g->length && !copy_to(pid, at, g))
			return IBV_WC_RETRY_EXC_ERR;
		at += g->length;
	}
	return IBV_WC_SUCCESS;
}

/* Invert the byte before @end, as no adapter that checks its packets does. */
static void break_byte(const struct ibv_send_wr *w, int pid, uint64_t end)
{
	const struct ibv_sge *last = &w->sg_list[w->num_sge - 1];
	uint64_t at = last->addr + last->length - 1;
	unsigned char byte = *(const unsigned char *)(uintptr_t)at ^ 0xff;
	struct ibv_sge one = { .addr = (uintptr_t)&byte, .length = 1 };

	if (!copy_to(pid, end - 1, &one))
		abort();
}

/* A peer that acknowledges nothing, for one of these reasons. */
static bool unanswered(const struct qp *me, const struct qp *to)
{
	return !to->pid || to->num != me->dest || to->rq_psn != me->sq_psn ||
	       (to->state != IBV_QPS_RTR && to->state != IBV_QPS_RTS);
}

/* The peer refuses the access: its queue pair fails, too. */
static enum ibv_wc_status refused(struct qp *to, enum ibv_wc_status status)
{
	vhca_fail(to);
	return status;
}

/* One work request: what its completion says. */
static enum ibv_wc_status carry_out(const struct qp *me, struct qp *to, const struct ibv_send_wr *w,
				    enum fault fault)
{
	bool imm = w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	uint64_t at = w->wr.rdma.remote_addr, n = length_of(w);
	enum ibv_wc_status st;
	struct recv r = { 0 };

	if (me->state != IBV_QPS_RTS)
		return IBV_WC_WR_FLUSH_ERR;
	if (fault == RETRY || unanswered(me, to))
		return IBV_WC_RETRY_EXC_ERR;
	if (fault == RNR)
		return IBV_WC_RNR_RETRY_EXC_ERR;
	if (fault == ACCESS)
		return refused(to, IBV_WC_REM_ACCESS_ERR);
	if (w->opcode != IBV_WR_SEND &&
	    (!(to->rights & IBV_ACCESS_REMOTE_WRITE) ||
	     !allowed(to, w->wr.rdma.rkey, at, n, IBV_ACCESS_REMOTE_WRITE)))
		return refused(to, IBV_WC_REM_ACCESS_ERR);
	if ((imm || w->opcode == IBV_WR_SEND) && !take_recv(to, &r))
		return IBV_WC_RNR_RETRY_EXC_ERR;
	if (w->opcode == IBV_WR_SEND) {
		at = r.addr;
		if (n > r.length || !allowed(to, r.lkey, at, n, IBV_ACCESS_LOCAL_WRITE))
			return refused(to, IBV_WC_REM_OP_ERR);
	}
	st = write_data(me, w, to->pid, at);
	if (fault == BYTE && !st)
		break_byte(w, to->pid, at + n);
	if (!st && (imm || w->opcode == IBV_WR_SEND))
		complete(to->recv_cq,
			 &(struct ibv_wc){ .wr_id = r.wr_id,
					   .opcode = imm ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
					   .byte_len = (uint32_t)n,
					   .imm_data = w->imm_data,
					   .qp_num = me->dest,
					   .wc_flags = imm ? IBV_WC_WITH_IMM : 0 });
	return st;
}

/* ---- the functions of a context ---- */

static void send_complete(const struct qp *me, const struct ibv_send_wr *w, enum ibv_wc_status st,
			  enum fault fault)
{
	struct ibv_wc wc = { .wr_id = w->wr_id,
			     .status = st,
			     .vendor_err = st ? 0x76 : 0,
			     .opcode = w->opcode == IBV_WR_SEND ? IBV_WC_SEND : IBV_WC_RDMA_WRITE,
			     .byte_len = (uint32_t)length_of(w),
			     .qp_num = me->num };

	if (fault == UNKNOWN)
		wc.qp_num ^= 0x800000;
	if (fault == GARBAGE) {
		memset(&wc, 0xa5, sizeof(wc));
		wc.qp_num = me->num;
	}
	complete(me->send_cq, &wc);
	if (fault == TWICE)
		complete(me->send_cq, &wc);
}

static void send_one(struct my_qp *mine, const struct ibv_send_wr *w)
{
	struct qp *me = &vhca->qp[mine->i];
	enum fault fault = fault_taken(w);
	enum ibv_wc_status st = carry_out(me, &vhca->qp[me->dest % QPS], w, fault);

	if (fault == FATAL) {
		st = IBV_WC_GENERAL_ERR;
		tell_fatal(&mine->v);
	}
	if (fault == LOST)
		return;
	/* its own completion comes before those of what is flushed */
	if (st || (fault && fault != BYTE) || mine->sq_sig_all || w->send_flags & IBV_SEND_SIGNALED)
		send_complete(me, w, st, fault);
	if (st) {
		vhca_fail(me);
		mine->v.state = IBV_QPS_ERR;
	}
}

/* A send is lost once, and is sent again after the queue pair's time-out. The
 * losses of a queue pair are the same in each run. */
static void send_lossy(struct qp *me)
{
	const char *loss = getenv("VHCA_LOSS");
	char path[256];
	int fd;

	if (!loss || me->timeout == 0)
		return;
	me->lottery = me->lottery * 1103515245 + 12345;
	if ((me->lottery >> 16) % 100 >= (unsigned)atoi(loss))
		return;
	snprintf(path, sizeof(path), "%s.retries", getenv("VHCA"));
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, ".", 1) != 1)
		abort();
	close(fd);
	usleep((useconds_t)(4.096 * (double)(1ull << me->timeout)));
}

/* What each send of this adapter takes more. */
static int slow_us(const struct ibv_context *c)
{
	const char *us = getenv("VHCA_SLOW_US"), *rail = getenv("VHCA_SLOW_RAIL");

	return us && (!rail || atoi(rail) == vhca_rail(c)) ? atoi(us) : 0;
}

int vhca_post_send(struct ibv_qp *q, struct ibv_send_wr *w, struct ibv_send_wr **bad)
{
	int slow = slow_us(q->context);
	struct my_qp *mine = (struct my_qp *)q;
	struct qp *me = &vhca->qp[mine->i];

	if (vhca_broken("post_send"))
		return EIO; /* without *bad, which a careful caller survives */
	for (; w; w = w->next) {
		if ((me->state != IBV_QPS_RTS && me->state != IBV_QPS_ERR) ||
		    w->num_sge > MAX_SGE) {
			*bad = w;
			return EINVAL;
		}
		if (slow)
			usleep((useconds_t)slow);
		send_lossy(me);
		send_one(mine, w);
	}
	return 0;
}

static bool recv_add(struct qp *me, const struct ibv_recv_wr *w)
{
	bool full;

	lock(&me->lock);
	full = me->head - me->tail == RECVS;
	if (!full)
		me->recv[me->head++ % RECVS] =
			(struct recv){ w->wr_id, w->num_sge ? w->sg_list[0].addr : 0,
				       w->num_sge ? w->sg_list[0].length : 0,
				       w->num_sge ? w->sg_list[0].lkey : 0 };
	unlock(&me->lock);
	return !full;
}

int vhca_post_recv(struct ibv_qp *q, struct ibv_recv_wr *w, struct ibv_recv_wr **bad)
{
	struct qp *me = &vhca->qp[((struct my_qp *)q)->i];

	if (vhca_broken("post_recv"))
		return EIO;
	for (; w; w = w->next) {
		int why = me->state == IBV_QPS_RESET ? EINVAL : recv_add(me, w) ? 0 : ENOMEM;

		if (why) {
			*bad = w;
			return why;
		}
		if (me->state == IBV_QPS_ERR)
			vhca_fail(me);
	}
	return 0;
}

int vhca_poll_cq(struct ibv_cq *q, int n, struct ibv_wc *wc)
{
	struct cq *c = &vhca->cq[((struct my_cq *)q)->i];
	int got = 0;

	if (vhca_broken("poll_cq"))
		return -1;
	if (c->head == c->tail)
		return 0;
	lock(&c->lock);
	while (got < n && c->head != c->tail)
		wc[got++] = c->wc[c->tail++ % WCS];
	unlock(&c->lock);
	return got;
}
