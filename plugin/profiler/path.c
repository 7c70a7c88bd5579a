// SPDX-License-Identifier: MIT
/*
 * Entry points of NCCL's events. They find out the kind of an event and whether
 * its communicator still exists.
 */
#include "core/defs/ctx.h"
#include "core/job/segment/format.h"

#include "plugin/profiler/slots.h"
#include "plugin/profiler/spans.h"
#include "plugin/runtime/log.h"

/*
 * The largest size that counts as valid. The sum over all ranks still fits into
 * 64 bits.
 */
static const uint64_t MOST_BYTES = UINT64_C(1) << 44;

enum { BROADCAST = 0 }; /* number of the function (core/defs/nccl.h) */

/*
 * Drop a kernel that NCCL reports only because it connects its profiler
 * channels.
 */
static void pass_connect(struct nb_pcomm *pc)
{
	uint32_t left = GET(nb_prof.connect_left);

	nb_pcomm_connected(pc);
	if (left) /* a race may lose a count, which does no harm */
		SET(nb_prof.connect_left, left - 1);
}

uint64_t nb_events_pass(void *context, unsigned event)
{
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);

	if (!pc || GET(pc->token) != token || event >= NB_NEVENTS)
		return 0;
	if (event == NB_EVENT_KERNEL_PHASE)
		return 0; /* it has no children */
	if (event == NB_EVENT_KERNEL_CH && GET(nb_prof.connect))
		pass_connect(pc);
	return nb_event_handle(pc, event, 0);
}

/*
 * In versions 1 to 3, NCCL passes the communicator's identity with the first
 * event.
 */
static void learn_identity(struct nb_pcomm *pc, const struct nb_descr *d)
{
	if (d->comm && !GET(pc->comm_id))
		SET(pc->comm_id, d->comm);
	if (GET(pc->rank) < 0)
		SET(pc->rank, d->rank);
}

/*
 * Count an API call, which fences may count instead of decisions. One thread
 * makes all calls of a communicator.
 */
static void count_api_call(struct nb_pcomm *pc, const struct nb_descr *d)
{
	struct nb_seg_slot *slot = __atomic_load_n(&pc->slot, __ATOMIC_ACQUIRE);
	nb_api_call_fn *call = __atomic_load_n(&pc->call, __ATOMIC_ACQUIRE);

	if (!slot)
		return;
	__atomic_store_n(&slot->calls, GET(slot->calls) + 1, __ATOMIC_RELEASE);
	if (call)
		call(pc->caller, d->func < NCCL_NUM_COLLS ? d->func : NCCL_NUM_COLLS,
		     nb_task_bytes(pc, d));
}

/*
 * From 2.29 on, NCCL runs grouped broadcasts of several roots as one kernel, and
 * its host does not count the works of that kernel. NCCL would then wait for ever
 * for the kernels that it is asked for later, so it is asked for none any more.
 */
static void note_broadcast(struct nb_pcomm *pc, int32_t root)
{
	bool other = pc->bcast_root >= 0 && pc->bcast_root != root;

	pc->bcast_root = root;
	if (!other || GET(nb_prof.batched))
		return;
	SET(nb_prof.batched, 1);
	nb_mask_update(pc);
	nb_log(NB_LOG_WARN, "profiler: no GPU times from now on: NCCL 2.29 and later lose count of "
			    "kernels after broadcasts of several roots; NCCL_ALLGATHERV_ENABLE=0 "
			    "helps");
}

/* Counts the calls that telemetry sees, and the collectives that NCCL makes of them. */
static void count_while_on(uint64_t *n)
{
	if (nb_tel_wanted() & NB_TEL_ON)
		__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

uint64_t nb_events_start(void *context, const struct nb_descr *d)
{
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);

	if (!pc || GET(pc->token) != token) {
		nb_events_lose(NB_LOST_CONTEXT);
		return 0;
	}
	switch (d->event) {
	case NB_EVENT_COLL:
	case NB_EVENT_P2P:
		if (d->event == NB_EVENT_COLL)
			count_while_on(&pc->tasks);
		if (GET(pc->abi) < 4)
			learn_identity(pc, d);
		if (d->bytes > MOST_BYTES) {
			nb_events_lose(NB_LOST_SIZE);
			return nb_event_handle(pc, d->event, 0);
		}
		return nb_task_start(pc, token, d);
	case NB_EVENT_PROXY_OP:
	case NB_EVENT_PROXY_STEP:
	case NB_EVENT_GROUP:
	case NB_EVENT_GROUP_API:
	case NB_EVENT_P2P_API:
	case NB_EVENT_KERNEL_LAUNCH:
		return nb_child_start(pc, token, d);
	case NB_EVENT_KERNEL_CH:
		return nb_events_start_kernel(context, d->parent, d->channel, d->timer,
					      d->has_timer);
	case NB_EVENT_COLL_API:
		count_api_call(pc, d);
		count_while_on(&pc->calls);
		if (GET(pc->abi) >= 6 && d->func == BROADCAST)
			note_broadcast(pc, d->peer);
		if (!(nb_trace_ring_wanted() >> NB_EVENT_COLL_API & 1))
			return nb_event_handle(pc, d->event, 0);
		return nb_child_start(pc, token, d);
	}
	return nb_event_handle(pc, d->event, 0);
}

void nb_events_stop(void *eh)
{
	uint64_t h = (uint64_t)(uintptr_t)eh;

	/* the handle is NULL, or it is the handle of an event that we ignore */
	if (!(h & NB_HANDLE_NUMBER))
		return;
	switch (nb_event_kind(h)) {
	case NB_EVENT_COLL:
	case NB_EVENT_P2P:
		nb_task_stop(h);
		return;
	case NB_EVENT_PROXY_OP:
	case NB_EVENT_PROXY_STEP:
	case NB_EVENT_KERNEL_CH:
	case NB_EVENT_GROUP:
	case NB_EVENT_GROUP_API:
	case NB_EVENT_COLL_API:
	case NB_EVENT_P2P_API:
	case NB_EVENT_KERNEL_LAUNCH:
		nb_child_stop(h);
		return;
	}
	nb_events_lose(NB_LOST_STALE);
}

void nb_events_close(struct nb_pcomm *pc)
{
	nb_task_close_all(pc);
	nb_child_close_all(pc);
}
