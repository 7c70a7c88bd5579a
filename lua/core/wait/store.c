// SPDX-License-Identifier: MIT
/* The store for Lua: requests that wait for their reply, with Ctrl-C. */
#include <stdlib.h>
#include <string.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/fleet.h"

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
	nb_fleet_wait(L, lua_touserdata(L, 1), -1);
	return 0;
}

static void store_wait_reply(lua_State *L, struct nb_fleet *f, struct waiting *w)
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
static int reply_push(lua_State *L, struct nb_fleet *f, int rc, struct waiting *w,
		      const struct nb_err *err)
{
	if (rc) {
		waiting_free(w);
		return nb_fleet_fail(L, err);
	}
	store_wait_reply(L, f, w);
	if (w->failed) {
		nb_fleet_fail(L, &w->err);
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

/* fleet:range(prefix[, {keys_only=}]) */
static int fleet_range(lua_State *L)
{
	struct nb_fleet *f = nb_fleet_of(L, 1);
	struct nb_store_op op = { .kind = NB_STORE_GET_PREFIX, .key = luaL_checkstring(L, 2) };
	struct nb_err err = { .code = 0 };
	struct waiting *w;

	if (lua_istable(L, 3)) {
		lua_getfield(L, 3, "keys_only");
		op.keys_only = lua_toboolean(L, -1);
	}
	w = waiting_new(L);
	return reply_push(L, f, nb_store_do(f->store, &op, reply_came, w, &err), w, &err);
}

/* fleet:get(key) -> {kvs, revision=} | nil, err */
static int fleet_get(lua_State *L)
{
	struct nb_fleet *f = nb_fleet_of(L, 1);
	const char *key = luaL_checkstring(L, 2);
	struct nb_err err = { .code = 0 };
	struct waiting *w = waiting_new(L);

	return reply_push(L, f, nb_store_get(f->store, key, reply_came, w, &err), w, &err);
}

/* One operation of a list: {put=KEY, value=, lease=} or {delete=KEY} */
static void store_read_op(lua_State *L, int at, struct nb_store_op *op)
{
	bool put = lua_getfield(L, at, "put") != LUA_TNIL;

	lua_getfield(L, at, "delete");
	memset(op, 0, sizeof(*op));
	op->kind = put ? NB_STORE_PUT : NB_STORE_DELETE;
	op->key = luaL_checkstring(L, put ? -2 : -1);
	lua_pop(L, 2); /* the table keeps the string alive */
	lua_getfield(L, at, "value");
	op->value = lua_tolstring(L, -1, &op->size);
	lua_pop(L, 1);
	lua_getfield(L, at, "lease");
	op->lease = lua_tointeger(L, -1);
	lua_pop(L, 1);
}

/* Read the list success= of a transaction. */
static size_t read_ops(lua_State *L, struct nb_store_op *ops)
{
	size_t n = 0;

	lua_getfield(L, 2, "success");
	if (lua_istable(L, -1)) {
		n = lua_rawlen(L, -1);
		luaL_argcheck(L, n <= NB_STORE_OPS, 2, "too many operations");
		for (size_t i = 0; i < n; i++) {
			lua_rawgeti(L, -1, (lua_Integer)i + 1);
			luaL_checktype(L, -1, LUA_TTABLE);
			store_read_op(L, lua_gettop(L), &ops[i]);
			lua_pop(L, 1);
		}
	}
	lua_pop(L, 1);
	return n;
}

/* fleet:txn{compare={{KEY, REVISION}…}, success={op…}} */
static int fleet_txn(lua_State *L)
{
	struct nb_fleet *f = nb_fleet_of(L, 1);
	struct nb_store_compare *cmp;
	struct nb_store_op *ops;
	struct nb_store_txn txn = { .ncompare = 0 };
	struct nb_err err = { .code = 0 };
	struct waiting *w;

	luaL_checktype(L, 2, LUA_TTABLE);
	cmp = lua_newuserdatauv(L, NB_STORE_OPS * sizeof(*cmp), 0);
	ops = lua_newuserdatauv(L, NB_STORE_OPS * sizeof(*ops), 0);
	lua_getfield(L, 2, "compare");
	if (lua_istable(L, -1)) {
		txn.ncompare = lua_rawlen(L, -1);
		luaL_argcheck(L, txn.ncompare <= NB_STORE_OPS, 2, "too many compares");
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
	txn.nthen = read_ops(L, ops);
	w = waiting_new(L);
	return reply_push(L, f, nb_store_txn(f->store, &txn, reply_came, w, &err), w, &err);
}

typedef int lease_fn(struct nb_store *s, int64_t value, nb_store_done_fn *done, void *arg,
		     struct nb_err *err);

static int lease_call(lua_State *L, lease_fn *fn)
{
	struct nb_fleet *f = nb_fleet_of(L, 1);
	int64_t value = luaL_checkinteger(L, 2);
	struct nb_err err = { .code = 0 };
	struct waiting *w = waiting_new(L);

	return reply_push(L, f, fn(f->store, value, reply_came, w, &err), w, &err);
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

void nb_lua_open_store(lua_State *L)
{
	static const luaL_Reg methods[] = { { "range", fleet_range },
					    { "get", fleet_get },
					    { "txn", fleet_txn },
					    { "lease", fleet_lease },
					    { "keepalive", fleet_keepalive },
					    { "revoke", fleet_revoke },
					    { NULL, NULL } };

	luaL_getmetatable(L, NB_FLEET);
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 1);
}
