// SPDX-License-Identifier: MIT
/*
 * The job of the example runs four ranks in two processes. This file has its
 * options and its output.
 *
 *	[--mode direct|chunks] [--tokens N] [--topk K] [--hidden WORDS]
 *	[--skew PERCENT] [--rounds N] [--counts] [--hold]
 *
 * --skew sends this share of the tokens to expert 0 of rank 0 first. --counts
 * prints the number of puts between each pair of ranks. --hold prints "ready"
 * after the rounds. Each line on standard input then repeats the rounds, and
 * the end of standard input ends the job.
 */
#include "moe.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES = 4096 };

struct shared {
	pthread_barrier_t all;
	char blob[MOE_RANKS][MOE_BLOB];
	double ms[MOE_RANKS][SAMPLES]; /* times until the signals of a dispatch came */
	int nsamples[MOE_RANKS];
	uint64_t tokens[MOE_RANKS]; /* received in dispatch */
	struct moe_posted posted[MOE_RANKS][MOE_RANKS];
	int run; /* atomic: number of allowed runs; -1: end */
};

static struct shared *sh;
const struct moe_carrier_ops *moe_carrier;
struct moe_options moe_options = {
	.ntokens = 512, .topk = 2, .hidden = 512, .skew = 70, .nrounds = 20
};

void moe_die(const char *what)
{
	fprintf(stderr, "moe: %s\n", what);
	_exit(1);
}

void moe_meet(void)
{
	pthread_barrier_wait(&sh->all);
}

char *moe_blob(uint32_t r)
{
	return sh->blob[r];
}

/* ---- what is printed ---- */

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void report_counts(void)
{
	for (int r = 0; r < MOE_RANKS; r++)
		for (int p = 0; p < MOE_RANKS; p++)
			printf("count %d %d %llu %llu %llu\n", r, p,
			       (unsigned long long)sh->posted[r][p].puts,
			       (unsigned long long)sh->posted[r][p].signals,
			       (unsigned long long)sh->posted[r][p].bytes);
}

static void report(void)
{
	for (int r = 0; r < MOE_RANKS; r++) {
		double *v = sh->ms[r];
		int n = sh->nsamples[r];

		qsort(v, (size_t)n, sizeof(*v), ascending);
		printf("rank %d: %llu tokens for its experts; "
		       "all signals of a dispatch after %.2f ms (p90 %.2f ms)\n",
		       r, (unsigned long long)sh->tokens[r], v[n / 2], v[n * 9 / 10]);
		sh->nsamples[r] = 0;
		sh->tokens[r] = 0;
	}
	if (moe_options.counts)
		report_counts();
	printf("%s, %s: %d rounds, all sums are right\n", moe_carrier->words,
	       moe_options.chunks ? "chunks" : "direct", moe_options.nrounds);
	if (moe_options.hold)
		puts("ready");
	fflush(stdout);
}

/* ---- threads of the ranks ---- */

/* Wait until run @n is allowed. False: the job ends. */
static bool run_begins(int n)
{
	int run;

	while ((run = __atomic_load_n(&sh->run, __ATOMIC_ACQUIRE)) >= 0 && run < n)
		usleep(1000);
	return run >= 0;
}

static void *rank_run(void *arg)
{
	struct moe_rank *k = arg;

	moe_layer_open(k);
	for (int n = 1; run_begins(n); n++) {
		for (int i = 0; i < moe_options.nrounds; i++) {
			double ms = moe_layer_round(k, i, &sh->tokens[k->r]);

			sh->ms[k->r][sh->nsamples[k->r]++] = ms;
		}
		memcpy(sh->posted[k->r], k->posted, sizeof(k->posted));
		moe_meet();
		if (k->r == 0)
			report();
		moe_meet();
		if (!moe_options.hold)
			break;
	}
	moe_layer_close(k);
	return NULL;
}

static int process_run(uint32_t number)
{
	enum { EACH = MOE_RANKS / MOE_PROCESSES };
	static struct moe_rank ranks[EACH];
	pthread_t thread[EACH];
	char host[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* each process pretends to be a node */
	snprintf(host, sizeof(host), "node%u", number);
	setenv("NCCL_HOSTID", host, 1);
	for (uint32_t i = 0; i < EACH; i++) {
		ranks[i].r = number * EACH + i;
		moe_need(!pthread_create(&thread[i], NULL, rank_run, &ranks[i]), "thread");
	}
	for (int i = 0; i < EACH; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

/* ---- */

static uint32_t number(const char *text, uint32_t least, uint32_t most)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*end || !*text || v < least || v > most) {
		fprintf(stderr, "moe: %s is not in %u..%u\n", text, least, most);
		exit(64);
	}
	return (uint32_t)v;
}

/* Parse an option with a value. False: there is no such option. */
static bool option(const char *s, const char *v)
{
	struct moe_options *o = &moe_options;

	if (!strcmp(s, "--mode") && (!strcmp(v, "direct") || !strcmp(v, "chunks")))
		o->chunks = *v == 'c';
	else if (!strcmp(s, "--tokens"))
		o->ntokens = number(v, 1, 4096);
	else if (!strcmp(s, "--topk"))
		o->topk = number(v, 1, MOE_EXPERTS);
	else if (!strcmp(s, "--hidden"))
		o->hidden = number(v, 1, 16384);
	else if (!strcmp(s, "--skew"))
		o->skew = number(v, 0, 100);
	else if (!strcmp(s, "--rounds"))
		o->nrounds = (int)number(v, 1, SAMPLES);
	else
		return false;
	return true;
}

static void options(int argc, char **argv, int first)
{
	for (int i = first; i < argc; i++) {
		const char *s = argv[i];

		if (!strcmp(s, "--hold")) {
			moe_options.hold = true;
		} else if (!strcmp(s, "--counts")) {
			moe_options.counts = true;
		} else if (i + 1 >= argc || !option(s, argv[++i])) {
			fprintf(stderr, "moe: bad option %s\n", s);
			exit(64);
		}
	}
}

static void obey(void)
{
	char line[64];

	__atomic_store_n(&sh->run, 1, __ATOMIC_RELEASE);
	while (moe_options.hold && fgets(line, sizeof(line), stdin))
		__atomic_fetch_add(&sh->run, 1, __ATOMIC_RELEASE);
	if (moe_options.hold)
		__atomic_store_n(&sh->run, -1, __ATOMIC_RELEASE);
}

int moe_main(int argc, char **argv, int first_option, const struct moe_carrier_ops *carrier)
{
	pthread_barrierattr_t a;
	pid_t pids[MOE_PROCESSES];
	int status, bad = 0;

	options(argc, argv, first_option);
	moe_carrier = carrier;
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	moe_need(sh != MAP_FAILED, "shared memory");
	pthread_barrierattr_init(&a);
	pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&sh->all, &a, MOE_RANKS);
	for (uint32_t p = 0; p < MOE_PROCESSES; p++) {
		pids[p] = fork();
		if (!pids[p])
			_exit(process_run(p));
	}
	obey();
	/* end all ranks, because the others would wait for a failed rank */
	while (wait(&status) > 0)
		for (int p = 0; status && p < MOE_PROCESSES; p++, bad = 1)
			kill(pids[p], SIGKILL);
	return bad != 0;
}
