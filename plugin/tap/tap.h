// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_TAP_H
#define NB_PLUGIN_TAP_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

/*
 * The tap (libncclbpf-verbs.so) stands between NCCL's own InfiniBand transport
 * and libibverbs.so.1: what NCCL calls is passed on unchanged, except for the
 * attributes of a queue pair that a policy sets. This header is what the tap
 * and libncclbpf.so know of each other; both are of one build.
 */
struct nb_clock;

/* What libncclbpf.so gives: where programs run. All of it lives for ever. */
struct nb_tap_sink {
	const uint32_t *hooks; /* atomic: bits of hooks that have programs */
	const struct nb_clock *clock;
	void (*run)(enum nb_hook hook, void *ctx, uint64_t size);
};

/* Counts over all adapters since the tap was loaded. */
struct nb_tap_sums {
	uint64_t devices, qps, live_qps, failed_changes;
	uint64_t posts[2], completions[2], bytes[2]; /* [0] receive, [1] send */
	uint64_t errors;		/* completions that failed */
	uint64_t events;		/* asynchronous ones */
	uint64_t failures;		/* of them, those that tell of one */
	uint64_t regions, region_bytes; /* registered now */
	uint64_t tuned;	    /* changes of state made with a policy's values */
	uint64_t refused;   /* values of policies out of range */
	uint64_t undone;    /* changes that the adapter took only as NCCL's */
	uint64_t unseen;    /* completions of queue pairs made in other ways */
	uint64_t strays;    /* completions without a post */
	uint64_t overflows; /* posts beyond a queue's size */
	uint64_t extended;  /* queues made by the extended interface */
	uint64_t files;	    /* open contexts with a device file */
};

/* A queue pair. Its counters move while it is read. */
struct nb_tap_qp_view {
	uint32_t device, qp, peer_qp, state;
	char device_name[64];
	uint64_t gid, age_ns, ready_ns; /* from creation to RTS; 0: not yet */
	uint64_t posts[2], completions[2], bytes[2], outstanding[2];
	uint64_t errors;
	uint32_t last_status; /* of the last completion that failed */
};

/* What the tap gives: its symbol ncclbpf_tap. Any thread may call. */
struct nb_tap_api {
	const char
		*build; /* the same as the plugin's own, or it is left alone */
	/* NULL: no programs any more. */
	void (*attach)(const struct nb_tap_sink *sink);
	void (*sums)(struct nb_tap_sums *s);
	/* Each living queue pair, until @each returns false; in it, no verbs.
	 */
	void (*qps)(bool (*each)(const struct nb_tap_qp_view *v, void *arg),
		    void *arg);
	/* Call @opened, in NCCL's thread, for each adapter opened later. */
	void (*on_open)(void (*opened)(const char *adapter));
	/* The name of an opened adapter, from 0; NULL: there are no more. Also
	 * of one that was closed. */
	const char *(*adapter)(uint32_t number);
};
#define NB_TAP_SYMBOL "ncclbpf_tap"
#define NB_TAP_BUILD NCCLBPF_VERSION " 2"

#endif
