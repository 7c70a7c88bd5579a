// SPDX-License-Identifier: MIT
// Stands in for the GPU's end of network connections, so that NCCL's proxies
// keep moving: a sender always has a tiny payload ready, in all protocols; a
// receiver consumes at once. Transfer sizes are therefore not real; data.c
// plays kernels that move data (VGPU_DATA).
#include "test/fakes/vgpu/vgpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/fakes/vgpu/layout.h"

enum { PAYLOAD = 16 };

struct conn {
	char *buf_ll, *buf_ll128, *fifo;
	uint64_t *tail, *head;
	int size_ll, size_ll128; // of one slot
	bool send;
};

static struct conn *conns;
static size_t nconn, cconn;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void consume(const struct conn *c)
{
	uint64_t tail = __atomic_load_n(c->tail, __ATOMIC_ACQUIRE);

	if (tail > __atomic_load_n(c->head, __ATOMIC_RELAXED))
		__atomic_store_n(c->head, tail, __ATOMIC_RELEASE);
}

// Make slot i look filled for the next step that will use it. Flags go into
// slots that are not in use as well, since a change of protocol skips steps.
static void fill_slot(const struct conn *c, uint64_t head, unsigned i)
{
	uint64_t step = (head & ~(uint64_t)(NSLOT - 1)) + i;
	int64_t *bytes = (void *)(c->fifo + FIFO_SIZE * i + FIFO_BYTES);

	if (step < head)
		step += NSLOT;
	if (c->buf_ll) {
		uint32_t *line = (void *)(c->buf_ll + (size_t)c->size_ll * i);
		__atomic_store_n(&line[1], (uint32_t)step + 1, __ATOMIC_RELAXED);
		__atomic_store_n(&line[3], (uint32_t)step + 1, __ATOMIC_RELAXED);
	}
	if (c->buf_ll128) {
		uint64_t *line = (void *)(c->buf_ll128 + (size_t)c->size_ll128 * i);
		__atomic_store_n(&line[15], step + 1, __ATOMIC_RELAXED);
	}
	if (__atomic_load_n(bytes, __ATOMIC_ACQUIRE) == -1)
		__atomic_store_n(bytes, PAYLOAD, __ATOMIC_RELEASE);
}

static void produce(const struct conn *c)
{
	uint64_t head = __atomic_load_n(c->head, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < NSLOT; i++)
		fill_slot(c, head, i);
	__atomic_store_n(c->tail, head + 8 * NSLOT, __ATOMIC_RELEASE);
}

// false: its memory is gone. Buffers go with the flags beside them.
static bool serve(const struct conn *c)
{
	if (!vg_mem_mapped(c->fifo, (size_t)FIFO_SIZE * NSLOT) ||
	    !vg_mem_mapped(c->head, sizeof *c->head) || !vg_mem_mapped(c->tail, sizeof *c->tail))
		return false;
	if (c->send)
		produce(c);
	else
		consume(c);
	return true;
}

static void *agent_main(void *unused)
{
	sigset_t every;

	(void)unused;
	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, NULL);
	for (;; usleep(20)) {
		pthread_mutex_lock(&mu);
		for (size_t i = 0; i < nconn;) {
			vg_mem_hold();
			bool alive = serve(&conns[i]);
			vg_mem_release();
			if (alive)
				i++;
			else
				conns[i] = conns[--nconn];
		}
		pthread_mutex_unlock(&mu);
	}
	return NULL;
}

static void agent_start(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, agent_main, NULL))
		vg_log("no thread for the network agent: proxies will hang");
	else
		pthread_detach(t);
}

static void conn_add(struct conn c)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t i = 0;

	pthread_mutex_lock(&mu);
	while (i < nconn && conns[i].fifo != c.fifo)
		i++;
	if (i == cconn) {
		cconn = cconn ? 2 * cconn : 64;
		struct conn *more = vg_calloc(cconn, sizeof *more);
		if (nconn)
			memcpy(more, conns, nconn * sizeof *more);
		free(conns);
		conns = more;
	}
	if (i == nconn)
		conns[nconn++] = c;
	pthread_mutex_unlock(&mu);
	pthread_once(&once, agent_start);
}

void vg_agent_scan(char *const *peers, int npeers, const int slot_size[2])
{
	int nconns = 2 * vg_layout->peer_conns; // sends, then receives

	for (int i = 0; i < npeers * nconns; i++) {
		const char *peer = peers[i / nconns];

		if (!peer)
			continue;
		const char *at = peer + vg_layout->conn_size * (size_t)(i % nconns);
		struct conn c = {
			.buf_ll = ptr_at(at, CONN_BUFS),
			.buf_ll128 = ptr_at(at, CONN_BUFS + 8),
			.fifo = ptr_at(at, CONN_FIFO),
			.tail = (void *)ptr_at(at, CONN_TAIL),
			.head = (void *)ptr_at(at, CONN_HEAD),
			.size_ll = slot_size[0],
			.size_ll128 = slot_size[1],
			.send = i % nconns < vg_layout->peer_conns,
		};
		if (c.fifo && c.head && c.tail)
			conn_add(c);
	}
}
