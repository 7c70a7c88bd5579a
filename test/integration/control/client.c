// SPDX-License-Identifier: MIT
// A client of the control protocol for tests, apart from the real one on
// purpose: sends what it is told, prints what comes.
//
//	client [-n] [-u UID] [-t SECONDS] SOCKET
//
// Lines of standard input are requests: sent, and one reply line printed.
// Without -n it says hello first and drops the answer. Directives:
//
//	!fd FILE       attach FILE, as a sealed memory file, to the next line
//	!unsealed FILE the same without seals     !plain FILE  the file itself
//	!send TEXT     send TEXT and a line feed, read nothing
//	!raw HEX       send these bytes           !fill N C  N times character C
//	!read [N]      print N lines (1)          !until TEXT  print until it
//	                                          occurs in a line
//	!savefd FILE   write the descriptor that came last to FILE
//	!sleep MS  !shut (no more sending)  !flood N TEXT (send N times, unread)
//	!die           end as by SIGKILL
//
// Prints "closed" when the other side has ended it, "timeout" when nothing
// comes. Exit status 0, 1 (could not connect), 2 (closed or timed out).
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BUF = 4 << 20 };

static int sock, attach = -1, received = -1, timeout_ms = 20000;
static char in[BUF];
static size_t nin;

static void quit(const char *why)
{
	printf("%s\n", why);
	fflush(stdout);
	exit(2);
}

static void send_bytes(const char *p, size_t n)
{
	while (n) {
		struct iovec v = { (char *)(size_t)p, n };
		union {
			struct cmsghdr h;
			char space[CMSG_SPACE(sizeof(int))];
		} u = { .space = { 0 } };
		struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
		ssize_t sent;

		if (attach >= 0) {
			m.msg_control = u.space;
			m.msg_controllen = sizeof(u.space);
			u.h.cmsg_level = SOL_SOCKET;
			u.h.cmsg_type = SCM_RIGHTS;
			u.h.cmsg_len = CMSG_LEN(sizeof(int));
			memcpy(CMSG_DATA(&u.h), &attach, sizeof(int));
		}
		sent = sendmsg(sock, &m, MSG_NOSIGNAL);
		if (sent < 0)
			return; /* the next read tells */
		if (attach >= 0)
			close(attach);
		attach = -1;
		p += sent;
		n -= (size_t)sent;
	}
}

static void send_line(const char *text)
{
	size_t n = strlen(text);
	char *line = malloc(n + 1);

	if (!line)
		exit(1);
	memcpy(line, text, n);
	line[n] = '\n';
	send_bytes(line, n + 1);
	free(line);
}

static void fill(void)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec v = { in + nin, sizeof(in) - nin };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = u.space,
			    .msg_controllen = sizeof(u.space) };
	ssize_t n;

	if (poll(&p, 1, timeout_ms) == 0)
		quit("timeout");
	n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		quit("closed");
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		if (h->cmsg_type == SCM_RIGHTS) {
			if (received >= 0)
				close(received);
			memcpy(&received, CMSG_DATA(h), sizeof(int));
		}
	nin += (size_t)n;
}

/* The next line to @line, without its line feed. */
static char *read_line(void)
{
	static char line[BUF];
	char *lf;
	size_t n;

	while (!(lf = memchr(in, '\n', nin)))
		fill();
	n = (size_t)(lf - in);
	memcpy(line, in, n);
	line[n] = '\0';
	nin -= n + 1;
	memmove(in, lf + 1, nin);
	return line;
}

static void attach_file(const char *path, bool seal)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t n;

	attach = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		if (write(attach, bytes, (size_t)n) != n)
			exit(1);
	if (fd < 0 || attach < 0) {
		fprintf(stderr, "client: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	close(fd);
	if (seal && fcntl(attach, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		exit(1);
}

static void save_fd(const char *path)
{
	FILE *f = fopen(path, "wb");
	char bytes[4096];
	off_t at = 0;
	ssize_t n;

	if (!f || received < 0)
		quit("no descriptor came");
	while ((n = pread(received, bytes, sizeof(bytes), at)) > 0) {
		fwrite(bytes, 1, (size_t)n, f);
		at += n;
	}
	fclose(f);
}

static void send_hex(const char *hex)
{
	size_t n = strlen(hex) / 2;
	char *p = malloc(n + 1);

	for (size_t i = 0; p && i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		p[i] = (char)strtoul(two, NULL, 16);
	}
	if (p)
		send_bytes(p, n);
	free(p);
}

static void send_fill(const char *args)
{
	char *end, *p;
	size_t n = strtoul(args, &end, 10);

	p = malloc(n + 1);
	if (!p)
		exit(1);
	memset(p, end[0] == ' ' ? end[1] : 'x', n);
	send_bytes(p, n);
	free(p);
}

static void flood(const char *args)
{
	char *text;
	long n = strtol(args, &text, 10);

	fcntl(sock, F_SETFL, O_NONBLOCK);
	while (n-- > 0)
		send_line(text + (*text == ' '));
	fcntl(sock, F_SETFL, 0);
}

static void until(const char *text)
{
	const char *line;

	do {
		line = read_line();
		puts(line);
		fflush(stdout);
	} while (!strstr(line, text));
}

static void directive(char *line)
{
	char *arg = strchr(line, ' ');
	const char *none = "";

	if (arg)
		*arg++ = '\0';
	const char *a = arg ? arg : none;

	if (!strcmp(line, "!fd")) {
		attach_file(a, true);
	} else if (!strcmp(line, "!unsealed")) {
		attach_file(a, false);
	} else if (!strcmp(line, "!plain")) {
		attach = open(a, O_RDONLY | O_CLOEXEC);
	} else if (!strcmp(line, "!send")) {
		send_line(a);
	} else if (!strcmp(line, "!raw")) {
		send_hex(a);
	} else if (!strcmp(line, "!fill")) {
		send_fill(a);
	} else if (!strcmp(line, "!read")) {
		for (long n = *a ? strtol(a, NULL, 10) : 1; n > 0; n--)
			puts(read_line());
	} else if (!strcmp(line, "!until")) {
		until(a);
	} else if (!strcmp(line, "!savefd")) {
		save_fd(a);
	} else if (!strcmp(line, "!sleep")) {
		usleep((useconds_t)strtoul(a, NULL, 10) * 1000);
	} else if (!strcmp(line, "!die")) {
		raise(SIGKILL);
	} else if (!strcmp(line, "!shut")) {
		shutdown(sock, SHUT_WR);
	} else if (!strcmp(line, "!flood")) {
		flood(a);
	} else {
		fprintf(stderr, "client: %s?\n", line);
		exit(1);
	}
	fflush(stdout);
}

static void connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a))) {
		fprintf(stderr, "client: %s: %s\n", path, strerror(errno));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	bool hello = true;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int o;

	while ((o = getopt(argc, argv, "nu:t:")) != -1) {
		if (o == 'n')
			hello = false;
		else if (o == 't')
			timeout_ms = atoi(optarg) * 1000;
		else if (o != 'u' || setgid((gid_t)atoi(optarg)) || setuid((uid_t)atoi(optarg)))
			return 64;
	}
	if (optind >= argc)
		return 64;
	signal(SIGPIPE, SIG_IGN);
	connect_to(argv[optind]);
	if (hello) {
		send_line("hello 1");
		read_line();
	}
	while ((n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (line[0] == '!') {
			directive(line);
			continue;
		}
		send_line(line);
		puts(read_line());
		fflush(stdout);
	}
	free(line);
	return 0;
}
