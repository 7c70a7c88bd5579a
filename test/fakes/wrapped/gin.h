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
	/* through GIN v14, which has its own objects */
	int fail_devices; /* result of the next devices; then 0 */
	bool no_device;
	unsigned device_inits, device_connects, device_closes;
	int backend_version, rank_stride, device_contexts;
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
