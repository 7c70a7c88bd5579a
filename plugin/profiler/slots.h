// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_SLOTS_H
#define NB_PLUGIN_PROFILER_SLOTS_H

#include "plugin/profiler/events.h"
#include "plugin/profiler/hooks.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

/*
 * Rings of slots in which NCCL's threads keep open events. task.c handles
 * collectives, sends and receives; child.c handles their children. A slot's
 * word contains the running number of its event and its state. All fields are
 * accessed with relaxed atomics. A thread owns a slot's fields after it has
 * changed the word's state to BUSY. No function here locks, waits, allocates
 * memory or makes a system call.
 */
enum slot_state { SLOT_FREE, SLOT_BUSY, SLOT_OPEN, SLOT_STOPPED, SLOT_DONE };

enum {
	SLOT_AT_NUMBER = 28,
	SLOT_AT_CHILDREN = 16,
	SLOT_AT_KERNELS = 8,
	SLOT_STATE = 255,
	SLOT_MOST_CHILDREN = 4095,
	SLOT_MOST_KERNELS = 255,
	SLOT_TRIES = 16 /* slots to try before an event is dropped */
};
#define SLOT_ONE_CHILD (UINT64_C(1) << SLOT_AT_CHILDREN)
#define SLOT_ONE_KERNEL (UINT64_C(1) << SLOT_AT_KERNELS)

/* A new event may take the slot of an open event that is older than this. */
#define SLOT_OLD_NS UINT64_C(10000000000)

static inline enum slot_state nb_slot_state(uint64_t word)
{
	return (enum slot_state)(word & SLOT_STATE);
}

/* Returns a byte of a slot's field "what". */
static inline uint32_t nb_slot_byte(uint64_t what, int at)
{
	return (uint32_t)(what >> at) & 255;
}

static inline uint64_t nb_slot_number(uint64_t word)
{
	return word >> SLOT_AT_NUMBER;
}

static inline uint32_t nb_slot_children(uint64_t word)
{
	return (uint32_t)(word >> SLOT_AT_CHILDREN) & SLOT_MOST_CHILDREN;
}

static inline uint32_t nb_slot_kernels(uint64_t word)
{
	return (uint32_t)(word >> SLOT_AT_KERNELS) & SLOT_MOST_KERNELS;
}

/* Returns true if event @n has ended and no other event has its slot yet. */
static inline bool nb_slot_over(uint64_t word, uint64_t n)
{
	return nb_slot_number(word) == n && nb_slot_state(word) != SLOT_OPEN;
}

static inline bool nb_slot_move(uint64_t *word, uint64_t *from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/*
 * Returns true if an event is old. An event that started after the caller read
 * the clock is not old.
 */
static inline bool nb_slot_is_old(uint64_t since, uint64_t now)
{
	return now > since && now - since >= SLOT_OLD_NS;
}

static inline uint64_t nb_event_handle(const struct nb_pcomm *pc, uint32_t kind, uint64_t n)
{
	return nb_prof.nonce | (uint64_t)kind << NB_HANDLE_KIND |
	       (uint64_t)pc->index << NB_HANDLE_COMM | n;
}

static inline uint32_t nb_event_kind(uint64_t h)
{
	return (uint32_t)(h >> NB_HANDLE_KIND) & 15;
}

static inline bool nb_event_is_api(uint32_t event)
{
	return event == NB_EVENT_GROUP_API || event == NB_EVENT_COLL_API ||
	       event == NB_EVENT_P2P_API || event == NB_EVENT_KERNEL_LAUNCH;
}

/*
 * Returns the slot of a task's handle, or NULL if the handle has no slot here.
 */
static inline struct nb_op_slot *nb_task_of(uint64_t h, struct nb_pcomm **pc)
{
	uint64_t n = h & NB_HANDLE_NUMBER;

	*pc = nb_pcomm_of(h);
	if (!*pc || !n || n <= GET((*pc)->base_coll) ||
	    (nb_event_kind(h) != NB_EVENT_COLL && nb_event_kind(h) != NB_EVENT_P2P))
		return NULL;
	return &(*pc)->coll[n % NB_COLL_SLOTS];
}

static inline struct nb_child_slot *nb_child_of(uint64_t h, struct nb_pcomm **pc)
{
	uint64_t n = h & NB_HANDLE_NUMBER;

	*pc = nb_pcomm_of(h);
	if (!*pc || !n || n <= GET((*pc)->base_child))
		return NULL;
	return &(*pc)->child[n % NB_CHILD_SLOTS];
}

/* Returns true if everything about the task has been recorded. */
static inline bool nb_task_complete(const struct nb_op_slot *s, uint64_t word)
{
	uint64_t what = GET(s->what);
	uint32_t expect = nb_slot_byte(what, W_EXPECT);

	if (nb_slot_state(word) != SLOT_STOPPED || nb_slot_children(word))
		return false;
	if (expect)
		return nb_slot_kernels(word) >= expect;
	if (what >> W_MAYBE & 1)
		return nb_slot_kernels(word) >= nb_slot_byte(what, W_CHANNELS);
	return !(what >> W_LATE & 1);
}

/*
 * Start a collective, send or receive. Returns its handle. @token: the
 * communicator's token as the caller has read it
 */
/* Returns the bytes of the whole collective, as NCCL's tuner counts them. */
uint64_t nb_task_bytes(const struct nb_pcomm *pc, const struct nb_descr *d);
uint64_t nb_task_start(struct nb_pcomm *pc, uint64_t token, const struct nb_descr *d);
void nb_task_stop(uint64_t h);
/*
 * Make the sample if the task is complete. The thread that changes the word's
 * state to BUSY makes it. @word: the word as just read
 */
void nb_task_settle(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t word);
/* Complete or drop all open tasks of a communicator at its finalize. */
void nb_task_close_all(struct nb_pcomm *pc);

uint64_t nb_child_start(struct nb_pcomm *pc, uint64_t token, const struct nb_descr *d);
void nb_child_stop(uint64_t h);
void nb_child_close_all(struct nb_pcomm *pc);

#endif
