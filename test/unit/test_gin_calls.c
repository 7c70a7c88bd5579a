// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// The GIN and RMA tables of each version, called in NCCL's order and with its
// oddities: NULL contexts, uninitialised properties, no device handle, windows
// that live on at the end, memory that is gone before it is deregistered. Two
// ranks, as threads or as processes; over TCP, or over a vendor's plugin.
#include "test/unit/unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/abi/gin_abi.h"
#include "plugin/gin/list.h"
#include "test/fakes/wrapped/gin.h"

enum { WINDOW = 1 << 16, ROUNDS = TIMES(200) };

/* What the versions do differently. */
struct version {
	const char *name;
	const struct nb_gin_table_v11 *old;   /* v11, v12 */
	const struct nb_gin_table *t;	      /* v13 to v15 */
	const struct nb_rma_table_v16 *newer; /* the others */
	int number;
	bool rma;
};

static const struct version versions[] = {
	{ "GIN v11", &ncclGinPlugin_v11, NULL, NULL, 11, false },
	{ "GIN v12", &ncclGinPlugin_v12, NULL, NULL, 12, false },
	{ "GIN v13", NULL, &ncclGinPlugin_v13, NULL, 13, false },
	{ "RMA v14", NULL, &ncclRmaPlugin_v14, NULL, 14, true },
	{ "RMA v15", NULL, &ncclRmaPlugin_v15, NULL, 15, true },
	{ "RMA v16", NULL, NULL, &ncclRmaPlugin_v16, 16, true },
	{ "RMA v17", NULL, NULL, &ncclRmaPlugin_v17, 17, true },
};
enum { NVERSIONS = 7 };

/* A function of each version, or of those with contexts. */
#define CALL(v, fn) ((v)->old ? (v)->old->fn : NEWER(v, fn))
#define NEWER(v, fn) ((v)->t ? (v)->t->fn : (v)->newer->fn)

/* A rank, as NCCL has it. */
struct rank {
	const struct version *v;
	int rank;
	bool null_ctx; /* connect and finalize get NULL */
	bool wrapped;  /* a vendor's plugin moves the data */
	void *inline_data, *inline_mr, *inline_gin;
	void *instance, *listener, *coll, *ctx;
	void *window, *window_gin, *signals, *signals_gin;
	char data[WINDOW];
	uint64_t signal[8];
	int failed; /* source line of the first failed check, or 0 */
};

static struct rank ranks[2];
static bool null_listen; /* 2.29.7: listen gets NULL, too */
static char handle[2][NB_NET_HANDLE];

#define NEED(r, x)                              \
	do {                                    \
		if (!(x) && !(r)->failed)       \
			(r)->failed = __LINE__; \
	} while (0)

static void set_up(void)
{
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_gin_calls", 1);
	setenv("NCCLBPF_GIN", "on", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
}

/* ---- one call of NCCL's, whatever the version ---- */

static int connect_rank(struct rank *r)
{
	void *handles[2] = { handle[0], handle[1] };
	void *ctx = r->null_ctx ? NULL : r->instance;

	static const uint32_t going_on;

	if (r->v->number == 12)
		return r->v->old->connect.v12(ctx, handles, 2, r->rank, 4, 1024, r->listener,
					      &r->coll);
	if (r->v->number == 17)
		return r->v->newer->connect.v15(ctx, handles, 2, r->rank, r->listener, &r->coll,
						&going_on);
	return CALL(r->v, connect).v11(ctx, handles, 2, r->rank, r->listener, &r->coll);
}

static int create(struct rank *r)
{
	struct nb_gin_config_v13 gin = { 0, 0, 2, 1024, -1 };
	struct nb_rma_config rma = { 2, -1, 0 };

	int peers[2] = { 0, 1 };
	struct nb_rma_config_v17 rma_v17 = { 2, -1, peers, 2 };

	if (r->v->old)
		return 0; /* proxies of these versions do not call it */
	if (r->v->number == 17)
		return r->v->newer->create_context.rma_v17(r->coll, &rma_v17, &r->ctx);
	return r->v->rma ? NEWER(r->v, create_context).rma_v14(r->coll, &rma, &r->ctx)
			 : r->v->t->create_context.v13(r->coll, &gin, &r->ctx, NULL);
}

static int reg(struct rank *r, void *data, size_t size, uint64_t flags, void **mh, void **gh)
{
	if (r->v->rma) {
		int rc = NEWER(r->v, reg_mr).rma_v14(r->coll, data, size, 2, flags, mh);

		*gh = *mh;
		return rc;
	}
	return CALL(r->v, reg_mr).v11(r->coll, data, size, 2, flags, mh, gh);
}

static int put(struct rank *r, int context, size_t size, size_t to, void **req)
{
	void *gh = r->window_gin;
	uint32_t peer = (uint32_t)!r->rank;

	switch (r->v->number) {
	case 11:
		return r->v->old->iput.v11(r->coll, 0, gh, size, to, gh, peer, req);
	case 12:
		return r->v->old->iput.v12(r->coll, 0, gh, size, to, gh, peer, context, req);
	case 13:
	case 14:
		return r->v->t->iput.v13(r->ctx, context, 0, gh, size, to, gh, peer, req);
	default:
		return NEWER(r->v, iput)
			.rma_v15(r->ctx, context, 0, gh, size, to, gh, peer, 1, req);
	}
}

/* Without a put: source and target are NULL then. */
static int signal_add(struct rank *r, int context, unsigned i, uint64_t value, void **req)
{
	uint32_t peer = (uint32_t)!r->rank;
	void *sh = r->signals_gin;

	switch (r->v->number) {
	case 11:
		return r->v->old->iput_signal.v11(r->coll, 0, NULL, 0, 0, NULL, peer, i * 8, sh,
						  value, 2, req);
	case 12:
		return r->v->old->iput_signal.v12(r->coll, 0, NULL, 0, 0, NULL, peer, i * 8, sh,
						  value, 2, context, req);
	case 13:
		return r->v->t->iput_signal.v13(r->ctx, context, 0, NULL, 0, 0, NULL, peer, i * 8,
						sh, value, 2, req);
	case 14:
		return r->v->t->iput_signal.rma_v14(r->ctx, context, 0, NULL, 0, 0, NULL, peer,
						    i * 8, sh, value, 2, false, req);
	default:
		return NEWER(r->v, iput_signal)
			.rma_v15(r->ctx, context, 0, NULL, 0, 0, NULL, peer, i * 8, sh, value, 2,
				 false, 0, req);
	}
}

static void progress(struct rank *r)
{
	CALL(r->v, progress)(r->v->old ? r->coll : r->ctx);
	sched_yield(); /* as NCCL's thread does */
}

static void finish(struct rank *r, void *req)
{
	int done = 0;

	NEED(r, req != NULL);
	while (!done && !r->failed) {
		NEED(r, !CALL(r->v, test)(r->coll, req, &done));
		progress(r);
	}
	/* the request is NCCL's no more */
	NEED(r, CALL(r->v, test)(r->coll, req, &done) == NB_NET_ARGUMENT);
}

/* ---- NCCL's order ---- */

static void rank_listen(struct rank *r, const struct version *v, int rank)
{
	union {
		struct nb_net_props_v11 v11;
		struct nb_net_props_v12 v12;
	} p;
	int n = 0;

	memset(r, 0, sizeof(*r));
	r->v = v;
	r->rank = rank;
	NEED(r, !CALL(v, init)(&r->instance, 77, NULL));
	NEED(r, !CALL(v, devices)(&n));
	memset(&p, 0xa5, sizeof(p));
	NEED(r, n > 0 && !CALL(v, get_properties)(0, &p));
	NEED(r, (v->number < 13 ? p.v11.v9.device_type : p.v12.device_type) == NB_GIN_PROXY);
	NEED(r, (v->number < 13 ? p.v11.v9.max_recvs : p.v12.max_recvs) == 8);
	NEED(r, !CALL(v, listen)(null_listen ? NULL : r->instance, 0, handle[rank], &r->listener));
}

static void rank_open(struct rank *r)
{
	NEED(r, !connect_rank(r) && r->coll);
	NEED(r, !create(r));
	NEED(r, !reg(r, r->signal, sizeof(r->signal), 1, &r->signals, &r->signals_gin));
	r->inline_data =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(r, r->inline_data != MAP_FAILED);
	NEED(r, !reg(r, r->inline_data, 4096, 0, &r->inline_mr, &r->inline_gin));
	NEED(r, !CALL(r->v, close_listen)(r->listener));
	NEED(r, !reg(r, r->data, sizeof(r->data), 0, &r->window, &r->window_gin));
	/* the handles of our own transport are one; a vendor's are its own */
	NEED(r, r->window && (r->wrapped || r->window == r->window_gin));
	if (r->v->newer) {
		struct nb_rma_properties p = { true };

		/* neither over TCP nor by a vendor's older version: NCCL assumes the same */
		NEED(r, !r->v->newer->get_rma_properties(r->coll, &p) && !p.flushes_all);
	}
}

/* Each round: a put in context 1, then a signal in the same context. */
static void rank_talk(struct rank *r)
{
	memset(r->data, 'a' + r->rank, WINDOW / 2);
	for (uint64_t i = 1; i <= ROUNDS && !r->failed; i++) {
		void *put_req = NULL, *sig_req = NULL;

		r->data[0] = (char)i;
		NEED(r, !put(r, 1, 4000, WINDOW / 2, &put_req));
		NEED(r, !signal_add(r, 1, 3, 2, &sig_req));
		while (!r->failed && __atomic_load_n(&r->signal[3], __ATOMIC_ACQUIRE) < 2 * i)
			progress(r);
		/* the peer's put of this round, or already its next */
		NEED(r, r->data[WINDOW / 2 + 3999] == 'a' + !r->rank);
		finish(r, put_req);
		finish(r, sig_req);
	}
	NEED(r, r->signal[3] == 2 * ROUNDS);
	NEED(r, r->data[WINDOW / 2] == (char)ROUNDS);
}

static void get_and_flush(struct rank *r)
{
	void *req = NULL;
	int rc;

	if (r->v->old)
		return;
	rc = r->v->number >= 15 ? NEWER(r->v, iget)
					  .rma_v15(r->ctx, 0, 16, r->window, 16, 60000, r->window,
						   (uint32_t)!r->rank, 0, &req)
				: r->v->t->iget.v13(r->ctx, 0, 16, r->window, 16, 60000, r->window,
						    (uint32_t)!r->rank, &req);
	NEED(r, !rc);
	finish(r, req);
	NEED(r, r->data[60015] == 'a' + !r->rank);
	req = r;
	NEED(r, !NEWER(r->v, iflush)(r->ctx, 0, r->window, (uint32_t)!r->rank, &req));
	NEED(r, !req); /* done */
}

/* A window is still registered, as in 2.28; the last barrier is NCCL's own. */
static void rank_close(struct rank *r)
{
	bool failed = true;

	if (r->ctx) {
		NEED(r, !NEWER(r->v, query_last_error)(r->ctx, &failed) && !failed);
		NEED(r, !NEWER(r->v, destroy_context)(r->ctx));
	}
	NEED(r, !CALL(r->v, dereg_mr)(r->coll, r->signals));
	/* NCCL frees this memory before it deregisters it */
	NEED(r, !munmap(r->inline_data, 4096));
	NEED(r, !CALL(r->v, dereg_mr)(r->coll, r->inline_mr));
	NEED(r, !CALL(r->v, close_coll)(r->coll));
	NEED(r, !CALL(r->v, finalize)(r->null_ctx ? NULL : r->instance));
}

static pthread_barrier_t barrier;
static int through; /* ranks whose gets have ended */

static void *rank_thread(void *arg)
{
	struct rank *r = arg;

	rank_open(r);
	pthread_barrier_wait(&barrier);
	rank_talk(r);
	get_and_flush(r);
	__atomic_add_fetch(&through, 1, __ATOMIC_ACQ_REL);
	/* serve the peer's get */
	while (__atomic_load_n(&through, __ATOMIC_ACQUIRE) < 2)
		progress(r);
	pthread_barrier_wait(&barrier);
	rank_close(r);
	return NULL;
}

static void run_threads(const struct version *v, bool null_ctx)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++) {
		rank_listen(&ranks[i], v, i);
		ranks[i].null_ctx = null_ctx;
	}
	pthread_barrier_init(&barrier, NULL, 2);
	through = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, rank_thread, &ranks[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(!ranks[i].failed, "%s, rank %d: line %d", v->name, i,
			      ranks[i].failed);
}

TEST_EACH(each_version_moves_puts_and_signals, 0, NVERSIONS)
{
	struct nb_gin_sums s;

	set_up();
	run_threads(&versions[_i], false);
	nb_gin_list_sums(&s);
	ck_assert_uint_eq(s.opened, 2);
	ck_assert_uint_eq(s.live, 0);
	ck_assert_uint_eq(s.puts, 2 * ROUNDS);
	ck_assert_uint_eq(s.signals, 2 * ROUNDS);
	ck_assert_uint_eq(s.in_signals, 2 * ROUNDS);
	ck_assert_uint_eq(s.in_bytes, 2 * ROUNDS * 4000);
	ck_assert_uint_eq(s.errors, 0);
}

TEST_EACH(later_communicators_have_no_context, 0, NVERSIONS)
{
	set_up();
	run_threads(&versions[_i], false);
	run_threads(&versions[_i], true);
	null_listen = true;
	run_threads(&versions[_i], true);
}

/* ---- over a vendor's plugin ---- */

static struct gin_plugin_seen *vendor_set_up(int abi)
{
	const char *b = getenv("B");
	struct gin_plugin_seen *seen;
	char path[256];
	void *lib;

	set_up();
	unsetenv("NCCLBPF_GIN");
	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/gin_v%d.so", b ? b : "build/debug",
		 abi);
	setenv("NCCLBPF_CHAIN_GIN", path, 1);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(lib != NULL, "%s", dlerror());
	seen = dlsym(lib, "gin_plugin_seen");
	ck_assert_ptr_nonnull(seen);
	return seen;
}

/* A put in context @context, then a signal: what arrives, and what the vendor's
 * plugin was asked, in this order. */
static void vendor_put(struct gin_plugin_seen *seen, unsigned *n, int context, bool one_context)
{
	struct rank *r = &ranks[0];
	uint64_t before = ranks[1].signal[3];
	void *put_req = NULL, *sig_req = NULL;

	r->data[0] = (char)(*n + 1);
	ck_assert_int_eq(put(r, context, 100, 500, &put_req), 0);
	ck_assert_int_eq(signal_add(r, context, 3, 5, &sig_req), 0);
	ck_assert_int_eq(ranks[1].data[500], (char)(*n + 1));
	ck_assert_uint_eq(ranks[1].signal[3], before + 5);
	ck_assert_uint_eq(seen->put[*n].size, 100);
	ck_assert_uint_eq(seen->put[*n].op, 0);
	ck_assert_uint_eq(seen->put[*n + 1].size, 0);
	ck_assert_uint_eq(seen->put[*n + 1].op, 2);
	ck_assert_uint_eq(seen->put[*n + 1].value, 5);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(seen->put[*n + i].rank, 1);
		ck_assert_int_eq(seen->put[*n + i].context, one_context ? 0 : context);
	}
	*n += 2;
	finish(r, put_req);
	finish(r, sig_req);
	ck_assert_int_eq(r->failed, 0);
}

enum { NVENDORS = 7 };

/* Each table of ours over each of a vendor's; then as for a later communicator
 * of the process, whose context is NULL. */
TEST_EACH(each_version_reaches_each_version_of_a_vendor, 0, NVERSIONS *NVENDORS)
{
	const struct version *v = &versions[_i / NVENDORS];
	const int abi = 11 + _i % NVENDORS;
	struct gin_plugin_seen *seen = vendor_set_up(abi);
	unsigned nputs = 0;

	for (int later = 0; later < 2; later++) {
		unsigned ended = seen->finalizes;

		for (int i = 0; i < 2; i++) {
			rank_listen(&ranks[i], v, i);
			ranks[i].null_ctx = later;
			ranks[i].wrapped = true;
		}
		for (int i = 0; i < 2; i++) {
			rank_open(&ranks[i]);
			ck_assert_msg(!ranks[i].failed, "%s over v%d: line %d", v->name, abi,
				      ranks[i].failed);
		}
		ck_assert_int_eq(seen->null_context, later);
		vendor_put(seen, &nputs, 0, true);
		/* v11, on either side, has one context */
		vendor_put(seen, &nputs, 1, v->number == 11 || abi == 11);
		for (int i = 0; i < 2; i++) {
			rank_close(&ranks[i]);
			ck_assert_msg(!ranks[i].failed, "%s over v%d: line %d", v->name, abi,
				      ranks[i].failed);
		}
		ck_assert_uint_eq(seen->colls, 2 * (unsigned)(later + 1));
		ck_assert_uint_eq(seen->finalizes - ended, later ? 0 : 2);
	}
	ck_assert_uint_eq(seen->nput, nputs);
	ck_assert_uint_eq(seen->deregs, 8); /* signals and inline memory */
}

/* A context that is not ours: 2.29.2 passes the net plugin's. */
TEST(a_foreign_context_is_not_touched)
{
	long theirs[4] = { 1, 2, 3, 4 };
	void *coll = NULL, *l = NULL, *h = handle[0];

	set_up();
	ck_assert_int_eq(ncclGinPlugin_v11.init(&coll, 1, NULL), 0);
	ck_assert_int_eq(ncclGinPlugin_v11.listen(theirs, 0, handle[0], &l), 0);
	ck_assert_int_eq(ncclGinPlugin_v11.connect.v11(theirs, &h, 1, 0, l, &coll), 0);
	ck_assert_int_eq(ncclGinPlugin_v11.close_coll(coll), 0);
	ck_assert_int_eq(ncclGinPlugin_v11.close_listen(l), 0);
	ck_assert_int_eq(ncclGinPlugin_v11.finalize(theirs), 0);
	ck_assert_int_eq(theirs[0] + theirs[3], 5);
}

TEST(off_reports_no_device)
{
	void *ctx = &ctx;
	int n = 5;

	set_up();
	unsetenv("NCCLBPF_GIN");
	ck_assert_int_eq(ncclRmaPlugin_v15.init(&ctx, 1, NULL), 0);
	ck_assert_int_eq(ncclRmaPlugin_v15.devices(&n), 0);
	ck_assert_int_eq(n, 0);
	ck_assert_ptr_null(ctx); /* no finalize follows */
}

/* ---- two processes ---- */

static void send_all(int fd, const void *p, size_t n)
{
	ck_assert_int_eq(write(fd, p, n), (ssize_t)n);
}

static void take_all(int fd, void *p, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t k = read(fd, (char *)p + got, n - got);

		ck_assert_int_gt(k, 0);
		got += (size_t)k;
	}
}

/* Rank @rank; @in and @out lead to the other process. Returns the line. */
static int process_rank(const struct version *v, int rank, int in, int out)
{
	struct rank *r = &ranks[rank];
	char c = 'r';

	rank_listen(r, v, rank);
	send_all(out, handle[rank], NB_NET_HANDLE);
	take_all(in, handle[!rank], NB_NET_HANDLE);
	rank_open(r);
	send_all(out, &c, 1); /* NCCL's barrier after a registration */
	take_all(in, &c, 1);
	rank_talk(r);
	send_all(out, &c, 1);
	take_all(in, &c, 1);
	rank_close(r);
	return r->failed;
}

TEST_EACH(two_processes_talk, 0, NVERSIONS)
{
	int to[2], from[2], status = 0, failed;
	pid_t child;

	set_up();
	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	child = fork();
	if (!child) {
		failed = process_rank(&versions[_i], 1, to[0], from[1]);
		_exit(failed != 0);
	}
	failed = process_rank(&versions[_i], 0, from[0], to[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(failed, 0);
	ck_assert_int_eq(status, 0);
}

/* Rank 0 here; rank 1 is a process that never makes progress. Returns it. */
static pid_t open_beside_idle(const struct version *v)
{
	int to[2], from[2];
	pid_t child;
	char c;

	set_up();
	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	child = fork();
	if (!child) {
		rank_listen(&ranks[1], v, 1);
		send_all(from[1], handle[1], NB_NET_HANDLE);
		take_all(to[0], handle[0], NB_NET_HANDLE);
		rank_open(&ranks[1]);
		send_all(from[1], "r", 1);
		for (;;)
			pause();
	}
	rank_listen(&ranks[0], v, 0);
	send_all(to[1], handle[0], NB_NET_HANDLE);
	take_all(from[0], handle[1], NB_NET_HANDLE);
	rank_open(&ranks[0]);
	take_all(from[0], &c, 1);
	ck_assert_int_eq(ranks[0].failed, 0);
	return child;
}

TEST(a_killed_process_is_noticed_in_mid_put)
{
	struct rank *r = &ranks[0];
	pid_t child = open_beside_idle(&versions[0]);
	int status, rc = 0;

	for (int i = 0; i < 200 && !rc; i++) {
		void *req = NULL;

		rc = put(r, 0, WINDOW, 0, &req);
		progress(r);
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	while (!rc) {
		void *req = NULL;

		progress(r);
		rc = put(r, 0, 8, 0, &req);
	}
	ck_assert_int_eq(rc, NB_NET_REMOTE);
	ck_assert_int_eq(CALL(r->v, close_coll)(r->coll), 0);
}

/* A kernel that only waits posts nothing; from v13 on NCCL asks. */
TEST_EACH(a_rank_that_only_waits_learns_of_a_killed_process, 2, NVERSIONS)
{
	const struct version *v = &versions[_i];
	pid_t child = open_beside_idle(v);
	struct rank *r = &ranks[0];
	bool failed = true;
	int status;

	for (int i = 0; i < 100; i++)
		progress(r);
	ck_assert_int_eq(NEWER(v, query_last_error)(r->ctx, &failed), 0);
	ck_assert(!failed);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	while (!failed) {
		progress(r);
		ck_assert_int_eq(NEWER(v, query_last_error)(r->ctx, &failed), 0);
	}
	ck_assert_int_eq(CALL(v, close_coll)(r->coll), 0);
}

/* ---- what only our layer sees ---- */

static void *open_alone(void)
{
	void *instance = NULL, *l = NULL, *coll = NULL, *h = handle[0];

	set_up();
	ck_assert_int_eq(ncclGinPlugin_v13.init(&instance, 1, NULL), 0);
	ck_assert_int_eq(ncclGinPlugin_v13.listen(instance, 0, handle[0], &l), 0);
	ck_assert_int_eq(ncclGinPlugin_v13.connect.v11(instance, &h, 1, 0, l, &coll), 0);
	ck_assert_int_eq(ncclGinPlugin_v13.close_listen(l), 0);
	return coll;
}

TEST(wrong_arguments_are_errors)
{
	const struct nb_gin_table *t = &ncclGinPlugin_v13;
	struct nb_gin_config_v13 k = { 0, 0, 2, 64, -1 };
	void *coll = open_alone(), *ctx = NULL, *req = NULL, *mh, *gh;
	static char mem[64];
	int done = 1;

	ck_assert_int_eq(t->create_context.v13(coll, &k, &ctx, NULL), 0);
	ck_assert_int_eq(t->reg_mr.v11(coll, mem, 64, 2, 0, &mh, &gh), 0);
	ck_assert_int_eq(t->iput.v13(ctx, 0, 0, gh, 8, 32, gh, 1, &req),
			 NB_NET_ARGUMENT); /* no such rank */
	ck_assert_int_eq(t->iput.v13(ctx, 2, 0, gh, 8, 32, gh, 0, &req),
			 NB_NET_ARGUMENT); /* no such context */
	ck_assert_int_eq(t->iput.v13(ctx, 0, 60, gh, 8, 32, gh, 0, &req),
			 NB_NET_ARGUMENT); /* source outside */
	ck_assert_int_eq(t->iput.v13(NULL, 0, 0, gh, 8, 32, gh, 0, &req), NB_NET_ARGUMENT);
	ck_assert_int_eq(t->test(coll, NULL, &done), NB_NET_ARGUMENT);
	ck_assert_int_eq(t->test(coll, coll, &done), NB_NET_ARGUMENT);
	ck_assert_int_eq(done, 0);
	/* and the twin */
	mem[0] = 'x';
	ck_assert_int_eq(t->iput.v13(ctx, 1, 0, gh, 8, 32, gh, 0, &req), 0);
	ck_assert_int_eq(t->test(coll, req, &done), 0);
	ck_assert_int_eq(done, 1);
	ck_assert_int_eq(mem[32], 'x');
	ck_assert_int_eq(t->test(coll, req, &done), NB_NET_ARGUMENT);
	ck_assert_int_eq(t->close_coll(coll), 0);
}

TEST(contexts_come_and_go)
{
	const struct nb_gin_table *t = &ncclGinPlugin_v13;
	struct nb_gin_config_v13 k = { 0, 0, 1, 64, -1 };
	void *coll = open_alone(), *ctx[NB_GIN_MAX_CONTEXTS], *one = NULL;

	/* a destroyed one is used again */
	for (int i = 0; i < 3 * NB_GIN_MAX_CONTEXTS; i++) {
		ck_assert_int_eq(t->create_context.v13(coll, &k, &one, NULL), 0);
		ck_assert_int_eq(t->destroy_context(one), 0);
	}
	for (int i = 0; i < NB_GIN_MAX_CONTEXTS; i++)
		ck_assert_int_eq(t->create_context.v13(coll, &k, &ctx[i], NULL), 0);
	ck_assert_int_eq(t->create_context.v13(coll, &k, &one, NULL), NB_NET_SYSTEM);
	ck_assert_int_eq(t->destroy_context(ctx[7]), 0);
	ck_assert_int_eq(t->create_context.v13(coll, &k, &one, NULL), 0);
	ck_assert_int_eq(t->close_coll(coll), 0);
}

// clang-format off
UNIT_MAIN("gin_calls")
