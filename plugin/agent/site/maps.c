// SPDX-License-Identifier: MIT
/*
 * Requests for the merged maps of other sites, over their agents' HTTPS
 * servers. The interval between two requests to a site grows with the number of
 * sites, and so does the time for which a site's maps count.
 */
#include "plugin/agent/site/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/generation/controller.h"
#include "plugin/agent/site/state.h"
#include "plugin/controller/controller.h"
#include "plugin/controller/election.h"
#include "plugin/controller/sites.h"
#include "plugin/job/segment.h"
#include "plugin/runtime/params.h"

enum {
	PERIOD_MS = 1000, /* between two requests to a site, plus SITE_MS */
	SITE_MS = 8,	  /* for each site */
	PERIOD_MOST_MS = 10000,
	LOOK_MS = 100, /* interval between two searches for due requests */
	/* maps are used for this many periods, plus OLD_MS */
	OLD_PERIODS = 3,
	OLD_MS = 2000,
	TIMEOUT_MS = 3000,
	AT_ONCE = 16, /* most requests in progress */
	LINE_SIZE = 4096,
	/* most bytes of the maps of all sites together */
	ALL_BYTES = 64 << 20,
	AGE_MOST_MS = 3600000
};

/* Another site. */
struct far {
	struct nb_maps *m;
	struct nb_sites_state state;
	uint32_t place; /* index in nb_maps.at, and in the mailbox */
	struct nb_http_transfer *transfer;
	uint64_t due_ms;
	size_t size; /* of the last maps */
	bool found;  /* the site is still in the store */
};

struct nb_maps {
	struct nb_agent *a;
	struct nb_mailbox board;
	struct far *at[NB_SITES_MOST]; /* NULL: the place is free */
	uint32_t n;		       /* index of the last used entry of at, plus 1 */
	uint32_t more;		       /* number of sites without a place */
	unsigned running;	       /* number of requests in progress */
	size_t bytes;
	uint64_t look_ms, list_ms;
	bool told; /* the log says that the mailbox cannot be used */
};

struct nb_maps *nb_maps_new(struct nb_agent *a)
{
	struct nb_maps *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->a = a;
	m->board.fd = -1;
	return m;
}

static void far_drop(struct far *f)
{
	const struct nb_sites_state none = { .site = "" };
	struct nb_maps *m = f->m;

	if (f->transfer) {
		nb_http_cancel(f->transfer);
		m->running--;
	}
	(void)nb_sites_post_state(&m->board, f->place, &none, NULL);
	m->bytes -= f->size;
	m->at[f->place] = NULL;
	while (m->n && !m->at[m->n - 1])
		m->n--;
	free(f);
}

static void drop_all(struct nb_maps *m)
{
	while (m->n)
		far_drop(m->at[m->n - 1]);
	m->list_ms = 0;
}

void nb_maps_free(struct nb_maps *m)
{
	if (!m)
		return;
	drop_all(m);
	nb_mailbox_close(&m->board);
	free(m);
}

static uint64_t period_ms(const struct nb_maps *m)
{
	uint64_t ms = PERIOD_MS + (uint64_t)m->n * SITE_MS;

	return ms < PERIOD_MOST_MS ? ms : PERIOD_MOST_MS;
}

static uint64_t life_ms(const struct nb_maps *m)
{
	return OLD_PERIODS * period_ms(m) + OLD_MS;
}

static bool open_board(struct nb_maps *m)
{
	char name[sizeof(m->a->dir.job) + 8];
	struct nb_err err;

	if (m->board.fd >= 0)
		return true;
	snprintf(name, sizeof(name), "%s.loop", m->a->dir.job);
	if (!nb_mailbox_open(&m->board, m->a->dir.dirfd, name, &err))
		return true;
	if (!m->told)
		nb_agent_log("controllers do not see other sites: %s", err.text);
	m->told = true;
	return false;
}

/* Post the site's name, the number of its processes and the last failure. */
static void post_state(const struct far *f)
{
	struct nb_err err;

	if (!nb_sites_post_state(&f->m->board, f->place, &f->state, &err) || f->m->told)
		return;
	f->m->told = true;
	nb_agent_log("controllers do not see other sites: %s", err.text);
}

static void set_why(struct far *f, const char *why)
{
	char text[sizeof(f->state.why)];

	snprintf(text, sizeof(text), "%s", why);
	if (!strcmp(text, f->state.why))
		return;
	memcpy(f->state.why, text, sizeof(text));
	post_state(f);
}

int nb_maps_read(const void *reply, size_t size, struct nb_maps_reply *out, struct nb_err *err)
{
	const char *lf = size ? memchr(reply, '\n', size) : NULL;
	size_t line = lf ? (size_t)(lf - (const char *)reply) : 0;
	int64_t age, processes, missing;
	const json_t *data;
	json_t *o = NULL;

	if (lf && line < LINE_SIZE)
		o = json_loadb(reply, line, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(o)) {
		json_decref(o);
		return nb_fail(err, NB_E_PROTOCOL, 0,
			       "the first line of the agent's reply is not JSON");
	}
	if (!json_is_true(json_object_get(o, "ok"))) {
		nb_fail(err, NB_E_REFUSED, 0, "%.180s",
			nb_view_str(json_object_get(o, "error"), "message"));
		json_decref(o);
		return err->code;
	}
	data = json_object_get(o, "data");
	age = nb_view_int(data, "age_us") / 1000;
	processes = nb_view_int(data, "processes");
	missing = nb_view_int(data, "missing");
	json_decref(o);
	*out = (struct nb_maps_reply){ .bytes = lf + 1, .size = size - line - 1 };
	if (age < 0 || processes < 1 || processes > NB_SEG_PROCS || missing < 0 ||
	    missing > processes)
		return nb_fail(err, NB_E_PROTOCOL, 0, "the agent's reply has numbers out of range");
	if (!out->size || out->size > NB_CONTROLLER_MAPS_BYTES)
		return nb_fail(err, NB_E_LIMIT, 0, "%zu bytes of merged maps (allowed: 1 to %d)",
			       out->size, NB_CONTROLLER_MAPS_BYTES);
	out->age_ms = age < AGE_MOST_MS ? (uint64_t)age : AGE_MOST_MS;
	out->processes = (uint32_t)processes;
	out->missing = (uint32_t)missing;
	return 0;
}

static int post_maps(struct far *f, const struct nb_maps_reply *r, struct nb_err *err)
{
	struct nb_maps *m = f->m;
	uint64_t now = nb_agent_ms();
	struct nb_sites_maps head = { .processes = r->processes, .missing = r->missing };
	int rc;

	if (m->bytes - f->size + r->size > ALL_BYTES)
		return nb_fail(err, NB_E_LIMIT, 0,
			       "the merged maps of all sites have more than %d MiB",
			       ALL_BYTES >> 20);
	memcpy(head.site, f->state.site, sizeof(head.site));
	head.taken_ms = now > r->age_ms ? now - r->age_ms : 0;
	head.until_ms = head.taken_ms + life_ms(m);
	rc = nb_sites_post_maps(&m->board, f->place, &head, r->bytes, r->size, err);
	if (!rc) {
		m->bytes += r->size - f->size;
		f->size = r->size;
	}
	return rc;
}

static void maps_came(void *arg, const struct nb_http_reply *reply)
{
	struct far *f = arg;
	struct nb_maps_reply r = { .bytes = NULL };
	struct nb_err err = { .code = 0 };

	f->transfer = NULL;
	f->m->running--;
	if (reply->err)
		err = *reply->err;
	else if (!nb_maps_read(reply->body->data, reply->body->size, &r, &err))
		(void)post_maps(f, &r, &err);
	set_why(f, err.code ? err.text : "");
}

/*
 * Ask the site's agent for the maps that its process @pid of PID namespace @ns
 * has merged.
 */
static void ask_site(struct far *f, const char *address, int64_t ns, int64_t pid)
{
	const struct nb_http_tls tls = { nb_params.str[NB_P_FLEET_CACERT],
					 nb_params.str[NB_P_FLEET_CERT],
					 nb_params.str[NB_P_FLEET_KEY] };
	char url[512];
	const struct nb_http_request q = {
		.url = url,
		.body = "controller maps\n",
		.tls = &tls,
		.connect_ms = TIMEOUT_MS,
		.timeout_ms = TIMEOUT_MS,
		.limit = NB_CONTROLLER_MAPS_BYTES + LINE_SIZE,
		.done = maps_came,
		.arg = f,
	};
	struct nb_err err;

	snprintf(url, sizeof(url), "%.440s/v1/line?pid=%lld.%lld", address, (long long)ns,
		 (long long)pid);
	f->transfer = nb_http_start(f->m->a->http, &q, &err);
	if (f->transfer)
		f->m->running++;
	else
		set_why(f, err.text);
}

static void begin_request(struct far *f)
{
	const struct nb_view_key *k;
	const char *address;
	char key[96];
	int64_t pid;

	snprintf(key, sizeof(key), "site/%s", f->state.site);
	k = nb_view_get(&f->m->a->view, key);
	address = k ? nb_view_str(k->value, "address") : "";
	pid = k ? nb_view_int(k->value, "elected") : 0;
	f->due_ms = nb_agent_ms() + period_ms(f->m);
	if (!k)
		set_why(f, "the agent's lease has ended");
	else if (strncmp(address, "http", 4) != 0)
		set_why(f, "the agent has no address");
	else if (pid <= 0)
		set_why(f, "no process of the site is elected to merge the maps");
	else
		ask_site(f, address, nb_view_int(k->value, "elected_ns"), pid);
}

/* Note that the fleet has this site. */
static void find_site(struct nb_maps *m, const char *name, int64_t processes)
{
	uint32_t spare = NB_SITES_MOST;
	struct far *f = NULL;

	if (!strcmp(name, m->a->name) || strlen(name) >= NB_SITES_NAME)
		return;
	for (uint32_t i = 0; i < m->n && !f; i++) {
		if (!m->at[i] && spare == NB_SITES_MOST)
			spare = i;
		else if (m->at[i] && !strcmp(m->at[i]->state.site, name))
			f = m->at[i];
	}
	if (!f) {
		if (spare == NB_SITES_MOST)
			spare = m->n;
		f = spare < NB_SITES_MOST ? calloc(1, sizeof(*f)) : NULL;
		m->more += !f;
		if (!f)
			return;
		f->m = m;
		f->place = spare;
		snprintf(f->state.site, sizeof(f->state.site), "%s", name);
		m->at[spare] = f;
		m->n = spare < m->n ? m->n : spare + 1;
		post_state(f);
	}
	f->found = true;
	if (processes > 0 && processes <= NB_SEG_PROCS &&
	    f->state.processes != (uint32_t)processes) {
		f->state.processes = (uint32_t)processes;
		post_state(f);
	}
}

/*
 * Find sites whose agent's lease has ended while their ranks may continue. The
 * key members/COMM names the sites of a communicator that some site still has.
 */
static void find_away(struct nb_maps *m)
{
	const struct nb_view *v = &m->a->view;

	for (size_t i = nb_view_first(v, "members/"); nb_view_below(v, i, "members/"); i++) {
		const json_t *o = v->at[i].value;
		const json_t *list = json_object_get(o, "sites");
		char key[128];

		snprintf(key, sizeof(key), "comm/%.16s/", v->at[i].key + 8);
		if (!nb_view_below(v, nb_view_first(v, key), key))
			continue;
		for (size_t n = 0; n < json_array_size(list); n++) {
			const char *name = json_string_value(json_array_get(list, n));
			const struct nb_view_key *ended;

			snprintf(key, sizeof(key), "ended/%.100s", name ? name : "");
			ended = nb_view_get(v, key);
			if (name && *name && (!ended || ended->mod <= nb_view_int(o, "since")))
				find_site(m, name, 0);
		}
	}
}

/* Find the sites with an agent, and the others that still have ranks. */
static void find_sites(struct nb_maps *m)
{
	const struct nb_view *v = &m->a->view;

	m->more = 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->at[i])
			m->at[i]->found = false;
	for (size_t i = nb_view_first(v, "site/"); nb_view_below(v, i, "site/"); i++)
		find_site(m, v->at[i].key + 5, nb_view_int(v->at[i].value, "processes"));
	find_away(m);
	for (uint32_t i = m->n; i--;)
		if (i < m->n && m->at[i] && !m->at[i]->found)
			far_drop(m->at[i]);
}

static void post_list(struct nb_maps *m)
{
	const struct nb_sites_list list = { .n = m->n,
					    .more = m->more,
					    .until_ms = nb_agent_ms() + life_ms(m) };

	(void)nb_sites_post_list(&m->board, &list, NULL);
}

/* Do the controllers of this site see the maps of all sites? */
static bool is_wanted(struct nb_maps *m)
{
	const struct nb_segment *s = m->a->site.seg;

	return __atomic_load_n(&s->mem->agent.coordinates_ms, __ATOMIC_ACQUIRE) && m->a->whole &&
	       nb_election_read(s).word && open_board(m) && nb_controllers_want_sites(&m->board, s);
}

void nb_maps_tick(struct nb_maps *m)
{
	uint64_t now = nb_agent_ms();

	if (!m || now < m->look_ms)
		return;
	m->look_ms = now + LOOK_MS;
	if (!is_wanted(m)) {
		drop_all(m);
		return;
	}
	if (now >= m->list_ms + PERIOD_MS) {
		m->list_ms = now;
		find_sites(m);
		post_list(m);
	}
	for (uint32_t i = 0; i < m->n && m->running < AT_ONCE; i++) {
		struct far *f = m->at[i];

		if (f && !f->transfer && now >= f->due_ms)
			begin_request(f);
	}
}
