// SPDX-License-Identifier: MIT
// One NCCL context: its birth, its end, and what others may read of it while
// its thread decides. Registration with the job segment happens here; where
// that cannot be had the communicator decides all the same, with a slot and a
// record of its own that no change reaches.
#include "plugin/comm.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/exec/exec.h"
#include "plugin/begin.h"
#include "plugin/chain.h"
#include "plugin/events.h"
#include "plugin/override.h"
#include "plugin/runtime.h"
#include "plugin/segment.h"
#include "plugin/tuner.h"

static const struct {
	const char *word, *text;
} reasons[NB_NREFUSED] = {
#define REFUSED(name, word, text) [NB_REFUSED_##name] = { word, text },
#include "plugin/refusals.h"
};

const char *nb_refused_word(enum nb_refused why)
{
	return why < NB_NREFUSED ? reasons[why].word : NULL;
}

const char *nb_refused_text(enum nb_refused why)
{
	return why < NB_NREFUSED ? reasons[why].text : NULL;
}

/* ---- birth and end ---- */

enum {
	LOCK_MS = 5000, /* at the end, when nothing depends on it */
	HEAD = (sizeof(struct nb_comm) + 63) / 64 * 64,
	NLATEST = NB_LATEST_NONE + 1, /* and one that nobody reads */
	BLOCK = HEAD + NB_SEG_RING_SIZE + NLATEST * sizeof(struct nb_latest) +
		NB_SEEN * sizeof(struct nb_seen)
};

/* Zeroed pages that cost memory only once they are touched. */
static struct nb_comm *allocate(void)
{
	char *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nb_comm *c;

	if (p == MAP_FAILED)
		return NULL;
	c = (struct nb_comm *)(void *)p;
	c->ring = c->own_ring = (struct nb_packed *)(void *)(p + HEAD);
	c->latest = (struct nb_latest *)(void *)(p + HEAD + NB_SEG_RING_SIZE);
	c->seen = (struct nb_seen *)(void *)(c->latest + NLATEST);
	return c;
}

static void fill_base(struct nb_comm *c)
{
	c->base = (struct ncclbpf_tuner){
		.comm_id = c->init.comm_id,
		.ranks = c->init.ranks,
		.nodes = c->init.nodes,
		.nvl_domains = c->init.nvl_domains,
		.nvl_min_ranks = c->init.nvl_min_ranks,
		.nvl_max_ranks = c->init.nvl_max_ranks,
		.nccl_algo = NCCL_ALGO_UNDEF,
		.nccl_proto = NCCL_PROTO_UNDEF,
		.algo = NCCL_ALGO_UNDEF,
		.proto = NCCL_PROTO_UNDEF,
	};
	c->ctx = c->base;
}

/*
 * What a new rank decides with. A change reaches one host, so a communicator
 * of several begins, on all of them, with what NCCLBPF_POLICY says.
 */
static struct nb_gen *beginning(const struct nb_comm *c)
{
	struct nb_gen *g = c->init.nodes > 1 ? c->rt->first : c->rt->baseline;

	return nb_gen_of(g, c->init.comm_id);
}

/* The number under which that is known in the segment. */
static int beginning_number(const struct nb_comm *c, uint32_t *number,
			    struct nb_err *err)
{
	const struct nb_runtime *rt = c->rt;
	uint8_t digest[NB_SHA256_SIZE];

	*number = rt->baseline_number;
	if (nb_segment_digest(rt->seg, *number, digest) &&
	    !memcmp(digest, c->gen->digest, sizeof(digest)))
		return 0;
	return nb_segment_gen(rt->seg, c->gen->digest, false, number, err);
}

/*
 * With segment's and runtime's lock. Without an identity the entry is there to
 * be counted alone: a change waits until communicators that are being made
 * are complete, or their ranks would begin with different generations.
 */
static void join(struct nb_comm *c)
{
	struct nb_runtime *rt = c->rt;
	struct nb_seg_proc *self = &rt->seg->mem->proc[rt->seg->proc];
	struct nb_seg_comm *entry;
	struct nb_packed *ring;
	struct nb_err err;
	uint32_t number, slot;

	self->setting[NB_SETTING_ABI] = c->init.abi;
	self->setting[NB_SETTING_CHAIN_TUNER] =
		c->chained ? rt->chain[NB_CHAIN_TUNER].file.digest : 0;
	if (beginning_number(c, &number, &err) ||
	    nb_segment_join(rt->seg, c->init.has_id, c->init.comm_id,
			    c->init.ranks, c->init.nodes, number, &entry, &slot,
			    &err)) {
		snprintf(c->why, sizeof(c->why), "%.150s", err.text);
		return;
	}
	number = entry->slot[slot].generation;
	nb_runtime_publish(rt, number, c->gen);
	c->fence.number = number;
	c->entry = entry;
	c->entry_slot = slot;
	if (!c->init.has_id)
		return;
	ring = nb_segment_ring(rt->seg, entry, slot);
	if (ring)
		c->ring = ring;
	c->seg = entry;
	c->slot_index = slot;
	c->fence.slot = &entry->slot[slot];
	c->fence.record = &entry->record;
}

/* Peers of a communicator without identity cannot be told to leave it to NCCL:
 * what they begin with must not change from now on. */
static void hold_baseline(struct nb_comm *c)
{
	if (!c->bars)
		nb_begin_bar(c->rt->seg);
	c->bars = true;
}

/*
 * It could not be registered, and may begin with something else than its
 * peers: all of them leave it to NCCL. A rank alone has no peers, and those of
 * several hosts begin with what no change has touched.
 */
static void lose(struct nb_comm *c)
{
	if (c->init.ranks < 2 || c->init.nodes > 1)
		return;
	if (!c->init.has_id) {
		hold_baseline(c);
		return;
	}
	nb_begin_lose(c->rt->seg, c->init.comm_id);
	c->lost = true;
	c->mismatch = true;
}

/*
 * A tuner that is asked first has failed for one rank of this process and not
 * for another: all of the communicator's leave it to NCCL. Between processes
 * that is a setting, compared when they join.
 */
static void compare_peers(struct nb_comm *c)
{
	for (struct nb_comm *o = c->rt->comms; o; o = o->next) {
		if (o->chained == c->chained || !o->init.has_id ||
		    !c->init.has_id || o->init.comm_id != c->init.comm_id)
			continue;
		if (c->seg && c->seg == o->seg)
			nb_begin_differ(c->seg, NB_SETTING_CHAIN_TUNER,
					o->slot_index, c->slot_index);
		__atomic_store_n(&o->mismatch, true, __ATOMIC_RELAXED);
		c->mismatch = true;
	}
}

static void add_to_list(struct nb_comm *c)
{
	struct nb_runtime *rt = c->rt;

	nb_runtime_sync(rt);
	c->gen = beginning(c);
	c->fence.number = rt->baseline_number;
	c->slot_index = rt->ncomms;
	if (!c->why[0])
		join(c);
	if (!c->entry)
		lose(c);
	compare_peers(c);
	if (!c->init.has_id)
		snprintf(c->why, sizeof(c->why),
			 "NCCL tells a tuner v%u no identity of the "
			 "communicator (allowed: v5 and later)",
			 c->init.abi);
	c->timed = rt->timed;
	c->next = rt->comms;
	rt->comms = c;
	rt->ncomms++;
}

/* Who holds the lock stands still, maybe in the middle of a commit. Before the
 * baseline is looked at. */
static void go_without_lock(struct nb_comm *c, const struct nb_err *err)
{
	snprintf(c->why, sizeof(c->why), "%.150s", err->text);
	if (!c->init.has_id)
		lose(c);
}

static void tell_lost(struct nb_comm *c)
{
	if (!c->told)
		nb_log(c->rt, NB_LOG_WARN,
		       "communicator %016llx: this rank could not register in "
		       "the job segment (%s), so all of its ranks leave it to "
		       "NCCL",
		       (unsigned long long)c->init.comm_id, c->why);
	c->told = true;
}

void nb_comm_tell_mismatch(struct nb_comm *c)
{
	bool good = c->seg && nb_begin_for_good(c->seg);
	char text[400];

	if (c->lost)
		tell_lost(c);
	if (c->told || !c->seg ||
	    !__atomic_load_n(&c->seg->mismatch, __ATOMIC_ACQUIRE))
		return;
	c->told = true;
	nb_begin_text(c->rt->seg, c->seg, text, sizeof(text));
	nb_log(c->rt, NB_LOG_WARN,
	       "communicator %016llx: its ranks began with different %s (%s), "
	       "so it uses none of the policies and NCCL decides; make %s "
	       "equal in all processes%s",
	       (unsigned long long)c->init.comm_id,
	       good ? "settings" : "policies", text,
	       good ? "them" : "NCCLBPF_POLICY",
	       good ? "" : ", or change the policy for all of them");
}

/* With the runtime's lock: the communicator is known to others. */
static void tell(struct nb_comm *c)
{
	nb_comm_tell_mismatch(c);
	nb_log(c->rt, NB_LOG_DEBUG,
	       "communicator %016llx: %u ranks, %u nodes, tuner v%u, "
	       "generation %u%s%s",
	       (unsigned long long)c->init.comm_id, c->init.ranks,
	       c->init.nodes, c->init.abi, c->fence.number,
	       c->why[0] ? "; not changed while it lives: " : "", c->why);
}

struct nb_comm *nb_comm_new(struct nb_runtime *rt,
			    const struct nb_comm_init *init)
{
	struct nb_comm *c = allocate();
	struct nb_err err;
	bool locked;

	if (!c) {
		nb_log(rt, NB_LOG_WARN,
		       "no memory for a communicator (%d bytes): NCCL decides "
		       "alone",
		       (int)BLOCK);
		return NULL;
	}
	c->rt = rt;
	c->fence.seen = NB_FENCE_UNSEEN;
	c->init = *init;
	c->abi = init->abi;
	c->peer = init->peer;
	c->chained = init->peer.ask != NULL;
	c->max_channels = (uint32_t)rt->params.num[NB_P_MAX_CHANNELS];
	c->fence.slot = &c->own_slot;
	c->fence.record = &c->own_record;
	c->fence.timeout_ms = (uint32_t)rt->params.num[NB_P_FENCE_TIMEOUT_MS];
	c->fence.odd = rt->seg->membarrier ? 0 : NB_FENCE_FULL;
	fill_base(c);
	locked = !nb_segment_lock(
		rt->seg, (uint32_t)rt->params.num[NB_P_LOCK_TIMEOUT_MS], &err);
	if (!locked)
		go_without_lock(c, &err);
	nb_runtime_lock(rt);
	rt->tuner_abi = init->abi;
	add_to_list(c);
	tell(c);
	nb_runtime_unlock(rt);
	if (locked)
		nb_segment_unlock(rt->seg);
	return c;
}

static void remove_from_list(struct nb_comm *c)
{
	struct nb_runtime *rt = c->rt;
	struct nb_comm **p = &rt->comms;

	while (*p && *p != c)
		p = &(*p)->next;
	if (!*p)
		return;
	*p = c->next;
	rt->ncomms--;
	rt->old_decisions += nb_comm_decisions(c);
	for (int i = 0; i < NB_NREFUSED; i++)
		rt->old_refused[i] += nb_comm_refused(c, (enum nb_refused)i);
	nb_gen_count_add(c->gen, &c->count);
}

void nb_comm_free(struct nb_comm *c)
{
	struct nb_runtime *rt;
	bool locked;

	if (!c)
		return;
	rt = c->rt;
	if (c->chained)
		c->peer.end(&c->peer);
	nb_events_untell(c->fence.slot);
	locked = rt->seg && !nb_segment_lock(rt->seg, LOCK_MS, NULL);
	if (c->lost && rt->seg)
		nb_begin_lost_is_gone(rt->seg, c->init.comm_id);
	if (c->bars && rt->seg)
		nb_begin_lost_is_gone(rt->seg, NB_SEG_UNNAMED);
	nb_runtime_lock(rt);
	nb_comm_tell_mismatch(c); /* a short life may see no tick */
	nb_chain_tell(rt);
	nb_override_tell(rt);
	remove_from_list(c);
	if (c->entry && locked)
		nb_segment_leave(rt->seg, c->entry, c->entry_slot);
	else if (c->entry) /* whoever reaps frees the entry */
		__atomic_store_n(&c->entry->slot[c->entry_slot].state,
				 NB_SLOT_GONE, __ATOMIC_RELEASE);
	nb_runtime_unlock(rt);
	if (locked)
		nb_segment_unlock(rt->seg);
	munmap(c, BLOCK);
}

/* ---- readers ---- */

uint64_t nb_comm_decisions(const struct nb_comm *c)
{
	return __atomic_load_n(&c->fence.seq, __ATOMIC_RELAXED);
}

struct nb_seg_slot *nb_comm_slot(const struct nb_comm *c)
{
	return c && c->seg ? c->fence.slot : NULL;
}

uint64_t nb_comm_refused(const struct nb_comm *c, enum nb_refused why)
{
	return __atomic_load_n(&c->refused[why], __ATOMIC_RELAXED);
}

const struct nb_gen *nb_comm_gen(const struct nb_comm *c, uint32_t *number)
{
	*number = __atomic_load_n(&c->fence.number, __ATOMIC_RELAXED);
	return __atomic_load_n(&c->gen, __ATOMIC_ACQUIRE);
}

uint32_t nb_comm_local_ranks(const struct nb_comm *c)
{
	uint32_t n = 0;

	if (c->seg)
		return nb_seg_registered(c->seg);
	for (const struct nb_comm *i = c->rt->comms; i; i = i->next)
		n += i->init.has_id && c->init.has_id &&
		     i->init.comm_id == c->init.comm_id;
	return n ? n : 1;
}

bool nb_comm_changeable(const struct nb_comm *c, const char **why)
{
	*why = c->why[0] ? c->why : NULL;
	if (!c->seg) {
		if (!*why)
			*why = "it was made before this process was forked";
		return false;
	}
	if (nb_seg_registered(c->seg) < c->init.ranks) {
		*why = "not all of its ranks are on this host";
		return false;
	}
	return true;
}

bool nb_comm_decision(const struct nb_comm *c, uint64_t seq,
		      struct nb_decision *out)
{
	return seq < nb_comm_decisions(c) &&
	       nb_unpack(&c->ring[seq % NB_RING], seq, out);
}

bool nb_comm_latest(const struct nb_comm *c, int coll, uint32_t bucket,
		    struct nb_decision *out)
{
	const struct nb_latest *l;

	if (coll < 0 || coll >= NCCL_NUM_COLLS || bucket >= NB_SIZE_BUCKETS)
		return false;
	l = &c->latest[(uint32_t)coll * NB_SIZE_BUCKETS + bucket];
	/* a writer needs nanoseconds; a few tries are enough */
	for (int i = 0; i < 100; i++) {
		uint64_t n = __atomic_load_n(&l->count, __ATOMIC_ACQUIRE);

		if (!n)
			return false;
		if (nb_unpack(&l->decision,
			      __atomic_load_n(&l->seq, __ATOMIC_ACQUIRE),
			      out)) {
			out->count = n;
			return true;
		}
	}
	return false;
}

/* ---- explain ---- */

static void explain_basis(const struct nb_comm *c, int coll, uint64_t bytes,
			  struct nb_explain *out)
{
	struct nb_decision *d = &out->basis;

	out->seen = nb_comm_latest(c, coll, nb_comm_bucket(bytes), d);
	if (!out->seen)
		*d = (struct nb_decision){
			.coll = coll,
			.usable = (UINT32_C(1) << NB_COSTS_KNOWN) - 1,
			.pipe_ops = 1,
			.nccl_algo = -1,
			.nccl_proto = -1,
			.algo = -1,
			.proto = -1,
			.by = -1,
			.cost_us = -1,
			.nccl_cost_us = -1,
		};
}

/* What a decision made now would have as its number: see nb_fence_clock. */
static uint64_t now_of(const struct nb_comm *c)
{
	uint64_t calls;

	if (!c->seg ||
	    __atomic_load_n(&c->seg->clock, __ATOMIC_ACQUIRE) != NB_CLOCK_CALLS)
		return nb_comm_decisions(c);
	calls = __atomic_load_n(&c->fence.slot->calls, __ATOMIC_ACQUIRE);
	return calls ? calls - 1 : 0;
}

void nb_comm_explain_context(const struct nb_comm *c,
			     const struct nb_explain *e, uint64_t bytes,
			     float table[NB_COSTS_KNOWN],
			     struct ncclbpf_tuner *ctx)
{
	const struct nb_decision *d = &e->basis;

	*ctx = c->base;
	ctx->bytes = bytes;
	ctx->seq = now_of(c);
	ctx->coll = (uint32_t)d->coll;
	ctx->pipe_ops = d->pipe_ops;
	ctx->usable = d->usable;
	ctx->nccl_algo = d->nccl_algo;
	ctx->nccl_proto = d->nccl_proto;
	ctx->reg_buff = d->reg_buff;
	if (e->seen && nb_seen_copy(nb_seen_slot(c->seen, d->bytes, d->coll),
				    d->coll, d->bytes, table))
		ctx->costs = table;
}

static void explain_step(struct nb_explain *out, const struct nb_gen *g,
			 uint32_t prog, struct ncclbpf_tuner *ctx)
{
	uint32_t p = g->prog[prog].policy;
	struct nb_explain_step *s = &out->step[p];
	struct ncclbpf_tuner before = *ctx;

	nb_exec_run(g->prog[prog].exec, ctx, sizeof(*ctx));
	s->algo = ctx->algo;
	s->proto = ctx->proto;
	s->channels = ctx->channels;
	s->changed = s->changed || before.algo != ctx->algo ||
		     before.proto != ctx->proto ||
		     before.channels != ctx->channels;
	if (s->changed)
		out->answer.by = (int)p;
}

static void split(uint32_t index, int *algo, int *proto)
{
	*algo = (int)(index / NCCL_NUM_PROTOS);
	*proto = (int)(index % NCCL_NUM_PROTOS);
}

static uint32_t index_of(int algo, int proto)
{
	return algo < 0 || proto < 0
		       ? NB_COSTS_NONE
		       : (uint32_t)(algo * NCCL_NUM_PROTOS + proto);
}

/*
 * Check as a decision would: with the costs of the latest decision, or where
 * they are gone with costs that prefer its answer.
 */
void nb_comm_explain_answer(const struct nb_comm *c, struct nb_explain *out,
			    const struct ncclbpf_tuner *ctx)
{
	struct nb_decision *a = &out->answer;
	struct nb_costs costs = { out->basis.usable,
				  index_of(a->nccl_algo, a->nccl_proto), 1.0f };
	uint32_t last = index_of(out->basis.algo, out->basis.proto);
	float table[NB_COSTS_KNOWN];
	uint32_t index, channels;

	for (uint32_t i = 0; i < NB_COSTS_KNOWN; i++)
		table[i] = ctx->costs ? ctx->costs[i] : i == last ? 1.0f : 2.0f;
	a->refused = nb_tuner_check(ctx, &costs, table, c->max_channels, &index,
				    &channels);
	if (!out->seen && a->refused == NB_REFUSED_CHANNELS_ALGO &&
	    index == NB_COSTS_NONE) {
		/* which algorithm NCCL would choose is not known, and for most
		 * of them channels can be asked for */
		a->refused = NB_REFUSED_NONE;
		channels = ctx->channels;
	}
	a->channels = channels;
	if (index != NB_COSTS_NONE)
		split(index, &a->algo, &a->proto);
	else if (!channels)
		a->by = -1;
}

int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes,
		    struct nb_explain *out, struct nb_err *err)
{
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx;
	struct nb_gen *g;
	int rc;

	memset(out, 0, sizeof(*out));
	if (coll < 0 || coll >= NCCL_NUM_COLLS)
		return nb_fail(err, NB_E_ARG, 1,
			       "collective %d (allowed: 0 to %d)", coll,
			       NCCL_NUM_COLLS - 1);
	explain_basis(c, coll, bytes, out);
	nb_comm_explain_context(c, out, bytes, table, &ctx);
	out->answer = out->basis;
	out->answer.bytes = bytes;
	out->answer.algo = out->basis.nccl_algo;
	out->answer.proto = out->basis.nccl_proto;
	out->answer.channels = 0;
	out->answer.by = -1;
	out->answer.refused = NB_REFUSED_NONE;
	rc = nb_gen_rehearsal(&g, nb_comm_gen(c, &out->generation), err);
	if (rc)
		return rc;
	out->order = g->order;
	for (uint32_t i = 0; i < g->npolicies; i++)
		out->step[i] = (struct nb_explain_step){
			/* the policy outlives the rehearsal */
			.policy = g->policy[i].policy->img->name,
			.algo = -1,
			.proto = -1,
		};
	for (uint32_t i = 0; i < g->nprogs; i++)
		explain_step(out, g, i, &ctx);
	nb_gen_put(g);
	nb_comm_explain_answer(c, out, &ctx);
	return 0;
}
