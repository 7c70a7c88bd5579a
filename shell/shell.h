// SPDX-License-Identifier: MIT
#ifndef NB_SHELL_SHELL_H
#define NB_SHELL_SHELL_H

#include <stdbool.h>
#include <stddef.h>

#include <lua.h>

/*
 * The allocator of the shell's Lua state. Above @limit bytes an allocation
 * fails, which Lua turns into an error of the script.
 */
struct nb_memory {
	size_t used, limit;
	/* very many calls were running when an allocation failed */
	bool deep;
};
void *nb_memory_alloc(void *memory, void *p, size_t old, size_t size);

/*
 * Handle Ctrl-C. The first one sets nb_lua_stop and arms a hook that raises
 * "interrupted" in the running code. A second one within two seconds ends the
 * process. @L is the state to stop; one per process.
 */
void nb_interrupt_install(lua_State *L);
/* Forget a Ctrl-C and disarm the hook. */
void nb_interrupt_clear(lua_State *L);
/* Are at least @calls calls of functions running in each other? */
bool nb_interrupt_deep(int calls);
/* Did two Ctrl-C come within two seconds? */
int nb_interrupt_twice(void);

/*
 * Push the line editor, a Lua table with the functions line, ask and history.
 */
int nb_edit_open(lua_State *L);
/* Close the editor. The call is safe if none is open. */
void nb_edit_close(void);
/*
 * After Ctrl-C, discard the keys typed before. Only the signal handler calls
 * this.
 */
void nb_edit_interrupted(void);
/* Restore the terminal's modes. A signal handler may call this. */
void nb_edit_restore(void);

/*
 * pipe(command) -> the started command, with write(text) and close([text]) |
 * nil
 */
int nb_pipe_open(lua_State *L);

/* screen() -> a full screen with draw, key, size and close | nil, err */
int nb_screen_open(lua_State *L);
/* Restore the terminal. A signal handler may call this. */
void nb_screen_restore(void);

#endif
