// SPDX-License-Identifier: MIT
// A tuner of somebody else's, one object a version (V), and what it does in
// CHAIN_DOES: "ring" (Ring with LL, or v2: Ring with Simple, and 4 channels),
// "fail_init", "abort_open", "abort_init", "fail" (answers, and returns an
// error), "deny" (marks NCCL's own choice with -1, as NCCL marks what it does
// not offer), "hostile" (offers what NCCL does not, and absurd channels),
// "mute" (nothing is left), "nan", "hang" (no answer while the file CHAIN_HANGS
// exists). A name after a colon is that of a rank, as RANK has it, which alone
// does so. At its end it says how often it was asked, and checks what it is
// given.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/fakes/host/nccl.h"

#define EXPORT __attribute__((visibility("default")))

enum { RING_LL = 3, TREE_LL = 0, NVLS_LL = 12, INTERNAL = 3, INIT = 1 };

struct tuner {
	host_logger *log;
	unsigned asked, chunks;
	size_t ranks;
};

static const char *does(void)
{
	static char word[32];
	const char *what = getenv("CHAIN_DOES"), *rank = getenv("RANK");
	const char *at = what ? strchr(what, ':') : NULL;

	if (!what || (at && (!rank || strcmp(at + 1, rank))))
		return "ring";
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(what, ":"), what);
	return word;
}

__attribute__((constructor)) static void opened(void)
{
	if (!strcmp(does(), "abort_open"))
		abort();
}

static int start(void **ctx, size_t ranks, size_t nodes, host_logger *log)
{
	struct tuner *t;

	*ctx = NULL;
	log(3, INIT, "peer", 0, "peer: tuner v%d init, %zu ranks, %zu nodes", V, ranks, nodes);
	if (!strcmp(does(), "fail_init"))
		return INTERNAL;
	if (!strcmp(does(), "abort_init"))
		abort();
	t = calloc(1, sizeof(*t));
	if (!t)
		return INTERNAL;
	t->log = log;
	t->ranks = ranks;
	*ctx = t;
	return 0;
}

static int end(void *ctx)
{
	struct tuner *t = ctx;

	if (!t)
		return 0;
	t->log(3, INIT, "peer", 0, "peer: tuner v%d was asked %u times, %u", V, t->asked,
	       t->chunks);
	free(t);
	return 0;
}

#if V > 2
static void hang(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const char *file = getenv("CHAIN_HANGS");

	while (file && !access(file, F_OK))
		nanosleep(&pause, NULL);
}

static void deny_least(float *table, int n)
{
	int least = -1;

	for (int i = 0; i < n; i++)
		if (table[i] >= 0 && (least < 0 || table[i] < table[least]))
			least = i;
	if (least >= 0)
		table[least] = -1.0f;
}

static int answer(void *ctx, float **rows, int algos, int protos, int *channels)
{
	float *table = (float *)(void *)rows;
	struct tuner *t = ctx;
	const char *what = does();

	t->asked++;
	if (!strcmp(what, "hang"))
		hang();
	if (!strcmp(what, "hostile") || !strcmp(what, "fail")) {
		for (int i = 0; i < algos * protos; i++)
			table[i] = i == NVLS_LL ? 0.0f : 1.0f;
		*channels = *what == 'h' ? 100000 : -7;
		return *what == 'h' ? 0 : INTERNAL;
	}
	if (!strcmp(what, "deny"))
		deny_least(table, algos * protos);
	for (int i = 0; i < algos * protos; i++) {
		if (!strcmp(what, "mute"))
			table[i] = -1.0f;
		if (!strcmp(what, "nan"))
			table[i] = NAN;
	}
	if (strcmp(what, "ring") != 0 || table[RING_LL] < 0)
		return 0;
	table[RING_LL] = 0.0f;
	*channels = 4;
	return 0;
}
#endif

#if V == 2
static int init(size_t ranks, size_t nodes, host_logger *log, void **ctx)
{
	return start(ctx, ranks, nodes, log);
}
static int get(void *ctx, int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo,
	       int *proto, int *channels)
{
	struct tuner *t = ctx;
	const char *what = does();

	(void)coll, (void)bytes, (void)collnet, (void)nvls, (void)pipe_ops;
	t->asked++;
	*algo = 1;
	*proto = 2;
	*channels = 4;
	if (!strcmp(what, "hostile"))
		*algo = 4711, *proto = 2, *channels = -100000;
	return !strcmp(what, "fail") ? INTERNAL : 0;
}
EXPORT const struct host_tuner_v2 ncclTunerPlugin_v2 = { "peer", init, get, end };
#elif V < 5
static int init(size_t ranks, size_t nodes, host_logger *log, void **ctx)
{
	return start(ctx, ranks, nodes, log);
}
#if V == 3
static int get(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
	       int protos, int *channels)
#else
static int get(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
	       int protos, int reg_buff, int *channels)
#endif
{
	(void)coll, (void)bytes, (void)pipe_ops;
#if V == 4
	(void)reg_buff;
#endif
	return answer(ctx, table, algos, protos, channels);
}
#if V == 3
EXPORT const struct host_tuner_v3 ncclTunerPlugin_v3 = { "peer", init, get, end };
#else
EXPORT const struct host_tuner_v4 ncclTunerPlugin_v4 = { "peer", init, get, end };
#endif
#else
static int init(void **ctx, uint64_t id, size_t ranks, size_t nodes, host_logger *log,
		struct host_nvl_domain_info *nvl, double *constants)
{
	/* what NCCL says there must have come through */
	if (!id || !nvl || !constants || constants[1] != 2.0)
		return INTERNAL;
	if (!strcmp(does(), "fail_init"))
		constants[1] = -1.0; /* which must not stay */
	return start(ctx, ranks, nodes, log);
}
static int get(void *ctx, int coll, size_t bytes, int pipe_ops, float **table, int algos,
	       int protos, int reg_buff, int *channels)
{
	(void)coll, (void)bytes, (void)pipe_ops, (void)reg_buff;
	return answer(ctx, table, algos, protos, channels);
}
#if V == 5
EXPORT const struct host_tuner_v5 ncclTunerPlugin_v5 = { "peer", init, get, end };
#else
static int chunk(void *ctx, int coll, size_t bytes, int algo, int proto, int channels, size_t *size)
{
	struct tuner *t = ctx;
	const char *what = does();

	(void)coll, (void)bytes, (void)algo, (void)proto, (void)channels;
	t->chunks++;
	*size = !strcmp(what, "hostile") ? 1 : 65536;
	return !strcmp(what, "fail") ? INTERNAL : 0;
}
EXPORT const struct host_tuner_v6 ncclTunerPlugin_v6 = { { "peer", init, get, end }, chunk };
#endif
#endif
