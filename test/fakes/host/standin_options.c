// SPDX-License-Identifier: MIT
// Options of the stand-in for NCCL.
#include "test/fakes/host/standin.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/spec.h"
#include "test/fakes/host/nccl.h"
#include "test/fakes/host/replay.h"

struct standin_opts opt = { .ranks = 8,
			    .nodes = 1,
			    .abi = 5,
			    .prof_abi = 5,
			    .comms = 1,
			    .groups = 1,
			    .nvls = true,
			    .colls = { 4 },
			    .ncolls = 1,
			    .min = 1 << 10,
			    .max = 256 << 20,
			    .factor = 2,
			    .seconds = 0,
			    .rank_us = 1,
			    .loops = 1,
			    .ahead = 8,
			    .offer = { .rank = -1 } };

static size_t size(const char *s)
{
	char *end;
	size_t v = strtoull(s, &end, 10);

	return v << (*end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0);
}

static bool collectives(char *list)
{
	char *save = NULL;

	opt.ncolls = 0;
	for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		int c = nb_nccl_coll_named(w);

		if (c < 0 || opt.ncolls == MAX_COLLS)
			return false;
		opt.colls[opt.ncolls++] = c;
	}
	return opt.ncolls > 0;
}

/* Newest tuner interface that a release looks up. */
static int abi_of(const char *release)
{
	int minor = 0, patch = 0;

	if (sscanf(release, "2.%d.%d", &minor, &patch) < 1 || minor < 21)
		return 0;
	if (minor > 32 || (minor == 32 && patch >= 6))
		return 7;
	return minor >= 30 ? 6 : minor >= 28 ? 5 : minor >= 24 ? 4 : minor >= 22 ? 3 : 2;
}

/* And the profiler's. */
static int prof_abi_of(const char *release)
{
	int minor = 0;

	if (sscanf(release, "2.%d", &minor) != 1)
		return 0;
	return minor >= 31   ? 7
	       : minor >= 29 ? 6
	       : minor >= 28 ? 5
	       : minor >= 27 ? 4
	       : minor >= 26 ? 3
	       : minor >= 24 ? 2
			     : 1;
}

/* What ncclGetVersion tells; 0: not a release. */
static int version_of(const char *release)
{
	int minor = 0, patch = 0;

	if (sscanf(release, "2.%d.%d", &minor, &patch) < 1)
		return 0;
	return 20000 + minor * 100 + patch;
}

static bool odd(struct odd *to, const char *text)
{
	return sscanf(text, "%d:%d", &to->rank, &to->every) == 2 && to->every > 0;
}

static bool windows(char *text)
{
	char *end;

	opt.windows.rank = (int)strtol(text, &end, 10);
	opt.windows.until = end + 1;
	return end > text && *end == ':' && end[1];
}

/* [RANK:]ALGORITHM,... */
static bool offer(char *text)
{
	char *end, *save = NULL;
	long rank = strtol(text, &end, 10);

	if (*end == ':' && end > text) {
		opt.offer.rank = (int)rank;
		text = end + 1;
	}
	for (char *w = strtok_r(text, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		int algo = nb_nccl_algo_named(w);

		if (algo < 0)
			return false;
		opt.offer.algos |= 1u << algo;
	}
	return opt.offer.algos;
}

/* What times there are is known wherever they are shown. */
void standin_label(const char *table)
{
	const char *slash = table ? strrchr(table, '/') : NULL;
	char text[160];

	snprintf(text, sizeof(text), "%s%.100s (stand-in for NCCL)",
		 table ? "replayed from " : "of NCCL's cost table",
		 slash	 ? slash + 1
		 : table ? table
			 : "");
	setenv("NCCLBPF_TIMES", text, 0);
}

static bool option(const char *o, char *v)
{
	if (!strcmp(o, "ranks"))
		opt.ranks = atoi(v);
	else if (!strcmp(o, "nodes"))
		opt.nodes = atoi(v);
	else if (!strcmp(o, "comms"))
		opt.comms = atoi(v);
	else if (!strcmp(o, "groups"))
		opt.groups = atoi(v);
	else if (!strcmp(o, "nccl"))
		opt.abi = abi_of(v), opt.prof_abi = prof_abi_of(v), host_version = version_of(v);
	else if (!strcmp(o, "coll"))
		return collectives(v);
	else if (!strcmp(o, "min"))
		opt.min = size(v);
	else if (!strcmp(o, "max"))
		opt.max = size(v);
	else if (!strcmp(o, "factor"))
		opt.factor = size(v);
	else if (!strcmp(o, "seconds"))
		opt.seconds = atof(v);
	else if (!strcmp(o, "loops"))
		opt.loops = atol(v);
	else if (!strcmp(o, "pause-ms"))
		opt.pause_ms = atoi(v);
	else if (!strcmp(o, "ahead"))
		opt.ahead = strtoull(v, NULL, 10);
	else if (!strcmp(o, "tags"))
		opt.tags = strtoull(v, NULL, 10);
	else if (!strcmp(o, "rank-env") && opt.nrank_env < MAX_ENV)
		opt.rank_env[opt.nrank_env++] = v;
	else if (!strcmp(o, "probe"))
		return odd(&opt.probe, v);
	else if (!strcmp(o, "calls-only"))
		return odd(&opt.calls_only, v);
	else if (!strcmp(o, "windows"))
		return windows(v);
	else if (!strcmp(o, "offer"))
		return offer(v);
	else if (!strcmp(o, "contend"))
		opt.contend = v;
	else if (!strcmp(o, "noise"))
		opt.noise = atof(v) / 100;
	else if (!strcmp(o, "rank-us"))
		opt.rank_us = atof(v);
	else if (!strcmp(o, "rank"))
		opt.rank = atoi(v);
	else if (!strcmp(o, "meet"))
		opt.meet = v;
	else if (!strcmp(o, "report"))
		opt.report = v;
	else if (!strcmp(o, "table"))
		return standin_label(v), (opt.table = replay_open(v)) != NULL;
	return true;
}

void standin_usage(FILE *f)
{
	fputs("usage: standin [options], with NCCL_TUNER_PLUGIN naming the "
	      "library\n"
	      "  --ranks N        ranks of the job (8)\n"
	      "  --procs          one process a rank; --threads: one thread\n"
	      "  --rank R --meet FILE   be rank R alone: others start the "
	      "other ranks, with\n"
	      "                   the same FILE, which is made\n"
	      "  --nodes N        nodes that NCCL is told of (1)\n"
	      "  --comms N        communicators, one after the other (1)\n"
	      "  --groups N       communicators at once (1)\n"
	      "  --split          a communicator of all and one of each "
	      "parity\n"
	      "  --grouped        calls of all communicators in one group, odd ranks' in "
	      "the\n"
	      "                   opposite order\n"
	      "  --nccl RELEASE   ask as this release does (2.28.9)\n"
	      "  --coll LIST      collectives in turn, as allreduce,broadcast\n"
	      "  --min, --max S   sizes (1K to 256M), each --factor N (2) "
	      "times the last\n"
	      "  --seconds S      go on for so long; --loops N: so many "
	      "rounds (1)\n"
	      "  --pause-ms MS    between two rounds\n"
	      "  --ahead W        a rank may be so many decisions ahead (8)\n"
	      "  --table CSV      replay these times; --report FILE: write "
	      "them\n"
	      "  --noise PCT      times vary by so much; --rank-us US: each "
	      "rank takes\n"
	      "                   so much longer than the one before (1)\n"
	      "  --contend FILE   times are multiplied by the number in it\n"
	      "  --probe R:N      rank R asks the tuner once more before each "
	      "N-th\n"
	      "                   collective; --calls-only R:N: it calls the "
	      "API once more\n"
	      "  --windows R:FILE  symmetric windows until FILE exists: NCCL "
	      "asks the\n"
	      "                   tuner of rank R alone, and does not use "
	      "the answer\n"
	      "  --rccl           ask as RCCL does (2.27.7, or the release of "
	      "a later --nccl);\n"
	      "                   librccl.so.1 is loaded\n"
	      "  --no-nvls        NCCL offers no NVLS\n"
	      "  --offer [R:]ALGOS  calls of each second round (R: those of rank R alone)\n"
	      "                   have a configuration that selects these algorithms, as\n"
	      "                   from 2.31 on\n"
	      "  --events         profiler events as well; --tags N: calls have the\n"
	      "                   application's tags 0 to N in turn (from 2.31 on)\n"
	      "  --hang           ranks that differ stand still until SIGTERM\n"
	      "  --stalls         at the end: how often and how long ranks "
	      "waited at fences\n"
	      "  --rank-env R:NAME=VALUE   environment of one rank; "
	      "SPARE_FILES=N\n"
	      "                   leaves it so many descriptors\n",
	      f);
}

bool standin_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "ranks", 1, NULL, 'x' },   { "nodes", 1, NULL, 'x' },
		{ "comms", 1, NULL, 'x' },   { "nccl", 1, NULL, 'x' },
		{ "groups", 1, NULL, 'x' },  { "coll", 1, NULL, 'x' },
		{ "min", 1, NULL, 'x' },     { "max", 1, NULL, 'x' },
		{ "factor", 1, NULL, 'x' },  { "seconds", 1, NULL, 'x' },
		{ "loops", 1, NULL, 'x' },   { "pause-ms", 1, NULL, 'x' },
		{ "ahead", 1, NULL, 'x' },   { "report", 1, NULL, 'x' },
		{ "table", 1, NULL, 'x' },   { "contend", 1, NULL, 'x' },
		{ "noise", 1, NULL, 'x' },   { "rank-us", 1, NULL, 'x' },
		{ "tags", 1, NULL, 'x' },    { "rank-env", 1, NULL, 'x' },
		{ "probe", 1, NULL, 'x' },   { "rank", 1, NULL, 'x' },
		{ "meet", 1, NULL, 'x' },    { "calls-only", 1, NULL, 'x' },
		{ "windows", 1, NULL, 'x' }, { "offer", 1, NULL, 'x' },
		{ "procs", 0, NULL, 'p' },   { "threads", 0, NULL, 't' },
		{ "no-nvls", 0, NULL, 'n' }, { "hang", 0, NULL, 'h' },
		{ "stalls", 0, NULL, 'l' },  { "rccl", 0, NULL, 'r' },
		{ "events", 0, NULL, 'e' },  { "split", 0, NULL, 's' },
		{ "help", 0, NULL, 'H' },    { "grouped", 0, NULL, 'g' },
		{ NULL, 0, NULL, 0 }
	};
	static char rccl[] = "2.27.7";
	int o, at;

	while ((o = getopt_long(argc, argv, "", names, &at)) != -1) {
		if (o == '?' || (o == 'x' && !option(names[at].name, optarg)))
			return false;
		opt.help |= o == 'H';
		opt.procs |= o == 'p';
		opt.threads |= o == 't';
		opt.hang |= o == 'h';
		opt.stalls |= o == 'l';
		opt.rccl |= o == 'r';
		if (o == 'r')
			option("nccl", rccl);
		opt.events |= o == 'e';
		opt.nvls &= o != 'n';
		opt.split |= o == 's';
		opt.grouped |= o == 'g';
	}
	if (opt.split)
		opt.groups = 2;
	if (opt.rccl) {
		host_rccl = true;
		opt.nvls = false;
	}
	return optind == argc && opt.rank >= 0 && opt.rank < opt.ranks && opt.ranks > 0 &&
	       opt.groups > 0 && opt.ranks * opt.groups <= MAX_RANKS && opt.nodes > 0 && opt.abi &&
	       opt.factor > 1 && opt.ahead > 0 && opt.ahead < RING && opt.min > 0;
}
