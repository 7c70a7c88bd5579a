// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_STATE_H
#define NB_PLUGIN_PROFILER_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/job/segment/packed.h"
#include "plugin/profiler/gpu_clock.h"
#include "plugin/trace/telemetry.h"
#include "plugin/trace/trace.h"

struct nb_seg_comm;
struct nb_seg_slot;

/*
 * NCCL gets numbers, not pointers, as contexts and handles. A number contains a
 * nonce of this process, the kind of event, the communicator's index and a
 * running number. The running number selects a slot of a ring, and the slot's
 * word contains the number of its current event. A handle that is old, invalid,
 * stopped twice or of another process therefore finds another number there and
 * has no effect. Slots are never freed.
 *
 * The sample of a collective or send is complete when it was stopped, no child
 * of it is open, and, if GPU times were requested, each of its channels has
 * reported its time (nb_task_settle).
 */

/* The fields of NCCL's event descriptor that we use. */
struct nb_descr {
	uint32_t event;	 /* kind of the event (enum nb_event) */
	uint64_t parent; /* handle of the parent, or an arbitrary number */
	/* the communicator's identity in versions 1 to 3, else 0 */
	uint64_t comm;
	uint64_t seq, bytes, timer;
	/* numbers of the words; NB_WORD_NONE if not known (trace.h) */
	uint32_t func, algo, proto, datatype;
	int32_t rank, peer, step;
	pid_t pid; /* process that owns the parent; 0 if unknown */
	uint32_t channel, channels, send;
	/*
	 * the application's tag of the call (ncclCollConfig_t.userProfilerTag,
	 * v7); 0: none
	 */
	uint64_t tag;
	bool has_timer;
};

/*
 * An API call of a communicator. @coll: enum ncclbpf_coll, or NCCL_NUM_COLLS for
 * other functions; @bytes: of the whole collective, as NCCL's tuner counts them
 */
typedef void nb_api_call_fn(void *caller, uint32_t coll, uint64_t bytes);

/*
 * Reasons why an event was not measured. core/defs/lost.h has a row for each.
 */
enum nb_lost {
#define LOST(name, word, level, text) NB_LOST_##name,
#include "core/defs/lost.h"
	NB_NLOST
};
const char *nb_lost_word(enum nb_lost why);
/* Returns true if losing an event for this reason falsifies measurements. */
bool nb_lost_grave(enum nb_lost why);

/* Count an event that was lost. */
void nb_events_lose(enum nb_lost why);

uint64_t nb_events_lost(enum nb_lost why);
/*
 * Log each kind of loss once. The control thread calls it, and so does the end
 * of a communicator.
 */
void nb_events_tell(void);

enum { NB_COLL_SLOTS = 1024, NB_CHILD_SLOTS = 2048, NB_MAX_PCOMMS = 1024 };
static_assert(NB_MAX_PCOMMS == NB_HANDLE_COMMS, "a handle has a communicator's index");

/*
 * Slot of a collective, send or receive. All fields are atomic. Layout of word:
 * running number << 28 | open children << 16 | channels done << 8 | state.
 */
struct nb_op_slot {
	uint64_t word;
	uint64_t start, stop; /* CPU times of start and stop, in ns */
	/* longest channel by the GPU's clock in ns, plus 1; 0: none */
	uint64_t gpu_most;
	/* CPU times of its first and last kernel event, in ns */
	uint64_t cpu_first, cpu_last;
	/* CPU times of its first and last proxy event, in ns */
	uint64_t proxy_first, proxy_last;
	uint64_t touched;
	uint64_t seq, bytes;
	/* packed fields at the bit positions W_FUNC and following */
	uint64_t what;
	uint64_t peer;
	uint64_t parent; /* handle of the API call that made the task, or 0 */
	/* which of the decisions may be its own (decided.h) */
	uint64_t decided;
	uint64_t tag; /* the application's tag, or 0 */
};
static_assert(sizeof(struct nb_op_slot) == 128, "two cache lines");

/* The decision of a task in its packed form; n is 0 if it is not known. All fields are atomic. */
struct nb_decided_kept {
	uint64_t n; /* one more than the decision's number */
	struct nb_packed packed;
	uint64_t chunk;
};

/* Slot of a proxy operation, a proxy step, a channel's kernel or a group. */
struct nb_child_slot {
	uint64_t word;
	uint64_t parent; /* handle of the parent event */
	/* CPU time of the start; GPU times of start and stop, in ns (gpu_clock.h) */
	uint64_t start, timer, timer_stop;
	uint64_t since, wait; /* current state of a step, and when it began */
	uint64_t waits[4];    /* ns that a step spent in each kind of wait */
	uint64_t bytes, what, peer;
	uint64_t tick; /* of a kernel's clock, in ns; both of its times have it */
	uint64_t pad;
};

/* No mask has these bits. */
enum { NB_MASK_NONE = -1 };

/* The profiler's record of one rank of one communicator. */
struct nb_pcomm {
	/* context that NCCL holds; 0: free; accessed atomically */
	uint64_t token;
	/* number of events that have started; accessed atomically */
	uint64_t events;
	/* running number of the next task; accessed atomically */
	uint64_t next_coll;
	/* handles up to this number belong to an earlier communicator */
	uint64_t base_coll;
	/*
	 * value of next_coll when a sweep last found no open event; only the
	 * control thread uses it
	 */
	uint64_t swept;
	/*
	 * NCCL has connected the communicator's profiler channels; accessed
	 * atomically
	 */
	uint64_t connected;
	/*
	 * API calls and collectives that NCCL reported while telemetry was on;
	 * accessed atomically
	 */
	uint64_t calls, tasks;
	uint64_t next_child; /* accessed atomically */
	uint64_t base_child;
	/*
	 * number of the tuner's decisions when the latest task started (0: not
	 * known), and before the first task that started with as many;
	 * accessed atomically
	 */
	uint64_t decided_now, decided_from;
	uint64_t pad1[4];
	uint32_t index, abi;
	/*
	 * identity of the communicator, which versions 1 to 3 set later;
	 * accessed atomically
	 */
	uint64_t comm_id;
	/* the tuner's count of decisions, or NULL; accessed atomically */
	const uint64_t *decided;
	/* the tuner's NB_RING last decisions, or NULL; accessed atomically */
	const struct nb_packed *ring;
	/* slot that counts API calls, or NULL; accessed atomically */
	struct nb_seg_slot *slot;
	struct nb_seg_comm *entry; /* of the slot; accessed atomically */
	/* told of each counted call, with @caller; NULL: nothing is; accessed atomically */
	nb_api_call_fn *call;
	void *caller;
	int32_t rank, ranks, nodes; /* accessed atomically */
	/* of the last call of a broadcast, or -1; of the thread that calls */
	int32_t bcast_root;
	char name[64];
	int *mask;
	/* what was written to *mask last, or NB_MASK_NONE; accessed atomically */
	int wrote;
	struct nb_gpu_clock clock;
	struct nb_tel tel;
	struct nb_op_slot coll[NB_COLL_SLOTS];
	/* the decisions of these slots, which nobody touches until they are of use */
	struct nb_decided_kept kept[NB_COLL_SLOTS];
	struct nb_child_slot child[NB_CHILD_SLOTS];
};

/*
 * Bit positions in field "what" of struct nb_op_slot. W_MAYBE is set if kernels
 * may follow that the task does not wait for.
 */
enum {
	W_FUNC = 0,
	W_ALGO = 8,
	W_PROTO = 16,
	W_CHANNELS = 24,
	W_EXPECT = 32,
	W_LATE = 40,
	W_P2P = 41,
	W_MAYBE = 42
};
/*
 * Bit positions in field "what" of struct nb_child_slot. C_HELD is set if the
 * parent counts the child as open.
 */
enum {
	C_KIND = 0,
	C_CHANNEL = 8,
	C_SEND = 16,
	C_TIMER = 17,
	C_HELD = 18,
	C_FUNC = 24, /* function that an API call starts */
	C_STEP = 32
};

struct nb_prof {
	/* bit set of events that we need from NCCL; accessed atomically */
	uint32_t need;
	/*
	 * bit set of events that make NCCL connect its channels; accessed
	 * atomically
	 */
	uint32_t connect;
	/*
	 * number of kernel events after which the profiler asks NCCL for no
	 * more; accessed atomically
	 */
	uint32_t connect_left;
	/*
	 * bit set of events that NCCL is not asked for, even if a user needs
	 * them; accessed atomically
	 */
	uint32_t withheld;
	/* a communicator has run broadcasts of several roots: NCCL is asked for
	 * no kernels any more; accessed atomically
	 */
	uint32_t batched;
	/* kernels are wanted and withheld for lack of room; accessed atomically
	 */
	uint32_t refused;
	/*
	 * reasons to ask for kernels (enum kernel_reason), number of
	 * communicators to connect, and unseen, at the last decision; protected
	 * by lock
	 */
	uint32_t kernels_for, kernels_of, kernels_beside;
	/* communicators that live and found the table full; protected by lock
	 */
	uint32_t unseen;
	uint32_t abi;
	/* value of NCCLBPF_API_CLOCK; accessed atomically */
	uint32_t api_clock;
	/* a wrapped profiler is called, too; accessed atomically */
	uint32_t chained;
	/*
	 * the wrapped profiler's mask, which it writes at any time, and the events
	 * that its version has; accessed atomically
	 */
	int chained_mask;
	uint32_t chained_known;
	pid_t pid;
	/* bits that all handles contain; 0 until the nonce is chosen */
	uint64_t nonce;
	struct nb_pcomm *comm[NB_MAX_PCOMMS]; /* accessed atomically */
	uint64_t lost[NB_NLOST];	      /* accessed atomically */
	/*
	 * bit set of enum nb_lost that the log has reported; accessed
	 * atomically
	 */
	uint32_t told;
	/* protects the mask, and making and ending communicators */
	pthread_mutex_t lock;
};
extern struct nb_prof nb_prof;

/*
 * Returns true if events of this type are needed. If not, their descriptor is
 * not read.
 */
static inline bool nb_events_wanted(unsigned event)
{
	return event < NB_NEVENTS && __atomic_load_n(&nb_prof.need, __ATOMIC_RELAXED) >> event & 1;
}
/* Returns true if a wrapped profiler is called too. */
static inline bool nb_events_chained(void)
{
	return __builtin_expect(__atomic_load_n(&nb_prof.chained, __ATOMIC_RELAXED), 0);
}
/* Returns true if the communicator structure is in use. */
static inline bool nb_pcomm_living(const struct nb_pcomm *pc)
{
	return pc && __atomic_load_n(&pc->token, __ATOMIC_RELAXED);
}
/*
 * Note that NCCL has connected the profiler channels, because it has reported a
 * kernel.
 */
static inline void nb_pcomm_connected(struct nb_pcomm *pc)
{
	if (__builtin_expect(!__atomic_load_n(&pc->connected, __ATOMIC_RELAXED), 0))
		__atomic_store_n(&pc->connected, 1, __ATOMIC_RELAXED);
}

/*
 * Returns the communicator of our context or handle, or NULL for other values.
 */
static inline struct nb_pcomm *nb_pcomm_of(uint64_t handle)
{
	uint64_t nonce = __atomic_load_n(&nb_prof.nonce, __ATOMIC_RELAXED);

	if (!nonce || (handle ^ nonce) >> (NB_HANDLE_KIND + 4))
		return NULL;
	return __atomic_load_n(&nb_prof.comm[handle >> NB_HANDLE_COMM & (NB_MAX_PCOMMS - 1)],
			       __ATOMIC_ACQUIRE);
}

#endif
