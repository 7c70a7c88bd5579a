// SPDX-License-Identifier: MIT
/*
 * Contexts of a collComm. All operations of a context lie in one slab, so the
 * data path neither allocates nor locks.
 */
#include "plugin/gin/context.h"
#include "plugin/gin/post.h"

#include <stdlib.h>

#include "plugin/gin/choice.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/relaxed.h"

enum {
	/* least number of operations in a context's slab */
	LEAST_OPS = 1 << 16,
	MOST_OPS = 1 << 22,
};

void nb_gin_context_free(struct nb_gin_context *x)
{
	if (!x)
		return;
	free(x->slab);
	free(x->lane);
	free(x->times);
	free(x);
}

static uint32_t slab_size(const struct nb_gin_coll *c, int ncontexts, int depth)
{
	uint64_t n = (uint64_t)c->nranks * (uint64_t)ncontexts *
		     (uint64_t)(depth > 0 ? depth : nb_params.num[NB_P_GIN_QUEUE]);

	/* untouched pages of a large slab cost no memory */
	return n < LEAST_OPS ? LEAST_OPS : n > MOST_OPS ? MOST_OPS : (uint32_t)n;
}

/*
 * Returns a closed context of the same size without operations in flight, or
 * NULL. The caller holds the collComm's lock.
 */
static struct nb_gin_context *context_reuse(struct nb_gin_coll *c, int ncontexts, uint32_t nslab)
{
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++) {
		struct nb_gin_context *x = c->context[i];

		if (x && __atomic_load_n(&x->closed, __ATOMIC_ACQUIRE) &&
		    x->ncontexts == ncontexts && x->nslab == nslab &&
		    !__atomic_load_n(&x->busy, __ATOMIC_ACQUIRE))
			return x;
	}
	return NULL;
}

static struct nb_gin_context *context_new(struct nb_gin_coll *c, int ncontexts, uint32_t nslab)
{
	size_t nlanes = (size_t)ncontexts * (size_t)c->nranks;
	struct nb_gin_context *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->coll = c;
	x->ncontexts = ncontexts;
	x->nslab = nslab;
	x->slab = calloc(nslab, sizeof(*x->slab));
	x->lane = calloc(nlanes, sizeof(*x->lane));
	x->times = calloc(nlanes, sizeof(*x->times));
	if (x->slab && x->lane && x->times)
		return x;
	nb_gin_context_free(x);
	return NULL;
}

int nb_gin_context_add(struct nb_gin_coll *c, int ncontexts, int depth, struct nb_gin_context **to)
{
	uint32_t nslab = slab_size(c, ncontexts, depth);
	struct nb_gin_context *x;
	int slot = 0;

	pthread_mutex_lock(&c->lock);
	x = context_reuse(c, ncontexts, nslab);
	while (!x && slot < NB_GIN_MAX_CONTEXTS && c->context[slot])
		slot++;
	if (!x && slot < NB_GIN_MAX_CONTEXTS) {
		x = context_new(c, ncontexts, nslab);
		if (x) {
			x->slot = (uint32_t)slot;
			__atomic_store_n(&c->context[slot], x, __ATOMIC_RELEASE);
		}
	}
	if (x)
		__atomic_store_n(&x->closed, false, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&c->lock);
	*to = x;
	return x ? NB_NET_OK : NB_NET_SYSTEM;
}

/*
 * The data path of other contexts may still run. The context's memory therefore
 * stays allocated until the collComm is closed or a new context uses it.
 */
static void context_close(struct nb_gin_context *x)
{
	__atomic_store_n(&x->closed, true, __ATOMIC_RELEASE);
}

int nb_gin_create_context(void *coll, const struct nb_gin_config *config, void **ctx,
			  void **dev_handle)
{
	struct nb_gin_config k = *config;
	const struct nb_gin_ops *ops;
	struct nb_gin_context *x;
	int rc;

	if (!coll || !ctx || k.queue_depth < 0)
		return NB_NET_ARGUMENT;
	ops = ((struct nb_gin_coll *)coll)->ops;
	*ctx = NULL;
	if (dev_handle)
		*dev_handle = NULL;
	if (k.ncontexts < 1)
		k.ncontexts = 1;
	k.rank = ((struct nb_gin_coll *)coll)->rank;
	k.nranks = ((struct nb_gin_coll *)coll)->nranks;
	rc = nb_gin_context_add(coll, k.ncontexts, k.queue_depth, &x);
	if (!rc && ops->create_context)
		rc = nb_gin_count_lone_result(
			"createContext", ops->create_context(((struct nb_gin_coll *)coll)->inner,
							     &k, &x->inner, dev_handle));
	if (rc && x)
		context_close(x);
	else if (!rc)
		*ctx = x;
	return rc;
}

int nb_gin_destroy_context(void *ctx)
{
	struct nb_gin_context *x = ctx;
	const struct nb_gin_ops *ops;
	int rc = NB_NET_OK;

	if (!x)
		return NB_NET_OK;
	ops = x->coll->ops;
	if (!ops->region) /* this call frees the plugin's context */
		nb_gin_end_held(x);
	if (ops->destroy_context)
		rc = nb_gin_count_lone_result("destroyContext",
					      ops->destroy_context(x->coll->inner, x->inner));
	context_close(x);
	return rc;
}

int nb_gin_query_error(void *ctx, bool *failed)
{
	struct nb_gin_context *x = ctx;
	const struct nb_gin_ops *ops;

	if (!failed)
		return NB_NET_ARGUMENT;
	*failed = false;
	if (!x)
		return NB_NET_OK;
	ops = x->coll->ops;
	if (GET(x->coll->error))
		*failed = true;
	else if (ops->query_error)
		return nb_gin_count_result("queryLastError",
					   ops->query_error(x->coll->inner, x->inner, failed));
	return NB_NET_OK;
}
