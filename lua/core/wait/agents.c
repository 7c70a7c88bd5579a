// SPDX-License-Identifier: MIT
/*
 * Agents for Lua: many HTTP requests at once, and streams that look like connections of
 * lua/core/wait/socket.c.
 */
#include <stdlib.h>
#include <string.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/fleet.h"

#define STREAM "ncclbpf.stream"

enum { POSTS = 256, REPLY_LIMIT = 64 << 20 };

struct post {
	struct nb_http_transfer *transfer;
	bool done;
	long status;
	struct nb_err err;
	char *body;
	size_t size;
};

struct posts {
	struct nb_fleet *fleet;
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
				     .once = true,
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
		nb_fleet_fail(L, &p->err);
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
	struct nb_fleet *f = nb_fleet_of(L, 1);
	double timeout = luaL_checknumber(L, 3);
	struct posts *all;
	size_t n, next = 0, done, said = 0;

	luaL_checktype(L, 2, LUA_TTABLE);
	n = lua_rawlen(L, 2);
	lua_settop(L, 4);
	all = lua_newuserdatauv(L, sizeof(*all), 0);
	memset(all, 0, sizeof(*all));
	all->fleet = f;
	nb_lua_collected(L, "ncclbpf.posts", posts_free);
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
			nb_fleet_wait(L, f, -1);
	}
	lua_createtable(L, (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		push_post(L, &all->post[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

struct stream {
	struct nb_fleet *fleet; /* kept alive as uservalue 1 */
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
	struct nb_fleet *f = nb_fleet_of(L, 1);
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
static int agent_line(lua_State *L)
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
	return nb_fleet_fail(L, &s->err);
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

void nb_lua_open_agents(lua_State *L)
{
	static const luaL_Reg methods[] = { { "post", fleet_post },
					    { "stream", fleet_stream },
					    { NULL, NULL } };
	static const luaL_Reg stream[] = { { "line", agent_line },
					   { "close", stream_close },
					   { "__gc", stream_close },
					   { NULL, NULL } };

	luaL_getmetatable(L, NB_FLEET);
	luaL_setfuncs(L, methods, 0);
	lua_pop(L, 1);
	nb_lua_class(L, STREAM, stream);
}
