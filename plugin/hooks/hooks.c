// SPDX-License-Identifier: MIT
/*
 * Runs the programs of the generation that was selected last. A thread enters a
 * reader record before it loads the generation. A replaced generation is freed
 * after every record has been free and without other threads once.
 */
#include "plugin/hooks/hooks.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/bpf/generation/generation.h"
#include "plugin/runtime/relaxed.h"

struct nb_hooks nb_hooks;

/* hooks that traces record, as bits; protected by tapped_lock */
static uint32_t recorded;
static pthread_mutex_t tapped_lock = PTHREAD_MUTEX_INITIALIZER;

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
	g = __atomic_load_n(&nb_hooks.gen, __ATOMIC_SEQ_CST);
	if (g && (timed || !(g->timed >> hook & 1)))
		nb_gen_run_event(gen_part(g, hook, ctx), hook, ctx, size,
				 took ? (uint16_t)(r - reader + 1) : 0);
	if (took)
		__atomic_store_n(&r->taken, 0, __ATOMIC_RELEASE);
	else
		__atomic_fetch_sub(&r->others, 1, __ATOMIC_RELEASE);
}

void nb_hooks_run(enum nb_hook hook, void *ctx, uint64_t size)
{
	run(hook, ctx, size, true);
}

void nb_hooks_run_untimed(enum nb_hook hook, void *ctx, uint64_t size)
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

/* Compute which hooks the tap must report. The caller holds tapped_lock. */
static void update_tapped(void)
{
	SET(nb_hooks.tap_timed, GET(nb_hooks.timed) | recorded);
	SET(nb_hooks.tapped, GET(nb_hooks.used) | recorded);
}

void nb_hooks_record(uint32_t hooks)
{
	pthread_mutex_lock(&tapped_lock);
	recorded = hooks;
	update_tapped();
	pthread_mutex_unlock(&tapped_lock);
}

static void set_programs(struct nb_gen *gen)
{
	__atomic_store_n(&nb_hooks.gen, gen, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&tapped_lock);
	SET(nb_hooks.used, gen ? gen->hooks : 0);
	SET(nb_hooks.timed, gen ? gen->timed : 0);
	update_tapped();
	pthread_mutex_unlock(&tapped_lock);
}

bool nb_hooks_use(struct nb_gen *gen)
{
	struct nb_gen *old = nb_hooks.gen;
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
		set_programs(gen);
		if (old) {
			leaving[place].gen = old;
			leaving[place].free = leaving[place].alone = 0;
		}
	}
	drain_generations();
	return gen != old;
}

void nb_hooks_forked(void)
{
	pthread_mutex_init(&tapped_lock, NULL);
	for (int r = 0; r < READERS; r++)
		reader[r] = (struct reader){ 0 };
}
