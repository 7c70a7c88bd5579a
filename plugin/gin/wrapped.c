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

#include "plugin/gin/abi.h"
#include "plugin/gin/choice.h"
#include "plugin/gin/peers.h"

enum shape { GIN_V11, GIN_V12, GIN_V13, RMA_V14, RMA_V15, RMA_V16, RMA_V17 };

/* the table; v11 and v12 have no iget and iflush */
static struct nb_rma_table_v16 gin_w;
static enum shape shape;
static struct nb_gin_ops gin_ops;
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

static int gin_wrapped_properties(int dev, struct nb_net_props *props)
{
	return nb_net_props_read(props, gin_w.get_properties, dev, shape < GIN_V13 ? 11 : 12,
				 gin_ops.dmabuf);
}

static int wrapped_create_v17(void *coll, const struct nb_gin_config *k, void **ctx)
{
	struct nb_rma_config_v17 config = { .ncontexts = k->ncontexts,
					    .traffic_class = k->traffic_class };
	struct nb_gin_peers peers;
	int rc;

	if (!nb_gin_peers_of(k, &peers))
		return NB_NET_SYSTEM;
	config.peers = peers.list;
	config.npeers = peers.n;
	rc = gin_w.create_context.rma_v17(coll, &config, ctx);
	nb_gin_peers_free(&peers);
	return rc;
}

static int create(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	struct nb_gin_config_v13 v13 = { k->nsignals, k->ncounters, k->ncontexts, k->queue_depth,
					 k->traffic_class };
	struct nb_rma_config rma = { k->ncontexts, k->traffic_class, nb_gin_stride(k) };

	if (!gin_w.create_context.v11)
		return NB_NET_OK;
	switch (shape) {
	case GIN_V11:
		return gin_w.create_context.v11(coll, k->nsignals, k->ncounters, ctx, devh);
	case GIN_V12:
		return gin_w.create_context.v12(coll, k->nsignals, k->ncounters, k->ncontexts, ctx,
						devh);
	case GIN_V13:
		return gin_w.create_context.v13(coll, &v13, ctx, devh);
	case RMA_V14:
	case RMA_V15:
	case RMA_V16:
		return gin_w.create_context.rma_v14(coll, &rma, ctx);
	case RMA_V17:
		return wrapped_create_v17(coll, k, ctx);
	}
	return NB_NET_INTERNAL;
}

static int gin_wrapped_create(void *coll, const struct nb_gin_config *k, void **ctx, void **devh)
{
	struct coll *c = coll;
	struct nb_gin_config config = *k;
	void *none = NULL;

	if (c->traffic_class != NB_NET_CLASS_NONE)
		config.traffic_class = c->traffic_class;
	return create(c->inner, &config, ctx, devh ? devh : &none);
}

static int gin_wrapped_destroy(void *coll, void *ctx)
{
	(void)coll;
	return gin_w.destroy_context && ctx ? gin_w.destroy_context(ctx) : NB_NET_OK;
}

/*
 * Create a context for a plugin that needs contexts, if NCCL's version does not
 * create any.
 */
static int create_own(struct coll *c, const struct nb_gin_mesh *m)
{
	struct nb_gin_config k = { .ncontexts = m->nconnections,
				   .queue_depth = m->queue_depth,
				   .traffic_class = m->traffic_class,
				   .rank = m->rank,
				   .nranks = m->nranks };
	void *none = NULL;

	return shape >= GIN_V13 && m->nconnections ? create(c->inner, &k, &c->ctx, &none)
						   : NB_NET_OK;
}

static int connect_shape(const struct nb_gin_mesh *m, void **inner)
{
	if (shape == GIN_V12)
		return gin_w.connect.v12(m->ctx, m->handles, m->nranks, m->rank,
					 m->nconnections ? m->nconnections : 1, m->queue_depth,
					 m->listen_comm, inner);
	if (shape == RMA_V17)
		return gin_w.connect.v15(m->ctx, m->handles, m->nranks, m->rank, m->listen_comm,
					 inner, m->abort_flag);
	return gin_w.connect.v11(m->ctx, m->handles, m->nranks, m->rank, m->listen_comm, inner);
}

static int gin_wrapped_connect(const struct nb_gin_mesh *m, void **coll)
{
	struct coll *c = calloc(1, sizeof(*c));
	int rc;

	*coll = NULL;
	if (!c)
		return NB_NET_SYSTEM;
	rc = connect_shape(m, &c->inner);
	c->traffic_class = m->traffic_class;
	if (!rc) {
		rc = create_own(c, m);
		if (rc)
			gin_w.close_coll(c->inner);
	}
	if (!rc && extension)
		extension->watch(c->inner, m->arrived, m->arg);
	if (rc)
		free(c);
	else
		*coll = c;
	return rc;
}

static int gin_wrapped_close(void *coll)
{
	struct coll *c = coll;
	int rc;

	gin_wrapped_destroy(c, c->ctx);
	rc = gin_w.close_coll(c->inner);
	free(c);
	return rc;
}

static int gin_wrapped_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle,
			      void **gin_handle)
{
	void *inner = ((struct coll *)coll)->inner, *both = NULL;
	void **gh = gin_handle ? gin_handle : &both;
	int rc;

	if (shape >= RMA_V14) {
		rc = m->dmabuf ? gin_w.reg_mr_dmabuf.rma_v14(inner, m->data, m->size, m->type,
							     m->offset, m->fd, m->flags, mhandle)
			       : gin_w.reg_mr.rma_v14(inner, m->data, m->size, m->type, m->flags,
						      mhandle);
		/* RMA has only one handle, so use it for both */
		*gh = *mhandle;
		return rc;
	}
	return m->dmabuf
		       ? gin_w.reg_mr_dmabuf.v11(inner, m->data, m->size, m->type, m->offset, m->fd,
						 m->flags, mhandle, gh)
		       : gin_w.reg_mr.v11(inner, m->data, m->size, m->type, m->flags, mhandle, gh);
}

static int gin_wrapped_dereg_mr(void *coll, void *mhandle)
{
	return gin_w.dereg_mr(((struct coll *)coll)->inner, mhandle);
}

#define PUT_OF(o) (o)->src_off, (o)->src, (o)->size, (o)->dst_off, (o)->dst, (o)->rank
#define SIGNAL_OF(o) (o)->signal_off, (o)->signal, (o)->value, (o)->signal_op

static int put(void *at, int k, struct nb_gin_op *o)
{
	switch (shape) {
	case GIN_V11:
		return gin_w.iput.v11(at, PUT_OF(o), &o->inner);
	case GIN_V12:
		return gin_w.iput.v12(at, PUT_OF(o), k, &o->inner);
	case GIN_V13:
	case RMA_V14:
		return gin_w.iput.v13(at, k, PUT_OF(o), &o->inner);
	case RMA_V15:
	case RMA_V16:
	case RMA_V17:
		return gin_w.iput.rma_v15(at, k, PUT_OF(o), o->flags, &o->inner);
	}
	return NB_NET_INTERNAL;
}

static int put_signal(void *at, int k, struct nb_gin_op *o)
{
	void **r = &o->inner;

	switch (shape) {
	case GIN_V11:
		return gin_w.iput_signal.v11(at, PUT_OF(o), SIGNAL_OF(o), r);
	case GIN_V12:
		return gin_w.iput_signal.v12(at, PUT_OF(o), SIGNAL_OF(o), k, r);
	case GIN_V13:
		return gin_w.iput_signal.v13(at, k, PUT_OF(o), SIGNAL_OF(o), r);
	case RMA_V14:
		return gin_w.iput_signal.rma_v14(at, k, PUT_OF(o), SIGNAL_OF(o), o->strong, r);
	case RMA_V15:
	case RMA_V16:
	case RMA_V17:
		return gin_w.iput_signal.rma_v15(at, k, PUT_OF(o), SIGNAL_OF(o), o->strong,
						 o->flags, r);
	}
	return NB_NET_INTERNAL;
}

static int get(void *at, int k, struct nb_gin_op *o)
{
	if (shape < GIN_V13 || !gin_w.iget.v13)
		return NB_NET_INTERNAL;
	return shape >= RMA_V15 ? gin_w.iget.rma_v15(at, k, PUT_OF(o), o->flags, &o->inner)
				: gin_w.iget.v13(at, k, PUT_OF(o), &o->inner);
}

static int flush(void *at, int k, struct nb_gin_op *o)
{
	return shape >= GIN_V13 && gin_w.iflush ? gin_w.iflush(at, k, o->src, o->rank, &o->inner)
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

static int gin_wrapped_post(void *coll, void *ctx, struct nb_gin_op *o)
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

static int gin_wrapped_test(void *coll, struct nb_gin_op *o)
{
	int done = 0;
	int rc = gin_w.test(((struct coll *)coll)->inner, o->inner, &done);

	if (!rc && done)
		o->state = NB_GIN_DONE;
	return rc;
}

/*
 * Ask the plugin whether a collComm has failed. Before v13 there may be no
 * context to ask.
 */
static int gin_wrapped_query(void *coll, void *ctx, bool *failed)
{
	void *at = ctx ? ctx : ((struct coll *)coll)->ctx;

	return gin_w.query_last_error && at ? gin_w.query_last_error(at, failed) : NB_NET_OK;
}

static int gin_wrapped_progress(void *coll, void *ctx)
{
	return gin_w.progress(target_of(coll, ctx));
}

static int gin_wrapped_rma_properties(void *coll, struct nb_rma_properties *p)
{
	return gin_w.get_rma_properties(((struct coll *)coll)->inner, p);
}

static uint64_t gin_wrapped_queued(void *coll, uint32_t rank)
{
	return extension->queued(((struct coll *)coll)->inner, rank);
}

static void gin_wrapped_link(void *coll, uint32_t rank, struct nb_gin_link *link)
{
	extension->link(((struct coll *)coll)->inner, rank, link);
}

static const struct {
	const char *symbol;
	enum shape shape;
	int version;
} rows[] = {
	{ "ncclRmaPlugin_v17", RMA_V17, 17 }, { "ncclRmaPlugin_v16", RMA_V16, 16 },
	{ "ncclRmaPlugin_v15", RMA_V15, 15 }, { "ncclRmaPlugin_v14", RMA_V14, 14 },
	{ "ncclGinPlugin_v13", GIN_V13, 13 }, { "ncclRmaPlugin_v13", GIN_V13, 13 },
	{ "ncclGinPlugin_v12", GIN_V12, 12 }, { "ncclGinPlugin_v11", GIN_V11, 11 },
};

/*
 * Copy a table of another version. Its members are pointers that stand in the
 * same order, but some are missing.
 */
static void read_gin_table(const void *from)
{
#define AT(member) offsetof(struct nb_rma_table_v16, member)
	const bool has_properties = shape >= RMA_V16, has_iget = shape >= GIN_V13;
	enum { MEMBER = sizeof(void *) };
	const char *at = from;

	memset(&gin_w, 0, sizeof(gin_w));
	for (size_t to = 0; to < sizeof(gin_w); to += MEMBER) {
		if ((to == AT(get_rma_properties) && !has_properties) ||
		    ((to == AT(iget) || to == AT(iflush)) && !has_iget))
			continue;
		memcpy((char *)&gin_w + to, at, MEMBER);
		at += MEMBER;
	}
#undef AT
}

static bool gin_table_complete(void)
{
	return gin_w.init && gin_w.devices && gin_w.get_properties && gin_w.listen &&
	       gin_w.connect.v11 && gin_w.reg_mr.v11 && gin_w.dereg_mr && gin_w.close_coll &&
	       gin_w.close_listen && gin_w.iput.v11 && gin_w.iput_signal.v11 && gin_w.test &&
	       gin_w.progress && (shape < GIN_V13 || gin_w.create_context.v11) &&
	       (shape < RMA_V16 || gin_w.get_rma_properties);
}

static void gin_fill_ops(void)
{
	gin_ops = (struct nb_gin_ops){
		.init = gin_w.init,
		.finalize = gin_w.finalize,
		.devices = gin_w.devices,
		.get_properties = gin_wrapped_properties,
		.listen = gin_w.listen,
		.connect = gin_wrapped_connect,
		.create_context = gin_wrapped_create,
		.destroy_context = gin_wrapped_destroy,
		.reg_mr = gin_wrapped_reg_mr,
		.dereg_mr = gin_wrapped_dereg_mr,
		.close_coll = gin_wrapped_close,
		.close_listen = gin_w.close_listen,
		.rma_properties = gin_w.get_rma_properties ? gin_wrapped_rma_properties : NULL,
		.post = gin_wrapped_post,
		.test = gin_wrapped_test,
		.progress = gin_wrapped_progress,
		.query_error = gin_wrapped_query,
		.dmabuf = gin_w.reg_mr_dmabuf.v11 != NULL,
		.takes_class = shape >= GIN_V13,
	};
	if (!extension)
		return;
	gin_ops.region = extension->region;
	gin_ops.queued = gin_wrapped_queued;
	gin_ops.link = gin_wrapped_link;
	gin_ops.offences = extension->offences;
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
		gin_fill_ops();
		*version = rows[i].version;
		*name = gin_w.name ? gin_w.name : "?";
		return &gin_ops;
	}
	return NULL;
}
