// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_QUEUE_H
#define NB_PLUGIN_TAP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/tap/ibv_abi.h"

/*
 * The queue pairs that the tap has seen, and the work requests posted on their
 * queues. On a reliable connection, completions arrive in the order of posts. A
 * request without a completion of its own ends with the next request that has
 * one. A queue of posts is therefore enough to compute latencies.
 *
 * Only one thread at a time writes a queue: NCCL's thread of that connection.
 * Any thread may read the counters. Records are found without a lock and never
 * freed; a new queue pair reuses the record of a destroyed one.
 */
struct nb_tap_post {
	uint64_t ns; /* time of the post; 0 if it was not measured */
	uint64_t wr_id, bytes;
	bool signaled;
};

struct nb_tap_queue {
	/* array whose size is a power of two; NULL if there is none */
	struct nb_tap_post *post;
	/* mask: size of post - 1; room: allocated size of post */
	uint32_t mask, room;
	/*
	 * counts of posted (head) and completed (tail) requests; accessed
	 * atomically
	 */
	uint32_t head, tail;
	/*
	 * value of head after the last request with a completion of its own;
	 * accessed atomically
	 */
	uint32_t signaled;
	uint64_t posts, done, bytes; /* accessed atomically */
};

enum { NB_TAP_RECV, NB_TAP_SEND };

struct nb_tap_qp {
	/*
	 * next record in the hash bucket or in the free list; accessed
	 * atomically
	 */
	struct nb_tap_qp *next;
	const struct nb_tap_device *device;
	uint32_t num;
	/* accessed atomically */
	uint32_t peer, state, last_status;
	uint64_t gid, born_ns, ready_ns, errors;
	struct nb_ibv_cq *cq[2];
	bool signal_all;
	/*
	 * The next three members are protected by the tap's lock: the tail of
	 * the send queue at the last check; the time at which sends began to
	 * wait at this tail (0: no send waits); and whether the wait was
	 * reported.
	 */
	uint32_t watched_tail;
	uint64_t waiting_since_ns;
	bool stall_told;
	struct nb_tap_queue queue[2];
};

/*
 * An opened adapter. When it is closed and opened again, it gets the same
 * entry; each further context of it, while others are open, gets an entry of
 * its own.
 */
struct nb_tap_device {
	/*
	 * context of the adapter, or NULL once it is closed; accessed
	 * atomically
	 */
	struct nb_ibv_context *context;
	uint32_t number;
	char name[64];
	nb_ibv_post_send_fn *post_send;
	nb_ibv_post_recv_fn *post_recv;
	nb_ibv_poll_cq_fn *poll_cq;
	/* the adapter's functions; NULL if it does not have them */
	nb_ibv_create_qp_ex_fn *create_qp_ex;
	nb_ibv_create_cq_ex_fn *create_cq_ex;
};

#define NB_TAP_GET(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define NB_TAP_SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
/* Add to a counter that only one thread writes. */
#define NB_TAP_ADD(x, n) NB_TAP_SET(x, NB_TAP_GET(x) + (n))

/*
 * nb_tap_qp_add - record a queue pair that was created
 * @room: number of work requests that its receive and its send queue hold
 *
 * Returns NULL if there is no memory; the tap then does not observe the queue
 * pair. The caller holds the tap's lock.
 */
struct nb_tap_qp *nb_tap_qp_add(const struct nb_tap_device *d, uint32_t num,
				const uint32_t room[2]);
/*
 * Hash table of queue pairs by number. Each bucket is the first record of a
 * list and is accessed atomically.
 */
enum { NB_TAP_BUCKETS = 1024 };
extern struct nb_tap_qp *nb_tap_bucket[NB_TAP_BUCKETS];

static inline struct nb_tap_qp **nb_tap_bucket_of(uint32_t device, uint32_t num)
{
	uint32_t h = (num ^ device << 20) * UINT32_C(0x9e3779b1);

	return &nb_tap_bucket[h / (UINT32_MAX / NB_TAP_BUCKETS + 1)];
}

/*
 * Returns the record of queue pair @num, or NULL if the tap did not see its
 * creation. Any thread may call it without a lock.
 */
static inline struct nb_tap_qp *nb_tap_qp_find(const struct nb_tap_device *d, uint32_t num)
{
	struct nb_tap_qp *q = __atomic_load_n(nb_tap_bucket_of(d->number, num), __ATOMIC_ACQUIRE);

	while (q && (NB_TAP_GET(q->num) != num || NB_TAP_GET(q->device) != d))
		q = __atomic_load_n(&q->next, __ATOMIC_ACQUIRE);
	return q;
}

/* Remove a record. The caller holds the tap's lock. */
void nb_tap_qp_remove(struct nb_tap_qp *q);
/*
 * Call @each for every record in use until it returns false. The caller holds
 * the tap's lock.
 */
void nb_tap_qp_each(bool (*each)(struct nb_tap_qp *q, void *arg), void *arg);

/*
 * Record a posted work request. Returns false if the queue was full; the oldest
 * request was then dropped.
 */
static inline bool nb_tap_queue_push(struct nb_tap_queue *q, const struct nb_tap_post *p)
{
	uint32_t head = q->head;
	bool fits = head - NB_TAP_GET(q->tail) <= q->mask;

	q->post[head & q->mask] = *p;
	__atomic_store_n(&q->head, head + 1, __ATOMIC_RELEASE);
	if (p->signaled)
		NB_TAP_SET(q->signaled, head + 1);
	NB_TAP_ADD(q->posts, 1);
	return fits;
}
/*
 * Remove the last @n recorded requests, which the adapter refused. The queue's
 * writer calls it.
 */
void nb_tap_queue_take_back(struct nb_tap_queue *q, uint32_t n);

/* Forget all recorded requests. The queue's writer calls it. */
static inline void nb_tap_queue_clear(struct nb_tap_queue *q)
{
	NB_TAP_SET(q->tail, NB_TAP_GET(q->head));
}

struct nb_tap_retired {
	/*
	 * time at which the last of these requests was posted; 0 if not known
	 */
	uint64_t ns;
	uint64_t bytes;
	uint32_t count; /* number of requests; 0 if none was recorded */
};
/*
 * Remove the work requests that completion @wr_id ends, and return their sums.
 */
struct nb_tap_retired nb_tap_queue_retire(struct nb_tap_queue *q, uint64_t wr_id, bool failed);
/* Returns true if a request with number @wr_id has not completed. */
bool nb_tap_queue_has(const struct nb_tap_queue *q, uint64_t wr_id);

/*
 * Returns how many recorded requests have not completed: at most the queue's
 * size; 0 if requests were removed after their completions had arrived.
 */
static inline uint32_t nb_tap_queue_between(const struct nb_tap_queue *q, uint32_t tail,
					    uint32_t head)
{
	int32_t n = (int32_t)(head - tail);

	if (n < 0)
		return 0;
	return (uint32_t)n <= q->mask ? (uint32_t)n : q->mask + 1;
}

static inline uint32_t nb_tap_queue_outstanding(const struct nb_tap_queue *q)
{
	return nb_tap_queue_between(q, NB_TAP_GET(q->tail), NB_TAP_GET(q->head));
}

/*
 * Returns true if a request that has a completion of its own is outstanding.
 * Other requests do not count, because NCCL may leave them outstanding for any
 * time.
 */
static inline bool nb_tap_queue_waits(const struct nb_tap_queue *q)
{
	uint32_t tail = NB_TAP_GET(q->tail);

	return nb_tap_queue_between(q, tail, NB_TAP_GET(q->head)) &&
	       (int32_t)(NB_TAP_GET(q->signaled) - tail) > 0;
}

#endif
