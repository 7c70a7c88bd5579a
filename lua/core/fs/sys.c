// SPDX-License-Identifier: MIT
/*
 * System functions that Lua's library lacks: bounded reading
 * and atomic writing of files, folders, file status, time, terminal, and
 * whether a process lives. Failures come back as error tables.
 */
#include "lua/core/support/core.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "core/base/liveness.h"
#include "core/base/sha256.h"
#include "core/base/utc.h"
#include "plugin/store/base64.h"

static int read_fd(lua_State *L, int fd, const char *path, size_t max)
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

struct reading {
	int fd;
	const char *path;
	size_t max;
};

static int read_call(lua_State *L)
{
	struct reading *r = lua_touserdata(L, 1);

	return read_fd(L, r->fd, r->path, r->max);
}

/*
 * Does the file belong to the user, root or @owner, and is it not writable for
 * others?
 */
static bool is_trusted(const struct stat *st, lua_Integer owner)
{
	return (st->st_uid == 0 || st->st_uid == geteuid() || (lua_Integer)st->st_uid == owner) &&
	       !(st->st_mode & S_IWOTH);
}

/* read(path[, max[, owner]]) -> bytes | nil, err. Never waits for a pipe's
 * writer. With @owner, a user's number: "not_permitted" if users other than
 * @owner, root and the caller may have written the file. */
static int do_read(lua_State *L)
{
	struct reading r = { .path = luaL_checkstring(L, 1) };
	lua_Integer max = luaL_optinteger(L, 2, 64 << 20);
	lua_Integer owner = luaL_optinteger(L, 3, -1);
	bool any_owner = lua_isnoneornil(L, 3);
	struct stat st;
	int rc, top = lua_gettop(L);

	luaL_argcheck(L, max >= 0, 2, "bytes expected");
	r.max = (size_t)max;
	r.fd = open(r.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (r.fd < 0)
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", r.path, strerror(errno));
	if (fstat(r.fd, &st) || S_ISDIR(st.st_mode)) {
		close(r.fd);
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: a folder, not a file", r.path);
	}
	if (!any_owner && !is_trusted(&st, owner)) {
		close(r.fd);
		return nb_lua_failf(L, NB_E_PERM, "%s belongs to user %u or others may write to it",
				    r.path, (unsigned)st.st_uid);
	}
	lua_pushcfunction(L, read_call);
	lua_pushlightuserdata(L, &r);
	rc = lua_pcall(L, 1, LUA_MULTRET, 0);
	close(r.fd);
	if (rc != LUA_OK)
		return lua_error(L);
	return lua_gettop(L) - top;
}

static int write_error(lua_State *L, const char *path, bool create)
{
	int e = errno;

	nb_lua_failf(L, NB_E_IO, "%s: %s", path, strerror(e));
	if (create) {
		nb_lua_set_str(L, "code", "cannot_create");
	}
	return 2;
}

/*
 * Create @tmp anew with the mode and owner of @old, or with the umask's mode if
 * @old is NULL. A link is never followed, and a file left by another process is
 * replaced.
 */
static int create_beside(const char *tmp, const struct stat *old)
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
static int do_write(lua_State *L)
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
	fd = direct ? open(path, O_WRONLY | O_CLOEXEC) : create_beside(tmp, exists ? &st : NULL);
	if (fd < 0)
		return write_error(L, path, true);
	while (done < size) {
		ssize_t wrote = write(fd, bytes + done, size - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			break;
		done += (size_t)wrote;
	}
	if (done < size || (!direct && fsync(fd) && errno != EINVAL)) {
		n = write_error(L, path, false);
		close(fd);
	} else if (close(fd)) {
		n = write_error(L, path, true);
	} else if (!direct && !lua_isnil(L, 3)) {
		n = not_ready(L, 3, &raised);
	}
	if (!n && !direct && rename(tmp, path))
		n = write_error(L, path, true);
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
static int do_append(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd < 0)
		return write_error(L, path, true);
	ssize_t n = write(fd, text, size); /* a single write keeps the lines of
					      several shells apart */
	int rc = n == (ssize_t)size ? 0 : write_error(L, path, false);

	close(fd);
	if (rc)
		return rc;
	lua_pushboolean(L, 1);
	return 1;
}

static int dir_gc(lua_State *L)
{
	DIR **d = lua_touserdata(L, 1);

	if (*d)
		closedir(*d);
	*d = NULL;
	return 0;
}

/* list(path) -> names without . and .. | nil, err */
static int do_list(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	DIR **d = lua_newuserdatauv(L, sizeof(*d), 0);
	struct dirent *e;
	lua_Integer n = 0;

	*d = NULL;
	nb_lua_collected(L, "ncclbpf.dir", dir_gc);
	*d = opendir(path);
	if (!*d)
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", path, strerror(errno));
	lua_newtable(L);
	while ((e = readdir(*d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		lua_pushstring(L, e->d_name);
		lua_rawseti(L, -2, ++n);
	}
	closedir(*d);
	*d = NULL;
	return 1;
}

static const char *kind(mode_t m)
{
	return S_ISREG(m)    ? "file"
	       : S_ISDIR(m)  ? "directory"
	       : S_ISLNK(m)  ? "link"
	       : S_ISSOCK(m) ? "socket"
			     : "other";
}

/* stat(path) -> {kind, mode, uid, size, mtime} | nil, err; no link followed */
static int do_stat(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	struct stat st;

	if (lstat(path, &st))
		return nb_lua_failf(L, NB_E_NOINPUT, "%s: %s", path, strerror(errno));
	lua_createtable(L, 0, 5);
	nb_lua_set_str(L, "kind", kind(st.st_mode));
	nb_lua_set_int(L, "mode", st.st_mode & 07777);
	nb_lua_set_int(L, "uid", st.st_uid);
	nb_lua_set_int(L, "size", st.st_size);
	nb_lua_set_num(L, "mtime", (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9);
	return 1;
}

#define LOCK "ncclbpf.lock"

static int lock_drop(lua_State *L)
{
	int *fd = luaL_checkudata(L, 1, LOCK);

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return 0;
}

/*
 * lock(path, seconds[, who]) -> a lock, which __close or the garbage collector
 * releases | nil, err. The file at @path says @who holds the lock.
 */
static int do_lock(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	double end = nb_lua_mono() + luaL_checknumber(L, 2);
	const char *who = luaL_optstring(L, 3, NULL);
	int *fd = lua_newuserdatauv(L, sizeof(*fd), 0);

	*fd = -1;
	luaL_setmetatable(L, LOCK);
	*fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		return write_error(L, path, true);
	while (flock(*fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return write_error(L, path, false);
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

static int do_readlink(lua_State *L)
{
	char to[4096];
	ssize_t n = readlink(luaL_checkstring(L, 1), to, sizeof(to));

	if (n < 0)
		lua_pushnil(L);
	else
		lua_pushlstring(L, to, (size_t)n);
	return 1;
}

static int do_unlink(lua_State *L)
{
	lua_pushboolean(L, !unlink(luaL_checkstring(L, 1)));
	return 1;
}

/*
 * mkdirs(path) -> true if it succeeded. Makes each missing folder with mode
 * 0700.
 */
static int do_mkdirs(lua_State *L)
{
	char path[4096];
	size_t n = strlen(luaL_checkstring(L, 1));

	if (n >= sizeof(path))
		return lua_pushboolean(L, 0), 1;
	memcpy(path, lua_tostring(L, 1), n + 1);
	for (size_t i = 1; i <= n; i++)
		if (path[i] == '/' || !path[i]) {
			char c = path[i];

			path[i] = '\0';
			if (mkdir(path, 0700) && errno != EEXIST)
				return lua_pushboolean(L, 0), 1;
			path[i] = c;
		}
	lua_pushboolean(L, 1);
	return 1;
}

/*
 * alive(pid) -> is there such a process that is not a zombie, and is it
 * stopped? For PIDs of this PID namespace.
 */
static int do_alive(lua_State *L)
{
	lua_Integer pid = luaL_checkinteger(L, 1);
	bool alive = pid > 0 && nb_process_alive((uint64_t)pid, 0);

	lua_pushboolean(L, alive);
	lua_pushboolean(L, alive && nb_process_stopped((uint64_t)pid));
	return 2;
}

/* namespace() -> inode of this process's PID namespace */
static int do_namespace(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)nb_pid_namespace());
	return 1;
}

static int do_ids(lua_State *L)
{
	lua_pushinteger(L, geteuid());
	lua_pushinteger(L, getpid());
	return 2;
}

static int do_mono(lua_State *L)
{
	lua_pushnumber(L, nb_lua_mono());
	return 1;
}

/*
 * time([ns]) -> "2026-01-31T12:00:00.123Z": the present time, or the time ns of
 * CLOCK_REALTIME
 */
static int do_time(lua_State *L)
{
	struct timespec t;
	char text[NB_UTC_TEXT];

	clock_gettime(CLOCK_REALTIME, &t);
	lua_Integer ns = luaL_optinteger(L, 1, (lua_Integer)t.tv_sec * 1000000000 + t.tv_nsec);

	luaL_argcheck(L, ns >= 0, 1, "before 1970");
	lua_pushstring(L, nb_utc_text(text, (uint64_t)ns, 3));
	return 1;
}

static int do_sleep(lua_State *L)
{
	if (nb_lua_poll(NULL, 0, luaL_checknumber(L, 1)) < 0)
		return nb_lua_interrupted(L);
	return 0;
}

static int do_isatty(lua_State *L)
{
	lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
	return 1;
}

/* winsize([fd]) -> columns, rows of the terminal on fd (default: stdout); nil
 * if none */
static int do_winsize(lua_State *L)
{
	int fd = (int)luaL_optinteger(L, 1, STDOUT_FILENO);
	struct winsize w;

	if (ioctl(fd, TIOCGWINSZ, &w) || !w.ws_col)
		return 0;
	lua_pushinteger(L, w.ws_col);
	lua_pushinteger(L, w.ws_row);
	return 2;
}

/*
 * width(text) -> columns of the text on a terminal; an invalid byte counts one
 */
static int do_width(lua_State *L)
{
	size_t size;
	const char *s = luaL_checklstring(L, 1, &size);
	lua_Integer columns = 0;
	mbstate_t st = { 0 };

	while (size) {
		wchar_t c;
		size_t n = mbrtowc(&c, s, size, &st);

		if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
			memset(&st, 0, sizeof(st));
			/*
			 * without a locale, count the first byte of each
			 * character
			 */
			columns += ((unsigned char)*s & 0xc0) != 0x80;
			n = 1;
		} else {
			int w = wcwidth(c);

			columns += w < 0 ? 1 : w;
		}
		s += n;
		size -= n;
	}
	lua_pushinteger(L, columns);
	return 1;
}

/* utf8() -> does the locale say that the terminal uses UTF-8 */
static int do_utf8(lua_State *L)
{
	lua_pushboolean(L, !strcmp(nl_langinfo(CODESET), "UTF-8"));
	return 1;
}

static int do_sha256(lua_State *L)
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
static int do_base64(lua_State *L)
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

/* hold(true): defer Ctrl-C until hold(false). */
static int do_hold(lua_State *L)
{
	nb_lua_held = nb_lua_held + (lua_toboolean(L, 1) ? 1 : -1);
	if (nb_lua_held < 0)
		nb_lua_held = 0;
	return 0;
}

/*
 * held(f, ...) -> like pcall, but defer Ctrl-C afterwards: a pending Ctrl-C
 * would otherwise raise again at the next instruction
 */
static int do_held(lua_State *L)
{
	int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);

	nb_lua_held = nb_lua_held + 1;
	lua_pushboolean(L, rc == LUA_OK);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/*
 * settled(f, ...) -> did Ctrl-C end f, then the results of pcall(f, ...).
 * Clears the Ctrl-C.
 */
static int do_settled(lua_State *L)
{
	int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
	bool stopped = nb_lua_stopped();

	if (stopped) {
		lua_sethook(L, NULL, 0, 0);
		nb_lua_stop = 0;
	}
	lua_pushboolean(L, rc == LUA_OK);
	lua_insert(L, 1);
	lua_pushboolean(L, stopped);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/* stopped() -> is a Ctrl-C pending? For callers of hold(true) */
static int do_stopped(lua_State *L)
{
	lua_pushboolean(L, nb_lua_stop != 0);
	return 1;
}

static int with_trace(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TSTRING)
		luaL_traceback(L, L, lua_tostring(L, 1), 1);
	return 1;
}

/*
 * guard(trace, f, ...) -> as pcall(f, ...); with a trace of the stack behind a
 * string error if trace is true. Ctrl-C stops only code that runs within a
 * guard. A script's pcall may catch its error, so guard checks again at the
 * end; the outermost guard clears the Ctrl-C.
 */
static int do_guard(lua_State *L)
{
	int trace = lua_toboolean(L, 1), rc, held = nb_lua_held;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushcfunction(L, with_trace);
	lua_replace(L, 1);
	nb_lua_guarded = nb_lua_guarded + 1;
	rc = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, trace ? 1 : 0);
	nb_lua_guarded = nb_lua_guarded - 1;
	/* an error in f may have skipped the call of hold(false) */
	nb_lua_held = held;
	if (nb_lua_stop && !nb_lua_held) {
		if (!nb_lua_guarded) {
			lua_sethook(L, NULL, 0, 0);
			nb_lua_stop = 0;
		}
		lua_settop(L, 1);
		nb_lua_push_interrupted(L);
		rc = LUA_ERRRUN;
	}
	lua_pushboolean(L, rc == LUA_OK);
	lua_replace(L, 1);
	return lua_gettop(L);
}

void nb_lua_open_sys(lua_State *L)
{
	static const luaL_Reg lock[] = { { "__gc", lock_drop },
					 { "__close", lock_drop },
					 { NULL, NULL } };
	static const luaL_Reg fns[] = { { "read", do_read },
					{ "write", do_write },
					{ "append", do_append },
					{ "list", do_list },
					{ "stat", do_stat },
					{ "lock", do_lock },
					{ "readlink", do_readlink },
					{ "unlink", do_unlink },
					{ "mkdirs", do_mkdirs },
					{ "alive", do_alive },
					{ "namespace", do_namespace },
					{ "ids", do_ids },
					{ "mono", do_mono },
					{ "time", do_time },
					{ "sleep", do_sleep },
					{ "isatty", do_isatty },
					{ "winsize", do_winsize },
					{ "width", do_width },
					{ "utf8", do_utf8 },
					{ "sha256", do_sha256 },
					{ "hold", do_hold },
					{ "guard", do_guard },
					{ "held", do_held },
					{ "settled", do_settled },
					{ "stopped", do_stopped },
					{ "base64", do_base64 },
					{ NULL, NULL } };

	luaL_setfuncs(L, fns, 0);
	luaL_newmetatable(L, LOCK);
	luaL_setfuncs(L, lock, 0);
	lua_pop(L, 1);
}
