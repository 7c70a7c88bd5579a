// SPDX-License-Identifier: MIT
/*
 * Uses a vendor's GIN v15 or v14 table as a second transport, besides the one
 * that moves data (wrapped.c). These versions serve device types other than
 * NCCL's proxy: the GPU posts operations itself, so the table has no puts. NCCL
 * 2.30.7 and later call it in addition to an RMA plugin. If a vendor only has
 * GIN v13, that table is called as NCCL would call it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/gin/abi.h"
#include "plugin/gin/choice.h"
#include "plugin/gin/peers.h"

static struct nb_gin_table_v14 device_w;
static int device_version; /* of the vendor's table: 13, 14 or 15 */
static struct nb_gin_ops device_ops;

static int device_properties(int dev, struct nb_net_props *props)
{
	return nb_net_props_read(props, device_w.get_properties, dev, 12, device_ops.dmabuf);
}

/*
 * Report both kinds of signals, because NCCL assumes both for a GIN v13 plugin.
 */
static int device_signals(struct nb_gin_signals *signals)
{
	struct nb_gin_signals_v14 v14 = { true, true };
	int rc = NB_NET_OK;

	if (device_version >= 15)
		return device_w.get_gin_properties.v15(signals);
	if (device_version == 14)
		rc = device_w.get_gin_properties.v14(&v14);
	*signals = (struct nb_gin_signals){ .strong = v14.strong, .va = v14.va };
	return rc;
}

static int device_connect(const struct nb_gin_mesh *m, void **coll)
{
	*coll = NULL;
	if (device_version >= 15)
		return device_w.connect.v15(m->ctx, m->handles, m->nranks, m->rank, m->listen_comm,
					    coll, m->abort_flag);
	return device_w.connect.v11(m->ctx, m->handles, m->nranks, m->rank, m->listen_comm, coll);
}

static int device_create_v15(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	struct nb_gin_config_v15 config = { .nsignals = k->nsignals,
					    .ncounters = k->ncounters,
					    .ncontexts = k->ncontexts,
					    .queue_depth = k->queue_depth,
					    .traffic_class = k->traffic_class,
					    .backend_version = k->backend_version };
	struct nb_gin_peers peers;
	int rc;

	if (!nb_gin_peers_of(k, &peers))
		return NB_NET_SYSTEM;
	config.peers = peers.list;
	config.npeers = peers.n;
	rc = device_w.create_context.v15(coll, &config, ctx, devh);
	nb_gin_peers_free(&peers);
	return rc;
}

static int device_create(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	/* v13 does not know the last two members and does not read them */
	struct nb_gin_config_v14 config = { k->nsignals,     k->ncounters,     k->ncontexts,
					    k->queue_depth,  k->traffic_class, k->backend_version,
					    nb_gin_stride(k) };
	void *none = NULL;

	if (device_version >= 15)
		return device_create_v15(coll, k, ctx, devh ? devh : &none);
	return device_w.create_context.v14(coll, &config, ctx, devh ? devh : &none);
}

static int device_destroy(void *coll, void *ctx)
{
	(void)coll;
	return ctx ? device_w.destroy_context(ctx) : NB_NET_OK;
}

static int device_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle,
			 void **gin_handle)
{
	return m->dmabuf ? device_w.reg_mr_dmabuf(coll, m->data, m->size, m->type, m->offset, m->fd,
						  m->flags, mhandle, gin_handle)
			 : device_w.reg_mr(coll, m->data, m->size, m->type, m->flags, mhandle,
					   gin_handle);
}

static int device_progress(void *coll, void *ctx)
{
	(void)coll;
	return device_w.progress ? device_w.progress(ctx) : NB_NET_OK;
}

static int device_query(void *coll, void *ctx, bool *failed)
{
	(void)coll;
	return device_w.query_last_error ? device_w.query_last_error(ctx, failed) : NB_NET_OK;
}

/* Copy the members of GIN v13 that v14 has, too. */
static void read_v13(const struct nb_gin_table *t)
{
	device_w = (struct nb_gin_table_v14){
		.name = t->name,
		.init = t->init,
		.devices = t->devices,
		.get_properties = t->get_properties,
		.listen = t->listen,
		.connect = t->connect,
		/* NCCL's configuration for v13 is the first part of v14's */
		.create_context = t->create_context,
		.reg_mr = t->reg_mr.v11,
		.reg_mr_dmabuf = t->reg_mr_dmabuf.v11,
		.dereg_mr = t->dereg_mr,
		.destroy_context = t->destroy_context,
		.close_coll = t->close_coll,
		.close_listen = t->close_listen,
		.progress = t->progress,
		.query_last_error = t->query_last_error,
		.finalize = t->finalize,
	};
	device_version = 13;
}

static bool device_table_complete(void)
{
	return device_w.init && device_w.devices && device_w.get_properties && device_w.listen &&
	       device_w.connect.v11 && device_w.create_context.v14 && device_w.destroy_context &&
	       device_w.reg_mr && device_w.dereg_mr && device_w.close_coll &&
	       device_w.close_listen && (device_version == 13 || device_w.get_gin_properties.v14);
}

/* Read the vendor's newest table. */
static void read_device_table(void *lib)
{
	const void *v15 = dlsym(lib, "ncclGinPlugin_v15");
	const void *v14 = v15 ? v15 : dlsym(lib, "ncclGinPlugin_v14");
	const void *v13 = v14 ? NULL : dlsym(lib, "ncclGinPlugin_v13");

	if (v14) {
		memcpy(&device_w, v14, sizeof(device_w));
		device_version = v15 ? 15 : 14;
	} else if (v13) {
		read_v13(v13);
	}
}

const struct nb_gin_ops *nb_gin_wrap_device(void *lib, int *version, const char **name)
{
	read_device_table(lib);
	if (!device_table_complete())
		return NULL;
	device_ops = (struct nb_gin_ops){
		.init = device_w.init,
		.finalize = device_w.finalize,
		.devices = device_w.devices,
		.get_properties = device_properties,
		.signals = device_signals,
		.listen = device_w.listen,
		.connect = device_connect,
		.create_context = device_create,
		.destroy_context = device_destroy,
		.reg_mr = device_reg_mr,
		.dereg_mr = device_w.dereg_mr,
		.close_coll = device_w.close_coll,
		.close_listen = device_w.close_listen,
		.progress = device_progress,
		.query_error = device_query,
		.dmabuf = device_w.reg_mr_dmabuf != NULL,
	};
	*version = device_version;
	*name = device_w.name ? device_w.name : "?";
	return &device_ops;
}
