// SPDX-License-Identifier: MIT
/*
 * The store and the agents for Lua: requests that wait for their reply, with
 * Ctrl-C, watches that are read like queues, many HTTP requests at once, and
 * streams that look like connections of lua/core/wait/socket.c.
 */
#include "lua/core/support/core.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/store/store.h"

#define FLEET "ncclbpf.fleet"
#define WATCH "ncclbpf.watch"
#define STREAM "ncclbpf.stream"

enum { POSTS = 256, REPLY_LIMIT = 64 << 20, OPS = NB_STORE_OPS };

struct fleet {
	struct nb_http *http;
	struct nb_store *store; /* NULL if the object is closed */
	char *cacert, *cert, *key;
	struct nb_http_tls tls;
};

static struct fleet *to_fleet(lua_State *L, int at)
{
	struct fleet *f = luaL_checkudata(L, at, FLEET);

	if (!f->store)
		luaL_error(L, "the store is closed");
	return f;
}

/*
 * Wait until something happened or the time @end is reached. Returns 0, or
 * raises after Ctrl-C; @end negative: no limit
 */
static void fleet_wait(lua_State *L, const struct fleet *f, double end)
{
	struct pollfd p = { .fd = nb_http_fd(f->http), .events = POLLIN };
	double left = end < 0 ? -1 : end - nb_lua_mono();

	if (nb_lua_poll(&p, 1, end >= 0 && left < 0 ? 0 : left) < 0)
		nb_lua_interrupted(L);
	nb_http_tick(f->http);
}

/*
 * Without TLS, an agent's address ends with a secret path of 32 hexadecimal
 * digits (plugin/relay). Show each part of a path that has this form as "…".
 */
static void hide_secrets(char *text)
{
	static const char dots[] = "…";

	for (char *p = strchr(text, '/'); p; p = strchr(p + 1, '/')) {
		size_t n = strspn(p + 1, "0123456789abcdef");

		if (n != 32)
			continue;
		memcpy(p + 1, dots, sizeof(dots) - 1);
		memmove(p + sizeof(dots), p + 1 + n, strlen(p + 1 + n) + 1);
	}
}

/* Like nb_lua_fail, for an error of the store or of an agent. */
static int fleet_fail(lua_State *L, const struct nb_err *err)
{
	struct nb_err shown = *err;

	hide_secrets(shown.text);
	if (shown.code == NB_E_STORE && !shown.hint[0])
		nb_hint(&shown,
			"etcdctl endpoint health asks the store; the job continues; "
			"on the job's host, NCCLBPF_FLEET= lets the shell ask the processes");
	return nb_lua_fail(L, &shown);
}

/* a request that waits for its reply */

/*
 * A reply, kept until Lua takes it. Ctrl-C may end the wait before the reply
 * comes, so the reply is on the heap. The waiter or the reply, whichever is
 * later, frees the memory.
 */
struct waiting {
	bool done, left; /* set if nobody waits for the reply any more */
	struct nb_err err;
	bool failed, unknown, succeeded;
	int64_t revision, lease, ttl_s;
	struct nb_buf bytes; /* list of keys and values */
	struct nb_store_kv *kv;
	size_t nkv;
};

static void waiting_free(struct waiting *w)
{
	nb_buf_fini(&w->bytes);
	free(w->kv);
	free(w);
}

static void keep_kvs(struct waiting *w, const struct nb_store_kv *kv, size_t n)
{
	nb_buf_init(&w->bytes, 0);
	w->kv = calloc(n ? n : 1, sizeof(*kv));
	if (!w->kv)
		return;
	for (size_t i = 0; i < n; i++) {
		w->kv[i] = kv[i];
		nb_buf_bytes(&w->bytes, kv[i].key, kv[i].key_size);
		nb_buf_bytes(&w->bytes, kv[i].value, kv[i].size);
	}
	if (nb_buf_ok(&w->bytes))
		w->nkv = n;
}

static void reply_came(void *arg, const struct nb_store_reply *r)
{
	struct waiting *w = arg;

	w->done = true;
	if (w->left) {
		waiting_free(w);
		return;
	}
	w->failed = r->err != NULL;
	if (r->err)
		w->err = *r->err;
	w->unknown = r->unknown;
	w->succeeded = r->succeeded;
	w->revision = r->revision;
	w->lease = r->lease;
	w->ttl_s = r->ttl_s;
	keep_kvs(w, r->kv, r->nkv);
}

static void push_kvs(lua_State *L, const struct nb_store_kv *kv, size_t n, const char *bytes)
{
	lua_createtable(L, (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		lua_createtable(L, 0, 5);
		nb_lua_set_bytes(L, "key", bytes, kv[i].key_size);
		nb_lua_set_bytes(L, "value", bytes + kv[i].key_size, kv[i].size);
		bytes += kv[i].key_size + kv[i].size;
		nb_lua_set_int(L, "revision", kv[i].mod_revision);
		nb_lua_set_int(L, "lease", kv[i].lease);
		nb_lua_set_bool(L, "deleted", kv[i].deleted);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* Ctrl-C must not leak @w: mark it as abandoned, then raise. */
static int wait_step(lua_State *L)
{
	fleet_wait(L, lua_touserdata(L, 1), -1);
	return 0;
}

static void wait_reply(lua_State *L, struct fleet *f, struct waiting *w)
{
	while (!w->done) {
		lua_pushcfunction(L, wait_step);
		lua_pushlightuserdata(L, f);
		if (lua_pcall(L, 1, 0, 0)) {
			if (w->done)
				waiting_free(w);
			else
				w->left = true;
			lua_error(L);
		}
	}
}

static struct waiting *waiting_new(lua_State *L)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (!w)
		luaL_error(L, "not enough memory");
	else
		nb_buf_init(&w->bytes, 0);
	return w;
}

/*
 * {kvs, revision=, succeeded=, lease=, ttl=}, or nil and an error. The error's
 * field "unknown" says that the store may have made the change
 */
static int finish(lua_State *L, struct fleet *f, int rc, struct waiting *w,
		  const struct nb_err *err)
{
	if (rc) {
		waiting_free(w);
		return fleet_fail(L, err);
	}
	wait_reply(L, f, w);
	if (w->failed) {
		fleet_fail(L, &w->err);
		nb_lua_set_bool(L, "unknown", w->unknown);
		waiting_free(w);
		return 2;
	}
	push_kvs(L, w->kv, w->nkv, nb_buf_text(&w->bytes));
	nb_lua_set_int(L, "revision", w->revision);
	nb_lua_set_bool(L, "succeeded", w->succeeded);
	nb_lua_set_int(L, "lease", w->lease);
	nb_lua_set_int(L, "ttl", w->ttl_s);
	waiting_free(w);
	return 1;
}

/* fleet:range(prefix[, {keys_only=, limit=}]) */
static int fleet_range(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);
	struct nb_store_op op = { .kind = NB_STORE_GET_PREFIX, .key = luaL_checkstring(L, 2) };
	struct nb_err err = { .code = 0 };
	struct waiting *w;

	if (lua_istable(L, 3)) {
		lua_getfield(L, 3, "keys_only");
		op.keys_only = lua_toboolean(L, -1);
		lua_getfield(L, 3, "limit");
		op.limit = (unsigned)lua_tointeger(L, -1);
	}
	w = waiting_new(L);
	return finish(L, f, nb_store_do(f->store, &op, reply_came, w, &err), w, &err);
}

/* fleet:get(key) -> {kvs, revision=} | nil, err */
static int fleet_get(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);
	const char *key = luaL_checkstring(L, 2);
	struct nb_err err = { .code = 0 };
	struct waiting *w = waiting_new(L);

	return finish(L, f, nb_store_get(f->store, key, reply_came, w, &err), w, &err);
}

/* One operation of a list: {put=KEY, value=, lease=}, {delete=KEY},
 * {delete_prefix=KEY}, {get=KEY}, {range=PREFIX} */
static void read_op(lua_State *L, int at, struct nb_store_op *op)
{
	static const struct {
		const char *word;
		enum nb_store_op_kind kind;
	} kinds[] = { { "put", NB_STORE_PUT },
		      { "delete", NB_STORE_DELETE },
		      { "delete_prefix", NB_STORE_DELETE_PREFIX },
		      { "get", NB_STORE_GET },
		      { "range", NB_STORE_GET_PREFIX } };

	memset(op, 0, sizeof(*op));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		lua_getfield(L, at, kinds[i].word);
		if (!lua_isnil(L, -1)) {
			op->kind = kinds[i].kind;
			op->key = luaL_checkstring(L, -1);
		}
		lua_pop(L, 1); /* the table keeps the string alive */
	}
	if (!op->key)
		luaL_error(L, "an operation needs put, delete, get or range");
	lua_getfield(L, at, "value");
	op->value = lua_tolstring(L, -1, &op->size);
	lua_pop(L, 1);
	lua_getfield(L, at, "lease");
	op->lease = lua_tointeger(L, -1);
	lua_pop(L, 1);
}

static size_t read_ops(lua_State *L, const char *name, struct nb_store_op *ops)
{
	size_t n = 0;

	lua_getfield(L, 2, name);
	if (lua_istable(L, -1)) {
		n = lua_rawlen(L, -1);
		luaL_argcheck(L, n <= OPS, 2, "too many operations");
		for (size_t i = 0; i < n; i++) {
			lua_rawgeti(L, -1, (lua_Integer)i + 1);
			luaL_checktype(L, -1, LUA_TTABLE);
			read_op(L, lua_gettop(L), &ops[i]);
			lua_pop(L, 1);
		}
	}
	lua_pop(L, 1);
	return n;
}

/* fleet:txn{compare={{KEY, REVISION}…}, success={op…}, failure={op…}} */
static int fleet_txn(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);
	struct nb_store_compare *cmp;
	struct nb_store_op *ops;
	struct nb_store_txn txn = { .ncompare = 0 };
	struct nb_err err = { .code = 0 };
	struct waiting *w;

	luaL_checktype(L, 2, LUA_TTABLE);
	cmp = lua_newuserdatauv(L, OPS * sizeof(*cmp), 0);
	ops = lua_newuserdatauv(L, 2 * OPS * sizeof(*ops), 0);
	lua_getfield(L, 2, "compare");
	if (lua_istable(L, -1)) {
		txn.ncompare = lua_rawlen(L, -1);
		luaL_argcheck(L, txn.ncompare <= OPS, 2, "too many compares");
		for (size_t i = 0; i < txn.ncompare; i++) {
			lua_rawgeti(L, -1, (lua_Integer)i + 1);
			luaL_checktype(L, -1, LUA_TTABLE);
			lua_rawgeti(L, -1, 1);
			lua_rawgeti(L, -2, 2);
			cmp[i] = (struct nb_store_compare){ .key = luaL_checkstring(L, -2),
							    .revision = luaL_checkinteger(L, -1) };
			lua_pop(L, 3);
		}
	}
	lua_pop(L, 1);
	txn.compare = cmp;
	txn.then = ops;
	txn.nthen = read_ops(L, "success", ops);
	txn.otherwise = ops + OPS;
	txn.notherwise = read_ops(L, "failure", ops + OPS);
	w = waiting_new(L);
	return finish(L, f, nb_store_txn(f->store, &txn, reply_came, w, &err), w, &err);
}

typedef int lease_fn(struct nb_store *s, int64_t value, nb_store_done_fn *done, void *arg,
		     struct nb_err *err);

static int lease_call(lua_State *L, lease_fn *fn)
{
	struct fleet *f = to_fleet(L, 1);
	int64_t value = luaL_checkinteger(L, 2);
	struct nb_err err = { .code = 0 };
	struct waiting *w = waiting_new(L);

	return finish(L, f, fn(f->store, value, reply_came, w, &err), w, &err);
}

/* fleet:lease(seconds), fleet:keepalive(id), fleet:revoke(id) */
static int fleet_lease(lua_State *L)
{
	return lease_call(L, nb_store_lease_grant);
}

static int fleet_keepalive(lua_State *L)
{
	return lease_call(L, nb_store_lease_keepalive);
}

static int fleet_revoke(lua_State *L)
{
	return lease_call(L, nb_store_lease_revoke);
}

/* Watches of the store. */

struct watch {
	struct fleet *fleet; /* kept alive as uservalue 1 */
	struct nb_store_watch *watch;
	struct nb_store_kv *kv;
	size_t nkv;
	struct nb_buf bytes;
	bool open, over, no_memory;
	struct nb_err err;
};

static void watch_came(void *arg, const struct nb_store_watch_report *r)
{
	struct watch *w = arg;
	struct nb_store_kv *p;

	w->open = w->open || r->state == NB_STORE_WATCH_OPEN;
	if (r->state == NB_STORE_WATCH_LOST || r->state == NB_STORE_WATCH_FAILED) {
		w->over = true;
		w->err = *r->err;
	}
	if (!r->nkv)
		return;
	p = realloc(w->kv, (w->nkv + r->nkv) * sizeof(*p));
	if (!p) {
		w->no_memory = true;
		return;
	}
	w->kv = p;
	for (size_t i = 0; i < r->nkv; i++) {
		w->kv[w->nkv++] = r->kv[i];
		nb_buf_bytes(&w->bytes, r->kv[i].key, r->kv[i].key_size);
		nb_buf_bytes(&w->bytes, r->kv[i].value, r->kv[i].size);
	}
	w->no_memory = w->no_memory || !nb_buf_ok(&w->bytes);
}

/* fleet:watch(prefix, revision) -> watch */
static int fleet_watch(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);
	const char *prefix = luaL_checkstring(L, 2);
	int64_t revision = luaL_optinteger(L, 3, 0);
	struct watch *w = lua_newuserdatauv(L, sizeof(*w), 1);
	struct nb_err err = { .code = 0 };

	memset(w, 0, sizeof(*w));
	w->fleet = f;
	nb_buf_init(&w->bytes, 0);
	luaL_setmetatable(L, WATCH);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	w->watch = nb_store_watch(f->store, prefix, revision, watch_came, w, &err);
	return w->watch ? 1 : nb_lua_fail(L, &err);
}

/* watch:next(timeout) -> changed keys (none: the timeout is over) | nil, err */
static int watch_next(lua_State *L)
{
	struct watch *w = luaL_checkudata(L, 1, WATCH);
	double end = nb_lua_mono() + luaL_checknumber(L, 2);

	while (w->watch && !w->nkv && !w->over && nb_lua_mono() < end)
		fleet_wait(L, w->fleet, end);
	if (w->no_memory)
		return luaL_error(L, "not enough memory");
	if (w->over && !w->nkv)
		return fleet_fail(L, &w->err);
	push_kvs(L, w->kv, w->nkv, nb_buf_text(&w->bytes));
	w->nkv = 0;
	nb_buf_clear(&w->bytes);
	return 1;
}

static int watch_close(lua_State *L)
{
	struct watch *w = luaL_checkudata(L, 1, WATCH);

	if (w->watch && w->fleet->store)
		nb_store_unwatch(w->watch);
	w->watch = NULL;
	free(w->kv);
	w->kv = NULL;
	w->nkv = 0;
	nb_buf_fini(&w->bytes);
	return 0;
}

/* ---- requests to agents ---- */

struct post {
	struct nb_http_transfer *transfer;
	bool done;
	long status;
	struct nb_err err;
	char *body;
	size_t size;
};

struct posts {
	struct fleet *fleet;
	size_t n, open;
	struct post *post;
};

static void post_done(void *arg, const struct nb_http_reply *r)
{
	struct post *p = arg;

	p->transfer = NULL;
	p->done = true;
	p->status = r->status;
	if (r->err)
		p->err = *r->err;
	else
		p->body = nb_buf_take(r->body, &p->size);
}

static int posts_free(lua_State *L)
{
	struct posts *p = lua_touserdata(L, 1);

	for (size_t i = 0; i < p->n; i++) {
		if (p->fleet->http)
			nb_http_cancel(p->post[i].transfer);
		free(p->post[i].body);
	}
	free(p->post);
	p->post = NULL;
	p->n = 0;
	return 0;
}

static void post_start(lua_State *L, struct posts *all, size_t i, int at, double timeout)
{
	struct nb_http_request q = { .tls = &all->fleet->tls,
				     .connect_ms = 3000,
				     .limit = REPLY_LIMIT,
				     .done = post_done,
				     .arg = &all->post[i] };

	q.timeout_ms = timeout > 4e6 ? 0 : (unsigned)(timeout * 1000) + 1;
	if (q.timeout_ms && q.connect_ms > q.timeout_ms)
		q.connect_ms = q.timeout_ms;
	lua_rawgeti(L, at, (lua_Integer)i + 1);
	luaL_checktype(L, -1, LUA_TTABLE);
	lua_getfield(L, -1, "url");
	lua_getfield(L, -2, "body");
	lua_getfield(L, -3, "header");
	q.url = luaL_checkstring(L, -3);
	q.body = luaL_optlstring(L, -2, NULL, &q.body_size);
	q.header[0] = luaL_optstring(L, -1, NULL);
	all->post[i].transfer = nb_http_start(all->fleet->http, &q, &all->post[i].err);
	all->post[i].done = !all->post[i].transfer;
	lua_pop(L, 4);
}

static size_t posts_open(const struct posts *all, size_t upto)
{
	size_t n = 0;

	for (size_t i = 0; i < upto; i++)
		n += !all->post[i].done;
	return n;
}

static void push_post(lua_State *L, struct post *p)
{
	lua_createtable(L, 0, 3);
	if (p->err.code) {
		fleet_fail(L, &p->err);
		lua_setfield(L, -3, "err");
		lua_pop(L, 1);
		return;
	}
	nb_lua_set_int(L, "status", p->status);
	nb_lua_set_bytes(L, "body", p->body ? p->body : "", p->size);
}

/*
 * fleet:post({{url=, body=, header=}…}, timeout[, progress]) -> {{status=,
 * body=} or {err=}…} Without a body the request is a GET. At most POSTS
 * requests run at once. The function calls progress(done, all) from time to
 * time.
 */
static int fleet_post(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);
	double timeout = luaL_checknumber(L, 3);
	struct posts *all;
	size_t n, next = 0, done, said = 0;

	luaL_checktype(L, 2, LUA_TTABLE);
	n = lua_rawlen(L, 2);
	lua_settop(L, 4);
	all = lua_newuserdatauv(L, sizeof(*all), 0);
	memset(all, 0, sizeof(*all));
	all->fleet = f;
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, posts_free);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, -2);
	all->post = calloc(n ? n : 1, sizeof(*all->post));
	if (!all->post)
		return luaL_error(L, "not enough memory");
	all->n = n;
	for (;;) {
		size_t open = posts_open(all, next);

		for (; next < n && open < POSTS; next++, open++)
			post_start(L, all, next, 2, timeout);
		open = posts_open(all, next);
		done = next - open;
		if (lua_isfunction(L, 4) && done != said) {
			said = done;
			lua_pushvalue(L, 4);
			lua_pushinteger(L, (lua_Integer)done);
			lua_pushinteger(L, (lua_Integer)n);
			lua_call(L, 2, 0);
		}
		if (done == n)
			break;
		if (open)
			fleet_wait(L, f, -1);
	}
	lua_createtable(L, (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		push_post(L, &all->post[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* ---- streams of agents ---- */

struct stream {
	struct fleet *fleet; /* kept alive as uservalue 1 */
	struct nb_http_transfer *transfer;
	struct nb_buf in;
	struct nb_err err;
	bool ended;
};

static void stream_chunk(void *arg, struct nb_buf *body)
{
	struct stream *s = arg;

	nb_buf_bytes(&s->in, body->data, body->size);
	nb_buf_clear(body);
}

static void stream_done(void *arg, const struct nb_http_reply *r)
{
	struct stream *s = arg;

	s->transfer = NULL;
	s->ended = true;
	if (r->err)
		s->err = *r->err;
	nb_buf_bytes(&s->in, r->body->data, r->body->size);
}

/* fleet:stream(url, body) -> stream */
static int fleet_stream(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);
	struct nb_http_request q = { .url = luaL_checkstring(L, 2),
				     .tls = &f->tls,
				     .connect_ms = 3000,
				     .limit = REPLY_LIMIT,
				     .chunk = stream_chunk,
				     .done = stream_done };
	struct nb_err err = { .code = 0 };
	struct stream *s;

	q.body = luaL_checklstring(L, 3, &q.body_size);
	s = lua_newuserdatauv(L, sizeof(*s), 1);
	memset(s, 0, sizeof(*s));
	nb_buf_init(&s->in, REPLY_LIMIT);
	s->fleet = f;
	luaL_setmetatable(L, STREAM);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	q.arg = s;
	s->transfer = nb_http_start(f->http, &q, &err);
	return s->transfer ? 1 : nb_lua_fail(L, &err);
}

/* stream:line() -> line | nil (none yet) | nil, err (it has ended) */
static int stream_line(lua_State *L)
{
	struct stream *s = luaL_checkudata(L, 1, STREAM);

	while (s->in.size) {
		char *lf = memchr(s->in.data, '\n', s->in.size);
		size_t n;

		if (!lf)
			break;
		n = (size_t)(lf - s->in.data);
		if (n)
			lua_pushlstring(L, s->in.data, n);
		memmove(s->in.data, lf + 1, s->in.size - n - 1);
		s->in.size -= n + 1;
		if (n) /* an empty line only shows that the stream lives */
			return 1;
	}
	if (!s->ended)
		return 0;
	if (!s->err.code)
		nb_fail(&s->err, NB_E_NOTARGET, 0, "the stream has ended");
	return fleet_fail(L, &s->err);
}

static int stream_close(lua_State *L)
{
	struct stream *s = luaL_checkudata(L, 1, STREAM);

	if (s->fleet->http)
		nb_http_cancel(s->transfer);
	s->transfer = NULL;
	s->ended = true;
	nb_buf_fini(&s->in);
	return 0;
}

/*
 * fleet:wait(timeout): process requests, watches and streams until the timeout
 * is over
 */
static int fleet_wait_for(lua_State *L)
{
	struct fleet *f = to_fleet(L, 1);

	fleet_wait(L, f, nb_lua_mono() + luaL_checknumber(L, 2));
	return 0;
}

/* ---- open and close ---- */

static int fleet_close(lua_State *L)
{
	struct fleet *f = luaL_checkudata(L, 1, FLEET);

	nb_store_close(f->store);
	nb_http_free(f->http);
	f->store = NULL;
	f->http = NULL;
	free(f->cacert);
	free(f->cert);
	free(f->key);
	f->cacert = f->cert = f->key = NULL;
	return 0;
}

static const char *field(lua_State *L, const char *name)
{
	lua_getfield(L, 1, name);
	return luaL_optstring(L, -1, ""); /* the value stays on the stack */
}

/* fleet{endpoints=, cacert=, cert=, key=, user=, password_file=, timeout=} ->
 * fleet | nil, err */
static int fleet_open(lua_State *L)
{
	struct nb_store_config c;
	struct nb_err err = { .code = 0 };
	struct fleet *f;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	memset(&c, 0, sizeof(c));
	c.endpoints = field(L, "endpoints");
	c.tls.cacert = field(L, "cacert");
	c.tls.cert = field(L, "cert");
	c.tls.key = field(L, "key");
	c.user = field(L, "user");
	c.password_file = field(L, "password_file");
	lua_getfield(L, 1, "timeout");
	c.timeout_ms = (unsigned)(lua_tonumber(L, -1) * 1000);
	f = lua_newuserdatauv(L, sizeof(*f), 0);
	memset(f, 0, sizeof(*f));
	luaL_setmetatable(L, FLEET);
	if (nb_http_new(&f->http, &err) || nb_store_open(&f->store, f->http, &c, &err))
		return nb_lua_fail(L, &err);
	f->cacert = strdup(c.tls.cacert);
	f->cert = strdup(c.tls.cert);
	f->key = strdup(c.tls.key);
	f->tls = (struct nb_http_tls){ f->cacert, f->cert, f->key };
	return 1;
}

void nb_lua_open_fleet(lua_State *L)
{
	static const luaL_Reg fleet[] = { { "range", fleet_range },
					  { "get", fleet_get },
					  { "txn", fleet_txn },
					  { "lease", fleet_lease },
					  { "keepalive", fleet_keepalive },
					  { "revoke", fleet_revoke },
					  { "watch", fleet_watch },
					  { "post", fleet_post },
					  { "stream", fleet_stream },
					  { "wait", fleet_wait_for },
					  { "close", fleet_close },
					  { "__gc", fleet_close },
					  { NULL, NULL } };
	static const luaL_Reg watch[] = { { "next", watch_next },
					  { "close", watch_close },
					  { "__gc", watch_close },
					  { NULL, NULL } };
	static const luaL_Reg stream[] = { { "line", stream_line },
					   { "close", stream_close },
					   { "__gc", stream_close },
					   { NULL, NULL } };
	static const luaL_Reg fns[] = { { "fleet", fleet_open }, { NULL, NULL } };

	nb_lua_class(L, FLEET, fleet);
	nb_lua_class(L, WATCH, watch);
	nb_lua_class(L, STREAM, stream);
	luaL_setfuncs(L, fns, 0);
}
