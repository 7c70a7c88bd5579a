// SPDX-License-Identifier: MIT
/*
 * Passes events to the wrapped profiler. It has the version with which NCCL
 * calls us, or an older one from v5 on, whose descriptors are the beginning of
 * NCCL's. So it gets NCCL's descriptors with the handles that it has returned,
 * for the events of its version and of its own mask. It may write its mask, a
 * variable of ours, at any time. NCCL's mask is the union of its mask and ours.
 */
#include "plugin/abi/wrapped_profiler.h"

#include <string.h>

#include "plugin/profiler/event_pairs.h"
#include "plugin/runtime/relaxed.h"
#include "plugin/wrap/wrapped.h"

enum { NEWEST = 7, DESCR = 136 };

static const uint8_t sizes[NEWEST + 1] = { 0, 120, 128, 120, 104, 112, 112, DESCR };

/*
 * Table of the wrapped profiler, the same for all communicators. It is set
 * before the first event; accessed atomically.
 */
static const struct nb_profiler *its_table;

static const struct nb_profiler *its_functions(void)
{
	return __atomic_load_n(&its_table, __ATOMIC_ACQUIRE);
}

static void count_error(int rc)
{
	if (rc)
		nb_wrapped_count_error(NB_WRAPPED_PROFILER);
}

#define PROF_FIELD(event, field, v1, v2, v3, v4, v5, v6, v7)          \
	static const int16_t offset_##event##_##field[NEWEST + 1] = { \
		-1, v1, v2, v3, v4, v5, v6, v7                        \
	};
#include "core/defs/profiler.h"

static uint64_t get_u64(const char *d, int at)
{
	uint64_t v = 0;

	if (at >= 0)
		memcpy(&v, d + at, sizeof(v));
	return v;
}

static void put_u64(char *d, int at, uint64_t v)
{
	if (at >= 0)
		memcpy(d + at, &v, sizeof(v));
}

static uint64_t ours_of(uint64_t handle)
{
	struct nb_event_pair pair;

	if (!nb_event_pair_is(handle))
		return handle;
	return nb_event_pair_get(handle, false, false, &pair) ? pair.ours : 0;
}

static uint64_t its_of(uint64_t handle)
{
	struct nb_event_pair pair;

	return nb_event_pair_get(handle, false, false, &pair) ? (uint64_t)(uintptr_t)pair.its : 0;
}

static void translate_handles(char *d, int v, uint32_t event, uint64_t (*to)(uint64_t handle))
{
	int group = event == NB_EVENT_COLL  ? offset_COLL_group[v]
		    : event == NB_EVENT_P2P ? offset_P2P_group[v]
					    : -1;

	put_u64(d, 8, to(get_u64(d, 8)));
	put_u64(d, group, to(get_u64(d, group)));
}

/* Returns true if the wrapped profiler's version and mask include the event. */
static bool is_delivered(uint32_t event)
{
	uint32_t mask = (uint32_t)GET(nb_prof.chained_mask) & GET(nb_prof.chained_known);

	return event < NB_NEVENTS && nb_event_pair_delivered(mask) >> event & 1;
}

static void *start_its(void *its_context, const void *descr, int v, uint32_t event)
{
	void *handle = NULL;
	char d[DESCR] = { 0 };

	memcpy(d, descr, sizes[v]);
	translate_handles(d, v, event, its_of);
	count_error(its_functions()->start_event(its_context, &handle, d));
	return handle;
}

void nb_wrapped_prof_start(void *context, void **to, const void *descr, int v, nb_own_start *own)
{
	struct nb_event_pair pair = { .owner = (uint64_t)(uintptr_t)context };
	void *its_context, *ours = NULL;
	char d[DESCR];
	uint32_t event, place;
	bool stolen;

	memcpy(d, descr, sizes[v]);
	event = nb_profiler_event(d, v);
	translate_handles(d, v, event, ours_of);
	own(context, &ours, d);
	*to = ours;
	nb_events_remask(context);
	if (!is_delivered(event) || !nb_event_pair_context(pair.owner, &its_context))
		return;
	place = nb_event_pair_take(&stolen);
	if (stolen || place == NB_EVENT_PAIRS)
		nb_wrapped_count_refused(NB_WRAPPED_PROFILER);
	if (place == NB_EVENT_PAIRS)
		return;
	pair.ours = (uint64_t)(uintptr_t)ours;
	pair.its = start_its(its_context, descr, v, event);
	if (pair.its)
		*to = (void *)(uintptr_t)nb_event_pair_put(place, &pair);
	else
		nb_event_pair_drop(place);
}

bool nb_wrapped_prof_stop(void *handle)
{
	uint64_t h = (uint64_t)(uintptr_t)handle;
	struct nb_event_pair pair;

	if (!nb_event_pair_is(h))
		return false;
	if (!nb_event_pair_get(h, true, true, &pair)) {
		nb_events_lose(NB_LOST_STALE);
		return true;
	}
	nb_events_stop((void *)(uintptr_t)pair.ours);
	if (pair.its)
		count_error(its_functions()->stop_event(pair.its));
	return true;
}

bool nb_wrapped_prof_record(void *handle, int state, void *args)
{
	uint64_t h = (uint64_t)(uintptr_t)handle, word = 0;
	struct nb_event_pair pair;

	if (!nb_event_pair_is(h))
		return false;
	if (!nb_event_pair_get(h, true, false, &pair)) {
		nb_events_lose(NB_LOST_STALE);
		return true;
	}
	if (args)
		memcpy(&word, args, sizeof(word));
	nb_events_record((void *)(uintptr_t)pair.ours, state, word, args != NULL);
	if (pair.its)
		count_error(its_functions()->record_event_state(pair.its, state, args));
	return true;
}

static bool profiler_table_complete(const struct nb_profiler *t)
{
	return t->init.v1 && t->start_event && t->stop_event && t->record_event_state &&
	       t->finalize;
}

/*
 * Record the table of the first communicator. Returns false if @t is another
 * one: the process has two NCCLs.
 */
static bool same_table(const struct nb_profiler *t)
{
	const struct nb_profiler *have = NULL;

	return __atomic_compare_exchange_n(&its_table, &have, t, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE) ||
	       have == t;
}

static int call_profiler_init(const struct nb_profiler *t, uint32_t version, void **ctx,
			      const struct nb_pcomm_init *in, nb_nccl_logger *logger)
{
	int *mask = &nb_prof.chained_mask;

	if (version < 4)
		return t->init.v1(ctx, mask);
	if (version == 4)
		return t->init.v4(ctx, mask, in->name, in->comm_id, in->nodes, in->ranks, in->rank,
				  logger);
	return t->init.v5(ctx, in->comm_id, mask, in->name, in->nodes, in->ranks, in->rank, logger);
}

void nb_wrapped_prof_init(void *context, const struct nb_pcomm_init *init, nb_nccl_logger *logger)
{
	const struct nb_profiler *t;
	void *its_context = NULL;
	uint32_t version;
	int rc;

	if (!nb_pcomm_of((uint64_t)(uintptr_t)context))
		return;
	t = nb_wrapped_use(NB_WRAPPED_PROFILER, init->abi, &version);
	if (!t)
		return;
	if (!profiler_table_complete(t)) {
		nb_wrapped_leave_out(NB_WRAPPED_PROFILER,
				     "the plugin's table of interface v%u lacks functions",
				     version);
		return;
	}
	if (!same_table(t)) {
		nb_wrapped_leave_out(NB_WRAPPED_PROFILER,
				     "another NCCL of this process calls a version of its "
				     "interface other than v%u",
				     version);
		return;
	}
	rc = call_profiler_init(t, version, &its_context, init, logger);
	if (rc) {
		nb_wrapped_count_error(NB_WRAPPED_PROFILER);
		nb_wrapped_leave_out(NB_WRAPPED_PROFILER, "the init of the plugin returned %d", rc);
		return;
	}
	SET(nb_prof.chained_known, nb_events_known(version));
	if (!nb_event_pair_comm((uint64_t)(uintptr_t)context, its_context)) {
		if (its_context)
			count_error(t->finalize(its_context));
		nb_wrapped_leave_out(NB_WRAPPED_PROFILER,
				     "there is no memory for the plugin's events");
	}
	nb_events_ask();
}

void nb_wrapped_prof_finalize(void *context)
{
	void *its_context;

	/* NCCL calls no function of a profiler whose init gave no context */
	if (nb_event_pair_comm_end((uint64_t)(uintptr_t)context, &its_context) && its_context)
		count_error(its_functions()->finalize(its_context));
}
