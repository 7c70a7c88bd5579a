// SPDX-License-Identifier: MIT
/*
 * Uses a wrapped net plugin as the transport. We call the plugin's newest
 * version that we know, as NCCL of that version would. Functions with our
 * signature are called directly, and missing functions stay NULL. A process has
 * only one, because NCCL's old interfaces pass no context that could tell
 * several apart.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "plugin/abi/net_abi.h"
#include "plugin/net/net.h"
#include "plugin/runtime/log.h"

enum { NEWEST = 12, OLDEST = 5, CAP = 1 << 30 };

/* the plugin's table; v5's table is copied with a gap */
static struct nb_net_table w;
static int version;
static struct nb_net_ops ops;
/*
 * number of successful inits; protected by NCCL's lock around net
 * inits
 */
static unsigned users;

static int wrapped_init_v5(void **ctx, const struct nb_net_init *init)
{
	int rc;

	*ctx = NULL;
	if (users)
		return NB_NET_OK;
	rc = version >= 10 ? w.init.v10(init->logger, init->profiler_callback)
			   : w.init.v5(init->logger);
	users += !rc;
	return rc;
}

static int wrapped_init_v11(void **ctx, const struct nb_net_init *init)
{
	struct nb_net_config config = { init->traffic_class };

	return w.init.v11(ctx, init->comm_id, &config, init->logger, init->profiler_callback);
}

static int wrapped_listen_v5(void *ctx, int dev, void *handle, void **comm)
{
	(void)ctx;
	return w.listen.v5(dev, handle, comm);
}

/*
 * From v11 on NCCL's interface has no class at connect. Only a plugin with an
 * extension can change it for one connection.
 */
static int wrapped_connect_v11(void *ctx, int dev, int traffic_class, void *handle, void **comm,
			       void **devh)
{
	int rc = w.connect.v11(ctx, dev, handle, comm, devh);

	if (!rc && *comm && ops.extension && traffic_class >= 0)
		ops.extension->set_class(*comm, traffic_class);
	return rc;
}

static int wrapped_connect(void *ctx, int dev, int traffic_class, void *handle, void **comm,
			   void **devh)
{
	struct nb_net_config config = { traffic_class };
	/* in these versions the plugin has no device handles */
	void *none = NULL;

	if (!devh)
		devh = &none;
	if (version >= 11)
		return wrapped_connect_v11(ctx, dev, traffic_class, handle, comm, devh);
	if (version == 10)
		return w.connect.v10(dev, &config, handle, comm, devh);
	return version >= 7 ? w.connect.v7(dev, handle, comm, devh)
			    : w.connect.v5(dev, handle, comm);
}

static int wrapped_accept(void *listen_comm, void **comm, void **devh)
{
	void *none = NULL;

	return version >= 7 ? w.accept.v7(listen_comm, comm, devh ? devh : &none)
			    : w.accept.v5(listen_comm, comm);
}

static int wrapped_properties(int dev, struct nb_net_props *props)
{
	int rc =
		nb_net_props_read(props, w.get_properties, dev, version, ops.reg_mr_dmabuf != NULL);

	if (rc)
		return rc;
	/* before v9, a device consists of itself only */
	if (props->v.ndevs < 1) {
		props->v.ndevs = 1;
		props->v.devs[0] = dev;
	}
	if (props->max_recvs > NB_NET_MAX_RECVS)
		props->max_recvs = NB_NET_MAX_RECVS;
	if (version < 9 && props->max_p2p_bytes > CAP)
		props->max_p2p_bytes = CAP;
	return NB_NET_OK;
}

static int wrapped_make_vdevice(int *dev, struct nb_net_vprops *all)
{
	struct nb_net_vprops_v9 v = { 0, { 0 } };

	if (version == 12)
		return w.make_vdevice(dev, all);
	if (all->ndevs < 0 || all->ndevs > 4)
		return NB_NET_ARGUMENT;
	v.ndevs = all->ndevs;
	memcpy(v.devs, all->devs, sizeof(v.devs));
	return w.make_vdevice(dev, &v);
}

static int wrapped_reg_mr_v5(void *comm, void *data, size_t size, int type, void **mhandle)
{
	return size > INT_MAX ? NB_NET_ARGUMENT : w.reg_mr.v5(comm, data, (int)size, type, mhandle);
}

static int wrapped_isend_v5(void *comm, void *data, size_t size, int tag, void *mhandle,
			    void *phandle, void **request)
{
	(void)phandle;
	return size > INT_MAX ? NB_NET_ARGUMENT
			      : w.isend.v5(comm, data, (int)size, tag, mhandle, request);
}

static int wrapped_isend_v9(void *comm, void *data, size_t size, int tag, void *mhandle,
			    void *phandle, void **request)
{
	(void)phandle;
	return w.isend.v9(comm, data, size, tag, mhandle, request);
}

static int wrapped_irecv_v5(void *comm, int n, void **data, size_t *sizes, int *tags,
			    void **mhandles, void **phandles, void **request)
{
	int narrow[NB_NET_MAX_RECVS];

	(void)phandles;
	*request = NULL; /* before v9, NCCL passes no hint in *request */
	if (n < 1 || n > NB_NET_MAX_RECVS)
		return NB_NET_ARGUMENT;
	/* clamp sizes to int, because no message is larger */
	for (int i = 0; i < n; i++)
		narrow[i] = sizes[i] > INT_MAX ? INT_MAX : (int)sizes[i];
	return w.irecv.v5(comm, n, data, narrow, tags, mhandles, request);
}

static int wrapped_irecv_v9(void *comm, int n, void **data, size_t *sizes, int *tags,
			    void **mhandles, void **phandles, void **request)
{
	(void)phandles;
	return w.irecv.v9(comm, n, data, sizes, tags, mhandles, request);
}

/*
 * Version 10 reads a profiler handle for each buffer, and an older NCCL passes
 * none.
 */
static int wrapped_irecv_v10(void *comm, int n, void **data, size_t *sizes, int *tags,
			     void **mhandles, void **phandles, void **request)
{
	void *none[NB_NET_MAX_RECVS];

	if (phandles)
		return w.irecv.v10(comm, n, data, sizes, tags, mhandles, phandles, request);
	if (n < 1 || n > NB_NET_MAX_RECVS)
		return NB_NET_ARGUMENT;
	memset(none, 0, sizeof(none));
	return w.irecv.v10(comm, n, data, sizes, tags, mhandles, none, request);
}

/*
 * Copy the plugin's table. Version 5 is copied with a gap, and members beyond a
 * version's end become zero.
 */
static void read_net_table(const void *from)
{
	static const size_t size[] = { 128, 136, 152, 152, 160, 160, 176, 176 };
	size_t n = size[version - OLDEST];
	size_t gap = version == 5 ? NB_NET_V5_GAP : n;

	memset(&w, 0, sizeof(w));
	memcpy(&w, from, gap);
	if (n > gap)
		memcpy((char *)&w + gap + sizeof(void *), (const char *)from + gap, n - gap);
}

static bool net_table_complete(void)
{
	return w.init.v5 && w.devices && w.get_properties && w.listen.v5 && w.connect.v5 &&
	       w.accept.v5 && w.reg_mr.v5 && w.dereg_mr && w.isend.v5 && w.irecv.v5 && w.test &&
	       w.close_send && w.close_recv && w.close_listen;
}

static void fill_ops(void)
{
	ops = (struct nb_net_ops){
		.init = version >= 11 ? wrapped_init_v11 : wrapped_init_v5,
		.finalize = w.finalize,
		.devices = w.devices,
		.get_properties = wrapped_properties,
		.listen = version >= 11 ? w.listen.v11 : wrapped_listen_v5,
		.connect = wrapped_connect,
		.accept = wrapped_accept,
		.reg_mr = version >= 8 ? w.reg_mr.v8 : wrapped_reg_mr_v5,
		.reg_mr_dmabuf = w.reg_mr_dmabuf,
		.dereg_mr = w.dereg_mr,
		.isend = version >= 10	? w.isend.v10
			 : version == 9 ? wrapped_isend_v9
					: wrapped_isend_v5,
		.irecv = version >= 10	? wrapped_irecv_v10
			 : version == 9 ? wrapped_irecv_v9
					: wrapped_irecv_v5,
		.iflush = w.iflush,
		.test = w.test,
		.close_send = w.close_send,
		.close_recv = w.close_recv,
		.close_listen = w.close_listen,
		.get_device_mr = w.get_device_mr,
		.irecv_consumed = w.irecv_consumed,
		.make_vdevice = w.make_vdevice ? wrapped_make_vdevice : NULL,
		.set_net_attr = w.set_net_attr,
		.takes_class = version == 10,
	};
}

const struct nb_net_ops *nb_net_wrap(void *lib, int *which, const char **name)
{
	for (version = NEWEST; version >= OLDEST; version--) {
		char symbol[32];
		const void *table;

		snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%d", version);
		table = dlsym(lib, symbol);
		if (!table)
			continue;
		read_net_table(table);
		if (!net_table_complete())
			return NULL;
		fill_ops();
		ops.extension = dlsym(lib, NB_NET_EXTENSION);
		*which = version;
		*name = w.name ? w.name : "?";
		return &ops;
	}
	return NULL;
}

static void log_line(bool warn, const char *line)
{
	nb_log(warn ? NB_LOG_WARN : NB_LOG_INFO, "%s", line);
}

void nb_net_take_log(void *lib)
{
	const struct nb_net_extension *x = dlsym(lib, NB_NET_EXTENSION);

	if (x)
		x->log(log_line);
}
