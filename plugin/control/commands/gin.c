// SPDX-License-Identifier: MIT
/*
 * Handler of gin: the transport of the GIN plugin, its counters, and each peer
 * of each open collComm, or each peer of each context. `status` shows the
 * transport and the counters, too.
 */
#include <string.h>

#include "plugin/control/commands/time.h"
#include "plugin/control/reply.h"
#include "plugin/gin/choice.h"
#include "plugin/gin/gin.h"
#include "plugin/gin/list.h"
#include "plugin/gin/observe.h"
#include "plugin/net/list.h"
#include "plugin/trace/telemetry.h"
#include "plugin/runtime/clock.h"

static void put_broken(struct nb_json *j, const struct nb_gin_broken *b)
{
	nb_json_obj(j);
	nb_json_kid(j, "comm", b->comm_id);
	nb_json_ki64(j, "comm_rank", b->rank);
	nb_json_ki64(j, "peer", b->peer);
	nb_json_kstr(j, "state", b->state);
	nb_json_end_obj(j);
}

static void put_gin(struct nb_json *j, const char *transport, int devices)
{
	struct nb_gin_sums s;

	nb_gin_list_sums(&s);
	nb_json_kstr(j, "transport", transport);
	nb_json_ki64(j, "devices", devices);
	nb_json_ku64(j, "live", s.live);
	nb_json_ku64(j, "opened", s.opened);
	nb_json_ku64(j, "puts", s.puts);
	nb_json_ku64(j, "signals", s.signals);
	nb_json_ku64(j, "gets", s.gets);
	nb_json_ku64(j, "bytes", s.bytes);
	nb_json_ku64(j, "held", s.held);
	nb_json_ku64(j, "in_puts", s.in_puts);
	nb_json_ku64(j, "in_signals", s.in_signals);
	nb_json_ku64(j, "in_bytes", s.in_bytes);
	nb_json_ku64(j, "errors", s.errors);
	nb_json_ku64(j, "broken", s.broken);
	nb_json_karr(j, "broken_peers");
	for (uint64_t i = 0; i < s.broken && i < NB_GIN_NAMED; i++)
		put_broken(j, &s.named[i]);
	nb_json_end_arr(j);
	nb_json_kobj(j, "offences");
	for (int i = 0; i < NB_GIN_NOFFENCES; i++)
		nb_json_ku64(j, nb_gin_offence_word((enum nb_gin_offence)i),
			     nb_gin_offences((enum nb_gin_offence)i));
	nb_json_end_obj(j);
}

void nb_cmd_gin_json(struct nb_json *j)
{
	int devices;
	const char *transport = nb_gin_used(&devices);

	if (!transport) {
		nb_json_knull(j, "gin");
		return;
	}
	nb_json_kobj(j, "gin");
	put_gin(j, transport, devices);
	nb_json_end_obj(j);
}

struct listing {
	struct nb_json *j;
	struct nb_page page;
	struct nb_comm_option comm;
	/*
	 * true: write a row for each context and peer; false: a row for each
	 * peer
	 */
	bool contexts;
	uint64_t now;
	struct nb_gin_times sum;
};

static const struct nb_gin_context *context_at(const struct nb_gin_coll *c, int slot)
{
	return __atomic_load_n(&c->context[slot], __ATOMIC_ACQUIRE);
}

static uint32_t count_contexts(const struct nb_gin_coll *c)
{
	uint32_t n = 0;

	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++) {
		const struct nb_gin_context *x = context_at(c, i);

		if (x && !__atomic_load_n(&x->closed, __ATOMIC_ACQUIRE))
			n += (uint32_t)x->ncontexts;
	}
	return n;
}

/* Write what the transport reports about a peer. */
static void put_link(struct nb_json *j, const struct nb_gin_coll *c, uint32_t peer)
{
	struct nb_gin_link l = { .state = NULL, .text = "" };

	if (c->ops->link)
		c->ops->link(c->inner, peer, &l);
	nb_json_kstr(j, "address", l.text[0] ? l.text : NULL);
	nb_json_kstr(j, "state", l.state);
	nb_json_kstr(j, "offence", l.offence);
	nb_json_ku64(j, "queued_bytes", l.queued_bytes);
	nb_json_ku64(j, "in_puts", l.in_puts);
	nb_json_ku64(j, "in_signals", l.in_signals);
	nb_json_ku64(j, "in_bytes", l.in_bytes);
}

static void gin_put_owner(struct nb_json *j, const struct nb_gin_coll *c, int peer)
{
	nb_json_ku64(j, "coll", c->id);
	nb_json_kid(j, "comm", c->comm_id);
	nb_json_ki64(j, "comm_rank", c->rank);
	nb_json_ki64(j, "peer", peer);
	nb_json_ki64(j, "ranks", c->nranks);
	nb_json_ku64(j, "dev", c->dev);
}

static void put_counts(struct nb_json *j, const struct nb_gin_counts *p)
{
	nb_json_ku64(j, "puts", NB_NET_COUNTED(p->puts));
	nb_json_ku64(j, "signals", NB_NET_COUNTED(p->signals));
	nb_json_ku64(j, "gets", NB_NET_COUNTED(p->gets));
	nb_json_ku64(j, "bytes", NB_NET_COUNTED(p->bytes));
	nb_json_ku64(j, "outstanding", NB_NET_COUNTED(p->outstanding));
	nb_json_ku64(j, "held", NB_NET_COUNTED(p->held));
	nb_json_ku64(j, "errors", NB_NET_COUNTED(p->errors));
}

static void gin_put_times(struct nb_json *j, const struct nb_gin_times *t)
{
	nb_cmd_time_json(j, "put", &t->of[NB_GIN_TIME_PUT]);
	nb_cmd_time_json(j, "get", &t->of[NB_GIN_TIME_GET]);
}

static bool lane_used(const struct nb_gin_counts *n)
{
	return NB_NET_COUNTED(n->puts) || NB_NET_COUNTED(n->signals) || NB_NET_COUNTED(n->gets);
}

/* Sum up the latencies of a peer over all contexts. */
static void sum_times(struct nb_gin_times *sum, const struct nb_gin_coll *c, uint32_t peer)
{
	memset(sum, 0, sizeof(*sum));
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++) {
		const struct nb_gin_context *x = context_at(c, i);

		for (uint32_t n = 0; x && n < (uint32_t)x->ncontexts; n++) {
			size_t at = nb_gin_lane_index(x, n, peer);

			if (!lane_used(&x->lane[at].counts))
				/*
				 * skip unused lanes, so that their memory stays
				 * untouched
				 */
				continue;
			for (int k = 0; k < NB_GIN_NTIMES; k++)
				nb_gin_time_sum(&sum->of[k], &x->times[at].of[k]);
		}
	}
}

static void put_peer(struct listing *l, const struct nb_gin_coll *c, int peer)
{
	struct nb_json *j = l->j;

	nb_json_obj(j);
	gin_put_owner(j, c, peer);
	nb_json_ku64(j, "contexts", count_contexts(c));
	nb_json_ku64(j, "age_ms", (l->now - c->born_ns) / 1000000);
	put_counts(j, &c->peer[peer]);
	sum_times(&l->sum, c, (uint32_t)peer);
	gin_put_times(j, &l->sum);
	put_link(j, c, (uint32_t)peer);
	nb_json_end_obj(j);
}

static void put_lane(struct listing *l, const struct nb_gin_context *x, uint32_t context, int peer)
{
	size_t at = nb_gin_lane_index(x, context, (uint32_t)peer);
	const struct nb_gin_counts *n = &x->lane[at].counts;
	struct nb_json *j = l->j;

	if (!lane_used(n) || !nb_page_takes(&l->page, j))
		return;
	nb_json_obj(j);
	gin_put_owner(j, x->coll, peer);
	nb_json_ku64(j, "devcomm", x->slot);
	nb_json_ku64(j, "context", context);
	put_counts(j, n);
	gin_put_times(j, &x->times[at]);
	nb_json_end_obj(j);
}

static void put_lanes(struct listing *l, const struct nb_gin_coll *c, int peer)
{
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++) {
		const struct nb_gin_context *x = context_at(c, i);

		for (uint32_t n = 0; x && n < (uint32_t)x->ncontexts; n++)
			put_lane(l, x, n, peer);
	}
}

static bool put_coll(const struct nb_gin_coll *c, void *arg)
{
	struct listing *l = arg;

	if (!nb_comm_wanted(&l->comm, c->comm_id))
		return true;
	for (int r = 0; r < c->nranks && !l->page.more; r++) {
		if (l->contexts)
			put_lanes(l, c, r);
		else if (nb_page_takes(&l->page, l->j))
			put_peer(l, c, r);
	}
	return !l->page.more;
}

int nb_cmd_gin(struct nb_call *call)
{
	struct listing l = {
		.j = call->out,
		.now = nb_clock_system(),
		.contexts = nb_request_yes(call->req, "contexts", false),
	};
	int devices, rc = nb_page_options(call, &l.page);
	const char *transport = nb_gin_used(&devices);

	if (!rc)
		rc = nb_cmd_comm(call, &l.comm);
	if (rc)
		return rc;
	put_gin(l.j, transport, devices);
	nb_json_kbool(l.j, "telemetry", nb_tel_wanted() & NB_TEL_ON);
	nb_json_karr(l.j, "peers");
	nb_gin_list_each(put_coll, &l);
	nb_json_end_arr(l.j);
	nb_page_end(l.j, &l.page);
	return 0;
}
