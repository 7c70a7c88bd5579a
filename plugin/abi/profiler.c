// SPDX-License-Identifier: MIT
/*
 * Entry points of the profiler for all versions. They read NCCL's event
 * descriptors, whose layouts are rows of core/defs/profiler.h. Each version has
 * functions of its own, so that offsets are constants. They always return
 * success; NCCL ignores the result.
 */
#include "plugin/abi/profiler_abi.h"

#include <string.h>
#include <strings.h>

#include "core/defs/ctx.h"
#include "plugin/abi/wrapped_profiler.h"
#include "plugin/process/process.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/hot.h"
#include "plugin/runtime/nccl_doubt.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * For example, offset_COLL_seq[v] is the offset of a collective's field seq in
 * version v, or -1 if version v does not have it.
 */
#define PROF_FIELD(event, field, v1, v2, v3, v4, v5, v6, v7) \
	static const int16_t offset_##event##_##field[8] = { -1, v1, v2, v3, v4, v5, v6, v7 };
#include "core/defs/profiler.h"

/* The functions below read descriptors, which may be unaligned. */

INLINE uint64_t read_u64(const char *d, int off)
{
	uint64_t v = 0;

	if (off >= 0)
		memcpy(&v, d + off, sizeof(v));
	return v;
}

INLINE int32_t read_i32(const char *d, int off)
{
	int32_t v = 0;

	if (off >= 0)
		memcpy(&v, d + off, sizeof(v));
	return v;
}

INLINE uint32_t read_u8(const char *d, int off)
{
	return off >= 0 ? (unsigned char)d[off] : 0;
}

INLINE const char *read_text(const char *d, int off)
{
	return (const char *)(uintptr_t)read_u64(d, off);
}

struct word {
	const char *text;
	uint32_t number, size;
};

static const struct word funcs[] = {
	/* compared first, because it is the most frequent name */
	{ "AllReduce", 4, 0 },
#define PROF_FUNC(number, name, word, coll) { name, number, 0 },
#include "core/defs/profiler.h"
};

static const struct word types[] = {
#define PROF_TYPE(number, name, bytes) { name, number, bytes },
#include "core/defs/profiler.h"
	/* NCCL passes this name for ncclUint8 */
	{ "Unknown", 1, 1 },
};

static const struct word algos[] = {
#define NCCL_ALGO(name, value, text) { #name, value, 0 },
#include "core/defs/nccl.h"
};

static const struct word protos[] = {
#define NCCL_PROTO(name, value, text) { #name, value, 0 },
#include "core/defs/nccl.h"
};

static const struct word *profiler_find_word(const struct word *list, size_t n, const char *text)
{
	for (size_t i = 0; text && i < n; i++)
		if (list[i].text[0] == text[0] && !strcmp(list[i].text, text))
			return &list[i];
	return NULL;
}

/*
 * Find a data type by its name. Nearly all names begin with "nccl", so compare
 * the character after that first. All names in the list are longer.
 */
static const struct word *find_type(const char *text)
{
	enum { AT = 4 };
	const size_t n = sizeof(types) / sizeof(types[0]);

	if (!text || strncmp(text, "nccl", AT))
		return profiler_find_word(types, n, text);
	for (size_t i = 0; i < n; i++)
		if (types[i].text[AT] == text[AT] && !strcmp(types[i].text, text))
			return &types[i];
	return NULL;
}
#define FIND(list, text) profiler_find_word(list, sizeof(list) / sizeof((list)[0]), text)

static uint32_t word_number(const struct word *w)
{
	return w ? w->number : NB_WORD_NONE;
}

uint32_t nb_profiler_type(const char *text)
{
	return word_number(find_type(text));
}

/* Version 1 has numbers where later versions have strings. */
#define WORD(list, d, v, off) \
	((v) == 1 ? read_u8(d, (off)[v]) : word_number(FIND(list, read_text(d, (off)[v]))))

INLINE uint32_t read_type(const char *d, const int16_t *off, int v)
{
	return v == 1 ? read_u8(d, off[v]) : nb_profiler_type(read_text(d, off[v]));
}

static uint32_t type_size(uint32_t type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].number == type)
			return types[i].size;
	return 0;
}

/* Returns count * size of the type, clamped to a valid size. */
static uint64_t payload_bytes(uint64_t count, uint32_t type)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(count, (uint64_t)type_size(type), &bytes))
		return UINT64_MAX >> 1;
	return bytes;
}

INLINE void read_coll(struct nb_descr *to, const char *d, int v)
{
	to->comm = read_u64(d, offset_COLL_comm[v]);
	to->seq = read_u64(d, offset_COLL_seq[v]);
	to->func = WORD(funcs, d, v, offset_COLL_func);
	to->algo = WORD(algos, d, v, offset_COLL_algo);
	to->proto = WORD(protos, d, v, offset_COLL_proto);
	to->datatype = read_type(d, offset_COLL_datatype, v);
	to->channels = read_u8(d, offset_COLL_channels[v]);
	to->bytes = payload_bytes(read_u64(d, offset_COLL_count[v]), to->datatype);
	to->peer = read_i32(d, offset_COLL_root[v]);
	/* NCCL's words for its algorithm and protocol are the kernel's name */
	if (read_u8(d, offset_COLL_symmetric[v]))
		to->algo = NB_WORD_SYMMETRIC;
	to->tag = read_u64(d, offset_COLL_tag[v]);
}

INLINE void read_p2p(struct nb_descr *to, const char *d, int v)
{
	to->comm = read_u64(d, offset_P2P_comm[v]);
	to->func = WORD(funcs, d, v, offset_P2P_func);
	to->datatype = read_type(d, offset_P2P_datatype, v);
	to->algo = to->proto = NB_WORD_NONE;
	to->channels = read_u8(d, offset_P2P_channels[v]);
	to->bytes = payload_bytes(read_u64(d, offset_P2P_count[v]), to->datatype);
	to->peer = read_i32(d, offset_P2P_peer[v]);
	to->tag = read_u64(d, offset_P2P_tag[v]);
}

/* Read the descriptor of an API call, which exists from v5 on. */
INLINE void read_api(struct nb_descr *to, const char *d, const int16_t *func, const int16_t *count,
		     const int16_t *type, int v)
{
	to->func = WORD(funcs, d, v, func);
	to->datatype = read_type(d, type, v);
	to->bytes = payload_bytes(read_u64(d, count[v]), to->datatype);
}

/* Read a descriptor. @v is a compile-time constant in every caller. */
INLINE void read_descr(struct nb_descr *to, const char *d, int v)
{
	to->parent = read_u64(d, 8);
	to->rank = read_i32(d, 16);
	switch (to->event) {
	case NB_EVENT_COLL:
		read_coll(to, d, v);
		break;
	case NB_EVENT_P2P:
		read_p2p(to, d, v);
		break;
	case NB_EVENT_PROXY_OP:
		to->pid = read_i32(d, offset_PROXY_OP_pid[v]);
		to->channel = read_u8(d, offset_PROXY_OP_channel[v]);
		to->peer = read_i32(d, offset_PROXY_OP_peer[v]);
		to->send = (uint32_t)read_i32(d, offset_PROXY_OP_is_send[v]);
		break;
	case NB_EVENT_PROXY_STEP:
		to->step = read_i32(d, offset_PROXY_STEP_step[v]);
		break;
	case NB_EVENT_COLL_API:
		read_api(to, d, offset_COLL_API_func, offset_COLL_API_count,
			 offset_COLL_API_datatype, v);
		to->peer = read_i32(d, offset_COLL_API_root[v]);
		break;
	case NB_EVENT_P2P_API:
		read_api(to, d, offset_P2P_API_func, offset_P2P_API_count, offset_P2P_API_datatype,
			 v);
		break;
	case NB_EVENT_GROUP_API:
	case NB_EVENT_KERNEL_LAUNCH:
		to->func = NB_WORD_NONE;
		break;
	}
}

INLINE uint64_t start_kernel(void *context, const char *d, int v)
{
	return nb_events_start_kernel(
		context, read_u64(d, 8), read_u8(d, offset_KERNEL_CH_channel[v]),
		read_u64(d, offset_KERNEL_CH_timer[v]), offset_KERNEL_CH_timer[v] >= 0);
}

/* Returns the events that version @v has, as bits. */
INLINE uint64_t events_in(int v)
{
	return 0
#define PROF_EVENT(name, bit, since, word) | (v >= (since) ? UINT64_C(1) << (bit) : 0)
#include "core/defs/profiler.h"
		;
}

/*
 * Returns the event whose bit is set in the descriptor's type, or NB_NEVENTS if
 * no bit or several are set, or version @v does not have the event.
 */
INLINE uint32_t event_of(const char *d, int v)
{
	uint64_t type = v >= 5 ? read_u64(d, 0) : read_u8(d, 0);

	if (!type || type & (type - 1) || type & ~events_in(v))
		return NB_NEVENTS;
	return (uint32_t)__builtin_ctzll(type);
}

uint32_t nb_profiler_event(const char *descr, int v)
{
	return event_of(descr, v);
}

INLINE int start_own(void *context, void **to, const char *d, int v)
{
	struct nb_descr e;
	uint64_t h = 0;

	if (d) {
		uint32_t event = event_of(d, v);

		if (!nb_events_wanted(event)) {
			h = nb_events_pass(context, event);
		} else if (event == NB_EVENT_KERNEL_CH) {
			h = start_kernel(context, d, v);
		} else {
			nb_clear(&e, sizeof(e));
			e.event = event;
			read_descr(&e, d, v);
			h = nb_events_start(context, &e);
		}
	}
	/*
	 * set the handle in all cases, because NCCL does not initialise it for
	 * some events
	 */
	*to = (void *)(uintptr_t)h;
	return NB_NCCL_SUCCESS;
}

INLINE int profiler_start(void *context, void **to, const char *d, int v, nb_own_start *own)
{
	if (!to)
		return NB_NCCL_SUCCESS;
	if (d && nb_events_chained()) {
		nb_wrapped_prof_start(context, to, d, v, own);
		return NB_NCCL_SUCCESS;
	}
	return start_own(context, to, d, v);
}

static int stop_event(void *handle)
{
	if (!nb_events_chained() || !nb_wrapped_prof_stop(handle))
		nb_events_stop(handle);
	return NB_NCCL_SUCCESS;
}

/*
 * In all versions, the first 8 bytes of the arguments contain everything that
 * we use.
 */
static int record_event_state(void *handle, int state, void *args)
{
	if (!nb_events_chained() || !nb_wrapped_prof_record(handle, state, args))
		nb_events_record(handle, state, args ? read_u64(args, 0) : 0, args != NULL);
	return NB_NCCL_SUCCESS;
}

static int profiler_finalize(void *context)
{
	if (nb_events_chained())
		nb_wrapped_prof_finalize(context);
	nb_events_finalize(context);
	return NB_NCCL_SUCCESS;
}

static void profiler_init(void **context, const struct nb_pcomm_init *what, nb_nccl_logger *logger)
{
	const bool usable = nb_process_ready(logger);

	if (usable)
		nb_nccl_calls(NB_NCCL_PROFILER, what->abi);
	nb_events_init(context, what, usable);
	if (usable && context)
		nb_wrapped_prof_init(*context, what, logger);
}

static int profiler_init_v1(void **context, int *mask, uint32_t abi)
{
	struct nb_pcomm_init what = {
		.abi = abi, .mask = mask, .rank = -1, .ranks = -1, .nodes = -1
	};

	profiler_init(context, &what, NULL);
	return NB_NCCL_SUCCESS;
}

static int init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks,
		   int rank, nb_nccl_logger *logger)
{
	struct nb_pcomm_init what = { .abi = 4,
				      .mask = mask,
				      .name = name,
				      .comm_id = comm,
				      .has_id = true,
				      .rank = rank,
				      .ranks = ranks,
				      .nodes = nodes };

	profiler_init(context, &what, logger);
	return NB_NCCL_SUCCESS;
}

#define START(v)                                                                \
	static int own_v##v(void *context, void **handle, void *descr)          \
	{                                                                       \
		return start_own(context, handle, descr, v);                    \
	}                                                                       \
	NB_HOT static int start_v##v(void *context, void **handle, void *descr) \
	{                                                                       \
		return profiler_start(context, handle, descr, v, own_v##v);     \
	}
START(1)
START(2)
START(3)
START(4)
START(5)
START(6)
START(7)

#define INIT_V1(v)                                         \
	static int init_v1_##v(void **context, int *mask)  \
	{                                                  \
		return profiler_init_v1(context, mask, v); \
	}
INIT_V1(1)
INIT_V1(2)
INIT_V1(3)

#define INIT_V5(v)                                                                                \
	static int init_v5_##v(void **context, uint64_t comm, int *mask, const char *name,        \
			       int nodes, int ranks, int rank, nb_nccl_logger *logger)            \
	{                                                                                         \
		profiler_init(                                                                    \
			context,                                                                  \
			&(struct nb_pcomm_init){ v, mask, name, comm, true, rank, ranks, nodes }, \
			logger);                                                                  \
		return NB_NCCL_SUCCESS;                                                           \
	}
INIT_V5(5)
INIT_V5(6)
INIT_V5(7)

#define PROFILER(v, of, fn)                                       \
	NB_EXPORT const struct nb_profiler ncclProfiler_v##v = {  \
		"ncclbpf",  { .of = fn },	start_v##v,       \
		stop_event, record_event_state, profiler_finalize \
	};
PROFILER(1, v1, init_v1_1)
PROFILER(2, v1, init_v1_2)
PROFILER(3, v1, init_v1_3)
PROFILER(4, v4, init_v4)
PROFILER(5, v5, init_v5_5)
PROFILER(6, v5, init_v5_6)
PROFILER(7, v5, init_v5_7)
