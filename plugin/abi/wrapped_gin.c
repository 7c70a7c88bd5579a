// SPDX-License-Identifier: MIT
/*
 * Uses a vendor's GIN or RMA plugin as the transport. We call the newest table
 * that we know, as NCCL of that version would. The plugin's handles and device
 * handles are passed to NCCL unchanged. A process has one such plugin.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/abi/gin_abi.h"
#include "plugin/gin/choice.h"

enum shape { GIN_V11, GIN_V12, GIN_V13, RMA_V14, RMA_V15 };

/* the table; v11 and v12 have no iget and iflush */
static struct nb_gin_table w;
static enum shape shape;
static struct nb_gin_ops ops;
static const struct nb_gin_extension *extension; /* NULL: it has none */

/* A collComm of the wrapped plugin. */
struct coll {
	void *inner;
	/* class that a program chose, for contexts; NB_NET_CLASS_NONE: none */
	int traffic_class;
	/*
	 * context that we create because NCCL's version does not; NULL if not
	 * needed
	 */
	void *ctx;
};

static int wrapped_properties(int dev, struct nb_net_props *props)
{
	return nb_net_props_read(props, w.get_properties, dev, shape < GIN_V13 ? 11 : 12,
				 ops.dmabuf);
}

static int create(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	struct nb_gin_config_v13 v13 = { k->nsignals, k->ncounters, k->ncontexts, k->queue_depth,
					 k->traffic_class };
	struct nb_rma_config rma = { k->ncontexts, k->traffic_class, k->rank_stride };

	if (!w.create_context.v11)
		return NB_NET_OK;
	switch (shape) {
	case GIN_V11:
		return w.create_context.v11(coll, k->nsignals, k->ncounters, ctx, devh);
	case GIN_V12:
		return w.create_context.v12(coll, k->nsignals, k->ncounters, k->ncontexts, ctx,
					    devh);
	case GIN_V13:
		return w.create_context.v13(coll, &v13, ctx, devh);
	case RMA_V14:
	case RMA_V15:
		return w.create_context.rma_v14(coll, &rma, ctx);
	}
	return NB_NET_INTERNAL;
}

static int wrapped_create(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	struct coll *c = coll;
	struct nb_gin_config config = *k;
	void *none = NULL;

	if (c->traffic_class != NB_NET_CLASS_NONE)
		config.traffic_class = c->traffic_class;
	return create(c->inner, &config, ctx, devh ? devh : &none);
}

static int wrapped_destroy(void *coll, void *ctx)
{
	(void)coll;
	return w.destroy_context && ctx ? w.destroy_context(ctx) : NB_NET_OK;
}

/*
 * Create a context for a plugin that needs contexts, if NCCL's version does not
 * create any.
 */
static int create_own(struct coll *c, const struct nb_gin_mesh *m)
{
	struct nb_gin_config k = { .ncontexts = m->nconnections,
				   .queue_depth = m->queue_depth,
				   .traffic_class = m->traffic_class };
	void *none = NULL;

	return shape >= GIN_V13 && m->nconnections ? create(c->inner, &k, &c->ctx, &none)
						   : NB_NET_OK;
}

static int wrapped_connect(const struct nb_gin_mesh *m, void **coll)
{
	struct coll *c = calloc(1, sizeof(*c));
	int rc;

	*coll = NULL;
	if (!c)
		return NB_NET_SYSTEM;
	rc = shape == GIN_V12 ? w.connect.v12(m->ctx, m->handles, m->nranks, m->rank,
					      m->nconnections ? m->nconnections : 1, m->queue_depth,
					      m->listen_comm, &c->inner)
			      : w.connect.v11(m->ctx, m->handles, m->nranks, m->rank,
					      m->listen_comm, &c->inner);
	c->traffic_class = m->traffic_class;
	if (!rc) {
		rc = create_own(c, m);
		if (rc)
			w.close_coll(c->inner);
	}
	if (!rc && extension)
		extension->watch(c->inner, m->arrived, m->arg);
	if (rc)
		free(c);
	else
		*coll = c;
	return rc;
}

static int wrapped_close(void *coll)
{
	struct coll *c = coll;
	int rc;

	wrapped_destroy(c, c->ctx);
	rc = w.close_coll(c->inner);
	free(c);
	return rc;
}

static int wrapped_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle,
			  void **gin_handle)
{
	void *inner = ((struct coll *)coll)->inner, *both = NULL;
	void **gh = gin_handle ? gin_handle : &both;
	int rc;

	if (shape >= RMA_V14) {
		rc = m->dmabuf ? w.reg_mr_dmabuf.rma_v14(inner, m->data, m->size, m->type,
							 m->offset, m->fd, m->flags, mhandle)
			       : w.reg_mr.rma_v14(inner, m->data, m->size, m->type, m->flags,
						  mhandle);
		/* RMA has only one handle, so use it for both */
		*gh = *mhandle;
		return rc;
	}
	return m->dmabuf ? w.reg_mr_dmabuf.v11(inner, m->data, m->size, m->type, m->offset, m->fd,
					       m->flags, mhandle, gh)
			 : w.reg_mr.v11(inner, m->data, m->size, m->type, m->flags, mhandle, gh);
}

static int wrapped_dereg_mr(void *coll, void *mhandle)
{
	return w.dereg_mr(((struct coll *)coll)->inner, mhandle);
}

#define PUT_OF(o) (o)->src_off, (o)->src, (o)->size, (o)->dst_off, (o)->dst, (o)->rank
#define SIGNAL_OF(o) (o)->signal_off, (o)->signal, (o)->value, (o)->signal_op

static int put(void *at, int k, struct nb_gin_op *o)
{
	switch (shape) {
	case GIN_V11:
		return w.iput.v11(at, PUT_OF(o), &o->inner);
	case GIN_V12:
		return w.iput.v12(at, PUT_OF(o), k, &o->inner);
	case GIN_V13:
	case RMA_V14:
		return w.iput.v13(at, k, PUT_OF(o), &o->inner);
	case RMA_V15:
		return w.iput.rma_v15(at, k, PUT_OF(o), o->flags, &o->inner);
	}
	return NB_NET_INTERNAL;
}

static int put_signal(void *at, int k, struct nb_gin_op *o)
{
	void **r = &o->inner;

	switch (shape) {
	case GIN_V11:
		return w.iput_signal.v11(at, PUT_OF(o), SIGNAL_OF(o), r);
	case GIN_V12:
		return w.iput_signal.v12(at, PUT_OF(o), SIGNAL_OF(o), k, r);
	case GIN_V13:
		return w.iput_signal.v13(at, k, PUT_OF(o), SIGNAL_OF(o), r);
	case RMA_V14:
		return w.iput_signal.rma_v14(at, k, PUT_OF(o), SIGNAL_OF(o), o->strong, r);
	case RMA_V15:
		return w.iput_signal.rma_v15(at, k, PUT_OF(o), SIGNAL_OF(o), o->strong, o->flags,
					     r);
	}
	return NB_NET_INTERNAL;
}

static int get(void *at, int k, struct nb_gin_op *o)
{
	if (shape < GIN_V13 || !w.iget.v13)
		return NB_NET_INTERNAL;
	return shape == RMA_V15 ? w.iget.rma_v15(at, k, PUT_OF(o), o->flags, &o->inner)
				: w.iget.v13(at, k, PUT_OF(o), &o->inner);
}

static int flush(void *at, int k, struct nb_gin_op *o)
{
	return shape >= GIN_V13 && w.iflush ? w.iflush(at, k, o->src, o->rank, &o->inner)
					    : NB_NET_OK;
}

/*
 * Returns the object that this version's operations get: the collComm or a
 * context.
 */
static void *target_of(const struct coll *c, void *ctx)
{
	if (shape < GIN_V13)
		return c->inner;
	return ctx ? ctx : c->ctx;
}

static int wrapped_post(void *coll, void *ctx, struct nb_gin_op *o)
{
	void *at = target_of(coll, ctx);
	int k = (int)o->context, rc = NB_NET_INTERNAL;

	switch ((enum nb_gin_kind)o->kind) {
	case NB_GIN_PUT:
		rc = put(at, k, o);
		break;
	case NB_GIN_SIGNAL:
		rc = put_signal(at, k, o);
		break;
	case NB_GIN_GET:
		rc = get(at, k, o);
		break;
	case NB_GIN_FLUSH:
		rc = flush(at, k, o);
		break;
	}
	if (!rc && !o->inner)
		o->state = NB_GIN_DONE;
	return rc;
}

static int wrapped_test(void *coll, struct nb_gin_op *o)
{
	int done = 0;
	int rc = w.test(((struct coll *)coll)->inner, o->inner, &done);

	if (!rc && done)
		o->state = NB_GIN_DONE;
	return rc;
}

/*
 * Ask the plugin whether a collComm has failed. Before v13 there may be no
 * context to ask.
 */
static int wrapped_query(void *coll, void *ctx, bool *failed)
{
	void *at = ctx ? ctx : ((struct coll *)coll)->ctx;

	return w.query_last_error && at ? w.query_last_error(at, failed) : NB_NET_OK;
}

static int wrapped_progress(void *coll, void *ctx)
{
	return w.progress(target_of(coll, ctx));
}

static uint64_t wrapped_queued(void *coll, uint32_t rank)
{
	return extension->queued(((struct coll *)coll)->inner, rank);
}

static void wrapped_link(void *coll, uint32_t rank, struct nb_gin_link *link)
{
	extension->link(((struct coll *)coll)->inner, rank, link);
}

static const struct {
	const char *symbol;
	enum shape shape;
	int version;
} rows[] = {
	{ "ncclRmaPlugin_v15", RMA_V15, 15 }, { "ncclRmaPlugin_v14", RMA_V14, 14 },
	{ "ncclGinPlugin_v13", GIN_V13, 13 }, { "ncclRmaPlugin_v13", GIN_V13, 13 },
	{ "ncclGinPlugin_v12", GIN_V12, 12 }, { "ncclGinPlugin_v11", GIN_V11, 11 },
};

static void read_gin_table(const void *from)
{
	enum {
		GAP = offsetof(struct nb_gin_table, iget),
		GAP_END = offsetof(struct nb_gin_table, test)
	};

	memset(&w, 0, sizeof(w));
	if (shape >= GIN_V13) {
		memcpy(&w, from, sizeof(w));
		return;
	}
	memcpy(&w, from, GAP);
	memcpy((char *)&w + GAP_END, (const char *)from + GAP, sizeof(w) - GAP_END);
}

static bool gin_table_complete(void)
{
	return w.init && w.devices && w.get_properties && w.listen && w.connect.v11 &&
	       w.reg_mr.v11 && w.dereg_mr && w.close_coll && w.close_listen && w.iput.v11 &&
	       w.iput_signal.v11 && w.test && w.progress &&
	       (shape < GIN_V13 || w.create_context.v11);
}

static void fill_ops(void)
{
	ops = (struct nb_gin_ops){
		.init = w.init,
		.finalize = w.finalize,
		.devices = w.devices,
		.get_properties = wrapped_properties,
		.listen = w.listen,
		.connect = wrapped_connect,
		.create_context = wrapped_create,
		.destroy_context = wrapped_destroy,
		.reg_mr = wrapped_reg_mr,
		.dereg_mr = wrapped_dereg_mr,
		.close_coll = wrapped_close,
		.close_listen = w.close_listen,
		.post = wrapped_post,
		.test = wrapped_test,
		.progress = wrapped_progress,
		.query_error = wrapped_query,
		.dmabuf = w.reg_mr_dmabuf.v11 != NULL,
		.takes_class = shape >= GIN_V13,
	};
	if (!extension)
		return;
	ops.region = extension->region;
	ops.queued = wrapped_queued;
	ops.link = wrapped_link;
	ops.offences = extension->offences;
}

const struct nb_gin_ops *nb_gin_wrap(void *lib, int *version, const char **name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const void *table = dlsym(lib, rows[i].symbol);

		if (!table)
			continue;
		shape = rows[i].shape;
		read_gin_table(table);
		if (!gin_table_complete())
			return NULL;
		extension = dlsym(lib, NB_GIN_EXTENSION);
		fill_ops();
		*version = rows[i].version;
		*name = w.name ? w.name : "?";
		return &ops;
	}
	return NULL;
}
