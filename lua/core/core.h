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
 * What the files of the Lua module `ncclbpf.core` share. Functions raise on
 * misuse (a wrong type) and return nil and an error table on failure.
 */

/* Push nil and an error table {code, message, hint, at}; returns 2. */
int nb_lua_fail(lua_State *L, const struct nb_err *err);
/* The same from a code and a formatted text. */
int nb_lua_failf(lua_State *L, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The limits of a policy that the environment sets, else the defaults. */
struct nb_policy_opts;
void nb_lua_policy_limits(struct nb_policy_opts *opts);

/* A buffer that the collector frees, also when something raises; pushed. */
struct nb_buf *nb_lua_buf(lua_State *L, size_t limit);

/* Name of the metatable of error tables and of boxed unsigned numbers. */
#define NB_LUA_ERROR "ncclbpf.error"
#define NB_LUA_U64 "ncclbpf.u64"
/* Push @v boxed, so that it prints and encodes unsigned. */
void nb_lua_push_u64(lua_State *L, unsigned long long v);

/*
 * Set by the shell's signal handler, cleared at the prompt. While it is set
 * (and not held) every wait of this module raises "interrupted".
 */
extern volatile sig_atomic_t nb_lua_stop;
/* Above 0 while Ctrl-C must wait (core.hold). */
extern volatile sig_atomic_t nb_lua_held;
/* Above 0 while Ctrl-C may stop the running code (core.guard). */
extern volatile sig_atomic_t nb_lua_guarded;
bool nb_lua_stopped(void);

struct pollfd;
/*
 * poll that a stop interrupts without a race: returns as poll does, or -1
 * with errno EINTR after a stop. @timeout: seconds, negative for ever.
 */
int nb_lua_poll(struct pollfd *fds, unsigned n, double timeout);
/* Seconds of CLOCK_MONOTONIC. */
double nb_lua_mono(void);
/* Push, or raise, the error table of an interrupted command. */
void nb_lua_push_interrupted(lua_State *L);
int nb_lua_interrupted(lua_State *L);

/* Each file's part of the module; the table is at the top of the stack. */
void nb_lua_open_json(lua_State *L);
void nb_lua_open_socket(lua_State *L);
void nb_lua_open_btf(lua_State *L);
void nb_lua_open_image(lua_State *L);
void nb_lua_open_sys(lua_State *L);
void nb_lua_open_segment(lua_State *L);
void nb_lua_open_judge(lua_State *L);
void nb_lua_open_table(lua_State *L);
void nb_lua_open_code(lua_State *L);
void nb_lua_open_uprobes(lua_State *L);
void nb_lua_open_guardian(lua_State *L);
void nb_lua_open_limit(lua_State *L);

/* Push @text decoded, or nil and an error; returns how many. */
int nb_lua_json_push(lua_State *L, const char *text, size_t size);

/* The module's entry point; the shell preloads it. */
int luaopen_ncclbpf_core(lua_State *L);

#endif
