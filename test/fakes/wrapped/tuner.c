// SPDX-License-Identifier: MIT
// A tuner of somebody else's, one object a version (V), and what it does in
// CHAIN_DOES: "ring" (Ring with LL, or v2: Ring with Simple, and 4 channels),
// "fail_init", "abort_open", "abort_init", "fail" (answers, and returns an
// error), "deny" (marks NCCL's own choice with -1, as NCCL marks what it does
// not offer), "hostile" (offers what NCCL does not, and absurd channels),
// "mute" (nothing is left), "nan", "hang" (no answer while the file CHAIN_HANGS
// exists), "edit" (as "ring", and edits the last constant that it is given),
// "leave" (ends its process, but not one that it has forked), "deaf" (as "leave",
// and does not end its process, either).
// A name after a colon is that of a rank, as RANK has it, which alone does so.
// At its end it says how often it was asked, and checks what it is given.
#include <math.h>
#include <signal.h>
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

/* Fork a process that never ends; unless @deaf, end this one. */
static void leave(bool deaf)
{
	signal(SIGALRM, SIG_IGN);
	while (!fork() || deaf)
		pause();
	_exit(0);
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
	if (!strcmp(does(), "leave") || !strcmp(does(), "deaf"))
		leave(!strcmp(does(), "deaf"));
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
	if ((strcmp(what, "ring") != 0 && strcmp(what, "edit") != 0) || table[RING_LL] < 0)
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
enum { LAST = (V >= 7 ? HOST_CONSTANTS_V7 : HOST_CONSTANTS) - 1 };

/*
 * The host numbers the constants from 1. Behind the first 84 there are five
 * tables for each generation of GPUs, of which NCCL since 2.32.6 has five, and
 * versions before v7 know four.
 */
static int check_constants(host_logger *log, const double *constants)
{
	const int have = V >= 7 ? 15 : 12, of = constants[84 + have] == 85.0 + have ? have : 15;

	for (int i = 0; i < 84; i++)
		if (constants[i] != 1.0 + i)
			return INTERNAL;
	for (int i = 0; i < 5 * have; i++)
		if (constants[84 + i] != 85.0 + of * (i / have) + i % have)
			return INTERNAL;
	log(3, INIT, "peer", 0, "peer: tuner v%d knows %d of %d constants", V, have, of);
	return 0;
}

static int init(void **ctx, uint64_t id, size_t ranks, size_t nodes, host_logger *log,
		struct host_nvl_domain_info *nvl, double *constants)
{
	/* what NCCL says there must have come through */
	if (!id || !nvl || !constants || check_constants(log, constants))
		return INTERNAL;
	if (!strcmp(does(), "fail_init"))
		constants[1] = -1.0; /* which must not stay */
	if (!strcmp(does(), "edit"))
		constants[LAST] = -1.0;
	if (strstr(does(), "_rccl"))
		constants[HOST_CONSTANTS_V7] = -1.0; /* NCCL has none there */
	if (!strcmp(does(), "fail_rccl"))
		return INTERNAL;
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
#if V == 6
EXPORT const struct host_tuner_v6 ncclTunerPlugin_v6 = { { "peer", init, get, end }, chunk };
#else
EXPORT const struct host_tuner_v6 ncclTunerPlugin_v7 = { { "peer", init, get, end }, chunk };
#endif
#endif
#endif
