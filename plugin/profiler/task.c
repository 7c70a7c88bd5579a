// SPDX-License-Identifier: MIT
/*
 * Collectives, sends and receives. Each has a slot, and the thread that records
 * its last missing piece of information makes the sample.
 */
#include "core/job/segment/format.h"

#include <string.h>

#include "plugin/profiler/decided.h"
#include "plugin/profiler/slots.h"
#include "plugin/profiler/spans.h"
#include "plugin/runtime/hot.h"

/* If a task has proxy operations, the first begins within this time. */
static const uint64_t QUIET_NS = 200000000;
/* A kernel waits for the GPU for at most this time. */
static const uint64_t PATIENCE_NS = 60000000000;

/*
 * Compute the time between two events. @from is UINT64_MAX if there was no
 * event. Returns false if the time is not known or negative.
 */
static bool sample_span(uint64_t from, uint64_t to, uint64_t *ns)
{
	if (from == UINT64_MAX || !to)
		return false;
	if (to < from) {
		nb_events_lose(NB_LOST_CLOCK);
		return false;
	}
	*ns = to - from;
	return true;
}

static void sample_choose_exec(struct nb_sample *s, bool gpu)
{
	int from = s->has[NB_TEL_KERNEL]    ? NB_TEL_KERNEL
		   : s->has[NB_TEL_NETWORK] ? NB_TEL_NETWORK
					    : -1;

	if (from < 0)
		return;
	s->has[NB_TEL_EXEC] = true;
	s->ns[NB_TEL_EXEC] = s->ns[from];
	s->source = from == NB_TEL_NETWORK ? NB_SOURCE_PROXY
		    : gpu		   ? NB_SOURCE_GPU
					   : NB_SOURCE_KERNEL_CPU;
}

/*
 * Make the sample of a slot that this thread owns. @whole: all kernels of the
 * task have reported their times
 */
static void task_sample(struct nb_pcomm *pc, const struct nb_op_slot *s, bool whole)
{
	uint64_t what = GET(s->what);
	struct nb_sample o;
	bool gpu;

	nb_clear(&o, sizeof(o));
	o.comm_id = GET(pc->comm_id);
	o.seq = GET(s->seq);
	o.bytes = GET(s->bytes);
	o.start_ns = GET(s->start);
	o.func = nb_slot_byte(what, W_FUNC);
	o.algo = nb_slot_byte(what, W_ALGO);
	o.proto = nb_slot_byte(what, W_PROTO);
	o.channels = nb_slot_byte(what, W_CHANNELS);
	o.rank = GET(pc->rank);
	o.ranks = GET(pc->ranks);
	o.nodes = GET(pc->nodes);
	o.peer = (int32_t)GET(s->peer);
	o.tag = GET(s->tag);
	o.has[NB_TEL_ENQUEUE] = sample_span(o.start_ns, GET(s->stop), &o.ns[NB_TEL_ENQUEUE]);
	gpu = whole && GET(s->gpu_most);
	if (gpu)
		o.ns[NB_TEL_KERNEL] = GET(s->gpu_most) - 1;
	o.has[NB_TEL_KERNEL] = gpu || (whole && sample_span(GET(s->cpu_first), GET(s->cpu_last),
							    &o.ns[NB_TEL_KERNEL]));
	o.has[NB_TEL_NETWORK] =
		sample_span(GET(s->proxy_first), GET(s->proxy_last), &o.ns[NB_TEL_NETWORK]);
	sample_choose_exec(&o, gpu);
	if (nb_tel_wanted())
		nb_tel_add(&pc->tel, &o);
	if (GET(nb_hooks.used))
		nb_run_sample(pc, s, &o, what >> W_P2P & 1);
	if (nb_trace_ring_wanted())
		nb_trace_span_task(pc, s, &o, nb_slot_number(GET(s->word)));
}

/*
 * Returns true if the event belongs to an earlier communicator in the same
 * structure.
 */
static bool task_is_dead(const struct nb_pcomm *pc, uint64_t word)
{
	return nb_slot_number(word) <= GET(pc->base_coll);
}

/*
 * Make the sample if the task is complete and this thread changes the slot's
 * word to BUSY. @word: the slot's word as just read
 */
void nb_task_settle(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t word)
{
	uint64_t n = nb_slot_number(word) << SLOT_AT_NUMBER;

	if (!nb_task_complete(s, word) || !nb_slot_move(&s->word, &word, n | SLOT_BUSY))
		return;
	if (task_is_dead(pc, word))
		nb_events_lose(NB_LOST_CUT);
	else
		task_sample(pc, s, true);
	__atomic_store_n(&s->word, n | SLOT_DONE, __ATOMIC_RELEASE);
}

/*
 * Complete the task with what is known so far. @word: the slot's word as just
 * read
 */
static void task_give_up(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t word)
{
	uint64_t n = nb_slot_number(word) << SLOT_AT_NUMBER;
	uint64_t what = GET(s->what);
	bool stopped = nb_slot_state(word) == SLOT_STOPPED && !task_is_dead(pc, word);
	bool whole =
		!nb_slot_children(word) && nb_slot_kernels(word) >= nb_slot_byte(what, W_EXPECT);

	if (!nb_slot_move(&s->word, &word, n | SLOT_BUSY))
		return;
	if (stopped)
		task_sample(pc, s, whole);
	if (!stopped || !whole)
		nb_events_lose(NB_LOST_CUT);
	__atomic_store_n(&s->word, n | SLOT_DONE, __ATOMIC_RELEASE);
}

/*
 * Returns the slot of number @n, or NULL if the slot's last event is still in
 * use.
 */
static struct nb_op_slot *task_take(struct nb_pcomm *pc, uint64_t n, uint64_t now)
{
	struct nb_op_slot *s = &pc->coll[n % NB_COLL_SLOTS];
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

	switch (nb_slot_state(word)) {
	case SLOT_STOPPED:
	case SLOT_OPEN:
		if (!nb_slot_is_old(GET(s->touched), now) &&
		    (nb_slot_state(word) == SLOT_OPEN || nb_slot_children(word) ||
		     nb_slot_byte(GET(s->what), W_EXPECT)))
			return NULL;
		task_give_up(pc, s, word);
		word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
		break;
	case SLOT_FREE:
	case SLOT_BUSY:
	case SLOT_DONE:
		break;
	}
	if (nb_slot_state(word) != SLOT_FREE && nb_slot_state(word) != SLOT_DONE)
		return NULL;
	return nb_slot_move(&s->word, &word, n << SLOT_AT_NUMBER | SLOT_BUSY) ? s : NULL;
}

/*
 * Take the next number whose slot is free. Returns NULL if SLOT_TRIES numbers
 * have none. Slots in use are skipped, so an event that never ends blocks only
 * its own slot. The communicator may have ended since the caller checked:
 * earlier numbers are then invalid (nb_events_finalize), and for later numbers
 * the token has changed.
 */
static struct nb_op_slot *task_take_next(struct nb_pcomm *pc, uint64_t token, uint64_t *n,
					 uint64_t now)
{
	struct nb_op_slot *s = NULL;

	for (int i = 0; i < SLOT_TRIES && !s; i++) {
		*n = __atomic_add_fetch(&pc->next_coll, 1, __ATOMIC_SEQ_CST) & NB_HANDLE_NUMBER;
		if (__atomic_load_n(&pc->token, __ATOMIC_SEQ_CST) != token)
			break;
		s = task_take(pc, *n, now);
	}
	return s;
}

uint64_t nb_task_bytes(const struct nb_pcomm *pc, const struct nb_descr *d)
{
	enum { ALL_GATHER = 2, REDUCE_SCATTER = 3 };
	int32_t ranks = GET(pc->ranks);

	if (ranks > 0 && (d->func == ALL_GATHER || d->func == REDUCE_SCATTER))
		return ranks < 1 << 20 ? d->bytes * (uint64_t)ranks : UINT64_MAX;
	return d->bytes;
}

uint64_t nb_task_start(struct nb_pcomm *pc, uint64_t token, const struct nb_descr *d)
{
	uint32_t need = GET(nb_prof.need);
	struct nb_decided_task task = { d->func, d->algo, d->proto, nb_task_bytes(pc, d) };
	uint64_t n, expect = 0, now = nb_clock_system();
	bool maybe = false;
	struct nb_op_slot *s = task_take_next(pc, token, &n, now);

	if (!s) {
		nb_events_lose(NB_LOST_FULL);
		return nb_event_handle(pc, d->event, 0);
	}
	if (GET(pc->abi) >= 4 && need & NB_EVENT_BIT(KERNEL_CH)) {
		/*
		 * NCCL reports each replay of a CUDA graph, but not the kernels
		 * of symmetric ones: waiting for these would fill the slots
		 */
		maybe = d->algo == NB_WORD_SYMMETRIC && d->channels;
		expect = maybe ? 0 : d->channels;
	}
	SET(s->start, now);
	SET(s->touched, now);
	SET(s->stop, 0);
	SET(s->gpu_most, 0);
	SET(s->cpu_first, UINT64_MAX);
	SET(s->cpu_last, 0);
	SET(s->proxy_first, UINT64_MAX);
	SET(s->proxy_last, 0);
	SET(s->parent, d->parent);
	nb_decided_start(pc, s, &task);
	SET(s->seq, d->seq);
	SET(s->bytes, task.bytes);
	SET(s->peer, (uint64_t)(uint32_t)d->peer);
	SET(s->tag, d->tag);
	SET(s->what,
	    (uint64_t)d->func << W_FUNC | (uint64_t)d->algo << W_ALGO |
		    (uint64_t)d->proto << W_PROTO | (uint64_t)d->channels << W_CHANNELS |
		    expect << W_EXPECT |
		    (uint64_t) !!(need & (NB_EVENT_BIT(KERNEL_CH) | NB_EVENT_BIT(PROXY_OP) |
					  NB_EVENT_BIT(PROXY_STEP)))
			    << W_LATE |
		    (uint64_t)(d->event == NB_EVENT_P2P) << W_P2P |
		    (maybe ? UINT64_C(1) << W_MAYBE : 0));
	__atomic_store_n(&s->word, n << SLOT_AT_NUMBER | SLOT_OPEN, __ATOMIC_RELEASE);
	return nb_event_handle(pc, d->event, n);
}

void nb_task_stop(uint64_t h)
{
	struct nb_pcomm *pc;
	struct nb_op_slot *s = nb_task_of(h, &pc);
	uint64_t n = h & NB_HANDLE_NUMBER, word, now;

	if (!s) {
		if (n)
			nb_events_lose(NB_LOST_STALE);
		return;
	}
	word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
	if (nb_slot_number(word) != n || nb_slot_state(word) != SLOT_OPEN) {
		nb_events_lose(nb_slot_over(word, n) ? NB_LOST_TWICE : NB_LOST_STALE);
		return;
	}
	now = nb_clock_system();
	SET(s->stop, now);
	while (nb_slot_number(word) == n && nb_slot_state(word) == SLOT_OPEN) {
		uint64_t to = (word & ~(uint64_t)SLOT_STATE) | SLOT_STOPPED;

		if (nb_slot_move(&s->word, &word, to)) {
			SET(s->touched, now);
			nb_task_settle(pc, s, to);
			return;
		}
	}
	/* the task was not open: another thread has stopped the event before */
	nb_events_lose(NB_LOST_TWICE);
}

bool nb_events_sweep(struct nb_pcomm *pc, uint64_t now)
{
	bool empty = true;

	for (uint32_t i = 0; i < NB_COLL_SLOTS; i++) {
		struct nb_op_slot *s = &pc->coll[i];
		uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
		uint64_t what = GET(s->what);
		bool kernels = nb_slot_byte(what, W_EXPECT) || what >> W_MAYBE & 1;
		uint64_t quiet = kernels ? PATIENCE_NS : QUIET_NS;

		if (nb_slot_state(word) == SLOT_FREE || nb_slot_state(word) == SLOT_DONE)
			continue;
		if (nb_slot_state(word) == SLOT_STOPPED && !nb_slot_children(word) &&
		    now > GET(s->touched) && now - GET(s->touched) > quiet)
			task_give_up(pc, s, word);
		else
			empty = false;
	}
	return empty;
}

void nb_task_close_all(struct nb_pcomm *pc)
{
	for (uint32_t i = 0; i < NB_COLL_SLOTS; i++) {
		struct nb_op_slot *s = &pc->coll[i];
		uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

		if (nb_slot_state(word) == SLOT_STOPPED || nb_slot_state(word) == SLOT_OPEN)
			task_give_up(pc, s, word);
	}
}
