// SPDX-License-Identifier: MIT
/*
 * The rows of core/defs as Lua tables, and look-up in them.
 */
#include "lua/core/support/support.h"

#include <string.h>

#include "core/spec/spec.h"

static int rows_commands(lua_State *L)
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

static const char *const param_docs[NB_NPARAMS] = {
#define PARAM(name, type, def, min, max, choices, unit, who, doc) [NB_P_##name] = doc,
#include "core/defs/params.h"
};

static int rows_params(lua_State *L)
{
	lua_createtable(L, NB_NPARAMS, 0);
	for (int i = 0; i < NB_NPARAMS; i++) {
		const struct nb_param_spec *p = nb_spec_param((enum nb_param)i);

		lua_createtable(L, 0, 6);
		nb_lua_set_str(L, "name", p->name);
		nb_lua_set_str(L, "default", p->def);
		nb_lua_set_str(L, "choices", p->choices);
		nb_lua_set_str(L, "unit", p->unit);
		nb_lua_set_str(L, "doc", param_docs[i]);
		nb_lua_set_int(L, "who", p->who);
		lua_rawseti(L, -2, i + 1);
	}
	return 1;
}

/* Return the fields of a tuner's context that may be NCCLBPF_MIXED. */
static int rows_facts(lua_State *L)
{
	static const char *const names[] = {
#define FACT(name) #name,
#include "core/defs/platform.h"
		"ranks_per_node"
	};

	lua_newtable(L);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		lua_pushstring(L, names[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
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

static int rows_errors(lua_State *L)
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

static const struct {
	const char *of, *word, *text;
} reason_rows[] = {
#define REFUSED(name, word, text) { "refused", word, text },
#include "core/defs/refusals.h"
#define LOST(name, word, level, text) { "lost", word, text },
#include "core/defs/lost.h"
};

/*
 * reason("refused" or "lost", word) -> why answers of policies were dropped, or
 * which events of the profiler were not measured, in words; nil for a word of
 * another version
 */
static int rows_reason(lua_State *L)
{
	const char *of = luaL_checkstring(L, 1), *word = luaL_checkstring(L, 2);

	for (size_t i = 0; i < sizeof(reason_rows) / sizeof(reason_rows[0]); i++)
		if (!strcmp(reason_rows[i].of, of) && !strcmp(reason_rows[i].word, word)) {
			lua_pushstring(L, reason_rows[i].text);
			return 1;
		}
	return 0;
}

/* nearest(word, {words}) -> up to two words */
static int rows_nearest(lua_State *L)
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
			return luaL_argerror(L, 2, "must be a list of words");
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
static int rows_nccl(lua_State *L)
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

const luaL_Reg nb_lua_rows[] = { { "commands", rows_commands }, { "params", rows_params },
				 { "facts", rows_facts },	{ "errors", rows_errors },
				 { "nearest", rows_nearest },	{ "nccl", rows_nccl },
				 { "reason", rows_reason },	{ NULL, NULL } };
