// SPDX-License-Identifier: MIT
// Options of the training job.
#include "test/fakes/vgpu/job.h"

#include <errno.h>
#include <getopt.h>
#include <nccl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: job [--ranks N] [--procs [--per-node N]] [--coll NAME,...]\n"
	"           [--min SIZE] [--max SIZE] [--factor N]\n"
	"           [--seconds S] [--loops N] [--pause-ms MS] [--report FILE]\n"
	"           [--check] [--hold] [--nccl] [--rank-env R:NAME=VALUE]...\n"
	"  --ranks N      ranks of the job (8)\n"
	"  --procs        one process per rank; RANK is in its environment\n"
	"  --per-node N   with --procs: N ranks on each pretended node\n"
	"  --coll         allreduce, allgather, reducescatter, broadcast,\n"
	"                 reduce, sendrecv, allgatherv: broadcasts of all ranks\n"
	"                 in a group (allreduce)\n"
	"  --min, --max   bytes, with K, M or G (1K, 256M)\n"
	"  --factor N     from one size to the next (2)\n"
	"  --seconds, --loops  when to end; one loop if neither is given\n"
	"  --pause-ms MS  between loops (0)\n"
	"  --report FILE  append a JSON line for each collective of rank 0\n"
	"  --rank-env     with --procs: a variable of rank R's environment\n"
	"  --hold         a rank that fails stays until the job is stopped\n"
	"  --nccl         print NCCL's version, such as 22809, and end\n"
	"  --check        compare every element that was received; on real\n"
	"                 GPUs, or on virtual ones with VGPU_DATA=1\n";

const char *const job_coll_name[NCOLL] = {
	"allreduce", "allgather", "reducescatter", "broadcast", "reduce", "sendrecv", "allgatherv",
};

static __attribute__((noreturn, format(printf, 1, 2))) void bad_usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "job: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n%s", usage);
	exit(EXIT_USAGE);
}

static long number(const char *name, const char *s, long least, long most)
{
	char *end;

	errno = 0;
	long v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < least || v > most)
		bad_usage("--%s: \"%s\" is not a number in %ld..%ld", name, s, least, most);
	return v;
}

static size_t size(const char *name, const char *s)
{
	enum { MOST_G = 64 };
	char *end;

	errno = 0;
	unsigned long long v = strtoull(s, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	unsigned long long most = (unsigned long long)MOST_G << 30 >> shift;
	bool complete = *end == 0 || (shift && end[1] == 0);
	if (errno || end == s || *s == '-' || !complete || v > most || v << shift < sizeof(float))
		bad_usage("--%s: \"%s\" is not a size in 4..%dG (bytes, or "
			  "with K, M, G)",
			  name, s, MOST_G);
	return (size_t)v << shift;
}

static double seconds(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || *end || !(v > 0))
		bad_usage("--seconds: \"%s\" is not a number above 0, or inf", s);
	return v;
}

static void add_coll(struct opts *o, const char *s, size_t len)
{
	for (int i = 0; i < NCOLL; i++) {
		if (strlen(job_coll_name[i]) != len || memcmp(job_coll_name[i], s, len) != 0)
			continue;
		if (o->ncoll == NCOLL)
			bad_usage("--coll: more than %d names", NCOLL);
		o->colls[o->ncoll++] = (enum coll)i;
		return;
	}
	bad_usage("--coll: \"%.*s\" is none of allreduce, allgather, "
		  "reducescatter, broadcast, reduce, sendrecv, allgatherv",
		  (int)len, s);
}

static void parse_colls(struct opts *o, const char *s)
{
	o->ncoll = 0;
	for (;;) {
		size_t len = strcspn(s, ",");

		add_coll(o, s, len);
		if (!s[len])
			return;
		s += len + 1;
	}
}

enum opt {
	RANKS,
	PROCS,
	PER_NODE,
	COLL,
	MIN,
	MAX,
	FACTOR,
	SECONDS,
	LOOPS,
	PAUSE_MS,
	REPORT,
	CHECK,
	HOLD,
	RANK_ENV,
	RANK,
	SHARED,
	NCCL,
	HELP
};

static const struct option long_opts[] = {
	{ "ranks", required_argument, NULL, RANKS },
	{ "procs", no_argument, NULL, PROCS },
	{ "per-node", required_argument, NULL, PER_NODE },
	{ "coll", required_argument, NULL, COLL },
	{ "min", required_argument, NULL, MIN },
	{ "max", required_argument, NULL, MAX },
	{ "factor", required_argument, NULL, FACTOR },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "loops", required_argument, NULL, LOOPS },
	{ "pause-ms", required_argument, NULL, PAUSE_MS },
	{ "report", required_argument, NULL, REPORT },
	{ "check", no_argument, NULL, CHECK },
	{ "hold", no_argument, NULL, HOLD },
	{ "rank-env", required_argument, NULL, RANK_ENV },
	{ "rank", required_argument, NULL, RANK },
	{ "shared", required_argument, NULL, SHARED },
	{ "nccl", no_argument, NULL, NCCL },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static void add_rank_env(struct opts *o, const char *s)
{
	size_t digits = strspn(s, "0123456789");

	if (!digits || s[digits] != ':' || !strchr(s + digits, '='))
		bad_usage("--rank-env: \"%s\" is not R:NAME=VALUE", s);
	if (o->nrank_env == MAX_RANK_ENV)
		bad_usage("--rank-env: more than %d", MAX_RANK_ENV);
	o->rank_env[o->nrank_env++] = s;
}

void job_rank_env(const struct opts *o, int rank)
{
	for (int i = 0; i < o->nrank_env; i++) {
		char *set;

		if (strtol(o->rank_env[i], &set, 10) == rank)
			putenv(set + 1);
	}
}

static void print_version(void)
{
	int v = 0;

	ncclGetVersion(&v);
	printf("%d\n", v);
}

static void parse_one(struct opts *o, enum opt which, const char *arg)
{
	const char *name = long_opts[which].name;

	switch (which) {
	case RANKS:
		o->nranks = (int)number(name, arg, 1, MAX_RANKS);
		break;
	case PROCS:
		o->procs = true;
		break;
	case PER_NODE:
		o->per_node = (int)number(name, arg, 1, MAX_LOCAL);
		break;
	case COLL:
		parse_colls(o, arg);
		break;
	case MIN:
		o->min = size(name, arg);
		break;
	case MAX:
		o->max = size(name, arg);
		break;
	case FACTOR:
		o->factor = (int)number(name, arg, 2, 1 << 20);
		break;
	case SECONDS:
		o->seconds = seconds(arg);
		break;
	case LOOPS:
		o->loops = number(name, arg, 1, STOP - 1);
		break;
	case PAUSE_MS:
		o->pause_ms = number(name, arg, 0, 3600000);
		break;
	case REPORT:
		o->report = arg;
		break;
	case CHECK:
		o->check = true;
		break;
	case HOLD:
		o->hold = true;
		break;
	case RANK_ENV:
		add_rank_env(o, arg);
		break;
	case RANK:
		o->rank = (int)number(name, arg, 0, MAX_RANKS - 1);
		break;
	case SHARED:
		o->shared_fd = (int)number(name, arg, 0, 1 << 20);
		break;
	case NCCL:
		print_version();
		exit(0);
	case HELP:
		fputs(usage, stdout);
		exit(0);
	}
}

static void check_opts(struct opts *o)
{
	if (o->min > o->max)
		bad_usage("--min %zu is more than --max %zu", o->min, o->max);
	if (!o->procs && o->nranks > MAX_LOCAL)
		bad_usage("--ranks %d: at most %d without --procs", o->nranks, MAX_LOCAL);
	if (!o->procs && o->per_node)
		bad_usage("--per-node needs --procs");
	if (o->nrank_env && !o->procs)
		bad_usage("--rank-env needs --procs");
	for (int i = 0; i < o->ncoll; i++) {
		size_t least = 4 * (size_t)o->nranks; // a float for each rank

		if (job_in_parts(o->colls[i]) && o->min < least)
			bad_usage("--min %zu: %s on %d ranks needs at least "
				  "%zu bytes",
				  o->min, job_coll_name[o->colls[i]], o->nranks, least);
	}
	if (!o->loops && o->seconds <= 0)
		o->loops = 1;
}

void job_options(struct opts *o, int argc, char **argv)
{
	int c;

	*o = (struct opts){ .nranks = 8,
			    .factor = 2,
			    .ncoll = 1,
			    .min = 1 << 10,
			    .max = 256 << 20,
			    .rank = -1,
			    .shared_fd = -1 };
	while ((c = getopt_long(argc, argv, "", long_opts, NULL)) != -1) {
		if (c == '?')
			bad_usage("see above");
		parse_one(o, (enum opt)c, optarg);
	}
	if (optind < argc)
		bad_usage("\"%s\": no arguments are taken but options", argv[optind]);
	check_opts(o);
}
