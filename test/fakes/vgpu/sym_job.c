// SPDX-License-Identifier: MIT
// A job whose buffers are symmetric windows, so that NCCL may use kernels that it
// chooses without the tuner. A thread is a rank.
//
//	sym_job RANKS PLAIN BYTES FILE
//
// All-reduces of BYTES on windows until FILE exists; the first PLAIN ranks send
// from a buffer outside of their window. Then 50 all-reduces of 4 MiB without
// windows, on all ranks. Prints a line before each part, and at the end.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SYM_RANKS = 28, PLAIN_BYTES = 4 << 20, PLAIN_LOOPS = 50, PAUSE_US = 1000 };

static int nranks, nplain;
static size_t bytes;
static const char *file;
static ncclUniqueId id;
static pthread_barrier_t all;
static int ended; // written by rank 0 between two barriers

static void must(int rc, const char *what)
{
	if (!rc)
		return;
	fprintf(stderr, "sym_job: %s: error %d: %s\n", what, rc, ncclGetLastError(NULL));
	exit(1);
}
#define MUST(call) must((int)(call), #call)

static void all_reduce(ncclComm_t c, cudaStream_t s, const void *from, void *to, size_t n)
{
	MUST(ncclAllReduce(from, to, n / sizeof(float), ncclFloat, ncclSum, c, s));
	MUST(cudaStreamSynchronize(s));
}

static void say_once(int rank, const char *line)
{
	if (rank)
		return;
	puts(line);
	fflush(stdout);
}

static void *rank_main(void *arg)
{
	int r = (int)(intptr_t)arg;
	ncclWindow_t in_win, out_win;
	void *in, *out, *other;
	cudaStream_t s;
	ncclComm_t c;

	MUST(cudaSetDevice(r));
	MUST(cudaStreamCreate(&s));
	MUST(ncclCommInitRank(&c, nranks, id, r));
	MUST(ncclMemAlloc(&in, bytes));
	MUST(ncclMemAlloc(&out, bytes));
	MUST(cudaMalloc(&other, bytes > PLAIN_BYTES ? bytes : PLAIN_BYTES));
	MUST(ncclCommWindowRegister(c, in, bytes, &in_win, NCCL_WIN_COLL_SYMMETRIC));
	MUST(ncclCommWindowRegister(c, out, bytes, &out_win, NCCL_WIN_COLL_SYMMETRIC));
	say_once(r, "windows");
	while (!ended) {
		all_reduce(c, s, r < nplain ? other : in, out, bytes);
		usleep(PAUSE_US);
		pthread_barrier_wait(&all);
		if (r == 0)
			ended = access(file, F_OK) == 0;
		pthread_barrier_wait(&all);
	}
	say_once(r, "plain");
	for (int i = 0; i < PLAIN_LOOPS; i++)
		all_reduce(c, s, other, other, PLAIN_BYTES);
	MUST(ncclCommWindowDeregister(c, in_win));
	MUST(ncclCommWindowDeregister(c, out_win));
	MUST(ncclMemFree(in));
	MUST(ncclMemFree(out));
	MUST(ncclCommDestroy(c));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_SYM_RANKS];

	if (argc != 5) {
		fprintf(stderr, "usage: sym_job RANKS PLAIN BYTES FILE\n");
		return 64;
	}
	nranks = atoi(argv[1]);
	nplain = atoi(argv[2]);
	bytes = (size_t)atol(argv[3]);
	file = argv[4];
	if (nranks < 1 || nranks > MAX_SYM_RANKS || bytes < sizeof(float)) {
		fprintf(stderr, "sym_job: 1 to %d ranks, at least 4 bytes\n", MAX_SYM_RANKS);
		return 64;
	}
	MUST(ncclGetUniqueId(&id));
	pthread_barrier_init(&all, NULL, (unsigned)nranks);
	for (int r = 0; r < nranks; r++)
		must(pthread_create(&threads[r], NULL, rank_main, (void *)(intptr_t)r), "thread");
	for (int r = 0; r < nranks; r++)
		pthread_join(threads[r], NULL);
	say_once(0, "end");
	return 0;
}
