// SPDX-License-Identifier: MIT
// What the test GIN plugin has seen; exported as gin_plugin_seen.
#ifndef TEST_FAKES_WRAPPED_GIN_H
#define TEST_FAKES_WRAPPED_GIN_H

#include <stdbool.h>
#include <stdint.h>

struct gin_plugin_seen {
	unsigned inits, finalizes, listens, connects, colls, contexts, regs, deregs, progresses,
		tests, flushes, gets;
	int fail_put;	   /* result of the next put; then 0 */
	int device_type;   /* 0: 2, the proxy's */
	int fail_init;	   /* result of each init */
	bool null_context; /* connect got NULL */
	/* flushes_all: what RMA v16 and later answer; the others: what RMA v17 was given */
	bool flushes_all;
	int aborted; /* the flag's value; -1: no flag */
	int npeers, peers[4];
	/* through GIN v14 or v15, which have their own objects */
	int fail_devices; /* result of the next devices; then 0 */
	bool no_device;
	unsigned device_inits, device_connects, device_closes;
	int backend_version, rank_stride, device_contexts;
	/* from GIN v15 on */
	int barrier, device_aborted, device_npeers, device_peers[4];
	/* puts in order */
	unsigned nput;
	struct {
		uint64_t size, value;
		uint32_t op, flags, rank;
		int context;
		bool strong;
	} put[64];
};

#endif
