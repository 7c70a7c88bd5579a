// SPDX-License-Identifier: MIT
// The profiler's communicators, and the events that we ask NCCL for. NCCL has
// one activation mask for the whole process and reads it at each call. It is
// zero while nothing needs events.
#include "plugin/profiler/events.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/jobseg/format.h"
#include "plugin/profiler/event_pairs.h"
#include "plugin/profiler/hooks.h"
#include "plugin/profiler/trace_ring.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/relaxed.h"

struct nb_prof nb_prof;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct nb_pcomm *last;

const char *nb_event_word(unsigned event)
{
	static const char *const words[NB_NEVENTS] = {
#define PROF_EVENT(name, bit, since, word) [bit] = word,
#include "core/defs/profiler.h"
	};

	return event < NB_NEVENTS ? words[event] : NULL;
}

void nb_events_lose(enum nb_lost why)
{
	__atomic_fetch_add(&nb_prof.lost[why], 1, __ATOMIC_RELAXED);
}

uint64_t nb_events_lost(enum nb_lost why)
{
	return GET(nb_prof.lost[why]);
}

static const struct {
	enum nb_log_level level;
	const char *word, *text;
} losses[NB_NLOST] = {
#define LOST(name, word, level, text) \
	[NB_LOST_##name] = { NB_LOG_##level, word, text },
#include "core/defs/lost.h"
};

const char *nb_lost_word(enum nb_lost why)
{
	return why < NB_NLOST ? losses[why].word : NULL;
}

bool nb_lost_grave(enum nb_lost why)
{
	return losses[why].level == NB_LOG_WARN;
}

void nb_events_tell(void)
{
	for (int i = 0; i < NB_NLOST; i++) {
		uint64_t n = GET(nb_prof.lost[i]);

		if (!n || __atomic_fetch_or(&nb_prof.told, 1u << i,
					    __ATOMIC_RELAXED) >>
					  i &
				  1)
			continue;
		nb_log(losses[i].level,
		       "profiler: %llu event%s %s: not measured; more are only "
		       "counted (stats: %s)",
		       (unsigned long long)n, n == 1 ? "" : "s", losses[i].text,
		       losses[i].word);
	}
}

/* ---- what NCCL is asked for ---- */

/* Bits of the events that a version of the interface has. */
uint32_t nb_events_known(uint32_t abi)
{
	return 0
#define PROF_EVENT(name, bit, since, word) | (abi >= (since) ? 1u << (bit) : 0)
#include "core/defs/profiler.h"
		;
}

/*
 * Do fences count calls of the API? From NCCL 2.29 on (v6) ranks may ask the
 * tuner different numbers of times.
 */
static bool by_calls(uint32_t abi)
{
	enum { AUTO, ON, OFF };
	uint32_t how = GET(nb_prof.api_clock);

	return how == ON ? abi >= 5 : how == AUTO && abi >= 6;
}

static bool is_living(const struct nb_pcomm *pc)
{
	return pc && GET(pc->token);
}

/* Does a rank of a communicator count calls? */
static bool calls_counted(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (is_living(nb_prof.comm[i]) && GET(nb_prof.comm[i]->slot))
			return true;
	return false;
}

static uint32_t events_needed(void)
{
	uint32_t tel = GET(nb_prof.telemetry);
	uint32_t need = nb_events_of_hooks(GET(nb_prof.hooks));

	if (tel & NB_TEL_ON)
		need |= NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P);
	if (tel & NB_TEL_GPU)
		need |= NB_EVENT_BIT(KERNEL_CH);
	if (tel & NB_TEL_PROXY)
		need |= NB_EVENT_BIT(PROXY_OP);
	if (calls_counted())
		need |= NB_EVENT_BIT(COLL_API);
	return need | nb_trace_ring_needs(nb_trace_ring_wanted());
}

/* The mask for NCCL: the events that we need, and those of the wrapped
 * profiler. */
static uint32_t mask_for(uint32_t abi)
{
	uint32_t other =
		GET(nb_prof.chained) ? (uint32_t)GET(nb_prof.chained_mask) : 0;

	return (GET(nb_prof.need) | other) & nb_events_known(abi);
}

void nb_events_remask(void *context)
{
	struct nb_pcomm *pc = nb_pcomm_of((uint64_t)(uintptr_t)context);

	int *mask = is_living(pc) ? GET(pc->mask) : NULL;
	int want = mask ? (int)mask_for(GET(pc->abi)) : 0;

	if (mask && GET(*mask) != want)
		SET(*mask, want);
}

/* Is any communicator registered? */
static bool any_living(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (is_living(nb_prof.comm[i]))
			return true;
	return false;
}

/* With the lock. NCCL reads the mask with relaxed atomics. */
static void tell_mask(void)
{
	SET(nb_prof.need, events_needed());
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = nb_prof.comm[i];

		if (is_living(pc) && pc->mask)
			SET(*pc->mask, (int)mask_for(pc->abi));
	}
}

void nb_events_telemetry(unsigned what)
{
	pthread_mutex_lock(&lock);
	SET(nb_prof.telemetry, what & NB_TEL_ON ? what : 0);
	tell_mask();
	pthread_mutex_unlock(&lock);
}

void nb_events_ask(void)
{
	pthread_mutex_lock(&lock);
	tell_mask();
	pthread_mutex_unlock(&lock);
}

unsigned nb_events_telemetry_now(void)
{
	return GET(nb_prof.telemetry);
}

unsigned nb_events_mask(void)
{
	return mask_for(nb_prof.abi ? GET(nb_prof.abi) : NB_NEVENTS);
}

uint32_t nb_events_abi(void)
{
	return GET(nb_prof.abi);
}

/* ---- communicators ---- */

/* Handles of another process, or of this one before a fork, differ. */
static void make_nonce(void)
{
	uint64_t n = nb_clock_system() * UINT64_C(0x9e3779b97f4a7c15) ^
		     (uint64_t)getpid() * UINT64_C(0xff51afd7ed558ccd);

	n = (n ^ n >> 31) >> (NB_HANDLE_KIND + 4);
	nb_prof.pid = getpid();
	/* neither it nor it ^ 1 is 0, as pointers have it: see event_pairs.c
	 */
	SET(nb_prof.nonce, (n > 1 ? n : 2) << (NB_HANDLE_KIND + 4));
}

/* A free communicator struct, reused or new. */
static struct nb_pcomm *find_pcomm(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = nb_prof.comm[i];

		if (pc && GET(pc->token))
			continue;
		if (pc)
			return pc;
		pc = mmap(NULL, sizeof(*pc), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pc == MAP_FAILED)
			return NULL;
		pc->index = i;
		__atomic_store_n(&nb_prof.comm[i], pc, __ATOMIC_RELEASE);
		return pc;
	}
	return NULL;
}

static void pcomm_reset(struct nb_pcomm *pc, const struct nb_pcomm_init *init)
{
	nb_tel_clear(&pc->tel);
	/* leave new memory untouched: most jobs never measure */
	for (uint32_t i = 0; i < NB_TEL_ROWS; i++)
		if (GET(pc->tel.row[i].key))
			SET(pc->tel.row[i].key, 0);
	SET(pc->events, 0);
	SET(pc->comm_id, init->has_id ? init->comm_id : 0);
	SET(pc->decided, NULL);
	SET(pc->slot, NULL);
	SET(pc->rank, init->rank);
	SET(pc->ranks, init->ranks);
	SET(pc->nodes, init->nodes);
	SET(pc->abi, init->abi);
	SET(pc->mask, init->mask);
	snprintf(pc->name, sizeof(pc->name), "%s",
		 init->name ? init->name : "");
}

void nb_events_clock(void)
{
	pthread_mutex_lock(&lock);
	nb_clock_init();
	pthread_mutex_unlock(&lock);
}

void nb_events_init(void **context, const struct nb_pcomm_init *init,
		    bool usable)
{
	static uint64_t contexts; /* under the lock */
	struct nb_pcomm *pc = NULL;

	last = NULL;
	pthread_mutex_lock(&lock);
	if (!GET(nb_prof.nonce)) {
		nb_clock_init();
		make_nonce();
	}
	SET(nb_prof.abi, init->abi);
	if (usable)
		SET(nb_prof.api_clock, (uint32_t)nb_params.num[NB_P_API_CLOCK]);
	if (usable)
		pc = find_pcomm();
	if (pc) {
		pcomm_reset(pc, init);
		contexts = (contexts + 1) & NB_HANDLE_NUMBER;
		__atomic_store_n(&pc->token,
				 nb_prof.nonce |
					 (uint64_t)NB_EVENT_CONTEXT
						 << NB_HANDLE_KIND |
					 (uint64_t)pc->index << NB_HANDLE_COMM |
					 contexts,
				 __ATOMIC_RELEASE);
		last = pc;
	}
	tell_mask();
	/* other communicators may use the same mask */
	if (init->mask && !pc)
		SET(*init->mask, any_living() ? (int)mask_for(init->abi) : 0);
	pthread_mutex_unlock(&lock);
	if (context) /* NCCL does not call finalize for a NULL context */
		*context = (void *)(uintptr_t)(pc ? GET(pc->token) : 1);
	if (usable && !pc)
		nb_log(NB_LOG_WARN, "profiler: communicator table full: events "
				    "of a new communicator are ignored");
}

void nb_events_finalize(void *context)
{
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);

	if (!pc)
		return;
	pthread_mutex_lock(&lock);
	if (GET(pc->token) == token) {
		nb_events_close(pc);
		__atomic_store_n(&pc->token, 0, __ATOMIC_SEQ_CST);
		/* invalidates all handles up to here; a thread that takes a
		 * number later sees that the token is cleared */
		SET(pc->base_coll,
		    __atomic_load_n(&pc->next_coll, __ATOMIC_SEQ_CST));
		SET(pc->base_child,
		    __atomic_load_n(&pc->next_child, __ATOMIC_SEQ_CST));
		nb_events_close(pc); /* events that started meanwhile */
	}
	pthread_mutex_unlock(&lock);
	if (last == pc)
		last = NULL;
	nb_events_tell();
}

void nb_events_tell_size(uint32_t ranks, uint32_t nodes)
{
	if (!last || GET(last->ranks) >= 0)
		return;
	SET(last->ranks, (int32_t)(ranks < INT32_MAX ? ranks : INT32_MAX));
	SET(last->nodes, (int32_t)(nodes < INT32_MAX ? nodes : INT32_MAX));
}

void nb_events_tell_tuner(uint64_t comm_id, struct nb_seg_slot *slot)
{
	/* v1 to v4 of both interfaces have no identity, so match by thread */
	if (!last ||
	    (comm_id && GET(last->comm_id) && comm_id != GET(last->comm_id)))
		return;
	SET(last->decided, slot ? &slot->announced : NULL);
	if (!slot || !comm_id || comm_id != GET(last->comm_id) ||
	    !by_calls(last->abi))
		return;
	__atomic_store_n(&slot->calls, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&last->slot, slot, __ATOMIC_RELEASE);
	nb_events_ask();
}

void nb_events_tell_decisions(struct nb_seg_slot *slot)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc =
			__atomic_load_n(&nb_prof.comm[i], __ATOMIC_ACQUIRE);

		if (pc && GET(pc->decided) == &slot->announced)
			SET(pc->decided, &slot->decisions);
	}
}

void nb_events_untell(const struct nb_seg_slot *slot)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc =
			__atomic_load_n(&nb_prof.comm[i], __ATOMIC_ACQUIRE);

		if (!pc || GET(pc->slot) != slot)
			continue;
		SET(pc->slot, NULL);
		nb_events_ask();
	}
}

void nb_events_each(nb_pcomm_fn *fn, void *arg)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (is_living(nb_prof.comm[i]))
			fn(nb_prof.comm[i], arg);
	pthread_mutex_unlock(&lock);
}

static void sweep_one(struct nb_pcomm *pc, void *arg)
{
	uint64_t made = GET(pc->next_coll);

	/* no new event since it was last found empty */
	if (pc->swept == made)
		return;
	if (nb_events_sweep(pc, *(uint64_t *)arg))
		pc->swept = made;
}

void nb_events_turn(void)
{
	uint64_t now = nb_clock_ns();

	nb_clock_turn();
	if (!GET(nb_prof.nonce))
		return;
	if (nb_events_chained())
		nb_events_ask();
	nb_events_each(sweep_one, &now);
}

/* Another thread may have held the lock, and does not exist in the child. */
void nb_events_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	nb_event_progs_forked();
	nb_trace_ring_forked();
	nb_event_pair_forked();
	if (GET(nb_prof.nonce))
		make_nonce();
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (nb_prof.comm[i]) {
			SET(nb_prof.comm[i]->token, 0);
			SET(nb_prof.comm[i]->decided, NULL);
			SET(nb_prof.comm[i]->slot, NULL);
		}
}

void nb_events_end(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = nb_prof.comm[i];

		if (is_living(pc))
			return;
	}
	nb_event_progs_end();
	nb_trace_ring_end();
	nb_event_pair_end();
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = nb_prof.comm[i];

		SET(nb_prof.comm[i], NULL);
		if (pc)
			munmap(pc, sizeof(*pc));
	}
}
