// SPDX-License-Identifier: MIT
/*
 * The coordinator's server for the other agents, based on libmicrohttpd with an
 * external event loop. A request that waits is suspended until the next change
 * of order/ or the end of its time. Agents that have the same state share one
 * reply.
 */
#include "plugin/agent/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "core/base/buf.h"
#include "plugin/agent/agent.h"
#include "plugin/relay/peer.h"

enum {
	BACKLOG = 1024,
	CONNECTIONS = 16384,
	IDLE_S = 60,
	IDLE_RUN_MS = 5000,
	MEMORY = 6 << 10, /* bytes of a connection for headers and buffers */
	/* longest time without a reply, and the time to add for each site */
	BEAT_MS = 4000,
	BEAT_SITE_MS = 8,
	BEAT_STEP_MS = 500,
	BEAT_MOST_MS = 600000,
	REPLIES = 4, /* replies that are kept for agents in the same state */
	/*
	 * most calls of the server before the agent continues with its other
	 * work
	 */
	RUNS = 8
};

/* What the coordinator knows about a linked site. */
struct linked {
	char name[NB_GATHER_NAME];
	char hash[65]; /* hash of the agent's secret */
	json_t *staged, *seen;
	struct asked *waits; /* the request that waits for a reply, or NULL */
};

/* A request. */
struct asked {
	struct nb_gather *g;
	struct MHD_Connection *connection;
	struct asked *next, **link; /* list of the requests that wait */
	char site[NB_GATHER_NAME];
	char hash[65];
	struct nb_buf body;
	size_t pending; /* bytes of the body that the server's limit counts */
	int64_t have;
	uint64_t due_ms; /* latest time of the reply to a waiting request */
	bool waited, again;
};

/* A reply that agents with the same state share. */
struct shared {
	/* newest change that the agent has */
	int64_t from;
	unsigned beat;
	struct MHD_Response *response;
};

struct nb_gather {
	struct nb_http *http;
	struct nb_view *view;
	struct MHD_Daemon *daemon;
	int fd;
	struct nb_listen_pem pem;
	char secret[NB_GATHER_SECRET];
	char proof[65];
	char address[400];
	bool allowed, running, told;
	int64_t rev, gone;
	/* latest time of the reply to the first waiting request */
	uint64_t due_ms;
	uint64_t ran_ms;	     /* when the server last ran */
	struct nb_http_timer *again; /* runs the server again; NULL: none */
	size_t pending;
	struct linked **site; /* sorted by name */
	size_t n, room;
	struct asked *waiting;
	struct shared shared[REPLIES];
	unsigned next_shared;
};

/* ---- sites ---- */

/* Returns the index of the first site whose name is not before @name. */
static size_t site_index(const struct nb_gather *g, const char *name)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(g->site[mid]->name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct linked *site_find(const struct nb_gather *g, const char *name)
{
	size_t i = site_index(g, name);

	return i < g->n && !strcmp(g->site[i]->name, name) ? g->site[i] : NULL;
}

static struct linked *site_add(struct nb_gather *g, const char *name)
{
	size_t i = site_index(g, name);
	struct linked *s;

	if (g->n == g->room) {
		size_t room = g->room ? g->room * 2 : 64;
		void *p = realloc(g->site, room * sizeof(struct linked *));

		if (!p)
			return NULL;
		g->site = p;
		g->room = room;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	snprintf(s->name, sizeof(s->name), "%s", name);
	memmove(&g->site[i + 1], &g->site[i],
		(g->n - i) * sizeof(struct linked *));
	g->site[i] = s;
	g->n++;
	return s;
}

static const char *answer_key(const char *family, const char *site,
			      char key[96])
{
	snprintf(key, 96, "%s/%s", family, site);
	return key;
}

/* Remove an answer from the view, unless the view has a newer one. */
static void drop_answer(struct nb_gather *g, const char *family,
			const char *site, json_t *value)
{
	char key[96];
	const struct nb_view_key *k =
		nb_view_get(g->view, answer_key(family, site, key));

	if (k && value &&
	    nb_view_int(k->value, "at") <= nb_view_int(value, "at"))
		nb_view_remove(g->view, key);
	json_decref(value);
}

/* Forget the answers of site @i; its next request must be full. */
static void site_drop(struct nb_gather *g, size_t i)
{
	struct linked *s = g->site[i];

	if (s->waits)
		s->waits->due_ms = g->due_ms = 0;
	drop_answer(g, "staged", s->name, s->staged);
	drop_answer(g, "seen", s->name, s->seen);
	g->n--;
	memmove(&g->site[i], &g->site[i + 1],
		(g->n - i) * sizeof(struct linked *));
	free(s);
}

/* Returns the hash of the secret of the site's agent, "" if it is unknown. */
static const char *hash_of(const struct nb_gather *g, const char *site)
{
	char key[96];
	const struct nb_view_key *k =
		nb_view_get(g->view, answer_key("site", site, key));

	return k ? nb_view_str(k->value, "life") : "";
}

static bool site_lives(const struct nb_gather *g, const struct linked *s)
{
	return !strcmp(hash_of(g, s->name), s->hash);
}

static void site_enter(struct nb_gather *g, const struct linked *s)
{
	char key[96];

	if (s->staged)
		nb_view_put_answer(g->view, answer_key("staged", s->name, key),
				   s->staged, 0, 0);
	if (s->seen)
		nb_view_put_answer(g->view, answer_key("seen", s->name, key),
				   s->seen, 0, 0);
}

void nb_gather_site(struct nb_gather *g, const char *name)
{
	size_t i = g ? site_index(g, name) : 0;

	if (g && i < g->n && !strcmp(g->site[i]->name, name) &&
	    !site_lives(g, g->site[i]))
		site_drop(g, i);
}

void nb_gather_restore(struct nb_gather *g, const char *key)
{
	const char *slash = strchr(key, '/');
	const struct linked *s = g && slash ? site_find(g, slash + 1) : NULL;

	if (s)
		site_enter(g, s);
}

void nb_gather_reread(struct nb_gather *g)
{
	for (size_t i = g ? g->n : 0; i-- > 0;) {
		if (site_lives(g, g->site[i]))
			site_enter(g, g->site[i]);
		else
			site_drop(g, i);
	}
}

unsigned nb_gather_sites(const struct nb_gather *g)
{
	return g ? (unsigned)g->n : 0;
}

/* ---- replies ---- */

static unsigned beat_ms(const struct nb_gather *g)
{
	unsigned more = BEAT_SITE_MS * (unsigned)g->n;

	return BEAT_MS + more - more % BEAT_STEP_MS;
}

static struct MHD_Response *response_of(char *text, size_t size)
{
	struct MHD_Response *r =
		text ? MHD_create_response_from_buffer(size, text,
						       MHD_RESPMEM_MUST_FREE)
		     : NULL;

	if (!r)
		free(text);
	else
		MHD_add_response_header(r, "Content-Type", "application/json");
	return r;
}

/*
 * Returns the newest change of order/ that an agent has if its state is @have.
 */
static int64_t newest_until(const struct nb_gather *g, int64_t have)
{
	int64_t newest = 0;

	for (size_t i = nb_view_first(g->view, "order/");
	     nb_view_below(g->view, i, "order/"); i++)
		if (g->view->at[i].mod <= have && g->view->at[i].mod > newest)
			newest = g->view->at[i].mod;
	return newest;
}

/* Append the keys of order/ that are newer than @have; all of them if @list. */
static json_t *changed_keys(const struct nb_gather *g, int64_t have, bool list)
{
	json_t *keys = json_array();

	for (size_t i = nb_view_first(g->view, "order/");
	     nb_view_below(g->view, i, "order/"); i++) {
		const struct nb_view_key *k = &g->view->at[i];

		if (list || k->mod > have)
			json_array_append_new(
				keys,
				json_pack("{s:s,s:I,s:I,s:O}", "key", k->key,
					  "made", (json_int_t)k->made, "mod",
					  (json_int_t)k->mod, "value",
					  k->value));
	}
	return keys;
}

static struct MHD_Response *make_reply(const struct nb_gather *g, int64_t have,
				       bool again)
{
	bool list = have < g->gone;
	json_t *o = json_pack("{s:s,s:i,s:I,s:b,s:b,s:o}", "secret", g->secret,
			      "beat", (int)beat_ms(g), "rev",
			      (json_int_t)g->rev, "list", list, "again", again,
			      "order", changed_keys(g, have, list));
	char *text = json_dumps(o, JSON_COMPACT);

	json_decref(o);
	return response_of(text, text ? strlen(text) : 0);
}

static void forget_replies(struct nb_gather *g)
{
	for (int i = 0; i < REPLIES; i++) {
		if (g->shared[i].response)
			MHD_destroy_response(g->shared[i].response);
		g->shared[i].response = NULL;
	}
}

static enum MHD_Result send_shared(struct nb_gather *g, const struct asked *x)
{
	/* an agent whose state is older than a deletion needs the whole list */
	int64_t from = x->have < g->gone ? -1 : newest_until(g, x->have);
	struct shared *s = NULL;

	for (int i = 0; i < REPLIES && !s; i++)
		if (g->shared[i].response && g->shared[i].from == from &&
		    g->shared[i].beat == beat_ms(g))
			s = &g->shared[i];
	if (!s) {
		s = &g->shared[g->next_shared++ % REPLIES];
		if (s->response)
			MHD_destroy_response(s->response);
		s->from = from;
		s->beat = beat_ms(g);
		s->response = make_reply(g, x->have, false);
	}
	return s->response ? MHD_queue_response(x->connection, MHD_HTTP_OK,
						s->response)
			   : MHD_NO;
}

static enum MHD_Result send_reply(struct nb_gather *g, const struct asked *x)
{
	struct MHD_Response *r;
	enum MHD_Result rc;

	if (!x->again)
		return send_shared(g, x);
	r = make_reply(g, x->have, true);
	if (!r)
		return MHD_NO;
	rc = MHD_queue_response(x->connection, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status,
			      const char *text)
{
	struct nb_buf out;
	struct MHD_Response *r;
	enum MHD_Result rc;
	size_t size;
	char *p;

	nb_buf_init(&out, 0);
	nb_buf_printf(&out, "{\"error\":\"%s\"}\n", text);
	p = nb_buf_take(&out, &size);
	r = response_of(p, size);
	if (!r)
		return MHD_NO;
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

/* Refuse a request that no agent of this program sends. Log the first one. */
static enum MHD_Result refuse_bad(struct nb_gather *g, struct MHD_Connection *c,
				  unsigned status, const char *text)
{
	if (!g->told)
		nb_agent_log("link: a request is refused: %s", text);
	g->told = true;
	return refuse(c, status, text);
}

/* ---- requests ---- */

static void waiting_add(struct nb_gather *g, struct asked *x)
{
	x->next = g->waiting;
	x->link = &g->waiting;
	if (x->next)
		x->next->link = &x->next;
	g->waiting = x;
	if (x->due_ms < g->due_ms)
		g->due_ms = x->due_ms;
	MHD_suspend_connection(x->connection);
}

/* Let the server call handle() for the request again, which then replies. */
static void waiting_end(struct nb_gather *g, struct asked *x)
{
	struct linked *s = site_find(g, x->site);

	*x->link = x->next;
	if (x->next)
		x->next->link = x->link;
	x->waited = true;
	if (s && s->waits == x)
		s->waits = NULL;
	MHD_resume_connection(x->connection);
}

/* Keep an answer of a site if it is newer than the kept one. */
static void take_answer(struct nb_gather *g, const char *family,
			const char *site, json_t **kept, json_t *value)
{
	char key[96];

	if (!json_is_object(value) ||
	    (*kept && nb_view_int(*kept, "at") >= nb_view_int(value, "at")))
		return;
	json_decref(*kept);
	*kept = json_incref(value);
	nb_view_put_answer(g->view, answer_key(family, site, key), value, 0, 0);
}

/*
 * Enter the answers of a request. Returns the site, or NULL if the request must
 * be full or there is no memory.
 */
static struct linked *take_answers(struct nb_gather *g, const struct asked *x,
				   const json_t *body)
{
	const json_t *answers = json_object_get(body, "answers");
	struct linked *s = site_find(g, x->site);

	if (s && strcmp(s->hash, x->hash) != 0) {
		site_drop(g, site_index(g, x->site));
		s = NULL;
	}
	if (!s && json_is_true(json_object_get(body, "full")))
		s = site_add(g, x->site);
	if (!s)
		return NULL;
	snprintf(s->hash, sizeof(s->hash), "%s", x->hash);
	take_answer(g, "staged", x->site, &s->staged,
		    json_object_get(answers, "staged"));
	take_answer(g, "seen", x->site, &s->seen,
		    json_object_get(answers, "seen"));
	return s;
}

static enum MHD_Result refuse_idle(struct MHD_Connection *c)
{
	return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE,
		      "this agent does not coordinate now");
}

/* The body of a request is no longer needed. */
static void drop_body(struct asked *x)
{
	nb_buf_fini(&x->body);
	x->g->pending -= x->pending;
	x->pending = 0;
}

static enum MHD_Result take_body(struct nb_gather *g, struct asked *x)
{
	json_t *body = json_loadb(nb_buf_text(&x->body), x->body.size,
				  JSON_REJECT_DUPLICATES, NULL);
	const json_t *have = json_object_get(body, "have");
	struct linked *s;
	json_int_t wait;

	if (!json_is_integer(have) || json_integer_value(have) < 0 ||
	    !json_is_object(json_object_get(body, "answers"))) {
		json_decref(body);
		return refuse_bad(g, x->connection, MHD_HTTP_BAD_REQUEST,
				  "the body is not a request of an agent");
	}
	x->have = json_integer_value(have);
	s = take_answers(g, x, body);
	x->again = !s;
	wait = nb_view_int(body, "wait");
	json_decref(body);
	drop_body(x);
	if (!s || wait <= 0 || g->rev > x->have)
		return send_reply(g, x);
	/*
	 * a site has one waiting request; the client of the older one has ended
	 */
	if (s->waits)
		waiting_end(g, s->waits);
	s->waits = x;
	/*
	 * the times differ, so that not all agents send their next requests at
	 * once
	 */
	if (wait > BEAT_MOST_MS)
		wait = BEAT_MOST_MS;
	x->due_ms = nb_agent_ms() + (uint64_t)wait -
		    site_index(g, x->site) % 64 * (uint64_t)wait / 128;
	waiting_add(g, x);
	return MHD_YES;
}

static const char *header_of(struct MHD_Connection *c, const char *name)
{
	const char *text =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);

	return text ? text : "";
}

/*
 * Check who sends a request, before its body is kept. The secret's hash is
 * public, so the comparison need not take constant time.
 */
static enum MHD_Result admit(struct nb_gather *g, struct asked *x,
			     const char *url, const char *method)
{
	struct MHD_Connection *c = x->connection;
	const char *site = header_of(c, "Ncclbpf-Site");
	const char *secret = header_of(c, "Ncclbpf-Secret");
	struct nb_err err = { .code = 0 };

	if (strcmp(method, "POST") != 0 || strcmp(url, "/v1/link") != 0)
		return refuse_bad(g, c, MHD_HTTP_NOT_FOUND,
				  "only POST /v1/link is served");
	if (nb_relay_peer_any(c, g->pem.tls, &err))
		return refuse_bad(g, c, MHD_HTTP_FORBIDDEN,
				  "the client's certificate is refused");
	if (!g->allowed)
		return refuse_idle(c);
	if (strlen(site) >= sizeof(x->site) ||
	    strlen(secret) != NB_GATHER_SECRET - 1)
		return refuse_bad(g, c, MHD_HTTP_FORBIDDEN,
				  "a header is missing or too long");
	snprintf(x->site, sizeof(x->site), "%s", site);
	nb_gather_hash(secret, x->hash);
	if (!*hash_of(g, site))
		return refuse(c, MHD_HTTP_CONFLICT, "the site is unknown");
	if (strcmp(hash_of(g, site), x->hash) != 0)
		return refuse(c, MHD_HTTP_CONFLICT,
			      "the secret is not that of the site's agent");
	return MHD_YES;
}

/* Keep bytes of a body. Returns false if the body is too large. */
static bool keep_bytes(struct asked *x, const char *data, size_t size)
{
	if (x->g->pending + size > NB_GATHER_PENDING)
		return false;
	nb_buf_bytes(&x->body, data, size);
	x->pending += size;
	x->g->pending += size;
	return nb_buf_ok(&x->body);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c,
			      const char *url, const char *method,
			      const char *version, const char *data,
			      size_t *size, void **state)
{
	struct nb_gather *g = arg;
	struct asked *x = *state;

	(void)version;
	if (!x) {
		x = *state = calloc(1, sizeof(*x));
		if (!x)
			return MHD_NO;
		x->g = g;
		x->connection = c;
		nb_buf_init(&x->body, NB_GATHER_BODY);
		return admit(g, x, url, method);
	}
	if (*size) {
		bool fine = keep_bytes(x, data, *size);

		*size = 0;
		return fine ? MHD_YES : MHD_NO;
	}
	/* a body may be complete only after the server has closed */
	if (!g->allowed)
		return refuse_idle(c);
	return x->waited ? send_reply(g, x) : take_body(g, x);
}

static void completed(void *arg, struct MHD_Connection *c, void **state,
		      enum MHD_RequestTerminationCode why)
{
	struct asked *x = *state;

	(void)arg;
	(void)c;
	(void)why;
	if (!x)
		return;
	drop_body(x);
	free(x);
	*state = NULL;
}

/* ---- the server ---- */

static void gather_run(void *arg);

static void run_again(void *arg)
{
	struct nb_gather *g = arg;

	g->again = NULL;
	gather_run(g);
}

/*
 * Handle all ready connections. Requests that wait stay suspended. The server
 * says with a timeout of 0 that it has read part of what is there; the event
 * loop would not notice the rest.
 */
static void gather_run(void *arg)
{
	struct nb_gather *g = arg;
	MHD_UNSIGNED_LONG_LONG ms = 1;

	if (g->running)
		return;
	g->running = true;
	g->ran_ms = nb_agent_ms();
	for (int i = 0; i < RUNS; i++) {
		MHD_run(g->daemon);
		if (MHD_get_timeout(g->daemon, &ms) != MHD_YES)
			ms = 1;
		if (ms)
			break;
	}
	if (!ms && !g->again)
		g->again = nb_http_timer_start(g->http, 0, run_again, g);
	g->running = false;
}

void nb_gather_tick(struct nb_gather *g)
{
	uint64_t now = nb_agent_ms();
	struct asked *x, *next;

	if (!g)
		return;
	if (now < g->due_ms) {
		/* connections without a request end after a while */
		if (now >= g->ran_ms + IDLE_RUN_MS)
			gather_run(g);
		return;
	}
	g->due_ms = UINT64_MAX;
	for (x = g->waiting; x; x = next) {
		next = x->next;
		if (now >= x->due_ms || g->rev > x->have || !g->allowed) {
			x->again |= !site_find(g, x->site);
			waiting_end(g, x);
		} else if (x->due_ms < g->due_ms) {
			g->due_ms = x->due_ms;
		}
	}
	gather_run(g);
}

void nb_gather_news(struct nb_gather *g, int64_t rev, int64_t gone)
{
	if (!g || (rev == g->rev && gone == g->gone))
		return;
	g->rev = rev;
	g->gone = gone;
	g->due_ms = 0;
	forget_replies(g);
}

void nb_gather_allow(struct nb_gather *g, bool yes)
{
	if (!g || g->allowed == yes)
		return;
	g->allowed = yes;
	g->due_ms = 0;
	/* an agent whose link ends writes its answers to the store */
}

static struct MHD_Daemon *start_server(struct nb_gather *g, int fd)
{
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, g->pem.cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, g->pem.key },
		{ MHD_OPTION_HTTPS_MEM_TRUST, 0, g->pem.cacert },
		{ MHD_OPTION_END, 0, NULL }
	};
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
			 (g->pem.tls ? MHD_USE_TLS : 0);

	if (!g->pem.tls)
		tls[0].option = MHD_OPTION_END;
	return MHD_start_daemon(
		flags, 0, NULL, NULL, handle, g, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, nb_listen_limit(CONNECTIONS),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_ARRAY,
		tls, MHD_OPTION_END);
}

static int gather_start(struct nb_gather *g,
			const struct nb_listen_config *config,
			struct nb_err *err)
{
	const union MHD_DaemonInfo *info;
	int rc = nb_listen_read(&g->pem, config, err);
	int fd = rc ? rc : nb_listen_open(config, BACKLOG, err);
	uint64_t inode = nb_listen_inode(fd);

	if (fd < 0)
		return fd;
	nb_listen_address(config, g->pem.tls, fd, "", g->address,
			  sizeof(g->address));
	g->daemon = start_server(g, fd);
	if (!g->daemon) {
		nb_listen_drop(fd, inode);
		return nb_fail(err, NB_E_SETTING, 0,
			       "link: the server does not start");
	}
	info = MHD_get_daemon_info(g->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	g->fd = info ? info->epoll_fd : -1;
	if (g->fd < 0 || !nb_http_watch(g->http, g->fd, gather_run, g))
		return nb_fail(err, NB_E_IO, 0, "link: no event loop");
	return 0;
}

int nb_gather_open(struct nb_gather **out, struct nb_http *http,
		   struct nb_view *view, const struct nb_listen_config *config,
		   struct nb_err *err)
{
	struct nb_gather *g = calloc(1, sizeof(*g));
	int rc;

	*out = NULL;
	if (!g)
		return nb_fail(err, NB_E_NOMEM, 0, "link: no memory");
	g->http = http;
	g->view = view;
	g->fd = -1;
	g->due_ms = UINT64_MAX;
	rc = nb_gather_draw(g->secret)
		     ? gather_start(g, config, err)
		     : nb_fail(err, NB_E_IO, 0, "link: no random bytes");
	if (rc) {
		nb_gather_close(g);
		return rc;
	}
	nb_gather_hash(g->secret, g->proof);
	*out = g;
	return 0;
}

void nb_gather_close(struct nb_gather *g)
{
	if (!g)
		return;
	nb_http_unwatch(g->http, g->fd);
	nb_http_timer_cancel(g->again);
	g->again = NULL;
	if (g->daemon) {
		/* no connection may be suspended when the server is stopped */
		g->allowed = false;
		g->due_ms = 0;
		nb_gather_tick(g);
		MHD_stop_daemon(g->daemon);
		nb_http_timer_cancel(g->again);
	}
	forget_replies(g);
	for (size_t i = 0; i < g->n; i++) {
		json_decref(g->site[i]->staged);
		json_decref(g->site[i]->seen);
		free(g->site[i]);
	}
	free(g->site);
	nb_listen_free(&g->pem);
	explicit_bzero(g->secret, sizeof(g->secret));
	free(g);
}

const char *nb_gather_address(const struct nb_gather *g)
{
	return g->address;
}

const char *nb_gather_proof(const struct nb_gather *g)
{
	return g->proof;
}
