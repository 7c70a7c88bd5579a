// SPDX-License-Identifier: MIT
// Any bytes as a peer's stream to our GIN transport, in pieces: nothing outside
// the registered memory is written, numbers in a header are checked before they
// are used, and an offence ends the connection. The magic and the sequence are
// put right in half of the headers, so that what is behind them is reached.
#undef NDEBUG /* the release build has these checks too */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/gin/tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WINDOW = 4096, SIGNALS = 8, MOST = 4096 };

static struct nb_gin_tcp *coll_new(int fd)
{
	struct nb_gin_tcp *c = calloc(1, sizeof(*c));

	assert(c);
	c->nranks = 2;
	c->rank = 1;
	c->epoll = -1;
	nb_gin_regions_init(&c->regions);
	c->peer = calloc(2, sizeof(*c->peer));
	assert(c->peer);
	for (uint32_t r = 0; r < 2; r++) {
		c->peer[r].fd = r ? -1 : fd;
		c->peer[r].rank = r;
		c->peer[r].offence = -1;
		c->peer[r].addr.any.sa_family = AF_INET;
		c->peer[r].announced = 3;
	}
	return c;
}

/* Make headers right where the first byte says so. */
static void mend(uint8_t *bytes, size_t size)
{
	uint32_t number = 0;

	for (size_t at = 0; at + sizeof(struct nb_gin_head) <= size;) {
		struct nb_gin_head h;

		memcpy(&h, bytes + at, sizeof(h));
		h.magic = NB_GIN_MAGIC;
		h.number = number++;
		h.zero = 0;
		h.size %= WINDOW;
		memcpy(bytes + at, &h, sizeof(h));
		at += sizeof(h);
		if (h.kind == NB_GIN_PUT || h.kind == NB_GIN_SIGNAL)
			at += h.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* allocations of their own: a sanitizer sees an overrun */
	char *window = calloc(1, WINDOW);
	uint64_t *signals = calloc(SIGNALS, sizeof(*signals));
	struct nb_gin_memory m[] = {
		{ .data = signals, .size = SIGNALS * sizeof(*signals) },
		{ .data = window, .size = WINDOW },
		{ .data = window, .size = 16 },
	};
	uint8_t bytes[MOST];
	struct nb_gin_tcp *c;
	void *handle;
	int fd[2];

	if (size > MOST)
		size = MOST;
	if (size)
		memcpy(bytes, data, size);
	if (size && data[0] & 1)
		mend(bytes, size);
	assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	c = coll_new(fd[0]);
	for (int i = 0; i < 3; i++)
		assert(!nb_gin_regions_add(&c->regions, &m[i], &handle));
	assert(!nb_gin_regions_remove(&c->regions, handle));
	for (size_t at = 0; at < size && c->peer[0].fd >= 0;) {
		size_t n = 1 + (size_t)bytes[at] * 3;

		if (n > size - at)
			n = size - at;
		if (send(fd[1], bytes + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		at += n;
		nb_gin_tcp_ops.progress(c, NULL);
		assert(c->peer[0].fd >= 0 || c->error ||
		       c->peer[0].state == NB_GIN_CLOSED);
	}
	close(fd[1]);
	nb_gin_tcp_conf.close_ns = 0;
	nb_gin_tcp_ops.close_coll(c);
	free(window);
	free(signals);
	return 0;
}
