// SPDX-License-Identifier: MIT
/*
 * Runs programs on profiler hooks. It fills their contexts from event slots,
 * and selects the generation whose programs run. A thread enters a reader
 * record before it loads the generation. A replaced generation is freed after
 * every record has been free and without other threads once.
 */
#include "plugin/profiler/hooks.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/bpf/generation/generation.h"
#include "plugin/profiler/mask.h"
#include "plugin/runtime/relaxed.h"

/*
 * PATIENCE: attempts to find a free entry in leaving[] before a switch is
 *   delayed.
 */
enum { READERS = 64, LEAVING = 8, PATIENCE = 64 };

/*
 * A thread that runs programs takes a record. Other threads of the same record
 * only count themselves. So a thread that finds its record free leaves it with
 * a plain store, which is cheaper than an atomic decrement.
 */
static struct reader {
	/* 1 while a thread has taken the record; accessed atomically */
	uint64_t taken;
	/* number of other threads that run programs; accessed atomically */
	uint64_t others;
	uint64_t pad[6];
} reader[READERS];

/*
 * Replaced generations that threads may still run. Protected by NB_LOCK_STATE.
 */
static struct {
	struct nb_gen *gen;
	/*
	 * bit sets of reader records that were seen free, or without other
	 * threads, since the generation was replaced
	 */
	uint64_t free, alone;
} leaving[LEAVING];

/*
 * Returns a reader record chosen by stack address, so that most threads use
 * different ones.
 */
static struct reader *my_reader(void)
{
	char here;
	uint64_t at = (uint64_t)(uintptr_t)&here >> 16;

	return &reader[(at * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
}

/*
 * Every context begins with the communicator's identity, which selects the
 * scope.
 */
#define FIRST(ctx) \
	_Static_assert(offsetof(struct ncclbpf_##ctx, comm_id) == 0, "the communicator comes first")
FIRST(coll_done);
FIRST(p2p_done);
FIRST(proxy_step);
FIRST(kernel_ch);
FIRST(group);
FIRST(net_listen);
FIRST(net_connect);
FIRST(net_accept);
FIRST(net_isend);
FIRST(net_irecv);
FIRST(net_test);
FIRST(net_close);
FIRST(gin_connect);
FIRST(gin_put);
FIRST(gin_done);
FIRST(gin_signal);
FIRST(gin_close);
FIRST(verbs_qp);
FIRST(verbs_post);
FIRST(verbs_done);
FIRST(verbs_event);
FIRST(verbs_mr);
#undef FIRST

/* Returns the generation, or its scope for the context's communicator. */
static struct nb_gen *gen_part(struct nb_gen *g, enum nb_hook hook, const void *ctx)
{
	uint64_t comm;

	if (!g->nviews || hook == NB_HOOK_ENV)
		return g;
	memcpy(&comm, ctx, sizeof(comm));
	return nb_gen_of(g, comm);
}

static inline __attribute__((always_inline)) void run(enum nb_hook hook, void *ctx, uint64_t size,
						      bool timed)
{
	struct reader *r = my_reader();
	bool took = !__atomic_exchange_n(&r->taken, 1, __ATOMIC_SEQ_CST);
	struct nb_gen *g;

	if (!took)
		__atomic_fetch_add(&r->others, 1, __ATOMIC_SEQ_CST);
	g = __atomic_load_n(&nb_prof.gen, __ATOMIC_SEQ_CST);
	if (g && (timed || !(g->timed >> hook & 1)))
		nb_gen_run_event(gen_part(g, hook, ctx), hook, ctx, size,
				 took ? (uint16_t)(r - reader + 1) : 0);
	if (took)
		__atomic_store_n(&r->taken, 0, __ATOMIC_RELEASE);
	else
		__atomic_fetch_sub(&r->others, 1, __ATOMIC_RELEASE);
}

void nb_events_run(enum nb_hook hook, void *ctx, uint64_t size)
{
	run(hook, ctx, size, true);
}

void nb_events_run_untimed(enum nb_hook hook, void *ctx, uint64_t size)
{
	run(hook, ctx, size, false);
}

/*
 * Add the readers that are not running programs now. A thread that enters later
 * finds the new generation.
 */
static void note_idle(uint64_t *free, uint64_t *alone)
{
	for (int r = 0; r < READERS; r++) {
		if (!__atomic_load_n(&reader[r].taken, __ATOMIC_SEQ_CST))
			*free |= UINT64_C(1) << r;
		if (!__atomic_load_n(&reader[r].others, __ATOMIC_SEQ_CST))
			*alone |= UINT64_C(1) << r;
	}
}

/* Release replaced generations that no thread runs any more. */
static void drain_generations(void)
{
	for (int i = 0; i < LEAVING; i++) {
		if (!leaving[i].gen)
			continue;
		note_idle(&leaving[i].free, &leaving[i].alone);
		if ((leaving[i].free & leaving[i].alone) != UINT64_MAX)
			continue;
		nb_gen_put(leaving[i].gen);
		leaving[i].gen = NULL;
	}
}

/*
 * Returns a free entry of leaving[], or -1 if threads still run all replaced
 * generations.
 */
static int place_to_leave(void)
{
	for (int n = 0; n < PATIENCE; n++) {
		for (int i = 0; i < LEAVING; i++)
			if (!leaving[i].gen)
				return i;
		sched_yield();
		drain_generations();
	}
	return -1;
}

bool nb_events_use(struct nb_gen *gen)
{
	struct nb_gen *old = nb_prof.gen;
	int place = 0;

	if (gen && !gen->hooks)
		gen = NULL;
	if (gen != old && old)
		place = place_to_leave();
	if (place < 0)
		return false;
	if (gen != old) {
		if (gen)
			nb_gen_get(gen);
		__atomic_store_n(&nb_prof.gen, gen, __ATOMIC_SEQ_CST);
		SET(nb_prof.hooks, gen ? gen->hooks : 0);
		SET(nb_prof.timed, gen ? gen->timed : 0);
		nb_events_ask();
		if (old) {
			leaving[place].gen = old;
			leaving[place].free = leaving[place].alone = 0;
		}
	}
	drain_generations();
	return true;
}

void nb_event_progs_forked(void)
{
	for (int r = 0; r < READERS; r++)
		reader[r] = (struct reader){ 0 };
}

static uint32_t byte_at(uint64_t what, int bit)
{
	return (uint32_t)(what >> bit) & 255;
}

/*
 * Convert a number of an algorithm or protocol: NB_WORD_NONE becomes -1,
 * because NCCL chose none.
 */
static int32_t word_or_none(uint32_t word)
{
	return word == NB_WORD_NONE ? -1 : (int32_t)word;
}

static uint32_t positive_or_0(int32_t n)
{
	return n > 0 ? (uint32_t)n : 0;
}

void nb_run_sample(const struct nb_sample *s, bool p2p)
{
	if (p2p && nb_events_hooked(NB_HOOK_P2P_DONE)) {
		struct ncclbpf_p2p_done c = {
			.comm_id = s->comm_id,
			.bytes = s->bytes,
			.start_ns = s->start_ns,
			.enqueue_ns = s->ns[NB_TEL_ENQUEUE],
			.gpu_ns = s->ns[NB_TEL_KERNEL],
			.proxy_ns = s->ns[NB_TEL_NETWORK],
			.exec_ns = s->ns[NB_TEL_EXEC],
			.send = s->func == 6,
			.peer = s->peer,
			.ranks = positive_or_0(s->ranks),
			.channels = s->channels,
			.rank = s->rank,
			.source = s->source,
		};

		nb_events_run(NB_HOOK_P2P_DONE, &c, sizeof(c));
	} else if (!p2p && nb_events_hooked(NB_HOOK_COLL_DONE)) {
		struct ncclbpf_coll_done c = {
			.comm_id = s->comm_id,
			.seq = s->seq,
			.bytes = s->bytes,
			.start_ns = s->start_ns,
			.enqueue_ns = s->ns[NB_TEL_ENQUEUE],
			.gpu_ns = s->ns[NB_TEL_KERNEL],
			.proxy_ns = s->ns[NB_TEL_NETWORK],
			.exec_ns = s->ns[NB_TEL_EXEC],
			.coll = s->func,
			.ranks = positive_or_0(s->ranks),
			.nodes = positive_or_0(s->nodes),
			.channels = s->channels,
			.algo = word_or_none(s->algo),
			.proto = word_or_none(s->proto),
			.rank = s->rank,
			.source = s->source,
		};

		nb_events_run(NB_HOOK_COLL_DONE, &c, sizeof(c));
	}
}

void nb_run_env(struct ncclbpf_env *c)
{
	nb_events_run(NB_HOOK_ENV, c, sizeof(*c));
}

static void run_kernel(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		       const struct nb_op_slot *task, uint64_t now)
{
	uint64_t what = task ? GET(task->what) : UINT64_MAX;
	uint64_t from = GET(c->timer), to = GET(c->timer_stop);
	struct ncclbpf_kernel_ch ctx = {
		.comm_id = GET(pc->comm_id),
		.seq = task ? GET(task->seq) : 0,
		.bytes = task ? GET(task->bytes) : 0,
		.start_ns = GET(c->start),
		.cpu_ns = now - GET(c->start),
		.gpu_start = from,
		.gpu_ns = to > from ? to - from : 0,
		.func = byte_at(what, W_FUNC),
		.channel = byte_at(GET(c->what), C_CHANNEL),
		.algo = word_or_none(byte_at(what, W_ALGO)),
		.proto = word_or_none(byte_at(what, W_PROTO)),
		.rank = GET(pc->rank),
		.ranks = positive_or_0(GET(pc->ranks)),
	};

	nb_events_run(NB_HOOK_KERNEL_CH, &ctx, sizeof(ctx));
}

static void run_step(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		     const struct nb_child_slot *op, const struct nb_op_slot *task, uint64_t now)
{
	uint64_t what = op ? GET(op->what) : UINT64_MAX;
	struct ncclbpf_proxy_step ctx = {
		.comm_id = GET(pc->comm_id),
		.bytes = GET(c->bytes),
		.start_ns = GET(c->start),
		.ns = now - GET(c->start),
		.gpu_wait_ns = GET(c->waits[0]),
		.peer_wait_ns = GET(c->waits[1]),
		.net_wait_ns = GET(c->waits[2]),
		.flush_wait_ns = GET(c->waits[3]),
		.func = task ? byte_at(GET(task->what), W_FUNC) : NB_WORD_NONE,
		.channel = byte_at(what, C_CHANNEL),
		.step = (uint32_t)(GET(c->what) >> C_STEP),
		.send = op ? what >> C_SEND & 1 : 0,
		.peer = op ? (int32_t)GET(op->peer) : -1,
		.rank = GET(pc->rank),
	};

	nb_events_run(NB_HOOK_PROXY_STEP, &ctx, sizeof(ctx));
}

static void run_group(const struct nb_pcomm *pc, const struct nb_child_slot *c, uint64_t now)
{
	struct ncclbpf_group ctx = {
		.comm_id = GET(pc->comm_id),
		.start_ns = GET(c->start),
		.ns = now - GET(c->start),
		.rank = GET(pc->rank),
		.ranks = positive_or_0(GET(pc->ranks)),
	};

	nb_events_run(NB_HOOK_GROUP, &ctx, sizeof(ctx));
}

void nb_run_child(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		  const struct nb_child_slot *op, const struct nb_op_slot *task, uint64_t now)
{
	switch (byte_at(GET(c->what), C_KIND)) {
	case NB_EVENT_KERNEL_CH:
		if (nb_events_hooked(NB_HOOK_KERNEL_CH))
			run_kernel(pc, c, task, now);
		break;
	case NB_EVENT_PROXY_STEP:
		if (nb_events_hooked(NB_HOOK_PROXY_STEP))
			run_step(pc, c, op, task, now);
		break;
	case NB_EVENT_GROUP:
		if (nb_events_hooked(NB_HOOK_GROUP))
			run_group(pc, c, now);
		break;
	}
}
