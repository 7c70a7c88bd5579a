// SPDX-License-Identifier: MIT
#ifndef NB_TEST_STORE_BOTH_H
#define NB_TEST_STORE_BOTH_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "plugin/store/store.h"

/*
 * For tests of the store's client: requests that wait for their reply, and a
 * record of what a watch reported.
 */
static struct nb_http *http;

struct got {
	bool done;
	struct nb_err err; /* code 0: success */
	bool unknown, succeeded;
	int64_t revision, lease, ttl_s;
	size_t nkv, more;
	struct {
		char key[64], value[64];
		size_t size;
		int64_t mod, lease;
		unsigned op;
	} kv[8];
};

/* Read all keys that start with @prefix, sorted by key. */
static inline int store_range(struct nb_store *s, const char *prefix, nb_store_done_fn *done,
			      void *arg, struct nb_err *err)
{
	struct nb_store_op op = { .kind = NB_STORE_GET_PREFIX, .key = prefix };

	return nb_store_do(s, &op, done, arg, err);
}

static inline int nb_store_put(struct nb_store *s, const char *key, const void *value, size_t size,
			       int64_t lease, nb_store_done_fn *done, void *arg, struct nb_err *err)
{
	struct nb_store_op op = {
		.kind = NB_STORE_PUT, .key = key, .value = value, .size = size, .lease = lease
	};

	return nb_store_do(s, &op, done, arg, err);
}

static inline void keep_reply(void *arg, const struct nb_store_reply *r)
{
	struct got *g = arg;

	g->done = true;
	g->err.code = 0;
	if (r->err)
		g->err = *r->err;
	g->unknown = r->unknown;
	g->succeeded = r->succeeded;
	g->revision = r->revision;
	g->lease = r->lease;
	g->ttl_s = r->ttl_s;
	g->nkv = r->nkv;
	g->more = r->more;
	for (size_t i = 0; i < r->nkv && i < 8; i++) {
		snprintf(g->kv[i].key, 64, "%s", r->kv[i].key);
		snprintf(g->kv[i].value, 64, "%s", r->kv[i].value);
		g->kv[i].size = r->kv[i].size;
		g->kv[i].mod = r->kv[i].mod_revision;
		g->kv[i].lease = r->kv[i].lease;
		g->kv[i].op = r->kv[i].op;
	}
}

/* No reply takes this long, even on a busy machine. */
enum { NEVER_MS = 300 * 1000 };

/* Run the loop until @flag is set; false: not within NEVER_MS. */
static inline bool until(const bool *flag)
{
	uint64_t end = nb_http_now_ms() + NEVER_MS;

	while (!*flag && nb_http_now_ms() < end)
		nb_http_wait(http, 1000);
	return *flag;
}

/* got g = WAIT(nb_store_get(s, "key", keep_reply, &g, NULL)) */
#define WAIT(g, call)                                        \
	do {                                                 \
		memset(&(g), 0, sizeof(g));                  \
		ck_assert_int_eq(call, 0);                   \
		ck_assert_msg(until(&(g).done), "no reply"); \
	} while (0)

/* ---- watches ---- */

struct seen {
	unsigned over, puts, deletes;
	struct nb_err err;
	char last[64], value[64];
	int64_t first, mod;	       /* revisions of events */
	bool twice;		       /* an event came again, or backwards */
	struct nb_store_watch *end_in; /* ended within the callback */
};

static inline void keep_seen(void *arg, const struct nb_store_watch_report *r)
{
	struct seen *s = arg;

	if (r->err) {
		s->err = *r->err;
		s->over++;
	}
	for (size_t i = 0; i < r->nkv; i++) {
		s->puts += !r->kv[i].deleted;
		s->deletes += r->kv[i].deleted;
		if (r->kv[i].mod_revision < s->mod)
			s->twice = true;
		if (!s->first)
			s->first = r->kv[i].mod_revision;
		s->mod = r->kv[i].mod_revision;
		snprintf(s->last, 64, "%s", r->kv[i].key);
		snprintf(s->value, 64, "%s", r->kv[i].value);
	}
	if (s->end_in) {
		nb_store_unwatch(s->end_in);
		s->end_in = NULL;
	}
}

/* Run the loop until counter @n is at least @least. */
#define UNTIL(n, least)                                          \
	do {                                                     \
		uint64_t end_ = nb_http_now_ms() + NEVER_MS;     \
		while ((n) < (least) && nb_http_now_ms() < end_) \
			nb_http_wait(http, 1000);                \
		ck_assert_uint_ge((n), (least));                 \
	} while (0)

#endif
