// SPDX-License-Identifier: MIT
/*
 * A store and its agents as an object of Lua: opening, closing, and waiting with Ctrl-C.
 */
#include "lua/core/wait/fleet.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core/support/support.h"

struct nb_fleet *nb_fleet_of(lua_State *L, int at)
{
	struct nb_fleet *f = luaL_checkudata(L, at, NB_FLEET);

	if (!f->store)
		luaL_error(L, "the store is closed");
	return f;
}

void nb_fleet_wait(lua_State *L, const struct nb_fleet *f, double end)
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

int nb_fleet_fail(lua_State *L, const struct nb_err *err)
{
	struct nb_err shown = *err;

	hide_secrets(shown.text);
	if (shown.code == NB_E_STORE && !shown.hint[0])
		nb_hint(&shown,
			"etcdctl endpoint health asks the store; the job continues; "
			"on the job's host, NCCLBPF_FLEET= lets the shell ask the processes");
	return nb_lua_fail(L, &shown);
}

/*
 * fleet:wait(timeout): process requests and streams until the timeout
 * is over
 */
static int fleet_wait(lua_State *L)
{
	struct nb_fleet *f = nb_fleet_of(L, 1);

	nb_fleet_wait(L, f, nb_lua_mono() + luaL_checknumber(L, 2));
	return 0;
}

static int fleet_close(lua_State *L)
{
	struct nb_fleet *f = luaL_checkudata(L, 1, NB_FLEET);

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

static const char *config_text(lua_State *L, const char *name)
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
	struct nb_fleet *f;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	memset(&c, 0, sizeof(c));
	c.endpoints = config_text(L, "endpoints");
	c.tls.cacert = config_text(L, "cacert");
	c.tls.cert = config_text(L, "cert");
	c.tls.key = config_text(L, "key");
	c.user = config_text(L, "user");
	c.password_file = config_text(L, "password_file");
	lua_getfield(L, 1, "timeout");
	c.timeout_ms = (unsigned)(lua_tonumber(L, -1) * 1000);
	f = lua_newuserdatauv(L, sizeof(*f), 0);
	memset(f, 0, sizeof(*f));
	luaL_setmetatable(L, NB_FLEET);
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
	static const luaL_Reg methods[] = { { "wait", fleet_wait },
					    { "close", fleet_close },
					    { "__gc", fleet_close },
					    { NULL, NULL } };
	static const luaL_Reg fns[] = { { "fleet", fleet_open }, { NULL, NULL } };

	nb_lua_class(L, NB_FLEET, methods);
	luaL_setfuncs(L, fns, 0);
}
