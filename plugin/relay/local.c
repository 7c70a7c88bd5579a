// SPDX-License-Identifier: MIT
/*
 * A client of control sockets. It finds sockets by name in the job directory,
 * connects, sends lines and perhaps an object in a sealed memory file, and reads
 * the replies' lines and objects.
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/job/wire/object.h"
#include "plugin/runtime/clock.h"

enum { SEND_MS = 5000, MAX_LINE = (1 << 20) + 1 };

int nb_local_each(const struct nb_jobdir *place, nb_local_each_fn *fn, void *arg,
		  struct nb_err *err)
{
	int fd = openat(place->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct nb_jobdir_process of;
	const struct dirent *e;

	if (!d) {
		nb_fail(err, NB_E_IO, 0, "job directory %s: %s", place->dir, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NB_E_IO;
	}
	while ((e = readdir(d)))
		if (nb_jobdir_parse(place, e->d_name, &of) && !fn(arg, e->d_name, &of))
			break;
	closedir(d);
	return 0;
}

/* The search for the socket of a process. */
struct find {
	const struct nb_jobdir *place;
	const struct nb_local_id *who;
	char name[NB_JOBDIR_NAME];
	unsigned n; /* number of sockets that fit */
};

static bool find_one(void *arg, const char *name, const struct nb_jobdir_process *of)
{
	struct find *f = arg;

	if (of->pid == f->who->pid &&
	    (f->who->ns ? of->ns == f->who->ns : nb_jobdir_served(f->place, name) == 1)) {
		snprintf(f->name, sizeof(f->name), "%s", name);
		f->n++;
	}
	return true;
}

/*
 * Find the name of the socket of the process with @who's namespace and PID.
 * It fails if there is none, or if several namespaces have that PID and @who
 * names none.
 */
static int find_name(struct find *f, struct nb_err *err)
{
	int rc = nb_local_each(f->place, find_one, f, err);

	if (rc || f->n == 1)
		return rc;
	if (!f->n)
		return nb_fail(err, NB_E_NOTARGET, 0,
			       "no process of job %s has PID %d on this site", f->place->job,
			       f->who->pid);
	return nb_fail(err, NB_E_NOTARGET, 0,
		       "%u processes of job %s have PID %d on this site, in PID namespaces "
		       "of their own: name one by pid=NAMESPACE.PID",
		       f->n, f->place->job, f->who->pid);
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

int nb_local_send(struct nb_local *l, const char *line, size_t size, int fd, struct nb_err *err)
{
	while (size) {
		ssize_t n = nb_wire_send(l->fd, line, size, fd);

		if (n > 0) {
			line += n;
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
				       "the process closed its control socket: has it ended?");
		if (!rc && wait_for(l->fd, POLLIN, left_ms(until)) <= 0)
			return 0;
	}
}

void nb_local_drop(struct nb_local *l, size_t size)
{
	memmove(l->in.data, l->in.data + size, l->in.size - size);
	l->in.size -= size;
}

int nb_local_object(struct nb_local *l, void **bytes, size_t *size, size_t most, struct nb_err *err)
{
	struct stat st;

	*bytes = NULL;
	*size = 0;
	if (l->object < 0)
		return 0;
	if (fstat(l->object, &st) || st.st_size < 0 || (size_t)st.st_size > most)
		return nb_fail(err, NB_E_PROTOCOL, 0,
			       "the size of the object sent with the reply is unknown or above "
			       "%zu bytes",
			       most);
	*bytes = malloc((size_t)st.st_size + 1);
	if (!*bytes)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for an object");
	if (pread(l->object, *bytes, (size_t)st.st_size, 0) != st.st_size) {
		free(*bytes);
		*bytes = NULL;
		return nb_fail(err, NB_E_PROTOCOL, 0,
			       "the object beside the reply cannot be read whole");
	}
	*size = (size_t)st.st_size;
	close(l->object);
	l->object = -1;
	return 0;
}

int nb_local_connect(struct nb_local *l, const struct nb_jobdir *place, const char *name,
		     uint64_t until, struct nb_err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int rc;

	l->fd = l->object = -1;
	nb_buf_init(&l->in, 4 << 20);
	snprintf(l->name, sizeof(l->name), "%s", name);
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
	if (rc && errno == EAGAIN)
		return nb_fail(err, NB_E_TIMEOUT, 0,
			       "control socket %s accepts no connection: is the process stopped?",
			       name);
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
	struct find f = { .place = place, .who = who };
	int rc;

	l->fd = l->object = -1;
	rc = find_name(&f, err);
	if (!rc)
		rc = nb_local_connect(l, place, f.name, until, err);
	return rc ? rc : nb_local_send(l, hello, sizeof(hello) - 1, -1, err);
}

int nb_local_greeted(struct nb_local *l, uint64_t until, struct nb_err *err)
{
	size_t size = 0;
	int rc = nb_local_line(l, until, &size, err);

	if (rc <= 0)
		return rc;
	if (!memmem(l->in.data, size, "\"ok\":true", 9))
		return nb_fail(err, NB_E_PROTOCOL, 0, "the process refused hello: %.*s",
			       (int)(size > 200 ? 200 : size - 1), l->in.data);
	nb_local_drop(l, size);
	return 1;
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
