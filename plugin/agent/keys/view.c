// SPDX-License-Identifier: MIT
/*
 * A sorted table of store keys. A job has a few thousand keys at most, and they
 * change rarely, so insertion may move entries. Also: what the table says about
 * communicators, and the chain of a communicator's records.
 */
#include "plugin/agent/keys/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/json.h"
#include "plugin/runtime/clock.h"

size_t nb_view_first(const struct nb_view *v, const char *prefix)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(v->at[mid].key, prefix) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool nb_view_below(const struct nb_view *v, size_t i, const char *prefix)
{
	return i < v->n && !strncmp(v->at[i].key, prefix, strlen(prefix));
}

const struct nb_view_key *nb_view_get(const struct nb_view *v, const char *key)
{
	size_t i = nb_view_first(v, key);

	return i < v->n && !strcmp(v->at[i].key, key) ? &v->at[i] : NULL;
}

static void view_delete(struct nb_view *v, const char *key)
{
	size_t i = nb_view_first(v, key);

	if (i == v->n || strcmp(v->at[i].key, key))
		return;
	free(v->at[i].key);
	json_decref(v->at[i].value);
	v->n--;
	memmove(&v->at[i], &v->at[i + 1], (v->n - i) * sizeof(*v->at));
}

void nb_view_clear(struct nb_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		free(v->at[i].key);
		json_decref(v->at[i].value);
	}
	free(v->at);
	*v = (struct nb_view){ 0 };
}

static bool view_insert(struct nb_view *v, size_t i, const char *key, json_t *value, int64_t made,
			int64_t mod)
{
	if (v->n == v->room) {
		size_t room = v->room ? v->room * 2 : 64;
		void *p = realloc(v->at, room * sizeof(*v->at));

		if (!p)
			return false;
		v->at = p;
		v->room = room;
	}
	memmove(&v->at[i + 1], &v->at[i], (v->n - i) * sizeof(*v->at));
	v->at[i] = (struct nb_view_key){ strdup(key), value, made, mod };
	if (!v->at[i].key) {
		memmove(&v->at[i], &v->at[i + 1], (v->n - i) * sizeof(*v->at));
		return false;
	}
	v->n++;
	return true;
}

static bool view_set(struct nb_view *v, const char *key, json_t *value, int64_t made, int64_t mod)
{
	size_t i = nb_view_first(v, key);

	if (i < v->n && !strcmp(v->at[i].key, key)) {
		json_incref(value);
		json_decref(v->at[i].value);
		v->at[i].value = value;
		v->at[i].made = made;
		v->at[i].mod = mod;
		return true;
	}
	if (!view_insert(v, i, key, value, made, mod))
		return false;
	json_incref(value);
	return true;
}

/*
 * Write the key of the row of communicator @comm and site @site. Returns false
 * if @comm is not the identity of a communicator.
 */
static bool row_key(char key[128], const char *comm, const char *site)
{
	if (strspn(comm, "0123456789abcdef") != NB_COMM_ID || comm[NB_COMM_ID])
		return false;
	snprintf(key, 128, "comm/%s/%s", comm, site);
	return true;
}

/* Replace the communicators of @site: @old and @facts are values of its key. */
static void set_rows(struct nb_view *v, const char *site, const json_t *old, const json_t *facts,
		     int64_t made, int64_t mod)
{
	json_t *was = json_object_get(old, "comms");
	json_t *now = json_object_get(facts, "comms"), *row;
	char key[128];
	const char *comm;

	json_object_foreach(was, comm, row) if (!json_is_object(json_object_get(now, comm)) &&
						row_key(key, comm, site)) view_delete(v, key);
	json_object_foreach(now, comm, row) if (json_is_object(row) && row_key(key, comm, site))(
		void) view_set(v, key, row, made, mod);
}

static bool is_site(const char *key)
{
	return !strncmp(key, "site/", 5);
}

bool nb_view_put_json(struct nb_view *v, const char *key, json_t *value, int64_t made, int64_t mod)
{
	const struct nb_view_key *k = is_site(key) ? nb_view_get(v, key) : NULL;
	json_t *old = k ? json_incref(k->value) : NULL;
	bool fine = view_set(v, key, value, made, mod);

	if (fine && is_site(key))
		set_rows(v, key + 5, old, value, made, mod);
	json_decref(old);
	return fine;
}

void nb_view_remove(struct nb_view *v, const char *key)
{
	const struct nb_view_key *k = is_site(key) ? nb_view_get(v, key) : NULL;

	if (k)
		set_rows(v, key + 5, k->value, NULL, 0, 0);
	view_delete(v, key);
}

bool nb_view_put(struct nb_view *v, const char *key, const char *value, size_t size, int64_t made,
		 int64_t mod)
{
	json_t *o = json_loadb(value, size, JSON_REJECT_DUPLICATES, NULL);
	bool fine = json_is_object(o) && nb_view_put_json(v, key, o, made, mod);

	if (!json_is_object(o))
		nb_view_remove(v, key);
	json_decref(o);
	return fine;
}

int64_t nb_view_int(const json_t *o, const char *name)
{
	return json_integer_value(json_object_get(o, name));
}

const char *nb_view_str(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

int64_t nb_view_most(const struct nb_view *v, const char *prefix, const char *name, int64_t most)
{
	for (size_t i = nb_view_first(v, prefix); nb_view_below(v, i, prefix); i++) {
		int64_t n = nb_view_int(v->at[i].value, name);

		if (n > most && n < INT32_MAX)
			most = n;
	}
	return most;
}

json_t *nb_view_text(const char *text)
{
	char *copy = strdup(text);
	size_t left = copy ? strlen(copy) : 0;
	json_t *o;

	for (char *p = copy; left;) {
		size_t n = nb_utf8_len((const unsigned char *)p, left);

		if (!n) {
			*p = '?';
			n = 1;
		}
		p += n;
		left -= n;
	}
	o = copy ? json_string(copy) : NULL;
	free(copy);
	return o;
}

const json_t *nb_view_at_site(const struct nb_view *v, const char *family, const char *site)
{
	char key[128];
	const struct nb_view_key *k;

	snprintf(key, sizeof(key), "%s/%s", family, site);
	k = nb_view_get(v, key);
	return k ? k->value : NULL;
}

bool nb_view_ended(const struct nb_view *v, const char *site, int64_t since)
{
	char key[128];
	const struct nb_view_key *k;

	snprintf(key, sizeof(key), "ended/%s", site);
	k = nb_view_get(v, key);
	return k && k->mod > since;
}

/* ---- communicators ---- */

enum { COMM = 5 }; /* length of the prefix "comm/" of a key */

const char *nb_group_site(const struct nb_view *v, size_t i)
{
	const char *slash = strchr(v->at[i].key + COMM, '/');

	return slash ? slash + 1 : "";
}

/* A count of ranks; a key may be damaged. */
static int64_t count_at(const json_t *o, const char *name)
{
	int64_t n = nb_view_int(o, name);

	return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

bool nb_group_at(const struct nb_view *v, size_t i, struct nb_group *g)
{
	memset(g, 0, sizeof(*g));
	if (!nb_view_below(v, i, "comm/"))
		return false;
	g->first = g->end = i;
	snprintf(g->id, sizeof(g->id), "%s", v->at[i].key + COMM);
	for (; nb_view_below(v, g->end, "comm/") &&
	       !strncmp(v->at[g->end].key + COMM, g->id, NB_COMM_ID);
	     g->end++) {
		const json_t *o = v->at[g->end].value;

		g->ranks += count_at(o, "ranks");
		g->nranks = count_at(o, "nranks");
		g->sites++;
	}
	return g->end > g->first;
}

int64_t nb_group_registered(const struct nb_view *v, const struct nb_group *g)
{
	int64_t last = 0;

	for (size_t i = g->first; i < g->end; i++) {
		int64_t since = nb_view_int(v->at[i].value, "since");

		if (!since)
			return 0;
		last = since > last ? since : last;
	}
	return last;
}

const json_t *nb_group_members(const struct nb_view *v, const struct nb_group *g)
{
	char key[32];
	const struct nb_view_key *k;

	snprintf(key, sizeof(key), "members/%s", g->id);
	k = nb_view_get(v, key);
	if (!k || nb_view_int(k->value, "since") < nb_group_registered(v, g))
		return NULL;
	return k->value;
}

const char *nb_group_gone(const struct nb_view *v, const struct nb_group *g, const json_t *members,
			  size_t *i)
{
	const json_t *sites = json_object_get(members, "sites");

	while (*i < json_array_size(sites)) {
		const char *name = json_string_value(json_array_get(sites, (*i)++));
		char key[128];

		snprintf(key, sizeof(key), "comm/%s/%s", g->id, name ? name : "");
		if (name && !nb_view_get(v, key))
			return name;
	}
	return NULL;
}

const char *nb_group_left(const struct nb_view *v, const struct nb_group *g)
{
	const json_t *members = nb_group_members(v, g);
	const char *name;
	size_t i = 0;

	while ((name = nb_group_gone(v, g, members, &i)))
		if (!nb_view_at_site(v, "site", name) &&
		    !nb_view_ended(v, name, nb_view_int(members, "since")))
			return name;
	return NULL;
}

bool nb_groups_whole(const struct nb_view *v, char *why, size_t size)
{
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end) {
		const char *left = nb_group_left(v, &g);

		if (!left)
			continue;
		snprintf(why, size,
			 "site %.72s has ranks of communicator %s, and its agent's lease has ended",
			 left, g.id);
		return false;
	}
	return true;
}

bool nb_groups_registered(const struct nb_view *v)
{
	struct nb_group g;

	for (size_t i = nb_view_first(v, "comm/"); nb_group_at(v, i, &g); i = g.end)
		if (g.nranks && g.ranks == g.nranks && !nb_group_registered(v, &g))
			return false;
	return true;
}

json_t *nb_groups_members(const struct nb_view *v, size_t *i, char members[32], int64_t *mod)
{
	struct nb_group g;

	for (; nb_group_at(v, *i, &g); *i = g.end) {
		const struct nb_view_key *k;
		json_t *sites;

		if (g.ranks != g.nranks || !nb_group_registered(v, &g) || nb_group_members(v, &g))
			continue;
		snprintf(members, 32, "members/%s", g.id);
		k = nb_view_get(v, members);
		*mod = k ? k->mod : 0;
		sites = json_array();
		for (size_t n = g.first; n < g.end; n++)
			json_array_append_new(sites, json_string(nb_group_site(v, n)));
		*i = g.end;
		return json_pack("{s:I,s:o}", "since", (json_int_t)nb_group_registered(v, &g),
				 "sites", sites);
	}
	return NULL;
}

json_t *nb_view_generation(const struct nb_view *v)
{
	const struct nb_view_key *k = nb_view_get(v, "order/commit");
	const struct nb_view_key *s = nb_view_get(v, "order/state");

	if (k && *nb_view_str(k->value, "line"))
		return k->value;
	if (!k || !s || nb_view_int(k->value, "n") != nb_view_int(s->value, "n"))
		return NULL;
	return s->value;
}

/* ---- records ---- */

int64_t nb_record_draw(void)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = nb_clock_system() ^ (uint64_t)getpid() << 40;
	return (int64_t)(n >> 1 | 1);
}

int64_t nb_record_id(const json_t *record)
{
	int64_t id = nb_view_int(record, "id");

	return id > 0 ? id : 0;
}

json_t *nb_record_link(json_t *record, int64_t id, int64_t was)
{
	json_object_set_new(record, "id", json_integer(id));
	json_object_set_new(record, "was", json_integer(was));
	return record;
}

bool nb_record_again(const json_t *record)
{
	return json_object_get(record, "over") != NULL;
}

json_t *nb_record_bare(const json_t *record)
{
	static const char *const links[] = { "id", "was", "over", "back" };
	/* json_copy takes no const value but changes nothing */
	json_t *bare = json_copy((json_t *)(uintptr_t)record);

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		json_object_del(bare, links[i]);
	return bare;
}

json_t *nb_record_undo(const json_t *armed)
{
	const json_t *back = json_object_get(armed, "back");

	if (!json_is_object(back))
		return NULL;
	return nb_record_link(nb_record_bare(back), nb_record_draw(), nb_record_id(armed));
}
