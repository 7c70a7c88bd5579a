// SPDX-License-Identifier: MIT
// Registration in the segment: generations by number, communicators, and the
// slots of their ranks.
#include "plugin/job/registry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/job/fence.h"
#include "plugin/job/startup.h"
#include "plugin/runtime/wall_clock.h"

static uint32_t load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* ---- generations ---- */

static bool is_zero(const uint8_t digest[NB_SHA256_SIZE])
{
	static const uint8_t zero[NB_SHA256_SIZE];

	return !memcmp(digest, zero, NB_SHA256_SIZE);
}

static void read_digest(const struct nb_seg_gen *g,
			uint8_t digest[NB_SHA256_SIZE])
{
	for (size_t i = 0; i < NB_SHA256_SIZE / 8; i++) {
		uint64_t w = __atomic_load_n(&g->digest[i], __ATOMIC_RELAXED);

		memcpy(digest + i * 8, &w, 8);
	}
}

static uint32_t find_gen(const struct nb_seg *mem,
			 const uint8_t digest[NB_SHA256_SIZE])
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < NB_SEG_GENS; i++) {
		uint64_t number =
			__atomic_load_n(&mem->gen[i].number, __ATOMIC_ACQUIRE);
		uint8_t have[NB_SHA256_SIZE];

		read_digest(&mem->gen[i], have);
		if (number <= NB_FENCE_MAX_GEN && number > best &&
		    !memcmp(have, digest, NB_SHA256_SIZE))
			best = (uint32_t)number;
	}
	return best;
}

static bool word_has(const uint64_t *word, uint64_t number)
{
	uint64_t w = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	return nb_fence_word_state(w) != NB_FENCE_NONE &&
	       nb_fence_word_gen(w) == number;
}

/* May a process still look up the digest of @number? */
static bool number_wanted(const struct nb_seg *mem, uint64_t number)
{
	if (!number)
		return false;
	if (nb_seg_baseline(__atomic_load_n(&mem->baseline,
					    __ATOMIC_ACQUIRE)) == number)
		return true;
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &mem->comm[i];

		if (load32(&c->in_use) &&
		    (c->first == number || word_has(&c->record.word, number) ||
		     word_has(&c->record.fallback, number)))
			return true;
	}
	return false;
}

/*
 * The next number whose place in the table holds no wanted generation. Late
 * ranks at a fence and processes that look up the baseline need those. If all
 * are wanted, the oldest is overwritten.
 */
static uint64_t next_number(const struct nb_seg *mem)
{
	uint64_t n = mem->next_gen;

	for (uint64_t i = 0; i < NB_SEG_GENS; i++) {
		const struct nb_seg_gen *g = &mem->gen[(n + i) % NB_SEG_GENS];

		if (!number_wanted(
			    mem, __atomic_load_n(&g->number, __ATOMIC_ACQUIRE)))
			return n + i;
	}
	return n;
}

int nb_segment_gen(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE],
		   bool fresh, uint32_t *number, struct nb_err *err)
{
	struct nb_seg_gen *g;
	uint64_t n;

	*number = 0;
	if (!fresh) {
		if (is_zero(digest))
			return 0;
		*number = find_gen(s->mem, digest);
		if (*number)
			return 0;
	}
	n = next_number(s->mem);
	if (!n || n > NB_FENCE_MAX_GEN)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the job has used up its %u generation numbers",
			       NB_FENCE_MAX_GEN);
	s->mem->next_gen = n + 1;
	g = &s->mem->gen[n % NB_SEG_GENS];
	__atomic_store_n(&g->number, 0, __ATOMIC_RELEASE);
	memset(g->names, 0, sizeof(g->names));
	__atomic_store_n(&g->at_s, 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < NB_SHA256_SIZE / 8; i++) {
		uint64_t w;

		memcpy(&w, digest + i * 8, 8);
		__atomic_store_n(&g->digest[i], w, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&g->number, n, __ATOMIC_RELEASE);
	*number = (uint32_t)n;
	return 0;
}

void nb_segment_name(struct nb_segment *s, uint32_t number, const char *names)
{
	struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	if (number && g->number == number)
		snprintf(g->names, sizeof(g->names), "%s", names);
}

void nb_segment_sign(struct nb_segment *s, uint32_t number, uint32_t uid,
		     uint32_t pid)
{
	struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	__atomic_store_n(&g->uid, uid, __ATOMIC_RELAXED);
	__atomic_store_n(&g->pid, pid, __ATOMIC_RELAXED);
	__atomic_store_n(&g->at_s, nb_wall_us() / 1000000, __ATOMIC_RELEASE);
}

bool nb_segment_signed(const struct nb_segment *s, uint32_t number,
		       uint64_t *at_s, uint32_t *uid, uint32_t *pid)
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	*at_s = __atomic_load_n(&g->at_s, __ATOMIC_ACQUIRE);
	*uid = __atomic_load_n(&g->uid, __ATOMIC_RELAXED);
	*pid = __atomic_load_n(&g->pid, __ATOMIC_RELAXED);
	return *at_s && __atomic_load_n(&g->number, __ATOMIC_ACQUIRE) == number;
}

bool nb_segment_digest(const struct nb_segment *s, uint32_t number,
		       uint8_t digest[NB_SHA256_SIZE])
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	memset(digest, 0, NB_SHA256_SIZE);
	if (!number)
		return true; /* the empty generation */
	if (__atomic_load_n(&g->number, __ATOMIC_ACQUIRE) != number)
		return false;
	read_digest(g, digest);
	return true;
}

void nb_segment_prefetch(const struct nb_segment *s, uint32_t number)
{
	const struct nb_seg_gen *g = &s->mem->gen[number % NB_SEG_GENS];

	__builtin_prefetch(&g->number);
	__builtin_prefetch(&g->names);
}

uint32_t nb_seg_registered(const struct nb_seg_comm *comm)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		n += load32(&comm->slot[i].state) != NB_SLOT_FREE;
	return n;
}

/* A free slot of an entry that is not complete yet, or -1. */
static int free_slot(const struct nb_seg_comm *c)
{
	if (nb_seg_registered(c) >= c->nranks)
		return -1;
	for (int i = 0; i < NB_SEG_SLOTS; i++)
		if (load32(&c->slot[i].state) == NB_SLOT_FREE)
			return i;
	return -1;
}

/* Two communicators may have the same id, so a complete entry belongs to
 * another communicator. */
static struct nb_seg_comm *find_comm(struct nb_seg *mem,
				     const struct nb_seg_comm *like)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &mem->comm[i];

		if (load32(&c->in_use) && c->comm_id == like->comm_id &&
		    c->has_id == like->has_id && c->nranks == like->nranks &&
		    free_slot(c) >= 0)
			return c;
	}
	return NULL;
}

/* All of @like but its record and slots. */
static struct nb_seg_comm *new_comm(struct nb_seg *mem,
				    const struct nb_seg_comm *like)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &mem->comm[i];

		if (load32(&c->in_use))
			continue;
		memset(c, 0, sizeof(*c));
		c->comm_id = like->comm_id;
		c->has_id = like->has_id;
		c->nranks = like->nranks;
		c->nnodes = like->nnodes;
		c->first = like->first;
		store32(&c->in_use, 1);
		return c;
	}
	return NULL;
}

static bool same_gen(const struct nb_segment *s, uint32_t a, uint32_t b)
{
	uint8_t da[NB_SHA256_SIZE], db[NB_SHA256_SIZE];

	return a == b ||
	       (nb_segment_digest(s, a, da) && nb_segment_digest(s, b, db) &&
		!memcmp(da, db, sizeof(da)));
}

int nb_segment_join(struct nb_segment *s, bool has_id, uint64_t comm_id,
		    uint32_t nranks, uint32_t nnodes, uint32_t first,
		    struct nb_seg_comm **comm, uint32_t *slot,
		    struct nb_err *err)
{
	const struct nb_seg_comm like = { .comm_id = comm_id,
					  .has_id = has_id,
					  .nranks = nranks,
					  .nnodes = nnodes,
					  .first = first };
	struct nb_seg_comm *c = find_comm(s->mem, &like);
	bool same;
	int i;

	*comm = NULL;
	if (!c && nranks)
		c = new_comm(s->mem, &like);
	i = c ? free_slot(c) : -1;
	if (i < 0)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the job segment has no room for communicator "
			       "%016llx (%d communicators, %d ranks of one)",
			       (unsigned long long)comm_id, NB_SEG_COMMS,
			       NB_SEG_SLOTS);
	same = same_gen(s, c->first, first);
	memset(&c->slot[i], 0, sizeof(c->slot[i]));
	c->slot[i].proc = s->proc;
	c->slot[i].pid = (uint32_t)getpid();
	c->slot[i].rank = s->mem->proc[s->proc % NB_SEG_PROCS].rank;
	c->slot[i].generation = same ? c->first : first;
	if (has_id)
		nb_startup_compare(s, c, (uint32_t)i, same, first);
	store32(&c->slot[i].state, NB_SLOT_LIVE);
	*comm = c;
	*slot = (uint32_t)i;
	return 0;
}

void nb_segment_free_if_left(struct nb_seg_comm *comm)
{
	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		if (load32(&comm->slot[i].state) == NB_SLOT_LIVE)
			return;
	store32(&comm->in_use, 0);
}

void nb_segment_leave(struct nb_segment *s, struct nb_seg_comm *comm,
		      uint32_t slot)
{
	(void)s;
	store32(&comm->slot[slot % NB_SEG_SLOTS].state, NB_SLOT_GONE);
	nb_segment_free_if_left(comm);
}
