// SPDX-License-Identifier: MIT
// A job of kernels that put and signal, played by host threads on virtual GPUs,
// with the real libnccl, its device headers and its progress thread. Every byte
// that arrives is checked. Ranks are threads, or processes of one rank each.
//
//	gin_job [--ranks N] [--procs] [--nodes K] [--times N] [--hold] MODE...
//
// With --hold, rank 0 reads a line after a peer has died or stopped.
//
// Status 0: each MODE printed its line. 77: there is no GIN here.
#include "gin_dev.hpp"

#include <csignal>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

enum { BYTES = 4 << 20, SIGNALS = 16, COUNTERS = 4, THREADS = 4 };

struct shared {
	ncclUniqueId id, second;
	pthread_barrier_t all;
};
static shared *sh;
static int nranks = 2, times = 200, nodes = 1;
static bool hold;

static void die(int rank, const char *what)
{
	fprintf(stderr, "gin_job: rank %d: %s\n", rank, what);
	_exit(1);
}

#define CHECK(r, x)                                           \
	do {                                                  \
		int rc_ = (int)(x);                           \
		if (rc_)                                      \
			die(r, (std::string(#x) + " gives " + \
				std::to_string(rc_))          \
				       .c_str());             \
	} while (0)
#define NEED(r, x)                  \
	do {                        \
		if (!(x))           \
			die(r, #x); \
	} while (0)

static void meet()
{
	pthread_barrier_wait(&sh->all);
}

static double now_us()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

// One rank's communicator, window and device communicator.
struct rank {
	int r;
	ncclComm_t comm;
	char *data;
	ncclWindow_t win;
	ncclDevComm dev;
	ncclGinBarrierHandle_t barrier; // of all ranks

	void open(const ncclUniqueId &id)
	{
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER // since 2.29
		ncclDevCommRequirements q = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;

		q.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#else
		ncclDevCommRequirements q{};
#endif
		ncclDevResourceRequirements_t need{};

		CHECK(r, cudaSetDevice(r % 8));
		CHECK(r, ncclCommInitRank(&comm, nranks, id, r));
		CHECK(r, ncclMemAlloc((void **)&data, BYTES));
		memset(data, 0, BYTES);
		CHECK(r, ncclCommWindowRegister(comm, data, BYTES, &win, 0));
		q.ginSignalCount = SIGNALS;
		q.ginCounterCount = COUNTERS;
		// The rail barrier is one of a rank per node: since 2.29 it has no signals for more.
		CHECK(r, ncclGinBarrierCreateRequirement(comm, ncclTeamWorld(comm), 1, &barrier,
							 &need));
		q.resourceRequirementsList = &need;
		CHECK(r, ncclDevCommCreate(comm, &q, &dev));
		NEED(r, dev.ginContextCount > 0);
		meet();
	}
	void close(bool leave_window)
	{
		meet();
		CHECK(r, ncclDevCommDestroy(comm, &dev));
		if (!leave_window)
			CHECK(r, ncclCommWindowDeregister(comm, win));
		CHECK(r, ncclCommDestroy(comm));
		if (!leave_window)
			CHECK(r, ncclMemFree(data));
	}
	void wait(ncclGin &g, unsigned signal, uint64_t least)
	{
		while (g.readSignal(signal) < least)
			sched_yield();
	}
	void reset(ncclGin &g, unsigned signal)
	{
		g.resetSignal(signal);
		meet();
	}
};

static unsigned char pattern(int from, int to, size_t round)
{
	return (unsigned char)(1 + from * 16 + to + (int)round * 7);
}

// Put with signal and counter from each rank to each, and a flush.
static void all_to_all(rank &k)
{
	const size_t per = 4096, in = 1 << 20;
	ncclGin gin(k.dev, 0);
	ncclTeam world = ncclTeamWorld(k.dev);

	k.reset(gin, 0);
	for (size_t i = 0; i < (size_t)times; i++) {
		for (int p = 0; p < nranks; p++)
			memset(k.data + (size_t)p * per, pattern(k.r, p, i),
			       per);
		meet();
		for (int p = 0; p < nranks; p++)
			gin.put(world, p, k.win, in + (size_t)k.r * per, k.win,
				(size_t)p * per, per, ncclGin_SignalInc{ 0 },
				ncclGin_CounterInc{ 1 });
		k.wait(gin, 0, (i + 1) * (uint64_t)nranks);
		for (int p = 0; p < nranks; p++)
			for (size_t b = 0; b < per; b++)
				NEED(k.r,
				     (unsigned char)k.data[in +
							   (size_t)p * per +
							   b] ==
					     pattern(p, k.r, i));
		gin.waitCounter(ncclCoopThread(), 1,
				(i + 1) * (uint64_t)nranks);
		gin.flush(ncclCoopThread());
		meet();
	}
}

// Ranks 0 and 1; the signal must not overtake the data.
static void ping_pong(rank &k)
{
	ncclGin gin(k.dev, 0);
	ncclTeam world = ncclTeamWorld(k.dev);

	for (size_t size :
	     { (size_t)4, (size_t)1024, (size_t)65536, (size_t)1 << 20 }) {
		int n = size > 65536 ? times / 10 + 1 : times;
		double from;

		k.reset(gin, 2);
		from = now_us();
		for (int i = 0; k.r < 2 && i < n; i++) {
			if (k.r == 1)
				k.wait(gin, 2, (uint64_t)i + 1);
			memset(k.data, i, size);
			gin.put(world, !k.r, k.win, 2 << 20, k.win, 0, size,
				ncclGin_SignalInc{ 2 });
			if (k.r == 0)
				k.wait(gin, 2, (uint64_t)i + 1);
			NEED(k.r, k.data[(2 << 20) + size - 1] == (char)i);
			gin.flush(ncclCoopThread());
		}
		if (k.r == 0)
			printf("# ping-pong of %zu B: %.1f us\n", size,
			       (now_us() - from) / n);
		meet();
	}
}

// Many 64-byte puts to one peer, by several threads on one ring.
static void many_small(rank &k)
{
	ncclTeam world = ncclTeamWorld(k.dev);
	std::vector<std::thread> threads;
	ncclGin gin(k.dev, 0);
	const int n = times * 10;
	double from;

	k.reset(gin, 5);
	from = now_us();
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back([&, i] {
			ncclGin own(k.dev, 0);
			size_t at = (size_t)(k.r * THREADS + i) * 64;

			memset(k.data + at, pattern(k.r, i, 3), 64);
			for (int t = 0; t < n; t++)
				own.put(world, (k.r + 1) % nranks, k.win,
					(3 << 20) + at, k.win, at, 64,
					ncclGin_SignalInc{ 5 });
		});
	for (auto &t : threads)
		t.join();
	k.wait(gin, 5, (uint64_t)n * THREADS);
	if (k.r == 0)
		printf("# %d puts of 64 B by %d threads: %.2f us each\n",
		       n * THREADS, THREADS, (now_us() - from) / (n * THREADS));
	for (int i = 0; i < THREADS; i++) {
		int p = (k.r + nranks - 1) % nranks;

		NEED(k.r,
		     (unsigned char)k.data[(3 << 20) + (p * THREADS + i) * 64 +
					   63] == pattern(p, i, 3));
	}
	meet();
}

// Threads of a kernel that work together.
struct host_coop {
	int rank, count;
	pthread_barrier_t *all;

	int thread_rank() const
	{
		return rank;
	}
	int size() const
	{
		return count;
	}
	int num_threads() const
	{
		return count;
	}
	void sync()
	{
		pthread_barrier_wait(all);
	}
};

// NCCL's own GIN barrier over all ranks. Since 2.29 a thread waits for a peer's
// signal before it signals its next peer, so there must be a thread for each peer.
static void barriers(rank &k)
{
	const int n = nranks > 2 ? nranks - 1 : 1;
	std::vector<std::thread> threads;
	pthread_barrier_t all;
	double from = now_us();

	pthread_barrier_init(&all, nullptr, (unsigned)n);
	for (int t = 0; t < n; t++)
		threads.emplace_back([&, t] {
			host_coop coop{ t, n, &all };
			ncclGin gin(k.dev, 0);

			for (int i = 0; i < times; i++) {
				ncclGinBarrierSession<host_coop> b(coop, gin, ncclTeamWorld(k.dev),
								   k.barrier, 0);
				b.sync(coop, cuda::memory_order_acq_rel,
				       ncclGinFenceLevel::Relaxed);
			}
		});
	for (auto &t : threads)
		t.join();
	if (k.r == 0)
		printf("# GIN barrier: %.1f us\n", (now_us() - from) / times);
	pthread_barrier_destroy(&all);
	meet();
}

// Windows registered while the progress thread runs, used, and deregistered
// while others are used.
static void late_windows(rank &k)
{
	ncclGin gin(k.dev, 0);
	ncclTeam world = ncclTeamWorld(k.dev);
	const size_t size = 1 << 20;

	k.reset(gin, 6);
	for (int i = 0; i < 5; i++) {
		ncclWindow_t own;
		char *mem;

		CHECK(k.r, ncclMemAlloc((void **)&mem, size));
		memset(mem, 0, size);
		CHECK(k.r, ncclCommWindowRegister(k.comm, mem, size, &own, 0));
		memset(k.data, 'l' + i, 5000);
		meet();
		gin.put(world, (k.r + 1) % nranks, own, size - 5000, k.win, 0,
			5000, ncclGin_SignalInc{ 6 });
		k.wait(gin, 6, (uint64_t)i + 1);
		NEED(k.r, mem[size - 5000] == 'l' + i);
		NEED(k.r, mem[size - 1] == 'l' + i && !mem[size - 5001]);
		gin.flush(ncclCoopThread());
		meet();
		CHECK(k.r, ncclCommWindowDeregister(k.comm, own));
		CHECK(k.r, ncclMemFree(mem));
	}
	meet();
}

// A second communicator: NCCL gives its connect no context.
static void second_comm(rank &k)
{
	rank other{ k.r, nullptr, nullptr, nullptr, {}, {} };

	other.open(sh->second);
	all_to_all(other);
	all_to_all(k);
	other.close(true);
}

// The last rank gets @signal in mid-put. The others' next puts fail, which
// becomes their communicator's asynchronous error. Processes only, the last
// mode.
static void broken(rank &k, int signal, const char *mode)
{
	ncclGin gin(k.dev, 0);
	ncclTeam world = ncclTeamWorld(k.dev);
	ncclResult_t state = ncclSuccess;

	for (int i = 0; state == ncclSuccess; i++) {
		gin.put(world, nranks - 1, k.win, 1 << 20, k.win, 0, 1 << 20,
			ncclGin_SignalInc{ 7 });
		if (k.r == nranks - 1 && i == 3)
			raise(signal);
		CHECK(k.r, ncclCommGetAsyncError(k.comm, &state));
		usleep(5000);
	}
	if (k.r == 0) {
		printf("%s: asynchronous error %d of process %d\n", mode,
		       (int)state, getpid());
		fflush(stdout);
		if (hold)
			getchar();
	}
	_exit(0);
}

static void killed(rank &k)
{
	broken(k, SIGKILL, "killed");
}

static void stopped(rank &k)
{
	broken(k, SIGSTOP, "stopped");
}

static const struct mode {
	const char *name;
	void (*run)(rank &k);
} modes[] = {
	{ "all-to-all", all_to_all },
	{ "ping-pong", ping_pong },
	{ "many-small", many_small },
	{ "barriers", barriers },
	{ "late-windows", late_windows },
	{ "second-comm", second_comm },
	{ "killed", killed },
	{ "stopped", stopped },
};

static void run_rank(int r, const std::vector<const mode *> &chosen)
{
	rank k{ r, nullptr, nullptr, nullptr, {}, {} };

	k.open(sh->id);
	for (const mode *m : chosen) {
		m->run(k);
		if (r == 0) {
			printf("%s\n", m->name);
			fflush(stdout);
		}
	}
	k.close(false);
}

static int run_processes(const std::vector<const mode *> &chosen)
{
	std::vector<pid_t> pids;
	int bad = 0;

	for (int r = 0; r < nranks; r++) {
		pid_t p = fork();

		if (!p) {
			std::string host =
				"node" + std::to_string(r * nodes / nranks);

			if (nodes > 1)
				setenv("NCCL_HOSTID", host.c_str(), 1);
			if (r == 0) {
				CHECK(r, ncclGetUniqueId(&sh->id));
				CHECK(r, ncclGetUniqueId(&sh->second));
			}
			meet();
			run_rank(r, chosen);
			exit(0);
		}
		pids.push_back(p);
	}
	for (pid_t p : pids) {
		int status;

		if (chosen.back()->run == stopped && p == pids.back())
			kill(p, SIGKILL);
		waitpid(p, &status, 0);
		if ((chosen.back()->run == killed ||
		     chosen.back()->run == stopped) &&
		    p == pids.back())
			continue;
		if (status && !bad)
			for (pid_t q : pids)
				kill(q, SIGKILL);
		bad |= status;
	}
	return bad != 0;
}

static int run_threads(const std::vector<const mode *> &chosen)
{
	std::vector<std::thread> threads;

	CHECK(0, ncclGetUniqueId(&sh->id));
	CHECK(0, ncclGetUniqueId(&sh->second));
	for (int r = 0; r < nranks; r++)
		threads.emplace_back(run_rank, r, chosen);
	for (auto &t : threads)
		t.join();
	return 0;
}

int main(int argc, char **argv)
{
	std::vector<const mode *> chosen;
	pthread_barrierattr_t a;
	bool procs = false;

	for (int i = 1; i < argc; i++) {
		std::string s = argv[i];

		if (s == "--procs") {
			procs = true;
		} else if (s == "--hold") {
			hold = true;
		} else if (s == "--ranks" && i + 1 < argc) {
			nranks = atoi(argv[++i]);
		} else if (s == "--nodes" && i + 1 < argc) {
			nodes = atoi(argv[++i]);
		} else if (s == "--times" && i + 1 < argc) {
			times = atoi(argv[++i]);
		} else {
			size_t n = chosen.size();

			for (const mode &m : modes)
				if (s == m.name)
					chosen.push_back(&m);
			if (chosen.size() == n) {
				fprintf(stderr, "gin_job: no mode %s\n",
					argv[i]);
				return 64;
			}
		}
	}
	if (chosen.empty())
		return 64;
	sh = (shared *)mmap(nullptr, sizeof(*sh), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_init(&a);
	pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&sh->all, &a, (unsigned)nranks);
	return procs ? run_processes(chosen) : run_threads(chosen);
}
