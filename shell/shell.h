// SPDX-License-Identifier: MIT
#ifndef NB_SHELL_SHELL_H
#define NB_SHELL_SHELL_H

#include <stddef.h>

#include <lua.h>

/*
 * The allocator of the shell's Lua state. Above @limit bytes an allocation
 * fails, which Lua turns into an error of the script.
 */
struct nb_memory {
	size_t used, limit, peak;
};
void *nb_memory_alloc(void *memory, void *p, size_t old, size_t size);

/*
 * Ctrl-C: the first sets nb_lua_stop and arms a hook that raises
 * "interrupted" in whatever runs; a second within two seconds ends the
 * process. @L is the state to stop; one per process.
 */
void nb_interrupt_install(lua_State *L);
/* Forget a Ctrl-C and disarm the hook. */
void nb_interrupt_clear(lua_State *L);
/* Was the last Ctrl-C less than two seconds after the one before? */
int nb_interrupt_twice(void);

/* The line editor as a Lua table (functions line, ask, history): pushed. */
int nb_edit_open(lua_State *L);
/* Close the editor; safe when none is open. */
void nb_edit_close(void);
/* Ctrl-C was pressed: forget keys typed before. For the signal handler. */
void nb_edit_interrupted(void);
/* Give the terminal its modes back; may be called in a signal handler. */
void nb_edit_restore(void);

/*
 * http(host, port [, cert, key]) -> an HTTP server with port(), serve(seconds,
 * answer) and close() | nil, err
 */
int nb_http_open(lua_State *L);

/* Load libmicrohttpd. NULL, or why that failed: valid until the next call. */
const char *nb_microhttpd_load(void);

/*
 * pipe(command) -> the started command, with write(text) and close([text]) |
 * nil
 */
int nb_pipe_open(lua_State *L);

/* screen() -> a full screen with draw, key, size and close | nil, err */
int nb_screen_open(lua_State *L);
/* Give the terminal back; may be called in a signal handler. */
void nb_screen_restore(void);

#endif
