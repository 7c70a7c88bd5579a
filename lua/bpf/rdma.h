// SPDX-License-Identifier: MIT
#ifndef NB_LUA_BPF_RDMA_H
#define NB_LUA_BPF_RDMA_H

/*
 * Records of the ring of rdma.bpf.c, and the keys of its map of queue pairs.
 * Times are CLOCK_MONOTONIC. Host C and BPF share this file, so it uses plain
 * types of fixed size.
 */
enum nb_rdma_event {
	NB_RDMA_CREATE,
	NB_RDMA_CHANGE,
	NB_RDMA_DESTROY,
	NB_RDMA_POST, /* a doorbell by a system call (SoftRoCE) */
	NB_RDMA_DONE  /* a completion that the kernel wrote (SoftRoCE) */
};

/*
 * A key includes the device, because queue pair numbers are unique on one
 * adapter only.
 */
struct nb_rdma_qp {
	char device[28]; /* name of the device, truncated, with a NUL */
	unsigned int number;
};

struct nb_rdma_seen {
	unsigned long long start, end; /* end in ns; equal to the start for a completion */
	struct nb_rdma_qp qp;
	unsigned int event, pid, tid;
	unsigned int to;     /* new state of a change; 255: the change sets no state */
	unsigned int status; /* the status of a completion */
	unsigned int bytes;  /* number of bytes that a completion reports */
	unsigned int opcode; /* the opcode of a completion */
	int error;	     /* 0, or a negative errno */
};

#endif
