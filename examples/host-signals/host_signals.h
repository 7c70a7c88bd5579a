// SPDX-License-Identifier: MIT
#ifndef HOST_SIGNALS_H
#define HOST_SIGNALS_H

/*
 * What the daemon host_signals shows policies, and what the kernel's programs
 * count for it. Element 0 of the daemon's map is the host, elements 1 to 8 are
 * its RDMA devices in the order of their names. Fields are each for
 * themselves: two of them may be of different writes.
 */
enum { HOST_RAILS = 8, HOST_ELEMENTS = 1 + HOST_RAILS };

struct host_signal {
	unsigned long long written_ns; /* CLOCK_MONOTONIC; 0: never */
	/* of a device: lost, late and repeated packets a second */
	unsigned long long troubles_per_s;
	/* the numbers below are of the whole host */
	unsigned long long retransmits_per_s; /* TCP segments sent again */
	unsigned long long switches_per_s;    /* task switches, all CPUs */
	unsigned long long steal_permille;    /* CPU time that others took */
};

/* The kernel's map: an element for each CPU, so that no count needs an atomic
 * addition. */
enum { KERNEL_CPUS = 256 };

struct kernel_count {
	unsigned long long written_ns, switches, retransmits;
	unsigned long long unused[5]; /* a cache line */
};

#endif
