// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERBS_ADAPTER_H
#define NB_TEST_VERBS_ADAPTER_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#undef ibv_reg_mr
#undef ibv_query_port

/*
 * The virtual adapter: adapter.c has the control path, adapter_data.c moves
 * data. All processes of a fabric map one file; zero bytes are an empty fabric.
 */
enum { QPS = 4096, CQS = 4096, MRS = 4096, RECVS = 1024, WCS = 4096, MAX_SGE = 4 };

struct cq {
	atomic_int lock, used;
	unsigned head, tail;
	struct ibv_wc wc[WCS];
};

struct recv {
	uint64_t wr_id, addr;
	uint32_t length, lkey;
};

struct qp {
	atomic_int lock, pid;		       /* pid 0: free */
	_Atomic int state;		       /* the peer's process changes it, too */
	int send_cq, recv_cq, rights, timeout; /* timeout: as ibv_qp_attr has it */
	uint32_t lottery;
	uint32_t num, dest, generation, sq_psn, rq_psn;
	uint64_t pd;
	unsigned head, tail;
	struct recv recv[RECVS];
};

struct mr {
	atomic_int pid; /* 0: free */
	int rights;
	uint32_t key, generation;
	uint64_t pd, addr, length;
};

struct fabric {
	/* A letter of a fault (see adapter.c); the next send of any process
	 * takes it. A test writes it as the first byte of the file. */
	_Atomic unsigned char fault;
	struct qp qp[QPS];
	struct cq cq[CQS];
	struct mr mr[MRS];
};

struct my_cq {
	struct ibv_cq v;
	int i;
};

struct my_qp {
	struct ibv_qp v;
	int i, sq_sig_all;
};

extern struct fabric *vhca;
extern int vhca_events[2]; /* a pipe of struct ibv_async_event */

/* Does VHCA_BROKEN name this verb? errno is EIO then. */
bool vhca_broken(const char *verb);
/* The number of this context's adapter. */
int vhca_rail(const struct ibv_context *c);
/* Into the error state: the receives of the queue are flushed. */
void vhca_fail(struct qp *q);

int vhca_post_send(struct ibv_qp *q, struct ibv_send_wr *w, struct ibv_send_wr **bad);
int vhca_post_recv(struct ibv_qp *q, struct ibv_recv_wr *w, struct ibv_recv_wr **bad);
int vhca_poll_cq(struct ibv_cq *q, int n, struct ibv_wc *wc);

#endif
