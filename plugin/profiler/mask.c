// SPDX-License-Identifier: MIT
/* The activation mask, which tells NCCL the events to report. */
#include "plugin/profiler/mask.h"

#include <stdlib.h>

#include "core/job/segment/format.h"
#include "core/spec/spec.h"
#include "plugin/hooks/hooks.h"
#include "plugin/profiler/pools.h"
#include "plugin/profiler/state.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/relaxed.h"

/* Who asks for kernels. */
enum kernel_reason {
	BY_TELEMETRY = 1,
	BY_HOOKS = 2,
	BY_TRACES = 4,
	BY_CONNECT = 8,
	BY_WRAPPED = 16
};

/* With one of these events in its mask NCCL reports the calls of its API. */
#define TELLS_CALLS                                                             \
	(NB_EVENT_BIT(COLL_API) | NB_EVENT_BIT(COLL) | NB_EVENT_BIT(PROXY_OP) | \
	 NB_EVENT_BIT(PROXY_STEP) | NB_EVENT_BIT(KERNEL_CH))

/* The events that NCCL is asked for or not as one: its phases need the kernel itself. */
#define KERNELS (NB_EVENT_BIT(KERNEL_CH) | NB_EVENT_BIT(KERNEL_PHASE))

/* Returns the events that version @abi of the interface has, as bits. */
uint32_t nb_events_known(uint32_t abi)
{
	return 0
#define PROF_EVENT(name, bit, since, word) | (abi >= (since) ? 1u << (bit) : 0)
#include "core/defs/profiler.h"
		;
}

/*
 * Returns true if fences count API calls instead of decisions. From NCCL 2.29
 * on (v6), ranks may ask the tuner different numbers of times.
 */
bool nb_mask_by_calls(uint32_t abi)
{
	enum { AUTO, ON, OFF };
	uint32_t how = GET(nb_prof.api_clock);

	return how == ON ? abi >= 5 : how == AUTO && abi >= 6;
}

/* Returns true if some rank's API calls are counted. */
static bool calls_counted(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (nb_pcomm_living(nb_prof.comm[i]) && GET(nb_prof.comm[i]->slot))
			return true;
	return false;
}

/* Returns true if NCCL reports no calls with this mask, which somebody else has set. */
static bool hides_calls(const struct nb_pcomm *pc)
{
	const int *mask = nb_pcomm_living(pc) ? GET(pc->mask) : NULL;
	int wrote = __atomic_load_n(&pc->wrote, __ATOMIC_ACQUIRE);

	return mask && wrote != NB_MASK_NONE && GET(*mask) != wrote &&
	       !((uint32_t)GET(*mask) & TELLS_CALLS);
}

/*
 * Without NB_CLOCK_CALLS no fence is armed, and without calls no rank reaches one
 * that was. It takes no lock, because NCCL's threads call it too.
 */
void nb_mask_stop_calls(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = __atomic_load_n(&nb_prof.comm[i], __ATOMIC_ACQUIRE);

		if (!pc || !GET(pc->slot) || !hides_calls(pc) ||
		    !__atomic_exchange_n(&pc->slot, NULL, __ATOMIC_ACQ_REL))
			continue;
		__atomic_store_n(&GET(pc->entry)->clock, NB_CLOCK_NONE, __ATOMIC_SEQ_CST);
		n++;
	}
	if (n)
		nb_log(NB_LOG_WARN,
		       "profiler: somebody else has set NCCL's event mask (RAS: CONTROL "
		       "PROFILER_MASK), so API calls were missed: %u ranks of this process "
		       "cannot change their policies while their communicators live",
		       n);
}

/* Returns the events that programs on @hooks need, as bits. */
static uint32_t hooks_need(uint32_t hooks)
{
	uint32_t tasks = NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P);
	uint32_t times = NB_EVENT_BIT(KERNEL_CH) | NB_EVENT_BIT(PROXY_OP);
	uint32_t need = 0;

	if (hooks >> NB_HOOK_COLL_DONE & 1)
		need |= NB_EVENT_BIT(COLL) | times;
	if (hooks >> NB_HOOK_P2P_DONE & 1)
		need |= NB_EVENT_BIT(P2P) | times;
	if (hooks >> NB_HOOK_KERNEL_CH & 1)
		need |= tasks | NB_EVENT_BIT(KERNEL_CH);
	if (hooks >> NB_HOOK_PROXY_STEP & 1)
		need |= tasks | NB_EVENT_BIT(PROXY_OP) | NB_EVENT_BIT(PROXY_STEP);
	if (hooks >> NB_HOOK_GROUP & 1)
		need |= NB_EVENT_BIT(GROUP);
	return need;
}

/*
 * Returns the events that traces of @events need, with their parents, as bits.
 */
static uint32_t traces_need(uint32_t events)
{
	uint32_t times =
		NB_EVENT_BIT(KERNEL_CH) | NB_EVENT_BIT(PROXY_OP) | NB_EVENT_BIT(PROXY_STEP);

	if (events & times)
		events |= NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P);
	if (events & NB_EVENT_BIT(PROXY_STEP))
		events |= NB_EVENT_BIT(PROXY_OP);
	return events;
}

static uint32_t events_needed(void)
{
	uint32_t tel = nb_tel_wanted();
	uint32_t need = hooks_need(GET(nb_hooks.used));

	if (tel & NB_TEL_ON)
		need |= NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P);
	if (tel & NB_TEL_GPU)
		need |= NB_EVENT_BIT(KERNEL_CH);
	if (tel & NB_TEL_PROXY)
		need |= NB_EVENT_BIT(PROXY_OP);
	if (calls_counted())
		need |= NB_EVENT_BIT(COLL_API);
	return need | traces_need(nb_trace_ring_wanted());
}

/*
 * Returns the events that the wrapped profiler needs, as bits. NCCL itself adds
 * the kernels to the phases, but only at an init.
 */
static uint32_t others_need(void)
{
	uint32_t mask = 0;

	if (GET(nb_prof.chained))
		mask = (uint32_t)GET(nb_prof.chained_mask) & GET(nb_prof.chained_known);
	return mask & NB_EVENT_BIT(KERNEL_PHASE) ? mask | NB_EVENT_BIT(KERNEL_CH) : mask;
}

/*
 * Returns the mask for NCCL: the events that we need and those of the wrapped
 * profiler.
 */
uint32_t nb_mask_for(uint32_t abi)
{
	uint32_t other = others_need();
	uint32_t never = GET(nb_prof.batched) ? KERNELS : 0;

	return (GET(nb_prof.need) | GET(nb_prof.connect) | other) & nb_events_known(abi) &
	       ~GET(nb_prof.withheld) & ~never;
}

/*
 * Note that *pc->mask has been written. It comes after the write: a thread that still reads the
 * old value here may find the new mask, which reports the calls if they are counted (hides_calls).
 */
static void note_wrote(struct nb_pcomm *pc, int mask)
{
	uint32_t was = GET(pc->wrote) == NB_MASK_NONE ? 0 : (uint32_t)GET(pc->wrote);

	/* the decisions of the time without collectives belong to none that follows */
	if (~was & (uint32_t)mask & NB_EVENT_BIT(COLL))
		SET(pc->decided_now, 0);
	__atomic_store_n(&pc->wrote, mask, __ATOMIC_RELEASE);
}

/* Returns true if @pc needs another mask than was written: *@want. */
static bool needs_mask(const struct nb_pcomm *pc, int *want)
{
	if (!nb_pcomm_living(pc) || !GET(pc->mask))
		return false;
	*want = (int)nb_mask_for(GET(pc->abi));
	return GET(pc->wrote) != *want;
}

/*
 * Write the mask of @pc if it needs another one than was written. A mask that
 * somebody else has set in between stays.
 */
void nb_mask_update(const struct nb_pcomm *pc)
{
	int *mask, want;

	if (!needs_mask(pc, &want))
		return;
	pthread_mutex_lock(&nb_prof.lock);
	if (!needs_mask(pc, &want))
		goto unlock;
	nb_mask_stop_calls();
	mask = GET(pc->mask);
	SET(*mask, want);
	/* other communicators may have the same mask */
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *other = nb_prof.comm[i];

		if (nb_pcomm_living(other) && GET(other->mask) == mask)
			note_wrote(other, want);
	}
unlock:
	pthread_mutex_unlock(&nb_prof.lock);
}

void nb_events_remask(void *context)
{
	nb_mask_update(nb_pcomm_of((uint64_t)(uintptr_t)context));
}

bool nb_mask_overridden(struct nb_mask_override *o)
{
	bool found = false;

	pthread_mutex_lock(&nb_prof.lock);
	for (uint32_t i = 0; i < NB_MAX_PCOMMS && !found; i++) {
		const struct nb_pcomm *pc = nb_prof.comm[i];

		if (!nb_pcomm_living(pc) || !pc->mask)
			continue;
		o->wrote = (uint32_t)GET(pc->wrote);
		o->is = (uint32_t)GET(*pc->mask);
		found = o->is != o->wrote;
	}
	pthread_mutex_unlock(&nb_prof.lock);
	return found;
}

/*
 * Returns true if NCCL has yet to connect the communicator's profiler channels.
 * A communicator of one rank runs no collectives, and before v3 NCCL does not
 * report kernels.
 */
static bool is_unconnected(const struct nb_pcomm *pc)
{
	return nb_pcomm_living(pc) && !GET(pc->connected) && GET(pc->ranks) != 1 &&
	       GET(pc->abi) >= 3;
}

unsigned nb_events_unconnected(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		n += is_unconnected(nb_prof.comm[i]);
	return n;
}

/*
 * Returns a bit for each reason to ask NCCL for kernels.
 */
static uint32_t kernel_reasons(uint32_t connect)
{
	uint32_t bit = NB_EVENT_BIT(KERNEL_CH);

	return (nb_tel_wanted() & NB_TEL_GPU ? BY_TELEMETRY : 0) |
	       (hooks_need(GET(nb_hooks.used)) & bit ? BY_HOOKS : 0) |
	       (traces_need(nb_trace_ring_wanted()) & bit ? BY_TRACES : 0) |
	       (connect & bit ? BY_CONNECT : 0) | (others_need() & bit ? BY_WRAPPED : 0);
}

/* A communicator that NCCL has not connected. */
struct unconnected {
	uint64_t comm_id;
	int32_t ranks, nodes;
};

static int by_comm_id(const void *a, const void *b)
{
	const struct unconnected *x = a, *y = b;

	return (x->comm_id > y->comm_id) - (x->comm_id < y->comm_id);
}

/*
 * Returns how many pools of this host come with the communicators that NCCL has
 * not connected. Ranks of one communicator in this process count once.
 */
static unsigned pools_of_host(void)
{
	static struct unconnected c[NB_MAX_PCOMMS]; /* under nb_prof.lock */
	unsigned n = 0, pools = 0;

	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (is_unconnected(nb_prof.comm[i]))
			c[n++] = (struct unconnected){ GET(nb_prof.comm[i]->comm_id),
						       GET(nb_prof.comm[i]->ranks),
						       GET(nb_prof.comm[i]->nodes) };
	qsort(c, n, sizeof(c[0]), by_comm_id);
	for (unsigned i = 0, ours; i < n; i += ours) {
		int32_t ranks = c[i].ranks, nodes = c[i].nodes;
		unsigned all = 0;

		ours = 1;
		while (c[i].comm_id && i + ours < n && c[i + ours].comm_id == c[i].comm_id)
			ours++;
		if (ranks > 0 && nodes > 0)
			all = (unsigned)((ranks - 1) / nodes + 1);
		pools += all > ours ? all : ours;
	}
	return pools;
}

/*
 * Decide whether NCCL may be asked for kernels. It is the only place that does.
 * A refusal stands until somebody asks anew or the communicators change.
 */
static void kernels_decide(uint32_t connect)
{
	uint32_t reasons = kernel_reasons(connect);
	struct nb_pools_want want = { .here = nb_events_unconnected(), .unseen = nb_prof.unseen };
	bool anew = reasons & ~nb_prof.kernels_for || want.here != nb_prof.kernels_of ||
		    want.unseen != nb_prof.kernels_beside;

	/* pools that NCCL is not asked to take need no room */
	nb_pools_shrink(reasons ? want.here : 0);
	if (reasons && (anew || !GET(nb_prof.refused))) {
		if (want.here > nb_pools_announced())
			want.host = pools_of_host();
		SET(nb_prof.refused, !nb_pools_take(&want));
	}
	SET(nb_prof.withheld, reasons && !GET(nb_prof.refused) ? 0 : KERNELS);
	nb_prof.kernels_for = reasons;
	nb_prof.kernels_of = want.here;
	nb_prof.kernels_beside = want.unseen;
}

bool nb_events_refused(struct nb_err *why)
{
	bool refused;

	pthread_mutex_lock(&nb_prof.lock);
	refused = GET(nb_prof.refused);
	if (refused)
		nb_pools_why(why);
	pthread_mutex_unlock(&nb_prof.lock);
	return refused;
}

/*
 * Write NCCL's masks that need another value than was written; NCCL reads them
 * with relaxed atomics. A mask that somebody else has set in between stays. The
 * caller holds nb_prof.lock.
 */
void nb_mask_write(void)
{
	uint32_t connect =
		GET(nb_prof.connect_left) && nb_events_unconnected() ? NB_EVENT_BIT(KERNEL_CH) : 0;
	uint32_t need;

	nb_mask_stop_calls();
	need = events_needed();
	/* broadcasts of several roots are found by their calls, which NCCL delivers anyway */
	if ((need | connect | others_need()) & NB_EVENT_BIT(KERNEL_CH) && GET(nb_prof.abi) >= 6)
		need |= NB_EVENT_BIT(COLL_API);
	kernels_decide(connect);
	SET(nb_prof.need, need & ~GET(nb_prof.withheld));
	SET(nb_prof.connect, connect & ~GET(nb_prof.withheld));
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++) {
		struct nb_pcomm *pc = nb_prof.comm[i];
		int want;

		if (!needs_mask(pc, &want))
			continue;
		SET(*pc->mask, want);
		note_wrote(pc, want);
	}
}

void nb_events_telemetry(unsigned what)
{
	pthread_mutex_lock(&nb_prof.lock);
	SET(nb_trace.telemetry, what & NB_TEL_ON ? what : 0);
	nb_prof.kernels_for &= ~(uint32_t)BY_TELEMETRY;
	nb_mask_stop_calls();
	/* also where somebody else has set the mask */
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		if (nb_prof.comm[i])
			SET(nb_prof.comm[i]->wrote, NB_MASK_NONE);
	nb_mask_write();
	pthread_mutex_unlock(&nb_prof.lock);
}

void nb_events_ask(void)
{
	pthread_mutex_lock(&nb_prof.lock);
	nb_mask_write();
	pthread_mutex_unlock(&nb_prof.lock);
}

unsigned nb_events_mask(void)
{
	return nb_mask_for(nb_prof.abi ? GET(nb_prof.abi) : NB_NEVENTS);
}
