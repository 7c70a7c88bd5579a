// SPDX-License-Identifier: MIT
/*
 * NCCL's calls around the data path: instances, devices, listeners, collComms
 * and registered memory. NCCL holds pointers to our objects, and our objects
 * hold the transport's.
 */
#include "plugin/gin/gin.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/gin/choice.h"
#include "plugin/gin/context.h"
#include "plugin/gin/list.h"
#include "plugin/gin/observe.h"
#include "plugin/gin/post.h"
#include "plugin/net/list.h"
#include "plugin/runtime/clock.h"

static struct {
	pthread_mutex_t lock;
	/* number of devices reported to NCCL; accessed atomically */
	int devices;
	/*
	 * number of successful inits of each kind of table; accessed atomically
	 */
	unsigned inits[2];
	uint64_t colls; /* accessed atomically */
} gin = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Some NCCL releases pass NULL, or another plugin's context. Every context is
 * therefore looked up in this list before it is used.
 */
struct instance {
	const struct nb_gin_ops *ops;
	void *inner;
	uint64_t comm_id;
	struct instance *next;
};
static struct instance *instances; /* protected by gin.lock */

struct listener {
	const struct nb_gin_ops *ops;
	void *inner;
	uint64_t comm_id;
	int dev;
};

const char *nb_gin_used(int *devices)
{
	*devices = __atomic_load_n(&gin.devices, __ATOMIC_RELAXED);
	return nb_gin_ops_name();
}

void nb_gin_forked(void)
{
	pthread_mutex_init(&gin.lock, NULL);
	nb_gin_choice_forked();
	nb_gin_list_forked();
}

/*
 * Returns the functions of the transport for a kind of table, or NULL if there
 * is no device.
 */
static const struct nb_gin_ops *gin_ops_of(enum nb_gin_face face)
{
	return face == NB_GIN_DEVICE ? nb_gin_device_ops_used() : nb_gin_ops_used();
}

/*
 * If the transport's first init fails, we report no device, as our net plugin
 * does.
 */
static int init_failed(struct instance *i, enum nb_gin_face face, int rc)
{
	if (__atomic_load_n(&gin.inits[face], __ATOMIC_RELAXED)) {
		free(i);
		return rc;
	}
	nb_gin_leave_out(i->ops, rc);
	free(i);
	return NB_NET_OK;
}

static int props_of(const struct nb_gin_ops *ops, int dev, struct nb_net_props *props)
{
	memset(props, 0, sizeof(*props));
	return ops ? nb_gin_count_result("getProperties", ops->get_properties(dev, props))
		   : NB_NET_ARGUMENT;
}

/*
 * Count the devices that NCCL may use through a kind of table. If the type is
 * the proxy, report none through GIN v14 and v15, because NCCL uses an RMA
 * plugin for the proxy.
 */
static int count_devices(const struct nb_gin_ops *ops, enum nb_gin_face face, int *n)
{
	struct nb_net_props p;
	int rc = nb_gin_count_lone_result("devices", ops->devices(n));

	if (!rc && face == NB_GIN_DEVICE && *n > 0 && !props_of(ops, 0, &p) &&
	    p.device_type == NB_GIN_PROXY)
		*n = 0;
	return rc;
}

/*
 * NCCL calls no finalize for a GIN v14 or v15 without devices. If this table has
 * no devices, finalize the vendor's new instance and create no other. Keep the
 * instance if the query for devices fails, or if the table has had devices.
 * Returns true if the instance was finalized.
 */
static bool device_unused(struct instance *i)
{
	int n = 0;

	if (count_devices(i->ops, NB_GIN_DEVICE, &n) || n > 0 ||
	    __atomic_load_n(&gin.inits[NB_GIN_DEVICE], __ATOMIC_RELAXED))
		return false;
	if (i->ops->finalize)
		nb_gin_count_lone_result("finalize", i->ops->finalize(i->inner));
	nb_gin_leave_out_device();
	free(i);
	return true;
}

int nb_gin_init(enum nb_gin_face face, void **ctx, uint64_t comm_id, nb_net_logger *logger,
		bool usable)
{
	const struct nb_gin_ops *ops;
	struct instance *i;
	int rc;

	nb_gin_choose(usable);
	if (ctx)
		*ctx = NULL;
	ops = gin_ops_of(face);
	/* without a transport, do not allocate: NCCL calls no finalize */
	i = ops && ctx ? calloc(1, sizeof(*i)) : NULL;
	if (!i)
		return ops && ctx ? NB_NET_SYSTEM : NB_NET_OK;
	i->ops = ops;
	i->comm_id = comm_id;
	rc = nb_gin_count_lone_result("init", ops->init(&i->inner, comm_id, logger));
	if (rc)
		return init_failed(i, face, rc);
	if (face == NB_GIN_DEVICE && device_unused(i))
		return NB_NET_OK;
	__atomic_fetch_add(&gin.inits[face], 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&gin.lock);
	i->next = instances;
	instances = i;
	pthread_mutex_unlock(&gin.lock);
	*ctx = i;
	return NB_NET_OK;
}

/*
 * Returns the instance that NCCL's pointer @ctx names, or NULL if @ctx is not
 * ours.
 */
static struct instance *instance_find(const void *ctx, bool take)
{
	struct instance *found = NULL;

	pthread_mutex_lock(&gin.lock);
	for (struct instance **at = &instances; *at; at = &(*at)->next)
		if (*at == ctx) {
			found = *at;
			if (take)
				*at = found->next;
			break;
		}
	pthread_mutex_unlock(&gin.lock);
	return found;
}

/*
 * Returns the transport's own context of NCCL's @ctx, or NULL if @ctx is not
 * of this transport.
 */
static void *instance_inner(const void *ctx, const struct nb_gin_ops *ops)
{
	const struct instance *i = instance_find(ctx, false);

	return i && i->ops == ops ? i->inner : NULL;
}

int nb_gin_finalize(void *ctx)
{
	struct instance *i = instance_find(ctx, true);
	int rc = NB_NET_OK;

	if (i && i->ops->finalize)
		rc = nb_gin_count_lone_result("finalize", i->ops->finalize(i->inner));
	free(i);
	return rc;
}

int nb_gin_devices(enum nb_gin_face face, int *n)
{
	const struct nb_gin_ops *ops = gin_ops_of(face);
	int rc;

	if (!n)
		return NB_NET_ARGUMENT;
	*n = 0;
	if (!ops)
		return NB_NET_OK;
	rc = count_devices(ops, face, n);
	if (face == NB_GIN_DATA || *n)
		__atomic_store_n(&gin.devices, rc ? 0 : *n, __ATOMIC_RELAXED);
	return rc;
}

int nb_gin_get_properties(enum nb_gin_face face, int dev, struct nb_net_props *props)
{
	return props_of(gin_ops_of(face), dev, props);
}

int nb_gin_get_signals(struct nb_gin_signals *signals)
{
	const struct nb_gin_ops *ops = nb_gin_device_ops_used();

	if (!signals || !ops)
		return NB_NET_ARGUMENT;
	memset(signals, 0, sizeof(*signals));
	return nb_gin_count_result("getGinProperties", ops->signals(signals));
}

int nb_gin_listen(enum nb_gin_face face, void *ctx, int dev, void *handle, void **listen_comm)
{
	const struct nb_gin_ops *ops = gin_ops_of(face);
	const struct instance *i = instance_find(ctx, false);
	struct listener *l;
	int rc;

	if (!ops || !handle || !listen_comm)
		return NB_NET_ARGUMENT;
	*listen_comm = NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return NB_NET_SYSTEM;
	l->comm_id = i ? i->comm_id : 0;
	l->ops = ops;
	l->dev = dev;
	rc = nb_gin_count_lone_result(
		"listen", ops->listen(instance_inner(ctx, ops), dev, handle, &l->inner));
	if (rc)
		free(l);
	else
		*listen_comm = l;
	return rc;
}

int nb_gin_close_listen(void *listen_comm)
{
	struct listener *l = listen_comm;
	int rc;

	if (!l)
		return NB_NET_OK;
	rc = nb_gin_count_lone_result("closeListen", l->ops->close_listen(l->inner));
	free(l);
	return rc;
}

/*
 * The transport calls this after it has applied a peer's signal to our memory.
 */
static void signal_arrived(void *arg, const struct nb_gin_arrival *a)
{
	if (nb_trace_ring_wanted() >> NB_TRACE_GIN_SIGNAL & 1)
		nb_gin_observe_signal(arg, a);
	if (nb_hooks_on(NB_HOOK_GIN_SIGNAL))
		nb_gin_run_signal(arg, a);
}

static struct nb_gin_coll *coll_new(const struct nb_gin_mesh *mesh)
{
	const struct listener *l = mesh->listen_comm;
	size_t n = (size_t)mesh->nranks;
	struct nb_gin_coll *c = calloc(1, sizeof(*c) + n * sizeof(c->peer[0]));
	struct nb_net_props p;

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->ops = l->ops;
	c->comm_id = l->comm_id;
	c->id = __atomic_add_fetch(&gin.colls, 1, __ATOMIC_RELAXED);
	c->rank = mesh->rank;
	c->nranks = mesh->nranks;
	c->dev = (uint32_t)l->dev;
	if (!props_of(c->ops, l->dev, &p))
		c->speed = (uint32_t)p.speed;
	c->born_ns = nb_clock_system();
	return c;
}

static void gin_coll_free(struct nb_gin_coll *c)
{
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++)
		nb_gin_context_free(c->context[i]);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Connect the transport, using the transport's own listener and context. */
static int connect_inner(struct nb_gin_coll *c, const struct nb_gin_mesh *mesh)
{
	const struct nb_gin_ops *ops = c->ops;
	static const uint32_t never;
	const struct listener *l = mesh->listen_comm;
	struct nb_gin_mesh m = *mesh;

	if (!m.abort_flag)
		m.abort_flag = &never;
	m.ctx = instance_inner(mesh->ctx, ops);
	m.listen_comm = l->inner;
	m.arrived = signal_arrived;
	m.arg = c;
	if (nb_hooks_on(NB_HOOK_GIN_CONNECT)) {
		int wanted = nb_gin_run_connect(c, false);

		if (wanted >= 0 && ops->takes_class)
			m.traffic_class = wanted;
	}
	return nb_gin_count_lone_result("connect", ops->connect(&m, &c->inner));
}

int nb_gin_connect(const struct nb_gin_mesh *mesh, void **coll)
{
	struct nb_gin_coll *c;
	int rc = NB_NET_OK;

	if (!coll || !mesh->handles || !mesh->listen_comm || mesh->nranks < 1 || mesh->rank < 0 ||
	    mesh->rank >= mesh->nranks)
		return NB_NET_ARGUMENT;
	*coll = NULL;
	c = coll_new(mesh);
	if (!c)
		return NB_NET_SYSTEM;
	if (mesh->nconnections)
		rc = nb_gin_context_add(c, mesh->nconnections, mesh->queue_depth, &c->first);
	if (!rc)
		rc = connect_inner(c, mesh);
	if (rc) {
		gin_coll_free(c);
		return rc;
	}
	nb_gin_list_add(c);
	*coll = c;
	if (nb_hooks_on(NB_HOOK_GIN_CONNECT))
		nb_gin_run_connect(c, true);
	return NB_NET_OK;
}

int nb_gin_close_coll(void *coll)
{
	struct nb_gin_coll *c = coll;
	int rc;

	if (!c)
		return NB_NET_OK;
	nb_gin_list_remove(c);
	if (nb_hooks_on(NB_HOOK_GIN_CLOSE))
		nb_gin_run_close(c);
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++)
		if (c->context[i])
			nb_gin_end_held(c->context[i]);
	rc = nb_gin_count_lone_result("closeColl", c->ops->close_coll(c->inner));
	gin_coll_free(c);
	return rc;
}

int nb_gin_reg_mr(void *coll, const struct nb_gin_memory *m, void **mhandle, void **gin_handle)
{
	struct nb_gin_coll *c = coll;

	if (!c || !mhandle || (m->dmabuf && !c->ops->dmabuf))
		return NB_NET_ARGUMENT;
	return nb_gin_count_lone_result("regMrSym",
					c->ops->reg_mr(c->inner, m, mhandle, gin_handle));
}

int nb_gin_dereg_mr(void *coll, void *mhandle)
{
	struct nb_gin_coll *c = coll;

	return c ? nb_gin_count_lone_result("deregMrSym", c->ops->dereg_mr(c->inner, mhandle))
		 : NB_NET_ARGUMENT;
}

int nb_gin_get_rma_properties(void *coll, struct nb_rma_properties *p)
{
	const struct nb_gin_coll *c = coll;

	if (!c || !p)
		return NB_NET_ARGUMENT;
	*p = (struct nb_rma_properties){ .flushes_all = false };
	return c->ops->rma_properties ? nb_gin_count_result("getRmaProperties",
							    c->ops->rma_properties(c->inner, p))
				      : NB_NET_OK;
}
