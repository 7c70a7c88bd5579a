// SPDX-License-Identifier: MIT
// Processes with the plugin in them, for tests of the control socket: ranks
// that decide without end, at a pace, until SIGTERM.
//
//	host [--ranks N] [--procs N] [--comms N] [--rate PER_S] [--abi V]
//	     [--sizes N] [--fork-after] [--extra N] [--rounds N] [--containers]
//
// --containers: each process has a PID namespace and a /proc of its own, so
// all processes have PID 1. No launcher has given them ranks.
// --rounds N: they decide N times and are idle then.
// --extra N: at SIGUSR1 the last rank asks N times more than the others, as
// ncclGroupSimulateEnd on some ranks does.
// At SIGUSR2 all ranks ask no more, as where CUDA graphs are replayed, and
// "halted" is printed when all have stopped; at the next they go on.
//
// Prints one line "socket PATH" for each process (or "socket -"), then
// "ready", and at the end "decisions N diverged N". Lines of the plugin's
// log go to stderr. Ranks keep within a few decisions of each other, as
// collectives make them; those of a process that died are left out.
// Exit status: 0; 1 a call failed; 3 ranks took different decisions.
#include <dirent.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/fakes/host/nccl.h"

enum { RANKS = 32, COMMS = 8, RING = 256, AHEAD = 8, ALL_REDUCE = 4 };

struct answer {
	uint64_t seq; /* plus one; stored last */
	int algo, proto, channels;
};

/* Shared by all processes. */
struct meeting {
	pthread_barrier_t inited;
	int stop, failed, diverged, ready, told, simulate, halted;
	uint64_t halt_at; /* round; 0: none */
	int dead[RANKS];
	uint64_t done[RANKS]; /* rounds */
	struct answer ring[COMMS][RANKS][RING];
};

static struct {
	int ranks, procs, comms, abi, sizes, extra, rounds;
	long rate;
	bool fork_after, containers;
} opt = { .ranks = 1, .procs = 1, .comms = 1, .abi = 5, .sizes = 8, .rate = 2000 };

static struct meeting *meet;
static struct host_plugin plugin;

#define SET(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
#define GET(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)

static void log_line(int level, unsigned long flags, const char *file, int line, const char *fmt,
		     ...)
{
	char text[1024];
	va_list ap;

	(void)flags, (void)file, (void)line;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "log %d %s\n", level, text);
}

static void on_term(int sig)
{
	(void)sig;
	SET(meet->stop, 1);
}

static void on_usr1(int sig)
{
	(void)sig;
	SET(meet->simulate, 1);
}

/* A round that nobody has come to. */
static void on_usr2(int sig)
{
	uint64_t most = 0;

	(void)sig;
	for (int r = 0; r < opt.ranks; r++)
		most = GET(meet->done[r]) > most ? GET(meet->done[r]) : most;
	SET(meet->halted, 0);
	SET(meet->halt_at, GET(meet->halt_at) ? 0 : most + 2 * AHEAD);
}

/* Stands a rank still? @was: it did. */
static bool halted(uint64_t round, bool *was)
{
	uint64_t at = GET(meet->halt_at);
	bool is = at && round >= at;

	if (is && !*was && __atomic_add_fetch(&meet->halted, 1, __ATOMIC_ACQ_REL) == opt.ranks) {
		printf("halted\n");
		fflush(stdout);
	}
	*was = is;
	return is;
}

/* Questions whose answers nobody uses: the others ask none. */
static bool simulate(struct host_comm *comm, int rank)
{
	struct host_choice c;

	if (rank != opt.ranks - 1 || !GET(meet->simulate))
		return true;
	SET(meet->simulate, 0);
	for (int i = 0; i < opt.extra; i++)
		if (host_decide(comm, ALL_REDUCE, 777, 0, &c))
			return false;
	return true;
}

/* Wait until no living rank is more than AHEAD rounds behind. */
static bool may_go_on(uint64_t round)
{
	for (int r = 0; r < opt.ranks; r++)
		while (GET(meet->done[r]) + AHEAD < round && !GET(meet->dead[r])) {
			if (GET(meet->stop))
				return false;
			usleep(50);
		}
	return true;
}

/* Compare with the ranks that have decided this round already. */
static void compare(int comm, int rank, uint64_t round, const struct host_choice *c)
{
	struct answer *mine = &meet->ring[comm][rank][round % RING];

	mine->algo = c->algo;
	mine->proto = c->proto;
	mine->channels = c->channels;
	__atomic_store_n(&mine->seq, round + 1, __ATOMIC_SEQ_CST);
	for (int r = 0; r < opt.ranks; r++) {
		struct answer *a = &meet->ring[comm][r][round % RING];

		if (r == rank || __atomic_load_n(&a->seq, __ATOMIC_SEQ_CST) != round + 1)
			continue;
		if (a->algo == c->algo && a->proto == c->proto && a->channels == c->channels)
			continue;
		if (!__atomic_fetch_add(&meet->diverged, 1, __ATOMIC_SEQ_CST))
			fprintf(stderr,
				"diverged: comm %d decision %llu: rank %d took "
				"%d/%d/%d, rank %d %d/%d/%d\n",
				comm, (unsigned long long)round, rank, c->algo, c->proto,
				c->channels, r, a->algo, a->proto, a->channels);
	}
}

static void pace(uint64_t round)
{
	static const long second = 1000000000;
	struct timespec t = { 0, opt.rate ? second / opt.rate : 0 };

	if (opt.rate)
		nanosleep(&t, NULL);
	else if (round % 64 == 0)
		sched_yield();
}

static bool one_round(struct host_comm *comms, int rank, uint64_t round)
{
	size_t bytes = (size_t)1024 << 2 * (round % (uint64_t)opt.sizes);
	struct host_choice c;

	for (int i = 0; i < opt.comms; i++) {
		if (host_decide(&comms[i], ALL_REDUCE, bytes, 0, &c)) {
			SET(meet->failed, 1);
			return false;
		}
		compare(i, rank, round, &c);
	}
	return true;
}

static void *rank_main(void *arg)
{
	int rank = (int)(long)arg;
	struct host_comm comms[COMMS];
	uint64_t round = 0;
	bool was = false;

	for (int i = 0; i < opt.comms; i++) {
		comms[i] = (struct host_comm){
			.plugin = &plugin,
			.id = 0xab00000000000000 + (uint64_t)i,
			.ranks = (size_t)opt.ranks,
			.nodes = 1,
			.max_channels = 24,
			.nvls = true,
			.algos = HOST_ALGOS,
		};
		if (host_init(&comms[i], log_line))
			SET(meet->failed, 1);
		/* NCCL's barrier after init */
		pthread_barrier_wait(&meet->inited);
	}
	__atomic_add_fetch(&meet->ready, 1, __ATOMIC_ACQ_REL);
	while (!GET(meet->stop) && may_go_on(round)) {
		if (!simulate(&comms[0], rank))
			break;
		if (halted(round, &was) || (opt.rounds && round == (uint64_t)opt.rounds)) {
			usleep(1000);
			continue;
		}
		if (!one_round(comms, rank, round))
			break;
		SET(meet->done[rank], ++round);
		pace(round);
	}
	SET(meet->dead[rank], 1);
	for (int i = 0; i < opt.comms; i++)
		if (host_fini(&comms[i]))
			SET(meet->failed, 1);
	return NULL;
}

/* The socket of this process, as a client would find it. */
static void print_socket(void)
{
	const char *path = getenv("NCCLBPF_SOCKET_DIR");
	DIR *dir = path ? opendir(path) : NULL;
	char end[32];
	struct dirent *e;

	snprintf(end, sizeof(end), ".%d.sock", (int)getpid());
	while (dir && (e = readdir(dir)))
		if (strstr(e->d_name, end)) {
			printf("socket %s/%s\n", path, e->d_name);
			closedir(dir);
			fflush(stdout);
			return;
		}
	printf("socket -\n");
	fflush(stdout);
	if (dir)
		closedir(dir);
}

static void end_of_child(int sig)
{
	(void)sig;
}

/* A child of the process, made after the plugin has a thread: it must not
 * serve, nor remove at its end, its parent's socket. */
static void fork_child(void)
{
	pid_t pid;

	if (opt.containers && unshare(CLONE_NEWPID)) /* it has PID 1, too */
		exit(2);
	pid = fork();
	if (pid == 0) {
		signal(SIGTERM, end_of_child);
		pause();
		exit(0);
	}
	printf("child %d\n", (int)pid);
	fflush(stdout);
}

static int process(int first, int n)
{
	pthread_t t[RANKS];
	char rank[16];

	snprintf(rank, sizeof(rank), "%d", first);
	if (!opt.containers)
		setenv("RANK", rank, 1);
	if (host_open(&plugin, opt.abi))
		return 1;
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, rank_main, (void *)(long)(first + i)))
			return 1;
	while (GET(meet->ready) < opt.ranks && !GET(meet->stop))
		usleep(1000);
	if (opt.fork_after)
		fork_child();
	print_socket();
	__atomic_add_fetch(&meet->told, 1, __ATOMIC_ACQ_REL);
	if (opt.procs == 1 && !opt.containers) {
		printf("ready\n");
		fflush(stdout);
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return GET(meet->failed) ? 1 : 0;
}

/* Returns in a process with PID 1 and a /proc of its own; its parent ends as
 * it does. */
static void enter_container(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		exit(2);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mount("proc", "/proc", "proc", 0, NULL))
			exit(2);
		return;
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(2);
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

static bool child_ended(void)
{
	siginfo_t info = { .si_pid = 0 };

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

static int processes(void)
{
	int each = opt.ranks / opt.procs, status, bad = 0;
	pid_t pids[RANKS];

	for (int p = 0; p < opt.procs; p++) {
		pids[p] = fork();
		if (pids[p] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (opt.containers)
				enter_container();
			exit(process(p * each, each));
		}
	}
	while (GET(meet->told) < opt.procs && !GET(meet->stop) && !child_ended())
		usleep(1000);
	printf("ready\n");
	fflush(stdout);
	for (int left = opt.procs; left; left--) {
		pid_t pid = wait(&status);

		/* A rank that was killed is a test; any other end is not. */
		if (!WIFSIGNALED(status) && status)
			bad = 1;
		if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
			bad = 1;
		for (int p = 0; p < opt.procs; p++)
			for (int r = 0; pids[p] == pid && r < each; r++)
				SET(meet->dead[p * each + r], 1);
	}
	return bad;
}

static int parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "ranks", 1, NULL, 'r' },	{ "procs", 1, NULL, 'p' },
		{ "comms", 1, NULL, 'c' },	{ "rate", 1, NULL, 's' },
		{ "abi", 1, NULL, 'a' },	{ "sizes", 1, NULL, 'z' },
		{ "fork-after", 0, NULL, 'f' }, { "extra", 1, NULL, 'e' },
		{ "rounds", 1, NULL, 'n' },	{ "containers", 0, NULL, 'C' },
		{ NULL, 0, NULL, 0 },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		int v = optarg ? atoi(optarg) : 0;

		switch (o) {
		case 'r':
			opt.ranks = v;
			break;
		case 'p':
			opt.procs = v;
			break;
		case 'c':
			opt.comms = v;
			break;
		case 's':
			opt.rate = v;
			break;
		case 'a':
			opt.abi = v;
			break;
		case 'z':
			opt.sizes = v;
			break;
		case 'e':
			opt.extra = v;
			break;
		case 'n':
			opt.rounds = v;
			break;
		case 'C':
			opt.containers = true;
			break;
		case 'f':
			opt.fork_after = true;
			break;
		default:
			return 64;
		}
	}
	if (opt.ranks < 1 || opt.ranks > RANKS || opt.procs < 1 || opt.ranks % opt.procs ||
	    opt.comms < 1 || opt.comms > COMMS || opt.sizes < 1 || opt.sizes > 10 || opt.rate < 0)
		return 64;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t attr;
	uint64_t total = 0;
	int rc = parse(argc, argv);

	if (rc) {
		fprintf(stderr, "host: wrong options\n");
		return rc;
	}
	meet = mmap(NULL, sizeof(*meet), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (meet == MAP_FAILED)
		return 1;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&meet->inited, &attr, (unsigned)opt.ranks);
	alarm(3600); /* no test takes that long */
	signal(SIGTERM, on_term);
	signal(SIGINT, on_term);
	signal(SIGUSR1, on_usr1);
	signal(SIGUSR2, on_usr2);
	rc = opt.procs > 1 || opt.containers ? processes() : process(0, opt.ranks);
	for (int r = 0; r < opt.ranks; r++)
		total += meet->done[r] * (uint64_t)opt.comms;
	printf("decisions %llu diverged %d\n", (unsigned long long)total, meet->diverged);
	return rc ? rc : meet->diverged ? 3 : 0;
}
