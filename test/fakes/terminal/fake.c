// SPDX-License-Identifier: MIT
// A target that does not keep to the protocol, for tests of the shell:
//
//	fake MODE SOCKET
//
// It listens, prints "ready", serves connections one after the other until
// it is killed. MODE says how it answers after a proper hello (or, where
// stated, instead of one).
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void put(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t k = send(fd, text, n, MSG_NOSIGNAL);

		if (k <= 0)
			return;
		text += k;
		n -= (size_t)k;
	}
}

static void hello(int fd, long id)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"id\":%ld,\"ok\":true,\"data\":{\"protocol\":1,\"version\":"
		 "\"0.1.0\",\"pid\":%d,\"uid\":%d,\"host\":\"fake\",\"job\":"
		 "\"fake\",\"rank\":0,\"role\":\"control\",\"tuner_abi\":5,"
		 "\"future\":{\"a\":[1,null]}}}\n",
		 id, getpid(), getuid());
	put(fd, text);
}

/* 1.5 MiB without a newline */
static void flood(int fd)
{
	static char block[65536];

	memset(block, 'x', sizeof(block) - 1);
	for (int i = 0; i < 24; i++)
		put(fd, block);
	put(fd, "\n");
}

static void deep(int fd, long id)
{
	char head[64];

	snprintf(head, sizeof(head), "{\"id\":%ld,\"ok\":true,\"data\":", id);
	put(fd, head);
	for (int i = 0; i < 5000; i++)
		put(fd, "[");
	for (int i = 0; i < 5000; i++)
		put(fd, "]");
	put(fd, "}\n");
}

static void reply(int fd, long id, const char *body)
{
	char text[2000];

	snprintf(text, sizeof(text), "{\"id\":%ld,%s}\n", id, body);
	put(fd, text);
}

/* One byte at a time, with pauses that add up to half a second. */
static void dribble(int fd, long id)
{
	char text[200];

	snprintf(text, sizeof(text), "{\"id\":%ld,\"ok\":true,\"data\":{\"comms\":[]}}\n", id);
	for (size_t i = 0; text[i]; i++) {
		char one[2] = { text[i], 0 };

		put(fd, one);
		usleep(10000);
	}
}

/* What the mode does with a request; false: close the connection. */
static bool answer(const char *mode, int fd, long id)
{
	if (!strcmp(mode, "garbage"))
		put(fd, "\x01\xff\xfe not json\n");
	else if (!strcmp(mode, "number"))
		put(fd, "42\n");
	else if (!strcmp(mode, "flood"))
		flood(fd);
	else if (!strcmp(mode, "deep"))
		deep(fd, id);
	else if (!strcmp(mode, "silent"))
		return true;
	else if (!strcmp(mode, "close"))
		return false;
	else if (!strcmp(mode, "half")) {
		put(fd, "{\"id\":2,\"ok\":tr");
		return false;
	} else if (!strcmp(mode, "otherid"))
		reply(fd, id + 1000, "\"ok\":true,\"data\":{}");
	else if (!strcmp(mode, "noerror"))
		reply(fd, id, "\"ok\":false");
	else if (!strcmp(mode, "badcode"))
		reply(fd, id, "\"ok\":false,\"error\":{\"code\":7,\"message\":[]}");
	else if (!strcmp(mode, "escape"))
		reply(fd, id,
		      "\"ok\":true,\"data\":{\"comms\":[{\"comm\":"
		      "\"\\u001b[2Jred\",\"ranks\":-1}]}");
	else if (!strcmp(mode, "types"))
		reply(fd, id,
		      "\"ok\":true,\"data\":{\"comms\":7,\"policies\":\"x\","
		      "\"maps\":{},\"table\":null,\"counters\":[1]}");
	else if (!strcmp(mode, "dribble"))
		dribble(fd, id);
	else
		reply(fd, id, "\"ok\":true,\"data\":{}");
	return true;
}

static void serve(const char *mode, int fd)
{
	FILE *in = fdopen(fd, "r");
	static char line[70000];

	while (in && fgets(line, sizeof(line), in)) {
		long id = line[0] == '@' ? atol(line + 1) : -1;
		bool greeting = strstr(line, "hello") != NULL;

		if (greeting && !strcmp(mode, "version"))
			reply(fd, id,
			      "\"ok\":false,\"error\":{\"code\":\"version_"
			      "mismatch\",\"message\":\"protocol version 1 is "
			      "asked for, this process speaks 2\",\"hint\":"
			      "\"update the shell\"}");
		else if (greeting && !strcmp(mode, "mute"))
			continue;
		else if (greeting)
			hello(fd, id);
		else if (!answer(mode, fd, id))
			break;
	}
	if (in)
		fclose(in);
}

int main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (argc != 3 || strlen(argv[2]) >= sizeof(to.sun_path))
		return 2;
	strcpy(to.sun_path, argv[2]);
	unlink(argv[2]);
	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) || listen(fd, 8)) {
		perror("fake");
		return 1;
	}
	alarm(300);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int c = accept(fd, NULL, NULL);

		if (c >= 0)
			serve(argv[1], c);
	}
}
