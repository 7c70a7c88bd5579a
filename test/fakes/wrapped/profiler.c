// SPDX-License-Identifier: MIT
// A profiler of somebody else's, one object a version (V), which believes what
// it is told and checks it: handles must be its own, parents of the right kind
// and alive, each event started and stopped once, the communicator the one of
// init. At its end it says what it was told; what it does wrong is in
// CHAIN_DOES: "fail_init", "fail" (all calls return errors), "null" (no
// handles), "switch" (its mask is zero after 40 events). CHAIN_MASK: what it
// asks for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/fakes/host/prof.h"
#include "test/fakes/host/prof_descr.h"

#define EXPORT __attribute__((visibility("default")))
#define GLUE(a, b) a##b
#define DESCR(v) struct GLUE(descr_v, v)
#if V == 6
typedef struct descr_v5 descr;
#else
typedef DESCR(V) descr;
#endif

enum { MAGIC = 0x70656572, INTERNAL = 3 };

struct comm {
	char name[32];
	uint64_t id;
	unsigned started, stopped, states, orphans, foreign, bad;
	uint64_t sum;
	struct object *all;
};

struct object {
	uint32_t magic;
	uint64_t type;
	bool stopped;
	struct comm *comm;
	struct object *next;
};

static int *mask;

/* For tests that look into it: of all communicators, and of all versions in a file. */
EXPORT __attribute__((common)) unsigned peer_bad, peer_started, peer_stopped, peer_states,
	peer_phases;
#define COUNT(n) __atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED)

static bool does(const char *word)
{
	const char *what = getenv("CHAIN_DOES");

	return what && !strcmp(what, word);
}

static int result(void)
{
	return does("fail") ? INTERNAL : 0;
}

/* What cannot be believed is said at once. */
static void wrong(struct comm *c, const char *what, unsigned long long n)
{
	COUNT(peer_bad);
	if (!COUNT(c->bad))
		fprintf(stderr, "peer: profiler v%d: %s (%llu)\n", V, what, n);
}

static int begin(void **ctx, int *asked)
{
	const char *want = getenv("CHAIN_MASK");
	struct comm *c = calloc(1, sizeof(*c));

	if (!c || does("fail_init")) {
		free(c);
		return INTERNAL;
	}
	mask = asked;
	__atomic_store_n(mask, want ? atoi(want) : HOST_PROXY_STEP | HOST_KERNEL_CH,
			 __ATOMIC_RELAXED);
	*ctx = c;
	return 0;
}

/* ---- what is told, in the same words for all versions ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	return (h ^ v) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
}

#if V > 1
static uint64_t text(const char *t)
{
	uint64_t h = 5381;

	while (*t)
		h = h * 33 + (unsigned char)*t++;
	return h;
}
#else
#define text(number) (number)
#endif

static uint64_t words(struct comm *c, const descr *d)
{
	uint64_t h = mix(1, d->type);

	if (d->type == HOST_COLL) {
#if V < 4
		if (strcmp(d->u.coll.name, "world") != 0 || !d->u.coll.hash)
			wrong(c, "no name, or no hash", d->u.coll.hash);
		h = mix(h, d->u.coll.hash);
#endif
		h = mix(h, d->u.coll.seq);
		h = mix(h, text(d->u.coll.func));
		h = mix(h, d->u.coll.count);
		h = mix(h, (uint32_t)d->u.coll.root);
		h = mix(h, text(d->u.coll.datatype));
		h = mix(h, d->u.coll.channels);
		h = mix(h, text(d->u.coll.algo));
		h = mix(h, text(d->u.coll.proto));
#if V >= 7
		h = mix(h, mix(d->u.coll.symmetric, d->u.coll.tag));
		h = mix(h, d->u.coll.variant ? text(d->u.coll.variant) : 0);
#endif
	} else if (d->type == HOST_PROXY_OP) {
		if (d->u.op.pid != getpid())
			COUNT(c->foreign);
		h = mix(h, d->u.op.channel);
		h = mix(h, (uint32_t)d->u.op.peer);
		h = mix(h, (uint32_t)d->u.op.steps);
		h = mix(h, (uint32_t)d->u.op.chunk);
		h = mix(h, (uint32_t)d->u.op.send);
	} else if (d->type == HOST_PROXY_STEP) {
		h = mix(h, (uint32_t)d->u.step.step);
	}
#if V >= 3
	if (d->type == HOST_KERNEL_CH)
		h = mix(h, d->u.kernel.channel);
#endif
#if V >= 4
	if (d->type == HOST_KERNEL_CH)
		h = mix(h, d->u.kernel.timer);
#endif
#if V >= 5
	if (d->type == HOST_COLL_API)
		h = mix(h, mix(text(d->u.coll_api.func), d->u.coll_api.count));
#endif
#if V >= 7
	if (d->type == HOST_COLL_API)
		h = mix(h, d->u.coll_api.tag);
	if (d->type == HOST_KERNEL_PHASE) {
		COUNT(peer_phases);
		h = mix(h, mix(d->u.phase.channel, text(d->u.phase.name)));
		h = mix(h, mix(d->u.phase.phase, d->u.phase.timer));
	}
#elif V >= 5
	if (d->type == HOST_KERNEL_PHASE)
		wrong(c, "an event that this version does not have", d->type);
#endif
	return h;
}

/* Types that an event's parent may have. */
static uint64_t above(uint64_t type)
{
	if (type == HOST_COLL)
		return V < 5 ? HOST_GROUP : HOST_COLL_API;
	if (type == HOST_P2P)
		return V < 5 ? HOST_GROUP : HOST_P2P_API;
	if (type == HOST_PROXY_STEP)
		return HOST_PROXY_OP;
	if (type == HOST_PROXY_OP || type == HOST_KERNEL_CH)
		return HOST_COLL | HOST_P2P;
	if (type == HOST_COLL_API || type == HOST_P2P_API)
		return HOST_GROUP_API;
	if (type == HOST_KERNEL_PHASE)
		return HOST_KERNEL_CH;
	return 0;
}

static void check_parent(struct comm *c, void *parent, uint64_t types)
{
	const struct object *o = parent;

	if (!types)
		return;
	if (!o)
		COUNT(c->orphans);
	else if (o->magic != MAGIC || !(o->type & types))
		wrong(c, "a parent of another kind", o->type);
}

static int start(void *ctx, void **handle, void *what)
{
	struct comm *c = ctx;
	const descr *d = what;
	struct object *o;

	*handle = NULL;
	COUNT(peer_started);
	COUNT(c->started);
	__atomic_fetch_add(&c->sum, words(c, d), __ATOMIC_RELAXED);
	check_parent(c, d->parent, above(d->type));
#if V >= 5
	if (d->type == HOST_COLL)
		check_parent(c, d->u.coll.group, HOST_GROUP);
#endif
	if (does("switch") && c->started == 40)
		__atomic_store_n(mask, 0, __ATOMIC_RELAXED);
	if (does("null") || does("fail"))
		return result();
	o = calloc(1, sizeof(*o));
	if (!o)
		return INTERNAL;
	o->magic = MAGIC;
	o->type = d->type;
	o->comm = c;
	o->next = __atomic_load_n(&c->all, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&c->all, &o->next, o, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
	*handle = o;
	return 0;
}

static int stop(void *handle)
{
	struct object *o = handle;

	if (o->magic != MAGIC || o->stopped) {
		wrong(o->comm, "a handle that is stopped or not mine", 0);
		return INTERNAL;
	}
	o->stopped = true;
	COUNT(o->comm->stopped);
	COUNT(peer_stopped);
	return result();
}

static int state(void *handle, int value, void *args)
{
	struct object *o = handle;
	struct comm *c = o->comm;

	if (o->magic != MAGIC || o->stopped)
		wrong(c, "a state of a handle that is stopped or not mine", (unsigned)value);
	if (V < 4 && value > 18)
		wrong(c, "a state that this version does not have", (unsigned)value);
	if (value == 31 && (V < 7 || o->type != HOST_KERNEL_PHASE))
		wrong(c, "the end of a phase", o->type);
	COUNT(c->states);
	COUNT(peer_states);
	if (args && (value == 12 || value == 9 || value == 31))
		__atomic_fetch_add(&c->sum, mix((unsigned)value, *(uint64_t *)args),
				   __ATOMIC_RELAXED);
	return result();
}

static int finalize(void *ctx)
{
	struct comm *c = ctx;
	unsigned leaked = 0;

	for (struct object *o = c->all, *next; o; o = next) {
		next = o->next;
		leaked += !o->stopped;
		o->magic = 0;
		free(o);
	}
	fprintf(stderr,
		"peer: profiler v%d: %u events, %u stops, %u states, %u "
		"orphans, %u open, %u foreign, bad %u, sum %llx\n",
		V, c->started, c->stopped, c->states, c->orphans, leaked, c->foreign, c->bad,
		(unsigned long long)c->sum);
	free(c);
	return result();
}

#if V < 4
static int init(void **ctx, int *asked)
{
	return begin(ctx, asked);
}
#define INIT .v1
#else
static int init_named(void **ctx, uint64_t id, int *asked, const char *name, int ranks, int rank,
		      host_prof_logger *log)
{
	int rc = begin(ctx, asked);
	struct comm *c = *ctx;

	if (rc)
		return rc;
	if (!name || strcmp(name, "world") != 0 || !id || !log || rank < 0 || rank >= ranks)
		wrong(c, "init of another communicator", id);
	return 0;
}
#if V == 4
static int init(void **ctx, int *asked, const char *name, uint64_t id, int nodes, int ranks,
		int rank, host_prof_logger *log)
{
	(void)nodes;
	return init_named(ctx, id, asked, name, ranks, rank, log);
}
#define INIT .v4
#else
static int init(void **ctx, uint64_t id, int *asked, const char *name, int nodes, int ranks,
		int rank, host_prof_logger *log)
{
	(void)nodes;
	return init_named(ctx, id, asked, name, ranks, rank, log);
}
#define INIT .v5
#endif
#endif

#define NAME(v) GLUE(ncclProfiler_v, v)
EXPORT const struct host_profiler
	NAME(V) = { "peer", { INIT = init }, start, stop, state, finalize };
