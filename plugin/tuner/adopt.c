// SPDX-License-Identifier: MIT
/*
 * A rank's step from one generation to another: at its decisions, and at its API
 * calls if these are its clock. The calls also run the programs that change the
 * communicator's replicated maps (docs/adr/0018-replicated-state.md).
 */
#include "plugin/tuner/adopt.h"

#include <string.h>

#include "core/defs/ctx.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/policies/generations.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/params.h"
#include "plugin/tuner/chunk.h"

static struct nb_gen *search_kept(const uint8_t *digest)
{
	if (!memcmp(nb_gens.empty->digest, digest, NB_SHA256_SIZE))
		/*
		 * the empty generation is always kept, so it is not in the list
		 */
		return nb_gens.empty;
	for (uint32_t i = 0; i < NB_MAX_GENS; i++) {
		struct nb_gen *g = __atomic_load_n(&nb_gens.kept[i], __ATOMIC_SEQ_CST);

		if (g && !memcmp(g->digest, digest, NB_SHA256_SIZE))
			return g;
	}
	return NULL;
}

/*
 * Note whether the ranks differ. A rank may use generation 0 normally, or
 * because the ranks differ; the communicator's entry in the segment tells
 * which. A rank without an entry keeps its mark (mark_lost). Ranks that
 * register one by one (NB_ID_PROFILER) do not act on it: some have decided.
 */
static void note_mismatch(struct nb_comm *c, uint32_t number)
{
	if (!c->seg || c->init.has_id == NB_ID_PROFILER)
		return;
	__atomic_store_n(&c->mismatch,
			 !number && __atomic_load_n(&c->seg->mismatch, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELAXED);
}

/*
 * Find generation @number and store it in *@to. Returns NULL if this process
 * does not hold it. While c->searching is set, a sweep does not free the
 * generation before it can see *@to (nb_gens_sweep).
 */
static struct nb_gen *tuner_find_gen(struct nb_comm *c, uint32_t number, struct nb_gen **to)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_gen *g = NULL;

	__atomic_store_n(&c->searching, 1, __ATOMIC_SEQ_CST);
	if (!number)
		g = nb_gens.empty;
	else if (c->seg && nb_segment_digest(nb_self.seg, number, digest))
		g = search_kept(digest);
	if (g) {
		g = nb_gen_of(g, c->init.comm_id);
		__atomic_store_n(to, g, __ATOMIC_RELEASE);
	}
	/* a thread that sees the end of the search also sees its result */
	__atomic_store_n(&c->searching, 0, __ATOMIC_RELEASE);
	return g;
}

/*
 * Switch to @g, after adding the counters to the old generation. Not inlined,
 * so that prepare_next warms the same code.
 */
static __attribute__((noinline)) void take_gen(struct nb_comm *c, struct nb_gen *g)
{
	nb_gen_count_add(c->gen, &c->count);
	__atomic_store_n(&c->gen, g, __ATOMIC_RELEASE);
}

/*
 * Before its first call, all ranks of a communicator of one node have registered,
 * so all choose the same clock, here or at their first decision. In a fleet ranks
 * of other nodes may register later, so there the sites compare their clocks
 * before the first fence. Ranks that register one by one (NB_ID_PROFILER) do not.
 */
static bool counts_calls(const struct nb_comm *c)
{
	bool counts = c->begun ? c->fence.odd & NB_FENCE_CALLS
			       : c->seg && nb_startup_clock(c->seg) == NB_CLOCK_CALLS;

	return counts && c->init.has_id == NB_ID_TUNER;
}

/*
 * Replace a generation with replicated maps by NCCL's own choice if the ranks may
 * not all run their programs from the same call on. All ranks come to the same
 * conclusion. NCCL lets the ranks of a node wait for each other between the tuner's
 * init and the first call, but not those of several nodes. These need a fleet, whose
 * first fence comes after all ranks have registered.
 */
static void require_calls(struct nb_comm *c)
{
	bool together = c->init.nodes == 1 || c->fence.follows;

	if (!c->gen->state_size || (together && counts_calls(c)))
		return;
	__atomic_store_n(&c->uncounted, true, __ATOMIC_RELAXED);
	nb_gen_bump(&c->refused[NB_REFUSED_UNCOUNTED]);
	take_gen(c, nb_gen_of(nb_gens.empty, c->init.comm_id));
}

/*
 * Adopt generation @number, which prepare_next has usually found before the
 * fence. Set c->gen before clearing c->ahead.gen, because a sweep reads
 * c->ahead.gen first. Tell the coordinator last: until then the record names
 * the generation and a sweep keeps it.
 */
static void adopt_gen(struct nb_comm *c, uint32_t number)
{
	struct nb_gen *g = c->ahead.gen;
	uint8_t was[NB_SHA256_SIZE];

	memcpy(was, c->gen->state_digest, sizeof(was));
	if (c->ahead.number == number && g) {
		take_gen(c, g);
	} else {
		nb_gen_count_add(c->gen, &c->count);
		if (!tuner_find_gen(c, number, &c->gen)) {
			nb_gen_bump(&c->refused[NB_REFUSED_GEN_MISSING]);
			__atomic_store_n(&c->missing, number, __ATOMIC_RELAXED);
			take_gen(c, nb_gen_of(nb_gens.empty, c->init.comm_id));
		}
	}
	__atomic_store_n(&c->ahead.gen, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&c->uncounted, false, __ATOMIC_RELAXED);
	require_calls(c);
	/* all ranks adopt the same generations before the same calls, so all do this */
	if (memcmp(was, c->gen->state_digest, sizeof(was)) != 0)
		memset(c->state, 0, NB_MAP_MAX_STATE);
	nb_chunk_forget(c);
	nb_fence_adopt(&c->fence, number);
	note_mismatch(c, number);
}

/*
 * Prefetch the code that runs only when a generation is adopted. Prefetching
 * beyond a function's end does no harm.
 */
static void warm_code(void)
{
	enum { LINE = 64 };
	const struct {
		uintptr_t code;
		uint32_t lines;
	} warm[] = { { (uintptr_t)nb_adopt_look, 16 },
		     { (uintptr_t)nb_fence_look, 12 },
		     { (uintptr_t)nb_adopt_warm.rare, 16 },
		     { (uintptr_t)nb_adopt_warm.ask, 12 } };

	for (size_t i = 0; i < sizeof(warm) / sizeof(warm[0]); i++)
		for (uintptr_t n = 0; n < warm[i].lines; n++)
			__builtin_prefetch((const void *)(warm[i].code + n * LINE));
}

/*
 * Prepare for a fence that is near. Another CPU has just written the generation
 * that starts at the fence, so it is not cached here. The last decisions before
 * the fence find the generation, and each prefetches one more step towards its
 * code.
 */
enum { AHEAD = 6 };

static void prepare_next(struct nb_comm *c, uint64_t k)
{
	uint64_t word = __atomic_load_n(&c->fence.record->word, __ATOMIC_RELAXED);
	uint32_t number = nb_fence_word_gen(word);

	if (number != c->ahead.number) {
		__atomic_store_n(&c->ahead.gen, NULL, __ATOMIC_RELEASE);
		c->ahead.number = number, c->ahead.step = 0;
	}
	/* an armed fence is not prepared, because it may be aborted */
	if (number == c->fence.number || !c->seg || nb_fence_word_state(word) != NB_FENCE_COMMIT ||
	    nb_fence_word_seq(word) - k > AHEAD)
		return;
	take_gen(c, c->gen);
	warm_code();
	if (c->ahead.step == 0) {
		nb_segment_prefetch(nb_self.seg, number);
		for (uint32_t i = 0; i < NB_MAX_GENS; i += 8)
			__builtin_prefetch(&nb_gens.kept[i]);
	} else if (c->ahead.gen || tuner_find_gen(c, number, &c->ahead.gen)) {
		nb_gen_prefetch(c->ahead.gen, c->ahead.step > 1);
	}
	c->ahead.step++;
}

/*
 * Returns true if the record is a copy of the fleet's record. A missing rank is
 * then on another site, even if NCCL counts one node (two pods on one host).
 */
static bool follows_fleet(const struct nb_comm *c)
{
	return c->fence.follows || (nb_params_fleet() && c->init.has_id == NB_ID_TUNER &&
				    nb_seg_registered(c->seg) < c->seg->nranks);
}

/* Mark a communicator of the fleet, so that its agent follows it. */
static void mark_fleet(const struct nb_comm *c)
{
	uint32_t not = NB_FLEET_NOT;

	__atomic_compare_exchange_n(&c->seg->fleet, &not, NB_FLEET_NEW, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

/*
 * Start a communicator of the fleet. Its first generation is NCCL's own choice
 * for all ranks, also if the record names a later one already.
 */
static void begin_in_fleet(struct nb_comm *c)
{
	take_gen(c, nb_gen_of(nb_gens.empty, c->init.comm_id));
	c->fence.follows = true;
	c->fence.number = 0;
	__atomic_store_n(&c->fence.slot->generation, 0, __ATOMIC_RELEASE);
	mark_fleet(c);
}

/* Choose the events that number this rank's fences. */
static void choose_clock(struct nb_comm *c)
{
	uint32_t open = 0;
	enum nb_clock_kind kind = nb_startup_clock(c->seg);

	/* a clock that has ended stays so (nb_mask_stop_calls) */
	if (!__atomic_compare_exchange_n(&c->seg->clock, &open, (uint32_t)kind, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		kind = nb_startup_clock(c->seg);
	if (kind == NB_CLOCK_NONE)
		c->fence.odd |= NB_FENCE_NO_CLOCK;
	if (kind != NB_CLOCK_CALLS)
		return;
	nb_fence_by_calls(&c->fence, nb_seg_clocks(c->ring));
	nb_events_tell_decisions(c->fence.slot);
}

/*
 * Let policies see the facts that all ranks share. Ranks that register one by one
 * (NB_ID_PROFILER) may decide before all are known, and ranks of a fleet are in several segments.
 */
static void take_facts(struct nb_comm *c)
{
	uint32_t fact[NB_NFACTS];

	if (c->init.has_id != NB_ID_TUNER)
		return;
	nb_startup_facts(c->seg, fact);
#define FACT(name)                                                               \
	__atomic_store_n(&c->base.name, fact[NB_FACT_##name], __ATOMIC_RELAXED); \
	c->ctx.name = fact[NB_FACT_##name];
#include "core/defs/platform.h"
}

/* Before the first decision, when all ranks exist. */
static void tuner_begin_comm(struct nb_comm *c)
{
	c->begun = true;
	if (!c->seg)
		return;
	if (follows_fleet(c)) {
		begin_in_fleet(c);
		choose_clock(c);
		__atomic_store_n(&c->seg->fleet, NB_FLEET_BEGUN, __ATOMIC_RELEASE);
		return;
	}
	choose_clock(c);
	take_facts(c);
	nb_startup_count(c->seg);
}

void nb_adopt_look(struct nb_comm *c)
{
	uint64_t seen = c->fence.seen;
	bool first = !c->begun, timed_out;
	uint32_t number;
	uint64_t k;

	if (first)
		tuner_begin_comm(c);
	k = nb_fence_clock(&c->fence, c->fence.seq - 1);
	number = nb_fence_look(&c->fence, k, &timed_out);

	if (timed_out)
		nb_gen_bump(&c->refused[NB_REFUSED_FENCE_TIMEOUT]);
	/*
	 * if ranks started with different policies, the number stays 0 and only
	 * the record changes
	 */
	if (number != c->fence.number || (!number && c->fence.seen != seen))
		adopt_gen(c, number);
	else if (first && c->seg)
		note_mismatch(c, number);
	else
		prepare_next(c, k);
	if (first)
		require_calls(c);
}

/*
 * Record a hash of the replicated maps, so that `check agreement` can compare them
 * between ranks.
 */
static void publish_state(struct nb_comm *c)
{
	uint64_t n = c->fence.clock, hash = 0, word;
	struct nb_seg_state *to = &nb_seg_states(c->ring)[n / NB_STATE_EVERY % NB_STATES];

	for (uint32_t i = 0; i < c->gen->state_size; i += 8) {
		memcpy(&word, c->state + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	__atomic_store_n(&to->call, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&to->hash, hash, __ATOMIC_RELEASE);
	__atomic_store_n(&to->call, n, __ATOMIC_RELEASE);
}

void nb_tuner_call(void *comm, uint32_t coll, uint64_t bytes)
{
	struct nb_comm *c = comm;
	struct ncclbpf_coll_api ctx;

	/* two sites that NCCL counts as one node: their ranks, too, count from the first call on */
	if (!c->begun && c->seg && follows_fleet(c))
		mark_fleet(c);
	if (!counts_calls(c))
		return;
	if (!c->begun || !nb_fence_call(&c->fence))
		nb_adopt_look(c);
	if (!(c->gen->hooks >> NB_HOOK_COLL_API & 1) || c->mismatch)
		return;
	ctx = (struct ncclbpf_coll_api){ .comm_id = c->base.comm_id,
					 /* NCCL need not ask for equal sizes elsewhere */
					 .bytes = coll < NCCL_NUM_COLLS ? bytes : 0,
					 .seq = c->fence.clock,
					 .coll = coll,
					 .ranks = c->base.ranks,
					 .nodes = c->base.nodes,
					 .state = c->state };
	nb_gen_run_event(c->gen, NB_HOOK_COLL_API, &ctx, sizeof(ctx), 0);
	if (c->gen->state_size && c->fence.clock % NB_STATE_EVERY == 0)
		publish_state(c);
}
