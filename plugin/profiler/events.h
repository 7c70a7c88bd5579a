// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_EVENTS_H
#define NB_PLUGIN_PROFILER_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/profiler/telemetry.h"

/*
 * NCCL's profiler events, in one form for all versions of the ABI.
 *
 * NCCL gets numbers, not pointers, as contexts and handles: a nonce of this
 * process, the kind of event, the communicator's place and a running number.
 * Each points into a ring of slots whose word holds the running number it has
 * at the moment, so a handle that is old, of another process, stopped twice or
 * made up meets another number and does nothing. Slots are never freed.
 *
 * A collective's (or send's) sample is complete when it was stopped, no child
 * of it is open, and, where GPU times were asked for, each of its channels has
 * told its own: see nb_task_settle.
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
	uint64_t parent; /* a handle, or anything */
	uint64_t comm;	 /* v1 to v3: the communicator's identity; else 0 */
	uint64_t seq, bytes, timer;
	uint32_t func, algo, proto, datatype; /* NB_WORD_NONE: not known */
	int32_t rank, peer, step;
	pid_t pid; /* process of the parent; 0: not said */
	uint32_t channel, channels, send;
	bool has_timer;
};
enum { NB_WORD_NONE = 255 };

/* NCCL's description of a communicator. */
struct nb_pcomm_init {
	uint32_t abi; /* 1..6 */
	int *mask;    /* the process's activation mask; may be NULL */
	const char *name;
	uint64_t comm_id;
	bool has_id;
	int32_t rank, ranks, nodes; /* -1: not said (v1 to v3) */
};

/* Why an event was not measured; rows of core/defs/lost.h. */
enum nb_lost {
#define LOST(name, word, level, text) NB_LOST_##name,
#include "core/defs/lost.h"
	NB_NLOST
};
const char *nb_lost_word(enum nb_lost why);
/* Does the loss make measurements incomplete or wrong? */
bool nb_lost_grave(enum nb_lost why);

enum { NB_COLL_SLOTS = 1024, NB_CHILD_SLOTS = 2048, NB_MAX_PCOMMS = 1024 };

/*
 * A collective, send or receive. All fields are atomic. The word: running
 * number << 28 | open children << 16 | channels done << 8 | state.
 */
struct nb_op_slot {
	uint64_t word;
	uint64_t start, stop; /* CPU, ns */
	uint64_t gpu_most;    /* longest channel by the GPU's clock, ns, + 1 */
	uint64_t cpu_first, cpu_last;	  /* kernels as the CPU saw them */
	uint64_t proxy_first, proxy_last; /* CPU, ns */
	uint64_t touched;
	uint64_t seq, bytes;
	uint64_t what; /* W_* in hooks.h */
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
	uint64_t base_coll; /* handles up to this are of an earlier communicator
			     */
	uint64_t swept;	    /* the control thread's */
	uint64_t pad0[3];
	uint64_t next_child; /* atomic */
	uint64_t base_child;
	uint64_t pad1[6];
	uint32_t index, abi;
	uint64_t comm_id;	  /* atomic: v1 to v3 learn it later */
	const uint64_t *decided;  /* atomic: the tuner's decisions; or NULL */
	struct nb_seg_slot *slot; /* atomic: whose calls are counted; or NULL */
	int32_t rank, ranks, nodes; /* atomic */
	char name[64];
	int *mask;
	struct nb_tel tel;
	struct nb_op_slot coll[NB_COLL_SLOTS];
	struct nb_child_slot child[NB_CHILD_SLOTS];
};

/* ---- NCCL's calls; any thread, anything may be NULL or stale ---- */

/* Sets *@context to something that is not NULL, and *@init->mask. Not @usable:
 * NCCL is asked for nothing. */
void nb_events_init(void **context, const struct nb_pcomm_init *init,
		    bool usable);
/* Initialise nb_clock_ns; any thread, any number of times. */
void nb_events_clock(void);
void nb_events_finalize(void *context);
/* The handle of @d; 0: none. No lock, allocation or system call. */
uint64_t nb_events_start(void *context, const struct nb_descr *d);
/* The same for the most frequent event, a channel's kernel. */
uint64_t nb_events_start_kernel(void *context, uint64_t parent,
				uint32_t channel, uint64_t timer,
				bool has_timer);
void nb_events_stop(void *handle);
/* @value: the state's argument, if @has */
void nb_events_record(void *handle, int state, uint64_t value, bool has);

/* A handle for an event that we ignore, so that NCCL reports its children. */
uint64_t nb_events_pass(void *context, unsigned event);
/* Count a lost event. */
void nb_events_lose(enum nb_lost why);

/* ---- the rest of the plugin ---- */

enum {
	NB_TEL_ON = 1,	  /* collectives, sends and receives */
	NB_TEL_GPU = 2,	  /* ...with the kernels' times */
	NB_TEL_PROXY = 4, /* ...with the proxies' times */
};

/*
 * nb_events_telemetry - enable or disable telemetry, and update NCCL's mask
 * @what: NB_TEL_* or 0
 *
 * Any thread. Affects later calls of NCCL.
 */
void nb_events_telemetry(unsigned what);
unsigned nb_events_telemetry_now(void);
/* Update NCCL's mask. */
void nb_events_ask(void);
/* The activation mask that all communicators have now. */
unsigned nb_events_mask(void);
uint64_t nb_events_lost(enum nb_lost why);
/* Log each kind of loss once; control thread, or the end of a communicator. */
void nb_events_tell(void);

/* Version of the profiler interface that NCCL calls; 0: not yet. */
uint32_t nb_events_abi(void);

/*
 * nb_events_each - call @fn for each living communicator, in order
 *
 * The communicator stays while @fn runs. Not from NCCL's calls.
 */
typedef void nb_pcomm_fn(struct nb_pcomm *pc, void *arg);
void nb_events_each(nb_pcomm_fn *fn, void *arg);

/* Complete samples that wait for nothing more; control thread, periodically. */
void nb_events_turn(void);
/* In a forked child: invalidate the parent's handles. */
void nb_events_forked(void);
/* At the end, when no thread calls: free the memory. */
void nb_events_end(void);

/* Numbers of ranks and nodes from the tuner, which v1 to v3 of the profiler do
 * not get. */
void nb_events_tell_size(uint32_t ranks, uint32_t nodes);
/*
 * @slot: in the segment, of the thread's rank; NULL: it has none. How many
 * decisions were made for it is read there, and where NCCL is asked to tell
 * each call of its API, these are counted there.
 */
void nb_events_tell_tuner(uint64_t comm_id, struct nb_seg_slot *slot);
/* Decisions of @slot's rank are counted in slot->decisions. */
void nb_events_tell_decisions(struct nb_seg_slot *slot);
/* Stop using @slot: its rank makes no more calls. */
void nb_events_untell(const struct nb_seg_slot *slot);

/* ---- what the files of this room share ---- */
struct nb_prof {
	uint32_t hooks;	    /* atomic: bits of hooks that have programs */
	struct nb_gen *gen; /* atomic; whose programs run, or NULL */
	uint32_t need;	    /* atomic: bits of events wanted */
	uint32_t telemetry; /* atomic: NB_TEL_* */
	uint32_t traced;    /* atomic: bits of events that traces record */
	uint32_t abi;
	uint32_t api_clock; /* atomic: as NCCLBPF_API_CLOCK says */
	uint32_t chained;   /* atomic: a wrapped profiler is called too */
	int chained_mask;   /* atomic; the wrapped profiler's mask, which it
			       writes at any time */
	pid_t pid;
	uint64_t nonce; /* of handles, in place; 0: not made yet */
	struct nb_pcomm *comm[NB_MAX_PCOMMS]; /* atomic */
	uint64_t lost[NB_NLOST];	      /* atomic */
	uint32_t told;			      /* atomic: bits of enum nb_lost */
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
/* Bits of the events that a version of the interface has. */
uint32_t nb_events_known(uint32_t abi);
/* Update NCCL's mask after the wrapped profiler's may have changed. No lock. */
void nb_events_remask(void *context);

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
/* Complete or drop all open events; at finalize. */
void nb_events_close(struct nb_pcomm *pc);
/* Complete events without news for long. True: no event is open. */
bool nb_events_sweep(struct nb_pcomm *pc, uint64_t now);

#endif
