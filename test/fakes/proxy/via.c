// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: IPv4 connections of a program go to port VIA_PORT of the same
 * address, where a proxy is (proxy.py), except those to the ports of
 * VIA_DIRECT (with commas).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int is_direct(int port)
{
	const char *p = getenv("VIA_DIRECT");

	while (p && *p) {
		if (atoi(p) == port)
			return 1;
		p += strcspn(p, ",");
		p += *p == ',';
	}
	return 0;
}

int connect(int fd, const struct sockaddr *to, socklen_t size)
{
	int (*real)(int, const struct sockaddr *, socklen_t) =
		(int (*)(int, const struct sockaddr *, socklen_t))dlsym(
			RTLD_NEXT, "connect");
	const char *via = getenv("VIA_PORT");
	struct sockaddr_in other;

	if (!via || to->sa_family != AF_INET || size < sizeof(other))
		return real(fd, to, size);
	memcpy(&other, to, sizeof(other));
	if (!is_direct(ntohs(other.sin_port)))
		other.sin_port = htons((uint16_t)atoi(via));
	return real(fd, (struct sockaddr *)&other, sizeof(other));
}
