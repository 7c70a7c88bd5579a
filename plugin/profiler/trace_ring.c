// SPDX-License-Identifier: MIT
/*
 * The ring of spans for `trace start`. An entry's stamp is 2 * (the span's
 * number + 1) when the span is complete, and odd while it is written. A writer
 * that finds the stamp odd or ahead of its own number drops its span. Stores
 * use release and loads use acquire, because ThreadSanitizer does not support
 * fences.
 */
#include "plugin/profiler/trace_ring.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/job/segment/format.h"
#include "plugin/profiler/mask.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/relaxed.h"

struct place {
	uint64_t stamp;
	uint64_t word[NB_SPAN_WORDS];
};

/* array of NB_SPANS entries, or NULL; accessed atomically */
static struct place *ring;
static uint64_t next __attribute__((aligned(64)));
static uint64_t left_out __attribute__((aligned(64)));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* counts of open traces, protected by the lock above */
static uint32_t opens[NB_TRACE_NEVENTS], traces, recorded;

const char *nb_trace_event_word(unsigned event)
{
	static const char *const words[NB_TRACE_NEVENTS] = {
		[NB_TRACE_GIN_PUT] = "gin_put",	      [NB_TRACE_GIN_GET] = "gin_get",
		[NB_TRACE_GIN_SIGNAL] = "gin_signal", [NB_TRACE_VERBS_QP] = "verbs_qp",
		[NB_TRACE_VERBS_POST] = "verbs_post", [NB_TRACE_VERBS_DONE] = "verbs_done",
	};

	if (event < NB_TRACE_GIN_PUT)
		return nb_event_word(event);
	return event < NB_TRACE_NEVENTS ? words[event] : NULL;
}

void nb_trace_ring_add(const struct nb_trace_span *s)
{
	struct place *r = __atomic_load_n(&ring, __ATOMIC_ACQUIRE), *p;
	uint64_t n, have;

	if (!r)
		return;
	n = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
	p = &r[n % NB_SPANS];
	have = GET(p->stamp);
	if (have & 1 || have > 2 * n ||
	    !__atomic_compare_exchange_n(&p->stamp, &have, 2 * n + 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&left_out, 1, __ATOMIC_RELAXED);
		return;
	}
	for (int i = 0; i < NB_SPAN_WORDS; i++)
		__atomic_store_n(&p->word[i], s->word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&p->stamp, 2 * n + 2, __ATOMIC_RELEASE);
}

/* Returns a handle without the process's nonce. */
static uint64_t id_of(uint64_t h)
{
	return h & ((UINT64_C(1) << (NB_HANDLE_KIND + 4)) - 1);
}

static uint64_t make_id(const struct nb_pcomm *pc, uint64_t kind, uint64_t n)
{
	return kind << NB_HANDLE_KIND | (uint64_t)pc->index << NB_HANDLE_COMM | n;
}

static uint64_t rank_and_peer(const struct nb_pcomm *pc, uint64_t peer)
{
	return (uint64_t)(uint32_t)GET(pc->rank) | peer << 32;
}

/*
 * Returns when the task ended: now if the GPU reported its times, else the time
 * of its last event.
 */
static uint64_t task_done_ns(const struct nb_op_slot *s, const struct nb_sample *o)
{
	uint64_t t = GET(s->stop), kernel = GET(s->cpu_last);
	uint64_t proxy = GET(s->proxy_last);

	if (o->source == NB_SOURCE_GPU)
		return nb_clock_ns();
	t = kernel > t ? kernel : t;
	return proxy > t ? proxy : t;
}

static bool ran_as(const struct nb_trace_span *p, const struct nb_decision *d)
{
	uint64_t what = p->word[NB_SPAN_WHAT];

	return (what >> NB_SPAN_AT_ALGO & 255) == (uint64_t)d->algo &&
	       (what >> NB_SPAN_AT_PROTO & 255) == (uint64_t)d->proto;
}

/*
 * Write into span @p of task @s the decision that it ran with: the latest one
 * for its function and size before it started. The decisions of one group are
 * close together.
 */
static void note_decision(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			  struct nb_trace_span *p)
{
	enum { BACK = 64 };
	const struct nb_packed *from = GET(pc->ring);
	uint64_t func = p->word[NB_SPAN_WHAT] >> NB_SPAN_AT_FUNC & 255;
	uint64_t n = GET(s->decided);
	struct nb_packed packed;
	struct nb_decision d;

	for (int i = 0; i < BACK && n > 0 && from; i++, n--) {
		for (int w = 0; w < NB_PACKED_WORDS; w++)
			packed.word[w] = GET(from[(n - 1) % NB_RING].word[w]);
		if (!nb_unpack(&packed, n - 1, &d))
			return;
		/* NCCL may make one decision for several merged collectives */
		if ((uint64_t)d.coll != func || d.bytes < p->word[NB_SPAN_BYTES] ||
		    (d.bytes > p->word[NB_SPAN_BYTES] &&
		     (p->word[NB_SPAN_DECIDED] || !ran_as(p, &d))))
			continue;
		p->word[NB_SPAN_DECIDED] = n;
		memcpy(&p->word[NB_SPAN_DECISION], packed.word, sizeof(packed.word));
		if (d.bytes == p->word[NB_SPAN_BYTES])
			return;
	}
}

void nb_trace_span_task(const struct nb_pcomm *pc, const struct nb_op_slot *s,
			const struct nb_sample *o, uint64_t n)
{
	uint64_t what = GET(s->what);
	uint64_t event = what >> W_P2P & 1 ? NB_EVENT_P2P : NB_EVENT_COLL;
	struct nb_trace_span p;
	uint64_t *w = p.word;

	if (!(nb_trace_ring_wanted() >> event & 1))
		return;
	memset(&p, 0, sizeof(p));
	w[NB_SPAN_WHAT] = nb_span_what(event, o->func, o->algo, o->proto, o->channels);
	w[NB_SPAN_START] = o->start_ns;
	w[NB_SPAN_END] = GET(s->stop);
	w[NB_SPAN_COMM] = o->comm_id;
	w[NB_SPAN_WHO] = rank_and_peer(pc, (uint32_t)o->peer);
	w[NB_SPAN_ID] = make_id(pc, event, n);
	w[NB_SPAN_PARENT] = id_of(GET(s->parent));
	w[NB_SPAN_SEQ] = o->seq;
	w[NB_SPAN_BYTES] = o->bytes;
	w[NB_SPAN_EXEC] = o->has[NB_TEL_EXEC] ? o->ns[NB_TEL_EXEC] + 1 : 0;
	w[NB_SPAN_SOURCE] = o->source;
	w[NB_SPAN_DONE] = task_done_ns(s, o);
	note_decision(pc, s, &p);
	nb_trace_ring_add(&p);
}

/*
 * Returns the calling thread's ID. An API call starts and stops in one thread.
 */
static uint64_t thread_id(void)
{
	static __thread uint64_t tid;
	static __thread pid_t of;

	if (of != nb_prof.pid) {
		of = nb_prof.pid;
		tid = (uint64_t)syscall(SYS_gettid);
	}
	return tid;
}

static void put_details(struct nb_trace_span *p, const struct nb_child_slot *c, uint64_t event)
{
	switch (event) {
	case NB_EVENT_KERNEL_CH:
		p->word[NB_SPAN_GPU_START] = GET(c->timer);
		p->word[NB_SPAN_GPU_STOP] = GET(c->timer_stop);
		break;
	case NB_EVENT_PROXY_STEP:
		p->word[NB_SPAN_SEQ] = GET(c->what) >> C_STEP;
		for (int i = 0; i < 4; i++)
			p->word[NB_SPAN_WAITS + i] = GET(c->waits[i]);
		break;
	case NB_EVENT_GROUP_API:
	case NB_EVENT_COLL_API:
	case NB_EVENT_P2P_API:
	case NB_EVENT_KERNEL_LAUNCH:
		p->word[NB_SPAN_SEQ] = thread_id();
		break;
	default:
		break;
	}
}

void nb_trace_span_child(const struct nb_pcomm *pc, const struct nb_child_slot *c, uint64_t n,
			 uint64_t now)
{
	uint64_t what = GET(c->what), event = what >> C_KIND & 255;
	uint32_t func = event >= NB_EVENT_GROUP_API ? what >> C_FUNC & 255 : (uint32_t)NB_WORD_NONE;
	struct nb_trace_span p;
	uint64_t *w = p.word;

	if (!(nb_trace_ring_wanted() >> event & 1))
		return;
	memset(&p, 0, sizeof(p));
	w[NB_SPAN_WHAT] =
		nb_span_what(event, func, NB_WORD_NONE, NB_WORD_NONE, what >> C_CHANNEL & 255) |
		(what >> C_SEND & 1) << NB_SPAN_AT_SEND | (what >> C_TIMER & 1) << NB_SPAN_AT_GPU;
	w[NB_SPAN_START] = GET(c->start);
	w[NB_SPAN_END] = now;
	w[NB_SPAN_COMM] = GET(pc->comm_id);
	w[NB_SPAN_WHO] = rank_and_peer(pc, GET(c->peer));
	w[NB_SPAN_ID] = make_id(pc, event, n);
	w[NB_SPAN_PARENT] = id_of(GET(c->parent));
	w[NB_SPAN_BYTES] = GET(c->bytes);
	put_details(&p, c, event);
	nb_trace_ring_add(&p);
}

uint64_t nb_trace_ring_next(void)
{
	return GET(next);
}

uint64_t nb_trace_ring_left_out(void)
{
	return GET(left_out);
}

bool nb_trace_ring_read(uint64_t n, struct nb_trace_span *out)
{
	struct place *r = __atomic_load_n(&ring, __ATOMIC_ACQUIRE), *p;

	if (!r)
		return false;
	p = &r[n % NB_SPANS];
	if (__atomic_load_n(&p->stamp, __ATOMIC_ACQUIRE) != 2 * n + 2)
		return false;
	for (int i = 0; i < NB_SPAN_WORDS; i++)
		out->word[i] = __atomic_load_n(&p->word[i], __ATOMIC_ACQUIRE);
	return GET(p->stamp) == 2 * n + 2;
}

/* Recompute which events are traced. The caller holds the lock. */
static void update_traced(void)
{
	uint32_t bits = 0;

	for (int i = 0; i < NB_TRACE_NEVENTS; i++)
		if (opens[i])
			bits |= 1u << i;
	SET(nb_prof.traced, bits);
}

static bool make_ring(void)
{
	void *p;

	if (ring)
		return true;
	p = mmap(NULL, NB_SPANS * sizeof(struct place), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	__atomic_store_n(&ring, p, __ATOMIC_RELEASE);
	return true;
}

int nb_trace_ring_open(uint32_t events, struct nb_err *err)
{
	bool good;

	pthread_mutex_lock(&lock);
	good = make_ring();
	if (good) {
		for (int i = 0; i < NB_TRACE_NEVENTS; i++)
			opens[i] += events >> i & 1;
		SET(traces, traces + 1);
		update_traced();
	}
	pthread_mutex_unlock(&lock);
	if (!good)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a ring of %d events", NB_SPANS);
	nb_events_ask();
	return 0;
}

void nb_trace_ring_close(uint32_t events)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < NB_TRACE_NEVENTS; i++)
		opens[i] -= events >> i & 1;
	SET(traces, traces - 1);
	update_traced();
	pthread_mutex_unlock(&lock);
	nb_events_ask();
}

int nb_trace_ring_record(uint32_t events, struct nb_err *err)
{
	uint32_t was;
	int rc = events ? nb_trace_ring_open(events, err) : 0;

	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	was = recorded;
	recorded = events;
	pthread_mutex_unlock(&lock);
	if (was)
		nb_trace_ring_close(was);
	return 0;
}

uint32_t nb_trace_ring_recorded(void)
{
	uint32_t bits;

	pthread_mutex_lock(&lock);
	bits = recorded;
	pthread_mutex_unlock(&lock);
	return bits;
}

uint32_t nb_trace_ring_traces(void)
{
	return GET(traces);
}

void nb_trace_ring_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < NB_TRACE_NEVENTS; i++)
		opens[i] = 0;
	SET(traces, 0);
	recorded = 0;
	update_traced();
}
