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

#include "plugin/net/abi.h"
#include "plugin/net/net.h"
#include "plugin/runtime/log.h"

enum { NEWEST = 12, OLDEST = 6, CAP = 1 << 30 };

static struct nb_net_table net_w;
static int version;
static struct nb_net_ops net_ops;
/*
 * number of successful inits; protected by NCCL's lock around net
 * inits
 */
static unsigned users;

static int wrapped_init_v6(void **ctx, const struct nb_net_init *init)
{
	int rc;

	*ctx = NULL;
	if (users)
		return NB_NET_OK;
	rc = version >= 10 ? net_w.init.v10(init->logger, init->profiler_callback)
			   : net_w.init.v6(init->logger);
	users += !rc;
	return rc;
}

static int wrapped_init_v11(void **ctx, const struct nb_net_init *init)
{
	struct nb_net_config config = { init->traffic_class };

	return net_w.init.v11(ctx, init->comm_id, &config, init->logger, init->profiler_callback);
}

static int wrapped_listen_v6(void *ctx, int dev, void *handle, void **comm)
{
	(void)ctx;
	return net_w.listen.v6(dev, handle, comm);
}

/*
 * From v11 on NCCL's interface has no class at connect. Only a plugin with an
 * extension can change it for one connection.
 */
static int wrapped_connect_v11(void *ctx, int dev, int traffic_class, void *handle, void **comm,
			       void **devh)
{
	int rc = net_w.connect.v11(ctx, dev, handle, comm, devh);

	if (!rc && *comm && net_ops.extension && traffic_class >= 0)
		net_ops.extension->set_class(*comm, traffic_class);
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
		return net_w.connect.v10(dev, &config, handle, comm, devh);
	return version >= 7 ? net_w.connect.v7(dev, handle, comm, devh)
			    : net_w.connect.v6(dev, handle, comm);
}

static int wrapped_accept(void *listen_comm, void **comm, void **devh)
{
	void *none = NULL;

	return version >= 7 ? net_w.accept.v7(listen_comm, comm, devh ? devh : &none)
			    : net_w.accept.v6(listen_comm, comm);
}

static int wrapped_properties(int dev, struct nb_net_props *props)
{
	int rc = nb_net_props_read(props, net_w.get_properties, dev, version,
				   net_ops.reg_mr_dmabuf != NULL);

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
		return net_w.make_vdevice(dev, all);
	if (all->ndevs < 0 || all->ndevs > 4)
		return NB_NET_ARGUMENT;
	v.ndevs = all->ndevs;
	memcpy(v.devs, all->devs, sizeof(v.devs));
	return net_w.make_vdevice(dev, &v);
}

static int wrapped_reg_mr_v6(void *comm, void *data, size_t size, int type, void **mhandle)
{
	return size > INT_MAX ? NB_NET_ARGUMENT
			      : net_w.reg_mr.v6(comm, data, (int)size, type, mhandle);
}

static int wrapped_isend_v6(void *comm, void *data, size_t size, int tag, void *mhandle,
			    void *phandle, void **request)
{
	(void)phandle;
	return size > INT_MAX ? NB_NET_ARGUMENT
			      : net_w.isend.v6(comm, data, (int)size, tag, mhandle, request);
}

static int wrapped_isend_v9(void *comm, void *data, size_t size, int tag, void *mhandle,
			    void *phandle, void **request)
{
	(void)phandle;
	return net_w.isend.v9(comm, data, size, tag, mhandle, request);
}

static int wrapped_irecv_v6(void *comm, int n, void **data, size_t *sizes, int *tags,
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
	return net_w.irecv.v6(comm, n, data, narrow, tags, mhandles, request);
}

static int wrapped_irecv_v9(void *comm, int n, void **data, size_t *sizes, int *tags,
			    void **mhandles, void **phandles, void **request)
{
	(void)phandles;
	return net_w.irecv.v9(comm, n, data, sizes, tags, mhandles, request);
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
		return net_w.irecv.v10(comm, n, data, sizes, tags, mhandles, phandles, request);
	if (n < 1 || n > NB_NET_MAX_RECVS)
		return NB_NET_ARGUMENT;
	memset(none, 0, sizeof(none));
	return net_w.irecv.v10(comm, n, data, sizes, tags, mhandles, none, request);
}

/* Copy the plugin's table. Members beyond a version's end become zero. */
static void read_net_table(const void *from)
{
	static const size_t size[] = { 136, 152, 152, 160, 160, 176, 176 };

	memset(&net_w, 0, sizeof(net_w));
	memcpy(&net_w, from, size[version - OLDEST]);
}

static bool net_table_complete(void)
{
	return net_w.init.v6 && net_w.devices && net_w.get_properties && net_w.listen.v6 &&
	       net_w.connect.v6 && net_w.accept.v6 && net_w.reg_mr.v6 && net_w.dereg_mr &&
	       net_w.isend.v6 && net_w.irecv.v6 && net_w.test && net_w.close_send &&
	       net_w.close_recv && net_w.close_listen;
}

static void net_fill_ops(void)
{
	net_ops = (struct nb_net_ops){
		.init = version >= 11 ? wrapped_init_v11 : wrapped_init_v6,
		.finalize = net_w.finalize,
		.devices = net_w.devices,
		.get_properties = wrapped_properties,
		.listen = version >= 11 ? net_w.listen.v11 : wrapped_listen_v6,
		.connect = wrapped_connect,
		.accept = wrapped_accept,
		.reg_mr = version >= 8 ? net_w.reg_mr.v8 : wrapped_reg_mr_v6,
		.reg_mr_dmabuf = net_w.reg_mr_dmabuf,
		.dereg_mr = net_w.dereg_mr,
		.isend = version >= 10	? net_w.isend.v10
			 : version == 9 ? wrapped_isend_v9
					: wrapped_isend_v6,
		.irecv = version >= 10	? wrapped_irecv_v10
			 : version == 9 ? wrapped_irecv_v9
					: wrapped_irecv_v6,
		.iflush = net_w.iflush,
		.test = net_w.test,
		.close_send = net_w.close_send,
		.close_recv = net_w.close_recv,
		.close_listen = net_w.close_listen,
		.get_device_mr = net_w.get_device_mr,
		.irecv_consumed = net_w.irecv_consumed,
		.make_vdevice = net_w.make_vdevice ? wrapped_make_vdevice : NULL,
		.set_net_attr = net_w.set_net_attr,
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
		net_fill_ops();
		net_ops.extension = dlsym(lib, NB_NET_EXTENSION);
		*which = version;
		*name = net_w.name ? net_w.name : "?";
		return &net_ops;
	}
	return NULL;
}

static void net_log_line(bool warn, const char *line)
{
	nb_log(warn ? NB_LOG_WARN : NB_LOG_INFO, "%s", line);
}

void nb_net_take_log(void *lib)
{
	const struct nb_net_extension *x = dlsym(lib, NB_NET_EXTENSION);

	if (x)
		x->log(net_log_line);
}
