// SPDX-License-Identifier: MIT
// Clients that hammer one control socket: stress SOCKET SECONDS CLIENTS SEED.
//
// Each asks for everything there is, changes policies and maps, sends lines
// damaged byte by byte, leaves in the middle of a line, and comes back. What
// must hold: every whole line sent on a connection is answered by one line of
// JSON with an id member, streams aside, and the socket goes on accepting.
// Prints "requests N errors N connections N"; exit status 1 when it does not
// hold.
#include <pthread.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 12, LINE = 70000, REPLY = 1 << 20, WAIT_MS = 300000 };

static const char *const requests[] = {
	"status",
	"doctor",
	"help",
	"help policy",
	"policy list",
	"policy dump choice limit=20",
	"policy dump big",
	"policy export ring",
	"policy use ring",
	"policy use choice tables",
	"policy use tree",
	"policy use none",
	"policy use ring commit=no",
	"policy add tables position=first",
	"policy move ring position=last",
	"policy remove ring",
	"policy undo",
	"policy unload big",
	"policy load ring",
	"map list",
	"map show choice",
	"map dump tables/wide limit=50",
	"map dump hits",
	"map get choice 00000000",
	"map set choice 00000000 0200000003000000",
	"map set tables/by_size 0000000000000001 0000000000000002",
	"map remove tables/by_size 0000000000000001",
	"map set hits 00000000 0000000000000000 01000000 0000000000000000",
	"change status",
	"change abort "
	"0000000000000000000000000000000000000000000000000000000000000000",
	"comm list",
	"comm show ab00000000000000",
	"explain allreduce 8M",
	"explain allgather 1K comm=ab00000000000000",
	"decision tail",
	"decision tail count=500",
	"trace tail count=100",
	"cancel 99",
	"nonsense here",
	"hello 1",
};

enum { NREQUESTS = sizeof(requests) / sizeof(requests[0]) };

static struct {
	const char *path;
	uint64_t end_ms, seed;
} opt;

static uint64_t asked, refused, connections, bad;

#define ADD(x) __atomic_add_fetch(&(x), 1, __ATOMIC_RELAXED)

struct client {
	int fd;
	uint64_t rnd;
	char *line, *reply;
	size_t have; /* of reply */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t rnd(struct client *c)
{
	c->rnd ^= c->rnd << 13;
	c->rnd ^= c->rnd >> 7;
	c->rnd ^= c->rnd << 17;
	return c->rnd;
}

static void complain(const char *what, const char *text)
{
	ADD(bad);
	fprintf(stderr, "stress: %s: %.300s\n", what, text);
}

static bool say(struct client *c, const char *p, size_t n)
{
	while (n) {
		ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		p += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* One reply line; false when the connection is closed. */
static bool hear(struct client *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	char *lf;
	ssize_t n;

	while (!(lf = memchr(c->reply, '\n', c->have))) {
		if (c->have == REPLY) {
			complain("a reply above 1 MiB", c->reply);
			return false;
		}
		if (poll(&p, 1, WAIT_MS) == 0) {
			complain("no reply in time to", c->line);
			return false;
		}
		n = recv(c->fd, c->reply + c->have, REPLY - c->have, 0);
		if (n <= 0)
			return false;
		c->have += (size_t)n;
	}
	*lf = '\0';
	if (strncmp(c->reply, "{\"id\":", 6) != 0 || lf[-1] != '}')
		complain("no reply", c->reply);
	if (strstr(c->reply, "\"ok\":false"))
		ADD(refused);
	c->have -= (size_t)(lf + 1 - c->reply);
	memmove(c->reply, lf + 1, c->have);
	return true;
}

static bool dial(struct client *c)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	c->have = 0;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", opt.path);
	if (connect(c->fd, (struct sockaddr *)&a, sizeof(a))) {
		complain("cannot connect", opt.path);
		close(c->fd);
		return false;
	}
	ADD(connections);
	snprintf(c->line, LINE, "hello 1");
	if (say(c, "hello 1\n", 8) && hear(c))
		return true;
	close(c->fd);
	return false;
}

/* A request, often with bytes changed, now and then very long. */
static size_t compose(struct client *c)
{
	const char *r = requests[rnd(c) % NREQUESTS];
	size_t n;

	n = (size_t)snprintf(c->line, LINE, "@%u %s", (unsigned)rnd(c) % 1000, r);
	if (rnd(c) % 4 == 0)
		for (uint64_t k = 1 + rnd(c) % 4; k; k--)
			c->line[rnd(c) % n] = (char)rnd(c);
	if (rnd(c) % 64 == 0)
		while (n < 60000)
			c->line[n++] = (char)(rnd(c) % 3 ? 'a' : ' ');
	for (size_t i = 0; i < n; i++)
		if (c->line[i] == '\n')
			c->line[i] = ' ';
	c->line[n++] = '\n';
	return n;
}

static void *client_main(void *arg)
{
	struct client c = { .rnd = opt.seed * 977 + (uint64_t)(size_t)arg + 1 };
	bool up = false;

	c.line = malloc(LINE);
	c.reply = malloc(REPLY + 1);
	if (!c.line || !c.reply)
		exit(70);
	while (now_ms() < opt.end_ms && !bad) {
		size_t n;

		if (!up && !(up = dial(&c))) {
			usleep(10000);
			continue;
		}
		n = compose(&c);
		if (rnd(&c) % 100 == 0) { /* gone in mid-line */
			say(&c, c.line, n / 2);
			close(c.fd);
			up = false;
			continue;
		}
		ADD(asked);
		if (!say(&c, c.line, n) || !hear(&c)) {
			complain("closed after", c.line);
			close(c.fd);
			up = false;
		}
	}
	if (up)
		close(c.fd);
	free(c.line);
	free(c.reply);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[CLIENTS];
	int n;

	if (argc != 5)
		return 64;
	opt.path = argv[1];
	opt.end_ms = now_ms() + (uint64_t)atoi(argv[2]) * 1000;
	n = atoi(argv[3]);
	opt.seed = strtoull(argv[4], NULL, 0);
	if (n < 1 || n > CLIENTS)
		return 64;
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, client_main, (void *)i))
			return 70;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("requests %llu errors %llu connections %llu\n", (unsigned long long)asked,
	       (unsigned long long)refused, (unsigned long long)connections);
	return bad || !asked ? 1 : 0;
}
