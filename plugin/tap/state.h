// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_STATE_H
#define NB_PLUGIN_TAP_STATE_H

#include "plugin/tap/queue.h"
#include "plugin/tap/api.h"

/* State shared by the tap's control path (tap.c) and data path (work.c). */
enum { NB_TAP_DEVICES = 64 };

struct nb_tap_state {
	const struct nb_tap_sink *sink; /* accessed atomically */
	uint32_t devices;		/* accessed atomically */
	/* counters that any thread increments atomically */
	uint64_t qps, live_qps, failed_changes, events, regions, region_bytes;
	uint64_t tuned, refused, undone, unseen, strays, overflows;
	uint64_t extended, failures, beyond;
	/* sums over destroyed queue pairs; protected by the tap's lock */
	uint64_t posts[2], completions[2], bytes[2], errors;
};
extern struct nb_tap_state nb_tap;
extern struct nb_tap_device nb_tap_device[NB_TAP_DEVICES];

/*
 * Functions of the tap that replace the provider's functions in each adapter's
 * context.
 */
int nb_tap_post_send(struct nb_ibv_qp *qp, struct nb_ibv_send_wr *wr, struct nb_ibv_send_wr **bad);
int nb_tap_post_recv(struct nb_ibv_qp *qp, struct nb_ibv_recv_wr *wr, struct nb_ibv_recv_wr **bad);
/* Returns the function that polls the completion queues of an adapter. */
nb_ibv_poll_cq_fn *nb_tap_poll_cq_of(const struct nb_tap_device *d);

static inline void nb_tap_count(uint64_t *what, uint64_t n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

/* Returns the sink if one of @hooks has programs, else NULL. */
static inline const struct nb_tap_sink *nb_tap_sink_for(unsigned hooks)
{
	const struct nb_tap_sink *s = __atomic_load_n(&nb_tap.sink, __ATOMIC_ACQUIRE);

	if (!s || !(__atomic_load_n(s->hooks, __ATOMIC_RELAXED) & hooks))
		return NULL;
	return s;
}
/* Returns the sink if programs of one of @hooks read times, else NULL. */
static inline const struct nb_tap_sink *nb_tap_sink_timed(unsigned hooks)
{
	const struct nb_tap_sink *s = __atomic_load_n(&nb_tap.sink, __ATOMIC_ACQUIRE);

	if (!s || !(__atomic_load_n(s->timed, __ATOMIC_RELAXED) & hooks))
		return NULL;
	return s;
}
#define NB_TAP_HOOK(name) (1u << NB_HOOK_VERBS_##name)

/*
 * Returns the tap's entry of a context, or NULL for an adapter beyond
 * NB_TAP_DEVICES, whose functions the tap did not replace.
 */
struct nb_tap_device *nb_tap_device_search(const struct nb_ibv_context *c);
static inline struct nb_tap_device *nb_tap_device_of(const struct nb_ibv_context *c)
{
	/* fast path: most processes open one adapter */
	if (__atomic_load_n(&nb_tap_device[0].context, __ATOMIC_ACQUIRE) == c)
		return &nb_tap_device[0];
	return nb_tap_device_search(c);
}

#endif
