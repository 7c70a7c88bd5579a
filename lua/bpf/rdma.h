// SPDX-License-Identifier: MIT
#ifndef NB_LUA_BPF_RDMA_H
#define NB_LUA_BPF_RDMA_H

/*
 * What the programs of rdma.bpf.c put into their ring, and the keys of their
 * map of queue pairs. Times are CLOCK_MONOTONIC. The same in C for the host and
 * for BPF, so plain types of fixed size.
 */
enum nb_rdma_event {
	NB_RDMA_CREATE,
	NB_RDMA_CHANGE,
	NB_RDMA_DESTROY,
	NB_RDMA_POST, /* a doorbell that is a system call: SoftRoCE's */
	NB_RDMA_DONE  /* a completion that the kernel writes: SoftRoCE's */
};

/* Numbers of queue pairs are unique on one adapter. */
struct nb_rdma_qp {
	char device[28]; /* its name, cut and ended by 0 */
	unsigned int number;
};

struct nb_rdma_seen {
	unsigned long long start, end; /* ns; of a completion the same */
	struct nb_rdma_qp qp;
	unsigned int event, pid, tid;
	unsigned int to; /* a change: the state wanted; 255: not its state */
	unsigned int status; /* of a completion */
	unsigned int bytes;  /* of a completion */
	unsigned int opcode; /* of a completion */
	int error;	     /* 0, or a negative errno */
};

#endif
