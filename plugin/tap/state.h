// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_STATE_H
#define NB_PLUGIN_TAP_STATE_H

#include "plugin/runtime/clock.h"
#include "plugin/tap/queue.h"
#include "plugin/tap/tap.h"

/* What the tap's control path (tap.c) and its data path (work.c) share. */
enum { NB_TAP_DEVICES = 64 };

struct nb_tap_state {
	const struct nb_tap_sink *sink; /* accessed atomically */
	uint32_t devices;		/* accessed atomically */
	/* atomic counters, of many writers */
	uint64_t qps, live_qps, failed_changes, events, regions, region_bytes;
	uint64_t tuned, refused, undone, unseen, strays, overflows;
	uint64_t extended, failures;
	void (*opened)(const char *adapter); /* atomic; NULL: nobody asked */
	/* sums of destroyed queue pairs; under the tap's lock */
	uint64_t posts[2], completions[2], bytes[2], errors;
};
extern struct nb_tap_state nb_tap;
extern struct nb_tap_device nb_tap_device[NB_TAP_DEVICES];

/* The tap installs these functions in the contexts of adapters. */
int nb_tap_post_send(struct nb_ibv_qp *qp, struct nb_ibv_send_wr *wr,
		     struct nb_ibv_send_wr **bad);
int nb_tap_post_recv(struct nb_ibv_qp *qp, struct nb_ibv_recv_wr *wr,
		     struct nb_ibv_recv_wr **bad);
int nb_tap_poll_cq(struct nb_ibv_cq *cq, int n, struct nb_ibv_wc *wc);

static inline void nb_tap_count(uint64_t *what, uint64_t n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

/* The sink, if one of the hooks has programs. */
static inline const struct nb_tap_sink *nb_tap_sink_for(unsigned hooks)
{
	const struct nb_tap_sink *s =
		__atomic_load_n(&nb_tap.sink, __ATOMIC_ACQUIRE);

	if (!s || !(__atomic_load_n(s->hooks, __ATOMIC_RELAXED) & hooks))
		return NULL;
	return s;
}
#define NB_TAP_HOOK(name) (1u << NB_HOOK_VERBS_##name)

static inline uint64_t nb_tap_now(const struct nb_tap_sink *s)
{
	return nb_clock_of(s->clock);
}

/* NULL: one beyond NB_TAP_DEVICES, whose pointers are the provider's. */
struct nb_tap_device *nb_tap_device_search(const struct nb_ibv_context *c);
static inline struct nb_tap_device *
nb_tap_device_of(const struct nb_ibv_context *c)
{
	/* most processes have one */
	if (__atomic_load_n(&nb_tap_device[0].context, __ATOMIC_ACQUIRE) == c)
		return &nb_tap_device[0];
	return nb_tap_device_search(c);
}

#endif
