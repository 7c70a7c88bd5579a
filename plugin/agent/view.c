// SPDX-License-Identifier: MIT
/*
 * A sorted table of store keys. A job has a few thousand keys at most, and they
 * change rarely, so insertion may move entries.
 */
#include "plugin/agent/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"

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

void nb_view_remove(struct nb_view *v, const char *key)
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

static bool view_insert(struct nb_view *v, size_t i, const char *key,
			json_t *value, int64_t made, int64_t mod)
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

bool nb_view_put_json(struct nb_view *v, const char *key, json_t *value,
		      int64_t made, int64_t mod)
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

bool nb_view_put(struct nb_view *v, const char *key, const char *value,
		 size_t size, int64_t made, int64_t mod)
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

const json_t *nb_view_at_site(const struct nb_view *v, const char *family,
			      const char *site)
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
