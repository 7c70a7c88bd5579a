// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_QUEUE_H
#define NB_PLUGIN_TAP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/tap/ibv_abi.h"

/*
 * Queue pairs as the tap knows them, and what was posted on their queues. In a
 * reliable connection, completions come in the order of posts, and a post
 * without a completion of its own ends with the next that has one: so a queue
 * of posts tells how long each took.
 *
 * A queue has one writer at a time, NCCL's thread of the connection; counters
 * are read by any thread. Records are found without a lock and never freed:
 * those of destroyed queue pairs are used again.
 */
struct nb_tap_post {
	uint64_t ns; /* time of the post; 0: not measured */
	uint64_t wr_id, bytes;
	bool signaled;
};

struct nb_tap_queue {
	struct nb_tap_post *post;    /* a power of two of them; NULL: none */
	uint32_t mask, room;	     /* room: allocated */
	uint32_t head, tail;	     /* atomic: of the poster, of the poller */
	uint64_t posts, done, bytes; /* accessed atomically */
};

enum { NB_TAP_RECV, NB_TAP_SEND };

struct nb_tap_qp {
	struct nb_tap_qp *next; /* atomic: of its bucket, or free */
	const struct nb_tap_device *device;
	uint32_t num;
	/* accessed atomically */
	uint32_t peer, state, last_status;
	uint64_t gid, born_ns, ready_ns, errors;
	struct nb_ibv_cq *cq[2];
	bool signal_all;
	struct nb_tap_queue queue[2];
};

/* An opened adapter. Entries are never freed: opening an adapter again uses
 * another entry. */
struct nb_tap_device {
	struct nb_ibv_context *context; /* atomic; NULL: closed */
	uint32_t number;
	char name[64];
	nb_ibv_post_send_fn *post_send;
	nb_ibv_post_recv_fn *post_recv;
	nb_ibv_poll_cq_fn *poll_cq;
	/* NULL: the adapter has none */
	nb_ibv_create_qp_ex_fn *create_qp_ex;
	nb_ibv_create_cq_ex_fn *create_cq_ex;
};

#define NB_TAP_GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define NB_TAP_SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
/* Add to a counter that has one writer. */
#define NB_TAP_ADD(x, n) NB_TAP_SET(x, NB_TAP_GET(x) + (n))

/*
 * nb_tap_qp_add - a record for a queue pair that was created
 * @room: work requests that its receive and send queue take
 *
 * NULL: no memory; the queue pair is then not seen. With the tap's lock.
 */
struct nb_tap_qp *nb_tap_qp_add(const struct nb_tap_device *d, uint32_t num,
				const uint32_t room[2]);
/* Records by number: lists, of which the first member is here. atomic */
enum { NB_TAP_BUCKETS = 1024 };
extern struct nb_tap_qp *nb_tap_bucket[NB_TAP_BUCKETS];

static inline struct nb_tap_qp **nb_tap_bucket_of(uint32_t device, uint32_t num)
{
	uint32_t h = (num ^ device << 20) * UINT32_C(0x9e3779b1);

	return &nb_tap_bucket[h / (UINT32_MAX / NB_TAP_BUCKETS + 1)];
}

/* The record of queue pair @num. NULL: the tap did not see its creation. Any
 * thread, no lock. */
static inline struct nb_tap_qp *nb_tap_qp_find(const struct nb_tap_device *d,
					       uint32_t num)
{
	struct nb_tap_qp *q = __atomic_load_n(nb_tap_bucket_of(d->number, num),
					      __ATOMIC_ACQUIRE);

	while (q && (NB_TAP_GET(q->num) != num || NB_TAP_GET(q->device) != d))
		q = __atomic_load_n(&q->next, __ATOMIC_ACQUIRE);
	return q;
}

/* With the tap's lock. */
void nb_tap_qp_remove(struct nb_tap_qp *q);
/* Each record in use, until @each returns false. With the tap's lock. */
void nb_tap_qp_each(bool (*each)(struct nb_tap_qp *q, void *arg), void *arg);

/* A work request was posted. False: beyond the queue's size; the oldest was
 * forgotten. */
static inline bool nb_tap_queue_push(struct nb_tap_queue *q,
				     const struct nb_tap_post *p)
{
	uint32_t head = q->head;
	bool fits = head - NB_TAP_GET(q->tail) <= q->mask;

	q->post[head & q->mask] = *p;
	__atomic_store_n(&q->head, head + 1, __ATOMIC_RELEASE);
	NB_TAP_ADD(q->posts, 1);
	return fits;
}

struct nb_tap_retired {
	uint64_t ns; /* when the last of them was posted; 0: not known */
	uint64_t bytes;
	uint32_t count; /* 0: there was no post */
};
/* A completion: the posts that it ends. */
struct nb_tap_retired nb_tap_queue_retire(struct nb_tap_queue *q,
					  uint64_t wr_id, bool failed);
/* Is a post with this number outstanding? */
bool nb_tap_queue_has(const struct nb_tap_queue *q, uint64_t wr_id);

/* Posts without a completion, of those that the queue still has: at most its
 * size, and none if posts were taken back after their completions. */
static inline uint32_t nb_tap_queue_between(const struct nb_tap_queue *q,
					    uint32_t tail, uint32_t head)
{
	int32_t n = (int32_t)(head - tail);

	if (n < 0)
		return 0;
	return (uint32_t)n <= q->mask ? (uint32_t)n : q->mask + 1;
}

static inline uint32_t nb_tap_queue_outstanding(const struct nb_tap_queue *q)
{
	return nb_tap_queue_between(q, NB_TAP_GET(q->tail),
				    NB_TAP_GET(q->head));
}

#endif
