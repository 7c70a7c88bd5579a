// SPDX-License-Identifier: MIT
/*
 * Events below collectives, sends and receives: kernels, proxy operations and
 * their steps. It also handles groups and calls of NCCL's API. A child event
 * finds its parent by number and adds its times to the parent.
 */
#include "plugin/profiler/slots.h"
#include "plugin/profiler/spans.h"
#include "plugin/runtime/hot.h"

static void atomic_lower(uint64_t *p, uint64_t v)
{
	uint64_t have = GET(*p);

	while (v < have &&
	       !__atomic_compare_exchange_n(p, &have, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void atomic_raise(uint64_t *p, uint64_t v)
{
	uint64_t have = GET(*p);

	while (v > have &&
	       !__atomic_compare_exchange_n(p, &have, v, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Count one more open child of a task. Returns false if the task has ended.
 * Kernels are not counted if the task waits for all of its kernels anyway.
 */
static inline bool parent_adopt(struct nb_op_slot *s, uint64_t n, bool kernel, bool *held)
{
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

	*held = !kernel || !nb_slot_byte(GET(s->what), W_EXPECT);
	if (!*held)
		return nb_slot_number(word) == n &&
		       (nb_slot_state(word) == SLOT_OPEN || nb_slot_state(word) == SLOT_STOPPED);
	while (nb_slot_number(word) == n && nb_slot_children(word) < SLOT_MOST_CHILDREN &&
	       (nb_slot_state(word) == SLOT_OPEN || nb_slot_state(word) == SLOT_STOPPED))
		if (nb_slot_move(&s->word, &word, word + SLOT_ONE_CHILD))
			return true;
	return false;
}

/*
 * End a child event of a task. @kernel: the child is a kernel that reported its
 * times. @held: the task counted the child as open. Inlined, because a call
 * would store registers between two locked operations, and the second operation
 * would wait for these stores.
 */
NB_INLINE void parent_release(struct nb_pcomm *pc, struct nb_op_slot *s, uint64_t n, bool kernel,
			      bool held, uint64_t now)
{
	uint64_t word = __atomic_load_n(&s->word, __ATOMIC_ACQUIRE);

	while (nb_slot_number(word) == n && (!held || nb_slot_children(word)) &&
	       (nb_slot_state(word) == SLOT_OPEN || nb_slot_state(word) == SLOT_STOPPED)) {
		uint64_t to = held ? word - SLOT_ONE_CHILD : word;

		if (kernel && nb_slot_kernels(word) < SLOT_MOST_KERNELS)
			to += SLOT_ONE_KERNEL;
		SET(s->touched, now);
		if (!nb_slot_move(&s->word, &word, to))
			continue;
		if (nb_task_complete(s, to))
			nb_task_settle(pc, s, to);
		return;
	}
}

/*
 * Add a child to task @of if the task is open in this process. *@parent gets
 * the task's handle.
 */
NB_INLINE bool parent_join(uint64_t of, bool kernel, uint64_t *parent, bool *held)
{
	uint64_t n = of & NB_HANDLE_NUMBER;
	struct nb_pcomm *pc;
	struct nb_op_slot *s = nb_task_of(of, &pc);

	if (s && parent_adopt(s, n, kernel, held)) {
		*parent = of;
		return true;
	}
	if (n)
		nb_events_lose(s && nb_slot_over(__atomic_load_n(&s->word, __ATOMIC_ACQUIRE), n)
				       ? NB_LOST_ORDER
				       : NB_LOST_STALE);
	return false;
}

/*
 * Find the parent of an event that is not a kernel, and add the event to the
 * parent. Returns false if the parent has ended.
 */
static inline bool parent_find(const struct nb_descr *d, uint64_t *parent, bool *held)
{
	*held = false;
	*parent = 0;
	if (d->event == NB_EVENT_GROUP || !d->parent)
		return true;
	if (d->pid && d->pid != nb_prof.pid) {
		nb_events_lose(NB_LOST_FOREIGN);
		/*
		 * the parent is in another process: treat the event as one
		 * without a parent
		 */
		return true;
	}
	if (d->event == NB_EVENT_PROXY_STEP || nb_event_is_api(d->event)) {
		*parent = d->parent;
		return true;
	}
	return parent_join(d->parent, false, parent, held);
}

NB_INLINE struct nb_child_slot *child_take(struct nb_pcomm *pc, uint64_t n, uint64_t now)
{
	struct nb_child_slot *c = &pc->child[n % NB_CHILD_SLOTS];
	uint64_t word = __atomic_load_n(&c->word, __ATOMIC_ACQUIRE);

	if (nb_slot_state(word) == SLOT_OPEN) {
		if (!nb_slot_is_old(GET(c->start), now))
			return NULL;
		nb_events_lose(NB_LOST_CUT);
	} else if (nb_slot_state(word) == SLOT_BUSY) {
		return NULL;
	}
	return nb_slot_move(&c->word, &word, n << SLOT_AT_NUMBER | SLOT_BUSY) ? c : NULL;
}

/*
 * Take the next number whose slot is free, as task_take_next does for tasks.
 * Returns NULL if there is none.
 */
NB_INLINE struct nb_child_slot *child_take_next(struct nb_pcomm *pc, uint64_t token, uint64_t *n,
						uint64_t now)
{
	struct nb_child_slot *c = NULL;

	for (int i = 0; i < SLOT_TRIES && !c; i++) {
		*n = __atomic_add_fetch(&pc->next_child, 1, __ATOMIC_SEQ_CST) & NB_HANDLE_NUMBER;
		if (__atomic_load_n(&pc->token, __ATOMIC_SEQ_CST) != token)
			break;
		c = child_take(pc, *n, now);
	}
	return c;
}

/* Undo parent_join, because no slot is free for a child of @parent. */
static __attribute__((noinline)) void child_no_room(uint64_t parent, bool held, uint64_t now)
{
	struct nb_pcomm *up;
	struct nb_op_slot *s = nb_task_of(parent, &up);

	nb_events_lose(NB_LOST_FULL);
	if (s && held)
		parent_release(up, s, parent & NB_HANDLE_NUMBER, false, held, now);
}

uint64_t nb_child_start(struct nb_pcomm *pc, uint64_t token, const struct nb_descr *d)
{
	uint64_t n = 0, parent, now = nb_clock_system();
	struct nb_child_slot *c;
	bool held;

	if (!parent_find(d, &parent, &held))
		return nb_event_handle(pc, d->event, 0);
	c = child_take_next(pc, token, &n, now);
	if (!c) {
		child_no_room(parent, held, now);
		return nb_event_handle(pc, d->event, 0);
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
			     (uint64_t)d->has_timer << C_TIMER | (uint64_t)held << C_HELD |
			     (uint64_t)(d->func & 255) << C_FUNC |
			     (uint64_t)(uint32_t)d->step << C_STEP);
	__atomic_store_n(&c->word, n << SLOT_AT_NUMBER | SLOT_OPEN, __ATOMIC_RELEASE);
	return nb_event_handle(pc, d->event, n);
}

/*
 * Does the work of nb_events_start and nb_child_start for a kernel, and keeps
 * all values in registers.
 */
NB_HOT uint64_t nb_events_start_kernel(void *context, uint64_t of, uint32_t channel, uint64_t timer,
				       bool has_timer)
{
	const uint32_t kind = NB_EVENT_KERNEL_CH;
	uint64_t token = (uint64_t)(uintptr_t)context;
	struct nb_pcomm *pc = nb_pcomm_of(token);
	uint64_t n = 0, parent = 0, now, tick;
	struct nb_child_slot *c;
	bool held = false;

	if (!pc || GET(pc->token) != token) {
		nb_events_lose(NB_LOST_CONTEXT);
		return 0;
	}
	nb_pcomm_connected(pc);
	now = nb_clock_system();
	tick = has_timer ? nb_gpu_clock_tick(&pc->clock, timer, now) : 0;
	if (of && !parent_join(of, true, &parent, &held))
		return nb_event_handle(pc, kind, 0);
	c = child_take_next(pc, token, &n, now);
	if (!c) {
		child_no_room(parent, held, now);
		return nb_event_handle(pc, kind, 0);
	}
	SET(c->parent, parent);
	SET(c->start, now);
	SET(c->timer, timer * tick);
	SET(c->timer_stop, 0);
	SET(c->tick, tick);
	SET(c->bytes, 0);
	SET(c->peer, 0);
	SET(c->what, (uint64_t)kind | (uint64_t)channel << C_CHANNEL |
			     (uint64_t)(tick != 0) << C_TIMER | (uint64_t)held << C_HELD);
	__atomic_store_n(&c->word, n << SLOT_AT_NUMBER | SLOT_OPEN, __ATOMIC_RELEASE);
	return nb_event_handle(pc, kind, n);
}

/*
 * Returns the kind of wait that begins when a proxy step enters @state, or -1
 * if none begins.
 */
static int step_wait_of(int state)
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

/*
 * Move a step from one wait to the next. Only one thread does this for a step.
 */
static void step_set_state(struct nb_child_slot *c, int state, uint64_t bytes)
{
	uint64_t now = nb_clock_system(), was = GET(c->wait);
	int next = step_wait_of(state);

	if (was)
		SET(c->waits[was - 1], GET(c->waits[was - 1]) + (now - GET(c->since)));
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
	uint32_t kind = nb_event_kind(h);

	if (!n || kind == NB_EVENT_COLL || kind == NB_EVENT_P2P)
		return;
	c = nb_child_of(h, &pc);
	word = c ? __atomic_load_n(&c->word, __ATOMIC_ACQUIRE) : 0;
	if (word != (n << SLOT_AT_NUMBER | SLOT_OPEN)) {
		nb_events_lose(c && nb_slot_over(word, n) ? NB_LOST_ORDER : NB_LOST_STALE);
		return;
	}
	if (kind == NB_EVENT_KERNEL_CH && state == KERNEL_STOP && has &&
	    GET(c->what) >> C_TIMER & 1)
		SET(c->timer_stop, value * GET(c->tick));
	else if (kind == NB_EVENT_PROXY_STEP)
		step_set_state(c, state, has ? value : 0);
}

/*
 * Add a kernel's times to its collective. Returns false if the times are
 * invalid.
 */
static bool parent_add_kernel(struct nb_op_slot *s, const struct nb_child_slot *c, uint64_t now)
{
	uint64_t from = GET(c->timer), to = GET(c->timer_stop);

	if (!(GET(c->what) >> C_TIMER & 1) || !to) {
		atomic_lower(&s->cpu_first, GET(c->start));
		atomic_raise(&s->cpu_last, now);
		return true;
	}
	if (to < from) {
		nb_events_lose(NB_LOST_CLOCK);
		return false;
	}
	/*
	 * Use the longest channel, not the time from the first start to the
	 * last end. If the proxy lags more than 64 operations behind, a
	 * channel's time stamps belong to a later operation. Their difference
	 * is still a right duration, but the times of different channels cannot
	 * be compared.
	 */
	atomic_raise(&s->gpu_most, to - from + 1);
	return true;
}

static void child_end(uint64_t parent, const struct nb_child_slot *c, uint64_t now)
{
	uint64_t what = GET(c->what), n = parent & NB_HANDLE_NUMBER;
	uint32_t kind = nb_slot_byte(what, C_KIND);
	struct nb_pcomm *pc;
	struct nb_op_slot *s = nb_task_of(parent, &pc);
	bool kernel = kind == NB_EVENT_KERNEL_CH;

	if (!s || nb_slot_number(__atomic_load_n(&s->word, __ATOMIC_ACQUIRE)) != n)
		return;
	if (kernel) {
		kernel = parent_add_kernel(s, c, now);
	} else if (kind == NB_EVENT_PROXY_OP) {
		atomic_lower(&s->proxy_first, GET(c->start));
		atomic_raise(&s->proxy_last, now);
	}
	parent_release(pc, s, n, kernel, what >> C_HELD & 1, now);
}

/*
 * Run the programs of a child event. They see the slots of its parents only if
 * the slots still belong to these parents.
 */
static void child_run_programs(const struct nb_pcomm *pc, const struct nb_child_slot *c,
			       uint64_t now)
{
	uint64_t parent = GET(c->parent);
	const struct nb_child_slot *op = NULL;
	const struct nb_op_slot *task;
	struct nb_pcomm *up;

	if (nb_event_kind(parent) == NB_EVENT_PROXY_OP) {
		op = nb_child_of(parent, &up);
		if (op && nb_slot_number(__atomic_load_n(&op->word, __ATOMIC_ACQUIRE)) !=
				  (parent & NB_HANDLE_NUMBER))
			op = NULL;
		parent = op ? GET(op->parent) : 0;
	}
	task = nb_task_of(parent, &up);
	if (task && nb_slot_number(__atomic_load_n(&task->word, __ATOMIC_ACQUIRE)) !=
			    (parent & NB_HANDLE_NUMBER))
		task = NULL;
	nb_run_child(pc, c, op, task, now);
}

/* Returns true if a hook that runs at the end of a child event has programs. */
static bool child_hooked(void)
{
	const uint32_t of = UINT32_C(1) << NB_HOOK_KERNEL_CH | UINT32_C(1) << NB_HOOK_PROXY_STEP |
			    UINT32_C(1) << NB_HOOK_GROUP;

	return nb_hooks_any(of);
}

void nb_child_stop(uint64_t h)
{
	struct nb_pcomm *pc;
	struct nb_child_slot *c = nb_child_of(h, &pc);
	uint64_t n = h & NB_HANDLE_NUMBER, word, now;

	if (!c) {
		if (n)
			nb_events_lose(NB_LOST_STALE);
		return;
	}
	word = n << SLOT_AT_NUMBER | SLOT_OPEN;
	if (!nb_slot_move(&c->word, &word, n << SLOT_AT_NUMBER | SLOT_BUSY)) {
		/*
		 * NCCL 2.12 reports the end of its last API call several times
		 */
		if (!nb_event_is_api(nb_event_kind(h)))
			nb_events_lose(nb_slot_over(word, n) ? NB_LOST_TWICE : NB_LOST_STALE);
		return;
	}
	/*
	 * if the GPU reported both times, do not read the clock, which is half
	 * of the cost
	 */
	now = GET(c->timer_stop) && !child_hooked() && !nb_trace_ring_wanted() ? GET(c->start)
									       : nb_clock_system();
	if (child_hooked())
		child_run_programs(pc, c, now);
	if (nb_trace_ring_wanted())
		nb_trace_span_child(pc, c, n, now);
	child_end(GET(c->parent), c, now);
	__atomic_store_n(&c->word, n << SLOT_AT_NUMBER | SLOT_DONE, __ATOMIC_RELEASE);
}

void nb_child_close_all(struct nb_pcomm *pc)
{
	for (uint32_t i = 0; i < NB_CHILD_SLOTS; i++) {
		struct nb_child_slot *c = &pc->child[i];
		uint64_t word = __atomic_load_n(&c->word, __ATOMIC_ACQUIRE);

		if (nb_slot_state(word) == SLOT_OPEN &&
		    nb_slot_move(&c->word, &word, (word & ~(uint64_t)SLOT_STATE) | SLOT_DONE))
			nb_events_lose(NB_LOST_CUT);
	}
}
