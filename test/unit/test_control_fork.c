// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A process forks while the control thread drops a connection. The number of
// its descriptor may already be a file of the application, which the child
// must keep; what the plugin has open the child must not keep.
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugin/control/socket.h"
#include "plugin/process/process.h"

int __real_close(int fd);
int __wrap_close(int fd);

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

static pthread_t application;
static sem_t dropped, forked;
static bool stop_at_accept;
static int null = -1, reused = -1;

static bool is_socket(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

/* The application forks now, unless the fork has to wait for this thread. */
static void let_it_fork(void)
{
	struct timespec end;

	sem_post(&dropped);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec++;
	while (sem_timedwait(&forked, &end) && errno == EINTR)
		;
}

/* The control thread closes a connection: the application gets the number at once. */
int __wrap_close(int fd)
{
	int rc;

	if (null < 0 || pthread_equal(pthread_self(), application) || !is_socket(fd))
		return __real_close(fd);
	rc = __real_close(fd);
	reused = dup3(null, fd, O_CLOEXEC);
	let_it_fork();
	return rc;
}

/* The control thread has a connection that is not in its list yet. */
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	int conn = __real_accept4(fd, address, size, flags);

	if (conn >= 0 && __atomic_load_n(&stop_at_accept, __ATOMIC_SEQ_CST))
		let_it_fork();
	return conn;
}

static int ring(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", nb_process_socket());
	ck_assert(!connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

static int dial(void)
{
	int fd = ring();
	char reply[4096];

	ck_assert_int_eq(send(fd, "hello 1\n", 8, MSG_NOSIGNAL), 8);
	ck_assert_int_gt(recv(fd, reply, sizeof(reply), 0), 0);
	return fd;
}

/* Of a child's @body, its exit status. */
static int in_child(int (*body)(int), int arg)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(body(arg));
	sem_post(&forked);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int is_lost(int fd)
{
	return fcntl(fd, F_GETFD) < 0;
}

static int other_sockets(int client)
{
	int n = 0;

	for (int fd = 3; fd < 256; fd++)
		n += fd != client && is_socket(fd);
	return n;
}

static char dir[] = "/tmp/nbforkXXXXXX";

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	ck_assert(nb_process_ready(NULL));
	application = pthread_self();
	sem_init(&dropped, 0, 0);
	sem_init(&forked, 0, 0);
}

static void tear_down(void)
{
	char command[64];

	null = -1;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

TEST(child_keeps_a_reused_descriptor)
{
	set_up();
	int client = dial();

	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(client);
	while (sem_wait(&dropped) && errno == EINTR)
		;
	ck_assert_int_eq(in_child(is_lost, reused), 0);
	tear_down();
}

TEST(child_keeps_no_connection)
{
	set_up();
	int client = dial();

	ck_assert_int_ge(other_sockets(client), 2);
	ck_assert_int_eq(in_child(other_sockets, client), 0);
	close(client);
	tear_down();
}

TEST(child_keeps_no_connection_that_is_being_accepted)
{
	int client;

	set_up();
	__atomic_store_n(&stop_at_accept, true, __ATOMIC_SEQ_CST);
	client = ring();
	while (sem_wait(&dropped) && errno == EINTR)
		;
	ck_assert_int_eq(in_child(other_sockets, client), 0);
	close(client);
	tear_down();
}

UNIT_MAIN("control_fork")
