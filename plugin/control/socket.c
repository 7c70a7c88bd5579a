// SPDX-License-Identifier: MIT
/*
 * The control thread. It accepts connections, checks the peers, serves one
 * connection after the other, and calls the process's tick. It holds no lock
 * while it waits, and it blocks all signals. A forked child closes all
 * descriptors; a lock prevents a fork between closing a descriptor and removing
 * it from the list.
 */
#include "plugin/control/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/liveness.h"
#include "plugin/control/connection.h"
#include "plugin/controller/controller.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"

enum {
	BACKLOG = 32,
	STACK = 2 << 20,
	ACCEPT_PAUSE_MS = 1000,
	RESTORE_MS = 1000,
	/*
	 * longest wait for the thread at exit; a tick takes milliseconds, and
	 * seconds while another process has the segment's lock (divergence.c)
	 */
	QUIT_MS = 5000
};

struct nb_control {
	const struct nb_handler *handlers;
	nb_tick_fn *tick;
	const struct nb_jobdir *place;
	pthread_t thread;
	pid_t pid;
	atomic_bool stop;
	int listener, wake;
	char name[NB_JOBDIR_NAME];
	char path[PATH_MAX + NB_JOBDIR_NAME + 2];
	/* inode of our socket file, so that we unlink no other file */
	ino_t inode;
	/*
	 * time until which no connection is accepted, because accept(2) lacked
	 * descriptors or memory
	 */
	uint64_t deaf_until_ms;
	/* when a deleted socket file may be created again */
	uint64_t retry_ms;
	bool restore_failed; /* the log says so */
	struct nb_conn *conn[NB_CONTROL_CONNS];
	unsigned nconn;
	/* protects the descriptors that a forked child closes */
	pthread_mutex_t fds_lock;
	/* descriptors of connections, and of one that is being accepted; -1: none */
	int conn_fd[NB_CONTROL_CONNS + 1];
};

static uint64_t socket_now_ms(void)
{
	return nb_clock_system() / 1000000;
}

/* Try to send one error line, and close the connection that is being accepted. */
static void reject_peer(struct nb_control *c, int fd, const struct nb_err *err)
{
	struct nb_buf b;

	nb_buf_init(&b, 4096);
	nb_reply_error(&b, NULL, err, NULL, NULL);
	if (nb_buf_ok(&b))
		(void)!send(fd, b.data, b.size, MSG_NOSIGNAL | MSG_DONTWAIT);
	nb_buf_fini(&b);
	pthread_mutex_lock(&c->fds_lock);
	close(fd);
	c->conn_fd[NB_CONTROL_CONNS] = -1;
	pthread_mutex_unlock(&c->fds_lock);
}

static void drop_conn(struct nb_control *c, unsigned i)
{
	nb_conn_free(c->conn[i]);
	c->conn[i] = c->conn[--c->nconn];
	pthread_mutex_lock(&c->fds_lock);
	close(c->conn_fd[i]);
	c->conn_fd[i] = c->conn_fd[c->nconn];
	c->conn_fd[c->nconn] = -1;
	pthread_mutex_unlock(&c->fds_lock);
}

/*
 * All connections are in use: end the one that has not been used for the longest
 * time. A slow or idle client keeps its connection while nobody needs the place,
 * because a client on a busy host may be slow for seconds. Returns false if all
 * clients need theirs.
 */
static bool drop_spare(struct nb_control *c, uint64_t now)
{
	uint64_t longest = 0;
	unsigned at = c->nconn;

	for (unsigned i = 0; i < c->nconn; i++) {
		uint64_t ms = nb_conn_spare_ms(c->conn[i], now);

		if (ms <= longest)
			continue;
		longest = ms;
		at = i;
	}
	if (at == c->nconn)
		return false;
	drop_conn(c, at);
	return true;
}

static bool may_connect(struct nb_control *c, int fd, uint64_t now, struct nb_peer *peer,
			struct nb_err *err)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		nb_fail(err, NB_E_IO, 0, "SO_PEERCRED: %s", strerror(errno));
		return false;
	}
	*peer = (struct nb_peer){ .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	if (cred.uid != geteuid() && cred.uid != 0) {
		nb_fail(err, NB_E_PERM, 0,
			"this socket belongs to uid %u and serves that uid and root; "
			"the client has uid %u",
			(unsigned)geteuid(), (unsigned)cred.uid);
		nb_log(NB_LOG_WARN,
		       "control: uid %u pid %d was rejected: only uid %u and root may connect",
		       (unsigned)cred.uid, (int)cred.pid, (unsigned)geteuid());
		return false;
	}
	if (c->nconn == NB_CONTROL_CONNS && !drop_spare(c, now)) {
		nb_fail(err, NB_E_BUSY, 0, "%d connections are open, %d allowed: close one",
			NB_CONTROL_CONNS, NB_CONTROL_CONNS);
		return false;
	}
	return true;
}

static void add_conn(struct nb_control *c, int fd, uint64_t now)
{
	struct nb_err err = { .code = 0 };
	struct nb_peer peer;
	struct nb_conn *conn;

	if (!may_connect(c, fd, now, &peer, &err)) {
		reject_peer(c, fd, &err);
		return;
	}
	conn = nb_conn_new(c, c->handlers, fd, &peer, now);
	if (!conn) {
		nb_fail(&err, NB_E_NOMEM, 0, "no memory for a connection");
		reject_peer(c, fd, &err);
		return;
	}
	pthread_mutex_lock(&c->fds_lock);
	c->conn_fd[c->nconn] = fd;
	c->conn_fd[NB_CONTROL_CONNS] = -1;
	pthread_mutex_unlock(&c->fds_lock);
	c->conn[c->nconn++] = conn;
}

static void accept_all(struct nb_control *c, uint64_t now)
{
	for (int i = 0; i < BACKLOG; i++) {
		int fd, error;

		pthread_mutex_lock(&c->fds_lock);
		fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		error = errno;
		c->conn_fd[NB_CONTROL_CONNS] = fd;
		pthread_mutex_unlock(&c->fds_lock);
		if (fd >= 0) {
			add_conn(c, fd, now);
			continue;
		}
		/*
		 * Out of descriptors or memory: stop accepting for a while,
		 * because the job needs them more.
		 */
		if (error != EAGAIN && error != EINTR && error != ECONNABORTED)
			c->deaf_until_ms = now + ACCEPT_PAUSE_MS;
		return;
	}
}

static int poll_timeout(const struct nb_control *c)
{
	int ms = nb_controllers_patience();

	for (unsigned i = 0; i < c->nconn; i++) {
		int one = nb_conn_patience(c->conn[i]);

		if (one < ms)
			ms = one;
	}
	return ms;
}

static void serve_once(struct nb_control *c)
{
	struct pollfd p[2 + NB_CONTROL_CONNS];
	unsigned n = c->nconn;
	uint64_t now = socket_now_ms();

	p[0] = (struct pollfd){ .fd = c->wake, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = now < c->deaf_until_ms ? -1 : c->listener, .events = POLLIN };
	for (unsigned i = 0; i < n; i++)
		p[2 + i] = (struct pollfd){ .fd = nb_conn_fd(c->conn[i]),
					    .events = nb_conn_events(c->conn[i]) };
	if (poll(p, 2 + n, poll_timeout(c)) < 0)
		for (unsigned i = 0; i < 2 + n; i++)
			p[i].revents = 0;
	if (p[0].revents) {
		uint64_t count;

		(void)!read(c->wake, &count, sizeof(count));
	}
	now = socket_now_ms();
	/*
	 * iterate from last to first, because removing a connection moves the
	 * last one into its place
	 */
	for (unsigned i = n; i-- > 0;)
		if (!nb_conn_tick(c->conn[i], p[2 + i].revents, now))
			drop_conn(c, i);
	if (p[1].revents)
		accept_all(c, now);
}

static int bind_here(struct nb_control *c, struct nb_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (!nb_jobdir_address(c->place, c->name, a.sun_path))
		return nb_fail(err, NB_E_IO, 0,
			       "control socket %s: the path has more than %d bytes", c->path,
			       NB_JOBDIR_SUN - 1);
	if (!bind(c->listener, (struct sockaddr *)&a, sizeof(a)))
		return 0;
	if (errno == EADDRINUSE) {
		if (nb_jobdir_served(c->place, c->name) == 1)
			return nb_fail(err, NB_E_BUSY, 0,
				       "control socket %s: "
				       "another copy of ncclbpf in this process serves it",
				       c->path);
		/* a dead process that had our PID left this socket */
		unlinkat(c->place->dirfd, c->name, 0);
		if (!bind(c->listener, (struct sockaddr *)&a, sizeof(a)))
			return 0;
	}
	return nb_fail(err, NB_E_IO, 0, "control socket %s: bind: %s", c->path, strerror(errno));
}

/* Create the listening socket, in c->listener. */
static int open_listener(struct nb_control *c, struct nb_err *err)
{
	struct stat st;
	int rc;

	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0)
		return nb_fail(err, NB_E_IO, 0, "control socket: %s", strerror(errno));
	/*
	 * fchmod before bind sets the mode of the socket file, so it is never
	 * wider; the process's umask may make it narrower
	 */
	if (fchmod(c->listener, 0600))
		return nb_fail(err, NB_E_IO, 0, "control socket: fchmod: %s", strerror(errno));
	rc = bind_here(c, err);
	if (rc)
		return rc;
	/*
	 * bind resolved the path again, so check that it is still the same
	 * directory
	 */
	if (fchmodat(c->place->dirfd, c->name, 0600, 0) ||
	    fstatat(c->place->dirfd, c->name, &st, AT_SYMLINK_NOFOLLOW) ||
	    listen(c->listener, BACKLOG)) {
		rc = nb_fail(err, NB_E_IO, 0, "control socket %s: %s", c->path, strerror(errno));
		unlinkat(c->place->dirfd, c->name, 0);
		return rc;
	}
	c->inode = st.st_ino;
	return 0;
}

static int open_socket(struct nb_control *c, struct nb_err *err)
{
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->wake < 0)
		return nb_fail(err, NB_E_IO, 0, "control socket: eventfd: %s", strerror(errno));
	return open_listener(c, err);
}

static bool socket_is_there(const struct nb_control *c)
{
	struct stat st;

	return !fstatat(c->place->dirfd, c->name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_ino == c->inode;
}

/*
 * If somebody has deleted the socket's file, or the directory with it, create
 * it again: clients find a process by it.
 */
static void restore_socket(struct nb_control *c)
{
	struct nb_err err = { .code = 0 };
	uint64_t now = socket_now_ms();
	int old = c->listener;

	if (socket_is_there(c) || now < c->retry_ms)
		return;
	c->retry_ms = now + RESTORE_MS;
	accept_all(c, now); /* serve the clients of the deleted socket, too */
	pthread_mutex_lock(&c->fds_lock);
	if (nb_jobdir_again(c->place, &err) || open_listener(c, &err)) {
		if (c->listener >= 0 && c->listener != old)
			close(c->listener);
		c->listener = old;
	} else {
		close(old);
	}
	pthread_mutex_unlock(&c->fds_lock);
	if (!err.code)
		nb_log(NB_LOG_WARN,
		       "control socket %s was deleted; "
		       "it has been created again",
		       c->path);
	else if (!c->restore_failed)
		nb_log_err("the control socket was deleted, "
			   "and cannot be created again",
			   &err);
	c->restore_failed = err.code != 0;
}

static void *serve_socket(void *arg)
{
	struct nb_control *c = arg;
	uint64_t ticked = 0;

	pthread_setname_np(pthread_self(), "ncclbpf");
	while (!atomic_load(&c->stop)) {
		serve_once(c);
		if (socket_now_ms() - ticked >= (uint64_t)nb_controllers_patience()) {
			restore_socket(c);
			c->tick();
			ticked = socket_now_ms();
		}
	}
	while (c->nconn)
		drop_conn(c, c->nconn - 1);
	return NULL;
}

static void remove_socket(const struct nb_control *c)
{
	if (c->inode && socket_is_there(c))
		unlinkat(c->place->dirfd, c->name, 0);
}

static int start_thread(struct nb_control *c, struct nb_err *err)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&c->thread, &attr, serve_socket, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc)
		return nb_fail(err, NB_E_IO, 0, "control thread: %s", strerror(rc));
	return 0;
}

static void close_all(struct nb_control *c)
{
	pthread_mutex_lock(&c->fds_lock);
	if (c->listener >= 0)
		close(c->listener);
	if (c->wake >= 0)
		close(c->wake);
	c->listener = c->wake = -1;
	pthread_mutex_unlock(&c->fds_lock);
}

int nb_control_start(struct nb_control **out, const struct nb_handler *handlers, nb_tick_fn *tick,
		     const struct nb_jobdir *place, struct nb_err *err)
{
	struct nb_control *c = calloc(1, sizeof(*c));
	const struct nb_jobdir_process self = { nb_pid_namespace(), getpid(), place->rank };
	int rc;

	*out = NULL;
	if (!c)
		return nb_fail(err, NB_E_NOMEM, 0, "control socket: no memory");
	c->handlers = handlers;
	c->tick = tick;
	c->place = place;
	c->pid = getpid();
	c->listener = c->wake = -1;
	pthread_mutex_init(&c->fds_lock, NULL);
	for (unsigned i = 0; i <= NB_CONTROL_CONNS; i++)
		c->conn_fd[i] = -1;
	nb_jobdir_name(place, &self, c->name);
	snprintf(c->path, sizeof(c->path), "%s/%s", place->dir, c->name);
	nb_jobdir_clean(place);
	rc = open_socket(c, err);
	if (!rc)
		rc = start_thread(c, err);
	if (rc) {
		remove_socket(c);
		close_all(c);
		free(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* Make the thread call the tick soon. */
static void wake_thread(struct nb_control *c)
{
	uint64_t one = 1;

	(void)!write(c->wake, &one, sizeof(one));
}

static void ask_to_end(struct nb_control *c)
{
	atomic_store(&c->stop, true);
	wake_thread(c);
}

void nb_control_abandon(struct nb_control *c)
{
	if (!c)
		return;
	close_all(c);
	free(c);
}

bool nb_control_quit(struct nb_control *c)
{
	uint64_t until = socket_now_ms() + QUIT_MS;
	int rc = 0;

	if (!c || c->pid != getpid())
		return true;
	ask_to_end(c);
	while ((rc = pthread_tryjoin_np(c->thread, NULL)) == EBUSY && socket_now_ms() < until)
		nb_clock_sleep(200000);
	remove_socket(c);
	return rc == 0;
}

void nb_control_fork_begin(struct nb_control *c)
{
	if (c)
		pthread_mutex_lock(&c->fds_lock);
}

void nb_control_fork_end(struct nb_control *c)
{
	if (c)
		pthread_mutex_unlock(&c->fds_lock);
}

void nb_control_forked(struct nb_control *c)
{
	if (!c)
		return;
	/* a child in a new PID namespace may have its parent's PID */
	c->pid = 0;
	close_all(c);
	for (unsigned i = 0; i <= NB_CONTROL_CONNS; i++)
		if (c->conn_fd[i] >= 0)
			close(c->conn_fd[i]);
}

const char *nb_control_path(const struct nb_control *c)
{
	return c->path;
}
