// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_API_H
#define NB_PLUGIN_TAP_API_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

/*
 * The tap (libncclbpf-verbs.so) is loaded between NCCL's own InfiniBand
 * transport and libibverbs.so.1. It passes NCCL's calls on unchanged, except
 * for queue pair attributes that a policy sets. This header is the interface
 * between the tap and libncclbpf.so, which come from one build.
 */
/*
 * What libncclbpf.so gives to the tap so that the tap can run programs. All
 * pointers stay valid until the process ends.
 */
struct nb_tap_sink {
	/* bit set of hooks that have programs; accessed atomically */
	const uint32_t *hooks;
	/*
	 * bit set of the hooks whose programs read times; accessed atomically
	 */
	const uint32_t *timed;
	void (*run)(enum nb_hook hook, void *ctx, uint64_t size);
	/*
	 * Run a hook's programs with a context whose times are 0. Does nothing
	 * if programs that read times were attached meanwhile.
	 */
	void (*run_untimed)(enum nb_hook hook, void *ctx, uint64_t size);
};

/* Counts over all adapters since the tap was loaded. */
struct nb_tap_sums {
	uint64_t devices, qps, live_qps, failed_changes;
	/* counts for receive queues (index 0) and send queues (1) */
	uint64_t posts[2], completions[2], bytes[2];
	uint64_t errors; /* number of completions with an error */
	uint64_t events; /* asynchronous events */
	/* number of asynchronous events that report a failure */
	uint64_t failures;
	uint64_t regions, region_bytes; /* currently registered */
	/* number of state changes made with a policy's values */
	uint64_t tuned;
	uint64_t refused; /* values of policies that were out of range */
	/* state changes where the adapter accepted only NCCL's values */
	uint64_t undone;
	/* completions of queue pairs whose creation the tap did not see */
	uint64_t unseen;
	uint64_t strays;    /* number of completions without a recorded post */
	uint64_t overflows; /* posts that exceeded the size of a queue */
	/* number of queues created through the extended interface */
	uint64_t extended;
	/* openings of adapters for which the tap had no entry left */
	uint64_t beyond;
	uint64_t files; /* number of open contexts that have a device file */
	/*
	 * number of existing queue pairs that watch() has reported as stalled
	 * and that are still waiting
	 */
	uint64_t stalled;
};

/*
 * A reliable connection resends for seconds before a send fails. A queue pair
 * that waits longer than this is reported.
 */
#define NB_TAP_STALL_NS UINT64_C(5000000000)

/*
 * A snapshot of one queue pair, whose counters may change while they are read.
 */
struct nb_tap_qp_view {
	uint32_t device, qp, peer_qp, state;
	char device_name[64];
	/* ready_ns: time from creation to state RTS; 0: not yet */
	uint64_t gid, age_ns, ready_ns;
	uint64_t posts[2], completions[2], bytes[2], outstanding[2];
	uint64_t errors;
	/* status of the queue pair's last failed completion */
	uint32_t last_status;
	/*
	 * time for which signaled sends have waited without any completion, as
	 * measured by calls of watch(); 0: no signaled send is outstanding
	 */
	uint64_t waiting_ns;
};

/* What the tap exports as the symbol ncclbpf_tap. Any thread may call it. */
struct nb_tap_api {
	const char
		/* build ID; the plugin ignores a tap of another build */
		*build;
	/* Start running programs through @sink; NULL: stop. */
	void (*attach)(const struct nb_tap_sink *sink);
	void (*sums)(struct nb_tap_sums *s);
	/*
	 * Call @each for every living queue pair until it returns false. @each
	 * must not call verbs.
	 */
	void (*qps)(bool (*each)(const struct nb_tap_qp_view *v, void *arg), void *arg);
	/*
	 * Returns the name of adapter @number, counted from 0, or NULL if there
	 * are no more. Closed adapters keep their numbers.
	 */
	const char *(*adapter)(uint32_t number);
	/*
	 * Note which queue pairs wait for completions. Call it about once a
	 * second: nothing reads the clock on the data path for this purpose.
	 * Calls @each once for each queue pair that has waited for @limit_ns
	 * (NB_TAP_STALL_NS, or less in tests). @each must not call verbs.
	 */
	void (*watch)(uint64_t limit_ns, bool (*each)(const struct nb_tap_qp_view *v, void *arg),
		      void *arg);
};
#define NB_TAP_SYMBOL "ncclbpf_tap"
#define NB_TAP_BUILD NCCLBPF_VERSION " 4"

#endif
