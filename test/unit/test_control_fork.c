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

static pthread_t application;
static sem_t dropped, forked;
static int null = -1, reused = -1;

static bool is_socket(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

/*
 * The control thread closes a connection: the application gets the number at
 * once, and forks, unless the fork has to wait for this thread.
 */
int __wrap_close(int fd)
{
	struct timespec end;
	int rc;

	if (null < 0 || pthread_equal(pthread_self(), application) || !is_socket(fd))
		return __real_close(fd);
	rc = __real_close(fd);
	reused = dup3(null, fd, O_CLOEXEC);
	sem_post(&dropped);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec++;
	while (sem_timedwait(&forked, &end) && errno == EINTR)
		;
	return rc;
}

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char reply[4096];

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", nb_process_socket());
	ck_assert(!connect(fd, (struct sockaddr *)&a, sizeof(a)));
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

UNIT_MAIN("control_fork")
