// SPDX-License-Identifier: MIT
/*
 * Pairs of handles for a wrapped profiler. Threads take the entries in turn and
 * pass over those whose events are open. A thread owns an entry from taking it
 * until it stores the tag. Readers check the tag before and after reading.
 */
#include "plugin/profiler/event_pairs.h"

#include <stddef.h>
#include <sys/mman.h>

#include "plugin/profiler/state.h"
#include "plugin/runtime/relaxed.h"

enum { PLACE_BITS = 16, NUMBER_BITS = NB_HANDLE_KIND + 4 };
/* open entries in a row that a thread passes over, twice, before it takes one away */
enum { OPEN_MOST = 256 };
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

/*
 * An entry's tag: bit 0 is set while its event is open; the other bits are the
 * pair's number, or 0 while a thread owns the entry.
 */
enum { TAG_OPEN = 1, TAG_TAKEN = TAG_OPEN };

struct place {
	uint64_t tag; /* accessed atomically; 0: the entry was never used */
	/* part of the pair's number; only the entry's owner uses it */
	uint64_t turn;
	uint64_t ours, owner; /* accessed atomically */
	void *its;	      /* accessed atomically */
};

struct pool {
	struct place place[NB_EVENT_PAIRS];
	uint64_t next __attribute__((aligned(64))); /* accessed atomically */
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

/* Take the entry if its event is closed, or open (@open). */
static bool take_entry(struct place *p, bool open)
{
	uint64_t tag = GET(p->tag);

	return tag != TAG_TAKEN && (tag & TAG_OPEN) == open &&
	       __atomic_compare_exchange_n(&p->tag, &tag, TAG_TAKEN, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Take the first closed entry of OPEN_MOST from @from on. Returns NB_EVENT_PAIRS if none is. */
static uint32_t take_closed(uint64_t from)
{
	for (uint64_t n = from; n < from + OPEN_MOST; n++)
		if (take_entry(&pool->place[n % NB_EVENT_PAIRS], false))
			return n % NB_EVENT_PAIRS;
	return NB_EVENT_PAIRS;
}

uint32_t nb_event_pair_take(bool *stolen)
{
	uint64_t first = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);
	uint32_t place = take_closed(first);

	*stolen = false;
	if (place == NB_EVENT_PAIRS)
		/* the events that follow pass over these entries, too */
		place = take_closed(__atomic_fetch_add(&pool->next, OPEN_MOST, __ATOMIC_RELAXED) +
				    OPEN_MOST - 1);
	if (place != NB_EVENT_PAIRS)
		return place;
	/*
	 * So many in a row were open when their turn came again: they are never
	 * stopped. Take one away, because NCCL's thread waits.
	 */
	*stolen = take_entry(&pool->place[first % NB_EVENT_PAIRS], true);
	return *stolen ? first % NB_EVENT_PAIRS : NB_EVENT_PAIRS;
}

void nb_event_pair_drop(uint32_t place)
{
	__atomic_store_n(&pool->place[place].tag, 0, __ATOMIC_RELEASE);
}

uint64_t nb_event_pair_put(uint32_t place, const struct nb_event_pair *pair)
{
	struct place *p = &pool->place[place];
	uint64_t number;

	p->turn++;
	number = (p->turn << PLACE_BITS | place) & NUMBER_MASK;
	/*
	 * store the values after the entry was taken, so that a reader of a new
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
	if (stop ? !__atomic_compare_exchange_n(&p->tag, &tag, number << 1, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)
		 : GET(p->tag) >> 1 != number)
		return false; /* another thread has stopped the event, or reused the entry */
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
