// SPDX-License-Identifier: MIT
// What happens in NCCL's threads: an event takes a slot, its children find it
// by number, and whoever brings the last piece makes the sample. All fields
// are atomic and relaxed; the word of a slot says whose they are, and only who
// has moved it into a state of its own may use them. Nothing here locks,
// waits, allocates or calls the system.
#include "core/jobseg/format.h"

#include <string.h>

#include "plugin/profiler/events.h"
#include "plugin/profiler/hooks.h"
#include "plugin/profiler/trace_ring.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/hot.h"

#define GET(p) __atomic_load_n(&(p), __ATOMIC_RELAXED)
#define SET(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELAXED)

/* States of a slot; BUSY ones are one thread's alone. */
enum state { FREE, BUSY, OPEN, STOPPED, DONE };

enum {
	AT_NUMBER = 28,
	AT_CHILDREN = 16,
	AT_KERNELS = 8,
	STATE = 255,
	MOST_CHILDREN = 4095,
	MOST_KERNELS = 255
};
#define ONE_CHILD (UINT64_C(1) << AT_CHILDREN)
#define ONE_KERNEL (UINT64_C(1) << AT_KERNELS)

/* No message is larger; with all ranks' shares it still fits 64 bits. */
static const uint64_t MOST_BYTES = UINT64_C(1) << 44;
/* Turns of the clock in the middle of a span, as far as it may go back. */
static const uint64_t CLOCK_BACK_NS = 5 * NB_CLOCK_STEP_NS;
/* Slots that are looked at before an event is left out. */
enum { TRIES = 16 };
/* A slot that is older than this may be given up for a new event. */
static const uint64_t OLD_NS = 10000000000;
/* Proxies begin within this, if at all. */
static const uint64_t QUIET_NS = 200000000;
/* Kernels may wait for the GPU this long. */
static const uint64_t PATIENCE_NS = 60000000000;

static uint32_t word_of(uint64_t what, int at)
{
	return (uint32_t)(what >> at) & 255;
}

static uint64_t number_of(uint64_t word)
{
	return word >> AT_NUMBER;
}

static uint32_t children_of(uint64_t word)
{
	return (uint32_t)(word >> AT_CHILDREN) & MOST_CHILDREN;
}

static uint32_t kernels_of(uint64_t word)
{
	return (uint32_t)(word >> AT_KERNELS) & MOST_KERNELS;
}

/* Has number @n been there and ended, its place not taken again? */
static bool over(uint64_t word, uint64_t n)
{
	return number_of(word) == n && (word & STATE) != OPEN;
}

static bool move(uint64_t *word, uint64_t *from, uint64_t to)
{
	return __atomic_compare_exchange_n(word, from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static void least(uint64_t *p, uint64_t v)
{
	uint64_t have = GET(*p);

	while (v < have &&
	       !__atomic_compare_exchange_n(p, &have, v, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static void most(uint64_t *p, uint64_t v)
{
	uint64_t have = GET(*p);

	while (v > have &&
	       !__atomic_compare_exchange_n(p, &have, v, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static uint64_t handle(const struct nb_pcomm *pc, uint32_t kind, uint64_t n)
{
	return nb_prof.nonce | (uint64_t)kind << NB_HANDLE_KIND |
	       (uint64_t)pc->index << NB_HANDLE_COMM | n;
}

static uint32_t kind_of(uint64_t h)
{
	return (uint32_t)(h >> NB_HANDLE_KIND) & 15;
}

/* ---- samples ---- */

/* @from is UINT64_MAX where nothing came. */
static bool span(uint64_t from, uint64_t to, uint64_t *ns)
{
	if (from == UINT64_MAX || !to)
		return false;
	if (to < from && from - to > CLOCK_BACK_NS) {
		nb_events_lose(NB_LOST_CLOCK);
		return false;
	}
	*ns = to < from ? 0 : to - from;
	return true;
}

static void choose_exec(struct nb_sample *s, bool gpu)
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

/* The slot is BUSY and ours. @whole: all of its kernels have told. */
static void sample(struct nb_pcomm *pc, const struct nb_op_slot *s, bool whole)
{
	uint64_t what = GET(s->what);
	struct nb_sample o;
	bool gpu;

	nb_clear(&o, sizeof(o));
	o.comm_id = GET(pc->comm_id);
	o.seq = GET(s->seq);
	o.bytes = GET(s->bytes);
	o.start_ns = GET(s->start);
	o.func = word_of(what, W_FUNC);
	o.algo = word_of(what, W_ALGO);
	o.proto = word_of(what, W_PROTO);
	o.channels = word_of(what, W_CHANNELS);
	o.rank = GET(pc->rank);
	o.ranks = GET(pc->ranks);
	o.nodes = GET(pc->nodes);
	o.peer = (int32_t)GET(s->peer);
	o.has[NB_TEL_ENQUEUE] =
		span(o.start_ns, GET(s->stop), &o.ns[NB_TEL_ENQUEUE]);
	gpu = whole && GET(s->gpu_most);
	if (gpu)
		o.ns[NB_TEL_KERNEL] = GET(s->gpu_most) - 1;
	o.has[NB_TEL_KERNEL] =
		gpu || (whole && span(GET(s->cpu_first), GET(s->cpu_last),
				      &o.ns[NB_TEL_KERNEL]));
	o.has[NB_TEL_NETWORK] = span(GET(s->proxy_first), GET(s->proxy_last),
				     &o.ns[NB_TEL_NETWORK]);
	choose_exec(&o, gpu);
	if (GET(nb_prof.telemetry))
		nb_tel_add(&pc->tel, &o);
	if (GET(nb_prof.hooks))
		nb_run_sample(&o, what >> W_P2P & 1);
	if (nb_trace_ring_wanted())
		nb_trace_span_task(pc, s, &o, number_of(GET(s->word)));
}

/* Is there nothing more to come? */
static bool complete(const struct nb_op_slot *s, uint64_t word)
{
	uint64_t what = GET(s->what);
	uint32_t expect = word_of(what, W_EXPECT);

	if ((word & STATE) != STOPPED || children_of(word))
		return false;
	return expect ? kernels_of(word) >= expect : !(what >> W_LATE & 1);
}

/* Of a communicator that had the place before. */
static bool is_dead(const struct nb_pcomm *pc, uint64_t word)
{
	return number_of(word) <= GET(pc->base_coll);
}

/*
 * Make the sample if it is complete; who moves the word does it. @word: as
 * just seen.
 */
static void settle(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t word)
{
	uint64_t n = number_of(word) << AT_NUMBER;

	if (!complete(s, word) || !move(&s->word, &word, n | BUSY))
		return;
	if (is_dead(pc, word))
		nb_events_lose(NB_LOST_CUT);
	else
		sample(pc, s, true);
	__atomic_store_n(&s->word, n | DONE, __ATOMIC_RELEASE);
}

/* Take what there is and no more; @word: as just seen. */
static void give_up(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t word)
{
	uint64_t n = number_of(word) << AT_NUMBER;
	uint64_t what = GET(s->what);
	bool stopped = (word & STATE) == STOPPED && !is_dead(pc, word);
	bool whole = !children_of(word) &&
		     kernels_of(word) >= word_of(what, W_EXPECT);

	if (!move(&s->word, &word, n | BUSY))
		return;
	if (stopped)
		sample(pc, s, whole);
	if (!stopped || !whole)
		nb_events_lose(NB_LOST_CUT);
	__atomic_store_n(&s->word, n | DONE, __ATOMIC_RELEASE);
}

/* Who was held up between reading the clock and here finds what others have
 * begun since then: that is young, not older than time. */
static bool is_old(uint64_t since, uint64_t now)
{
	return now > since && now - since >= OLD_NS;
}

/* ---- collectives, sends and receives ---- */

/* A slot for running number @n, BUSY; NULL: its last user is still at it. */
static struct nb_op_slot *take(struct nb_pcomm *pc, uint64_t n, uint64_t now)
{
	struct nb_op_slot *s = &pc->coll[n % NB_COLL_SLOTS];
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

	switch ((enum state)(word & STATE)) {
	case STOPPED:
	case OPEN:
		if (!is_old(GET(s->touched), now) &&
		    ((word & STATE) == OPEN || children_of(word) ||
		     word_of(GET(s->what), W_EXPECT)))
			return NULL;
		give_up(pc, s, word);
		word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
		break;
	case FREE:
	case BUSY:
	case DONE:
		break;
	}
	if ((word & STATE) != FREE && (word & STATE) != DONE)
		return NULL;
	return move(&s->word, &word, n << AT_NUMBER | BUSY) ? s : NULL;
}

/*
 * The next number whose slot is free; NULL: there is none among the next few.
 * One that never ends, or whose thread has lost the CPU, keeps its own slot
 * and nobody from the next one. The communicator may have ended since it was
 * looked at: numbers up to then are dead (nb_events_finalize), and what comes
 * later sees it here.
 */
static struct nb_op_slot *take_next(struct nb_pcomm *pc, uint64_t token,
				    uint64_t *n, uint64_t now)
{
	struct nb_op_slot *s = NULL;

	for (int i = 0; i < TRIES && !s; i++) {
		*n = __atomic_add_fetch(&pc->next_coll, 1, __ATOMIC_SEQ_CST) &
		     NB_HANDLE_NUMBER;
		if (__atomic_load_n(&pc->token, __ATOMIC_SEQ_CST) != token)
			break;
		s = take(pc, *n, now);
	}
	return s;
}

/* Bytes of the whole collective, as a tuner counts them. */
static uint64_t whole_bytes(const struct nb_pcomm *pc, const struct nb_descr *d)
{
	enum { ALL_GATHER = 2, REDUCE_SCATTER = 3 };
	int32_t ranks = GET(pc->ranks);

	if (ranks > 0 && (d->func == ALL_GATHER || d->func == REDUCE_SCATTER))
		return ranks < 1 << 20 ? d->bytes * (uint64_t)ranks
				       : UINT64_MAX;
	return d->bytes;
}

/* Decisions that the tuner has made for it, where that is known. */
static uint64_t decided(const struct nb_pcomm *pc)
{
	const uint64_t *count = GET(pc->decided);

	return count ? __atomic_load_n(count, __ATOMIC_RELAXED) : 0;
}

static uint64_t start_coll(struct nb_pcomm *pc, uint64_t token,
			   const struct nb_descr *d)
{
	uint32_t need = GET(nb_prof.need);
	uint64_t n, expect = 0, now = nb_clock_ns();
	struct nb_op_slot *s = take_next(pc, token, &n, now);

	if (!s) {
		nb_events_lose(NB_LOST_FULL);
		return handle(pc, d->event, 0);
	}
	if (GET(pc->abi) >= 4 && need & NB_EVENT_BIT(KERNEL_CH))
		expect = d->channels;
	SET(s->start, now);
	SET(s->touched, now);
	SET(s->stop, 0);
	SET(s->gpu_most, 0);
	SET(s->cpu_first, UINT64_MAX);
	SET(s->cpu_last, 0);
	SET(s->proxy_first, UINT64_MAX);
	SET(s->proxy_last, 0);
	SET(s->parent, d->parent);
	SET(s->decided, nb_trace_ring_wanted() ? decided(pc) : 0);
	SET(s->seq, d->seq);
	SET(s->bytes, whole_bytes(pc, d));
	SET(s->peer, (uint64_t)(uint32_t)d->peer);
	SET(s->what, (uint64_t)d->func << W_FUNC | (uint64_t)d->algo << W_ALGO |
			     (uint64_t)d->proto << W_PROTO |
			     (uint64_t)d->channels << W_CHANNELS |
			     expect << W_EXPECT |
			     (uint64_t) !!(need & (NB_EVENT_BIT(KERNEL_CH) |
						   NB_EVENT_BIT(PROXY_OP) |
						   NB_EVENT_BIT(PROXY_STEP)))
				     << W_LATE |
			     (uint64_t)(d->event == NB_EVENT_P2P) << W_P2P);
	__atomic_store_n(&s->word, n << AT_NUMBER | OPEN, __ATOMIC_RELEASE);
	return handle(pc, d->event, n);
}

/* The slot of a handle of kind COLL or P2P; NULL: none of this process. */
static inline struct nb_op_slot *slot_of(uint64_t h, struct nb_pcomm **pc)
{
	uint64_t n = h & NB_HANDLE_NUMBER;

	*pc = nb_pcomm_of(h);
	if (!*pc || !n || n <= GET((*pc)->base_coll) ||
	    (kind_of(h) != NB_EVENT_COLL && kind_of(h) != NB_EVENT_P2P))
		return NULL;
	return &(*pc)->coll[n % NB_COLL_SLOTS];
}

static void stop_coll(uint64_t h)
{
	struct nb_pcomm *pc;
	struct nb_op_slot *s = slot_of(h, &pc);
	uint64_t n = h & NB_HANDLE_NUMBER, word, now;

	if (!s) {
		if (n)
			nb_events_lose(NB_LOST_STALE);
		return;
	}
	word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
	if (number_of(word) != n || (word & STATE) != OPEN) {
		nb_events_lose(over(word, n) ? NB_LOST_TWICE : NB_LOST_STALE);
		return;
	}
	now = nb_clock_ns();
	SET(s->stop, now);
	while (number_of(word) == n && (word & STATE) == OPEN) {
		uint64_t to = (word & ~(uint64_t)STATE) | STOPPED;

		if (move(&s->word, &word, to)) {
			SET(s->touched, now);
			settle(pc, s, to);
			return;
		}
	}
	nb_events_lose(NB_LOST_TWICE); /* another thread was faster */
}

/* ---- children of collectives ---- */

/*
 * One more child is open; false: the parent is over. A kernel of a parent that
 * waits for all of its kernels anyway is not counted, only looked for.
 */
static inline bool adopt(struct nb_op_slot *s, uint64_t n, bool kernel,
			 bool *held)
{
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

	*held = !kernel || !word_of(GET(s->what), W_EXPECT);
	if (!*held)
		return number_of(word) == n &&
		       ((word & STATE) == OPEN || (word & STATE) == STOPPED);
	while (number_of(word) == n && children_of(word) < MOST_CHILDREN &&
	       ((word & STATE) == OPEN || (word & STATE) == STOPPED))
		if (move(&s->word, &word, word + ONE_CHILD))
			return true;
	return false;
}

/* A child is over. @kernel: one that has told its times; @held: it was counted
 * as open. Inlined, as all that a kernel needs: a call between two locked
 * operations is stores that the second waits for. */
NB_INLINE void let_go(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t n,
		      bool kernel, bool held, uint64_t now)
{
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

	while (number_of(word) == n && (!held || children_of(word)) &&
	       ((word & STATE) == OPEN || (word & STATE) == STOPPED)) {
		uint64_t to = held ? word - ONE_CHILD : word;

		if (kernel && kernels_of(word) < MOST_KERNELS)
			to += ONE_KERNEL;
		SET(s->touched, now);
		if (!move(&s->word, &word, to))
			continue;
		settle(pc, s, to);
		return;
	}
}

static inline struct nb_child_slot *child_of(uint64_t h, struct nb_pcomm **pc)
{
	uint64_t n = h & NB_HANDLE_NUMBER;

	*pc = nb_pcomm_of(h);
	if (!*pc || !n || n <= GET((*pc)->base_child))
		return NULL;
	return &(*pc)->child[n % NB_CHILD_SLOTS];
}

NB_INLINE struct nb_child_slot *take_child(struct nb_pcomm *pc, uint64_t n,
					   uint64_t now)
{
	struct nb_child_slot *c = &pc->child[n % NB_CHILD_SLOTS];
	uint64_t word = __atomic_load_n(&c->word, __ATOMIC_ACQUIRE);

	if ((word & STATE) == OPEN) {
		if (!is_old(GET(c->start), now))
			return NULL;
		nb_events_lose(NB_LOST_CUT);
	} else if ((word & STATE) == BUSY) {
		return NULL;
	}
	return move(&c->word, &word, n << AT_NUMBER | BUSY) ? c : NULL;
}

/* As take_next. */
NB_INLINE struct nb_child_slot *
take_next_child(struct nb_pcomm *pc, uint64_t token, uint64_t *n, uint64_t now)
{
	struct nb_child_slot *c = NULL;

	for (int i = 0; i < TRIES && !c; i++) {
		*n = __atomic_add_fetch(&pc->next_child, 1, __ATOMIC_SEQ_CST) &
		     NB_HANDLE_NUMBER;
		if (__atomic_load_n(&pc->token, __ATOMIC_SEQ_CST) != token)
			break;
		c = take_child(pc, *n, now);
	}
	return c;
}

static bool is_api(uint32_t event)
{
	return event == NB_EVENT_GROUP_API || event == NB_EVENT_COLL_API ||
	       event == NB_EVENT_P2P_API || event == NB_EVENT_KERNEL_LAUNCH;
}

/* Does @of, which lives here, take one more? Then it is the @parent. */
NB_INLINE bool join(uint64_t of, bool kernel, uint64_t *parent, bool *held)
{
	uint64_t n = of & NB_HANDLE_NUMBER;
	struct nb_pcomm *pc;
	struct nb_op_slot *s = slot_of(of, &pc);

	if (s && adopt(s, n, kernel, held)) {
		*parent = of;
		return true;
	}
	if (n)
		nb_events_lose(
			s && over(__atomic_load_n(&s->word, __ATOMIC_ACQUIRE),
				  n)
				? NB_LOST_ORDER
				: NB_LOST_STALE);
	return false;
}

/* Does the parent live here, and take one more? Not of kernels. */
static inline bool find_parent(const struct nb_descr *d, uint64_t *parent,
			       bool *held)
{
	*held = false;
	*parent = 0;
	if (d->event == NB_EVENT_GROUP || !d->parent)
		return true;
	if (d->pid && d->pid != nb_prof.pid) {
		nb_events_lose(NB_LOST_FOREIGN);
		return true; /* an event of its own */
	}
	if (d->event == NB_EVENT_PROXY_STEP || is_api(d->event)) {
		*parent = d->parent;
		return true;
	}
	return join(d->parent, false, parent, held);
}

/* There was no slot for a child of @parent. */
static __attribute__((noinline)) void no_room(uint64_t parent, bool held,
					      uint64_t now)
{
	struct nb_pcomm *up;
	struct nb_op_slot *s = slot_of(parent, &up);

	nb_events_lose(NB_LOST_FULL);
	if (s && held)
		let_go(up, s, parent & NB_HANDLE_NUMBER, false, held, now);
}

static uint64_t start_child(struct nb_pcomm *pc, uint64_t token,
			    const struct nb_descr *d)
{
	uint64_t n = 0, parent, now = nb_clock_ns();
	struct nb_child_slot *c;
	bool held;

	if (!find_parent(d, &parent, &held))
		return handle(pc, d->event, 0);
	c = take_next_child(pc, token, &n, now);
	if (!c) {
		no_room(parent, held, now);
		return handle(pc, d->event, 0);
	}
	SET(c->parent, parent);
	SET(c->start, now);
	SET(c->timer, d->timer);
	SET(c->timer_stop, 0);
	if (d->event == NB_EVENT_PROXY_STEP) {
		SET(c->wait, 0);
		for (int i = 0; i < 4; i++)
			SET(c->waits[i], 0);
	}
	SET(c->bytes, d->bytes);
	SET(c->peer, (uint64_t)(uint32_t)d->peer);
	SET(c->what, (uint64_t)d->event | (uint64_t)d->channel << C_CHANNEL |
			     (uint64_t)(d->send != 0) << C_SEND |
			     (uint64_t)d->has_timer << C_TIMER |
			     (uint64_t)held << C_HELD |
			     (uint64_t)(d->func & 255) << C_FUNC |
			     (uint64_t)(uint32_t)d->step << C_STEP);
	__atomic_store_n(&c->word, n << AT_NUMBER | OPEN, __ATOMIC_RELEASE);
	return handle(pc, d->event, n);
}

/* A kernel's times go to its collective. False: they cannot be right. */
static bool tell_kernel(struct nb_op_slot *s, const struct nb_child_slot *c,
			uint64_t now)
{
	uint64_t from = GET(c->timer), to = GET(c->timer_stop);

	if (!(GET(c->what) >> C_TIMER & 1) || !to) {
		least(&s->cpu_first, GET(c->start));
		most(&s->cpu_last, now);
		return true;
	}
	if (to < from) {
		nb_events_lose(NB_LOST_CLOCK);
		return false;
	}
	/*
	 * Not from the first start to the last end: where the proxy lags more
	 * than 64 operations behind, a channel's stamps are those of a later
	 * one, whose length is as good but whose place is not.
	 */
	most(&s->gpu_most, to - from + 1);
	return true;
}

static void end_child(uint64_t parent, const struct nb_child_slot *c,
		      uint64_t now)
{
	uint64_t what = GET(c->what), n = parent & NB_HANDLE_NUMBER;
	uint32_t kind = word_of(what, C_KIND);
	struct nb_pcomm *pc;
	struct nb_op_slot *s = slot_of(parent, &pc);
	bool kernel = kind == NB_EVENT_KERNEL_CH;

	if (!s || number_of(__atomic_load_n(&s->word, __ATOMIC_ACQUIRE)) != n)
		return;
	if (kernel) {
		kernel = tell_kernel(s, c, now);
	} else if (kind == NB_EVENT_PROXY_OP) {
		least(&s->proxy_first, GET(c->start));
		most(&s->proxy_last, now);
	}
	let_go(pc, s, n, kernel, what >> C_HELD & 1, now);
}

/* With what is known of its parents, if they still are who they were. */
static void run_programs(const struct nb_pcomm *pc,
			 const struct nb_child_slot *c, uint64_t now)
{
	uint64_t parent = GET(c->parent);
	const struct nb_child_slot *op = NULL;
	const struct nb_op_slot *task;
	struct nb_pcomm *up;

	if (kind_of(parent) == NB_EVENT_PROXY_OP) {
		op = child_of(parent, &up);
		if (op &&
		    number_of(__atomic_load_n(&op->word, __ATOMIC_ACQUIRE)) !=
			    (parent & NB_HANDLE_NUMBER))
			op = NULL;
		parent = op ? GET(op->parent) : 0;
	}
	task = slot_of(parent, &up);
	if (task && number_of(__atomic_load_n(&task->word, __ATOMIC_ACQUIRE)) !=
			    (parent & NB_HANDLE_NUMBER))
		task = NULL;
	nb_run_child(pc, c, op, task, now);
}

/* Hooks at the end of children, not of collectives. */
static bool child_hooks(void)
{
	const uint32_t of = UINT32_C(1) << NB_HOOK_KERNEL_CH |
			    UINT32_C(1) << NB_HOOK_PROXY_STEP |
			    UINT32_C(1) << NB_HOOK_GROUP;

	return GET(nb_prof.hooks) & of;
}

static void stop_child(uint64_t h)
{
	struct nb_pcomm *pc;
	struct nb_child_slot *c = child_of(h, &pc);
	uint64_t n = h & NB_HANDLE_NUMBER, word, now;

	if (!c) {
		if (n)
			nb_events_lose(NB_LOST_STALE);
		return;
	}
	word = n << AT_NUMBER | OPEN;
	if (!move(&c->word, &word, n << AT_NUMBER | BUSY)) {
		/* NCCL stops its last API call again and again (2.12) */
		if (!is_api(kind_of(h)))
			nb_events_lose(over(word, n) ? NB_LOST_TWICE
						     : NB_LOST_STALE);
		return;
	}
	/* where the GPU has told both, reading a clock would be half the cost
	 */
	now = GET(c->timer_stop) && !child_hooks() && !nb_trace_ring_wanted()
		      ? GET(c->start)
		      : nb_clock_ns();
	if (child_hooks())
		run_programs(pc, c, now);
	if (nb_trace_ring_wanted())
		nb_trace_span_child(pc, c, n, now);
	end_child(GET(c->parent), c, now);
	__atomic_store_n(&c->word, n << AT_NUMBER | DONE, __ATOMIC_RELEASE);
}

/* ---- entry points ---- */

uint64_t nb_events_pass(void *context, unsigned event)
{
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);

	if (!pc || GET(pc->token) != token || event >= NB_NEVENTS)
		return 0;
	return handle(pc, event, 0);
}

/* v1 to v3 are told only now which communicator it is. */
static void learn(struct nb_pcomm *pc, const struct nb_descr *d)
{
	if (d->comm && !GET(pc->comm_id))
		SET(pc->comm_id, d->comm);
	if (GET(pc->rank) < 0)
		SET(pc->rank, d->rank);
}

/* The other clock of fences. One thread makes a communicator's calls. */
static void count_call(struct nb_pcomm *pc)
{
	struct nb_seg_slot *slot = __atomic_load_n(&pc->slot, __ATOMIC_ACQUIRE);

	if (slot)
		__atomic_store_n(&slot->calls, GET(slot->calls) + 1,
				 __ATOMIC_RELEASE);
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
		if (GET(pc->abi) < 4)
			learn(pc, d);
		if (d->bytes > MOST_BYTES) {
			nb_events_lose(NB_LOST_SIZE);
			return handle(pc, d->event, 0);
		}
		return start_coll(pc, token, d);
	case NB_EVENT_PROXY_OP:
	case NB_EVENT_PROXY_STEP:
	case NB_EVENT_GROUP:
	case NB_EVENT_GROUP_API:
	case NB_EVENT_P2P_API:
	case NB_EVENT_KERNEL_LAUNCH:
		return start_child(pc, token, d);
	case NB_EVENT_KERNEL_CH:
		return nb_events_start_kernel(context, d->parent, d->channel,
					      d->timer, d->has_timer);
	case NB_EVENT_COLL_API:
		count_call(pc);
		if (!(nb_trace_ring_wanted() >> NB_EVENT_COLL_API & 1))
			return handle(pc, d->event, 0);
		return start_child(pc, token, d);
	}
	return handle(pc, d->event, 0);
}

/* As nb_events_start and start_child, but everything stays in registers. */
NB_HOT uint64_t nb_events_start_kernel(void *context, uint64_t of,
				       uint32_t channel, uint64_t timer,
				       bool has_timer)
{
	const uint32_t kind = NB_EVENT_KERNEL_CH;
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);
	uint64_t n = 0, parent = 0, now;
	struct nb_child_slot *c;
	bool held = false;

	if (!pc || GET(pc->token) != token) {
		nb_events_lose(NB_LOST_CONTEXT);
		return 0;
	}
	now = nb_clock_ns();
	if (of && !join(of, true, &parent, &held))
		return handle(pc, kind, 0);
	c = take_next_child(pc, token, &n, now);
	if (!c) {
		no_room(parent, held, now);
		return handle(pc, kind, 0);
	}
	SET(c->parent, parent);
	SET(c->start, now);
	SET(c->timer, timer);
	SET(c->timer_stop, 0);
	SET(c->bytes, 0);
	SET(c->peer, 0);
	SET(c->what, (uint64_t)kind | (uint64_t)channel << C_CHANNEL |
			     (uint64_t)has_timer << C_TIMER |
			     (uint64_t)held << C_HELD);
	__atomic_store_n(&c->word, n << AT_NUMBER | OPEN, __ATOMIC_RELEASE);
	return handle(pc, kind, n);
}

void nb_events_stop(void *eh)
{
	uint64_t h = (uint64_t)(uintptr_t)eh;

	if (!(h & NB_HANDLE_NUMBER)) /* NULL, or of no interest */
		return;
	switch (kind_of(h)) {
	case NB_EVENT_COLL:
	case NB_EVENT_P2P:
		stop_coll(h);
		return;
	case NB_EVENT_PROXY_OP:
	case NB_EVENT_PROXY_STEP:
	case NB_EVENT_KERNEL_CH:
	case NB_EVENT_GROUP:
	case NB_EVENT_GROUP_API:
	case NB_EVENT_COLL_API:
	case NB_EVENT_P2P_API:
	case NB_EVENT_KERNEL_LAUNCH:
		stop_child(h);
		return;
	}
	nb_events_lose(NB_LOST_STALE);
}

/* Which of a child's waits a state begins; -1: none. */
static int wait_of(int state)
{
	enum { GPU, PEER, NETWORK, FLUSH };

	switch (state) {
	case 8:
	case 12:
		return GPU;
	case 20:
		return PEER;
	case 9:
	case 10:
		return NETWORK;
	case 11:
		return FLUSH;
	}
	return -1;
}

/* A step goes from one wait to the next; one thread does that. */
static void step_state(struct nb_child_slot *c, int state, uint64_t bytes)
{
	uint64_t now = nb_clock_ns(), was = GET(c->wait);
	int next = wait_of(state);

	if (was)
		SET(c->waits[was - 1],
		    GET(c->waits[was - 1]) + (now - GET(c->since)));
	SET(c->wait, (uint64_t)(next + 1));
	SET(c->since, now);
	if (bytes)
		SET(c->bytes, bytes);
}

void nb_events_record(void *eh, int state, uint64_t value, bool has)
{
	enum { KERNEL_STOP = 22 };
	uint64_t h = (uint64_t)(uintptr_t)eh, n = h & NB_HANDLE_NUMBER, word;
	struct nb_pcomm *pc;
	struct nb_child_slot *c;
	uint32_t kind = kind_of(h);

	if (!n || kind == NB_EVENT_COLL || kind == NB_EVENT_P2P)
		return;
	c = child_of(h, &pc);
	word = c ? __atomic_load_n(&c->word, __ATOMIC_ACQUIRE) : 0;
	if (word != (n << AT_NUMBER | OPEN)) {
		nb_events_lose(c && over(word, n) ? NB_LOST_ORDER
						  : NB_LOST_STALE);
		return;
	}
	if (kind == NB_EVENT_KERNEL_CH && state == KERNEL_STOP && has)
		SET(c->timer_stop, value);
	else if (kind == NB_EVENT_PROXY_STEP)
		step_state(c, state, has ? value : 0);
}

/* ---- what never completes by itself ---- */

bool nb_events_sweep(struct nb_pcomm *pc, uint64_t now)
{
	bool empty = true;

	for (uint32_t i = 0; i < NB_COLL_SLOTS; i++) {
		struct nb_op_slot *s = &pc->coll[i];
		uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);
		uint64_t quiet = word_of(GET(s->what), W_EXPECT) ? PATIENCE_NS
								 : QUIET_NS;

		if ((word & STATE) == FREE || (word & STATE) == DONE)
			continue;
		if ((word & STATE) == STOPPED && !children_of(word) &&
		    now > GET(s->touched) && now - GET(s->touched) > quiet)
			give_up(pc, s, word);
		else
			empty = false;
	}
	return empty;
}

void nb_events_close(struct nb_pcomm *pc)
{
	for (uint32_t i = 0; i < NB_COLL_SLOTS; i++) {
		struct nb_op_slot *s = &pc->coll[i];
		uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

		if ((word & STATE) == STOPPED || (word & STATE) == OPEN)
			give_up(pc, s, word);
	}
	for (uint32_t i = 0; i < NB_CHILD_SLOTS; i++) {
		struct nb_child_slot *c = &pc->child[i];
		uint64_t word = __atomic_load_n(&c->word, __ATOMIC_ACQUIRE);

		if ((word & STATE) == OPEN &&
		    move(&c->word, &word, (word & ~(uint64_t)STATE) | DONE))
			nb_events_lose(NB_LOST_CUT);
	}
}
