// SPDX-License-Identifier: MIT
/* Reports queue pairs whose sends have waited too long for a completion. */
#include "plugin/verbs/stalled.h"

#include <inttypes.h>
#include <stdio.h>

#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/verbs/verbs.h"

enum { NAMED = 4 };

struct named {
	struct nb_tap_qp_view qp[NAMED];
	int n;
};

/*
 * Copy the queue pair. The tap calls this with its lock held, so the caller
 * writes the text later.
 */
static bool keep(const struct nb_tap_qp_view *v, void *arg)
{
	struct named *l = arg;

	if (l->n < NAMED && v->waiting_ns >= NB_TAP_STALL_NS)
		l->qp[l->n++] = *v;
	return true;
}

static int qp_text(char *to, size_t size, const struct nb_tap_qp_view *v)
{
	return snprintf(to, size,
			"queue pair %" PRIu32 " of %s, to queue pair %" PRIu32 ": %" PRIu64
			" sends and no completion for %" PRIu64 " s",
			v->qp, v->device_name, v->peer_qp, v->outstanding[1],
			v->waiting_ns / 1000000000);
}

void nb_verbs_watch(void)
{
	enum { EVERY_NS = 1000000000 };
	static uint64_t last_ns;
	const struct nb_tap_api *tap = nb_verbs_tap();
	uint64_t now = tap ? nb_clock_system() : 0;
	struct named l = { .n = 0 };
	char text[256];

	if (!tap || now - last_ns < EVERY_NS)
		return;
	last_ns = now;
	tap->watch(NB_TAP_STALL_NS, keep, &l);
	for (int i = 0; i < l.n; i++) {
		qp_text(text, sizeof(text), &l.qp[i]);
		nb_log(NB_LOG_WARN, "verbs: %s; NCCL waits for it without a time-out", text);
	}
}

void nb_verbs_stalled_text(char *text, size_t size)
{
	const struct nb_tap_api *tap = nb_verbs_tap();
	struct named l = { .n = 0 };
	size_t at = 0;

	text[0] = '\0';
	if (tap)
		tap->qps(keep, &l);
	for (int i = 0; i < l.n && at < size; i++) {
		at += (size_t)snprintf(text + at, size - at, i ? "; " : "");
		if (at < size)
			at += (size_t)qp_text(text + at, size - at, &l.qp[i]);
	}
}
