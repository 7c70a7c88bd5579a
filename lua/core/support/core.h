// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_H
#define NB_LUA_CORE_H

#include <signal.h>
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

/* Set the limits of a policy from the environment, or else to the defaults. */
struct nb_policy_opts;
void nb_lua_policy_limits(struct nb_policy_opts *opts);

/* Push a buffer that the collector frees, also after an error is raised. */
struct nb_buf *nb_lua_buf(lua_State *L, size_t limit);

/* The descriptor that the userdata at @index holds; -1: another value. */
int nb_lua_descriptor(lua_State *L, int index);

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
 * Set by the shell's signal handler, cleared at the prompt. While it is set
 * (and core.hold is not active), every wait of this module raises
 * "interrupted".
 */
extern volatile sig_atomic_t nb_lua_stop;
/* Greater than 0 while Ctrl-C must wait (core.hold). */
extern volatile sig_atomic_t nb_lua_held;
/* Greater than 0 while Ctrl-C may stop the running code (core.guard). */
extern volatile sig_atomic_t nb_lua_guarded;
bool nb_lua_stopped(void);
/* Has the time of the running call of core.limited passed? */
bool nb_lua_late(void);

struct pollfd;
/*
 * Like poll(2), but Ctrl-C and the deadline of core.limited interrupt it
 * without a race. Returns the result of poll, or -1 with errno EINTR after
 * one of these. @timeout: seconds; negative: no limit.
 */
int nb_lua_poll(struct pollfd *fds, unsigned n, double timeout);
/* Seconds of CLOCK_MONOTONIC. */
double nb_lua_mono(void);
/* Push, or raise, the error table of an interrupted command. */
void nb_lua_push_interrupted(lua_State *L);
int nb_lua_interrupted(lua_State *L);

/*
 * Functions that add one file's part to the module table, which is at the top
 * of the stack.
 */
void nb_lua_open_json(lua_State *L);
void nb_lua_open_socket(lua_State *L);
void nb_lua_open_descriptor(lua_State *L);
void nb_lua_open_btf(lua_State *L);
void nb_lua_open_image(lua_State *L);
void nb_lua_open_sys(lua_State *L);
void nb_lua_open_segment(lua_State *L);
void nb_lua_open_judge(lua_State *L);
void nb_lua_open_table(lua_State *L);
void nb_lua_open_code(lua_State *L);
void nb_lua_open_uprobes(lua_State *L);
void nb_lua_open_rdma(lua_State *L);
void nb_lua_open_guardian(lua_State *L);
void nb_lua_open_limit(lua_State *L);
void nb_lua_open_clang(lua_State *L);
void nb_lua_open_fleet(lua_State *L);

/* Decode @text and push it, or push nil and an error; returns the number of
 * values pushed. */
int nb_lua_json_push(lua_State *L, const char *text, size_t size);

/* The module's entry point; the shell preloads it. */
int luaopen_ncclbpf_core(lua_State *L);

#endif
