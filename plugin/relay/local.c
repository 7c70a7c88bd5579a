// SPDX-License-Identifier: MIT
/*
 * A client of control sockets. It finds sockets by name in the job directory,
 * connects, says hello, sends a line and perhaps an object in a sealed memory
 * file, and reads the reply's lines.
 */
#include "plugin/relay/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/job/wire/object.h"
#include "plugin/runtime/clock.h"

enum { SEND_MS = 5000, MAX_LINE = (1 << 20) + 1 };

static DIR *open_dir(const struct nb_jobdir *place, struct nb_err *err)
{
	int fd = openat(place->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d) {
		nb_fail(err, NB_E_IO, 0, "job directory %s: %s", place->dir, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	return d;
}

int nb_local_list(const struct nb_jobdir *place, struct nb_json *j, struct nb_err *err)
{
	DIR *d = open_dir(place, err);
	const struct dirent *e;
	struct nb_jobdir_process of;

	if (!d)
		return NB_E_IO;
	while ((e = readdir(d))) {
		if (!nb_jobdir_parse(place, e->d_name, &of) ||
		    nb_jobdir_served(place, e->d_name) != 1)
			continue;
		nb_json_obj(j);
		nb_json_key(j, "rank");
		if (of.rank >= 0)
			nb_json_i64(j, of.rank);
		else
			nb_json_null(j);
		nb_json_ki64(j, "pid", of.pid);
		nb_json_ku64(j, "ns", of.ns);
		nb_json_end_obj(j);
	}
	closedir(d);
	return 0;
}

/*
 * Find the name of the socket of the process with @who's namespace and PID.
 * Returns false if there is none, or if several namespaces have that PID and
 * @who names none.
 */
static bool find_name(const struct nb_jobdir *place, const struct nb_local_id *who, char name[256],
		      struct nb_err *err)
{
	DIR *d = open_dir(place, err);
	struct nb_jobdir_process of;
	const struct dirent *e;
	unsigned n = 0;

	if (!d)
		return false;
	while ((e = readdir(d)))
		if (nb_jobdir_parse(place, e->d_name, &of) && of.pid == who->pid &&
		    (who->ns ? of.ns == who->ns : nb_jobdir_served(place, e->d_name) == 1)) {
			snprintf(name, 256, "%s", e->d_name);
			n++;
		}
	closedir(d);
	if (!n)
		nb_fail(err, NB_E_NOTARGET, 0, "no process of job %s has PID %d on this site",
			place->job, who->pid);
	else if (n > 1)
		nb_fail(err, NB_E_NOTARGET, 0,
			"%u processes of job %s have PID %d on this site, in PID namespaces "
			"of their own: name one by pid=NAMESPACE.PID",
			n, place->job, who->pid);
	return n == 1;
}

uint64_t nb_local_until(int ms)
{
	return nb_clock_system() + (uint64_t)ms * 1000000;
}

static int left_ms(uint64_t until)
{
	uint64_t now = nb_clock_system();

	return now < until ? (int)((until - now) / 1000000) + 1 : 0;
}

static int wait_for(int fd, short events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int rc;

	do
		rc = poll(&p, 1, ms);
	while (rc < 0 && errno == EINTR);
	return rc;
}

static int send_all(struct nb_local *l, const char *p, size_t size, int fd, struct nb_err *err)
{
	while (size) {
		ssize_t n = nb_wire_send(l->fd, p, size, fd);

		if (n > 0) {
			p += n;
			size -= (size_t)n;
			/*
			 * the kernel sends the descriptor with the first byte
			 */
			fd = -1;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return nb_fail(err, NB_E_NOTARGET, 0,
				       "the process closed its control socket: %s",
				       strerror(errno));
		if (wait_for(l->fd, POLLOUT, SEND_MS) <= 0)
			return nb_fail(err, NB_E_TIMEOUT, 0,
				       "the process does not read its control socket");
	}
	return 0;
}

int nb_local_send(struct nb_local *l, const char *line, size_t size, const void *object,
		  size_t object_size, struct nb_err *err)
{
	int fd = -1, rc;

	if (object_size) {
		fd = nb_wire_object_file(object, object_size);
		if (fd < 0)
			return nb_fail(err, NB_E_IO, 0, "memory file: %s", strerror(errno));
	}
	rc = send_all(l, line, size, fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Receive bytes. Returns 1 if more were read, 0 if there are none now, -1 if
 * the connection is closed.
 */
static int receive(struct nb_local *l)
{
	ssize_t n;

	if (!nb_buf_reserve(&l->in, 65536))
		return -1;
	n = nb_wire_receive(l->fd, l->in.data + l->in.size, 65536, &l->object);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	l->in.size += (size_t)n;
	return n ? 1 : -1;
}

int nb_local_line(struct nb_local *l, uint64_t until, size_t *size, struct nb_err *err)
{
	for (;;) {
		const char *lf = l->in.size ? memchr(l->in.data, '\n', l->in.size) : NULL;
		int rc;

		if (lf) {
			*size = (size_t)(lf - l->in.data) + 1;
			return 1;
		}
		if (l->in.size > MAX_LINE)
			return nb_fail(err, NB_E_PROTOCOL, 0,
				       "the process sent a line of more than %d bytes", MAX_LINE);
		rc = receive(l);
		if (rc < 0)
			return nb_fail(err, NB_E_NOTARGET, 0,
				       "the process closed its control socket");
		if (!rc && wait_for(l->fd, POLLIN, left_ms(until)) <= 0)
			return 0;
	}
}

void nb_local_drop(struct nb_local *l, size_t size)
{
	memmove(l->in.data, l->in.data + size, l->in.size - size);
	l->in.size -= size;
}

static int connect_name(struct nb_local *l, const struct nb_jobdir *place, const char *name,
			uint64_t until, struct nb_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int rc;

	if (!nb_jobdir_address(place, name, a.sun_path))
		return nb_fail(err, NB_E_IO, 0, "control socket %s/%s: the path is too long",
			       place->dir, name);
	l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return nb_fail(err, NB_E_IO, 0, "no socket: %s", strerror(errno));
	/* EAGAIN: the backlog of the process is full */
	while ((rc = connect(l->fd, (struct sockaddr *)&a, sizeof(a))) && errno == EAGAIN &&
	       left_ms(until))
		nb_clock_sleep(10000000);
	if (rc)
		return nb_fail(err, NB_E_NOTARGET, 0, "control socket %s: %s", name,
			       strerror(errno));
	return 0;
}

const char *nb_local_id_parse(struct nb_local_id *out, const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 10);

	*out = (struct nb_local_id){ 0, 0 };
	if (end == text)
		return text;
	if (*end == '.') {
		out->ns = n;
		text = end + 1;
		n = strtoull(text, &end, 10);
	}
	out->pid = n <= INT_MAX ? (int)n : 0;
	return end;
}

int nb_local_begin(struct nb_local *l, const struct nb_jobdir *place, const struct nb_local_id *who,
		   uint64_t until, struct nb_err *err)
{
	static const char hello[] = "hello 1\n";
	char name[256] = "";
	int rc;

	l->fd = l->object = -1;
	nb_buf_init(&l->in, 4 << 20);
	if (!find_name(place, who, name, err))
		return NB_E_NOTARGET;
	rc = connect_name(l, place, name, until, err);
	return rc ? rc : nb_local_send(l, hello, sizeof(hello) - 1, NULL, 0, err);
}

int nb_local_greeted(struct nb_local *l, uint64_t until, struct nb_err *err)
{
	size_t size = 0;
	int rc = nb_local_line(l, until, &size, err);

	if (!rc)
		return nb_fail(err, NB_E_TIMEOUT, 0,
			       "the process did not answer hello within %d ms: it may be stopped",
			       NB_LOCAL_HELLO_MS);
	if (rc < 0)
		return rc;
	if (!memmem(l->in.data, size, "\"ok\":true", 9))
		return nb_fail(err, NB_E_PROTOCOL, 0, "the process refused hello: %.*s",
			       (int)(size > 200 ? 200 : size - 1), l->in.data);
	nb_local_drop(l, size);
	return 0;
}

void nb_local_close(struct nb_local *l)
{
	if (l->fd >= 0)
		close(l->fd);
	if (l->object >= 0)
		close(l->object);
	l->fd = l->object = -1;
	nb_buf_fini(&l->in);
}
