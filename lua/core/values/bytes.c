// SPDX-License-Identifier: MIT
/*
 * Bytes as texts: digests and base64.
 */
#include "lua/core/values/values.h"

#include "core/base/sha256.h"
#include "lua/core/support/support.h"
#include "plugin/store/base64.h"

static int bytes_sha256(lua_State *L)
{
	uint8_t digest[NB_SHA256_SIZE];
	char text[65];
	size_t size;
	const char *p = luaL_checklstring(L, 1, &size);

	nb_sha256(p, size, digest);
	nb_sha256_text(digest, text);
	lua_pushstring(L, text);
	return 1;
}

/* base64(bytes) -> text */
static int bytes_base64(lua_State *L)
{
	size_t size;
	const char *p = luaL_checklstring(L, 1, &size);
	struct nb_buf *out = nb_lua_buf(L, 0);

	nb_base64_put(out, p, size);
	if (!nb_buf_ok(out))
		return luaL_error(L, "base64: no memory");
	lua_pushlstring(L, nb_buf_text(out), out->size);
	return 1;
}

const luaL_Reg nb_lua_bytes[] = { { "sha256", bytes_sha256 },
				  { "base64", bytes_base64 },
				  { NULL, NULL } };
