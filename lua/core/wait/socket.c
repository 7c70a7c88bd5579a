// SPDX-License-Identifier: MIT
/*
 * The client's end of the control socket (docs/protocol.md): connect, get the
 * peer's identity, send lines with a sealed memory file beside them, receive
 * lines bounded at 1 MiB. No function blocks for longer than the caller's
 * time-out, and invalid data from a peer takes bounded memory.
 */
#include "lua/core/wait/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/job/wire/object.h"
#include "lua/core/support/support.h"

enum {
	MAX_LINE = (1 << 20) + 1, /* bytes of a reply with its newline */
	MAX_OBJECT = 8 << 20,	  /* largest memory file in bytes */
	/* received descriptors that the caller has not fetched yet */
	MAX_FDS = 8
};

#define CONN "ncclbpf.conn"

struct conn {
	int fd; /* socket; -1 after it was closed */
	bool eof;
	struct ucred peer;
	char *in; /* bytes received that are not yet returned as lines */
	size_t size, cap, scanned;
	int fds[MAX_FDS];
	unsigned nfds;
};

static struct conn *to_conn(lua_State *L)
{
	return luaL_checkudata(L, 1, CONN);
}

/* Close the socket. Lines that have been received can still be read. */
static void conn_hang_up(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void conn_shut(struct conn *c)
{
	conn_hang_up(c);
	for (unsigned i = 0; i < c->nfds; i++)
		close(c->fds[i]);
	c->nfds = 0;
	free(c->in);
	c->in = NULL;
	c->size = c->cap = c->scanned = 0;
}

static int conn_close(lua_State *L)
{
	conn_shut(to_conn(L));
	return 0;
}

/*
 * Connect to a path of more than 107 bytes through a descriptor of its folder.
 */
static int conn_address(struct sockaddr_un *to, const char *path, int *dir)
{
	const char *slash = strrchr(path, '/');
	char folder[4096];

	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	*dir = -1;
	if (strlen(path) < sizeof(to->sun_path)) {
		memcpy(to->sun_path, path, strlen(path));
		return 0;
	}
	if (!slash || (size_t)(slash - path) >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, (size_t)(slash - path));
	folder[slash - path] = '\0';
	*dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir < 0)
		return -errno;
	int n = snprintf(to->sun_path, sizeof(to->sun_path), "/proc/self/fd/%d/%s", *dir,
			 slash + 1);

	return (size_t)n < sizeof(to->sun_path) ? 0 : -ENAMETOOLONG;
}

/*
 * Connect. Returns 0 or -errno. If the backlog is full (EAGAIN), the function
 * waits.
 */
static int conn_connect(int fd, const char *path, double timeout)
{
	double end = nb_lua_mono() + timeout;
	struct sockaddr_un to;
	int dir, rc = conn_address(&to, path, &dir);

	while (!rc) {
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			break;
		rc = -errno;
		if (rc == -EAGAIN && nb_lua_mono() < end) {
			rc = nb_lua_poll(NULL, 0, 0.01) < 0 ? -EINTR : 0;
			continue;
		}
		if (rc == -EAGAIN)
			rc = -ETIMEDOUT;
	}
	if (dir >= 0)
		close(dir);
	return rc;
}

static int connect_error(lua_State *L, int e, const char *path)
{
	switch (e) {
	case EACCES:
	case EPERM:
		return nb_lua_failf(L, NB_E_PERM, "%s: %s", path, strerror(e));
	case ETIMEDOUT:
		return nb_lua_failf(L, NB_E_TIMEOUT, "%s: the process accepts no connection", path);
	default:
		nb_lua_failf(L, NB_E_NOTARGET, "%s: %s", path, strerror(e));
		nb_lua_set_bool(L, "refused", e == ECONNREFUSED);
		return 2;
	}
}

/* connect(path, timeout) -> conn | nil, err */
static int conn_open(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1);
	double timeout = luaL_checknumber(L, 2);
	struct conn *c = lua_newuserdatauv(L, sizeof(*c), 0);
	socklen_t size = sizeof(c->peer);
	int rc;

	memset(c, 0, sizeof(*c));
	c->fd = -1;
	luaL_setmetatable(L, CONN);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return nb_lua_failf(L, NB_E_IO, "no socket: %s", strerror(errno));
	rc = conn_connect(c->fd, path, timeout < 0 ? 1e9 : timeout);
	if (rc == -EINTR)
		return nb_lua_interrupted(L);
	if (rc) {
		conn_shut(c);
		return connect_error(L, -rc, path);
	}
	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &size)) {
		conn_shut(c);
		return connect_error(L, errno, path);
	}
	return 1;
}

/*
 * Send @size bytes, with descriptor @fd if it is not -1. *@sent gets how many
 * bytes were sent. Returns 0, NB_E_TIMEOUT, NB_E_NOTARGET, or 1 after an
 * interruption.
 */
static int conn_send_all(struct conn *c, const char *p, size_t size, int fd, double timeout,
			 size_t *sent)
{
	double end = nb_lua_mono() + timeout;

	*sent = 0;
	while (*sent < size) {
		ssize_t n = nb_wire_send(c->fd, p + *sent, size - *sent, fd);

		if (n > 0) {
			*sent += (size_t)n;
			fd = -1; /* the kernel has sent the descriptor with the
				    first byte */
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return NB_E_NOTARGET;
		struct pollfd w = { .fd = c->fd, .events = POLLOUT };
		double left = timeout < 0 ? -1 : end - nb_lua_mono();

		if (timeout >= 0 && left <= 0)
			return NB_E_TIMEOUT;
		if (nb_lua_poll(&w, 1, left) < 0)
			return 1;
	}
	return 0;
}

/*
 * conn:send(line, timeout[, object]) -> true | nil, err
 * @object: bytes, sent as a sealed memory file, or a descriptor
 * Closes the connection if only a part of the line was sent: the target would
 * take the next line for the rest of it.
 */
static int conn_send(lua_State *L)
{
	struct conn *c = to_conn(L);
	size_t size, sent, object_size = 0;
	const char *object, *line = luaL_checklstring(L, 2, &size);
	double timeout = luaL_checknumber(L, 3);
	int rc, shared, fd = -1;

	shared = nb_lua_descriptor(L, 4);
	object = shared < 0 ? luaL_optlstring(L, 4, NULL, &object_size) : NULL;
	if (memchr(line, '\n', size) || size >= 65536)
		return nb_lua_failf(L, NB_E_ARG,
				    "a request is one line of at most 65535 bytes, found %zu",
				    size);
	if (object_size > MAX_OBJECT)
		return nb_lua_failf(L, NB_E_LIMIT, "object of %zu bytes, at most %d allowed",
				    object_size, MAX_OBJECT);
	if (c->fd < 0)
		return nb_lua_failf(L, NB_E_NOTARGET, "connection is closed");
	lua_pushvalue(L, 2);
	lua_pushliteral(L, "\n");
	lua_concat(L, 2);
	if (object) {
		fd = nb_wire_object_file(object, object_size);
		if (fd < 0) {
			nb_lua_failf(L, NB_E_IO,
				     "this shell cannot make a memory file (memfd_create): %s",
				     strerror(errno));
			nb_lua_set_str(L, "hint",
				       "allow memfd_create in the seccomp profile of the shell's "
				       "container, or run the shell elsewhere on this host");
			return 2;
		}
	}
	line = lua_tolstring(L, -1, &size);
	rc = conn_send_all(c, line, size, object ? fd : shared, timeout, &sent);
	if (fd >= 0)
		close(fd);
	if (sent > 0 && sent < size)
		conn_hang_up(c);
	if (rc == 1)
		return nb_lua_interrupted(L);
	if (rc == NB_E_TIMEOUT)
		return nb_lua_failf(L, rc, "the target did not read the request in time");
	if (rc) {
		c->eof = true;
		return nb_lua_failf(L, rc, "the connection was lost");
	}
	lua_pushboolean(L, 1);
	return 1;
}

/* ---- receiving ---- */

static void keep_fds(struct conn *c, struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
			if (c->nfds < MAX_FDS)
				c->fds[c->nfds++] = fd;
			else
				close(fd);
		}
	}
}

static bool conn_room(struct conn *c)
{
	char *p;

	if (c->cap - c->size >= 4096)
		return true;
	size_t cap = c->cap ? c->cap * 2 : 65536;

	p = realloc(c->in, cap);
	if (!p)
		return false;
	c->in = p;
	c->cap = cap;
	return true;
}

static bool has_line(struct conn *c)
{
	if (c->size == c->scanned)
		return false;
	if (memchr(c->in + c->scanned, '\n', c->size - c->scanned))
		return true;
	c->scanned = c->size;
	return false;
}

/*
 * conn:fill() -> true, or false if the peer has closed the connection; is a
 * line complete?
 * Reads the bytes that have arrived, without waiting, until a line is complete.
 */
static int conn_fill(lua_State *L)
{
	struct conn *c = to_conn(L);

	while (c->fd >= 0 && !c->eof && !has_line(c) && c->size < MAX_LINE) {
		union {
			struct cmsghdr head;
			char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
		} ctl;
		struct iovec iov;
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = ctl.bytes,
				    .msg_controllen = sizeof(ctl.bytes) };

		if (!conn_room(c))
			return luaL_error(L, "not enough memory");
		iov.iov_base = c->in + c->size;
		iov.iov_len = c->cap - c->size;
		ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			c->eof = true;
			break;
		}
		keep_fds(c, &m);
		c->size += (size_t)n;
	}
	lua_pushboolean(L, c->fd >= 0 && !c->eof);
	lua_pushboolean(L, c->size >= MAX_LINE || has_line(c));
	return 2;
}

/* conn:line() -> line | nil (none yet) | nil, err (line too long) */
static int conn_line(lua_State *L)
{
	struct conn *c = to_conn(L);
	char *nl = c->size ? memchr(c->in, '\n', c->size) : NULL;

	/* applies also if the peer closed after these bytes */
	if (nl ? nl - c->in >= MAX_LINE : c->size >= MAX_LINE)
		return nb_lua_failf(L, NB_E_PROTOCOL,
				    "reply of more than %d bytes, at most %d allowed", MAX_LINE - 1,
				    MAX_LINE - 1);
	if (!nl) {
		lua_pushnil(L);
		return 1;
	}
	size_t n = (size_t)(nl - c->in);

	lua_pushlstring(L, c->in, n);
	c->size -= n + 1;
	memmove(c->in, nl + 1, c->size);
	c->scanned = 0;
	return 1;
}

static int conn_read_sealed(lua_State *L, int fd)
{
	int want = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	luaL_Buffer b;
	size_t done = 0;

	if (seals < 0 || (seals & want) != want || fstat(fd, &st))
		return nb_lua_failf(
			L, NB_E_PROTOCOL,
			"the target sent a descriptor that is not a sealed memory file");
	if (st.st_size < 0 || st.st_size > MAX_OBJECT)
		return nb_lua_failf(L, NB_E_PROTOCOL,
				    "the target sent an object of %lld bytes, at most %d allowed",
				    (long long)st.st_size, MAX_OBJECT);
	char *p = luaL_buffinitsize(L, &b, (size_t)st.st_size);

	while (done < (size_t)st.st_size) {
		ssize_t n = pread(fd, p + done, (size_t)st.st_size - done, (off_t)done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	luaL_pushresultsize(&b, done);
	return 1;
}

/* conn:object() -> bytes of the oldest descriptor received | nil, err */
static int conn_object(lua_State *L)
{
	struct conn *c = to_conn(L);
	int *fd, n;

	if (!c->nfds)
		return nb_lua_failf(L, NB_E_PROTOCOL, "the target sent no descriptor");
	fd = nb_lua_fd(L);
	*fd = c->fds[0];
	c->nfds--;
	memmove(c->fds, c->fds + 1, c->nfds * sizeof(c->fds[0]));
	n = conn_read_sealed(L, *fd);
	nb_lua_fd_close(fd);
	return n;
}

static int conn_peer(lua_State *L)
{
	struct conn *c = to_conn(L);

	lua_pushinteger(L, c->peer.pid);
	lua_pushinteger(L, c->peer.uid);
	return 2;
}

static int conn_fd(lua_State *L)
{
	struct conn *c = to_conn(L);

	if (c->fd < 0)
		lua_pushnil(L);
	else
		lua_pushinteger(L, c->fd);
	return 1;
}

/* poll({conn or descriptor...}, timeout) -> {indices that are readable} */
static int conn_poll(lua_State *L)
{
	double timeout = luaL_checknumber(L, 2);
	struct pollfd *p;
	lua_Integer n, out = 0;

	luaL_checktype(L, 1, LUA_TTABLE);
	n = (lua_Integer)lua_rawlen(L, 1);
	luaL_argcheck(L, n < 65536, 1, "too many");
	p = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof(*p), 0);
	for (lua_Integer i = 0; i < n; i++) {
		lua_rawgeti(L, 1, i + 1);
		struct conn *c = luaL_testudata(L, -1, CONN);

		p[i] = (struct pollfd){ .events = POLLIN };
		p[i].fd = c ? c->fd : (int)lua_tointeger(L, -1);
		lua_pop(L, 1);
	}
	if (nb_lua_poll(p, (unsigned)n, timeout) < 0) {
		if (errno == EINTR)
			return nb_lua_interrupted(L);
		return luaL_error(L, "poll: %s", strerror(errno));
	}
	lua_newtable(L);
	for (lua_Integer i = 0; i < n; i++)
		if (p[i].revents) {
			lua_pushinteger(L, i + 1);
			lua_rawseti(L, -2, ++out);
		}
	return 1;
}

void nb_lua_open_socket(lua_State *L)
{
	static const luaL_Reg methods[] = { { "send", conn_send },     { "fill", conn_fill },
					    { "line", conn_line },     { "object", conn_object },
					    { "peer", conn_peer },     { "fd", conn_fd },
					    { "close", conn_close },   { "__gc", conn_close },
					    { "__close", conn_close }, { NULL, NULL } };
	static const luaL_Reg fns[] = { { "connect", conn_open },
					{ "poll", conn_poll },
					{ NULL, NULL } };

	nb_lua_class(L, CONN, methods);
	luaL_setfuncs(L, fns, 0);
}
