// SPDX-License-Identifier: MIT
/*
 * The agent's end of its link to the coordinator. The agent sends one request
 * after the other. The coordinator replies to a request when a key of order/
 * changes, at the latest after the time that the request names. A request
 * contains the site's answers that are ready. If an urgent answer is ready
 * later, the agent sends it in a second request, and the coordinator replies to
 * that request at once.
 */
#include "plugin/agent/link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/agent.h"
#include "plugin/agent/gather.h"
#include "plugin/store/http.h"

enum {
	CONNECT_MS = 2000,
	/*
	 * a reply may come this much later than the end of the request's time
	 */
	MARGIN_MS = 3000,
	SITE_MS = 2, /* additional delay of a reply for each site */
	/*
	 * longest delay of the next request for an answer that the agent
	 * prepares
	 */
	HOLD_MS = 200,
	/* agents of a large job link one after the other */
	FIRST_MS = 100,
	RETRY_MS = 1000,
	DOUBLINGS = 6,
	LEAST_BEAT_MS = 100,
	MOST_BEAT_MS = 600000,
	REPLY_SIZE = 16 << 20
};

enum link_state { OFF, TRYING, ON };

struct nb_link {
	struct nb_agent *a;
	char secret[NB_GATHER_SECRET], life[65];
	enum link_state state;
	/* the coordinator's server and the hash of its secret */
	char url[400], proof[65];
	/*
	 * request that waits for changes, and request with an urgent later
	 * answer
	 */
	struct nb_http_transfer *poll, *post;
	/* numbers of the newest answers in these requests */
	uint64_t polled, posted;
	uint64_t came_ms;  /* when the last reply came */
	uint64_t retry_ms; /* when to try the next link */
	unsigned failures;
	unsigned beat_ms;
	bool full; /* the next request must contain all answers */
	/* revision of the key order/coordinator that gave the address */
	int64_t checked;
	uint64_t hurry; /* number of the latest urgent answer */
	bool told;
};

struct nb_link *nb_link_new(struct nb_agent *a)
{
	struct nb_link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->a = a;
	/* without a secret the agent uses the store alone */
	if (nb_gather_draw(l->secret))
		nb_gather_hash(l->secret, l->life);
	return l;
}

void nb_link_free(struct nb_link *l)
{
	if (!l)
		return;
	nb_http_cancel(l->poll);
	nb_http_cancel(l->post);
	explicit_bzero(l->secret, sizeof(l->secret));
	free(l);
}

const char *nb_link_life(const struct nb_link *l)
{
	return l ? l->life : "";
}

bool nb_link_on(const struct nb_link *l)
{
	return l && l->state == ON;
}

bool nb_link_holds(const struct nb_link *l)
{
	return nb_link_on(l) && !l->poll;
}

void nb_link_hurry(struct nb_link *l)
{
	if (l)
		l->hurry = l->a->own.answered;
}

/* Choose when to try again. Agents choose different times. */
static void later(struct nb_link *l, uint64_t ms)
{
	uint32_t random = 0;

	memcpy(&random, l->life + nb_agent_ms() % 32, sizeof(random));
	l->retry_ms = nb_agent_ms() + ms / 2 + random % (ms + 1);
}

static void link_close(struct nb_link *l)
{
	nb_http_cancel(l->poll);
	nb_http_cancel(l->post);
	l->poll = l->post = NULL;
	l->state = OFF;
}

/* End an attempt or a link; do not try again soon. */
static void link_fail(struct nb_link *l, const char *why)
{
	bool was_on = l->state == ON;
	unsigned n = l->failures < DOUBLINGS ? l->failures : DOUBLINGS;

	if (!l->told && *why)
		nb_agent_log("no link to the coordinator at %s: %s; "
			     "the store carries orders and answers",
			     l->url, why);
	l->told |= *why != '\0';
	link_close(l);
	l->failures++;
	later(l, (uint64_t)RETRY_MS << n);
	if (!was_on)
		return;
	l->a->own.linked = false;
	nb_agent_follow(l->a, false);
}

void nb_link_end(struct nb_link *l, const char *why)
{
	if (l && l->state != OFF)
		link_fail(l, why);
}

/* ---- replies ---- */

/*
 * Returns the reply if the coordinator sent it; otherwise NULL with the reason
 * in @why.
 */
static json_t *read_reply(const struct nb_link *l,
			  const struct nb_http_reply *r, const char **why)
{
	char hash[65];
	json_t *o;

	if (r->err) {
		*why = r->err->text;
		return NULL;
	}
	o = json_loadb(nb_buf_text(r->body), r->body->size,
		       JSON_REJECT_DUPLICATES, NULL);
	if (r->status != 200) {
		/* the coordinator ends the link, or does not know us yet */
		*why = r->status == 503 || r->status == 409
			       ? ""
			       : "it refuses the request";
		json_decref(o);
		return NULL;
	}
	nb_gather_hash(nb_view_str(o, "secret"), hash);
	if (!strcmp(hash, l->proof) &&
	    json_is_array(json_object_get(o, "order")))
		return o;
	*why = "another program answers there";
	json_decref(o);
	return NULL;
}

static void took_answers(struct nb_link *l, uint64_t number)
{
	if (number > l->a->own.acked)
		l->a->own.acked = number;
}

/*
 * The first reply has come: from now on the agent uses the link instead of the
 * store.
 */
static void link_begin(struct nb_link *l)
{
	l->state = ON;
	l->failures = 0;
	l->told = false;
	l->a->own.linked = true;
	nb_agent_unwatch(l->a);
}

static void apply_reply(struct nb_link *l, const json_t *o, uint64_t number)
{
	int64_t beat = nb_view_int(o, "beat");

	if (beat >= LEAST_BEAT_MS && beat <= MOST_BEAT_MS)
		l->beat_ms = (unsigned)beat;
	if (json_is_true(json_object_get(o, "again")))
		l->full = true;
	else
		took_answers(l, number);
	nb_agent_news(l->a, o);
}

static void poll_done(void *arg, const struct nb_http_reply *r)
{
	struct nb_link *l = arg;
	const char *why = "";
	json_t *o;

	l->poll = NULL;
	o = read_reply(l, r, &why);
	if (!o) {
		link_fail(l, why);
		return;
	}
	/*
	 * the agent reads order/ again and will watch it: an older change from
	 * the watch would then replace a newer one from the link
	 */
	if (l->a->follow != NB_AGENT_FOLLOWING) {
		json_decref(o);
		link_fail(l, "");
		return;
	}
	l->came_ms = nb_agent_ms();
	l->full = false;
	if (l->state == TRYING)
		link_begin(l);
	apply_reply(l, o, l->polled);
	json_decref(o);
}

static void post_done(void *arg, const struct nb_http_reply *r)
{
	struct nb_link *l = arg;
	const char *why = "";
	json_t *o;

	l->post = NULL;
	o = read_reply(l, r, &why);
	if (!o) {
		link_fail(l, why);
		return;
	}
	apply_reply(l, o, l->posted);
	json_decref(o);
}

/* ---- requests ---- */

static struct nb_http_transfer *send_request(struct nb_link *l, unsigned wait,
					     bool full, uint64_t *number,
					     nb_http_done_fn *done)
{
	struct nb_agent *a = l->a;
	char url[440], site[120], secret[80];
	struct nb_http_request q = { .url = url,
				     .header = { site, secret },
				     .tls = &a->tls,
				     .connect_ms = CONNECT_MS,
				     .timeout_ms = wait + wait / 4 + MARGIN_MS +
						   SITE_MS * a->sites,
				     .limit = REPLY_SIZE,
				     .done = done,
				     .arg = l };
	struct nb_http_transfer *t;
	struct nb_buf body;

	nb_buf_init(&body, NB_GATHER_BODY);
	nb_buf_printf(&body, "{\"have\":%" PRId64 ",\"wait\":%u,", a->order_rev,
		      wait);
	nb_buf_printf(&body, "\"full\":%s,\"answers\":{",
		      full ? "true" : "false");
	*number = nb_own_answers(&a->own, full ? 0 : a->own.acked, &body);
	nb_buf_str(&body, "}}");
	if (!nb_buf_ok(&body)) {
		nb_buf_fini(&body);
		return NULL;
	}
	snprintf(url, sizeof(url), "%s/v1/link", l->url);
	snprintf(site, sizeof(site), "Ncclbpf-Site: %s", a->name);
	snprintf(secret, sizeof(secret), "Ncclbpf-Secret: %s", l->secret);
	q.body = nb_buf_text(&body);
	q.body_size = body.size;
	t = nb_http_start(a->http, &q, NULL);
	nb_buf_fini(&body);
	return t;
}

/*
 * Returns true while the agent prepares an answer that the next request should
 * contain.
 */
static bool answer_soon(const struct nb_link *l)
{
	return nb_agent_works(l->a) && nb_agent_ms() < l->came_ms + HOLD_MS;
}

static void tick_on(struct nb_link *l)
{
	const struct nb_own *own = &l->a->own;

	if (!l->poll && !answer_soon(l)) {
		l->poll = send_request(l, l->beat_ms, l->full, &l->polled,
				       poll_done);
		if (!l->poll)
			link_fail(l, "a request cannot be sent");
		return;
	}
	if (l->poll && !l->post && l->hurry > own->acked &&
	    l->hurry > l->polled) {
		l->post = send_request(l, 0, false, &l->posted, post_done);
		if (!l->post)
			link_fail(l, "a request cannot be sent");
	}
}

/*
 * Returns the address of the coordinator's server, or NULL: there is none, or
 * it listens on the loopback address of another host.
 */
static const char *target(const struct nb_link *l, const struct nb_view_key *k,
			  const char **proof)
{
	const json_t *o = k ? k->value : NULL;
	const char *url = nb_view_str(o, "link");

	*proof = nb_view_str(o, "proof");
	if (strlen(url) >= sizeof(l->url) || strlen(*proof) != 64 ||
	    !*l->life || strncmp(url, "http", 4) != 0 ||
	    !strcmp(nb_view_str(o, "site"), l->a->name))
		return NULL;
	if ((strstr(url, "://127.") || strstr(url, "://[::1]")) &&
	    strcmp(nb_view_str(o, "host"), l->a->host) != 0)
		return NULL;
	return url;
}

/* Begin a link as soon as the coordinator can know this site. */
static void tick_off(struct nb_link *l)
{
	char site[96];

	snprintf(site, sizeof(site), "site/%s", l->a->name);
	if (nb_agent_ms() < l->retry_ms || l->a->follow != NB_AGENT_FOLLOWING ||
	    !nb_own_confirmed(&l->a->own, site))
		return;
	l->poll = send_request(l, 0, true, &l->polled, poll_done);
	l->state = l->poll ? TRYING : OFF;
	if (!l->poll)
		later(l, RETRY_MS);
}

void nb_link_check(struct nb_link *l)
{
	const struct nb_view_key *k;
	const char *url, *proof;

	if (!l || l->a->follow != NB_AGENT_FOLLOWING)
		return;
	k = nb_view_get(&l->a->view, "order/coordinator");
	if ((k ? k->mod : 0) == l->checked)
		return;
	l->checked = k ? k->mod : 0;
	url = target(l, k, &proof);
	if (url && !strcmp(url, l->url) && !strcmp(proof, l->proof))
		return;
	if (!url && !*l->url)
		return;
	snprintf(l->url, sizeof(l->url), "%s", url ? url : "");
	snprintf(l->proof, sizeof(l->proof), "%s", url ? proof : "");
	l->told = false;
	nb_link_end(l, "");
	l->failures = 0;
	later(l, FIRST_MS + (uint64_t)SITE_MS * l->a->sites);
}

void nb_link_tick(struct nb_link *l)
{
	if (!l || !*l->url || l->a->follow != NB_AGENT_FOLLOWING)
		return;
	if (l->state == ON)
		tick_on(l);
	else if (l->state == OFF)
		tick_off(l);
}
