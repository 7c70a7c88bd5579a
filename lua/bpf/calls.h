// SPDX-License-Identifier: MIT
#ifndef NB_LUA_BPF_CALLS_H
#define NB_LUA_BPF_CALLS_H

/*
 * What the programs of calls.bpf.c put into their ring: one call of NCCL's
 * interface that is over. Times are CLOCK_MONOTONIC. The same in C for the
 * host and for BPF, so plain types of fixed size.
 */
struct nb_call_seen {
	unsigned long long start, end;	 /* ns */
	unsigned long long off, longest; /* not running, of that ns */
	unsigned int pid, tid, func, switches;
};

#endif
