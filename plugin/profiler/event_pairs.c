// SPDX-License-Identifier: MIT
/*
 * Pairs of handles for a wrapped profiler. Free entries wait in a queue for
 * several threads: a bounded ring whose cells have sequence numbers. Entries
 * that were never used are taken first. A thread owns an entry from taking it
 * until it stores the tag. Readers check the tag before and after reading.
 */
#include "plugin/profiler/event_pairs.h"

#include <stddef.h>
#include <sys/mman.h>

#include "plugin/profiler/state.h"
#include "plugin/runtime/relaxed.h"

enum { PLACE_BITS = 16, NUMBER_BITS = NB_HANDLE_KIND + 4 };
enum { STEALS = 8 };
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

/*
 * An entry's tag: bit 0 is set while its event is open; the other bits are the
 * pair's number.
 */
enum { TAG_OPEN = 1 };

struct place {
	/* accessed atomically; 0: the entry is free or being written */
	uint64_t tag;
	/* part of the pair's number; only the entry's owner uses it */
	uint64_t turn;
	uint64_t ours, owner; /* accessed atomically */
	void *its;	      /* accessed atomically */
};

struct cell {
	uint64_t turn; /* accessed atomically */
	uint32_t place;
};

struct pool {
	struct place place[NB_EVENT_PAIRS];
	struct cell cell[NB_EVENT_PAIRS];
	/* number of entries taken for the first time; accessed atomically */
	uint64_t fresh;
	/* index of the next entry to steal; accessed atomically */
	uint64_t hand;
	uint64_t head __attribute__((aligned(64))); /* accessed atomically */
	uint64_t tail __attribute__((aligned(64))); /* accessed atomically */
};

/* the table of pairs, which is allocated once; accessed atomically */
static struct pool *pool;
static struct {
	uint64_t context; /* accessed atomically; 0 if the entry is unused */
	void *its;	  /* accessed atomically */
} comms[NB_MAX_PCOMMS];

static bool have_pool(void)
{
	return __atomic_load_n(&pool, __ATOMIC_ACQUIRE) != NULL;
}

/*
 * Returns the nonce bits of pair handles, which differ from those of our own
 * handles.
 */
static uint64_t pair_nonce(void)
{
	return GET(nb_prof.nonce) ^ UINT64_C(1) << NUMBER_BITS;
}

bool nb_event_pair_is(uint64_t handle)
{
	return have_pool() && GET(nb_prof.nonce) && !((handle ^ pair_nonce()) >> NUMBER_BITS);
}

static uint32_t context_index(uint64_t context)
{
	return context >> NB_HANDLE_COMM & (NB_MAX_PCOMMS - 1);
}

static bool make_pool(void)
{
	struct pool *none = NULL, *p;

	if (have_pool())
		return true;
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	for (uint32_t i = 0; i < NB_EVENT_PAIRS; i++)
		p->cell[i].turn = i;
	if (!__atomic_compare_exchange_n(&pool, &none, p, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		munmap(p, sizeof(*p));
	return true;
}

bool nb_event_pair_comm(uint64_t context, void *its)
{
	uint32_t i = context_index(context);

	if (!nb_pcomm_of(context) || !make_pool())
		return false;
	SET(comms[i].its, its);
	__atomic_store_n(&comms[i].context, context, __ATOMIC_RELEASE);
	SET(nb_prof.chained, 1);
	return true;
}

bool nb_event_pair_context(uint64_t context, void **its)
{
	uint32_t i = context_index(context);

	if (!context || __atomic_load_n(&comms[i].context, __ATOMIC_ACQUIRE) != context)
		return false;
	*its = GET(comms[i].its);
	return true;
}

bool nb_event_pair_comm_end(uint64_t context, void **its)
{
	uint64_t was = context;

	if (!nb_event_pair_context(context, its))
		return false;
	return __atomic_compare_exchange_n(&comms[context_index(context)].context, &was, 0, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool pool_push(struct pool *p, uint32_t place)
{
	uint64_t at = GET(p->tail);

	for (;;) {
		struct cell *c = &p->cell[at % NB_EVENT_PAIRS];
		uint64_t turn = __atomic_load_n(&c->turn, __ATOMIC_ACQUIRE);

		if (turn == at) {
			if (!__atomic_compare_exchange_n(&p->tail, &at, at + 1, true,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				continue;
			SET(c->place, place);
			__atomic_store_n(&c->turn, at + 1, __ATOMIC_RELEASE);
			return true;
		}
		if ((int64_t)(turn - at) < 0)
			/*
			 * the queue is full: there are more entries than cells
			 */
			return false;
		at = GET(p->tail);
	}
}

static bool pool_pop(struct pool *p, uint32_t *place)
{
	uint64_t at = GET(p->head);

	for (;;) {
		struct cell *c = &p->cell[at % NB_EVENT_PAIRS];
		uint64_t turn = __atomic_load_n(&c->turn, __ATOMIC_ACQUIRE);

		if (turn == at + 1) {
			if (!__atomic_compare_exchange_n(&p->head, &at, at + 1, true,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				continue;
			*place = GET(c->place);
			__atomic_store_n(&c->turn, at + NB_EVENT_PAIRS, __ATOMIC_RELEASE);
			return true;
		}
		if ((int64_t)(turn - (at + 1)) < 0)
			return false; /* the queue of free entries is empty */
		at = GET(p->head);
	}
}

/* Take an entry away from an event that was never stopped. */
static bool pool_steal(struct pool *p, uint32_t *place)
{
	for (int i = 0; i < STEALS; i++) {
		uint32_t at = (uint32_t)__atomic_fetch_add(&p->hand, 1, __ATOMIC_RELAXED) %
			      NB_EVENT_PAIRS;
		uint64_t tag = GET(p->place[at].tag);

		if (!(tag & TAG_OPEN) ||
		    !__atomic_compare_exchange_n(&p->place[at].tag, &tag, 0, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		*place = at;
		return true;
	}
	return false;
}

uint32_t nb_event_pair_take(bool *stolen)
{
	struct pool *p = pool;
	uint32_t place;

	*stolen = false;
	if (GET(p->fresh) < NB_EVENT_PAIRS) {
		uint64_t n = __atomic_fetch_add(&p->fresh, 1, __ATOMIC_RELAXED);

		if (n < NB_EVENT_PAIRS)
			return (uint32_t)n;
	}
	if (pool_pop(p, &place)) {
		/* clear the tag, so that the entry's old number is invalid */
		__atomic_store_n(&p->place[place].tag, 0, __ATOMIC_RELEASE);
		return place;
	}
	*stolen = pool_steal(p, &place);
	return *stolen ? place : NB_EVENT_PAIRS;
}

void nb_event_pair_drop(uint32_t place)
{
	pool_push(pool, place);
}

uint64_t nb_event_pair_put(uint32_t place, const struct nb_event_pair *pair)
{
	struct place *p = &pool->place[place];
	uint64_t number;

	p->turn++;
	number = (p->turn << PLACE_BITS | place) & NUMBER_MASK;
	/*
	 * store the values after the tag was cleared, so that a reader of a new
	 * value sees that the tag has changed
	 */
	__atomic_store_n(&p->ours, pair->ours, __ATOMIC_RELEASE);
	__atomic_store_n(&p->owner, pair->owner, __ATOMIC_RELEASE);
	__atomic_store_n(&p->its, pair->its, __ATOMIC_RELEASE);
	__atomic_store_n(&p->tag, number << 1 | TAG_OPEN, __ATOMIC_RELEASE);
	return pair_nonce() | number;
}

bool nb_event_pair_get(uint64_t handle, bool open, bool stop, struct nb_event_pair *out)
{
	uint64_t number = handle & NUMBER_MASK, tag;
	struct place *p;
	void *its;

	if (!nb_event_pair_is(handle))
		return false;
	p = &pool->place[number & (NB_EVENT_PAIRS - 1)];
	tag = __atomic_load_n(&p->tag, __ATOMIC_ACQUIRE);
	if (tag >> 1 != number || !number || (open && !(tag & TAG_OPEN)))
		return false;
	out->ours = __atomic_load_n(&p->ours, __ATOMIC_ACQUIRE);
	out->owner = __atomic_load_n(&p->owner, __ATOMIC_ACQUIRE);
	out->its = __atomic_load_n(&p->its, __ATOMIC_ACQUIRE);
	if (stop) {
		if (!__atomic_compare_exchange_n(&p->tag, &tag, number << 1, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return false;
		pool_push(pool, (uint32_t)number & (NB_EVENT_PAIRS - 1));
	} else if (GET(p->tag) >> 1 != number) {
		return false; /* another thread has reused the entry */
	}
	if (!nb_event_pair_context(out->owner, &its))
		out->its = NULL;
	return true;
}

uint32_t nb_event_pair_delivered(uint32_t mask)
{
	uint32_t before;

	do {
		before = mask;
#define PROF_ABOVE(event, above)        \
	if (mask & NB_EVENT_BIT(event)) \
		mask |= NB_EVENT_BIT(above);
#include "core/defs/profiler.h"
	} while (mask != before);
	return mask;
}

void nb_event_pair_forked(void)
{
	for (uint32_t i = 0; i < NB_MAX_PCOMMS; i++)
		SET(comms[i].context, 0);
}
