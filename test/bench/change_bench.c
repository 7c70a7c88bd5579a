// SPDX-License-Identifier: MIT
// Coherent changes of whole jobs, from outside: light processes that load the
// plugin and decide at NCCL's pace, and one client of their control sockets.
//
//	change_bench PLUGIN.so POLICY:POLICY
//
// change.N: N processes, communicators of up to 64 ranks; from the client's
// first request until the last rank decides with the new policies. storm.*:
// eight ranks and 1,000 changes while they make 10 million decisions.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/job/segment/agree.h"
#include "test/bench/bench.h"
#include "test/fakes/host/nccl.h"

enum {
	MOST = 512,
	OF_ONE = 64, /* ranks of a communicator */
	ALLREDUCE = 4,
	BURST_US = 5000, /* of a rank, for every 64 processes */
	STORM_RANKS = 8,
	STORM_CHANGES = 1000,
	STORM_DECISIONS = 10000000,
	STORM_HZ = 200000,
	AHEAD = 512, /* of the slowest */
	CELLS = 1 << 16,
	BUCKETS = 64 * 8, /* eighths of powers of two, in ns */
	REPEATS = 5,
	AT_ONCE = 32,  /* processes that start */
	SWITCH_S = 60, /* a rank may take */
};

/* All processes' */
static struct shared {
	uint64_t at[MOST]; /* decisions made */
	uint64_t stop_at;  /* where all ranks end; 0: not yet */
	uint64_t begun;	   /* ns: when decision 0 was due */
	uint32_t ready, gone, changing;
	uint64_t divergent;
	uint64_t cell[CELLS]; /* storm: decision and answer */
	uint64_t took[BUCKETS];
} * sh;

static int nprocs, hz, burst_us;
static bool storm;
static const char *library;
static char dir[] = "/tmp/ncclbpf-change-XXXXXX";
static pid_t pid[MOST];
static int conn[MOST];
static uint64_t changes_failed;
static double start_s; /* all processes, until the last is ready */

#define GET(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)
#define SET(p, v) __atomic_store_n(&(p), (v), __ATOMIC_SEQ_CST)
#define ADD(p, v) __atomic_fetch_add(&(p), (v), __ATOMIC_SEQ_CST)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

/* ---- a rank ---- */

struct rank {
	const struct host_tuner_v5 *tuner;
	void *ctx;
	float plain[HOST_TABLE];
};

/* Rank says what it answered for decision @k. */
static void testify(uint64_t k, uint64_t answer)
{
	uint64_t *cell = &sh->cell[k % CELLS], was = GET(*cell);
	uint64_t mine = (k + 1) << 8 | answer;

	while (was >> 8 < k + 1)
		if (__atomic_compare_exchange_n(cell, &was, mine, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	if (was >> 8 == k + 1 && was != mine)
		ADD(sh->divergent, 1);
}

static uint64_t chosen(const float *table)
{
	uint64_t best = 0;

	for (uint64_t i = 1; i < HOST_TABLE; i++)
		if (table[i] >= 0 && (table[best] < 0 || table[i] < table[best]))
			best = i;
	return best;
}

static void note_time(double ns)
{
	uint64_t n = ns > 1 ? (uint64_t)ns : 1;
	int log = 63 - __builtin_clzll(n);
	uint64_t part = log > 3 ? n >> (log - 3) & 7 : 0;

	__atomic_fetch_add(&sh->took[(uint64_t)log * 8 + part], 1, __ATOMIC_RELAXED);
}

static void decide(const struct rank *r, uint64_t k)
{
	float table[HOST_TABLE];
	int channels = 0;
	bool timed = storm && GET(sh->changing);
	double start = timed ? bench_now() : 0;

	memcpy(table, r->plain, sizeof(table));
	r->tuner->get(r->ctx, ALLREDUCE, (size_t)1024 << k % 18, 1, (float **)(void *)table,
		      HOST_ALGOS, HOST_PROTOS, 0, &channels);
	if (timed)
		note_time(bench_now() - start);
	if (storm)
		testify(k, chosen(table) + (uint64_t)channels % 4 * 32);
}

static uint64_t slowest(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < nprocs; i++)
		if (GET(sh->at[i]) < least)
			least = GET(sh->at[i]);
	return least;
}

/* Decisions come at a pace, a burst at a time, up to the last of all. */
static void run(const struct rank *r, int index)
{
	for (uint64_t k = 0;;) {
		uint64_t stop = GET(sh->stop_at);
		double ns = bench_now() - (double)GET(sh->begun);
		uint64_t due = (uint64_t)(ns / 1e9 * hz);

		if (stop && k >= stop)
			return;
		if (stop && due > stop)
			due = stop;
		/* answers are compared while they are kept */
		if (storm && due > slowest() + AHEAD)
			due = slowest() + AHEAD;
		for (; k < due; k++) {
			decide(r, k);
			SET(sh->at[index], k + 1);
		}
		usleep((useconds_t)burst_us);
	}
}

static void rank_process(int index)
{
	struct host_nvl_domain_info nvl = { 1, 8, 8 };
	struct host_comm shape = { .ranks = (size_t)nprocs, .nodes = 1 };
	struct host_plugin plugin;
	double constants[144] = { 0 };
	struct rank r;
	char text[16];
	size_t ranks = (size_t)(nprocs < OF_ONE ? nprocs : OF_ONE);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(text, sizeof(text), "%d", index);
	setenv("RANK", text, 1);
	if (host_open(&plugin, 5) || plugin.abi != 5)
		_exit(1);
	r.tuner = plugin.u.v5;
	for (int i = 0; i < HOST_TABLE; i++)
		r.plain[i] =
			host_cost(&shape, ALLREDUCE, 1 << 20, i / HOST_PROTOS, i % HOST_PROTOS);
	if (r.tuner->init(&r.ctx, 1 + (uint64_t)(index / OF_ONE), ranks, 1, quiet, &nvl, constants))
		_exit(1);
	ADD(sh->ready, 1);
	while (!GET(sh->begun))
		usleep(50000);
	run(&r, index);
	ADD(sh->gone, 1);
	pause(); /* what it has done is read before it ends */
	_exit(0);
}

/* ---- the client ---- */

static void request(int i, const char *line)
{
	size_t n = strlen(line);

	if (send(conn[i], line, n, MSG_NOSIGNAL) != (ssize_t)n)
		die("send");
}

static const char *reply(int i)
{
	static char text[1 << 16];
	size_t n = 0;

	while (n < sizeof(text) - 1) {
		ssize_t got = recv(conn[i], text + n, sizeof(text) - 1 - n, 0);

		if (got <= 0)
			die("recv");
		n += (size_t)got;
		if (text[n - 1] == '\n')
			break;
	}
	text[n] = '\0';
	return text;
}

static void connect_all(void)
{
	struct dirent *e;
	DIR *d = opendir(dir);
	int n = 0;

	while (d && (e = readdir(d))) {
		struct sockaddr_un un = { .sun_family = AF_UNIX };
		size_t len = strlen(e->d_name);

		if (len < 5 || strcmp(e->d_name + len - 5, ".sock") || n == nprocs)
			continue;
		snprintf(un.sun_path, sizeof(un.sun_path), "%s/%.60s", dir, e->d_name);
		conn[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (conn[n] < 0 || connect(conn[n], (struct sockaddr *)&un, sizeof(un)))
			die(un.sun_path);
		request(n, "hello 1\n");
		if (!strstr(reply(n), "\"ok\":true"))
			die("hello");
		n++;
	}
	closedir(d);
	if (n != nprocs) {
		fprintf(stderr, "change_bench: %d sockets of %d\n", n, nprocs);
		exit(1);
	}
}

/* Stage @policies in all, commit in one. The generation; 0: refused. */
static unsigned change(const char *policies)
{
	char line[160], digest[65] = "";
	const char *text, *at;
	unsigned generation = 0;

	snprintf(line, sizeof(line), "policy use %s commit=no\n", policies);
	for (int i = 0; i < nprocs; i++)
		request(i, line);
	for (int i = 0; i < nprocs; i++) {
		text = reply(i);
		at = strstr(text, "\"change\":\"");
		if (!at) {
			fprintf(stderr, "change_bench: %s", text);
			return 0;
		}
		memcpy(digest, at + 10, 64);
	}
	snprintf(line, sizeof(line), "change commit %s\n", digest);
	request(0, line);
	text = reply(0);
	at = strstr(text, "\"generation\":");
	if (!at || !strstr(text, "\"state\":\"committed\"") || strstr(text, "aborted")) {
		printf("  refused: %.300s\n", text);
		return 0;
	}
	sscanf(at, "\"generation\":%u", &generation);
	return generation;
}

static const struct nb_seg *map_segment(void)
{
	char path[80];
	int fd;
	void *p;

	snprintf(path, sizeof(path), "%s/bench.seg", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct nb_seg), PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(path);
	close(fd);
	return p;
}

/* Until every rank decides with @generation; a rank that never will is told. */
static void wait_switched(const struct nb_seg *seg, unsigned generation)
{
	double end = bench_now() + SWITCH_S * 1e9;

	for (int n = 0; n < nprocs; n++) {
		const struct nb_seg_comm *c = &seg->comm[n / OF_ONE];

		while (GET(c->slot[n % OF_ONE].generation) != generation) {
			if (bench_now() > end) {
				fprintf(stderr,
					"change_bench: a rank of communicator "
					"%llu takes no policy: differs %u\n",
					(unsigned long long)c->comm_id, c->differs);
				exit(1);
			}
			usleep(50);
		}
	}
}

/* ---- a job ---- */

static void wait_ready(int n)
{
	for (int ms = 0; GET(sh->ready) < (uint32_t)n; ms++) {
		if (ms > 120000) {
			fprintf(stderr, "change_bench: no start\n");
			exit(1);
		}
		usleep(1000);
	}
}

static void start(int n, int rate)
{
	double from = bench_now();

	memset(sh, 0, sizeof(*sh));
	nprocs = n;
	hz = rate;
	burst_us = storm ? 500 : BURST_US * ((n + OF_ONE - 1) / OF_ONE);
	if (!mkdtemp(dir))
		die(dir);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "bench", 1);
	setenv("NCCL_TUNER_PLUGIN", library, 1);
	for (int i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i])
			rank_process(i);
		if (pid[i] < 0)
			die("fork");
		/* a machine starts some at a time; all would wait for it */
		wait_ready(i + 1 < AT_ONCE ? 0 : i + 1 - AT_ONCE);
	}
	wait_ready(n);
	start_s = (bench_now() - from) / 1e9;
	SET(sh->begun, (uint64_t)bench_now());
	connect_all();
}

static void finish(void)
{
	char command[80];
	int status;

	for (int i = 0; i < nprocs; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
		close(conn[i]);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		die(command);
	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
}

static uint64_t resident_kib(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < nprocs; i++) {
		char path[48], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid[i]);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (!strncmp(line, "Pss:", 4))
				sum += strtoull(line + 4, NULL, 10);
		if (f)
			fclose(f);
	}
	return sum;
}

/* ---- what is measured ---- */

static void job_changes(int n, const char *const names[2], double budget)
{
	const struct nb_seg *seg;
	double took[REPEATS];
	char key[32], text[96];
	int done = 0;

	start(n, 10000);
	seg = map_segment();
	for (int i = 0; done < REPEATS && i < 4 * REPEATS; i++) {
		double from = bench_now();
		unsigned g = change(names[i % 2]);

		if (!g)
			continue; /* ranks ran past the fences: again */
		wait_switched(seg, g);
		took[done++] = (bench_now() - from) / 1e6;
		bench_yardstick();
	}
	printf("%d processes: %d changes, %llu MiB in all, ready in %.1f s\n", n, done,
	       (unsigned long long)resident_kib() >> 10, start_s);
	for (int i = 0; i < done; i++)
		printf("  %.2f ms\n", took[i]);
	snprintf(key, sizeof(key), "change.%d", n);
	snprintf(text, sizeof(text), "change of %d processes, command to last rank switched", n);
	if (done == REPEATS)
		bench_row(key, text, bench_median(took, done), "ms", budget);
	else
		bench_skip(key, text, "ranks ran past every fence");
	munmap((void *)(uintptr_t)seg, sizeof(*seg));
	finish();
}

static double percentile(double p)
{
	uint64_t all = 0, sum = 0;

	for (int i = 0; i < BUCKETS; i++)
		all += sh->took[i];
	for (int i = 0; i < BUCKETS; i++) {
		sum += sh->took[i];
		if ((double)sum >= p * (double)all)
			return (double)(UINT64_C(1) << i / 8) * (1 + (i % 8 + 1) / 8.0);
	}
	return 0;
}

/* Decisions that the segment does not count; ranks that it finds apart. */
static void judge(uint64_t asked, uint64_t *lost, uint64_t *apart)
{
	static struct nb_agree a;
	char path[80];
	struct nb_job job;
	const struct nb_seg_comm *c;

	snprintf(path, sizeof(path), "%s/bench.seg", dir);
	if (nb_job_read(&job, path, NULL))
		die(path);
	*lost = asked * STORM_RANKS;
	c = nb_job_comm(&job, 0);
	for (int i = 0; c && i < STORM_RANKS; i++)
		*lost -= nb_job_decisions(&c->slot[i]);
	*apart = !nb_agree(&job, 0, &a) || a.verdict != NB_AGREED;
	nb_job_free(&job);
}

static void storm_changes(const char *const names[2])
{
	uint64_t lost, apart, per_rank = STORM_DECISIONS / STORM_RANKS;
	const struct nb_seg *seg;
	unsigned done = 0, refused = 0;
	char text[128];
	double from;

	storm = true;
	start(STORM_RANKS, STORM_HZ);
	seg = map_segment();
	from = bench_now();
	while (done < STORM_CHANGES && refused < 10 * STORM_CHANGES) {
		unsigned g;

		SET(sh->changing, 1);
		g = change(names[done % 2]);
		if (g)
			wait_switched(seg, g);
		SET(sh->changing, 0);
		done += g != 0;
		refused += g == 0;
		if (done % 64 == 0)
			bench_yardstick();
	}
	changes_failed = STORM_CHANGES - done;
	while (slowest() < per_rank)
		usleep(1000);
	SET(sh->stop_at, GET(sh->at[0]) + STORM_HZ / 10);
	while (GET(sh->gone) < STORM_RANKS)
		usleep(1000);
	judge(GET(sh->stop_at), &lost, &apart);
	printf("storm: %u changes, %u refused, %llu decisions, %.1f s\n", done, refused,
	       (unsigned long long)GET(sh->stop_at) * STORM_RANKS, (bench_now() - from) / 1e9);
	snprintf(text, sizeof(text),
		 "decisions lost, of 10 million or more of 8 ranks across %d "
		 "changes",
		 STORM_CHANGES);
	bench_row("storm.lost", text, (double)(lost + changes_failed), "lost", 0.1);
	bench_row("storm.divergent", "decisions on which ranks differed meanwhile",
		  (double)(GET(sh->divergent) + apart), "lost", 0.1);
	bench_row("storm.p50", "decision while a change goes on, median", percentile(0.5), "ns", 0);
	bench_row("storm.p999", "decision while a change goes on, p99.9", percentile(0.999), "ns",
		  0);
	munmap((void *)(uintptr_t)seg, sizeof(*seg));
	finish();
}

int main(int argc, char **argv)
{
	struct rlimit files = { 4096, 4096 };
	const char *names[2] = { "noop", "size_aware" };

	if (argc != 3) {
		fprintf(stderr, "usage: change_bench PLUGIN.so POLICIES\n");
		return 64;
	}
	setrlimit(RLIMIT_NOFILE, &files);
	library = argv[1];
	setenv("NCCLBPF_POLICY", argv[2], 1);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		die("mmap");
	job_changes(64, names, 50);
	job_changes(MOST, names, 1000);
	storm_changes(names);
	return 0;
}
