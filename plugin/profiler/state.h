// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_STATE_H
#define NB_PLUGIN_PROFILER_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/profiler/telemetry.h"

struct nb_gen;
struct nb_seg_slot;

/*
 * NCCL's profiler events, in one form for all versions of the ABI.
 *
 * NCCL gets numbers, not pointers, as contexts and handles: a nonce of this
 * process, the kind of event, the communicator's index and a running number.
 * The number selects a slot of a ring, whose word holds the number of its
 * current event. So a handle that is old, invalid, of another process, or
 * stopped twice finds another number there and does nothing. Slots are never
 * freed.
 *
 * A collective's (or send's) sample is complete when it was stopped, no child
 * of it is open, and, if GPU times were requested, each of its channels has
 * reported its own: see nb_task_settle.
 */
enum nb_event {
#define PROF_EVENT(name, bit, since, word) NB_EVENT_##name = bit,
#include "core/defs/profiler.h"
	NB_NEVENTS,
	NB_EVENT_CONTEXT = 15 /* not an event: what NCCL holds as context */
};
#define NB_EVENT_BIT(name) (1u << NB_EVENT_##name)

/* "coll"; NULL for other numbers */
const char *nb_event_word(unsigned event);

/* The fields of an event's descriptor that we use. */
struct nb_descr {
	uint32_t event;	 /* enum nb_event */
	uint64_t parent; /* a handle, or an arbitrary number */
	uint64_t comm;	 /* v1 to v3: the communicator's identity; else 0 */
	uint64_t seq, bytes, timer;
	uint32_t func, algo, proto, datatype; /* NB_WORD_NONE: not known */
	int32_t rank, peer, step;
	pid_t pid; /* process of the parent; 0: unknown */
	uint32_t channel, channels, send;
	bool has_timer;
};
enum { NB_WORD_NONE = 255 };

/* Why an event was not measured; rows of core/defs/lost.h. */
enum nb_lost {
#define LOST(name, word, level, text) NB_LOST_##name,
#include "core/defs/lost.h"
	NB_NLOST
};
const char *nb_lost_word(enum nb_lost why);
/* Does the loss make measurements incomplete or wrong? */
bool nb_lost_grave(enum nb_lost why);

/* Count a lost event. */
void nb_events_lose(enum nb_lost why);

uint64_t nb_events_lost(enum nb_lost why);
/* Log each kind of loss once; control thread, or the end of a communicator. */
void nb_events_tell(void);

enum { NB_COLL_SLOTS = 1024, NB_CHILD_SLOTS = 2048, NB_MAX_PCOMMS = 1024 };

/*
 * A collective, send or receive. All fields are atomic. The word: running
 * number << 28 | open children << 16 | channels done << 8 | state.
 */
struct nb_op_slot {
	uint64_t word;
	uint64_t start, stop; /* CPU, ns */
	uint64_t gpu_most;    /* longest channel by the GPU's clock, ns, + 1 */
	uint64_t cpu_first, cpu_last;	  /* its kernels' CPU times */
	uint64_t proxy_first, proxy_last; /* CPU, ns */
	uint64_t touched;
	uint64_t seq, bytes;
	uint64_t what; /* W_* */
	uint64_t peer;
	uint64_t parent;  /* handle of the API call */
	uint64_t decided; /* number of the tuner's decisions at its start */
	uint64_t pad;
};

/* A proxy operation or step, a channel's kernel, a group. */
struct nb_child_slot {
	uint64_t word;
	uint64_t parent; /* handle */
	uint64_t start, timer, timer_stop;
	uint64_t since, wait; /* of a step: the state it is in, and from when */
	uint64_t waits[4];    /* ns in each kind of wait */
	uint64_t bytes, what, peer;
	uint64_t pad[2];
};

/* The profiler's record of one rank of one communicator. */
struct nb_pcomm {
	uint64_t token;	    /* atomic; context in use, 0: free */
	uint64_t events;    /* atomic: started */
	uint64_t next_coll; /* atomic; running numbers */
	uint64_t base_coll; /* handles up to this number belong to an earlier
			     * communicator
			     */
	uint64_t swept;	    /* the control thread's */
	uint64_t connected; /* atomic: NCCL has connected its profiler channels
			     */
	uint64_t pad0[2];
	uint64_t next_child; /* accessed atomically */
	uint64_t base_child;
	uint64_t pad1[6];
	uint32_t index, abi;
	uint64_t comm_id;	    /* atomic: v1 to v3 learn it later */
	const uint64_t *decided;    /* atomic: the tuner's decisions; or NULL */
	struct nb_seg_slot *slot;   /* atomic: counts API calls; or NULL */
	int32_t rank, ranks, nodes; /* accessed atomically */
	char name[64];
	int *mask;
	struct nb_tel tel;
	struct nb_op_slot coll[NB_COLL_SLOTS];
	struct nb_child_slot child[NB_CHILD_SLOTS];
};

/* A slot's "what". */
enum {
	W_FUNC = 0,
	W_ALGO = 8,
	W_PROTO = 16,
	W_CHANNELS = 24,
	W_EXPECT = 32,
	W_LATE = 40,
	W_P2P = 41
};
/* A child's "what". C_HELD: its parent counts it as open. */
enum {
	C_KIND = 0,
	C_CHANNEL = 8,
	C_SEND = 16,
	C_TIMER = 17,
	C_HELD = 18,
	C_FUNC = 24, /* the function of an API call */
	C_STEP = 32
};

struct nb_prof {
	uint32_t hooks;	    /* atomic: bits of hooks that have programs */
	struct nb_gen *gen; /* atomic; whose programs run, or NULL */
	uint32_t need;	    /* atomic: bits of events wanted */
	uint32_t connect;   /* atomic: bits of events that make NCCL connect */
	uint32_t connect_left; /* atomic: such events left until we stop asking
				*/
	uint32_t telemetry;    /* atomic: NB_TEL_* */
	uint32_t traced;       /* atomic: bits of events that traces record */
	uint32_t abi;
	uint32_t api_clock; /* atomic: as NCCLBPF_API_CLOCK says */
	uint32_t chained;   /* atomic: a wrapped profiler is called too */
	int chained_mask;   /* atomic; the wrapped profiler's mask, which it
			       writes at any time */
	pid_t pid;
	uint64_t nonce; /* the bits of all handles; 0: not made yet */
	struct nb_pcomm *comm[NB_MAX_PCOMMS]; /* accessed atomically */
	uint64_t lost[NB_NLOST];	      /* accessed atomically */
	uint32_t told;			      /* atomic: bits of enum nb_lost */
	/* protects the making and ending of communicators, and the mask */
	pthread_mutex_t lock;
};
extern struct nb_prof nb_prof;

enum { NB_HANDLE_KIND = 46, NB_HANDLE_COMM = 36 };
#define NB_HANDLE_NUMBER ((UINT64_C(1) << 36) - 1)

/* Do we need events of this type? If not, the descriptor is not read. */
static inline bool nb_events_wanted(unsigned event)
{
	return event < NB_NEVENTS &&
	       __atomic_load_n(&nb_prof.need, __ATOMIC_RELAXED) >> event & 1;
}
/* Is a wrapped profiler called too? */
static inline bool nb_events_chained(void)
{
	return __builtin_expect(
		__atomic_load_n(&nb_prof.chained, __ATOMIC_RELAXED), 0);
}
/* Is it in use? */
static inline bool nb_pcomm_living(const struct nb_pcomm *pc)
{
	return pc && __atomic_load_n(&pc->token, __ATOMIC_RELAXED);
}
/* NCCL reported a kernel, so it has connected the profiler channels. */
static inline void nb_pcomm_connected(struct nb_pcomm *pc)
{
	if (__builtin_expect(!__atomic_load_n(&pc->connected, __ATOMIC_RELAXED),
			     0))
		__atomic_store_n(&pc->connected, 1, __ATOMIC_RELAXED);
}

/* The communicator of a context or handle of ours, else NULL. */
static inline struct nb_pcomm *nb_pcomm_of(uint64_t handle)
{
	uint64_t nonce = __atomic_load_n(&nb_prof.nonce, __ATOMIC_RELAXED);

	if (!nonce || (handle ^ nonce) >> (NB_HANDLE_KIND + 4))
		return NULL;
	return __atomic_load_n(
		&nb_prof.comm[handle >> NB_HANDLE_COMM & (NB_MAX_PCOMMS - 1)],
		__ATOMIC_ACQUIRE);
}

#endif
