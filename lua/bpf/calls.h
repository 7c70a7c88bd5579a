// SPDX-License-Identifier: MIT
#ifndef NB_LUA_BPF_CALLS_H
#define NB_LUA_BPF_CALLS_H

/*
 * A record of the ring of calls.bpf.c: one finished call of NCCL's interface.
 * Times are CLOCK_MONOTONIC. Host C and BPF share this file, so it uses plain
 * types of fixed size.
 */
struct nb_call_seen {
	unsigned long long start, end;	 /* CLOCK_MONOTONIC ns */
	unsigned long long off, longest; /* time in ns for which the thread was not running */
	unsigned int pid, tid, func, switches;
};

#endif
