// SPDX-License-Identifier: MIT
// The stand-in's profiler side: descriptors of every version as NCCL builds
// them on its stack, and the events of a whole collective in NCCL's order.
#include "test/fakes/host/prof.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/fakes/host/prof_descr.h"

static const char *const funcs[] = { "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
				     "AllReduce", "SendRecv", "Send",	   "Recv" };
static const char *const algos[] = { "TREE",	  "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
				     "NVLS_TREE", "PAT" };
static const char *const protos[] = { "LL", "LL128", "SIMPLE" };
/* NCCL has no name for uint8 */
static const char *const types[] = { "ncclInt8",     "Unknown",	       "ncclInt32",
				     "ncclUint32",   "ncclInt64",      "ncclUint64",
				     "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
				     "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2" };
static const char *const phases[] = { "initial_sync", "compute", "final_sync" };

int host_prof_since(uint64_t type)
{
	if (type >= HOST_KERNEL_PHASE)
		return 7;
	if (type >= HOST_CE_COLL)
		return 6;
	if (type >= HOST_GROUP_API)
		return 5;
	return type >= HOST_KERNEL_CH ? 3 : 1;
}

bool host_prof_open(struct host_prof *c, void *library, int abi)
{
	char symbol[40];

	snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", abi);
	c->p = dlsym(library, symbol);
	c->abi = abi;
	return c->p != NULL;
}

int host_prof_init(struct host_prof *c, host_prof_logger *log)
{
	if (c->abi < 4)
		return c->p->init.v1(&c->ctx, c->mask);
	if (c->abi == 4)
		return c->p->init.v4(&c->ctx, c->mask, c->name, c->id, c->nodes, c->ranks, c->rank,
				     log);
	return c->p->init.v5(&c->ctx, c->id, c->mask, c->name, c->nodes, c->ranks, c->rank, log);
}

#define HEAD(d)                                             \
	do {                                                \
		(d)->type = (__typeof__((d)->type))e->type; \
		(d)->parent = e->parent;                    \
		(d)->rank = c->rank;                        \
	} while (0)

#define PROXY(d)                                                                     \
	do {                                                                         \
		if (e->type == HOST_PROXY_OP)                                        \
			(d)->u.op = (struct proxy_op){ e->pid,	(uint8_t)e->channel, \
						       e->peer, e->steps,            \
						       1 << 19, e->send };           \
		else if (e->type == HOST_PROXY_STEP)                                 \
			(d)->u.step.step = e->step;                                  \
	} while (0)

#define COLL_TEXTS(to)                                 \
	do {                                           \
		(to)->seq = e->seq;                    \
		(to)->func = funcs[e->func];           \
		(to)->count = e->count;                \
		(to)->root = e->peer;                  \
		(to)->datatype = types[e->datatype];   \
		(to)->channels = (uint8_t)e->channels; \
		(to)->algo = algos[e->algo];           \
		(to)->proto = protos[e->proto];        \
	} while (0)

#define P2P_TEXTS(to)                                \
	do {                                         \
		(to)->func = funcs[e->func];         \
		(to)->datatype = types[e->datatype]; \
		(to)->count = e->count;              \
		(to)->peer = e->peer;                \
	} while (0)

static void *start_v1(struct host_prof *c, const struct host_event *e)
{
	struct descr_v1 d;
	void *h = (void *)-1;

	memset(&d, 0xab, sizeof(d));
	HEAD(&d);
	PROXY(&d);
	if (e->type == HOST_COLL) {
		d.u.coll.name = c->name;
		d.u.coll.hash = c->id;
		d.u.coll.seq = e->seq;
		d.u.coll.func = (uint8_t)e->func;
		d.u.coll.count = e->count;
		d.u.coll.root = e->peer;
		d.u.coll.datatype = (uint8_t)e->datatype;
		d.u.coll.channels = (uint8_t)e->channels;
		d.u.coll.algo = (uint8_t)e->algo;
		d.u.coll.proto = (uint8_t)e->proto;
	} else if (e->type == HOST_P2P) {
		d.u.p2p.name = c->name;
		d.u.p2p.hash = c->id;
		d.u.p2p.func = (uint8_t)e->func;
		d.u.p2p.datatype = (uint8_t)e->datatype;
		d.u.p2p.count = e->count;
		d.u.p2p.peer = e->peer;
	}
	c->p->start(c->ctx, &h, &d);
	return h;
}

static void *start_v2(struct host_prof *c, const struct host_event *e)
{
	struct descr_v2 d;
	void *h = (void *)-1;

	memset(&d, 0xab, sizeof(d));
	HEAD(&d);
	PROXY(&d);
	if (e->type == HOST_COLL) {
		d.u.coll.name = c->name;
		d.u.coll.hash = c->id;
		COLL_TEXTS(&d.u.coll);
	} else if (e->type == HOST_P2P) {
		d.u.p2p.name = c->name;
		d.u.p2p.hash = c->id;
		P2P_TEXTS(&d.u.p2p);
	}
	c->p->start(c->ctx, &h, &d);
	return h;
}

static void *start_v3(struct host_prof *c, const struct host_event *e)
{
	struct descr_v3 d;
	void *h = (void *)-1;

	memset(&d, 0xab, sizeof(d));
	HEAD(&d);
	PROXY(&d);
	if (e->type == HOST_COLL) {
		d.u.coll.name = c->name;
		d.u.coll.hash = c->id;
		COLL_TEXTS(&d.u.coll);
	} else if (e->type == HOST_P2P) {
		d.u.p2p.name = c->name;
		d.u.p2p.hash = c->id;
		P2P_TEXTS(&d.u.p2p);
	} else if (e->type == HOST_KERNEL_CH) {
		d.u.kernel.channel = (uint8_t)e->channel;
	}
	c->p->start(c->ctx, &h, &d);
	return h;
}

static void *start_v4(struct host_prof *c, const struct host_event *e)
{
	struct descr_v4 d;
	void *h = (void *)-1;

	memset(&d, 0xab, sizeof(d));
	HEAD(&d);
	PROXY(&d);
	if (e->type == HOST_COLL) {
		COLL_TEXTS(&d.u.coll);
	} else if (e->type == HOST_P2P) {
		P2P_TEXTS(&d.u.p2p); /* channels: left as garbage, 2.4 */
	} else if (e->type == HOST_KERNEL_CH) {
		d.u.kernel.channel = (uint8_t)e->channel;
		d.u.kernel.timer = e->timer;
	}
	c->p->start(c->ctx, &h, &d);
	return h;
}

static void *start_v5(struct host_prof *c, const struct host_event *e)
{
	struct descr_v5 d;
	void *h = (void *)-1;

	memset(&d, 0xab, sizeof(d));
	HEAD(&d);
	PROXY(&d);
	if (e->type == HOST_COLL) {
		COLL_TEXTS(&d.u.coll);
		d.u.coll.group = e->group;
	} else if (e->type == HOST_P2P) {
		P2P_TEXTS(&d.u.p2p);
		d.u.p2p.channels = (uint8_t)e->channels;
		d.u.p2p.group = e->group;
	} else if (e->type == HOST_KERNEL_CH) {
		d.u.kernel.channel = (uint8_t)e->channel;
		d.u.kernel.timer = e->timer;
	} else if (e->type == HOST_COLL_API) {
		d.u.coll_api.func = funcs[e->func];
		d.u.coll_api.count = e->count;
		d.u.coll_api.datatype = types[e->datatype];
		d.u.coll_api.root = e->peer;
	} else if (e->type == HOST_P2P_API) {
		d.u.p2p_api.func = funcs[e->func];
		d.u.p2p_api.count = e->count;
		d.u.p2p_api.datatype = types[e->datatype];
	}
	c->p->start(c->ctx, &h, &d);
	return h;
}

static void coll_v7(struct descr_v7 *d, const struct host_event *e)
{
	COLL_TEXTS(&d->u.coll);
	d->u.coll.group = e->group;
	d->u.coll.variant = e->symmetric ? "AllReduce_AGxLL_R" : NULL;
	d->u.coll.symmetric = e->symmetric;
	d->u.coll.tag = e->tag;
	if (e->symmetric) { /* words that are no algorithm and no protocol */
		d->u.coll.algo = "AGxLL_R";
		d->u.coll.proto = "";
	}
}

static void *start_v7(struct host_prof *c, const struct host_event *e)
{
	struct descr_v7 d;
	void *h = (void *)-1;

	memset(&d, 0xab, sizeof(d));
	HEAD(&d);
	PROXY(&d);
	if (e->type == HOST_COLL) {
		coll_v7(&d, e);
	} else if (e->type == HOST_P2P) {
		P2P_TEXTS(&d.u.p2p);
		d.u.p2p.channels = (uint8_t)e->channels;
		d.u.p2p.group = e->group;
		d.u.p2p.tag = e->tag;
	} else if (e->type == HOST_KERNEL_CH) {
		d.u.kernel.channel = (uint8_t)e->channel;
		d.u.kernel.timer = e->timer;
	} else if (e->type == HOST_KERNEL_PHASE) {
		d.u.phase.channel = (uint8_t)e->channel;
		d.u.phase.phase = (uint8_t)e->phase;
		d.u.phase.name = phases[e->phase];
		d.u.phase.timer = e->timer;
	} else if (e->type == HOST_COLL_API) {
		d.u.coll_api.func = funcs[e->func];
		d.u.coll_api.count = e->count;
		d.u.coll_api.datatype = types[e->datatype];
		d.u.coll_api.root = e->peer;
		d.u.coll_api.tag = e->tag;
	} else if (e->type == HOST_P2P_API) {
		d.u.p2p_api.func = funcs[e->func];
		d.u.p2p_api.count = e->count;
		d.u.p2p_api.datatype = types[e->datatype];
		d.u.p2p_api.tag = e->tag;
	}
	c->p->start(c->ctx, &h, &d);
	return h;
}

void *host_prof_start(struct host_prof *c, const struct host_event *e)
{
	switch (c->abi) {
	case 1:
		return start_v1(c, e);
	case 2:
		return start_v2(c, e);
	case 3:
		return start_v3(c, e);
	case 4:
		return start_v4(c, e);
	case 5:
	case 6:
		return start_v5(c, e);
	}
	return start_v7(c, e);
}

void host_prof_state(struct host_prof *c, void *handle, int state, uint64_t arg)
{
	uint64_t args[2] = { arg, 1 }; /* 16 bytes up to v3, 8 from v4 on */

	c->p->state(handle, state, args);
}

void host_prof_state_null(struct host_prof *c, void *handle, int state)
{
	c->p->state(handle, state, NULL);
}

void host_prof_stop(struct host_prof *c, void *handle)
{
	c->p->stop(handle);
}

void host_prof_fini(struct host_prof *c)
{
	if (c->ctx) /* 2.12 */
		c->p->finalize(c->ctx);
	c->ctx = NULL;
}

/* ---- a collective ---- */

/* The types that a mask brings: what it names and their ancestors. */
static uint64_t delivered(const struct host_prof *c, uint64_t mask)
{
	uint64_t low = HOST_PROXY_STEP | HOST_PROXY_OP | HOST_KERNEL_CH | HOST_NET_PLUGIN;

	if (c->abi >= 7 && mask & HOST_KERNEL_PHASE)
		mask |= HOST_KERNEL_CH;
	if (mask & (HOST_PROXY_STEP | HOST_NET_PLUGIN))
		mask |= HOST_PROXY_OP;
	if (mask & low)
		mask |= HOST_COLL | HOST_P2P;
	if (mask & (HOST_COLL_API | HOST_P2P_API))
		mask |= HOST_GROUP_API;
	if (mask & (HOST_COLL | HOST_P2P))
		mask |= HOST_GROUP | HOST_GROUP_API | HOST_COLL_API | HOST_P2P_API;
	for (uint64_t t = 1; t <= HOST_LAST; t <<= 1)
		if (host_prof_since(t) > c->abi)
			mask &= ~t;
	return mask;
}

static void *begin(struct host_prof *c, uint64_t mask, struct host_event e)
{
	return mask & e.type ? host_prof_start(c, &e) : NULL;
}

static void end(struct host_prof *c, void *h)
{
	if (h)
		host_prof_stop(c, h);
}

static void proxies(struct host_prof *c, uint64_t mask, const struct host_coll *k, void *task)
{
	for (int i = 0; i < k->ops; i++) {
		void *op = begin(c, mask,
				 (struct host_event){ .type = HOST_PROXY_OP,
						      .parent = task,
						      .pid = getpid(),
						      .channel = i / 2,
						      .send = i % 2,
						      .steps = k->steps });

		if (op && c->abi >= 4)
			host_prof_state(c, op, 19, 0);
		for (int s = 0; s < k->steps; s++) {
			void *step =
				begin(c, mask,
				      (struct host_event){
					      .type = HOST_PROXY_STEP, .parent = op, .step = s });

			if (!step)
				continue;
			host_prof_state(c, step, i % 2 ? 8 : 10, 0);
			host_prof_state(c, step, i % 2 ? 9 : 12, 4096);
			end(c, step);
		}
		end(c, op);
	}
}

/* The phases of a symmetric kernel, when it has ended; a third of its time each. */
static void kernel_phases(struct host_prof *c, uint64_t mask, const struct host_coll *k,
			  int channel, void *kernel)
{
	uint64_t third = (k->gpu_to - k->gpu_from) / 3;

	if (!(mask & HOST_KERNEL_PHASE) || !k->symmetric)
		return;
	for (int i = 0; i < 3; i++) {
		uint64_t from = k->gpu_from + (uint64_t)i * third;
		void *h = host_prof_start(c, &(struct host_event){ .type = HOST_KERNEL_PHASE,
								   .parent = kernel,
								   .channel = channel,
								   .phase = i,
								   .timer = from });

		if (!h)
			continue;
		host_prof_state(c, h, 31, from + third);
		host_prof_stop(c, h);
	}
}

/* A collective's kernels; @mask is what the collective was told with. */
struct kernels {
	struct host_prof *c;
	uint64_t mask;
	const struct host_coll *k;
	void *task;
};

static void *kernels(void *arg)
{
	const struct kernels *a = arg;
	struct host_prof *c = a->c;
	const struct host_coll *k = a->k;
	void *ch[256] = { NULL };

	for (int i = 0; i < k->channels; i++)
		ch[i] = begin(c, a->mask,
			      (struct host_event){ .type = HOST_KERNEL_CH,
						   .parent = a->task,
						   .channel = i,
						   .timer = k->gpu_from });
	for (int i = 0; i < k->channels; i++) {
		if (ch[i])
			kernel_phases(c, a->mask, k, i, ch[i]);
		if (ch[i] && c->abi >= 4)
			host_prof_state(c, ch[i], 22, k->gpu_to);
		end(c, ch[i]);
	}
	return NULL;
}

/* The proxy's thread tells of them, or from 2.31 on another one. */
static void run_kernels(struct kernels *a)
{
	pthread_t t;

	if (a->c->abi < 7 || !(a->mask & HOST_KERNEL_CH) || pthread_create(&t, NULL, kernels, a))
		kernels(a);
	else
		pthread_join(t, NULL);
}

static uint64_t mask_of(const struct host_prof *c)
{
	return delivered(c, (uint64_t)__atomic_load_n(c->mask, __ATOMIC_RELAXED));
}

void host_prof_call(struct host_prof *c, struct host_coll *k)
{
	uint64_t mask = mask_of(c);
	struct host_event api = {
		.type = k->p2p ? HOST_P2P_API : HOST_COLL_API,
		.count = k->count,
		.func = k->func,
		.datatype = k->datatype,
		.tag = k->tag,
	};

	k->called = true;
	k->group_api = begin(c, mask, (struct host_event){ .type = HOST_GROUP_API });
	api.parent = k->group_api;
	k->coll_api = begin(c, mask, api);
	end(c, k->coll_api);
}

void host_prof_lone_call(struct host_prof *c, const struct host_coll *k)
{
	struct host_coll more = *k;

	host_prof_call(c, &more);
	if (more.group_api)
		host_prof_stop(c, more.group_api);
}

void host_prof_coll(struct host_prof *c, const struct host_coll *what)
{
	struct host_coll all = *what;
	const struct host_coll *k = &all;
	uint64_t mask = mask_of(c);
	struct host_event task = { .type = k->p2p ? HOST_P2P : HOST_COLL,
				   .seq = k->seq,
				   .count = k->count,
				   .func = k->func,
				   .algo = k->algo,
				   .proto = k->proto,
				   .datatype = k->datatype,
				   .channels = k->channels,
				   .tag = k->tag,
				   .symmetric = k->symmetric,
				   .peer = 0 };
	void *group, *t;

	if (!mask && !k->called)
		return;
	if (!k->called)
		host_prof_call(c, &all);
	group = begin(c, mask, (struct host_event){ .type = HOST_GROUP });
	task.parent = c->abi >= 5 ? k->coll_api : group;
	task.group = group;
	t = begin(c, mask, task);
	end(c, t);
	end(c, group);
	end(c, k->group_api);
	if (t) {
		proxies(c, mask, k, t);
		run_kernels(&(struct kernels){ c, mask, k, t });
	}
}
