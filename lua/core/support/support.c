// SPDX-License-Identifier: MIT
/*
 * What all files of the C module share: errors as values, buffers that the collector frees,
 * unsigned numbers, tables and classes.
 */
#include "lua/core/support/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int nb_lua_fail(lua_State *L, const struct nb_err *err)
{
	lua_pushnil(L);
	lua_createtable(L, 0, 4);
	nb_lua_set_str(L, "code", nb_err_word(err->code));
	nb_lua_set_str(L, "message", err->text);
	if (err->hint[0])
		nb_lua_set_str(L, "hint", err->hint);
	if (err->at)
		nb_lua_set_int(L, "at", err->at);
	luaL_setmetatable(L, NB_LUA_ERROR);
	return 2;
}

int nb_lua_failf(lua_State *L, int code, const char *fmt, ...)
{
	struct nb_err err = { .code = code };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err.text, sizeof(err.text), fmt, ap);
	va_end(ap);
	return nb_lua_fail(L, &err);
}

int nb_lua_bytes_of(lua_State *L, int rc, struct nb_buf *b, const struct nb_err *err)
{
	if (rc)
		return nb_lua_fail(L, err);
	lua_pushlstring(L, nb_buf_text(b), b->size);
	return 1;
}

static int buf_gc(lua_State *L)
{
	nb_buf_fini(lua_touserdata(L, 1));
	return 0;
}

struct nb_buf *nb_lua_buf(lua_State *L, size_t limit)
{
	struct nb_buf *b = lua_newuserdatauv(L, sizeof(*b), 0);

	nb_buf_init(b, limit);
	nb_lua_collected(L, "ncclbpf.buf", buf_gc);
	return b;
}

void nb_lua_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int fd_gc(lua_State *L)
{
	nb_lua_fd_close(luaL_checkudata(L, 1, NB_LUA_FD));
	return 0;
}

int *nb_lua_fd(lua_State *L)
{
	int *fd = lua_newuserdatauv(L, sizeof(*fd), 0);

	*fd = -1;
	luaL_setmetatable(L, NB_LUA_FD);
	return fd;
}

void nb_lua_push_u64(lua_State *L, unsigned long long v)
{
	unsigned long long *box = lua_newuserdatauv(L, sizeof(*box), 0);

	*box = v;
	luaL_setmetatable(L, NB_LUA_U64);
}

static int u64_text(lua_State *L)
{
	unsigned long long *box = luaL_checkudata(L, 1, NB_LUA_U64);
	char text[24];

	snprintf(text, sizeof(text), "%llu", *box);
	lua_pushstring(L, text);
	return 1;
}

static int u64_equal(lua_State *L)
{
	unsigned long long *a = luaL_testudata(L, 1, NB_LUA_U64);
	unsigned long long *b = luaL_testudata(L, 2, NB_LUA_U64);

	lua_pushboolean(L, a && b && *a == *b);
	return 1;
}

void nb_lua_set_str(lua_State *L, const char *key, const char *value)
{
	lua_pushstring(L, value);
	lua_setfield(L, -2, key);
}

void nb_lua_set_bytes(lua_State *L, const char *key, const void *p, size_t size)
{
	lua_pushlstring(L, p, size);
	lua_setfield(L, -2, key);
}

void nb_lua_set_int(lua_State *L, const char *key, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, key);
}

void nb_lua_set_num(lua_State *L, const char *key, lua_Number value)
{
	lua_pushnumber(L, value);
	lua_setfield(L, -2, key);
}

void nb_lua_set_bool(lua_State *L, const char *key, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, key);
}

void nb_lua_class(lua_State *L, const char *name, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	luaL_setfuncs(L, methods, 0);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	nb_lua_set_bool(L, "__metatable", false);
	lua_pop(L, 1);
}

void nb_lua_collected(lua_State *L, const char *name, lua_CFunction gc)
{
	if (luaL_newmetatable(L, name)) {
		lua_pushcfunction(L, gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
}

void nb_lua_open_support(lua_State *L)
{
	static const luaL_Reg meta[] = { { "__tostring", u64_text },
					 { "__eq", u64_equal },
					 { NULL, NULL } };
	static const luaL_Reg fd[] = { { "__gc", fd_gc }, { "__close", fd_gc }, { NULL, NULL } };

	nb_lua_class(L, NB_LUA_FD, fd);
	luaL_newmetatable(L, NB_LUA_U64);
	luaL_setfuncs(L, meta, 0);
	lua_pop(L, 1);
	luaL_newmetatable(L, NB_LUA_ERROR);
	lua_setfield(L, -2, "error_meta"); /* errors.lua completes it */
}
