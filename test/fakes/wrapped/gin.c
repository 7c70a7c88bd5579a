// SPDX-License-Identifier: MIT
// A vendor's GIN or RMA plugin, of version ABI: ranks of one process,
// memory copied at once, each request done at its second test. It writes down
// what it is asked.
#include "test/fakes/wrapped/gin.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/abi/gin_abi.h"

struct gin_plugin_seen gin_plugin_seen __attribute__((visibility("default")));
#define seen gin_plugin_seen

enum { RANKS = 4, REGIONS = 16, CONTEXTS = 4 };

struct coll {
	int rank;
	unsigned nregions;
	struct {
		char *data;
		size_t size;
	} region[REGIONS];
};
struct ctx {
	struct coll *coll;
};
struct request {
	unsigned polls;
};

static struct coll *colls[RANKS]; /* of the last connect */

static int g_init(void **ctx, uint64_t id, nb_net_logger *log)
{
	(void)id, (void)log;
	seen.inits++;
	*ctx = &seen;
	return seen.fail_init;
}

static int g_finalize(void *ctx)
{
	seen.finalizes += ctx == &seen;
	return 0;
}

static int g_devices(int *n)
{
	*n = 3;
	return 0;
}

static int g_properties(int dev, void *props)
{
	struct nb_net_props_v12 *p = props; /* the same up to device_type */

	p->name = (char *)(uintptr_t) "theirs";
	p->speed = 400000 + dev;
	p->ptr_support = NB_NET_HOST_MEMORY | NB_NET_CUDA_MEMORY;
	p->max_recvs = 8;
	p->device_type = seen.device_type ? seen.device_type : 2;
	return 0;
}

static int g_listen(void *ctx, int dev, void *handle, void **l)
{
	(void)dev;
	seen.listens += ctx == &seen;
	memset(handle, 1, 4);
	*l = &seen;
	return 0;
}

static int g_close_listen(void *l)
{
	return l == &seen ? 0 : 3;
}

static int connect_any(void *ctx, int rank, void *l, void **coll)
{
	struct coll *c = calloc(1, sizeof(*c));

	if (l != &seen)
		return 4;
	__atomic_store_n(&seen.null_context, !ctx, __ATOMIC_RELAXED);
	c->rank = rank;
	colls[rank] = c;
	__atomic_fetch_add(&seen.connects, 1, __ATOMIC_RELAXED);
	*coll = c;
	return 0;
}

static int g_close(void *coll)
{
	seen.colls++;
	free(coll);
	return 0;
}

static int g_reg(void *coll, void *data, size_t size, int type, uint64_t flags, void **mh,
		 void **gh)
{
	struct coll *c = coll;

	(void)type, (void)flags;
	c->region[c->nregions].data = data;
	c->region[c->nregions].size = size;
	*mh = (void *)(uintptr_t)(++c->nregions);
	if (gh)
		*gh = (void *)(uintptr_t)(c->nregions + 100);
	seen.regs++;
	return 0;
}

static int g_dereg(void *coll, void *mh)
{
	seen.deregs += coll && mh;
	return 0;
}

static int make_context(void *coll, int n, void **ctx)
{
	struct ctx *x = calloc(1, sizeof(*x));

	x->coll = coll;
	seen.contexts += (unsigned)n;
	*ctx = x;
	return 0;
}

static int g_destroy(void *ctx)
{
	free(ctx);
	return 0;
}

/* GIN handles are mhandle + 100. */
static char *memory(struct coll *c, void *handle, uint64_t off)
{
	uintptr_t n = (uintptr_t)handle;

	return c->region[(n > 100 ? n - 100 : n) - 1].data + off;
}

#define PUT_ARGS NB_GIN_PUT_ARGS
#define COPY src_off, src, size, dst_off, dst, rank

static int put(struct coll *c, int context, PUT_ARGS, NB_GIN_SIGNAL_ARGS, bool strong,
	       uint32_t flags, void **req)
{
	unsigned i = seen.nput++ % 64;
	int rc = seen.fail_put;

	seen.fail_put = 0;
	seen.put[i].size = size;
	seen.put[i].value = value;
	seen.put[i].op = op;
	seen.put[i].flags = flags;
	seen.put[i].rank = rank;
	seen.put[i].context = context;
	seen.put[i].strong = strong;
	if (rc)
		return rc;
	if (size)
		memcpy(memory(colls[rank], dst, dst_off), memory(c, src, src_off), size);
	if (op)
		__atomic_fetch_add((uint64_t *)(void *)memory(colls[rank], sig, sig_off),
				   op == 1 ? 1 : value, __ATOMIC_RELEASE);
	*req = calloc(1, sizeof(struct request));
	return 0;
}

static int g_test(void *coll, void *req, int *done)
{
	struct request *r = req;

	seen.tests += coll != NULL;
	*done = ++r->polls == 2;
	if (*done)
		free(r);
	return 0;
}

static int g_progress(void *any)
{
	seen.progresses += any != NULL;
	return 0;
}

static int g_query(void *ctx, bool *failed)
{
	*failed = ctx == NULL;
	return 0;
}

#if ABI == 12
static int g_connect(void *ctx, void *handles[], int n, int rank, int nconn, int depth, void *l,
		     void **coll)
{
	(void)handles, (void)n, (void)nconn, (void)depth;
	return connect_any(ctx, rank, l, coll);
}
#elif ABI >= 17
static int g_connect(void *ctx, void *handles[], int n, int rank, void *l, void **coll,
		     const volatile uint32_t *abort_flag)
{
	(void)handles, (void)n;
	__atomic_store_n(&seen.aborted, abort_flag ? (int)*abort_flag : -1, __ATOMIC_RELAXED);
	return connect_any(ctx, rank, l, coll);
}
#else
static int g_connect(void *ctx, void *handles[], int n, int rank, void *l, void **coll)
{
	(void)handles, (void)n;
	return connect_any(ctx, rank, l, coll);
}
#endif

#if ABI < 13
static int g_iput(void *coll, PUT_ARGS,
#if ABI == 12
		  int k,
#endif
		  void **req)
{
#if ABI != 12
	int k = 0;
#endif
	return put(coll, k, COPY, 0, NULL, 0, 0, true, 0, req);
}

static int g_iput_signal(void *coll, PUT_ARGS, NB_GIN_SIGNAL_ARGS,
#if ABI == 12
			 int k,
#endif
			 void **req)
{
#if ABI != 12
	int k = 0;
#endif
	return put(coll, k, COPY, sig_off, sig, value, op, true, 0, req);
}
#else
static int g_iput(void *ctx, int k, PUT_ARGS,
#if ABI >= 15
		  uint32_t flags,
#endif
		  void **req)
{
#if ABI < 15
	uint32_t flags = 0;
#endif
	return put(((struct ctx *)ctx)->coll, k, COPY, 0, NULL, 0, 0, true, flags, req);
}

static int g_iput_signal(void *ctx, int k, PUT_ARGS, NB_GIN_SIGNAL_ARGS,
#if ABI >= 14
			 bool strong,
#endif
#if ABI >= 15
			 uint32_t flags,
#endif
			 void **req)
{
#if ABI < 14
	bool strong = true;
#endif
#if ABI < 15
	uint32_t flags = 0;
#endif
	return put(((struct ctx *)ctx)->coll, k, COPY, sig_off, sig, value, op, strong, flags, req);
}

static int g_iget(void *ctx, int k, uint64_t remote_off, void *remote, size_t size,
		  uint64_t local_off, void *local, uint32_t rank,
#if ABI >= 15
		  uint32_t flags,
#endif
		  void **req)
{
	(void)k;
#if ABI >= 15
	(void)flags;
#endif
	memcpy(memory(((struct ctx *)ctx)->coll, local, local_off),
	       memory(colls[rank], remote, remote_off), size);
	seen.gets++;
	*req = calloc(1, sizeof(struct request));
	return 0;
}

static int g_iflush(void *ctx, int k, void *mh, uint32_t rank, void **req)
{
	(void)ctx, (void)k, (void)mh, (void)rank;
	seen.flushes++;
	*req = NULL;
	return 0;
}
#endif

#if ABI >= 17
/* NCCL frees its list after the call. */
static void keep_peers(int *n, int to[4], const int *list, int count)
{
	*n = count;
	for (int i = 0; list && i < count && i < 4; i++)
		to[i] = list[i];
}
#endif

#if ABI == 11
static int g_create(void *coll, int s, int c, void **ctx, void **devh)
{
	(void)s, (void)c;
	*devh = &seen;
	return make_context(coll, 1, ctx);
}
#elif ABI == 12
static int g_create(void *coll, int s, int c, int n, void **ctx, void **devh)
{
	(void)s, (void)c;
	*devh = &seen;
	return make_context(coll, n, ctx);
}
#elif ABI == 13
static int g_create(void *coll, struct nb_gin_config_v13 *k, void **ctx, void **devh)
{
	*devh = &seen;
	return make_context(coll, k->ncontexts, ctx);
}
#elif ABI < 17
static int g_create(void *coll, struct nb_rma_config *k, void **ctx)
{
	seen.rank_stride = k->rank_stride;
	return make_context(coll, k->ncontexts, ctx);
}
#else
static int g_create(void *coll, struct nb_rma_config_v17 *k, void **ctx)
{
	keep_peers(&seen.npeers, seen.peers, k->peers, k->npeers);
	return make_context(coll, k->ncontexts, ctx);
}
#endif
#if ABI >= 14
static int g_reg_rma(void *coll, void *data, size_t size, int type, uint64_t flags, void **mh)
{
	return g_reg(coll, data, size, type, flags, mh, NULL);
}
#endif

#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if ABI >= 16
static int g_rma_properties(void *coll, struct nb_rma_properties *p)
{
	p->flushes_all = coll && seen.flushes_all;
	return 0;
}
#endif

#if ABI < 13
#define TABLE struct nb_gin_table_v11
#elif ABI < 16
#define TABLE struct nb_gin_table
#else
#define TABLE struct nb_rma_table_v16
#endif
#if ABI >= 14
#define NAME GLUE(ncclRmaPlugin_v, ABI)
#else
#define NAME GLUE(ncclGinPlugin_v, ABI)
#endif

extern TABLE NAME;
__attribute__((visibility("default"))) TABLE NAME = {
	.name = "theirs",
	.init = g_init,
	.devices = g_devices,
	.get_properties = g_properties,
	.listen = g_listen,
#if ABI == 12
	.connect = { .v12 = g_connect },
#elif ABI >= 17
	.connect = { .v15 = g_connect },
#else
	.connect = { .v11 = g_connect },
#endif
#if ABI >= 16
	.get_rma_properties = g_rma_properties,
#endif
#if ABI >= 17
	.create_context = { .rma_v17 = g_create },
	.reg_mr = { .rma_v14 = g_reg_rma },
#elif ABI >= 14
	.create_context = { .rma_v14 = g_create },
	.reg_mr = { .rma_v14 = g_reg_rma },
#else
	.create_context = { .GLUE(v, ABI) = g_create },
	.reg_mr = { .v11 = g_reg },
#endif
	.dereg_mr = g_dereg,
	.destroy_context = g_destroy,
	.close_coll = g_close,
	.close_listen = g_close_listen,
#if ABI >= 15
	.iput = { .rma_v15 = g_iput },
	.iput_signal = { .rma_v15 = g_iput_signal },
	.iget = { .rma_v15 = g_iget },
#elif ABI == 14
	.iput = { .v13 = g_iput },
	.iput_signal = { .rma_v14 = g_iput_signal },
	.iget = { .v13 = g_iget },
#elif ABI == 13
	.iput = { .v13 = g_iput },
	.iput_signal = { .v13 = g_iput_signal },
	.iget = { .v13 = g_iget },
#else
	.iput = { .GLUE(v, ABI) = g_iput },
	.iput_signal = { .GLUE(v, ABI) = g_iput_signal },
#endif
#if ABI >= 13
	.iflush = g_iflush,
#endif
	.test = g_test,
	.progress = g_progress,
	.query_last_error = g_query,
	.finalize = g_finalize,
};

/* A second table of the same library, GIN v14 or v15: a device type that is not the proxy. */
#if ABI == 15 || ABI == 17
static struct coll device_coll;
static int device_ctx;

static int d_init(void **ctx, uint64_t id, nb_net_logger *log)
{
	(void)id, (void)log;
	seen.device_inits++;
	*ctx = &device_ctx;
	return 0;
}

static int d_finalize(void *ctx)
{
	return ctx == &device_ctx ? 0 : 3;
}

static int d_devices(int *n)
{
	int rc = seen.fail_devices;

	seen.fail_devices = 0;
	*n = rc || seen.no_device ? 0 : 2;
	return rc;
}

#if ABI == 15
static int d_signals(struct nb_gin_signals_v14 *signals)
{
	*signals = (struct nb_gin_signals_v14){ .va = true };
	return 0;
}
#else
static int d_signals(struct nb_gin_signals *signals)
{
	*signals = (struct nb_gin_signals){ .va = true, .barrier = seen.barrier };
	return 0;
}
#endif

static int d_properties(int dev, void *props)
{
	struct nb_net_props_v12 *p = props;

	p->name = (char *)(uintptr_t) "theirs";
	p->speed = 800000 + dev;
	p->device_type = 3;
	return 0;
}

static int d_listen(void *ctx, int dev, void *handle, void **l)
{
	(void)dev;
	memset(handle, 2, 4);
	*l = &device_ctx;
	return ctx == &device_ctx || seen.null_context ? 0 : 3;
}

static int d_close_listen(void *l)
{
	return l == &device_ctx ? 0 : 3;
}

static int d_connect(void *ctx, void *handles[], int n, int rank, void *l, void **coll
#if ABI == 17
		     ,
		     const volatile uint32_t *abort_flag
#endif
)
{
	(void)ctx, (void)n, (void)rank;
#if ABI == 17
	seen.device_aborted = abort_flag ? (int)*abort_flag : -1;
#endif
	if (l != &device_ctx || *(char *)handles[0] != 2)
		return 4;
	seen.device_connects++;
	*coll = &device_coll;
	return 0;
}

#if ABI == 15
static int d_create(void *coll, struct nb_gin_config_v14 *k, void **ctx, void **devh)
{
	seen.rank_stride = k->rank_stride;
#else
static int d_create(void *coll, struct nb_gin_config_v15 *k, void **ctx, void **devh)
{
	keep_peers(&seen.device_npeers, seen.device_peers, k->peers, k->npeers);
#endif
	seen.device_contexts = k->ncontexts;
	seen.backend_version = k->backend_version;
	*ctx = &device_ctx;
	*devh = &device_ctx;
	return coll == &device_coll ? 0 : 3;
}

static int d_destroy(void *ctx)
{
	return ctx == &device_ctx ? 0 : 3;
}

static int d_close(void *coll)
{
	seen.device_closes += coll == &device_coll;
	return 0;
}

static int d_query(void *ctx, bool *failed)
{
	*failed = ctx == &device_ctx;
	return 0;
}

#if ABI == 15
#define DEVICE_TABLE ncclGinPlugin_v14
#define OF v14
#define OF_CONNECT v11
#else
#define DEVICE_TABLE ncclGinPlugin_v15
#define OF v15
#define OF_CONNECT v15
#endif
extern struct nb_gin_table_v14 DEVICE_TABLE;
__attribute__((visibility("default"))) struct nb_gin_table_v14 DEVICE_TABLE = {
	.name = "theirs",
	.init = d_init,
	.devices = d_devices,
	.get_gin_properties = { .OF = d_signals },
	.get_properties = d_properties,
	.listen = d_listen,
	.connect = { .OF_CONNECT = d_connect },
	.create_context = { .OF = d_create },
	.reg_mr = g_reg,
	.dereg_mr = g_dereg,
	.destroy_context = d_destroy,
	.close_coll = d_close,
	.close_listen = d_close_listen,
	.query_last_error = d_query,
	.finalize = d_finalize,
};
#endif
