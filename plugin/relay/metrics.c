// SPDX-License-Identifier: MIT
/*
 * The agent's HTTP server of /metrics. The thread of libmicrohttpd answers the
 * requests one after the other. It runs the shell that lies beside the agent,
 * as the agent's user, with arguments that no request can influence, and keeps
 * the text for a second.
 */
#include "plugin/relay/metrics.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <microhttpd.h>

#include "core/base/buf.h"
#include "plugin/runtime/clock.h"

enum {
	CONNECTIONS = 16, /* open at once, beside those that are being closed */
	SLOTS = 2 * CONNECTIONS,
	IDLE_S = 10,
	MEMORY = 32 << 10, /* of a connection, its request line and headers */
	KEPT_MS = 1000,
	SHELL_MS = 15000, /* time limit of the shell */
	TEXT_SIZE = 16 << 20,
	NO_PROCESS = 69, /* the shell's exit status if no job runs */
	ARGUMENTS = 8
};

/* A connection. Slow clients cannot keep others out: see make_room. */
struct slot {
	int fd;		     /* -1: none */
	bool asked, closing; /* its request is complete; it is shut down */
	uint64_t number;     /* of the connection; they are counted */
};

struct nb_metrics {
	struct MHD_Daemon *daemon;
	struct slot slot[SLOTS];
	uint64_t connections;
	bool stopping; /* atomic */
	char address[300];
	char shell[4096];
	char *argv[ARGUMENTS];
	char **envp;
	char socket_dir[4096];
	/* the last answer, and when it was made */
	struct nb_buf text;
	unsigned status;
	uint64_t made_ns;
};

/*
 * The environment of the shell: ours without the store, so that it asks the
 * processes of this host, and with the directory @dir if it is not "".
 */
static char **shell_environment(struct nb_metrics *m, const char *dir)
{
	static const char fleet[] = "NCCLBPF_FLEET", sockets[] = "NCCLBPF_SOCKET_DIR=";
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 2, sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		if (strncmp(environ[i], fleet, sizeof(fleet) - 1) != 0 &&
		    (!*dir || strncmp(environ[i], sockets, sizeof(sockets) - 1) != 0))
			env[k++] = environ[i];
	snprintf(m->socket_dir, sizeof(m->socket_dir), "%s%s", sockets, dir);
	if (env && *dir)
		env[k] = m->socket_dir;
	return env;
}

/* The shell lies beside the agent. */
static void find_shell(struct nb_metrics *m)
{
	ssize_t n =
		readlink("/proc/self/exe", m->shell, sizeof(m->shell) - sizeof("ncclbpf-shell"));
	char *name;

	m->shell[n > 0 ? n : 0] = '\0';
	name = strrchr(m->shell, '/');
	memcpy(name ? name + 1 : m->shell, "ncclbpf-shell", sizeof("ncclbpf-shell"));
}

static int spawn_shell(struct nb_metrics *m, int out, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t ours;
	int rc;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", 0, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", 1, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &ours);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(pid, m->shell, &files, &attr, m->argv, m->envp);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* Returns true at the time @end, and when the server stops. */
static bool is_over(const struct nb_metrics *m, uint64_t end)
{
	return nb_clock_system() >= end || __atomic_load_n(&m->stopping, __ATOMIC_RELAXED);
}

/* Read what the shell prints, until its end or the time @end. */
static bool read_text(struct nb_metrics *m, int fd, uint64_t end)
{
	struct pollfd f = { fd, POLLIN, 0 };
	char piece[4096];

	for (;;) {
		ssize_t n;

		if (is_over(m, end) || poll(&f, 1, 100) < 0)
			return false;
		if (!f.revents)
			continue;
		n = read(fd, piece, sizeof(piece));
		if (n <= 0)
			return n == 0;
		nb_buf_bytes(&m->text, piece, (size_t)n);
		if (!nb_buf_ok(&m->text))
			return false;
	}
}

/* A shell may close its output and not end: wait until the time @end. */
static bool shell_ended(const struct nb_metrics *m, pid_t pid, uint64_t end, int *status)
{
	while (!waitpid(pid, status, WNOHANG)) {
		if (is_over(m, end))
			return false;
		nb_clock_sleep(UINT64_C(1000000));
	}
	return true;
}

static void explain(struct nb_metrics *m, int status, bool whole)
{
	nb_buf_clear(&m->text);
	m->status = MHD_HTTP_SERVICE_UNAVAILABLE;
	if (!whole)
		nb_buf_printf(&m->text,
			      "# %s metrics took more than %d s or wrote more "
			      "than %d bytes\n",
			      m->shell, SHELL_MS / 1000, TEXT_SIZE);
	else
		nb_buf_printf(&m->text,
			      "# %s metrics ended with status %d; type the "
			      "command on this host, it says why\n",
			      m->shell, status);
}

/* Run the shell and keep its output. */
static void renew(struct nb_metrics *m)
{
	uint64_t end = nb_clock_system() + SHELL_MS * UINT64_C(1000000);
	int fd[2], status = 0;
	bool whole = false;
	pid_t pid;

	nb_buf_clear(&m->text);
	m->status = MHD_HTTP_OK;
	if (pipe2(fd, O_CLOEXEC)) {
		explain(m, 71, true);
		return;
	}
	if (spawn_shell(m, fd[1], &pid)) {
		close(fd[0]);
		close(fd[1]);
		explain(m, 127, true);
		return;
	}
	close(fd[1]);
	whole = read_text(m, fd[0], end) && shell_ended(m, pid, end, &status);
	close(fd[0]);
	if (!whole) {
		kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	/*
	 * Another status is a process that did not answer; the text has the
	 * other processes.
	 */
	if (whole && status == NO_PROCESS && !m->text.size)
		nb_buf_str(&m->text, "# no process of a job on this host\n");
	else if (!whole || !m->text.size)
		explain(m, status, whole);
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *text,
			      size_t size)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(size, (void *)(uintptr_t)text,
								 MHD_RESPMEM_MUST_COPY);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
	MHD_add_response_header(r, "Connection", "close");
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static bool goes_before(const struct slot *a, const struct slot *b)
{
	return a->asked != b->asked ? b->asked : a->number < b->number;
}

/*
 * If there are too many connections, close the oldest whose request is not
 * complete, else the oldest: a client that sends its request at once is always
 * served.
 */
static void make_room(struct nb_metrics *m)
{
	struct slot *first = NULL;
	int n = 0;

	for (struct slot *s = m->slot; s < m->slot + SLOTS; s++) {
		if (s->fd < 0 || s->closing)
			continue;
		n++;
		if (!first || goes_before(s, first))
			first = s;
	}
	if (n <= CONNECTIONS)
		return;
	first->closing = true;
	shutdown(first->fd, SHUT_RDWR);
}

/* A connection begins or ends. */
static void notify(void *arg, struct MHD_Connection *c, void **at,
		   enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct nb_metrics *m = arg;
	struct slot *s = *at;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (s)
			s->fd = -1;
		return;
	}
	for (s = m->slot; s < m->slot + SLOTS && s->fd >= 0; s++)
		;
	if (!fd || s == m->slot + SLOTS)
		return;
	*s = (struct slot){ .fd = fd->connect_fd, .number = m->connections++ };
	*at = s;
	make_room(m);
}

static enum MHD_Result metrics_handle(void *arg, struct MHD_Connection *c, const char *url,
				      const char *method, const char *version, const char *data,
				      size_t *size, void **state)
{
	static const char only[] = "GET /metrics is the only request\n";
	const union MHD_ConnectionInfo *at =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct nb_metrics *m = arg;
	uint64_t now = nb_clock_system();

	if (at && at->socket_context)
		((struct slot *)at->socket_context)->asked = true;
	(void)version;
	(void)data;
	(void)size;
	(void)state;
	/*
	 * The first call comes before the request's body. Answer at once, so
	 * that no body is processed.
	 */
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, only, sizeof(only) - 1);
	if (strcmp(url, "/metrics") != 0)
		return answer(c, MHD_HTTP_NOT_FOUND, only, sizeof(only) - 1);
	if (!m->made_ns || now - m->made_ns > KEPT_MS * UINT64_C(1000000)) {
		renew(m);
		m->made_ns = nb_clock_system();
	}
	return answer(c, m->status, m->text.data, m->text.size);
}

static void set_arguments(struct nb_metrics *m, const char *job)
{
	const char *const words[] = { m->shell, "--role=observe", "metrics", *job ? "-J" : NULL,
				      job };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words) && words[i]; i++)
		m->argv[i] = (char *)(uintptr_t)words[i];
}

int nb_metrics_start(struct nb_metrics **out, const struct nb_listen_config *at, const char *job,
		     const char *dir, struct nb_err *err)
{
	struct nb_metrics *m = calloc(1, sizeof(*m));
	int fd = -1;

	*out = NULL;
	if (m)
		m->envp = shell_environment(m, dir);
	if (!m || !m->envp) {
		free(m);
		return nb_fail(err, NB_E_NOMEM, 0, "no memory");
	}
	for (int i = 0; i < SLOTS; i++)
		m->slot[i].fd = -1;
	nb_buf_init(&m->text, TEXT_SIZE);
	find_shell(m);
	set_arguments(m, job);
	fd = nb_listen_open(at, CONNECTIONS, err);
	if (fd >= 0) {
		uint64_t inode = nb_listen_inode(fd);

		nb_listen_address(at, false, fd, "/metrics", m->address, sizeof(m->address));
		m->daemon = MHD_start_daemon(
			MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL,
			metrics_handle, m, MHD_OPTION_LISTEN_SOCKET, fd,
			MHD_OPTION_CONNECTION_LIMIT, (unsigned)SLOTS, MHD_OPTION_NOTIFY_CONNECTION,
			notify, m, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
		if (!m->daemon) {
			nb_listen_drop(fd, inode);
			fd = nb_fail(err, NB_E_IO, 0, "the HTTP server does not start");
		}
	}
	if (fd < 0) {
		nb_metrics_stop(m);
		return fd;
	}
	*out = m;
	return 0;
}

const char *nb_metrics_address(const struct nb_metrics *m)
{
	return m->address;
}

void nb_metrics_stop(struct nb_metrics *m)
{
	if (!m)
		return;
	__atomic_store_n(&m->stopping, true, __ATOMIC_RELAXED);
	if (m->daemon)
		MHD_stop_daemon(m->daemon);
	nb_buf_fini(&m->text);
	free(m->envp);
	free(m);
}
