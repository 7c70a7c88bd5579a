// SPDX-License-Identifier: MIT
// A training job as NCCL sees one: loops of collectives over sizes, on all
// ranks, until told to stop. It knows nothing about plugins or policies.
//
// One process with all ranks, or (--procs) one process per rank: then the
// first process starts the others, watches them and does nothing else. Loops
// are counted in memory that all share; rank 0 decides before each loop
// whether there is one more, so all ranks do the same number whatever moment
// a signal comes. Exit 0: every call of every rank succeeded.
#include "test/fakes/vgpu/job.h"

#include <cuda_runtime_api.h>
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <nccl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- what all processes share

struct shared {
	uint32_t stop;	  // somebody was asked to end the job
	uint32_t go;	  // loops that may be done, | STOP: there are no more
	uint32_t have_id; // id is set
	ncclUniqueId id;
};

static struct shared own; // until there is memory that all share
static struct shared *shared = &own;
static char dir[256]; // for VGPU_DIR, if it is ours

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

// Returns some time after the word has changed from old.
static void wait_word(uint32_t *word, uint32_t old)
{
	struct timespec second = { 1, 0 };

	syscall(SYS_futex, word, FUTEX_WAIT, old, &second, NULL, 0);
}

static uint32_t load(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *word, uint32_t v)
{
	__atomic_store_n(word, v, __ATOMIC_RELEASE);
	wake(word);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Whether a signal means "now": it comes a while after the first one. Within
// a second it is an echo: timeout(1) signals its child and then the group.
static bool insists(double *first)
{
	double t = now();

	if (*first == 0)
		*first = t;
	return t - *first > 1;
}

// The first signal: end after this loop. Another one, or a loop that does not
// end (a hang): leave now. With --procs the first process sees to the latter.
static void on_stop(int sig)
{
	static double first;
	static const char late[] = "job: the loop did not end after the signal; leaving\n";

	if (insists(&first) && shared == &own) {
		if (sig == SIGALRM && write(STDERR_FILENO, late, sizeof late - 1) < 0)
			_exit(EXIT_FAILED);
		if (dir[0])
			rmdir(dir);
		_exit(EXIT_FAILED);
	}
	__atomic_store_n(&shared->stop, 1, __ATOMIC_RELEASE);
	if (shared == &own && sig != SIGALRM)
		alarm(STOP_GRACE_S);
}

static void catch_stop(void)
{
	struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	if (shared == &own)
		sigaction(SIGALRM, &sa, NULL);
}

// ---- the ranks of this process

struct rank {
	int rank;
	ncclComm_t comm;
	cudaStream_t stream;
	void *send, *recv;
	float *host; // --check: a buffer of this process
	cudaEvent_t begin, end;
};

struct local {
	const struct opts *o;
	struct rank ranks[MAX_LOCAL];
	int n;
	FILE *report; // rank 0 alone
	double started;
};

static bool nccl_failed(int rank, const char *what, ncclResult_t r)
{
	if (r == ncclSuccess)
		return false;
	fprintf(stderr, "job: rank %d: %s: %s\n", rank, what, ncclGetErrorString(r));
	return true;
}

static bool cuda_failed(int rank, const char *what, cudaError_t r)
{
	if (r == cudaSuccess)
		return false;
	fprintf(stderr, "job: rank %d: %s: %s\n", rank, what, cudaGetErrorString(r));
	return true;
}

#define NCCL_FAILED(rank, fn, ...) nccl_failed(rank, #fn, fn(__VA_ARGS__))
#define CUDA_FAILED(rank, fn, ...) cuda_failed(rank, #fn, fn(__VA_ARGS__))

static bool is_leader(const struct local *l)
{
	return l->ranks[0].rank == 0;
}

static int device_of(const struct opts *o, int rank)
{
	return o->per_node ? rank % o->per_node : rank;
}

static int rank_fill(const struct opts *o, struct rank *r)
{
	r->host = job_pattern(r->rank, o->max);
	return !r->host || CUDA_FAILED(r->rank, cudaMemcpy, r->send, r->host, o->max,
				       cudaMemcpyHostToDevice)
		       ? -1
		       : 0;
}

// --check; what was received is gone after it.
static int rank_check(const struct opts *o, struct rank *r, enum coll c, size_t n, const char *what)
{
	size_t bytes = job_received(c, r->rank, o->nranks, n) * sizeof(float);

	if (CUDA_FAILED(r->rank, cudaMemcpy, r->host, r->recv, bytes, cudaMemcpyDeviceToHost) ||
	    CUDA_FAILED(r->rank, cudaMemset, r->recv, 0xff, bytes))
		return -1;
	return job_compare(o, c, r->rank, r->host, n, what);
}

static int rank_open(const struct opts *o, struct rank *r)
{
	int n = r->rank;

	if (CUDA_FAILED(n, cudaSetDevice, device_of(o, n)) ||
	    CUDA_FAILED(n, cudaStreamCreateWithFlags, &r->stream, cudaStreamNonBlocking) ||
	    CUDA_FAILED(n, cudaMalloc, &r->send, o->max) ||
	    CUDA_FAILED(n, cudaMalloc, &r->recv, o->max) ||
	    CUDA_FAILED(n, cudaEventCreate, &r->begin) || CUDA_FAILED(n, cudaEventCreate, &r->end))
		return -1;
	return o->check ? rank_fill(o, r) : 0;
}

// All at once, as a communicator ends only when its last rank does.
static int comms_close(struct local *l)
{
	for (int i = 0; i < l->n; i++) {
		if (NCCL_FAILED(l->ranks[i].rank, ncclCommFinalize, l->ranks[i].comm))
			return -1;
	}
	for (int i = 0; i < l->n; i++) {
		if (NCCL_FAILED(l->ranks[i].rank, ncclCommDestroy, l->ranks[i].comm))
			return -1;
	}
	return 0;
}

static int rank_close(struct rank *r)
{
	int n = r->rank;

	if (CUDA_FAILED(n, cudaEventDestroy, r->begin) ||
	    CUDA_FAILED(n, cudaEventDestroy, r->end) || CUDA_FAILED(n, cudaFree, r->send) ||
	    CUDA_FAILED(n, cudaFree, r->recv) || CUDA_FAILED(n, cudaStreamDestroy, r->stream))
		return -1;
	free(r->host);
	return 0;
}

static int connect_all(struct local *l)
{
	ncclComm_t comms[MAX_LOCAL];

	if (NCCL_FAILED(0, ncclCommInitAll, comms, l->n, NULL))
		return -1;
	for (int i = 0; i < l->n; i++)
		l->ranks[i].comm = comms[i];
	return 0;
}

static int connect_one(struct local *l)
{
	struct rank *r = &l->ranks[0];

	if (is_leader(l)) {
		if (NCCL_FAILED(0, ncclGetUniqueId, &shared->id))
			return -1;
		store(&shared->have_id, 1);
	}
	while (!load(&shared->have_id))
		wait_word(&shared->have_id, 0);
	if (NCCL_FAILED(r->rank, ncclCommInitRank, &r->comm, l->o->nranks, shared->id, r->rank))
		return -1;
	return 0;
}

// ---- one collective

// Float elements that NCCL's call is given; bytes as nccl-tests counts them.
static size_t count_of(enum coll c, size_t bytes, int nranks)
{
	size_t n = bytes / sizeof(float);

	return job_in_parts(c) ? n / (size_t)nranks : n;
}

static double bus_factor(enum coll c, int nranks)
{
	if (c == ALLREDUCE)
		return 2.0 * (nranks - 1) / nranks;
	if (job_in_parts(c))
		return (double)(nranks - 1) / nranks;
	return 1;
}

// Around the ring: to the next rank, from the one before.
static ncclResult_t sendrecv(const struct rank *r, size_t n, int nranks)
{
	ncclResult_t e =
		ncclSend(r->send, n, ncclFloat, (r->rank + 1) % nranks, r->comm, r->stream);

	return e ? e
		 : ncclRecv(r->recv, n, ncclFloat, (r->rank + nranks - 1) % nranks, r->comm,
			    r->stream);
}

static ncclResult_t broadcasts(const struct rank *r, size_t n, int nranks)
{
	ncclResult_t e = ncclSuccess;

	for (int root = 0; root < nranks && !e; root++)
		e = ncclBroadcast(r->send, (float *)r->recv + (size_t)root * n, n, ncclFloat, root,
				  r->comm, r->stream);
	return e;
}

static ncclResult_t enqueue(enum coll c, const struct rank *r, size_t n, int nranks)
{
	switch (c) {
	case SENDRECV:
		return sendrecv(r, n, nranks);
	case ALLGATHERV:
		return broadcasts(r, n, nranks);
	case ALLREDUCE:
		return ncclAllReduce(r->send, r->recv, n, ncclFloat, ncclSum, r->comm, r->stream);
	case ALLGATHER:
		return ncclAllGather(r->send, r->recv, n, ncclFloat, r->comm, r->stream);
	case REDUCESCATTER:
		return ncclReduceScatter(r->send, r->recv, n, ncclFloat, ncclSum, r->comm,
					 r->stream);
	case BROADCAST:
		return ncclBroadcast(r->send, r->recv, n, ncclFloat, 0, r->comm, r->stream);
	case REDUCE:
		return ncclReduce(r->send, r->recv, n, ncclFloat, ncclSum, 0, r->comm, r->stream);
	}
	return ncclInvalidArgument;
}

static int write_report(const struct local *l, uint32_t loop, enum coll c, size_t bytes, double us)
{
	double busbw = us > 0 ? (double)bytes * bus_factor(c, l->o->nranks) / (us * 1e3) : 0;

	fprintf(l->report,
		"{\"loop\":%u,\"coll\":\"%s\",\"bytes\":%zu,"
		"\"time_us\":%.3f,\"busbw_gbs\":%.2f}\n",
		loop, job_coll_name[c], bytes, us, busbw);
	if (!fflush(l->report))
		return 0;
	fprintf(stderr, "job: --report %s: %s\n", l->o->report, strerror(errno));
	return -1;
}

static int launch_all(struct local *l, enum coll c, size_t n, const char *what)
{
	for (int i = 0; i < l->n; i++) {
		struct rank *r = &l->ranks[i];

		if (CUDA_FAILED(r->rank, cudaEventRecord, r->begin, r->stream))
			return -1;
	}
	if (nccl_failed(l->ranks[0].rank, "ncclGroupStart", ncclGroupStart()))
		return -1;
	for (int i = 0; i < l->n; i++) {
		if (nccl_failed(l->ranks[i].rank, what, enqueue(c, &l->ranks[i], n, l->o->nranks)))
			return -1;
	}
	if (nccl_failed(l->ranks[0].rank, "ncclGroupEnd", ncclGroupEnd()))
		return -1;
	for (int i = 0; i < l->n; i++) {
		struct rank *r = &l->ranks[i];

		if (CUDA_FAILED(r->rank, cudaEventRecord, r->end, r->stream))
			return -1;
	}
	return 0;
}

// What NCCL's own threads have met: an error of the network, for example.
static ncclResult_t async_error(const struct local *l)
{
	ncclResult_t e = ncclSuccess;

	for (int i = 0; i < l->n && !e; i++)
		ncclCommGetAsyncError(l->ranks[i].comm, &e);
	return e;
}

// Waits for a stream. With --hold an error that NCCL's threads have met ends the wait, too: the
// kernels may wait for work that those threads have given up. The caller asks for the error.
static cudaError_t wait_stream(const struct local *l, cudaStream_t s)
{
	cudaError_t e;

	if (!l->o->hold)
		return cudaStreamSynchronize(s);
	while ((e = cudaStreamQuery(s)) == cudaErrorNotReady) {
		if (async_error(l))
			return cudaSuccess;
		usleep(200);
	}
	return e;
}

static int collective(struct local *l, uint32_t loop, enum coll c, size_t bytes)
{
	char what[80];
	float ms = 0;
	size_t n = count_of(c, bytes, l->o->nranks);

	snprintf(what, sizeof what, "%s of %zu bytes in loop %u", job_coll_name[c], bytes, loop);
	if (launch_all(l, c, n, what))
		return -1;
	for (int i = 0; i < l->n; i++) {
		if (cuda_failed(l->ranks[i].rank, what, wait_stream(l, l->ranks[i].stream)) ||
		    async_error(l))
			return -1;
		if (l->o->check && rank_check(l->o, &l->ranks[i], c, n, what))
			return -1;
	}
	if (!l->report)
		return 0;
	if (CUDA_FAILED(0, cudaEventElapsedTime, &ms, l->ranks[0].begin, l->ranks[0].end))
		return -1;
	if (job_in_parts(c))
		n *= (size_t)l->o->nranks;
	return write_report(l, loop, c, n * sizeof(float), (double)ms * 1e3);
}

// ---- loops

// Sleeps in slices: a signal may come to another thread of the process.
static void pause_ms(long ms)
{
	enum { SLICE_MS = 20 };

	while (ms > 0 && !load(&shared->stop)) {
		long slice = ms < SLICE_MS ? ms : SLICE_MS;
		struct timespec t = { 0, slice * 1000000 };

		nanosleep(&t, NULL);
		ms -= slice;
	}
}

// Rank 0's process: decide about loop k and tell the others.
static bool decide(const struct local *l, uint32_t k)
{
	const struct opts *o = l->o;
	bool end;

	if (k > 0 && !(o->loops && k >= o->loops))
		pause_ms(o->pause_ms);
	end = load(&shared->stop) || (o->loops && k >= o->loops) ||
	      (o->seconds > 0 && now() - l->started >= o->seconds);

	store(&shared->go, end ? k | STOP : k + 1);
	return !end;
}

static bool may_loop(const struct local *l, uint32_t k)
{
	if (is_leader(l))
		return decide(l, k);
	for (;;) {
		uint32_t go = load(&shared->go);

		if (k < (go & ~(uint32_t)STOP))
			return true;
		if (go & STOP)
			return false;
		// The error came after the last collective. The next collective reports it; the
		// leader may already wait there.
		if (l->o->hold && async_error(l))
			return true;
		wait_word(&shared->go, go);
	}
}

static int one_loop(struct local *l, uint32_t k)
{
	const struct opts *o = l->o;

	for (int i = 0; i < o->ncoll; i++) {
		for (size_t b = o->min; b <= o->max; b *= (size_t)o->factor) {
			if (collective(l, k, o->colls[i], b))
				return -1;
		}
	}
	return 0;
}

static int report_open(struct local *l)
{
	if (!is_leader(l) || !l->o->report)
		return 0;
	l->report = fopen(l->o->report, "ae");
	if (l->report)
		return 0;
	fprintf(stderr, "job: --report %s: %s\n", l->o->report, strerror(errno));
	return -1;
}

// After a failure. With --hold others can look at this process meanwhile.
static int held(const struct local *l)
{
	nccl_failed(l->ranks[0].rank, "asynchronous error", async_error(l));
	while (l->o->hold && !load(&shared->stop))
		usleep(20000);
	return -1;
}

static int local_run(struct local *l)
{
	uint32_t k = 0;

	if (report_open(l))
		return -1;
	for (int i = 0; i < l->n; i++) {
		if (rank_open(l->o, &l->ranks[i]))
			return -1;
	}
	if (l->o->procs ? connect_one(l) : connect_all(l))
		return -1;
	l->started = now();
	for (; may_loop(l, k); k++) {
		if (one_loop(l, k))
			return held(l);
	}
	if (comms_close(l))
		return -1;
	for (int i = 0; i < l->n; i++) {
		if (rank_close(&l->ranks[i]))
			return -1;
	}
	if (is_leader(l))
		printf("job: %d ranks, %u loops, ok\n", l->o->nranks, k);
	return fflush(stdout);
}

// ---- processes

// Files of NCCL's in shared memory that a process maps: without this they
// stay when it ends before its time.
static void unlink_nccl_shm(pid_t pid)
{
	static const char mark[] = "/dev/shm/nccl-";
	char path[64], line[512];

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		char *name = strstr(line, mark);

		line[strcspn(line, "\n")] = 0;
		if (name && !strchr(name + sizeof mark - 1, '/'))
			unlink(name);
	}
	fclose(f);
}

// A process that failed leaves without NCCL's and the plugins' destructors,
// which might wait for peers; one that did not ends as any program does.
static int leave(int status)
{
	if (!status)
		return 0;
	unlink_nccl_shm(getpid());
	fflush(NULL);
	_exit(status);
}

static int dir_make(void)
{
	const char *given = getenv("VGPU_DIR"), *tmp = getenv("TMPDIR");

	if (given && *given)
		return 0;
	if (!tmp || !*tmp || strlen(tmp) > sizeof dir - 20)
		tmp = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
	snprintf(dir, sizeof dir, "%s/vgpu-job-XXXXXX", tmp);
	if (!mkdtemp(dir)) {
		fprintf(stderr, "job: mkdtemp %s: %s\n", dir, strerror(errno));
		dir[0] = 0;
		return -1;
	}
	return setenv("VGPU_DIR", dir, 1);
}

static void dir_remove(void)
{
	DIR *d = dir[0] ? opendir(dir) : NULL;
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	}
	if (d)
		closedir(d);
	if (dir[0])
		rmdir(dir);
}

static int run_single(const struct opts *o)
{
	static struct local l;

	l.o = o;
	l.n = o->nranks;
	for (int i = 0; i < l.n; i++)
		l.ranks[i].rank = i;
	catch_stop();
	return local_run(&l) ? EXIT_FAILED : 0;
}

static int run_rank(const struct opts *o)
{
	static struct local l;
	void *p = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, o->shared_fd, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "job: rank %d: mmap --shared %d: %s\n", o->rank, o->shared_fd,
			strerror(errno));
		return EXIT_FAILED;
	}
	shared = p;
	close(o->shared_fd);
	l.o = o;
	l.n = 1;
	l.ranks[0].rank = o->rank;
	catch_stop();
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL); // the first process blocks some
	return local_run(&l) ? EXIT_FAILED : 0;
}

struct family {
	const struct opts *o;
	pid_t pids[MAX_RANKS]; // 0: has ended
	int nalive, nfailed;
	double stopped; // when the first signal came
	double give_up; // when to kill those that are left; 0: open, -1: done
};

static __attribute__((noreturn)) void exec_rank(const struct opts *o, int rank, int fd, char **argv,
						int argc)
{
	char rank_text[16], fd_text[16], host[32], self[4096];
	// By its real name, so that ps and pgrep show what it is.
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	char **v = calloc((size_t)argc + 5, sizeof *v);

	if (!v || len < 0)
		_exit(EXIT_FAILED);
	self[len] = 0;
	snprintf(rank_text, sizeof rank_text, "%d", rank);
	snprintf(fd_text, sizeof fd_text, "%d", fd);
	memcpy(v, argv, (size_t)argc * sizeof *v);
	v[argc] = (char *)(uintptr_t) "--rank";
	v[argc + 1] = rank_text;
	v[argc + 2] = (char *)(uintptr_t) "--shared";
	v[argc + 3] = fd_text;
	setenv("RANK", rank_text, 1);
	if (o->per_node) {
		snprintf(host, sizeof host, "node%d", rank / o->per_node);
		setenv("NCCL_HOSTID", host, 1);
	}
	job_rank_env(o, rank);
	execv(self, v);
	fprintf(stderr, "job: rank %d: execv %s: %s\n", rank, self, strerror(errno));
	_exit(EXIT_FAILED);
}

static int spawn(struct family *f, int fd, char **argv, int argc)
{
	pid_t parent = getpid();

	for (int r = 0; r < f->o->nranks; r++) {
		pid_t pid = fork();

		if (pid < 0) {
			fprintf(stderr, "job: fork of rank %d: %s\n", r, strerror(errno));
			return -1;
		}
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(EXIT_FAILED); // it died before the prctl
			exec_rank(f->o, r, fd, argv, argc);
		}
		f->pids[r] = pid;
		f->nalive++;
	}
	return 0;
}

static void kill_all(struct family *f)
{
	for (int r = 0; r < f->o->nranks; r++) {
		if (!f->pids[r])
			continue;
		unlink_nccl_shm(f->pids[r]);
		kill(f->pids[r], SIGKILL);
	}
}

static void ended(struct family *f, pid_t pid, int status)
{
	enum { GRACE_S = 1 }; // others may be about to say what went wrong
	int r = 0;

	while (r < f->o->nranks && f->pids[r] != pid)
		r++;
	if (r == f->o->nranks)
		return;
	f->pids[r] = 0;
	f->nalive--;
	if (!status)
		return;
	if (!f->nfailed++ && f->give_up >= 0)
		f->give_up = now() + GRACE_S;
	if (WIFSIGNALED(status) && f->give_up > 0)
		fprintf(stderr, "job: rank %d ended by signal %d\n", r, WTERMSIG(status));
	else if (WIFEXITED(status))
		fprintf(stderr, "job: rank %d ended with status %d\n", r, WEXITSTATUS(status));
}

static void reap(struct family *f)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		ended(f, pid, status);
}

static void watch(struct family *f, const sigset_t *set)
{
	struct timespec tick = { 0, 200000000 };

	while (f->nalive) {
		int sig = sigtimedwait(set, NULL, &tick);

		if (sig == SIGTERM || sig == SIGINT) {
			store(&shared->stop, 1);
			if (f->give_up == 0)
				f->give_up = now() + STOP_GRACE_S;
			if (insists(&f->stopped))
				f->give_up = now();
		}
		reap(f);
		if (f->give_up > 0 && now() > f->give_up && f->nalive) {
			if (!f->nfailed++)
				fprintf(stderr,
					"job: %d ranks did not end "
					"their loop; killed\n",
					f->nalive);
			kill_all(f);
			f->give_up = -1; // what ends from here on is our doing
		}
	}
}

static int run_procs(const struct opts *o, int argc, char **argv)
{
	static struct family f;
	sigset_t set;
	int fd = memfd_create("job", 0); // the ranks inherit it

	f.o = o;
	if (fd < 0 || ftruncate(fd, sizeof *shared)) {
		fprintf(stderr, "job: memfd: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	void *p = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "job: mmap: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	shared = p;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (spawn(&f, fd, argv, argc)) {
		f.nfailed++;
		kill_all(&f);
	}
	watch(&f, &set);
	return f.nfailed ? EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct opts o;
	int status;

	job_options(&o, argc, argv);
	if (o.rank >= 0 && o.shared_fd >= 0)
		return leave(run_rank(&o));
	if (dir_make())
		return EXIT_FAILED;
	status = o.procs ? run_procs(&o, argc, argv) : run_single(&o);
	dir_remove();
	return leave(status);
}
