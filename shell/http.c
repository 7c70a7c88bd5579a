// SPDX-License-Identifier: MIT
/*
 * A small HTTP server for `metrics serve=`: libmicrohttpd in the shell's own
 * thread, polled together with Ctrl-C. It reads no request body and answers
 * each connection once. Connections are bounded in number, memory and time, so
 * that slow or broken clients cost little. Lua is called under pcall only:
 * nothing may jump through libmicrohttpd's frames.
 */
#include "shell/shell.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lauxlib.h>
#include <microhttpd.h>

#include "lua/core/core.h"

enum {
	MAX_CONNECTIONS = 64,
	MAX_PER_ADDRESS = 32,
	MAX_CONNECTION_MEMORY = 32 << 10,
	IDLE_S = 10,	/* seconds without a byte */
	DEADLINE_S = 30 /* seconds of a whole connection */
};

#define SERVER "ncclbpf.http"

/* A connection and the time when it began. */
struct client {
	int fd;
	double since;
};

struct server {
	struct MHD_Daemon *daemon; /* NULL if it is closed */
	/* set while serve runs; the answer function is at stack index 3 */
	lua_State *L;
	struct client client[MAX_CONNECTIONS];
	unsigned nclients;
	char why[160]; /* libmicrohttpd's last message */
};

__attribute__((format(printf, 2, 0))) static void
server_log(void *arg, const char *fmt, va_list ap)
{
	struct server *s = arg;

	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	s->why[strcspn(s->why, "\n")] = 0;
}

static int connection_fd(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return i ? i->connect_fd : -1;
}

static void connection_notify(void *arg, struct MHD_Connection *c,
			      void **socket_context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct server *s = arg;
	int fd = connection_fd(c);

	(void)socket_context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		if (s->nclients < MAX_CONNECTIONS)
			s->client[s->nclients++] =
				(struct client){ fd, nb_lua_mono() };
		return;
	}
	for (unsigned i = 0; i < s->nclients; i++)
		if (s->client[i].fd == fd) {
			s->client[i] = s->client[--s->nclients];
			return;
		}
}

/* End connections past the deadline; libmicrohttpd then sees that they end. */
static void end_overdue(struct server *s)
{
	double now = nb_lua_mono();

	for (unsigned i = 0; i < s->nclients; i++)
		if (now - s->client[i].since > DEADLINE_S)
			shutdown(s->client[i].fd, SHUT_RDWR);
}

/* ---- a request ---- */

static void add_header(struct MHD_Response *r, const char *name,
		       const char *value)
{
	if (value)
		MHD_add_response_header(r, name, value);
}

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status,
				 const char *text, size_t size,
				 const char *type, const char *allow)
{
	/*
	 * libmicrohttpd copies it; the parameter is not const for its other
	 * modes
	 */
	struct MHD_Response *r = MHD_create_response_from_buffer(
		size, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	add_header(r, "Content-Type", type ? type : "text/plain");
	add_header(r, "Allow", allow);
	add_header(r, "Cache-Control", "no-store");
	add_header(r, "Connection", "close");
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

struct request {
	struct MHD_Connection *c;
	const char *method, *path;
	enum MHD_Result rc;
	bool answered;
};

/*
 * Get a string field of the answer, which is at stack index 2. The value stays
 * on the stack.
 */
static const char *answer_field(lua_State *L, const char *name, size_t *size)
{
	lua_getfield(L, 2, name);
	return lua_tolstring(L, -1, size);
}

/*
 * Call answer(method, path) -> {status=, body=, type=, allow=}, and send the
 * result. @L has the request at stack index 1. Each line except send_text may
 * raise an error: no memory, or an error of a metatable.
 */
static int answer_call(lua_State *L)
{
	struct request *r = lua_touserdata(L, 1);
	const char *body, *type, *allow;
	size_t size = 0;

	lua_pushstring(L, r->method);
	lua_pushstring(L, r->path);
	lua_call(L, 2, 1);
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "status");
	unsigned status = (unsigned)luaL_checkinteger(L, -1);

	body = answer_field(L, "body", &size);
	type = answer_field(L, "type", NULL);
	allow = answer_field(L, "allow", NULL);
	r->answered = true;
	r->rc = send_text(r->c, status, body ? body : "", size, type, allow);
	return 0;
}

/* This function raises no error outside of lua_pcall. */
static enum MHD_Result answer(struct server *s, struct MHD_Connection *c,
			      const char *method, const char *path)
{
	static const char failed[] = "the metrics cannot be made\n";
	struct request r = { .c = c, .method = method, .path = path };
	lua_State *L = s->L;
	int top = lua_gettop(L);

	lua_pushcfunction(L, answer_call);
	lua_pushlightuserdata(L, &r);
	lua_pushvalue(L, 3);
	if (lua_pcall(L, 2, 0, 0) && !r.answered)
		r.rc = send_text(c, MHD_HTTP_INTERNAL_SERVER_ERROR, failed,
				 sizeof(failed) - 1, NULL, NULL);
	lua_settop(L, top);
	return r.rc;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c,
				  const char *path, const char *method,
				  const char *version, const char *data,
				  size_t *size, void **state)
{
	static const char *const READS[] = { "GET", "HEAD" };
	static int seen;
	bool reads = !strcmp(method, READS[0]) || !strcmp(method, READS[1]);

	(void)version;
	(void)data;
	if (*size)
		return MHD_NO; /* refuse requests with a body */
	if (reads && !*state) {
		*state = &seen; /* answer when the request has ended */
		return MHD_YES;
	}
	return answer(arg, c, method, path);
}

/* ---- the server ---- */

/*
 * Make a socket that listens on @host and @port. Returns -1 and *@why on
 * failure.
 */
static int listen_on(const char *host, const char *port, const char **why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV },
			*list;
	int fd = -1, on = 1, rc = getaddrinfo(host, port, &hints, &list);

	if (rc) {
		*why = gai_strerror(rc);
		return -1;
	}
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family,
			    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (!bind(fd, a->ai_addr, a->ai_addrlen) &&
		    !listen(fd, SOMAXCONN))
			break;
		rc = errno;
		close(fd);
		fd = -1;
		errno = rc;
	}
	*why = strerror(errno);
	freeaddrinfo(list);
	return fd;
}

static int server_close(lua_State *L)
{
	struct server *s = luaL_checkudata(L, 1, SERVER);

	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	s->daemon = NULL;
	return 0;
}

/* server:port() -> the port that it listens on */
static int server_port(lua_State *L)
{
	struct server *s = luaL_checkudata(L, 1, SERVER);
	const union MHD_DaemonInfo *i =
		s->daemon ? MHD_get_daemon_info(s->daemon,
						MHD_DAEMON_INFO_BIND_PORT)
			  : NULL;

	lua_pushinteger(L, i ? i->port : 0);
	return 1;
}

/* Answer requests until @end. False: Ctrl-C was pressed. */
static bool run_until(struct server *s, double end)
{
	const union MHD_DaemonInfo *i =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p = { .fd = i->epoll_fd, .events = POLLIN };

	for (double left; (left = end - nb_lua_mono()) > 0;) {
		MHD_UNSIGNED_LONG_LONG ms;

		left = left > 1 ? 1
				: left; /* wake up to end overdue connections */
		if (MHD_get_timeout(s->daemon, &ms) == MHD_YES &&
		    (double)ms / 1e3 < left)
			left = (double)ms / 1e3;
		if (nb_lua_poll(&p, 1, left) < 0)
			return false;
		MHD_run(s->daemon);
		end_overdue(s);
		if (nb_lua_stopped())
			return false;
	}
	return true;
}

/*
 * server:serve(seconds, answer): answer requests for this time. Raises
 * "interrupted" at Ctrl-C.
 */
static int server_serve(lua_State *L)
{
	struct server *s = luaL_checkudata(L, 1, SERVER);
	double end = nb_lua_mono() + luaL_checknumber(L, 2);
	struct sigaction ignore = { .sa_handler = SIG_IGN }, was;

	luaL_checktype(L, 3, LUA_TFUNCTION);
	luaL_argcheck(L, s->daemon, 1, "closed");
	lua_settop(L, 3);
	s->L = L;
	/* without this, a client that leaves would end the shell */
	sigaction(SIGPIPE, &ignore, &was);
	bool whole = run_until(s, end);

	sigaction(SIGPIPE, &was, NULL);
	return whole ? 0 : nb_lua_interrupted(L);
}

static struct MHD_Daemon *start(struct server *s, int fd, const char *cert,
				const char *key)
{
	const unsigned tls = cert ? MHD_USE_TLS : 0;
	struct MHD_OptionItem tls_options[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key },
		{ MHD_OPTION_END, 0, NULL }
	};

	if (!cert)
		tls_options[0].option = MHD_OPTION_END;
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG | tls, 0, NULL, NULL,
		on_request, s, MHD_OPTION_EXTERNAL_LOGGER, server_log, s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)MAX_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)MAX_PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MAX_CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)IDLE_S, MHD_OPTION_NOTIFY_CONNECTION,
		connection_notify, s, MHD_OPTION_ARRAY, tls_options,
		MHD_OPTION_END);
}

/*
 * http(host, port [, cert, key]) -> server | nil, err. @cert and @key are PEM
 * texts.
 */
int nb_http_open(lua_State *L)
{
	const char *host = luaL_checkstring(L, 1), *why = "";
	const char *port = luaL_checkstring(L, 2);
	const char *cert = luaL_optstring(L, 3, NULL);
	const char *key = luaL_optstring(L, 4, NULL);
	static const luaL_Reg methods[] = { { "port", server_port },
					    { "serve", server_serve },
					    { "close", server_close },
					    { "__gc", server_close },
					    { NULL, NULL } };
	struct server *s = lua_newuserdatauv(L, sizeof(*s), 0);

	memset(s, 0, sizeof(*s));
	if (luaL_newmetatable(L, SERVER)) {
		luaL_setfuncs(L, methods, 0);
		lua_pushvalue(L, -1);
		lua_setfield(L, -2, "__index");
	}
	lua_setmetatable(L, -2);
	const char *missing = nb_microhttpd_load();

	if (missing)
		return nb_lua_failf(L, NB_E_SETTING,
				    "the server cannot start: %s", missing);
	int fd = listen_on(host, port, &why);

	if (fd < 0)
		return nb_lua_failf(L, NB_E_SETTING,
				    "cannot listen on %s port %s: %s", host,
				    port, why);
	s->daemon = start(s, fd, cert, key);
	if (!s->daemon) {
		close(fd);
		return nb_lua_failf(L, NB_E_SETTING,
				    "the server cannot start: %s",
				    *s->why ? s->why : "libmicrohttpd");
	}
	return 1;
}
