// SPDX-License-Identifier: MIT
/*
 * Handler of net: the transport of the net plugin, its counters, and its open
 * connections. `status` shows the transport and the counters, too.
 */
#include "plugin/control/reply.h"
#include "plugin/net/list.h"
#include "plugin/net/net.h"
#include "plugin/runtime/clock.h"

static const char *kind_word(enum nb_net_kind kind)
{
	switch (kind) {
	case NB_NET_RECV:
		return "recv";
	case NB_NET_SEND:
		return "send";
	case NB_NET_LISTENER:
		return "listen";
	}
	return NULL;
}

static void by_kind(struct nb_json *j, const char *key, const uint64_t n[3])
{
	nb_json_kobj(j, key);
	for (int k = 0; k < 3; k++)
		nb_json_ku64(j, kind_word((enum nb_net_kind)k), n[k]);
	nb_json_end_obj(j);
}

static void put_net(struct nb_json *j, const char *transport, int devices)
{
	struct nb_net_sums s;

	nb_net_list_sums(&s);
	nb_json_kstr(j, "transport", transport);
	nb_json_ki64(j, "devices", devices);
	by_kind(j, "live", s.live);
	by_kind(j, "opened", s.opened);
	nb_json_ku64(j, "sends", s.requests[NB_NET_SEND]);
	nb_json_ku64(j, "sent_bytes", s.bytes[NB_NET_SEND]);
	nb_json_ku64(j, "receives", s.requests[NB_NET_RECV]);
	nb_json_ku64(j, "received_bytes", s.bytes[NB_NET_RECV]);
	nb_json_ku64(j, "errors", s.errors);
	nb_json_ku64(j, "lost", nb_net_counted(NB_NET_LOST));
	nb_json_ku64(j, "garbage", nb_net_counted(NB_NET_GARBAGE));
	nb_json_ku64(j, "oversized", nb_net_counted(NB_NET_OVERSIZED));
	nb_json_ku64(j, "stalls", nb_net_counted(NB_NET_STALLS));
	nb_json_ku64(j, "strangers", nb_net_counted(NB_NET_STRANGERS));
	nb_json_ku64(j, "silent", nb_net_counted(NB_NET_LATE));
}

void nb_cmd_net_json(struct nb_json *j)
{
	int devices;
	const char *transport = nb_net_used(&devices);

	if (!transport) {
		nb_json_knull(j, "net");
		return;
	}
	nb_json_kobj(j, "net");
	put_net(j, transport, devices);
	nb_json_end_obj(j);
}

struct listing {
	struct nb_json *j;
	struct nb_page page;
	uint64_t now;
};

static bool put_connection(const struct nb_net_conn *c, void *arg)
{
	struct listing *l = arg;
	struct nb_json *j = l->j;

	if (!nb_page_takes(&l->page, j))
		return !l->page.more;
	nb_json_obj(j);
	nb_json_ku64(j, "conn", c->id);
	nb_json_kstr(j, "kind", kind_word(c->kind));
	nb_json_kid(j, "comm", c->comm_id);
	nb_json_ku64(j, "dev", c->dev);
	nb_json_kstr(j, "peer", c->peer.text[0] ? c->peer.text : NULL);
	nb_json_kid(j, "link", c->peer.link);
	nb_json_ku64(j, "age_ms", (l->now - c->born_ns) / 1000000);
	nb_json_ku64(j, "requests", NB_NET_COUNTED(c->requests));
	nb_json_ku64(j, "bytes", NB_NET_COUNTED(c->bytes));
	nb_json_ku64(j, "outstanding", NB_NET_COUNTED(c->outstanding));
	nb_json_ku64(j, "errors", NB_NET_COUNTED(c->errors));
	nb_json_end_obj(j);
	return true;
}

int nb_cmd_net(struct nb_call *call)
{
	struct listing l = { .j = call->out, .now = nb_clock_system() };
	int devices, rc = nb_page_options(call, &l.page);
	const char *transport = nb_net_used(&devices);

	if (rc)
		return rc;
	put_net(l.j, transport, devices);
	nb_json_karr(l.j, "connections");
	nb_net_list_each(put_connection, &l);
	nb_json_end_arr(l.j);
	nb_page_end(l.j, &l.page);
	return 0;
}
