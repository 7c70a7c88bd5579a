// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_SUPPORT_H
#define NB_LUA_CORE_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <lauxlib.h>
#include <lua.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * Functions that the files of the Lua module `ncclbpf.core` share. They raise
 * an error on misuse (a wrong type), and return nil and an error table on
 * failure.
 */

/* Push nil and an error table {code, message, hint, at}; returns 2. */
int nb_lua_fail(lua_State *L, const struct nb_err *err);
/*
 * Push nil and an error table made of a code and a formatted text; returns 2.
 */
int nb_lua_failf(lua_State *L, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * If @rc is 0, push the bytes of @b, else push nil and an error table of @err.
 * @rc: result of the function that filled @b. Returns the number of pushed values.
 */
int nb_lua_bytes_of(lua_State *L, int rc, struct nb_buf *b, const struct nb_err *err);

/* Push a buffer that the collector frees, also after an error is raised. */
struct nb_buf *nb_lua_buf(lua_State *L, size_t limit);

/*
 * Push a descriptor, -1 until the caller sets it. The collector or __close closes it, also after an
 * error is raised. nb_lua_fd_close() closes it earlier.
 */
#define NB_LUA_FD "ncclbpf.fd"
int *nb_lua_fd(lua_State *L);
void nb_lua_fd_close(int *fd);

/* Names of the metatables of error tables and of boxed unsigned numbers. */
#define NB_LUA_ERROR "ncclbpf.error"
#define NB_LUA_U64 "ncclbpf.u64"
/* Push @v as an object that prints and encodes as an unsigned number. */
void nb_lua_push_u64(lua_State *L, unsigned long long v);

/* Set field @key of the table at the top of the stack. A NULL text sets nil. */
void nb_lua_set_str(lua_State *L, const char *key, const char *value);
void nb_lua_set_bytes(lua_State *L, const char *key, const void *p, size_t size);
void nb_lua_set_int(lua_State *L, const char *key, lua_Integer value);
void nb_lua_set_num(lua_State *L, const char *key, lua_Number value);
void nb_lua_set_bool(lua_State *L, const char *key, bool value);

/* Make metatable @name: @methods, which a script cannot replace. */
void nb_lua_class(lua_State *L, const char *name, const luaL_Reg *methods);
/* Give the userdata at the top the metatable @name, with @gc as __gc. */
void nb_lua_collected(lua_State *L, const char *name, lua_CFunction gc);

/*
 * json.c - decode @text and push it, or push nil and an error; returns the number of values pushed
 */
int nb_lua_json_push(lua_State *L, const char *text, size_t size);

/* The functions of core that the files of these names have. */
extern const luaL_Reg nb_lua_rows[], nb_lua_judge[];
/* Add one file's part to the module table, which is at the top of the stack. */
void nb_lua_open_support(lua_State *L);
void nb_lua_open_json(lua_State *L);

#endif
