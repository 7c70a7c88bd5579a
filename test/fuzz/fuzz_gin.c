// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Any bytes as a peer's stream to GIN over TCP, in pieces: nothing outside
// the registered memory is written, numbers in a header are checked before they
// are used, and an offence ends the connection. The magic and the sequence are
// put right in half of the headers, so that what is behind them is reached. An
// input that begins with 'S' is a script of both ends instead.
#undef NDEBUG /* the release build has these checks too */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/tcp/gin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WINDOW = 4096, SIGNALS = 8, MOST = 4096, OPS = 16, REGIONS = 8 };

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

/* ---- a script: 'S', then actions of both ends ---- */

enum action { MESSAGE, SEND, READ, GET, PUT, DEREGISTER, REGISTER, PROGRESS, NACTIONS };

struct script {
	const uint8_t *at, *end;
	struct nb_gin_tcp *c;
	int fd;		 /* the peer's end */
	uint32_t number; /* of the peer's next message */
	uint8_t out[MOST * 2];
	size_t nout; /* bytes that the peer has not sent */
	struct {
		void *handle; /* NULL: deregistered */
		char *data;
		size_t size;
	} region[REGIONS];
	unsigned nregions, nops;
	struct nb_gin_message op[OPS];
};

static uint8_t next_byte(struct script *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

/* 16 bits, or a number near the end of 64 bits. */
static uint64_t next_offset(struct script *s)
{
	uint8_t low = next_byte(s), high = next_byte(s);

	return high == 0xff ? UINT64_MAX - low : (uint64_t)(high << 8 | low);
}

/* A header that is right but for what the bytes ask for, and its data. */
static void add_message(struct script *s)
{
	struct nb_gin_head h = { .magic = NB_GIN_MAGIC, .number = s->number };
	uint8_t wrong = next_byte(s);
	size_t n = sizeof(h);

	h.kind = next_byte(s);
	h.signal_op = next_byte(s);
	h.region = next_byte(s);
	h.signal_region = next_byte(s);
	h.offset = next_offset(s);
	h.size = next_offset(s);
	h.signal_offset = next_offset(s);
	h.value = next_byte(s);
	h.number += wrong == 1;
	h.magic ^= wrong == 2;
	h.zero = wrong == 3;
	if (h.kind == NB_GIN_PUT || h.kind == NB_GIN_SIGNAL || h.kind == NB_GIN_ANSWER)
		n += h.size <= WINDOW ? (size_t)h.size : 16;
	if (n > sizeof(s->out) - s->nout)
		return;
	memset(s->out + s->nout, next_byte(s), n);
	memcpy(s->out + s->nout, &h, sizeof(h));
	s->nout += n;
	s->number++;
}

static void send_bytes(struct script *s, size_t most)
{
	size_t n = most < s->nout ? most : s->nout;
	ssize_t sent = n ? send(s->fd, s->out, n, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;

	if (sent <= 0)
		return;
	s->nout -= (size_t)sent;
	memmove(s->out, s->out + sent, s->nout);
}

static void add_region(struct script *s, size_t size)
{
	struct nb_gin_memory m = { .size = size };
	unsigned i = s->nregions;

	if (i == REGIONS)
		return;
	m.data = calloc(1, size);
	assert(m.data);
	s->region[i].data = m.data;
	s->region[i].size = size;
	assert(!nb_gin_reg_mr(s->c, &m, &s->region[i].handle, NULL));
	s->nregions++;
}

enum { GONE = 0xee };

static void drop_region(struct script *s, unsigned i)
{
	if (i >= s->nregions || !s->region[i].handle)
		return;
	assert(!nb_gin_dereg_mr(s->c, s->region[i].handle));
	s->region[i].handle = NULL;
	memset(s->region[i].data, GONE, s->region[i].size);
}

static void post_op(struct script *s, uint32_t kind)
{
	struct nb_gin_message *o = &s->op[s->nops];
	unsigned ours = next_byte(s) % REGIONS, theirs = next_byte(s) % REGIONS;

	if (s->nops == OPS || ours >= s->nregions || theirs >= s->nregions)
		return;
	*o = (struct nb_gin_message){ .kind = kind };
	o->src = s->region[kind == NB_GIN_GET ? theirs : ours].handle;
	o->dst = s->region[kind == NB_GIN_GET ? ours : theirs].handle;
	o->src_off = next_byte(s);
	o->dst_off = next_byte(s);
	o->size = next_offset(s);
	if (!nb_gin_tcp_post(s->c, o))
		s->nops++;
}

static void act(struct script *s)
{
	char sink[MOST];
	ssize_t n;

	switch ((enum action)(next_byte(s) % NACTIONS)) {
	case MESSAGE:
		add_message(s);
		break;
	case SEND:
		send_bytes(s, 1 + (size_t)next_byte(s) * 8);
		break;
	case READ:
		n = recv(s->fd, sink, sizeof(sink), MSG_DONTWAIT);
		(void)n;
		break;
	case GET:
		post_op(s, NB_GIN_GET);
		break;
	case PUT:
		post_op(s, NB_GIN_PUT);
		break;
	case DEREGISTER:
		drop_region(s, next_byte(s));
		break;
	case REGISTER:
		add_region(s, 8 + (size_t)next_byte(s) * 8);
		break;
	case PROGRESS:
	case NACTIONS:
		break;
	}
	nb_gin_progress(s->c);
}

/* Any order of what a peer sends and of what happens here: memory that was
 * deregistered is not written, and each operation ends with its connection. */
static void run_script(const uint8_t *data, size_t size)
{
	struct script *s = calloc(1, sizeof(*s));
	int fd[2];

	assert(s && !socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	s->at = data;
	s->end = data + size;
	s->fd = fd[1];
	s->c = coll_new(fd[0]);
	s->c->peer[0].announced = 0;
	add_region(s, SIGNALS * 8);
	add_region(s, WINDOW);
	while (s->at < s->end && s->c->peer[0].fd >= 0)
		act(s);
	for (int i = 0; i < 8; i++) {
		send_bytes(s, sizeof(s->out));
		nb_gin_progress(s->c);
	}
	close(s->fd);
	while (s->c->peer[0].fd >= 0)
		nb_gin_progress(s->c);
	for (unsigned i = 0; i < s->nops; i++)
		assert(s->op[i].state == NB_GIN_DONE || s->op[i].state == NB_GIN_FAILED);
	for (unsigned i = 0; i < s->nregions; i++)
		for (size_t k = 0; !s->region[i].handle && k < s->region[i].size; k++)
			assert((uint8_t)s->region[i].data[k] == GONE);
	nb_gin_tcp_conf.close_ns = 0;
	nb_gin_close_coll(s->c);
	for (unsigned i = 0; i < s->nregions; i++)
		free(s->region[i].data);
	free(s);
}

/* ---- a stream ---- */

static void run_stream(const uint8_t *data, size_t size)
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
		nb_gin_progress(c);
		assert(c->peer[0].fd >= 0 || c->error || c->peer[0].state == NB_GIN_CLOSED);
	}
	close(fd[1]);
	nb_gin_tcp_conf.close_ns = 0;
	nb_gin_close_coll(c);
	free(window);
	free(signals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'S')
		run_script(data + 1, size - 1);
	else
		run_stream(data, size);
	return 0;
}
