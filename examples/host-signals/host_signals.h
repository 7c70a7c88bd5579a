// SPDX-License-Identifier: MIT
#ifndef HOST_SIGNALS_H
#define HOST_SIGNALS_H

/*
 * The map through which the daemon host_signals informs policies, and the map
 * in which its kernel programs count. Element 0 of the daemon's map is the
 * host, elements 1 to 8 are its RDMA devices in the order of their names. Each
 * field is written on its own, so two fields may belong to different readings.
 */
enum { HOST_RAILS = 8, HOST_ELEMENTS = 1 + HOST_RAILS };

struct host_signal {
	unsigned long long written_ns; /* CLOCK_MONOTONIC; 0: never */
	/* of a device: packets lost, late or repeated, per second */
	unsigned long long troubles_per_s;
	/* the fields below describe the whole host */
	/* TCP segments sent again, per second */
	unsigned long long retransmits_per_s;
	/* task switches of all CPUs, per second */
	unsigned long long switches_per_s;
	/* CPU time that the hypervisor gave to other machines */
	unsigned long long steal_permille;
};

/* The kernel's map: an element for each CPU, so that no count needs an atomic
 * addition. */
enum { KERNEL_CPUS = 256 };

struct kernel_count {
	unsigned long long written_ns, switches, retransmits;
	unsigned long long unused[5]; /* a cache line */
};

#endif
