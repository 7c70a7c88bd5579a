// SPDX-License-Identifier: MIT
/*
 * The entry of the Lua module `ncclbpf.core`: the primitives that Lua cannot
 * do itself (sockets with credentials and descriptors, type information,
 * images, verdicts) and the rows of core/defs as Lua tables. Everything that
 * a person would call an interface is Lua, in lua/ncclbpf.
 */
#include "lua/core/support/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/spec/spec.h"

int nb_lua_fail(lua_State *L, const struct nb_err *err)
{
	lua_pushnil(L);
	lua_createtable(L, 0, 4);
	nb_lua_set_str(L, "code", nb_err_word(err->code));
	nb_lua_set_str(L, "message", err->text);
	if (err->hint[0]) {
		nb_lua_set_str(L, "hint", err->hint);
	}
	if (err->at) {
		nb_lua_set_int(L, "at", err->at);
	}
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

/* ---- unsigned numbers above 2^63-1 ---- */

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

/* ---- tables ---- */

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

static int commands(lua_State *L)
{
	lua_createtable(L, NB_NCMDS, 0);
	for (int i = 0; i < NB_NCMDS; i++) {
		const struct nb_cmd_spec *c = nb_spec_cmd((enum nb_cmd)i);

		lua_createtable(L, 0, 6);
		nb_lua_set_str(L, "words", c->words);
		nb_lua_set_str(L, "syntax", c->syntax);
		nb_lua_set_int(L, "least", c->least);
		nb_lua_set_int(L, "most", c->most);
		nb_lua_set_str(L, "role", c->role == NB_ROLE_CONTROL ? "control" : "observe");
		nb_lua_set_str(L, "help", c->help);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

static int params(lua_State *L)
{
	lua_createtable(L, NB_NPARAMS, 0);
	for (int i = 0; i < NB_NPARAMS; i++) {
		const struct nb_param_spec *p = nb_spec_param((enum nb_param)i);

		lua_createtable(L, 0, 6);
		nb_lua_set_str(L, "name", p->name);
		nb_lua_set_str(L, "default", p->def);
		nb_lua_set_str(L, "choices", p->choices);
		nb_lua_set_str(L, "unit", p->unit);
		nb_lua_set_str(L, "doc", p->doc);
		nb_lua_set_int(L, "who", p->who);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

static const struct {
	const char *word, *text;
	int status;
} error_rows[] = {
#define ERR(name, number, word, status, text) { word, text, status },
#include "core/defs/errors.h"
};

static int errors(lua_State *L)
{
	size_t n = sizeof(error_rows) / sizeof(error_rows[0]);

	lua_createtable(L, 0, (int)n);
	for (size_t i = 0; i < n; i++) {
		lua_createtable(L, 0, 2);
		nb_lua_set_int(L, "status", error_rows[i].status);
		nb_lua_set_str(L, "text", error_rows[i].text);
		lua_setfield(L, -2, error_rows[i].word);
	}
	return 1;
}

/* nearest(word, {words}) -> up to two words */
static int nearest(lua_State *L)
{
	const char *word = luaL_checkstring(L, 1);
	const char **list, *near[2];
	size_t n;

	luaL_checktype(L, 2, LUA_TTABLE);
	n = (size_t)lua_rawlen(L, 2);
	/*
	 * the distance takes quadratic time, and a long word is probably not a
	 * typing error
	 */
	if (strlen(word) > 64)
		return 0;
	list = lua_newuserdatauv(L, (n + 1) * sizeof(*list), 0);
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, 2, (lua_Integer)i + 1);
		if (lua_type(L, -1) != LUA_TSTRING)
			return luaL_argerror(L, 2, "a list of words expected");
		list[i] = lua_tostring(L, -1); /* the Lua table keeps the string alive */
		lua_pop(L, 1);
	}
	nb_spec_nearest(word, list, n, near);
	for (int i = 0; i < 2; i++) {
		if (near[i])
			lua_pushstring(L, near[i]);
		else
			lua_pushnil(L);
	}
	return 2;
}

/* nccl(kind, word or number) -> number or word; nil if there is none */
static int nccl(lua_State *L)
{
	static const char *const kinds[] = { "coll", "algo", "proto", NULL };
	static int (*const named[])(const char *) = { nb_nccl_coll_named, nb_nccl_algo_named,
						      nb_nccl_proto_named };
	static const char *(*const word[])(int) = { nb_nccl_coll, nb_nccl_algo, nb_nccl_proto };
	int kind = luaL_checkoption(L, 1, NULL, kinds);

	if (lua_isinteger(L, 2)) {
		lua_Integer v = lua_tointeger(L, 2);

		lua_pushstring(L, v < 0 || v > 1000 ? NULL : word[kind]((int)v));
		return 1;
	}
	int n = named[kind](luaL_checkstring(L, 2));

	if (n < 0)
		lua_pushnil(L);
	else
		lua_pushinteger(L, n);
	return 1;
}

/* u64(integer) -> the same bits as an unsigned number, if they differ */
static int box_u64(lua_State *L)
{
	lua_Integer v = luaL_checkinteger(L, 1);

	if (v >= 0)
		lua_pushinteger(L, v);
	else
		nb_lua_push_u64(L, (unsigned long long)v);
	return 1;
}

static const luaL_Reg fns[] = { { "commands", commands },
				{ "params", params },
				{ "errors", errors },
				{ "nearest", nearest },
				{ "nccl", nccl },
				{ "u64", box_u64 },
				{ NULL, NULL } };

static void open_types(lua_State *L)
{
	static const luaL_Reg u64_meta[] = { { "__tostring", u64_text },
					     { "__eq", u64_equal },
					     { NULL, NULL } };

	luaL_newmetatable(L, NB_LUA_U64);
	luaL_setfuncs(L, u64_meta, 0);
	lua_pop(L, 1);
	luaL_newmetatable(L, NB_LUA_ERROR);
	lua_setfield(L, -2, "error_meta"); /* errors.lua completes it */
}

__attribute__((visibility("default"))) int luaopen_ncclbpf_core(lua_State *L)
{
	luaL_checkversion(L);
	luaL_newlib(L, fns);
	open_types(L);
	nb_lua_open_json(L);
	nb_lua_open_socket(L);
	nb_lua_open_descriptor(L);
	nb_lua_open_btf(L);
	nb_lua_open_image(L);
	nb_lua_open_sys(L);
	nb_lua_open_segment(L);
	nb_lua_open_judge(L);
	nb_lua_open_table(L);
	nb_lua_open_code(L);
	nb_lua_open_uprobes(L);
	nb_lua_open_rdma(L);
	nb_lua_open_guardian(L);
	nb_lua_open_limit(L);
	nb_lua_open_clang(L);
	nb_lua_open_fleet(L);
	nb_lua_set_str(L, "version", NCCLBPF_VERSION);
	return 1;
}
