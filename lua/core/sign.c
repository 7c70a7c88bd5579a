// SPDX-License-Identifier: MIT
// Signatures of policy images, for policy keygen, sign and verify.
#include "lua/core/core.h"

#include "plugin/sign/sign.h"

/* sign_keygen(name, path) -> line of the public key | nil, err. The secret key
 * is written to a new file at path. */
static int sign_keygen(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const char *path = luaL_checkstring(L, 2);
	struct nb_buf *line = nb_lua_buf(L, 4096);
	struct nb_err err = { .code = 0 };

	if (nb_sign_keygen(name, path, line, &err))
		return nb_lua_fail(L, &err);
	lua_pushlstring(L, nb_buf_text(line), line->size);
	return 1;
}

static void push_found(lua_State *L, const struct nb_sign_found *f)
{
	lua_createtable(L, 0, 3);
	if (*f->id)
		nb_lua_set_str(L, "key", f->id);
	if (*f->name)
		nb_lua_set_str(L, "name", f->name);
	nb_lua_set_str(L, "state", nb_sign_state_word(f->state));
}

/* sign_image(path of a secret key, digest) -> line, {key=, name=, state=} |
 * nil, err */
static int sign_image(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	const char *digest = luaL_checkstring(L, 2);
	struct nb_buf *line = nb_lua_buf(L, 4096);
	struct nb_err err = { .code = 0 };
	struct nb_sign_found who = { .state = NB_SIGN_GOOD };

	if (nb_sign_image(path, digest, line, &who, &err))
		return nb_lua_fail(L, &err);
	lua_pushlstring(L, nb_buf_text(line), line->size);
	push_found(L, &who);
	return 2;
}

/*
 * signatures(text, digest, path of a list of keys or nil) -> {{key=, name=,
 * state=}…}, a text about invalid signatures or nil | nil, err
 */
static int sign_find(lua_State *L)
{
	size_t size, n;
	const char *text = luaL_checklstring(L, 1, &size);
	const char *digest = luaL_checkstring(L, 2);
	const char *path = luaL_optstring(L, 3, NULL);
	struct nb_sign_keys *keys = lua_newuserdatauv(L, sizeof(*keys), 0);
	struct nb_sign_found found[NB_SIGN_MOST];
	struct nb_err err = { .code = 0 };

	keys->n = 0;
	if (path && nb_sign_keys_read(keys, path, &err))
		return nb_lua_fail(L, &err);
	n = nb_sign_find(keys, text, size, digest, found);
	lua_createtable(L, (int)n, 0);
	for (size_t i = 0; i < n; i++) {
		push_found(L, &found[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	if (!nb_sign_check(keys, text, size, digest, &err))
		return 1;
	lua_pushstring(L, err.text);
	return 2;
}

void nb_lua_open_sign(lua_State *L)
{
	static const luaL_Reg fns[] = { { "sign_keygen", sign_keygen },
					{ "sign_image", sign_image },
					{ "signatures", sign_find },
					{ NULL, NULL } };

	luaL_setfuncs(L, fns, 0);
}
