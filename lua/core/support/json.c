// SPDX-License-Identifier: MIT
/*
 * JSON to Lua and back. Objects become tables. Their metatable has the order of
 * the keys and the keys that were null. So a script sees plain fields, and
 * printing a parsed reply reproduces it. Tables of equal
 * shape share one metatable. Integers are exact over all 64 bits.
 */
#include "lua/core/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <lualib.h>

#include "core/base/json.h"

enum { MAX_DEPTH = 20 };

#define SHAPES "ncclbpf.shapes"
#define ARRAY "ncclbpf.array"

struct holder {
	json_t *root;
};

static int holder_gc(lua_State *L)
{
	struct holder *h = lua_touserdata(L, 1);

	json_decref(h->root);
	h->root = NULL;
	return 0;
}

/*
 * Push the metatable for the key list whose text is at the top; pop the text.
 */
static void shape_meta(lua_State *L, json_t *obj)
{
	const char *key;
	json_t *value;
	lua_Integer n = 0;

	luaL_getsubtable(L, LUA_REGISTRYINDEX, SHAPES);
	lua_pushvalue(L, -2);
	if (lua_rawget(L, -2) != LUA_TNIL) {
		lua_replace(L, -3);
		lua_pop(L, 1);
		return;
	}
	lua_pop(L, 1);
	lua_createtable(L, 0, 3);
	lua_newtable(L); /* list of the keys in order */
	lua_newtable(L); /* keys whose value is null, as a set */
	json_object_foreach(obj, key, value)
	{
		lua_pushstring(L, key);
		lua_rawseti(L, -3, ++n);
		if (json_is_null(value))
			nb_lua_set_bool(L, key, 1);
	}
	lua_setfield(L, -3, "nulls");
	lua_setfield(L, -2, "order");
	lua_pushvalue(L, -3);
	lua_pushvalue(L, -2);
	lua_rawset(L, -4);
	lua_replace(L, -3);
	lua_pop(L, 1);
}

static void push(lua_State *L, json_t *v, int depth);

static void push_object(lua_State *L, json_t *v, int depth)
{
	const char *key;
	json_t *value;
	luaL_Buffer shape;

	lua_createtable(L, 0, (int)json_object_size(v));
	json_object_foreach(v, key, value)
	{
		if (json_is_null(value))
			continue;
		push(L, value, depth + 1);
		lua_setfield(L, -2, key);
	}
	luaL_buffinit(L, &shape);
	json_object_foreach(v, key, value)
	{
		luaL_addchar(&shape, json_is_null(value) ? '\1' : '\2');
		luaL_addstring(&shape, key);
	}
	luaL_pushresult(&shape);
	shape_meta(L, v);
	lua_setmetatable(L, -2);
}

static void push(lua_State *L, json_t *v, int depth)
{
	if (depth > MAX_DEPTH)
		luaL_error(L, "nested deeper than %d", MAX_DEPTH);
	luaL_checkstack(L, 10, "json");
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		push_object(L, v, depth);
		break;
	case JSON_ARRAY:
		lua_createtable(L, (int)json_array_size(v), 0);
		for (size_t i = 0; i < json_array_size(v); i++) {
			push(L, json_array_get(v, i), depth + 1);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
		luaL_setmetatable(L, ARRAY);
		break;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(v));
		break;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(v));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		lua_pushboolean(L, json_is_true(v));
		break;
	case JSON_NULL:
		lua_pushlightuserdata(L, NULL);
		break;
	}
}

static int push_call(lua_State *L)
{
	struct holder *h = lua_touserdata(L, 1);

	push(L, h->root, 0);
	return 1;
}

/* Returns the index of the end of the string that begins at @i. */
static size_t skip_string(const char *text, size_t size, size_t i)
{
	for (i++; i < size && text[i] != '"'; i++)
		i += text[i] == '\\';
	return i < size ? i + 1 : size;
}

/* Parse @n digits at @text as uint64_t; the result has the same bits. */
static bool add_signed(luaL_Buffer *b, const char *text, size_t n)
{
	char number[24];
	unsigned long long v = strtoull(text, NULL, 10);

	snprintf(number, sizeof(number), "%llu", v);
	if (n != strlen(number) || memcmp(number, text, n) || text[n] == '.' || text[n] == 'e' ||
	    text[n] == 'E')
		return false;
	snprintf(number, sizeof(number), "%lld", (long long)v);
	luaL_addstring(b, number);
	return true;
}

/*
 * Push the text, in which signed integers with the same bits replace integers
 * from 2^63 to 2^64 - 1: the parser and Lua know signed integers only.
 */
static const char *signed_text(lua_State *L, const char *text, size_t size, size_t *out)
{
	luaL_Buffer b;
	size_t i = 0, n;

	luaL_buffinit(L, &b);
	while (i < size) {
		if (text[i] == '"')
			n = skip_string(text, size, i) - i;
		else
			n = strspn(text + i, "0123456789");
		n = n ? n : 1;
		if ((n != 19 && n != 20) || text[i] == '"' || (i && strchr("-+.eE", text[i - 1])) ||
		    !add_signed(&b, text + i, n))
			luaL_addlstring(&b, text + i, n);
		i += n;
	}
	luaL_pushresult(&b);
	return lua_tolstring(L, -1, out);
}

/* @text ends with a NUL that @size does not count, as Lua's strings do. */
int nb_lua_json_push(lua_State *L, const char *text, size_t size)
{
	struct holder *h = lua_newuserdatauv(L, sizeof(*h), 0);
	json_error_t e;

	h->root = NULL;
	nb_lua_collected(L, "ncclbpf.json", holder_gc);
	h->root = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
	if (!h->root && json_error_code(&e) == json_error_numeric_overflow) {
		text = signed_text(L, text, size, &size);
		h->root = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
		lua_pop(L, 1);
	}
	if (!h->root)
		return nb_lua_failf(L, NB_E_FORMAT, "not JSON at byte %d: %s", e.position, e.text);
	lua_pushcfunction(L, push_call);
	lua_pushvalue(L, -2);
	if (lua_pcall(L, 1, 1, 0) != LUA_OK)
		return nb_lua_failf(L, NB_E_LIMIT, "JSON: %s", lua_tostring(L, -1));
	json_decref(h->root);
	h->root = NULL;
	return 1;
}

/* decode(text) -> value | nil, err */
static int json_decode_lua(lua_State *L)
{
	size_t size;
	const char *text = luaL_checklstring(L, 1, &size);

	return nb_lua_json_push(L, text, size);
}

/* ---- encoding ---- */

static void json_put(lua_State *L, struct nb_json *j, int depth);

static bool is_array(lua_State *L)
{
	bool yes = false;

	if (lua_getmetatable(L, -1)) {
		luaL_getmetatable(L, ARRAY);
		yes = lua_rawequal(L, -1, -2);
		lua_pop(L, 2);
	}
	if (!yes) {
		yes = lua_rawgeti(L, -1, 1) != LUA_TNIL;
		lua_pop(L, 1);
	}
	return yes;
}

/*
 * Write the key and the value, which is at the top of the stack; pop the value.
 */
static void json_put_member(lua_State *L, struct nb_json *j, int depth)
{
	lua_pushvalue(L, -2);
	nb_json_key(j, luaL_tolstring(L, -1, NULL));
	lua_pop(L, 2);
	json_put(L, j, depth + 1);
	lua_pop(L, 1);
}

/*
 * Keys in the order that the metatable names, then all others sorted, so
 * that equal tables give equal text. @seen (index) collects the written keys.
 */
static void put_ordered(lua_State *L, struct nb_json *j, int t, int seen, int depth)
{
	if (luaL_getmetafield(L, t, "order") == LUA_TNIL)
		return;
	lua_Integer n = luaL_len(L, -1);

	if (luaL_getmetafield(L, t, "nulls") == LUA_TNIL)
		lua_newtable(L);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, -2, i); /* push the key of this member */
		lua_pushvalue(L, -1);
		bool null = lua_rawget(L, -3) != LUA_TNIL;

		lua_pop(L, 1);
		lua_pushvalue(L, -1);
		if (lua_rawget(L, t) == LUA_TNIL && !null) {
			lua_pop(L, 2);
			continue;
		}
		json_put_member(L, j, depth);
		lua_pushboolean(L, 1);
		lua_rawset(L, seen);
	}
	lua_pop(L, 2);
}

/*
 * Keys that people look for first. All other keys follow in alphabetical order.
 */
static int key_rank(const char *key)
{
	static const char *const first[] = { "name",	 "job",	    "rank",	  "pid",
					     "accepted", "verdict", "state",	  "digest",
					     "section",	 "hook",    "program",	  "map",
					     "key_size", "key",	    "value_size", "value",
					     "coll",	 "bytes",   "comm" };
	int n = sizeof(first) / sizeof(first[0]);

	for (int i = 0; i < n; i++)
		if (!strcmp(key, first[i]))
			return i;
	return n;
}

static int by_place(lua_State *L)
{
	const char *a = luaL_tolstring(L, 1, NULL);
	const char *b = luaL_tolstring(L, 2, NULL);
	int i = key_rank(a), k = key_rank(b);

	lua_pushboolean(L, i != k ? i < k : strcmp(a, b) < 0);
	return 1;
}

static void put_rest(lua_State *L, struct nb_json *j, int t, int seen, int depth)
{
	lua_Integer n = 0;

	lua_newtable(L);
	int keys = lua_gettop(L);

	lua_pushnil(L);
	while (lua_next(L, t)) {
		lua_pop(L, 1);
		lua_pushvalue(L, -1);
		if (lua_rawget(L, seen) == LUA_TNIL) {
			lua_pushvalue(L, -2);
			lua_rawseti(L, keys, ++n);
		}
		lua_pop(L, 1);
	}
	lua_getfield(L, LUA_REGISTRYINDEX, "ncclbpf.sort");
	lua_pushvalue(L, keys);
	lua_pushcfunction(L, by_place);
	lua_call(L, 2, 0);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, keys, i);
		lua_pushvalue(L, -1);
		lua_rawget(L, t);
		json_put_member(L, j, depth);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

static void put_table(lua_State *L, struct nb_json *j, int depth)
{
	int t = lua_gettop(L);

	if (is_array(L)) {
		lua_Integer n = (lua_Integer)lua_rawlen(L, t);

		nb_json_arr(j);
		for (lua_Integer i = 1; i <= n; i++) {
			lua_rawgeti(L, t, i);
			json_put(L, j, depth + 1);
			lua_pop(L, 1);
		}
		nb_json_end_arr(j);
		return;
	}
	lua_newtable(L);
	nb_json_obj(j);
	put_ordered(L, j, t, t + 1, depth);
	put_rest(L, j, t, t + 1, depth);
	nb_json_end_obj(j);
	lua_settop(L, t);
}

static void json_put(lua_State *L, struct nb_json *j, int depth)
{
	unsigned long long *box;
	size_t size;
	const char *s;

	if (depth > MAX_DEPTH)
		luaL_error(L, "nested deeper than %d", MAX_DEPTH);
	luaL_checkstack(L, 12, "json");
	switch (lua_type(L, -1)) {
	case LUA_TBOOLEAN:
		nb_json_bool(j, lua_toboolean(L, -1));
		break;
	case LUA_TNUMBER:
		if (lua_isinteger(L, -1))
			nb_json_i64(j, lua_tointeger(L, -1));
		else
			nb_json_f64(j, lua_tonumber(L, -1));
		break;
	case LUA_TSTRING:
		s = lua_tolstring(L, -1, &size);
		nb_json_strn(j, s, size);
		break;
	case LUA_TTABLE:
		put_table(L, j, depth);
		break;
	case LUA_TUSERDATA:
		box = luaL_testudata(L, -1, NB_LUA_U64);
		if (box)
			nb_json_u64(j, *box);
		else {
			nb_json_str(j, luaL_tolstring(L, -1, NULL));
			lua_pop(L, 1);
		}
		break;
	case LUA_TNIL:
	case LUA_TLIGHTUSERDATA:
		nb_json_null(j);
		break;
	default:
		luaL_error(L, "a %s has no JSON form", luaL_typename(L, -1));
	}
}

/* encode(value) -> text */
static int json_encode_lua(lua_State *L)
{
	struct nb_json j;
	struct nb_buf *b;

	luaL_checkany(L, 1);
	lua_settop(L, 1);
	b = nb_lua_buf(L, 0);
	lua_insert(L, 1);
	nb_json_init(&j, b);
	json_put(L, &j, 0);
	if (!nb_buf_ok(b))
		return luaL_error(L, "not enough memory");
	lua_pushlstring(L, nb_buf_text(b), b->size);
	return 1;
}

/*
 * array(table) -> the same table, marked as a list: an empty one is written as
 * []
 */
static int json_mark_array(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	luaL_setmetatable(L, ARRAY);
	return 1;
}

void nb_lua_open_json(lua_State *L)
{
	static const luaL_Reg fns[] = { { "decode", json_decode_lua },
					{ "encode", json_encode_lua },
					{ "array", json_mark_array },
					{ NULL, NULL } };

	luaL_setfuncs(L, fns, 0);
	luaL_newmetatable(L, ARRAY);
	lua_pop(L, 1);
	/*
	 * the encoder's own copy of the sort function, which scripts cannot
	 * replace
	 */
	lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
	lua_getfield(L, -1, LUA_TABLIBNAME);
	lua_getfield(L, -1, "sort");
	lua_setfield(L, LUA_REGISTRYINDEX, "ncclbpf.sort");
	lua_pop(L, 2);
	lua_pushlightuserdata(L, NULL);
	lua_setfield(L, -2, "null");
}
