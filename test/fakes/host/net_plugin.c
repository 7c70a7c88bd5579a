// SPDX-License-Identifier: MIT
// A net plugin as others write them, one library a version: -DABI=6 to 12. Its
// bytes go over our TCP; each call is counted for whoever looks.
//
//	NET_PLUGIN_FAIL=init|devices|none|isend|test|listen  fails there
//	NET_PLUGIN_BARE=1  without any optional function
//	NET_PLUGIN_SLOW_US=N  a send is done in N us inside isend, as by an
//	                      adapter that is emulated in the kernel
// A buffer outside the memory of its handle fails, as with RDMA.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/fakes/host/net.h"
#include "test/fakes/host/tcp_ops.h"

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define TABLE CAT(ncclNetPlugin_v, ABI)
#define EXPORT __attribute__((visibility("default")))

enum { FAILED = 3 };

EXPORT struct host_net_calls net_plugin_calls = { .traffic_class = -2 };
#define calls net_plugin_calls

static bool fails(const char *where)
{
	const char *at = getenv("NET_PLUGIN_FAIL");

	return at && !strcmp(at, where);
}

#if ABI < 11
static void *own; /* versions without contexts */
#endif

static int begin(void **ctx, int traffic_class, host_net_logger *log)
{
	struct nb_net_init init = { 0, traffic_class, log, NULL };

	calls.init++;
	calls.traffic_class = traffic_class;
	return fails("init") ? FAILED : tcp_ops.init(ctx, &init);
}

#if ABI >= 11
static int init(void **ctx, uint64_t id, struct host_net_config *config, host_net_logger *log,
		void *prof)
{
	(void)id, (void)prof;
	return begin(ctx, config->trafficClass, log);
}
#elif ABI == 10
static int init(host_net_logger *log, void *prof)
{
	(void)prof;
	return begin(&own, -1, log);
}
#else
static int init(host_net_logger *log)
{
	return begin(&own, -1, log);
}
#endif

static int devices(int *n)
{
	calls.devices++;
	if (fails("none")) {
		*n = 0;
		return 0;
	}
	return fails("devices") ? FAILED : tcp_ops.devices(n);
}

static int properties(int dev, CAT(struct host_props_v, ABI) * p)
{
	struct nb_net_props q;
	int rc = tcp_ops.get_properties(dev, &q);

	calls.properties++;
	p->name = q.name;
	p->pciPath = q.pci_path;
	p->guid = 4711;
	p->ptrSupport = 5; /* host, DMA-BUF */
	p->speed = 400000;
	p->port = 3;
	p->latency = 1.5f;
	p->maxComms = 77;
	p->maxRecvs = 1;
#if ABI >= 7
	p->netDeviceType = 0;
	p->netDeviceVersion = 9;
#endif
#if ABI >= 8
	p->regIsGlobal = 1;
#endif
#if ABI >= 9
	p->forceFlush = 1;
	p->vProps.ndevs = 2;
	p->vProps.devs[1] = 6;
	p->maxP2pBytes = (size_t)1 << 33;
	p->maxCollBytes = (size_t)1 << 34;
#endif
#if ABI >= 11
	p->maxMultiRequestSize = 5;
#endif
#if ABI >= 12
	p->railId = 8;
	p->planeId = 9;
#endif
	return rc;
}

#if ABI >= 11
static int listen_at(void *ctx, int dev, void *handle, void **comm)
#else
static int listen_at(int dev, void *handle, void **comm)
#endif
{
#if ABI < 11
	void *ctx = own;
#endif
	calls.listen++;
	return fails("listen") ? FAILED : tcp_ops.listen(ctx, dev, handle, comm);
}

#if ABI >= 11
static int connect_to(void *ctx, int dev, void *handle, void **comm, void **d)
#elif ABI == 10
static int connect_to(int dev, struct host_net_config *config, void *handle, void **comm, void **d)
#elif ABI >= 7
static int connect_to(int dev, void *handle, void **comm, void **d)
#else
static int connect_to(int dev, void *handle, void **comm)
#endif
{
#if ABI < 11
	void *ctx = own;
#endif
#if ABI < 7
	void **d = NULL;
#endif
	calls.connect++;
#if ABI == 10
	calls.traffic_class = config->trafficClass;
#endif
	return tcp_ops.connect(ctx, dev, -1, handle, comm, d);
}

#if ABI >= 7
static int accept_from(void *l, void **comm, void **d)
{
	calls.accept++;
	return tcp_ops.accept(l, comm, d);
}
#else
static int accept_from(void *l, void **comm)
{
	calls.accept++;
	return tcp_ops.accept(l, comm, NULL);
}
#endif

/* What regMr hands out: the memory that a request may name with it. */
struct region {
	char *data;
	size_t size;
	void *inner;
};

static bool covers(const struct region *m, const void *data, size_t size)
{
	return m && (const char *)data >= m->data && size <= m->size &&
	       (size_t)((const char *)data - m->data) <= m->size - size;
}

static int reg_region(void *comm, void *data, size_t size, int type, void **mh)
{
	struct region *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return FAILED;
	*m = (struct region){ .data = data, .size = size };
	rc = tcp_ops.reg_mr(comm, data, size, type, &m->inner);
	if (rc)
		free(m);
	else
		*mh = m;
	return rc;
}

#if ABI >= 8
static int reg(void *comm, void *data, size_t size, int type, void **mh)
#else
static int reg(void *comm, void *data, int size, int type, void **mh)
#endif
{
	calls.reg++;
	return reg_region(comm, data, (size_t)size, type, mh);
}

static int dereg(void *comm, void *mh)
{
	struct region *m = mh;
	int rc;

	calls.dereg++;
	rc = tcp_ops.dereg_mr(comm, m ? m->inner : NULL);
	free(m);
	return rc;
}

static int dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd, void **mh)
{
	(void)offset, (void)fd;
	calls.dmabuf++;
	return reg_region(comm, data, size, type, mh);
}

#if ABI >= 10
static int isend(void *comm, void *data, size_t size, int tag, void *mh, void *ph, void **req)
#elif ABI == 9
static int isend(void *comm, void *data, size_t size, int tag, void *mh, void **req)
#else
static int isend(void *comm, void *data, int size, int tag, void *mh, void **req)
#endif
{
#if ABI < 10
	void *ph = NULL;
#endif
	const char *slow = getenv("NET_PLUGIN_SLOW_US");

	calls.isend++;
	if (fails("isend") || !covers(mh, data, (size_t)size))
		return FAILED;
	if (slow)
		usleep((useconds_t)atoi(slow));
	return tcp_ops.isend(comm, data, (size_t)size, tag, ((struct region *)mh)->inner, ph, req);
}

#if ABI >= 10
static int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mh, void **ph,
		 void **req)
#elif ABI == 9
static int irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mh, void **req)
#else
static int irecv(void *comm, int n, void **data, int *sizes, int *tags, void **mh, void **req)
#endif
{
	size_t size = (size_t)sizes[0];
#if ABI < 10
	void **ph = NULL;
#else
	if (!ph || ph[0]) /* one for each buffer, here none is given */
		return FAILED;
#endif

	calls.irecv++;
	calls.hinted += *req != NULL;
	if (n != 1 || !covers(mh[0], data[0], size))
		return FAILED;
	return tcp_ops.irecv(comm, n, data, &size, tags, &((struct region *)mh[0])->inner, ph, req);
}

static int flush(void *comm, int n, void **data, int *sizes, void **mh, void **req)
{
	calls.flush++;
	return tcp_ops.iflush(comm, n, data, sizes, mh, req);
}

static int test(void *req, int *done, int *sizes)
{
	calls.test++;
	return fails("test") ? FAILED : tcp_ops.test(req, done, sizes);
}

static int close_it(void *comm)
{
	calls.close++;
	return tcp_ops.close_send(comm);
}

static int close_listen(void *comm)
{
	calls.close++;
	return tcp_ops.close_listen(comm);
}

#if ABI >= 7
static int device_mr(void *comm, void *mh, void **ptr)
{
	(void)comm;
	calls.device_mr++;
	*ptr = mh;
	return 0;
}

static int consumed(void *comm, int n, void *req)
{
	(void)comm, (void)n;
	calls.consumed += req != NULL;
	return 0;
}
#endif

#if ABI >= 12
static int vdevice(int *dev, struct host_vprops_v12 *p)
#elif ABI >= 9
static int vdevice(int *dev, struct host_vprops_v9 *p)
#endif
#if ABI >= 9
{
	calls.vdevice++;
	*dev = p->ndevs * 10 + p->devs[1];
	return 0;
}
#endif

#if ABI >= 11
static int finalize(void *ctx)
{
	calls.finalize++;
	return tcp_ops.finalize(ctx);
}

static int attr(void *ctx, struct host_net_attr *a)
{
	(void)ctx;
	calls.attr += a->op == 42;
	return 0;
}
#endif

EXPORT struct CAT(host_net_v, ABI) TABLE = {
	.name = "testnet",
	.init = init,
	.devices = devices,
	.getProperties = properties,
	.listen = listen_at,
	.connect = connect_to,
	.accept = accept_from,
	.regMr = reg,
	.deregMr = dereg,
	.isend = isend,
	.irecv = irecv,
	.iflush = flush,
	.test = test,
	.closeSend = close_it,
	.closeRecv = close_it,
	.closeListen = close_listen,
	.regMrDmaBuf = dmabuf,
#if ABI >= 7
	.getDeviceMr = device_mr,
	.irecvConsumed = consumed,
#endif
#if ABI >= 9
	.makeVDevice = vdevice,
#endif
#if ABI >= 11
	.finalize = finalize,
	.setNetAttr = attr,
#endif
};

static __attribute__((constructor)) void bare(void)
{
	if (!getenv("NET_PLUGIN_BARE"))
		return;
	TABLE.iflush = NULL;
	TABLE.regMrDmaBuf = NULL;
#if ABI >= 7
	TABLE.getDeviceMr = NULL;
	TABLE.irecvConsumed = NULL;
#endif
#if ABI >= 9
	TABLE.makeVDevice = NULL;
#endif
#if ABI >= 11
	TABLE.setNetAttr = NULL;
#endif
}
