// SPDX-License-Identifier: MIT
// Clock, medians, yardstick and rows: see bench.h.
#include "test/bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 1024, MAX_ROUNDS = 8192, ENTRIES = 21 };

static double rounds[MAX_ROUNDS];
static int nrounds;

double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double bench_median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), ascending);
	return v[n / 2];
}

static __attribute__((noinline)) int nothing(void *ctx, int coll, size_t size, int ops,
					     float **table, int algos, int protos, int reg_buff,
					     int *channels)
{
	(void)ctx, (void)coll, (void)size, (void)ops, (void)table;
	(void)algos, (void)protos, (void)reg_buff, (void)channels;
	__asm__ volatile("");
	return 0;
}

static double yardstick(void)
{
	static const float plain[ENTRIES];
	int (*volatile fn)(void *, int, size_t, int, float **, int, int, int, int *) = nothing;
	float table[ENTRIES];
	double start = bench_now();

	for (unsigned i = 0; i < CALLS; i++) {
		int channels = 0;

		memcpy(table, plain, sizeof(table));
		__asm__ volatile("" : : "r"(table) : "memory");
		fn(&rounds, 4, (size_t)1024 << (i % 18), 1, (float **)(void *)table, 7, 3, 0,
		   &channels);
		__asm__ volatile("" : : "r"(table) : "memory");
	}
	return (bench_now() - start) / CALLS;
}

/* Twice: what was measured before it has left other things in the caches. */
void bench_yardstick(void)
{
	if (nrounds == MAX_ROUNDS)
		return;
	yardstick();
	rounds[nrounds++] = yardstick();
}

double bench_unit(void)
{
	return nrounds ? bench_median(rounds, nrounds) : 0.0;
}

static FILE *table(void)
{
	const char *path = getenv("BENCH_ROWS");

	return path ? fopen(path, "a") : NULL;
}

void bench_row(const char *key, const char *text, double value, const char *unit, double budget)
{
	FILE *f = table();

	if (!f)
		return;
	fprintf(f, "%s\t%s\t%.4f\t%s\t%g\t%.4f\n", key, text, value, unit, budget, bench_unit());
	fclose(f);
}

void bench_skip(const char *key, const char *text, const char *why)
{
	FILE *f = table();

	if (!f)
		return;
	fprintf(f, "%s\t%s\t-\t%s\t0\t0\n", key, text, why);
	fclose(f);
}

void bench_anchor(const char *name, double native, double ours)
{
	FILE *f = table();

	if (!f)
		return;
	fprintf(f, "@\t%s\t%.4f\t%.4f\n", name, native, ours);
	fclose(f);
}
