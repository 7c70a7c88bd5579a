// SPDX-License-Identifier: MIT
/*
 * Passes events to the wrapped profiler. The wrapped profiler gets what NCCL
 * would pass to it: the events of its own mask, in the form of its own version.
 * It may write its mask, a variable of ours, at any time. NCCL's mask is the
 * union of its mask and ours.
 */
#include "plugin/abi/wrapped_profiler.h"

#include <string.h>

#include "core/defs/ctx.h"
#include "plugin/profiler/event_pairs.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/relaxed.h"
#include "plugin/wrap/wrapped.h"

enum { NEWEST = 6, DESCR = 128 };

static const uint8_t sizes[NEWEST + 1] = { 0, 120, 128, 120, 104, 112, 112 };

/*
 * Table and version of the wrapped profiler, and NCCL's version. They are the
 * same for all communicators, and are set before the first event.
 */
static struct {
	const struct nb_profiler *table; /* accessed atomically */
	uint32_t version, abi;
} its;

static void count_error(int rc)
{
	if (rc)
		nb_wrapped_count_error(NB_WRAPPED_PROFILER);
}

/*
 * C type of a field, selected by its name in the rows. Version 1 has numbers
 * instead of strings.
 */
enum kind { U8, I32, U64, FUNC, TYPE, ALGO, PROTO };
enum {
	KIND_comm = U64,
	KIND_seq = U64,
	KIND_func = FUNC,
	KIND_count = U64,
	KIND_root = I32,
	KIND_datatype = TYPE,
	KIND_channels = U8,
	KIND_algo = ALGO,
	KIND_proto = PROTO,
	KIND_name = U64,
	KIND_send_buff = U64,
	KIND_recv_buff = U64,
	KIND_buff = U64,
	KIND_traffic = U64,
	KIND_warps = U8,
	KIND_collnet = I32,
	KIND_nvls = I32,
	KIND_group = U64,
	KIND_peer = I32,
	KIND_pid = I32,
	KIND_channel = U8,
	KIND_nsteps = I32,
	KIND_chunk = I32,
	KIND_is_send = I32,
	KIND_step = I32,
	KIND_timer = U64,
	KIND_id = U64,
	KIND_data = U64
};

static const struct field {
	uint8_t event, kind;
	int16_t at[NEWEST + 1];
} fields[] = {
#define PROF_FIELD(event, field, v1, v2, v3, v4, v5, v6) \
	{ NB_EVENT_##event, KIND_##field, { -1, v1, v2, v3, v4, v5, v6 } },
#include "core/defs/profiler.h"
};

#define PROF_FIELD(event, field, v1, v2, v3, v4, v5, v6)              \
	static const int16_t offset_##event##_##field[NEWEST + 1] = { \
		-1, v1, v2, v3, v4, v5, v6                            \
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

static void put_i32(char *d, int at, int32_t v)
{
	if (at >= 0)
		memcpy(d + at, &v, sizeof(v));
}

/* Copy a field that exists in both versions. */
static void copy_field(const struct field *f, char *to, int v, const char *from,
		       int have)
{
	static const enum nb_prof_words words[] = {
		[FUNC] = NB_PROF_FUNCS,
		[TYPE] = NB_PROF_TYPES,
		[ALGO] = NB_PROF_ALGOS,
		[PROTO] = NB_PROF_PROTOS,
	};
	const char *text;

	switch ((enum kind)f->kind) {
	case U8:
		to[f->at[v]] = from[f->at[have]];
		break;
	case I32:
		memcpy(to + f->at[v], from + f->at[have], 4);
		break;
	case U64:
		memcpy(to + f->at[v], from + f->at[have], 8);
		break;
	case FUNC:
	case TYPE:
	case ALGO:
	case PROTO:
		text = (const char *)(uintptr_t)get_u64(from, f->at[have]);
		if (v > 1)
			put_u64(to, f->at[v], (uint64_t)(uintptr_t)text);
		else
			to[f->at[v]] =
				(char)nb_profiler_word(words[f->kind], text);
		break;
	}
}

/* Fill in the fields that only old versions have. */
static void fill_old(char *to, int v, const struct nb_pcomm *pc, uint32_t event,
		     uint64_t bytes)
{
	int algo;

	if (event == NB_EVENT_P2P) {
		put_u64(to, offset_P2P_name[v], (uint64_t)(uintptr_t)pc->name);
		put_u64(to, offset_P2P_comm[v], GET(pc->comm_id));
	}
	if (event != NB_EVENT_COLL)
		return;
	put_u64(to, offset_COLL_name[v], (uint64_t)(uintptr_t)pc->name);
	put_u64(to, offset_COLL_comm[v], GET(pc->comm_id));
	put_u64(to, offset_COLL_traffic[v], bytes);
	if (v > 1)
		return;
	algo = (unsigned char)to[offset_COLL_algo[v]];
	put_i32(to, offset_COLL_collnet[v],
		algo == NCCL_ALGO_COLLNET_DIRECT ||
			algo == NCCL_ALGO_COLLNET_CHAIN);
	put_i32(to, offset_COLL_nvls[v],
		algo == NCCL_ALGO_NVLS || algo == NCCL_ALGO_NVLS_TREE);
}

/* Returns count * size of the type from NCCL's descriptor. */
static uint64_t coll_bytes(const char *from, int have)
{
	uint64_t bytes;

	if (have < 2 ||
	    __builtin_mul_overflow(
		    get_u64(from, offset_COLL_count[have]),
		    nb_profiler_type_size((const char *)(uintptr_t)get_u64(
			    from, offset_COLL_datatype[have])),
		    &bytes))
		return 0;
	return bytes;
}

/*
 * Convert NCCL's descriptor @from of version @have to version @v, which is
 * older.
 */
static void rewrite_descr(char *to, int v, const char *from, int have,
			  const struct nb_pcomm *pc, uint32_t event)
{
	const uint64_t type = UINT64_C(1) << event;

	memset(to, 0, DESCR);
	if (v >= 5)
		memcpy(to, &type, sizeof(type));
	else
		/* versions before v5 have only eight event types */
		to[0] = (char)type;
	memcpy(to + 8, from + 8, 12); /* copy the parent and the rank */
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].event == event && fields[i].at[v] >= 0 &&
		    fields[i].at[have] >= 0)
			copy_field(&fields[i], to, v, from, have);
	if (v < 4 && have >= 4)
		fill_old(to, v, pc, event,
			 event == NB_EVENT_COLL ? coll_bytes(from, have) : 0);
	/* before v5 the parent of a task is the group */
	if (v < 5 && have >= 5 && event == NB_EVENT_COLL)
		put_u64(to, 8, get_u64(from, offset_COLL_group[have]));
	if (v < 5 && have >= 5 && event == NB_EVENT_P2P)
		put_u64(to, 8, get_u64(from, offset_P2P_group[have]));
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

	return nb_event_pair_get(handle, false, false, &pair)
		       ? (uint64_t)(uintptr_t)pair.its
		       : 0;
}

static void translate_handles(char *d, int v, uint32_t event,
			      uint64_t (*to)(uint64_t handle))
{
	int group = event == NB_EVENT_COLL  ? offset_COLL_group[v]
		    : event == NB_EVENT_P2P ? offset_P2P_group[v]
					    : -1;

	put_u64(d, 8, to(get_u64(d, 8)));
	put_u64(d, group, to(get_u64(d, group)));
}

/*
 * Returns true if the wrapped profiler's version has the event and its mask
 * includes the event.
 */
static bool is_delivered(uint32_t event)
{
	return event < NB_NEVENTS &&
	       nb_events_known(its.version) >> event & 1 &&
	       nb_event_pair_delivered((uint32_t)GET(nb_prof.chained_mask)) >>
			       event &
		       1;
}

static void *start_its(void *context, void *its_context, const void *descr,
		       int v, uint32_t event)
{
	const struct nb_profiler *t =
		__atomic_load_n(&its.table, __ATOMIC_ACQUIRE);
	const struct nb_pcomm *pc = nb_pcomm_of((uint64_t)(uintptr_t)context);
	int version = (int)its.version;
	void *handle = NULL;
	char d[DESCR];

	if (!pc)
		return NULL;
	/* v6 only adds events, so v5 and v6 have the same descriptors */
	if (version == v || version == 5)
		memcpy(d, descr, sizes[version]);
	else
		rewrite_descr(d, version, descr, v, pc, event);
	translate_handles(d, version, event, its_of);
	count_error(t->start_event(its_context, &handle, d));
	return handle;
}

void nb_wrapped_prof_start(void *context, void **to, const void *descr, int v,
			   nb_own_start *own)
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
	if (!is_delivered(event) ||
	    !nb_event_pair_context(pair.owner, &its_context))
		return;
	place = nb_event_pair_take(&stolen);
	if (stolen || place == NB_EVENT_PAIRS)
		nb_wrapped_count_refused(NB_WRAPPED_PROFILER);
	if (place == NB_EVENT_PAIRS)
		return;
	pair.ours = (uint64_t)(uintptr_t)ours;
	pair.its = start_its(context, its_context, descr, v, event);
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
		count_error(its.table->stop_event(pair.its));
	return true;
}

/* Returns the first version that has the state (ABI reference, 2.5). */
static uint32_t state_since(int state)
{
	return state <= 18 ? 1 : state <= 22 ? 4 : state <= 24 ? 5 : 6;
}

bool nb_wrapped_prof_record(void *handle, int state, void *args)
{
	uint64_t h = (uint64_t)(uintptr_t)handle, wide[2] = { 0, 0 };
	struct nb_event_pair pair;

	if (!nb_event_pair_is(h))
		return false;
	if (!nb_event_pair_get(h, true, false, &pair)) {
		nb_events_lose(NB_LOST_STALE);
		return true;
	}
	if (args)
		memcpy(&wide[0], args, sizeof(wide[0]));
	nb_events_record((void *)(uintptr_t)pair.ours, state, wide[0],
			 args != NULL);
	if (!pair.its || state < 0 || state_since(state) > its.version)
		return true;
	/*
	 * before v4 the arguments have 16 bytes, of which later versions pass
	 * the first 8
	 */
	if (args && its.version < 4 && its.abi >= 4)
		args = wide;
	count_error(its.table->record_event_state(pair.its, state, args));
	return true;
}

static bool profiler_table_complete(const struct nb_profiler *t)
{
	return t->init.v1 && t->start_event && t->stop_event &&
	       t->record_event_state && t->finalize;
}

static int call_profiler_init(const struct nb_profiler *t, uint32_t version,
			      void **ctx, const struct nb_pcomm_init *in,
			      nb_nccl_logger *logger)
{
	int *mask = &nb_prof.chained_mask;

	if (version < 4)
		return t->init.v1(ctx, mask);
	if (version == 4)
		return t->init.v4(ctx, mask, in->name, in->comm_id, in->nodes,
				  in->ranks, in->rank, logger);
	return t->init.v5(ctx, in->comm_id, mask, in->name, in->nodes,
			  in->ranks, in->rank, logger);
}

void nb_wrapped_prof_init(void *context, const struct nb_pcomm_init *init,
			  nb_nccl_logger *logger)
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
		nb_wrapped_leave_out(
			NB_WRAPPED_PROFILER,
			"the plugin's table of interface v%u lacks functions",
			version);
		return;
	}
	rc = call_profiler_init(t, version, &its_context, init, logger);
	if (rc) {
		nb_wrapped_count_error(NB_WRAPPED_PROFILER);
		nb_wrapped_leave_out(NB_WRAPPED_PROFILER,
				     "the init of the plugin returned %d", rc);
		return;
	}
	nb_lock(NB_LOCK_WRAP);
	/* set once, because it is the same for all communicators */
	if (!its.table) {
		its.version = version;
		its.abi = init->abi;
		__atomic_store_n(&its.table, t, __ATOMIC_RELEASE);
	}
	nb_unlock(NB_LOCK_WRAP);
	if (!nb_event_pair_comm((uint64_t)(uintptr_t)context, its_context)) {
		if (its_context)
			count_error(t->finalize(its_context));
		nb_wrapped_leave_out(
			NB_WRAPPED_PROFILER,
			"there is no memory for the plugin's events");
	}
	nb_events_ask();
}

void nb_wrapped_prof_finalize(void *context)
{
	void *its_context;

	/* NCCL calls no function of a profiler whose init gave no context */
	if (nb_event_pair_comm_end((uint64_t)(uintptr_t)context,
				   &its_context) &&
	    its_context)
		count_error(its.table->finalize(its_context));
}
