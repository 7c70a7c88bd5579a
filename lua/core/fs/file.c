// SPDX-License-Identifier: MIT
/*
 * Bounded reading and atomic writing of files.
 */
#include "lua/core/fs/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua/core/support/support.h"

static int file_read_fd(lua_State *L, int fd, const char *path, size_t max)
{
	struct nb_buf *b = nb_lua_buf(L, max + 1);
	char part[4096];
	ssize_t n;

	for (;;) {
		n = read(fd, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		nb_buf_bytes(b, part, (size_t)n);
		if (!nb_buf_ok(b) || b->size > max)
			return nb_lua_failf(L, NB_E_LIMIT, "%s: more than %zu bytes", path, max);
	}
	if (n < 0)
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", path, strerror(errno));
	lua_pushlstring(L, nb_buf_text(b), b->size);
	return 1;
}

/*
 * Does the file belong to the user, root or @owner, and is it not writable for
 * others?
 */
static bool file_is_trusted(const struct stat *st, lua_Integer owner)
{
	return (st->st_uid == 0 || st->st_uid == geteuid() || (lua_Integer)st->st_uid == owner) &&
	       !(st->st_mode & S_IWOTH);
}

/* read(path[, max[, owner]]) -> bytes | nil, err. Never waits for a pipe's
 * writer. With @owner, a user's number: "not_permitted" if users other than
 * @owner, root and the caller may have written the file. */
static int file_read(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	lua_Integer max = luaL_optinteger(L, 2, 64 << 20);
	lua_Integer owner = luaL_optinteger(L, 3, -1);
	bool any_owner = lua_isnoneornil(L, 3);
	struct stat st;
	int *fd = nb_lua_fd(L), n;

	luaL_argcheck(L, max >= 0, 2, "must be a number of bytes");
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0)
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", path, strerror(errno));
	if (fstat(*fd, &st) || S_ISDIR(st.st_mode))
		n = nb_lua_failf(L, NB_E_NOINPUT, "%s: a folder, not a file", path);
	else if (!any_owner && !file_is_trusted(&st, owner))
		n = nb_lua_failf(L, NB_E_PERM, "%s belongs to user %u or others may write to it",
				 path, (unsigned)st.st_uid);
	else
		n = file_read_fd(L, *fd, path, (size_t)max);
	nb_lua_fd_close(fd);
	return n;
}

int nb_lua_write_error(lua_State *L, const char *path, bool create)
{
	int e = errno;

	nb_lua_failf(L, NB_E_IO, "%s: %s", path, strerror(e));
	if (create)
		nb_lua_set_str(L, "code", "cannot_create");
	return 2;
}

/*
 * Create @tmp anew with the mode and owner of @old, or with the umask's mode if
 * @old is NULL. A link is never followed, and a file left by another process is
 * replaced.
 */
static int file_create_beside(const char *tmp, const struct stat *old)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	mode_t first = old ? 0600 : 0666, mode;
	int fd = open(tmp, flags, first);

	if (fd < 0 && errno == EEXIST && !unlink(tmp))
		fd = open(tmp, flags, first);
	if (fd < 0 || !old)
		return fd;
	mode = old->st_mode & 0777;
	/*
	 * if the owner or group cannot be kept, remove their rights, because
	 * other users would get them
	 */
	if ((old->st_uid != geteuid() || old->st_gid != getegid()) &&
	    fchown(fd, old->st_uid, old->st_gid))
		mode &= 0700;
	(void)!fchmod(fd, mode);
	return fd;
}

/*
 * Call the function at index @fn. Returns 0 if its first result is true, else
 * how many values it left on the stack: its results, or an error (*raised).
 */
static int not_ready(lua_State *L, int fn, bool *raised)
{
	int top = lua_gettop(L);

	lua_pushvalue(L, fn);
	*raised = lua_pcall(L, 0, 2, 0) != LUA_OK;
	if (*raised || !lua_toboolean(L, top + 1))
		return lua_gettop(L) - top;
	lua_settop(L, top);
	return 0;
}

/*
 * write(path, bytes[, ready]) -> true | nil, err. Writes all bytes or none; a
 * file that exists keeps its mode. ready() is called when the new file is
 * complete and on disk: unless it returns true, the old file stays and write()
 * returns the results of ready().
 */
static int file_write(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	size_t size, done = 0;
	const char *bytes = luaL_checklstring(L, 2, &size);
	bool exists, direct, raised = false;
	const char *tmp;
	struct stat st;
	int fd, n = 0;

	lua_settop(L, 3);
	tmp = lua_pushfstring(L, "%s.%d.tmp", path, (int)getpid());
	exists = !stat(path, &st);
	/* devices and pipes cannot be replaced by a rename */
	direct = exists && !S_ISREG(st.st_mode);
	fd = direct ? open(path, O_WRONLY | O_CLOEXEC)
		    : file_create_beside(tmp, exists ? &st : NULL);
	if (fd < 0)
		return nb_lua_write_error(L, path, true);
	while (done < size) {
		ssize_t wrote = write(fd, bytes + done, size - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			break;
		done += (size_t)wrote;
	}
	if (done < size || (!direct && fsync(fd) && errno != EINVAL)) {
		n = nb_lua_write_error(L, path, false);
		close(fd);
	} else if (close(fd)) {
		n = nb_lua_write_error(L, path, true);
	} else if (!direct && !lua_isnil(L, 3)) {
		n = not_ready(L, 3, &raised);
	}
	if (!n && !direct && rename(tmp, path))
		n = nb_lua_write_error(L, path, true);
	if (n && !direct)
		unlink(tmp);
	if (raised)
		return lua_error(L);
	if (n)
		return n;
	lua_pushboolean(L, 1);
	return 1;
}

/* append(path, text) -> true | nil, err; the file gets mode 0600 */
static int file_append(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return nb_lua_write_error(L, path, true);
	ssize_t n = write(fd, text, size); /* a single write keeps the lines of
					      several shells apart */
	int rc = n == (ssize_t)size ? 0 : nb_lua_write_error(L, path, false);

	close(fd);
	if (rc)
		return rc;
	lua_pushboolean(L, 1);
	return 1;
}

static int file_readlink(lua_State *L)
{
	char to[4096];
	ssize_t n = readlink(luaL_checkstring(L, 1), to, sizeof(to));

	if (n < 0)
		lua_pushnil(L);
	else
		lua_pushlstring(L, to, (size_t)n);
	return 1;
}

static int file_unlink(lua_State *L)
{
	lua_pushboolean(L, !unlink(luaL_checkstring(L, 1)));
	return 1;
}

const luaL_Reg nb_lua_file[] = { { "read", file_read },	    { "write", file_write },
				 { "append", file_append }, { "readlink", file_readlink },
				 { "unlink", file_unlink }, { NULL, NULL } };
