// SPDX-License-Identifier: MIT
// A training job without GPUs: ranks that ask a tuner plugin for each
// collective as one release of NCCL does, compare their answers, and replay
// a table of times. Where libnccl or CUDA is missing, the demo and the tests
// run this in place of the real NCCL, and say so.
//
//	standin --ranks 8 [--procs | --threads] [--nccl 2.28.9] [--coll LIST]
//	        [--min 1K] [--max 256M] [--factor 2] [--seconds S | --loops N]
//	        [--pause-ms MS between loops] [--ahead W] [--table CSV]
//	        [--noise PCT] [--rank-us US] [--report FILE] [--contend FILE]
//	        [--nodes N] [--no-nvls] [--comms N] [--groups N | --split] [--hang]
//	        [--events] [--rank-env R:NAME=VALUE]... [--probe R:N] [--offer [R:]ALGOS]
//
// --probe: rank R asks the tuner once more before each N-th collective and does nothing with the
// answer, as NCCL 2.29 may; --calls-only R:N: it calls NCCL's API before that and the tuner is
// not asked.
//
// --windows R:FILE: until FILE exists, collectives have symmetric windows, and rank R sends from
// a buffer outside of its window: NCCL asks rank R's tuner alone, and all ranks run the same
// symmetric kernel, whatever the tuner answers.
//
// --offer: in each second round the calls of rank R, or of all ranks, have a configuration that
// selects these algorithms (ncclCollConfig_t of NCCL 2.31).
//
// --events: the library is a profiler as well, and gets the events of each collective as that
// release tells them. --tags N: the application tags its calls with 0 to N in turn.
//
// --groups: so many communicators at once, each with all ranks, which take turns.
//
// --grouped: the calls of all communicators are one NCCL group, with each call twice, and odd
// ranks make them in the opposite order.
//
// --split: each rank is in two communicators, which take turns: that of all ranks, and that of
// the ranks of its own parity, as after ncclCommSplit. Odd ranks ask twice in theirs, so that the
// halves do not count alike.
//
// --rccl: the library that calls is librccl.so.1, it has 112 channels, and its kernels' times are
// ticks.
//
// --noise: times vary by so much, at random but in every run alike. --rank-us: each rank takes so
// much longer than the one before, that they can be told apart (1).
//
// --contend: times are multiplied by the number in FILE, read before each loop: somebody else on
// the links.
//
// --rank R --meet FILE: this process is rank R alone; a launcher starts the others with the same
// FILE.
//
// --rank-env: one process of --procs begins with another environment. --hang: ranks that took
// different decisions stand still until SIGTERM, as real ones do, in place of ending.
// STANDIN_LOCALE=1: the process takes the locale of its environment. STANDIN_LATE=FILE,
// STANDIN_HOLD=FILE: its rank waits for FILE before it initialises the tuner, or before its first
// call. STANDIN_ALONE=1: it is a node of its own, so that it waits for no other rank in between.
// --stalls: at the end, how many decisions waited at a fence, and how long.
//
// Exit status: 0; 1 a call failed; 3 ranks took different decisions (real GPUs would hang); 64
// usage.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/spec/spec.h"
#include "test/fakes/host/nccl.h"
#include "test/fakes/host/prof.h"
#include "test/fakes/host/replay.h"
#include "test/fakes/host/standin.h"

static const uint64_t FIRST_ID = 0xc0ffee0000000000;

/* What a rank decided for collective number seq - 1; seq is stored last. */
struct answer {
	uint64_t seq;
	int algo, proto, channels;
	size_t chunk_size;
};

/* Shared by all ranks, threads or processes. */
struct meeting {
	pthread_barrier_t all;
	bool made; /* the barrier is there */
	volatile int stop, failed, diverged, hung;
	/* atomic: decisions; those in which the rank slept, and the longest */
	uint64_t decisions, waits, longest_ns;
	uint64_t done[MAX_RANKS]; /* collectives decided */
	uint64_t plain_from;	  /* atomic: the first without windows */
	struct answer ring[MAX_RANKS][RING];
};

static struct meeting *meet;
static struct host_plugin plugin;
static int prof_mask; /* one for the process, as NCCL has it */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void logger(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	const char *debug = getenv("NCCL_DEBUG");
	char text[1024];
	va_list ap;

	(void)flags;
	if (!debug || (level > 2 && strcmp(debug, "INFO")))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "stand-in: [%d] %s:%d %s\n", getpid(), file, line, text);
}

/* The logger that plugins get. */
static host_logger *plugin_log = logger;

/* Be RCCL to plugins, by the library beside this program. */
static bool load_rccl(void)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
	void *library = NULL;
	char version[16];

	snprintf(version, sizeof(version), "%d", host_version);
	setenv("RCCL_VERSION", version, 1);
	if (slash) {
		strcpy(slash, "/librccl.so.1");
		library = dlopen(path, RTLD_NOW);
	}
	if (library)
		*(void **)&plugin_log = dlsym(library, "rccl_log");
	return library && plugin_log;
}

static void on_signal(int sig)
{
	(void)sig;
	meet->stop = 1;
}

static const char *name(const char *s)
{
	return s ? s : "none";
}

/* True if the collective runs on each half of the ranks, not on all of them. */
static bool of_half(uint64_t seq)
{
	return opt.split && seq % 2;
}

/* Every pair of ranks is compared: by whichever of the two comes second. */
static void compare(int rank, uint64_t seq, const struct host_choice *c)
{
	for (int r = 0; r < opt.ranks; r++) {
		struct answer *a = &meet->ring[r][seq % RING];

		if (of_half(seq) && (r ^ rank) & 1)
			continue;
		if (__atomic_load_n(&a->seq, __ATOMIC_SEQ_CST) != seq + 1)
			continue;
		if (a->algo == c->algo && a->proto == c->proto && a->channels == c->channels &&
		    a->chunk_size == c->chunk_size)
			continue;
		meet->diverged = 1;
		if (opt.hang)
			meet->hung = 1;
		else
			meet->stop = 1;
		fprintf(stderr,
			"stand-in: DIVERGENCE at collective %llu: rank %d "
			"%s/%s %d channels, chunks of %zu, rank %d %s/%s %d channels, chunks of "
			"%zu\n",
			(unsigned long long)seq, r, name(nb_nccl_algo(a->algo)),
			name(nb_nccl_proto(a->proto)), a->channels, a->chunk_size, rank,
			name(nb_nccl_algo(c->algo)), name(nb_nccl_proto(c->proto)), c->channels,
			c->chunk_size);
		return;
	}
}

static void publish(int rank, uint64_t seq, const struct host_choice *c)
{
	struct answer *a = &meet->ring[rank][seq % RING];

	a->algo = c->algo;
	a->proto = c->proto;
	a->channels = c->channels;
	a->chunk_size = c->chunk_size;
	__atomic_store_n(&a->seq, seq + 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&meet->done[rank], seq + 1, __ATOMIC_RELEASE);
	compare(rank, seq, c);
}

/* A rank may run ahead of the slowest by opt.ahead collectives. */
static void keep_step(uint64_t seq)
{
	for (;;) {
		uint64_t least = UINT64_MAX;

		for (int r = 0; r < opt.ranks; r++) {
			uint64_t d = __atomic_load_n(&meet->done[r], __ATOMIC_ACQUIRE);

			least = d < least ? d : least;
		}
		if (seq < least + opt.ahead || meet->stop)
			return;
		nap(20);
	}
}

static double contention = 1;

/* What is not a number, or not there, is no contention. */
static void read_contention(void)
{
	FILE *f = opt.contend ? fopen(opt.contend, "re") : NULL;
	double x;

	if (!f || fscanf(f, "%lf", &x) != 1 || !(x > 0))
		x = 1;
	__atomic_store(&contention, &x, __ATOMIC_RELAXED);
	if (f)
		fclose(f);
}

/* Between 1 - opt.noise and 1 + opt.noise; equal on all ranks. */
static double noise(uint64_t seq)
{
	uint64_t x = seq * 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return 1 + opt.noise * ((double)(x >> 12) / (double)(1ull << 51) - 1);
}

static double time_us(const struct host_choice *c, int coll, size_t bytes, uint64_t seq)
{
	double us = -1, x;

	__atomic_load(&contention, &x, __ATOMIC_RELAXED);
	if (opt.table)
		us = replay_us(opt.table, nb_nccl_coll(coll), c->algo, c->proto, c->channels, bytes,
			       opt.ranks);
	return (us >= 0 ? us : (double)c->us) * x * noise(seq);
}

static void report(FILE *f, long loop, int coll, size_t bytes, const struct host_choice *c,
		   uint64_t seq)
{
	double us = time_us(c, coll, bytes, seq);
	const char *word = nb_nccl_coll(coll);

	fprintf(f,
		"{\"loop\":%ld,\"coll\":\"%s\",\"bytes\":%zu,"
		"\"time_us\":%.3f,\"busbw_gbs\":%.3f,\"channels\":%d,"
		"\"runs\":\"%s/%s\",\"chunk_size\":%zu}\n",
		loop, word, bytes, us, replay_busbw(word, bytes, opt.ranks, us), c->channels,
		name(nb_nccl_algo(c->algo)), name(nb_nccl_proto(c->proto)), c->chunk_size);
	fflush(f);
}

struct rank {
	int first, count; /* ranks of this thread */
	/* of each rank one a group, side by side */
	struct host_comm comm[MAX_RANKS];
	struct host_prof prof[MAX_RANKS];
	FILE *report;
	int rc;
};

/* Elements of a rank's call: one byte each. */
static size_t count_of(int coll, size_t bytes)
{
	return coll == 2 || coll == 3 ? bytes / (size_t)opt.ranks : bytes;
}

/* The application's tag of a collective. */
static uint64_t tag_of(uint64_t seq)
{
	return opt.tags ? seq % (opt.tags + 1) : 0;
}

static bool is_odd(const struct odd *o, int rank, uint64_t seq)
{
	return o->every && o->rank == rank && seq % (uint64_t)o->every == (uint64_t)o->every - 1;
}

/* Do the ranks run a symmetric kernel, for which at most one tuner is asked? */
static bool in_windows(uint64_t seq)
{
	return opt.windows.until && seq < __atomic_load_n(&meet->plain_from, __ATOMIC_SEQ_CST);
}

/* The call of the API, before the tuner is asked. */
static void call(struct rank *me, int i, uint64_t seq, int coll, size_t bytes, struct host_coll *k)
{
	uint64_t groups = (uint64_t)opt.groups;
	struct host_prof *p = &me->prof[i * opt.groups + (int)(seq % groups)];

	*k = (struct host_coll){ .func = coll,
				 .datatype = 1,
				 .count = count_of(coll, bytes),
				 .tag = tag_of(seq),
				 .symmetric = in_windows(seq) };
	/* NCCL asks once for two calls of a group that it aggregates */
	if (is_odd(&opt.calls_only, me->first + i, seq) || opt.grouped)
		host_prof_lone_call(p, k);
	host_prof_call(p, k);
}

/* The calls of all communicators as one group. @called: of each rank and communicator */
static void group_calls(struct rank *me, uint64_t seq, int coll, size_t bytes,
			struct host_coll *called)
{
	for (int i = 0; i < me->count; i++)
		for (int g = 0; g < opt.groups; g++) {
			int at = (me->first + i) & 1 ? opt.groups - 1 - g : g;

			call(me, i, seq + (uint64_t)at, coll, bytes, &called[i + at * me->count]);
		}
}

/*
 * Stamps of a kernel that takes @ns. NCCL's GPUs count ns from anywhere, RCCL's
 * have ticks of 10 ns.
 */
static void stamp(struct host_coll *k, uint64_t seq, uint64_t ns)
{
	enum { TICK_NS = 10 };

	k->gpu_from = 1 + seq * 1000000000;
	if (opt.rccl) {
		k->gpu_from = (uint64_t)(now() * 1e9) / TICK_NS;
		ns /= TICK_NS;
	}
	k->gpu_to = k->gpu_from + ns;
}

/* What the profiler is told of it: the GPU's clock goes on by the time. */
static void tell(struct host_prof *p, uint64_t seq, int coll, size_t bytes,
		 const struct host_choice *c, const struct host_coll *called)
{
	/* more with each rank, so that they can be told apart */
	uint64_t ns = (uint64_t)(time_us(c, coll, bytes, seq) * 1000) +
		      (uint64_t)(p->rank * opt.rank_us * 1000);
	struct host_coll k = { .func = coll,
			       .algo = c->algo,
			       .proto = c->proto,
			       .datatype = 1,
			       .channels = c->channels < 255 ? c->channels : 255,
			       .ops = opt.nodes > 1 ? 2 : 0,
			       .steps = 2,
			       .seq = seq,
			       .count = count_of(coll, bytes),
			       .tag = called->tag,
			       .symmetric = called->symmetric,
			       .called = called->called,
			       .group_api = called->group_api,
			       .coll_api = called->coll_api };

	stamp(&k, seq, ns);
	host_prof_coll(p, &k);
}

static long sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

/* A decision sleeps only at an undecided fence. */
static int timed_decide(struct host_comm *comm, int coll, size_t bytes, struct host_choice *c)
{
	long before = sleeps();
	double start = now();
	int rc = host_decide(comm, coll, bytes, 0, c);
	uint64_t ns = (uint64_t)((now() - start) * 1e9);
	uint64_t most = meet->longest_ns;

	__atomic_fetch_add(&meet->decisions, 1, __ATOMIC_RELAXED);
	if (sleeps() == before)
		return rc;
	__atomic_fetch_add(&meet->waits, 1, __ATOMIC_RELAXED);
	while (ns > most && !__atomic_compare_exchange_n(&meet->longest_ns, &most, ns, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return rc;
}

static int decide(struct host_comm *comm, int coll, size_t bytes, struct host_choice *c)
{
	return opt.stalls ? timed_decide(comm, coll, bytes, c)
			  : host_decide(comm, coll, bytes, 0, c);
}

/*
 * The first rank of all looks for the file. Others are at most opt.ahead
 * collectives ahead of it, so they see the end before they reach it.
 */
static void end_windows(uint64_t seq)
{
	if (in_windows(seq) && !access(opt.windows.until, F_OK))
		__atomic_store_n(&meet->plain_from, seq + 2 * opt.ahead + 1, __ATOMIC_SEQ_CST);
}

/* NCCL's answer for a rank, after it has asked the tuner or not. */
static int choose(struct rank *me, int i, uint64_t seq, int coll, size_t bytes,
		  struct host_choice *c)
{
	int at = i * opt.groups + (int)(seq % (uint64_t)opt.groups);
	int rank = me->first + i, rc = 0;

	if (rank == 0 && meet->plain_from == UINT64_MAX)
		end_windows(seq);
	if (is_odd(&opt.probe, rank, seq))
		rc = host_probe(&me->comm[at], coll, bytes, 0, c);
	if (!rc && of_half(seq) && rank & 1)
		rc = decide(&me->comm[at], coll, bytes, c);
	/* 2.31 looks for a symmetric kernel in this way, on each rank */
	if (!rc && in_windows(seq) && host_version >= 23100)
		rc = host_ask_nothing(&me->comm[at], coll, bytes);
	if (!rc && !in_windows(seq))
		rc = decide(&me->comm[at], coll, bytes, c);
	else if (!rc && rank == opt.windows.rank)
		rc = host_probe(&me->comm[at], coll, bytes, 0, c);
	if (in_windows(seq))
		*c = (struct host_choice){ .channels = 1, .us = 1 };
	return rc;
}

/* What a call's configuration selects. */
static unsigned selected(int rank, long loop)
{
	bool has = loop % 2 && (opt.offer.rank < 0 || opt.offer.rank == rank);

	return has ? opt.offer.algos : 0;
}

/* One collective on all ranks of this thread, as a group call makes it; the
 * communicators take turns. @called: an element for each rank, made by group_calls
 * with --grouped */
static int collective(struct rank *me, uint64_t seq, long loop, int coll, size_t bytes,
		      struct host_coll *called)
{
	keep_step(seq);
	while (meet->hung && !meet->stop)
		nap(1000);
	for (int i = 0; i < me->count && opt.events && !opt.grouped; i++)
		call(me, i, seq, coll, bytes, &called[i]);
	for (int i = 0; i < me->count; i++) {
		uint64_t groups = (uint64_t)opt.groups;
		int at = i * opt.groups + (int)(seq % groups);
		struct host_choice c;
		int rc;

		me->comm[at].select = selected(me->first + i, loop);
		rc = choose(me, i, seq, coll, bytes, &c);

		if (rc) {
			fprintf(stderr, "stand-in: rank %d: result %d\n", me->first + i, rc);
			return rc;
		}
		publish(me->first + i, seq, &c);
		if (opt.events)
			tell(&me->prof[at], seq / groups, coll, bytes, &c, &called[i]);
		if (me->report && i == 0)
			report(me->report, loop, coll, bytes, &c, seq / groups);
	}
	return 0;
}

static int one_loop(struct rank *me, uint64_t *seq, long loop)
{
	struct host_coll called[MAX_RANKS];

	if (me->first == 0 || opt.procs)
		read_contention();
	for (int k = 0; k < opt.ncolls; k++)
		for (size_t b = opt.min; b <= opt.max; b *= opt.factor) {
			if (opt.events && opt.grouped)
				group_calls(me, *seq, opt.colls[k], b, called);
			for (int g = 0; g < opt.groups; g++) {
				int at = opt.grouped ? g * me->count : 0;

				if (meet->stop)
					return 0;
				if (collective(me, (*seq)++, loop, opt.colls[k], b, &called[at]))
					return 1;
			}
		}
	if (opt.pause_ms)
		nap(opt.pause_ms * 1000L);
	return 0;
}

/* Which one a rank is in as its @group-th, @ranks of it, and as which @rank. */
static uint64_t member(int group, int *rank, int *ranks)
{
	int half = *rank & 1;

	*ranks = opt.ranks;
	if (!opt.split || group == 0)
		return (uint64_t)group;
	*ranks = (opt.ranks + 1 - half) / 2;
	*rank /= 2;
	return (uint64_t)(group + half);
}

/* NCCL's own node barrier. */
static void node_barrier(void)
{
	if ((opt.procs || opt.threads || opt.meet) && !getenv("STANDIN_ALONE"))
		pthread_barrier_wait(&meet->all);
}

static void wait_for(const char *variable)
{
	const char *file = getenv(variable);

	while (file && access(file, F_OK) && !meet->stop)
		nap(1000);
}

/*
 * @id: of the first group. Up to 2.27, NCCL's barrier comes before the tuner's init, so ranks
 * decide before others have passed it.
 */
static int create(struct rank *me, uint64_t id)
{
	bool early = host_version < 22800;

	wait_for("STANDIN_LATE");
	if (early && !opt.events)
		node_barrier();
	for (int i = 0; i < me->count * opt.groups; i++) {
		int rank = me->first + i / opt.groups, ranks;
		uint64_t group = member(i % opt.groups, &rank, &ranks);

		me->comm[i] = (struct host_comm){ .plugin = &plugin,
						  .id = id + group,
						  .ranks = (size_t)ranks,
						  .nodes = (size_t)opt.nodes,
						  .max_channels = opt.rccl ? 112 : 32,
						  .nvls = opt.nvls,
						  .algos = plugin.abi == 2 ? 6 : HOST_ALGOS };
		if (opt.events) {
			me->prof[i] = (struct host_prof){
				.mask = &prof_mask,
				.name = "world",
				.id = id + group,
				.nodes = opt.nodes,
				.ranks = ranks,
				.rank = rank,
			};
			if (!host_prof_open(&me->prof[i], plugin.handle, opt.prof_abi) ||
			    host_prof_init(&me->prof[i], plugin_log))
				return 1;
			if (early)
				node_barrier();
		}
		if (host_init(&me->comm[i], plugin_log))
			return 1;
	}
	if (!early)
		node_barrier();
	wait_for("STANDIN_HOLD");
	return 0;
}

static void *run(void *arg)
{
	struct rank *me = arg;
	double start = now();
	uint64_t seq = 0;
	long loop = 0;

	for (int c = 0; c < opt.comms && !me->rc; c++) {
		me->rc = create(me, FIRST_ID + (uint64_t)(c * (opt.groups + opt.split)));
		for (; !me->rc && !meet->stop; loop++) {
			if (opt.seconds > 0) {
				/* all end with the first whose time is up:
				 * nobody waits for one that has left */
				if (now() - start > opt.seconds)
					meet->stop = 1;
			} else if (loop >= opt.loops * (c + 1)) {
				break;
			}
			me->rc = one_loop(me, &seq, loop);
		}
		for (int i = 0; i < me->count * opt.groups; i++) {
			me->rc |= host_fini(&me->comm[i]);
			if (opt.events)
				host_prof_fini(&me->prof[i]);
		}
	}
	if (me->rc)
		meet->failed = meet->stop = 1;
	return NULL;
}

/* Opened here, after the fork: each process has a plugin of its own. */
static int work(int first, int count)
{
	static struct rank ranks[MAX_RANKS];
	pthread_t threads[MAX_RANKS];
	int n = opt.threads ? count : 1;

	/* NCCL goes on without a tuner; its profiler may be another file */
	if (host_open(&plugin, opt.abi) && !getenv("NCCL_PROFILER_PLUGIN"))
		return 1;
	if (!plugin.handle && opt.events)
		plugin.handle = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	for (int i = 0; i < n; i++) {
		ranks[i].first = first + i;
		ranks[i].count = opt.threads ? 1 : count;
		if (ranks[i].first == 0 && opt.report)
			ranks[i].report = fopen(opt.report, "a");
	}
	for (int i = 1; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, &ranks[i]))
			return 1;
	run(&ranks[0]);
	for (int i = 1; i < n; i++)
		pthread_join(threads[i], NULL);
	return meet->failed;
}

/* Leave so many descriptors to be opened. */
static void spare_files(int n)
{
	int next = dup(0);
	struct rlimit most = { (rlim_t)(next + n), (rlim_t)(next + n) };

	close(next);
	setrlimit(RLIMIT_NOFILE, &most);
}

static void set_environment(int rank)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", rank);
	setenv("RANK", text, 1);
	for (int i = 0; i < opt.nrank_env; i++) {
		char *end;

		if (strtol(opt.rank_env[i], &end, 10) != rank || *end != ':')
			continue;
		if (!strncmp(end + 1, "SPARE_FILES=", 12))
			spare_files(atoi(end + 13));
		else
			putenv(end + 1);
	}
}

static pid_t pids[MAX_RANKS];

/* After a rank has died the others get half a minute to end by themselves. */
static void on_alarm(int sig)
{
	(void)sig;
	for (int r = 0; r < opt.ranks; r++)
		kill(pids[r], SIGKILL);
}

static int processes(void)
{
	int status, bad = 0;

	signal(SIGALRM, on_alarm);

	for (int r = 0; r < opt.ranks; r++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		pids[r] = pid;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_environment(r);
		exit(work(r, 1));
	}
	for (;;) {
		if (wait(&status) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (status && !bad) {
			bad = 1;
			meet->stop = 1;
			alarm(30);
		}
	}
	return bad;
}

static void make_barrier(struct meeting *m)
{
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&m->all, &attr, (unsigned)opt.ranks);
	m->plain_from = UINT64_MAX;
	m->made = true;
}

/* Ranks that a launcher starts meet in a file; the first of them makes it. */
static struct meeting *meet_others(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct meeting *m = MAP_FAILED;

	if (fd >= 0 && !flock(fd, LOCK_EX) && !ftruncate(fd, sizeof(*m)))
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m != MAP_FAILED && !m->made)
		make_barrier(m);
	if (fd >= 0) {
		/* the mapping holds the file open, and so would the lock stay
		 */
		flock(fd, LOCK_UN);
		close(fd);
	}
	return m;
}

static int run_ranks(void)
{
	if (opt.meet)
		return work(opt.rank, 1);
	return opt.procs ? processes() : work(0, opt.ranks);
}

int main(int argc, char **argv)
{
	int rc;

	if (!standin_options(argc, argv)) {
		standin_usage(stderr);
		return 64;
	}
	if (opt.help) {
		standin_usage(stdout);
		return 0;
	}
	if (getenv("STANDIN_LOCALE"))
		setlocale(LC_ALL, ""); /* as an application may */
	standin_label(NULL);
	if (opt.rccl && !load_rccl())
		return 1;
	meet = opt.meet ? meet_others(opt.meet)
			: mmap(NULL, sizeof(*meet), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meet == MAP_FAILED)
		return 1;
	if (!opt.meet)
		make_barrier(meet);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	rc = run_ranks();
	replay_close(opt.table);
	if (opt.stalls)
		fprintf(stderr,
			"stand-in: %" PRIu64 " decisions, %" PRIu64
			" waited at a fence, the longest for %.0f ms\n",
			meet->decisions, meet->waits, (double)meet->longest_ns * 1e-6);
	return meet->diverged ? 3 : rc;
}
