// SPDX-License-Identifier: MIT
/*
 * Uses a vendor's GIN v14 table as a second transport, besides the one that
 * moves data (wrapped_gin.c). GIN v14 serves device types other than NCCL's
 * proxy: the GPU posts operations itself, so the table has no puts. NCCL 2.30.7
 * and later call it in addition to an RMA plugin. If a vendor only has GIN v13,
 * that table is called as NCCL would call it.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/abi/gin_abi.h"
#include "plugin/gin/choice.h"

static struct nb_gin_table_v14 w;
static bool is_v13; /* the table in use is the vendor's GIN v13 */
static struct nb_gin_ops ops;

static int device_properties(int dev, struct nb_net_props *props)
{
	return nb_net_props_read(props, w.get_properties, dev, 12, ops.dmabuf);
}

/*
 * Report both kinds of signals, because NCCL assumes both for a GIN v13 plugin.
 */
static int device_signals(struct nb_gin_signals *signals)
{
	*signals = (struct nb_gin_signals){ is_v13, is_v13 };
	return is_v13 ? NB_NET_OK : w.get_gin_properties(signals);
}

static int device_connect(const struct nb_gin_mesh *m, void **coll)
{
	*coll = NULL;
	return w.connect(m->ctx, m->handles, m->nranks, m->rank, m->listen_comm, coll);
}

static int device_create(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	/* v13 does not know the last two members and does not read them */
	struct nb_gin_config_v14 config = { k->nsignals,    k->ncounters,     k->ncontexts,
					    k->queue_depth, k->traffic_class, k->backend_version,
					    k->rank_stride };
	void *none = NULL;

	return w.create_context(coll, &config, ctx, devh ? devh : &none);
}

static int device_destroy(void *coll, void *ctx)
{
	(void)coll;
	return ctx ? w.destroy_context(ctx) : NB_NET_OK;
}

static int device_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle,
			 void **gin_handle)
{
	return m->dmabuf ? w.reg_mr_dmabuf(coll, m->data, m->size, m->type, m->offset, m->fd,
					   m->flags, mhandle, gin_handle)
			 : w.reg_mr(coll, m->data, m->size, m->type, m->flags, mhandle, gin_handle);
}

static int device_progress(void *coll, void *ctx)
{
	(void)coll;
	return w.progress ? w.progress(ctx) : NB_NET_OK;
}

static int device_query(void *coll, void *ctx, bool *failed)
{
	(void)coll;
	return w.query_last_error ? w.query_last_error(ctx, failed) : NB_NET_OK;
}

/* Copy the members of GIN v13 that v14 has, too. */
static void read_v13(const struct nb_gin_table *t)
{
	w = (struct nb_gin_table_v14){
		.name = t->name,
		.init = t->init,
		.devices = t->devices,
		.get_properties = t->get_properties,
		.listen = t->listen,
		.connect = t->connect.v11,
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
	/* NCCL's configuration for v13 is the first part of v14's */
	memcpy(&w.create_context, &t->create_context, sizeof(void *));
	is_v13 = true;
}

static bool device_table_complete(void)
{
	return w.init && w.devices && w.get_properties && w.listen && w.connect &&
	       w.create_context && w.destroy_context && w.reg_mr && w.dereg_mr && w.close_coll &&
	       w.close_listen && (is_v13 || w.get_gin_properties);
}

const struct nb_gin_ops *nb_gin_wrap_device(void *lib, const char **name)
{
	const void *v14 = dlsym(lib, "ncclGinPlugin_v14");
	const void *v13 = v14 ? NULL : dlsym(lib, "ncclGinPlugin_v13");

	if (v14)
		memcpy(&w, v14, sizeof(w));
	else if (v13)
		read_v13(v13);
	if (!device_table_complete())
		return NULL;
	ops = (struct nb_gin_ops){
		.init = w.init,
		.finalize = w.finalize,
		.devices = w.devices,
		.get_properties = device_properties,
		.signals = device_signals,
		.listen = w.listen,
		.connect = device_connect,
		.create_context = device_create,
		.destroy_context = device_destroy,
		.reg_mr = device_reg_mr,
		.dereg_mr = w.dereg_mr,
		.close_coll = w.close_coll,
		.close_listen = w.close_listen,
		.progress = device_progress,
		.query_error = device_query,
		.dmabuf = w.reg_mr_dmabuf != NULL,
	};
	*name = w.name ? w.name : "?";
	return &ops;
}
