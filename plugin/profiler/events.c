// SPDX-License-Identifier: MIT
/*
 * The profiler's communicators from init to finalize, and the profiler's links
 * to the tuner's ranks.
 */
#include "plugin/profiler/events.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/job/segment/format.h"
#include "plugin/profiler/event_pairs.h"
#include "plugin/profiler/pools.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/relaxed.h"

/*
 * Limit of kernel reports. While a communicator waits for its first collective,
 * the other communicators of the process report kernels that nobody needs.
 * After this many, the profiler stops asking for kernels.
 */
static const uint32_t CONNECT_EVENTS = 65536;

/* The context of a communicator that the profiler does not keep. */
enum { UNSEEN = 1 };

/* What this thread initialised last, and its token while no tuner has its name. */
static __thread struct nb_pcomm *last;
static __thread uint64_t unnamed;

uint32_t nb_events_abi(void)
{
	return GET(nb_prof.abi);
}

/* Returns true if a communicator is registered. */
static bool any_living(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (nb_pcomm_living(nb_prof.comm[i]))
			return true;
	return false;
}

/*
 * Choose the nonce of this process's handles. It differs from the nonces of
 * other processes and of the process before a fork.
 */
static void make_nonce(void)
{
	uint64_t n = nb_clock_system() * UINT64_C(0x9e3779b97f4a7c15) ^
		     (uint64_t)getpid() * UINT64_C(0xff51afd7ed558ccd);

	n = (n ^ n >> 31) >> (NB_HANDLE_KIND + 4);
	nb_prof.pid = getpid();
	/*
	 * neither the nonce nor nonce ^ 1 may be 0, because pointers have 0 in
	 * these bits (event_pairs.c)
	 */
	SET(nb_prof.nonce, (n > 1 ? n : 2) << (NB_HANDLE_KIND + 4));
}

/* Returns a free communicator structure, reused or new. */
static struct nb_pcomm *find_pcomm(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = nb_prof.comm[i];

		if (pc && GET(pc->token))
			continue;
		if (pc)
			return pc;
		pc = mmap(NULL, sizeof(*pc), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
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
	nb_tel_forget(&pc->tel);
	SET(pc->events, 0);
	SET(pc->connected, 0);
	SET(pc->calls, 0);
	pc->bcast_root = -1;
	SET(pc->tasks, 0);
	SET(pc->comm_id, init->has_id ? init->comm_id : 0);
	SET(pc->decided, NULL);
	SET(pc->decided_now, 0);
	SET(pc->decided_from, 0);
	SET(pc->ring, NULL);
	SET(pc->slot, NULL);
	SET(pc->call, NULL);
	SET(pc->rank, init->rank);
	SET(pc->ranks, init->ranks);
	SET(pc->nodes, init->nodes);
	SET(pc->abi, init->abi);
	SET(pc->mask, init->mask);
	SET(pc->wrote, NB_MASK_NONE);
	snprintf(pc->name, sizeof(pc->name), "%s", init->name ? init->name : "");
	nb_gpu_clock_reset(&pc->clock, nb_nccl_is_rccl());
}

void nb_events_init(void **context, const struct nb_pcomm_init *init, bool usable)
{
	static uint64_t contexts; /* protected by nb_prof.lock */
	struct nb_pcomm *pc = NULL;

	last = NULL;
	unnamed = 0;
	pthread_mutex_lock(&nb_prof.lock);
	if (!GET(nb_prof.nonce))
		make_nonce();
	SET(nb_prof.abi, init->abi);
	if (usable)
		SET(nb_prof.api_clock, (uint32_t)nb_params.num[NB_P_API_CLOCK]);
	if (usable)
		pc = find_pcomm();
	if (pc) {
		pcomm_reset(pc, init);
		contexts = (contexts + 1) & NB_HANDLE_NUMBER;
		__atomic_store_n(&pc->token,
				 nb_prof.nonce | (uint64_t)NB_EVENT_CONTEXT << NB_HANDLE_KIND |
					 (uint64_t)pc->index << NB_HANDLE_COMM | contexts,
				 __ATOMIC_RELEASE);
		last = pc;
		unnamed = init->abi >= NB_PROFILER_NAMES ? GET(pc->token) : 0;
		/*
		 * without the control socket nobody can enable telemetry later
		 */
		SET(nb_prof.connect_left,
		    nb_params.num[NB_P_PROFILER_CONNECT] || nb_params.num[NB_P_CONTROL]
			    ? 0
			    : CONNECT_EVENTS);
	}
	/* NCCL connects its channels, too, if it is asked for kernels */
	if (!pc && context)
		nb_prof.unseen++;
	nb_mask_write();
	/* other communicators may use the same mask variable */
	if (init->mask && !pc)
		SET(*init->mask, any_living() ? (int)nb_mask_for(init->abi) : 0);
	pthread_mutex_unlock(&nb_prof.lock);
	if (context) /* NCCL does not call finalize if the context is NULL */
		*context = (void *)(uintptr_t)(pc ? GET(pc->token) : UNSEEN);
	if (usable && !pc)
		nb_log(NB_LOG_WARN, "profiler: communicator table full: "
				    "events of a new communicator are ignored");
}

static void finalize_unseen(void)
{
	pthread_mutex_lock(&nb_prof.lock);
	nb_prof.unseen -= nb_prof.unseen > 0;
	nb_mask_write();
	pthread_mutex_unlock(&nb_prof.lock);
}

void nb_events_finalize(void *context)
{
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);

	if (token == UNSEEN)
		finalize_unseen();
	if (!pc)
		return;
	pthread_mutex_lock(&nb_prof.lock);
	if (GET(pc->token) == token) {
		nb_events_close(pc);
		__atomic_store_n(&pc->token, 0, __ATOMIC_SEQ_CST);
		/*
		 * invalidate all handles up to this number; a thread that takes
		 * a later number sees the cleared token
		 */
		SET(pc->base_coll, __atomic_load_n(&pc->next_coll, __ATOMIC_SEQ_CST));
		SET(pc->base_child, __atomic_load_n(&pc->next_child, __ATOMIC_SEQ_CST));
		/* close the events that started since the first sweep */
		nb_events_close(pc);
		nb_pools_shrink(nb_events_unconnected());
	}
	pthread_mutex_unlock(&nb_prof.lock);
	if (last == pc)
		last = NULL;
	nb_events_tell();
}

bool nb_events_name(uint32_t ranks, uint32_t nodes, uint64_t *comm_id)
{
	uint64_t token = unnamed;

	unnamed = 0;
	if (!token || !last || __atomic_load_n(&last->token, __ATOMIC_ACQUIRE) != token ||
	    (uint32_t)GET(last->ranks) != ranks || (uint32_t)GET(last->nodes) != nodes ||
	    !GET(last->comm_id))
		return false;
	*comm_id = GET(last->comm_id);
	return true;
}

void nb_events_tell_size(uint32_t ranks, uint32_t nodes)
{
	if (!last || GET(last->ranks) >= 0)
		return;
	SET(last->ranks, (int32_t)(ranks < INT32_MAX ? ranks : INT32_MAX));
	SET(last->nodes, (int32_t)(nodes < INT32_MAX ? nodes : INT32_MAX));
}

bool nb_events_sees_calls(uint64_t comm_id)
{
	return last && comm_id && comm_id == GET(last->comm_id) && nb_mask_by_calls(last->abi);
}

void nb_events_tell_tuner(uint64_t comm_id, struct nb_seg_comm *entry, struct nb_seg_slot *slot,
			  const struct nb_packed *ring)
{
	/*
	 * versions 1 to 4 of both interfaces pass no identity, so match by
	 * thread
	 */
	if (!last || (comm_id && GET(last->comm_id) && comm_id != GET(last->comm_id)))
		return;
	SET(last->decided, slot ? &slot->announced : NULL);
	SET(last->ring, slot ? ring : NULL);
	if (!slot || !nb_events_sees_calls(comm_id))
		return;
	/* under the lock, so that no mask without the calls is written from now on */
	pthread_mutex_lock(&nb_prof.lock);
	SET(last->entry, entry);
	__atomic_store_n(&last->slot, slot, __ATOMIC_RELEASE);
	nb_mask_write();
	pthread_mutex_unlock(&nb_prof.lock);
}

void nb_events_tell_calls(const struct nb_seg_slot *slot, nb_api_call_fn *fn, void *caller)
{
	for (uint32_t i = 0; slot && i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = __atomic_load_n(&nb_prof.comm[i], __ATOMIC_ACQUIRE);

		if (!pc || GET(pc->slot) != slot)
			continue;
		SET(pc->caller, caller);
		__atomic_store_n(&pc->call, fn, __ATOMIC_RELEASE);
	}
}

void nb_events_tell_decisions(struct nb_seg_slot *slot)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = __atomic_load_n(&nb_prof.comm[i], __ATOMIC_ACQUIRE);

		if (pc && GET(pc->decided) == &slot->announced)
			SET(pc->decided, &slot->decisions);
	}
}

void nb_events_untell(const struct nb_seg_slot *slot)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = __atomic_load_n(&nb_prof.comm[i], __ATOMIC_ACQUIRE);

		if (!pc)
			continue;
		if (GET(pc->decided) == &slot->announced || GET(pc->decided) == &slot->decisions) {
			SET(pc->ring, NULL);
			SET(pc->decided, NULL);
		}
		if (GET(pc->slot) != slot)
			continue;
		SET(pc->slot, NULL);
		SET(pc->call, NULL);
		nb_events_ask();
	}
	/* a sweep may still read the ring, which the caller frees */
	pthread_mutex_lock(&nb_prof.lock);
	pthread_mutex_unlock(&nb_prof.lock);
}

void nb_events_each(nb_pcomm_fn *fn, void *arg)
{
	pthread_mutex_lock(&nb_prof.lock);
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (nb_pcomm_living(nb_prof.comm[i]))
			fn(nb_prof.comm[i], arg);
	pthread_mutex_unlock(&nb_prof.lock);
}

static void sweep_one(struct nb_pcomm *pc, void *arg)
{
	uint64_t made = GET(pc->next_coll);

	/* no new event has started since the sweep last found none open */
	if (pc->swept == made)
		return;
	if (nb_events_sweep(pc, *(uint64_t *)arg))
		pc->swept = made;
}

void nb_events_tick(void)
{
	uint64_t now = nb_clock_system();

	if (!GET(nb_prof.nonce))
		return;
	if (nb_pools_announced())
		nb_pools_look();
	nb_mask_stop_calls();
	if (nb_events_chained() || GET(nb_prof.connect) || nb_pools_announced())
		nb_events_ask();
	nb_events_each(sweep_one, &now);
}

/*
 * Initialise the lock anew in a forked child. A thread that held it does not
 * exist there.
 */
void nb_events_forked(void)
{
	pthread_mutex_init(&nb_prof.lock, NULL);
	nb_prof.unseen = 0;
	nb_event_pair_forked();
	nb_pools_forked();
	if (GET(nb_prof.nonce))
		make_nonce();
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (nb_prof.comm[i]) {
			SET(nb_prof.comm[i]->token, 0);
			SET(nb_prof.comm[i]->decided, NULL);
			SET(nb_prof.comm[i]->ring, NULL);
			SET(nb_prof.comm[i]->slot, NULL);
		}
}

void nb_events_leave(void)
{
	/* a thread in an initialisation keeps its announcement */
	if (pthread_mutex_trylock(&nb_prof.lock))
		return;
	nb_pools_end();
	pthread_mutex_unlock(&nb_prof.lock);
}
