// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// All at once, for thread sanitizers: ranks of two communicators make calls,
// decisions and events as NCCL does, while policies, a coherent map, telemetry
// and traces are exchanged through fences and the shell's requests are read.
// It ends when each request has been answered often enough and enough changes
// have been taken, however long that takes; at no call do ranks differ.
#include "test/unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/profiler/events.h"
#include "test/fakes/host/nccl.h"
#include "test/fakes/host/prof.h"
#include "test/unit/made.h"
#include "test/unit/nccl_version.h"

enum { COMMS = 2, RANKS = 2, AHEAD = 8, MOST = 1 << 20, REPLY = 1 << 22 };
enum { READERS = 2, ROUNDS = 12 };

static char dir[] = "/tmp/ncclbpf-live-XXXXXX";
static int mask;
static bool stop;			   /* atomic */
static uint64_t done[COMMS][RANKS];	   /* atomic: calls made */
static uint8_t answer[COMMS][RANKS][MOST]; /* channels, by call */

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

/* In any thread, where a check's assert would not do. */
static void need(bool good, const char *what, const char *text)
{
	if (good)
		return;
	fprintf(stderr, "# live: %s: %.600s\n", what, text);
	_exit(1);
}

/* ---- ranks ---- */

struct rank {
	int comm, rank;
	struct host_prof prof;
	const struct host_tuner_v6 *tuner;
	void *ctx;
};

static void open_rank(struct rank *r)
{
	struct host_nvl_domain_info nvl = { 1, RANKS, RANKS };
	static const double none[144];
	double constants[144];

	memcpy(constants, none, sizeof(constants));
	r->prof = (struct host_prof){ .abi = 6,
				      .mask = &mask,
				      .name = "live",
				      .id = 0xab + (uint64_t)r->comm,
				      .nodes = 1,
				      .ranks = RANKS,
				      .rank = r->rank };
	r->prof.p = (const struct host_profiler *)(const void *)&ncclProfiler_v6;
	ck_assert_int_eq(host_prof_init(&r->prof, quiet), 0);
	r->tuner = (const struct host_tuner_v6 *)(const void *)&ncclTunerPlugin_v6;
	ck_assert_int_eq(r->tuner->v5.init(&r->ctx, r->prof.id, RANKS, 1, quiet, &nvl, constants),
			 0);
	ck_assert_ptr_nonnull(r->ctx);
}

/* Ranks of a communicator keep within a few calls, as collectives make them. */
static bool may_go(const struct rank *r, uint64_t n)
{
	for (;;) {
		uint64_t least = n;

		for (int i = 0; i < RANKS; i++) {
			uint64_t at = __atomic_load_n(&done[r->comm][i], __ATOMIC_ACQUIRE);

			least = at < least ? at : least;
		}
		if (n - least < AHEAD)
			return n < MOST;
		usleep(100);
	}
}

static void one_call(struct rank *r, uint64_t n)
{
	struct host_coll k = { .func = 4,
			       .algo = 1,
			       .proto = 2,
			       .datatype = 7,
			       .channels = 2,
			       .ops = 1,
			       .steps = 1,
			       .seq = n,
			       .count = 1024,
			       .gpu_from = 1000 + n,
			       .gpu_to = 3000 + n };
	float table[HOST_TABLE];
	int channels = 0;

	for (int i = 0; i < HOST_TABLE; i++)
		table[i] = (float)(i + 1);
	host_prof_call(&r->prof, &k);
	need(!r->tuner->v5.get(r->ctx, 4, 4096, 1, (float **)(void *)table, HOST_ALGOS, HOST_PROTOS,
			       0, &channels),
	     "a decision", "failed");
	answer[r->comm][r->rank][n] = (uint8_t)channels;
	host_prof_coll(&r->prof, &k);
}

static void *run_rank(void *arg)
{
	struct rank *r = arg;
	uint64_t n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE) && may_go(r, n)) {
		one_call(r, n++);
		__atomic_store_n(&done[r->comm][r->rank], n, __ATOMIC_RELEASE);
		usleep(200);
	}
	/* the others need not wait for it */
	__atomic_store_n(&done[r->comm][r->rank], MOST, __ATOMIC_RELEASE);
	return (void *)(uintptr_t)n;
}

/* ---- the shell's side ---- */

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	DIR *d = opendir(dir);
	struct dirent *e;

	need(d != NULL, dir, "cannot be read");
	while ((e = readdir(d)))
		if (strstr(e->d_name, ".sock"))
			snprintf(a.sun_path, sizeof(a.sun_path), "%s/%.60s", dir, e->d_name);
	closedir(d);
	need(!connect(fd, (struct sockaddr *)&a, sizeof(a)), a.sun_path, "cannot connect");
	return fd;
}

/* The answer's line; true: it went well. */
static bool ask(int fd, char *reply, const char *request)
{
	char line[128];
	size_t n, have = 0;

	n = (size_t)snprintf(line, sizeof(line), "%s\n", request);
	need(send(fd, line, n, MSG_NOSIGNAL) == (ssize_t)n, request, "cannot send");
	do {
		ssize_t got = recv(fd, reply + have, REPLY - 1 - have, 0);

		need(got > 0, request, "no answer");
		have += (size_t)got;
	} while (reply[have - 1] != '\n');
	reply[have] = '\0';
	return strstr(reply, "\"ok\":true") != NULL;
}

static void *read_on(void *arg)
{
	static const char *const requests[] = { "status",
						"doctor",
						"policy list",
						"comm list",
						"comm show 00000000000000ab",
						"stats",
						"map list",
						"map dump limits",
						"map dump counts",
						"trace status",
						"trace read",
						"sample tail count=20",
						"decision tail count=20",
						"change status",
						"check agreement" };
	char *reply = malloc(REPLY);
	int fd = dial();

	(void)arg;
	need(reply && ask(fd, reply, "hello 1"), "hello", "refused");
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
			need(ask(fd, reply, requests[i]), requests[i], reply);
	close(fd);
	free(reply);
	return NULL;
}

/* One that changes something must be taken in the end: it is asked again where
 * the ranks were too fast for it. */
static void change(int fd, char *reply, const char *request)
{
	int tries = 300;

	while (!ask(fd, reply, request) && --tries)
		usleep(20000);
	need(tries > 0, request, reply);
}

static void change_all(int fd, char *reply, int round)
{
	char set[64];

	snprintf(set, sizeof(set), "map set limits 00000000 %02x000000", 2 + round % 8);
	change(fd, reply, "telemetry on gpu=yes");
	change(fd, reply, "policy use limits");
	change(fd, reply, "trace start");
	change(fd, reply, set);
	change(fd, reply, "policy use limits count");
	change(fd, reply, "telemetry off");
	change(fd, reply, "trace stop");
}

/* ---- the test ---- */

static void write_policy(const char *name, const char *text, const struct nb_map_spec *map)
{
	char path[128];
	struct nb_buf b;
	FILE *f;

	made_image(&b, name, text, map, 1);
	snprintf(path, sizeof(path), "%s/%s.policy", dir, name);
	f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(b.data, 1, b.size, f), b.size);
	fclose(f);
	nb_buf_fini(&b);
}

static void begin(void)
{
	char policies[160];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	write_policy("limits", MADE_CHANNELS_FROM_MAP, &made_coherent);
	write_policy("count", MADE_COUNT_IN_MAP, &made_local);
	snprintf(policies, sizeof(policies), "%s/limits.policy:%s/count.policy", dir, dir);
	setenv("NCCLBPF_POLICY", policies, 1);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "live", 1);
	setenv("NCCLBPF_LOG", "off", 1);
}

static void sweep(void)
{
	char path[320];
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		unlink(path);
	}
	if (d)
		closedir(d);
	rmdir(dir);
}

/* At each call that both have made the ranks took the same. */
static void check_answers(uint64_t calls)
{
	uint64_t seen = 0;

	for (int c = 0; c < COMMS; c++)
		for (uint64_t n = 0; n < calls; n++) {
			ck_assert_msg(answer[c][0][n] == answer[c][1][n],
				      "communicator %d, call %llu: %u and %u "
				      "channels",
				      c, (unsigned long long)n, answer[c][0][n], answer[c][1][n]);
			seen |= UINT64_C(1) << (answer[c][0][n] & 63);
		}
	/*
	 * the map's first value and those that were set, of which the ranks may
	 * miss some: the next fence may come before their next call
	 */
	ck_assert_uint_eq(seen & ~UINT64_C(0x3fd), 0);
	ck_assert_int_gt(__builtin_popcountll(seen), 2);
}

TEST(events_decisions_changes_and_readers)
{
	static struct rank rank[COMMS][RANKS];
	pthread_t t[COMMS][RANKS], readers[READERS];
	char *reply = malloc(REPLY);
	uint64_t least = MOST;
	void *made;
	int fd;

	nccl_version = 23007; /* it has these interfaces */
	begin();
	for (int i = 0; i < COMMS * RANKS; i++) {
		struct rank *r = &rank[i / RANKS][i % RANKS];

		r->comm = i / RANKS;
		r->rank = i % RANKS;
		open_rank(r);
	}
	for (int i = 0; i < COMMS * RANKS; i++)
		ck_assert_int_eq(pthread_create(&t[i / RANKS][i % RANKS], NULL, run_rank,
						&rank[i / RANKS][i % RANKS]),
				 0);
	fd = dial();
	ck_assert(ask(fd, reply, "hello 1"));
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, NULL), 0);
	for (int round = 0; round < ROUNDS; round++)
		change_all(fd, reply, round);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	for (int i = 0; i < COMMS * RANKS; i++) {
		pthread_join(t[i / RANKS][i % RANKS], &made);
		least = (uintptr_t)made < least ? (uintptr_t)made : least;
	}
	for (int i = 0; i < COMMS * RANKS; i++) {
		struct rank *r = &rank[i / RANKS][i % RANKS];

		ck_assert_int_eq(r->tuner->v5.finalize(r->ctx), 0);
		host_prof_fini(&r->prof);
	}
	close(fd);
	free(reply);
	sweep();
	check_answers(least);
	printf("# %llu calls a rank\n", (unsigned long long)least);
}

UNIT_MAIN("live")
