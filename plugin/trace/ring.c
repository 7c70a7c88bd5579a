// SPDX-License-Identifier: MIT
/*
 * The ring of spans for `trace start`. An entry's stamp is 2 * (the span's
 * number + 1) when the span is complete, and odd while it is written. A writer
 * that finds the stamp odd or ahead of its own number drops its span. Stores
 * use release and loads use acquire, because ThreadSanitizer does not support
 * fences.
 */
#include "plugin/trace/ring.h"

#include <pthread.h>
#include <sys/mman.h>

#include "plugin/hooks/hooks.h"
#include "plugin/runtime/relaxed.h"

struct place {
	uint64_t stamp;
	uint64_t word[NB_SPAN_WORDS];
};

/* array of NB_SPANS entries, or NULL; accessed atomically */
static struct place *ring;
/* counters that all writers change, each in a line of its own */
static struct {
	_Alignas(64) uint64_t next;
	_Alignas(64) uint64_t left_out;
} spans;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* counts of open traces, protected by the lock above */
static uint32_t opens[NB_TRACE_NEVENTS], traces, recorded;

void nb_trace_ring_add(const struct nb_trace_span *s)
{
	struct place *r = __atomic_load_n(&ring, __ATOMIC_ACQUIRE), *p;
	uint64_t n, have;

	if (!r)
		return;
	n = __atomic_fetch_add(&spans.next, 1, __ATOMIC_RELAXED);
	p = &r[n % NB_SPANS];
	have = GET(p->stamp);
	if (have & 1 || have > 2 * n ||
	    !__atomic_compare_exchange_n(&p->stamp, &have, 2 * n + 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&spans.left_out, 1, __ATOMIC_RELAXED);
		return;
	}
	for (int i = 0; i < NB_SPAN_WORDS; i++)
		__atomic_store_n(&p->word[i], s->word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&p->stamp, 2 * n + 2, __ATOMIC_RELEASE);
}

uint64_t nb_trace_ring_next(void)
{
	return GET(spans.next);
}

uint64_t nb_trace_ring_left_out(void)
{
	return GET(spans.left_out);
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

/*
 * Returns a bit for each hook that must run for a trace of @events, because the
 * trace records the contexts of this hook.
 */
static uint32_t traced_hooks(uint32_t events)
{
	uint32_t hooks = 0;

	if (events & NB_TRACE_BIT(VERBS_QP))
		hooks |= 1u << NB_HOOK_VERBS_QP;
	if (events & NB_TRACE_BIT(VERBS_POST))
		hooks |= 1u << NB_HOOK_VERBS_POST;
	if (events & NB_TRACE_BIT(VERBS_DONE))
		hooks |= 1u << NB_HOOK_VERBS_DONE;
	return hooks;
}

/* Recompute which events are traced. The caller holds the lock. */
static void update_traced(void)
{
	uint32_t bits = 0;

	for (int i = 0; i < NB_TRACE_NEVENTS; i++)
		if (opens[i])
			bits |= 1u << i;
	SET(nb_trace.events, bits);
	nb_hooks_record(traced_hooks(bits));
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
