// SPDX-License-Identifier: MIT
/*
 * Finds queue pairs by number, and records the work requests posted on their
 * queues.
 */
#include "plugin/tap/queue.h"

#include <stdlib.h>

enum { ROOM_MAX = 1 << 16 };

struct nb_tap_qp *nb_tap_bucket[NB_TAP_BUCKETS];
/* list of free records, protected by the tap's lock */
static struct nb_tap_qp *spare;

static bool queue_prepare(struct nb_tap_queue *q, uint32_t want)
{
	uint32_t room = 1;

	while (room < want && room < ROOM_MAX)
		room *= 2;
	if (q->room < room) {
		/* keep the old array, since a late reader may still use it */
		q->post = calloc(room, sizeof(*q->post));
		q->room = q->post ? room : 0;
	}
	if (!q->post)
		return false;
	q->mask = room - 1;
	NB_TAP_SET(q->head, 0);
	NB_TAP_SET(q->tail, 0);
	NB_TAP_SET(q->signaled, 0);
	NB_TAP_SET(q->posts, 0);
	NB_TAP_SET(q->done, 0);
	NB_TAP_SET(q->bytes, 0);
	return true;
}

struct nb_tap_qp *nb_tap_qp_add(const struct nb_tap_device *d, uint32_t num, const uint32_t room[2])
{
	struct nb_tap_qp **at = nb_tap_bucket_of(d->number, num), *q = spare;

	if (q)
		spare = q->next;
	else
		q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	if (!queue_prepare(&q->queue[0], room[0]) || !queue_prepare(&q->queue[1], room[1])) {
		q->next = spare;
		spare = q;
		return NULL;
	}
	NB_TAP_SET(q->device, d);
	NB_TAP_SET(q->num, num);
	NB_TAP_SET(q->peer, 0);
	NB_TAP_SET(q->state, 0);
	NB_TAP_SET(q->last_status, 0);
	NB_TAP_SET(q->gid, 0);
	NB_TAP_SET(q->ready_ns, 0);
	NB_TAP_SET(q->errors, 0);
	q->watched_tail = 0;
	q->waiting_since_ns = 0;
	q->stall_told = false;
	__atomic_store_n(&q->next, *at, __ATOMIC_RELAXED);
	__atomic_store_n(at, q, __ATOMIC_RELEASE);
	return q;
}

void nb_tap_qp_remove(struct nb_tap_qp *q)
{
	struct nb_tap_qp **at = nb_tap_bucket_of(q->device->number, q->num);

	while (*at && *at != q)
		at = &(*at)->next;
	if (!*at)
		return;
	__atomic_store_n(at, q->next, __ATOMIC_RELEASE);
	__atomic_store_n(&q->next, spare, __ATOMIC_RELAXED);
	spare = q;
}

void nb_tap_qp_each(bool (*each)(struct nb_tap_qp *q, void *arg), void *arg)
{
	for (int i = 0; i < NB_TAP_BUCKETS; i++)
		for (struct nb_tap_qp *q = nb_tap_bucket[i]; q; q = q->next)
			if (!each(q, arg))
				return;
}

void nb_tap_queue_take_back(struct nb_tap_queue *q, uint32_t n)
{
	uint32_t head = q->head - n, at = head;
	uint32_t left = nb_tap_queue_between(q, NB_TAP_GET(q->tail), head);

	while (left && !q->post[(at - 1) & q->mask].signaled) {
		at--;
		left--;
	}
	__atomic_store_n(&q->head, head, __ATOMIC_RELEASE);
	NB_TAP_SET(q->signaled, at);
	NB_TAP_ADD(q->posts, -(uint64_t)n);
}

bool nb_tap_queue_has(const struct nb_tap_queue *q, uint64_t wr_id)
{
	uint32_t head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
	uint32_t n = nb_tap_queue_between(q, NB_TAP_GET(q->tail), head);

	for (uint32_t i = head - n; i != head; i++)
		if (q->post[i & q->mask].wr_id == wr_id)
			return true;
	return false;
}

struct nb_tap_retired nb_tap_queue_retire(struct nb_tap_queue *q, uint64_t wr_id, bool failed)
{
	struct nb_tap_retired r = { 0 };
	/*
	 * Each failed work request has a completion of its own, signaled or
	 * not. Requests before the first failed one have succeeded without a
	 * completion.
	 */
	bool named = failed && nb_tap_queue_has(q, wr_id);
	uint32_t head = __atomic_load_n(&q->head, __ATOMIC_ACQUIRE);
	/* requests beyond the queue's size have been overwritten */
	uint32_t at = head - nb_tap_queue_between(q, NB_TAP_GET(q->tail), head);

	while (at != head) {
		const struct nb_tap_post *p = &q->post[at++ & q->mask];

		r.count++;
		r.bytes += p->bytes;
		r.ns = p->ns;
		if (failed ? !named || p->wr_id == wr_id : p->signaled)
			break;
	}
	NB_TAP_SET(q->tail, at);
	NB_TAP_ADD(q->done, 1);
	NB_TAP_ADD(q->bytes, failed ? 0 : r.bytes);
	return r;
}
