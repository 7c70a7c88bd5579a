// SPDX-License-Identifier: MIT
/*
 * Locks by files, which another process holds until it ends.
 */
#include "lua/core/fs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/wait.h"

/*
 * lock(path, seconds[, who]) -> a lock, which __close or the garbage collector
 * releases | nil, err. The file at @path says @who holds the lock.
 */
static int lock_take(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	double end = nb_lua_mono() + luaL_checknumber(L, 2);
	const char *who = luaL_optstring(L, 3, NULL);
	int *fd = nb_lua_fd(L);

	*fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return nb_lua_write_error(L, path, true);
	while (flock(*fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return nb_lua_write_error(L, path, false);
		if (nb_lua_mono() > end)
			return nb_lua_failf(L, NB_E_BUSY, "%s: another process holds the lock",
					    path);
		if (nb_lua_poll(NULL, 0, 0.01) < 0)
			return nb_lua_interrupted(L);
	}
	/* a process that waits in vain reads who holds the lock; the lock is
	 * valid even if this write fails */
	if (who && !ftruncate(*fd, 0))
		(void)!pwrite(*fd, who, strlen(who), 0);
	return 1;
}

const luaL_Reg nb_lua_lock[] = { { "lock", lock_take }, { NULL, NULL } };
