// SPDX-License-Identifier: MIT
// Each version of a library's net plugin, called as the matching release of
// NCCL calls it. Each case is a process of its own, since a plugin reads its
// environment once.
//
//	net_check PLUGIN.so          over TCP
//	net_check PLUGIN.so FOLDER   over net_plugin's, each version
//	net_check --devices PLUGIN.so VERSION    prints how many there are, and
//		waits for the end of its input
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fakes/host/net.h"

enum { WINDOW = 8, LOGS = 4096 };

static char logs[LOGS];

#define NEED(cond)                                                                  \
	do {                                                                        \
		if (!(cond)) {                                                      \
			printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			printf("# log: %.900s\n", logs);                            \
			return 1;                                                   \
		}                                                                   \
	} while (0)

static void keep(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	size_t at = strlen(logs);
	va_list ap;

	(void)level, (void)flags, (void)file, (void)line;
	va_start(ap, fmt);
	vsnprintf(logs + at, LOGS - at, fmt, ap);
	va_end(ap);
}

/* A version of the interface with the differences smoothed over, as NCCL's
 * own adapters do. */
struct host {
	int abi, inner; /* inner: wrapped version, 0: none */
	bool bare;
	void *ctx;
	const struct host_net_calls *calls; /* of the wrapped one */
	union {
		const void *sym;
		const struct host_net_v6 *v6;
		const struct host_net_v7 *v7;
		const struct host_net_v8 *v8;
		const struct host_net_v9 *v9;
		const struct host_net_v10 *v10;
		const struct host_net_v11 *v11;
		const struct host_net_v12 *v12;
	} u;
};

static int h_init(struct host *h)
{
	struct host_net_config config = { 104 };

	if (h->abi >= 11)
		return h->u.v11->init(&h->ctx, 99, &config, keep, NULL);
	return h->abi == 10 ? h->u.v10->init(keep, NULL) : h->u.v6->init(keep);
}

static int h_listen(struct host *h, void *handle, void **comm)
{
	return h->abi >= 11 ? h->u.v11->listen(h->ctx, 0, handle, comm)
			    : h->u.v6->listen(0, handle, comm);
}

static int h_connect(struct host *h, void *handle, void **comm)
{
	struct host_net_config config = { 104 };
	void *d = &d;

	if (h->abi >= 11)
		return h->u.v11->connect(h->ctx, 0, handle, comm, &d);
	if (h->abi == 10)
		return h->u.v10->connect(0, &config, handle, comm, &d);
	return h->u.v7->connect(0, handle, comm, &d);
}

static int h_accept(struct host *h, void *listener, void **comm)
{
	void *d = &d;

	return h->u.v7->accept(listener, comm, &d);
}

static int h_reg(struct host *h, void *comm, void *data, size_t n, int type, void **mh)
{
	return h->u.v8->regMr(comm, data, n, type, mh);
}

static int h_isend(struct host *h, void *comm, void *data, size_t n, void *mh, void **req)
{
	if (h->abi >= 10)
		return h->u.v10->isend(comm, data, n, 5, mh, NULL, req);
	return h->abi == 9 ? h->u.v9->isend(comm, data, n, 5, mh, req)
			   : h->u.v6->isend(comm, data, (int)n, 5, mh, req);
}

static int h_irecv(struct host *h, void *comm, void *data, size_t n, void *mh, void **req)
{
	int small = (int)n, tag = 5;
	void *ph = NULL;

	if (h->abi >= 10)
		return h->u.v10->irecv(comm, 1, &data, &n, &tag, &mh, &ph, req);
	return h->abi == 9 ? h->u.v9->irecv(comm, 1, &data, &n, &tag, &mh, req)
			   : h->u.v6->irecv(comm, 1, &data, &small, &tag, &mh, req);
}

/* ---- what is checked ---- */

static int find(struct host *h, const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	char symbol[32];

	snprintf(symbol, sizeof(symbol), "ncclNetPlugin_v%d", h->abi);
	h->u.sym = lib ? dlsym(lib, symbol) : NULL;
	NEED(h->u.sym != NULL);
	NEED(!strcmp(h->u.v6->name, strstr(path, "net-tcp") ? "tcp" : "ncclbpf"));
	return 0;
}

/* The wrapped library's counts; it is mapped already. */
static int find_calls(struct host *h, const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);

	NEED(lib != NULL);
	h->calls = dlsym(lib, "net_plugin_calls");
	NEED(h->calls != NULL);
	return 0;
}

/* The fields of each version that both have must be the wrapped one's. */
static int properties(const struct host *h)
{
	union {
		struct host_props_v8 v8;
		struct host_props_v12 v12;
		struct host_props_v9 v9;
		struct host_props_v11 v11;
		struct host_props_v6 v6;
		unsigned char all[256];
	} p;

	memset(&p, 0xee, sizeof(p)); /* NCCL's stack is not zero either */
	NEED(!h->u.v6->getProperties(0, &p.v6));
	NEED(p.v6.name && *p.v6.name);
	if (!h->inner) {
		NEED(p.v6.ptrSupport == 1);
		return 0;
	}
	NEED(p.v6.guid == 4711);
	NEED(p.v6.ptrSupport == (h->bare ? 1 : 5));
	if (h->abi == 8)
		NEED(p.v8.speed == 400000 && p.v8.latency == 1.5f &&
		     p.v8.regIsGlobal == (h->inner >= 8) &&
		     p.v8.netDeviceVersion == (h->inner >= 7 ? 9 : 0));
	if (h->abi >= 9 && h->abi < 12)
		NEED(p.v9.port == 3 && p.v9.forceFlush == (h->inner >= 9) &&
		     p.v9.maxP2pBytes == (size_t)1 << (h->inner >= 9 ? 33 : 30) &&
		     p.v9.vProps.ndevs == (h->inner >= 9 ? 2 : 1) && p.v9.vProps.devs[0] == 0);
	if (h->abi == 11)
		NEED(p.v11.maxMultiRequestSize == (h->inner >= 11 ? 5 : 1));
	if (h->abi == 12)
		NEED(p.v12.maxRecvs == 1 && p.v12.vProps.ndevs == (h->inner >= 9 ? 2 : 1) &&
		     p.v12.vProps.devs[1] == (h->inner >= 9 ? 6 : 0) &&
		     p.v12.maxCollBytes == (size_t)1 << (h->inner >= 9 ? 34 : 30) &&
		     p.v12.railId == (h->inner >= 12 ? 8 : -1) &&
		     p.v12.planeId == (h->inner >= 12 ? 9 : -1));
	return 0;
}

/* Optional functions are there where the transport has them, else NULL. */
static int optional(struct host *h, void *comm)
{
	struct host_vprops_v9 v9 = { 2, { 0, 4 } };
	struct host_vprops_v12 v12 = { 2, { 0, 4 } };
	struct host_net_attr attr = { .op = 42 };
	bool some = h->inner && !h->bare;
	void *mh = NULL, *ptr = NULL;
	int dev = 0;

	NEED(!!h->u.v6->regMrDmaBuf == some);
	if (h->u.v6->regMrDmaBuf) {
		NEED(!h->u.v6->regMrDmaBuf(comm, &dev, 4, 1, 0, 3, &mh) && mh);
		NEED(h->calls->dmabuf == 1);
	}
	NEED(!!h->u.v7->getDeviceMr == (some && h->inner >= 7));
	NEED(!!h->u.v7->irecvConsumed == (some && h->inner >= 7));
	if (h->u.v7->getDeviceMr)
		NEED(!h->u.v7->getDeviceMr(comm, &dev, &ptr) && ptr == &dev);
	if (h->abi < 9)
		return 0;
	NEED(!!h->u.v9->makeVDevice == (some && h->inner >= 9));
	if (h->u.v9->makeVDevice) {
		if (h->abi < 12)
			NEED(!h->u.v9->makeVDevice(&dev, &v9));
		else
			NEED(!h->u.v12->makeVDevice(&dev, &v12));
		NEED(dev == 24);
	}
	if (h->abi < 11)
		return 0;
	NEED(!!h->u.v11->setNetAttr == (some && h->inner >= 11));
	if (h->u.v11->setNetAttr)
		NEED(!h->u.v11->setNetAttr(h->ctx, &attr) && h->calls->attr == 1);
	return 0;
}

struct pair {
	void *send, *recv, *send_mh, *recv_mh;
};

/* A window of messages of @size; what is received has room for more. */
static int exchange(struct host *h, struct pair *p, char *from, char *to, size_t size)
{
	void *send[WINDOW] = { NULL }, *recv[WINDOW] = { NULL };
	size_t room = size + 100;
	int left = 2 * WINDOW;

	for (int i = 0; i < WINDOW; i++) {
		memset(from + (size_t)i * room, 'a' + i, size);
		if (h->abi >= 9)
			recv[i] = (void *)1; /* NCCL's hint */
		NEED(!h_irecv(h, p->recv, to + (size_t)i * room, room, p->recv_mh, &recv[i]));
		NEED(recv[i] && recv[i] != (void *)1);
		NEED(!h_isend(h, p->send, from + (size_t)i * room, size, p->send_mh, &send[i]));
		NEED(send[i] != NULL);
	}
	while (left)
		for (int i = 0; i < WINDOW; i++) {
			int done = 0, got = -1;

			if (send[i])
				NEED(!h->u.v6->test(send[i], &done, NULL));
			left -= done;
			send[i] = done ? NULL : send[i];
			done = 0;
			if (recv[i])
				NEED(!h->u.v6->test(recv[i], &done, &got));
			if (!done)
				continue;
			NEED(got == (int)size);
			if (h->u.v7->irecvConsumed)
				NEED(!h->u.v7->irecvConsumed(p->recv, 1, recv[i]));
			recv[i] = NULL;
			left--;
		}
	for (int i = 0; i < WINDOW; i++)
		NEED(!memcmp(from + (size_t)i * room, to + (size_t)i * room, size));
	return 0;
}

static int flush(struct host *h, struct pair *p, char *data)
{
	void *where = data, *req = &req;
	int size = 4;

	NEED(!h->u.v6->iflush(p->recv, 1, &where, &size, &p->recv_mh, &req));
	NEED(req == NULL);
	return 0;
}

static int pair_up(struct host *h, struct pair *p)
{
	char handle[HOST_HANDLE];
	void *listener = NULL;

	NEED(!h_listen(h, handle, &listener) && listener);
	while (!p->send || !p->recv) {
		if (!p->send)
			NEED(!h_connect(h, handle, &p->send));
		if (!p->recv)
			NEED(!h_accept(h, listener, &p->recv));
	}
	NEED(!h->u.v6->closeListen(listener));
	return 0;
}

static int forwarded(const struct host *h)
{
	const struct host_net_calls *c = h->calls;
	const char *wanted = getenv("NET_CHECK_CLASS");

	NEED(c->init == 1 && c->devices >= 1 && c->listen == 1);
	NEED(c->connect && c->accept && c->reg == 2 && c->dereg == 2);
	NEED(c->isend && c->irecv && c->test && c->close == 3);
	NEED(h->bare || c->flush == 1);
	if (h->inner >= 7 && !h->bare)
		NEED(c->consumed == 4 * WINDOW && c->device_mr == 1);
	/* a hint goes only where both know of it */
	if (h->inner >= 9)
		NEED(c->hinted == (h->abi >= 9 ? 4 * WINDOW : 0));
	/* v10 is told at connect: what a policy wants, else what NCCL has */
	if (h->inner == 10)
		NEED(c->traffic_class == (wanted ? atoi(wanted) : h->abi >= 10 ? 104 : -1));
	if (h->inner >= 11)
		NEED(c->traffic_class == (h->abi >= 11 ? 104 : -1));
	return 0;
}

static int whole(struct host *h, const char *plugin, const char *inner)
{
	static const size_t sizes[] = { 0, 1, 64, 300000 };
	static char from[WINDOW * 300100], to[WINDOW * 300100];
	struct pair p = { NULL, NULL, NULL, NULL };
	int n = 0;

	NEED(!find(h, plugin));
	NEED(!h_init(h));
	NEED(!h->u.v6->devices(&n));
	NEED(n >= 1);
	if (inner)
		NEED(!find_calls(h, inner));
	NEED(!properties(h));
	NEED(!pair_up(h, &p));
	NEED(!h_reg(h, p.send, from, sizeof(from), 1, &p.send_mh) && p.send_mh);
	NEED(!h_reg(h, p.recv, to, sizeof(to), 1, &p.recv_mh) && p.recv_mh);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		NEED(!exchange(h, &p, from, to, sizes[i]));
	NEED(!optional(h, p.send));
	NEED(!flush(h, &p, to));
	NEED(!h->u.v6->deregMr(p.send, p.send_mh));
	NEED(!h->u.v6->deregMr(p.recv, p.recv_mh));
	NEED(!h->u.v6->closeSend(p.send));
	NEED(!h->u.v6->closeRecv(p.recv));
	NEED(!inner || !forwarded(h));
	if (h->abi >= 11) {
		NEED(!h->u.v11->finalize(h->ctx));
		NEED(!h->calls || h->calls->finalize == (h->inner >= 11));
	}
	return 0;
}

/* Nothing that NCCL could hand over by mistake may crash. */
static int nulls(struct host *h, const char *plugin)
{
	struct pair p = { NULL, NULL, NULL, NULL };
	void *req = NULL;
	char byte;
	int done;

	NEED(!find(h, plugin));
	NEED(!h->u.v6->closeSend(NULL) && !h->u.v6->closeListen(NULL));
	NEED(h->u.v6->test(NULL, &done, NULL));
	NEED(h_isend(h, NULL, &byte, 1, NULL, &req) && !req);
	NEED(!h_init(h));
	NEED(h_accept(h, NULL, &p.recv) && !p.recv);
	NEED(h_connect(h, NULL, &p.send) && !p.send);
	NEED(h_irecv(h, NULL, &byte, 1, NULL, &req));
	NEED(h_listen(h, NULL, &p.recv));
	NEED(h->u.v6->deregMr(NULL, NULL));
	NEED(!h->u.v6->closeRecv(NULL));
	NEED(h->u.v6->getProperties(7777, (struct host_props_v6 *)&byte));
	if (h->abi >= 11)
		NEED(!h->u.v11->finalize(h->ctx) && !h->u.v11->finalize(NULL));
	return 0;
}

static int how_many(const char *plugin, int abi)
{
	struct host h = { .abi = abi };
	int n = -1;

	if (find(&h, plugin) || h_init(&h) || h.u.v6->devices(&n))
		n = -1;
	if (n >= 0 && h.abi >= 11)
		h.u.v11->finalize(h.ctx);
	printf("%d\n%s\n", n, logs);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return n < 0;
}

static int number, failed;

static void one(struct host h, const char *plugin, const char *folder, bool null)
{
	char inner[4096] = "", what[96] = "TCP";
	int status = -1;
	pid_t pid;

	if (h.inner) {
		snprintf(inner, sizeof(inner), "%s/net_plugin_v%d.so", folder, h.inner);
		snprintf(what, sizeof(what), "a wrapped plugin of v%d%s", h.inner,
			 h.bare ? " without optional functions" : "");
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(600);
		setenv("NCCL_NET_PLUGIN", plugin, 1);
		if (h.inner)
			setenv("NCCLBPF_CHAIN_NET", inner, 1);
		if (h.bare)
			setenv("NET_PLUGIN_BARE", "1", 1);
		status = null ? nulls(&h, plugin) : whole(&h, plugin, h.inner ? inner : NULL);
		fflush(stdout);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	printf("%sok %d - net v%d: %s over %s\n", status ? "not " : "", ++number, h.abi,
	       null ? "NULL everywhere" : "every function", what);
	if (status) {
		printf("# status %x\n", status);
		failed = 1;
	}
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--devices"))
		return how_many(argv[2], (int)strtol(argv[3], NULL, 10));
	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: net_check PLUGIN.so [FOLDER]\n");
		return 64;
	}
	for (int abi = 8; abi <= HOST_NET_NEWEST; abi++) {
		struct host h = { .abi = abi };

		if (argc == 2) {
			one(h, argv[1], NULL, false);
			one(h, argv[1], NULL, true);
			continue;
		}
		for (h.inner = HOST_NET_OLDEST; h.inner <= HOST_NET_NEWEST; h.inner++) {
			h.bare = false;
			one(h, argv[1], argv[2], false);
			h.bare = true;
			if (h.inner == abi || h.inner == HOST_NET_OLDEST)
				one(h, argv[1], argv[2], false);
		}
	}
	printf("1..%d\n", number);
	return failed;
}
