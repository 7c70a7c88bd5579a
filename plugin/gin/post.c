// SPDX-License-Identifier: MIT
/*
 * The data path: operations of NCCL's proxy thread, from post to completion.
 * Policy programs see each put, may delay it, and see its completion. A request
 * that NCCL holds encodes the operation's number and its generation, so a
 * request of an earlier use is detected.
 */
#include "plugin/gin/post.h"

#include <assert.h>

#include "plugin/gin/choice.h"
#include "plugin/gin/observe.h"
#include "plugin/net/list.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/relaxed.h"

enum {
	/*
	 * bit positions of slot and generation in a request; its low bits are
	 * the operation's index + 1
	 */
	SLOT_BIT = 32,
	GENERATION_BIT = 40,
	GENERATIONS = 1 << 22,
};
static_assert(NB_GIN_MAX_CONTEXTS <= 1 << (GENERATION_BIT - SLOT_BIT),
	      "a slot fits into a request");

static void *request_of(const struct nb_gin_context *x, const struct nb_gin_op *op)
{
	uint64_t n = (uint64_t)op->generation << GENERATION_BIT | (uint64_t)x->slot << SLOT_BIT |
		     (op->index + UINT64_C(1));

	return (void *)(uintptr_t)n;
}

/*
 * Returns the operation of @request and sets *@x to its context, or returns
 * NULL if the request belongs to an earlier use.
 */
static struct nb_gin_op *request_find(const struct nb_gin_coll *c, const void *request,
				      struct nb_gin_context **x)
{
	uint64_t n = (uintptr_t)request;
	uint32_t index = (uint32_t)n - 1;
	uint32_t slot = (uint32_t)(n >> SLOT_BIT) % NB_GIN_MAX_CONTEXTS;
	struct nb_gin_op *op;

	*x = __atomic_load_n(&c->context[slot], __ATOMIC_ACQUIRE);
	if (!*x || index >= (*x)->fresh)
		return NULL;
	op = &(*x)->slab[index];
	return op->state != NB_GIN_FREE && op->generation == n >> GENERATION_BIT ? op : NULL;
}

static struct nb_gin_op *op_take(struct nb_gin_context *x)
{
	struct nb_gin_op *op = x->spare;

	if (op) {
		x->spare = op->next;
	} else if (x->fresh < x->nslab) {
		op = &x->slab[x->fresh];
		op->index = x->fresh++;
	} else {
		return NULL;
	}
	NB_NET_COUNT(x->busy, 1);
	return op;
}

static struct nb_gin_lane *lane_of(const struct nb_gin_context *x, const struct nb_gin_op *op)
{
	return &x->lane[nb_gin_lane_index(x, op->context, op->rank)];
}

static void op_release(struct nb_gin_context *x, struct nb_gin_op *op)
{
	NB_NET_COUNT(x->coll->peer[op->rank].outstanding, -1u);
	NB_NET_COUNT(lane_of(x, op)->counts.outstanding, -1u);
	op->state = NB_GIN_FREE;
	op->generation = (op->generation + 1) % GENERATIONS;
	op->next = x->spare;
	x->spare = op;
	__atomic_store_n(&x->busy, x->busy - 1, __ATOMIC_RELEASE);
}

static void count_op(struct nb_gin_counts *p, const struct nb_gin_op *op)
{
	NB_NET_COUNT(p->puts, op->size && op->kind <= NB_GIN_SIGNAL);
	NB_NET_COUNT(p->signals, op->kind == NB_GIN_SIGNAL);
	NB_NET_COUNT(p->gets, op->kind == NB_GIN_GET);
	NB_NET_COUNT(p->bytes, op->size);
	NB_NET_COUNT(p->outstanding, 1);
}

/* Begin a new use of a slot. */
static void op_fill(struct nb_gin_op *op, const struct nb_gin_words *words)
{
	op->words = *words;
	op->error = 0;
	op->inner = NULL;
	op->polls = 0;
	op->told = false;
	op->post_ns = op->sent_ns = op->release_ns = 0;
}

static int op_send(struct nb_gin_context *x, struct nb_gin_op *op)
{
	op->state = NB_GIN_POSTED;
	if (op->post_ns)
		op->sent_ns = nb_clock_system();
	return nb_gin_count_result(op->kind == NB_GIN_SIGNAL ? "iputSignal" : "iput",
				   x->coll->ops->post(x->coll->inner, x->inner, op));
}

static void lane_hold(struct nb_gin_context *x, struct nb_gin_lane *l, struct nb_gin_op *op,
		      uint64_t release_ns)
{
	op->state = NB_GIN_HELD;
	op->release_ns = l->release_ns = release_ns;
	op->next = NULL;
	if (l->first)
		l->last->next = op;
	else
		l->first = op;
	l->last = op;
	NB_NET_COUNT(x->coll->peer[op->rank].held, 1);
	NB_NET_COUNT(l->counts.held, 1);
	if (!l->listed) {
		l->listed = true;
		l->next = x->held;
		x->held = l;
	}
}

/* Send the delayed operations of a lane that are due, in order. */
static void lane_release(struct nb_gin_context *x, struct nb_gin_lane *l, uint64_t now)
{
	while (l->first && l->first->release_ns <= now) {
		struct nb_gin_op *op = l->first;
		int rc;

		l->first = op->next;
		rc = op_send(x, op);
		if (!rc)
			continue;
		op->state = NB_GIN_FAILED;
		op->error = rc;
		if (!GET(x->coll->error))
			/* the next nb_gin_post returns this error */
			SET(x->coll->error, rc);
	}
}

static void context_release(struct nb_gin_context *x)
{
	struct nb_gin_lane **at = &x->held;
	uint64_t now = nb_clock_system();

	while (*at) {
		struct nb_gin_lane *l = *at;

		lane_release(x, l, now);
		if (l->first) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		l->listed = false;
	}
}

static void lane_drop(struct nb_gin_lane *l)
{
	for (; l->first; l->first = l->first->next) {
		l->first->state = NB_GIN_FAILED;
		l->first->error = NB_NET_REMOTE;
	}
}

void nb_gin_end_held(struct nb_gin_context *x)
{
	for (struct nb_gin_lane *l = x->held; l; l = l->next) {
		if (x->coll->ops->region)
			lane_release(x, l, UINT64_MAX);
		else
			lane_drop(l);
		l->listed = false;
	}
	x->held = NULL;
}

/* Run the programs of a put, then send or delay the put. */
static int op_decide(struct nb_gin_context *x, struct nb_gin_op *op)
{
	struct nb_gin_lane *l = lane_of(x, op);
	uint64_t now, behind = 0, hold = 0;

	if (!l->first && !nb_gin_timed())
		return op_send(x, op);
	now = op->post_ns = nb_clock_system();
	if (l->first && l->release_ns > now)
		behind = l->release_ns - now;
	if (op->kind <= NB_GIN_SIGNAL && nb_hooks_on(NB_HOOK_GIN_PUT))
		hold = nb_gin_run_put(x->coll, op, now, behind);
	if (!hold && !l->first)
		return op_send(x, op);
	lane_hold(x, l, op, now + behind + hold);
	return NB_NET_OK;
}

static void gin_count_error(struct nb_gin_context *x, struct nb_gin_op *op)
{
	NB_NET_COUNT(x->coll->peer[op->rank].errors, 1);
	NB_NET_COUNT(lane_of(x, op)->counts.errors, 1);
	op->told = true;
}

static int post_failed(struct nb_gin_context *x, struct nb_gin_op *op, int rc)
{
	gin_count_error(x, op);
	op_release(x, op);
	return rc;
}

int nb_gin_post(void *ctx, const struct nb_gin_words *words, void **request)
{
	struct nb_gin_context *x = ctx;
	struct nb_gin_coll *c;
	struct nb_gin_op *op;
	int rc;

	if (!request)
		return NB_NET_ARGUMENT;
	*request = NULL;
	if (!x || words->rank >= (uint32_t)x->coll->nranks ||
	    words->context >= (uint32_t)x->ncontexts)
		return NB_NET_ARGUMENT;
	c = x->coll;
	rc = GET(c->error);
	if (rc)
		return rc;
	op = op_take(x);
	if (!op) {
		nb_log(NB_LOG_WARN,
		       "gin: all %u operations of a context are in use, a put to rank %u fails",
		       x->nslab, words->rank);
		return NB_NET_INTERNAL;
	}
	op_fill(op, words);
	op->number = c->number++;
	count_op(&c->peer[op->rank], op);
	count_op(&lane_of(x, op)->counts, op);
	rc = op_decide(x, op);
	if (rc)
		return post_failed(x, op, rc);
	*request = request_of(x, op);
	if (op->kind == NB_GIN_FLUSH && op->state == NB_GIN_DONE) {
		op_release(x, op);
		*request = NULL;
	}
	return NB_NET_OK;
}

int nb_gin_post_coll(void *coll, const struct nb_gin_words *words, void **request)
{
	struct nb_gin_coll *c = coll;
	struct nb_gin_words folded = *words;

	if (!c || !c->first)
		return NB_NET_ARGUMENT;
	/*
	 * In version 12 NCCL passes a connection number, which may exceed the
	 * number of contexts.
	 */
	folded.context %= (uint32_t)c->first->ncontexts;
	return nb_gin_post(c->first, &folded, request);
}

/*
 * Observe the end of an operation once, since NCCL may test a failed operation
 * again.
 */
static void op_ended(struct nb_gin_context *x, struct nb_gin_op *op, int rc)
{
	if (op->told)
		return;
	if (rc)
		gin_count_error(x, op);
	if (op->post_ns && nb_gin_recorded())
		nb_gin_observe_done(x, op, rc);
	if (nb_hooks_on(NB_HOOK_GIN_DONE))
		nb_gin_run_done(x->coll, op, rc);
}

int nb_gin_test(void *coll, void *request, int *done)
{
	struct nb_gin_coll *c = coll;
	struct nb_gin_context *x;
	struct nb_gin_op *op;
	int rc = NB_NET_OK;

	if (!c || !done)
		return NB_NET_ARGUMENT;
	*done = 0;
	op = request ? request_find(c, request, &x) : NULL;
	if (!op)
		return NB_NET_ARGUMENT;
	op->polls++;
	if (op->state == NB_GIN_POSTED)
		rc = nb_gin_count_result("test", c->ops->test(c->inner, op));
	if (op->state == NB_GIN_FAILED)
		rc = op->error;
	if (!rc && op->state != NB_GIN_DONE)
		return NB_NET_OK;
	op_ended(x, op, rc);
	if (rc)
		return rc;
	*done = 1;
	op_release(x, op);
	return NB_NET_OK;
}

static int progress(struct nb_gin_coll *c, struct nb_gin_context *x)
{
	if (x->held)
		context_release(x);
	return nb_gin_count_result("ginProgress", c->ops->progress(c->inner, x->inner));
}

int nb_gin_progress(void *ctx)
{
	struct nb_gin_context *x = ctx;

	return x ? progress(x->coll, x) : NB_NET_ARGUMENT;
}

int nb_gin_progress_coll(void *coll)
{
	struct nb_gin_coll *c = coll;

	return c && c->first ? progress(c, c->first) : NB_NET_ARGUMENT;
}
