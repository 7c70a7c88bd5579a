// SPDX-License-Identifier: MIT
// What --check sends and what it expects: whole numbers from 1 to 1021 that
// depend on the rank and the element. So a chunk in the wrong place shows, and
// sums are exact in any order.
#include "test/fakes/vgpu/job.h"

#include <stdio.h>
#include <stdlib.h>

static float value(int rank, size_t i)
{
	enum { PRIME = 1021 };

	return (float)(((size_t)rank * 13 + i * 7) % PRIME + 1);
}

float *job_pattern(int rank, size_t bytes)
{
	float *v = malloc(bytes);

	if (!v) {
		fprintf(stderr, "job: rank %d: no memory for --check\n", rank);
		return NULL;
	}
	for (size_t i = 0; i < bytes / sizeof(float); i++)
		v[i] = value(rank, i);
	return v;
}

static float sum(int nranks, size_t i)
{
	float v = 0;

	for (int r = 0; r < nranks; r++)
		v += value(r, i);
	return v;
}

// Element @i of what @rank has received; @n as for job_received.
static float expected(enum coll c, int rank, int nranks, size_t n, size_t i)
{
	switch (c) {
	case SENDRECV:
		return value((rank + nranks - 1) % nranks, i);
	case BROADCAST:
		return value(0, i);
	case ALLGATHER:
	case ALLGATHERV:
		return value((int)(i / n), i % n);
	case REDUCESCATTER:
		return sum(nranks, (size_t)rank * n + i);
	case ALLREDUCE:
	case REDUCE:
		break;
	}
	return sum(nranks, i);
}

size_t job_received(enum coll c, int rank, int nranks, size_t n)
{
	if (c == ALLGATHER || c == ALLGATHERV)
		return n * (size_t)nranks;
	return c == REDUCE && rank != 0 ? 0 : n;
}

int job_compare(const struct opts *o, enum coll c, int rank, const float *got, size_t n,
		const char *what)
{
	for (size_t i = 0; i < job_received(c, rank, o->nranks, n); i++) {
		float want = expected(c, rank, o->nranks, n, i);

		if (got[i] >= want && got[i] <= want)
			continue;
		fprintf(stderr, "job: rank %d: %s: element %zu is %.9g, not %g\n", rank, what, i,
			(double)got[i], (double)want);
		return -1;
	}
	return 0;
}
