// SPDX-License-Identifier: MIT
// Every tuner and env interface of the plugin, called as the matching release
// of NCCL calls it, with answers good, impossible and absurd. Each case is a
// process of its own, since the plugin reads its environment once.
//
//	abi_check PLUGIN.so FOLDER-OF-IMAGES
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/fakes/host/env.h"

enum { TREE = 0, RING = 1, NVLS = 4, LL = 0, LL128 = 1, SIMPLE = 2 };
enum { ALLREDUCE = 4, COMM_CHANNELS = 24 };

static const size_t MIB = 1 << 20;
static const char *plugin_path, *images;
static int number, failed;

#define NEED(cond)                                                          \
	do {                                                                \
		if (!(cond)) {                                              \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1;                                           \
		}                                                           \
	} while (0)

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	(void)level, (void)flags, (void)file, (void)line;
	if (!getenv("NCCL_DEBUG"))
		return;
	va_start(ap, fmt);
	fputs("# log: ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

static int start(struct host_plugin *p, struct host_comm *c, int abi, size_t ranks)
{
	NEED(!host_open(p, abi));
	NEED(p->abi == abi);
	*c = (struct host_comm){ .plugin = p,
				 .id = 7,
				 .ranks = ranks,
				 .nodes = 1,
				 .max_channels = COMM_CHANNELS,
				 .nvls = true,
				 .algos = abi == 2 ? 6 : HOST_ALGOS };
	NEED(!host_init(c, quiet));
	NEED(c->ctx != NULL);
	for (size_t i = 1; i < ranks; i++) { /* its peers, which only exist */
		struct host_comm peer = *c;

		NEED(!host_init(&peer, quiet));
	}
	return 0;
}

static int decide(int abi, size_t bytes, struct host_choice *out)
{
	struct host_plugin p;
	struct host_comm c;

	NEED(!start(&p, &c, abi, 8));
	NEED(!host_decide(&c, ALLREDUCE, bytes, 0, out));
	NEED(!host_fini(&c));
	return 0;
}

static int ncclwins(const struct host_choice *c)
{
	NEED(c->algo == c->nccl_algo && c->proto == c->nccl_proto);
	NEED(c->channels == COMM_CHANNELS);
	return 0;
}

static int no_policy(int abi)
{
	struct host_choice c;

	return decide(abi, 64 * MIB, &c) || ncclwins(&c);
}

static int obeyed(int abi)
{
	struct host_choice c;

	NEED(!decide(abi, 64 * MIB, &c));
	NEED(c.nccl_algo == NVLS);
	NEED(c.algo == RING && c.proto == LL && c.channels == 4);
	return 0;
}

/*
 * v2 hands over no table: no partner can be looked up for half an answer, and
 * whether NCCL bounds the channels of its own choice is not known.
 */
static int only_algo(int abi)
{
	struct host_choice c;

	NEED(!decide(abi, 64 * MIB, &c));
	if (abi == 2)
		return ncclwins(&c);
	NEED(c.algo == TREE && c.proto == SIMPLE);
	NEED(c.channels == COMM_CHANNELS);
	return 0;
}

static int only_proto(int abi)
{
	struct host_choice c;

	NEED(!decide(abi, 64 * MIB, &c));
	if (abi == 2)
		return ncclwins(&c);
	NEED(c.algo == RING && c.proto == LL128);
	return 0;
}

static int only_channels(int abi)
{
	struct host_choice c;

	NEED(!decide(abi, 64 * MIB, &c));
	if (abi == 2)
		return ncclwins(&c);
	NEED(c.algo == c.nccl_algo && c.proto == c.nccl_proto);
	NEED(c.channels == 2);
	return 0;
}

/* NCCL asks from v6 on; the algorithm of the same policy is taken in all. */
static int chunks(int abi)
{
	struct host_choice c;

	NEED(!decide(abi, 64 * MIB, &c));
	NEED(c.algo == RING && c.proto == SIMPLE);
	NEED(c.chunk_size == (abi < 6 ? 0 : 256 << 10));
	NEED(c.nccl_chunk_size == (abi < 6 ? 0 : 2 * MIB));
	return 0;
}

/* NCCL would round this size down to 0. */
static int small_chunks(int abi)
{
	struct host_choice c;

	NEED(!decide(abi, 64 * MIB, &c));
	NEED(c.algo == RING && c.proto == SIMPLE);
	NEED(c.chunk_size == (abi < 6 ? 0 : 2 * MIB));
	return 0;
}

/* Entries that NCCL ignores must be left exactly as they were. */
static int ignored_stay(int abi)
{
	float table[HOST_TABLE];
	struct host_plugin p;
	struct host_comm c;
	int channels = 0;

	if (abi < 5)
		return 0;
	NEED(!start(&p, &c, abi, 8));
	for (int i = 0; i < HOST_TABLE; i++)
		table[i] = i % 2 ? -1.0f : 10.0f + (float)i;
	NEED(!p.u.v5->get(c.ctx, ALLREDUCE, MIB, 1, (float **)(void *)table, HOST_ALGOS,
			  HOST_PROTOS, 1, &channels));
	for (int i = 1; i < HOST_TABLE; i += 2)
		NEED(table[i] == -1.0f);
	for (int i = 0; i < HOST_TABLE; i++)
		table[i] = -1.0f;
	NEED(!p.u.v5->get(c.ctx, ALLREDUCE, MIB, 1, (float **)(void *)table, HOST_ALGOS,
			  HOST_PROTOS, 1, &channels));
	for (int i = 0; i < HOST_TABLE; i++)
		NEED(table[i] == -1.0f);
	return host_fini(&c);
}

/* Nothing that NCCL could hand over, today or by mistake, may crash. */
static int absurd(int abi)
{
	static const int dims[] = { 0, -1, 1, 6, 7, 8, 1000, 1 << 30 };
	float *table = calloc(1000 * 1000, sizeof(*table));
	struct host_plugin p;
	struct host_comm c;
	size_t chunk = MIB;
	int channels = 0;

	NEED(table != NULL);
	NEED(!start(&p, &c, abi, 8));
	if (abi < 3)
		return host_fini(&c);
	for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
		int n = dims[i] > 1000 ? 1000 : dims[i];
		float **t = (float **)(void *)table;

		if (abi == 3)
			NEED(!p.u.v3->get(c.ctx, dims[i], MIB, 1, t, n, 3, &channels));
		else
			NEED(!p.u.v4->get(c.ctx, dims[i], 0, -1, t, n, n, 7, &channels));
		if (abi >= 6)
			NEED(!p.u.v6->chunk(c.ctx, dims[i], 0, dims[i], -1, dims[i], &chunk) &&
			     chunk == MIB);
	}
	free(table);
	return host_fini(&c);
}

static int nulls(int abi)
{
	struct host_plugin p;
	struct host_comm c;
	float table[HOST_TABLE] = { 1 };
	int algo = -1, proto = -1, n = 0;

	NEED(!start(&p, &c, abi, 8));
	NEED(!host_fini(&c));
	c.ctx = NULL;
	NEED(!host_fini(&c));
	NEED(!host_init(&c, NULL));
	if (abi == 2) {
		NEED(!p.u.v2->get(NULL, 4, MIB, 0, 0, 1, &algo, &proto, &n));
		NEED(algo == -1 && proto == -1 && n == 0);
		NEED(!p.u.v2->get(c.ctx, 4, MIB, 0, 0, 1, NULL, NULL, NULL));
	} else if (abi == 3) {
		NEED(!p.u.v3->get(NULL, 4, MIB, 1, (float **)(void *)table, 7, 3, &n));
		NEED(!p.u.v3->get(c.ctx, 4, MIB, 1, NULL, 7, 3, NULL));
	} else {
		NEED(!p.u.v4->get(NULL, 4, MIB, 1, (float **)(void *)table, 7, 3, 0, &n));
		NEED(!p.u.v4->get(c.ctx, 4, MIB, 1, NULL, 7, 3, 0, NULL));
	}
	if (abi >= 5)
		NEED(!p.u.v5->init(&c.ctx, 1, 8, 1, NULL, NULL, NULL));
	return host_fini(&c);
}

static struct host_plugin shared;

static void *churn(void *arg)
{
	for (int i = 0; i < 100; i++) {
		struct host_choice out;
		struct host_comm c = { .plugin = &shared,
				       .ranks = 8,
				       .id = (uint64_t)i % 3,
				       .nodes = 1,
				       .max_channels = COMM_CHANNELS,
				       .algos = shared.abi == 2 ? 6 : HOST_ALGOS };

		if (host_init(&c, quiet) || host_decide(&c, ALLREDUCE, MIB, i & 1, &out) ||
		    host_fini(&c))
			return arg;
	}
	return NULL;
}

static int concurrent(int abi)
{
	pthread_t t[8];
	void *bad = NULL, *r;

	NEED(!host_open(&shared, abi));
	for (int i = 0; i < 8; i++)
		NEED(!pthread_create(&t[i], NULL, churn, &shared));
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &r);
		bad = r ? r : bad;
	}
	NEED(!bad);
	return 0;
}

/* Open files of the process, and lines of its map. */
static int held_now(void)
{
	DIR *d = opendir("/proc/self/fd");
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0, c;

	while (d && readdir(d))
		n++;
	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (d)
		closedir(d);
	if (f)
		fclose(f);
	return n;
}

/* A thread may be in the library when it is closed, so it stays; each round
 * needs no more files and memory. */
static int reload(int abi)
{
	int first = 0;

	for (int i = 0; i < 5; i++) {
		struct host_plugin p;
		struct host_comm c;
		struct host_choice out;

		NEED(!start(&p, &c, abi, 1));
		NEED(!host_decide(&c, ALLREDUCE, MIB, 0, &out));
		NEED(!host_fini(&c));
		dlclose(p.handle);
		NEED(dlopen(plugin_path, RTLD_NOW | RTLD_NOLOAD));
		if (i == 1)
			first = held_now();
	}
	NEED(held_now() < first + 3);
	return 0;
}

/* A process that forks after init: both go on, the child without control. */
static int forks(int abi)
{
	struct host_plugin p;
	struct host_comm c;
	struct host_choice out;
	int status;
	pid_t pid;

	NEED(!start(&p, &c, abi, 2));
	pid = fork();
	if (!pid)
		_exit(host_decide(&c, ALLREDUCE, MIB, 0, &out) || host_fini(&c));
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	NEED(!host_decide(&c, ALLREDUCE, MIB, 0, &out));
	return host_fini(&c);
}

/* ---- env ---- */

static void *env_library;
static const struct host_env *env;

static int env_open(int abi)
{
	char symbol[32];

	snprintf(symbol, sizeof(symbol), "ncclEnvPlugin_v%d", abi);
	env_library = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
	NEED(env_library != NULL);
	env = dlsym(env_library, symbol);
	NEED(env && !strcmp(env->name, "ncclbpf"));
	return 0;
}

static int env_start(int abi)
{
	NEED(!env_open(abi));
	NEED(!(abi == 1 ? env->init.v1(2, 28, 9, "") : env->init.v2(2, 30, 7, "", quiet)));
	return 0;
}

/* What NCCL finds is what the environment has. */
static int env_same(const char *name)
{
	const char *found = env->get(name), *want = getenv(name);

	NEED(!found == !want);
	NEED(!want || !strcmp(found, want));
	return 0;
}

static int env_out_of_turn(int abi)
{
	NEED(!env_open(abi));
	NEED(!env_same("PATH") && !env_same("NCCL_NO_SUCH"));
	NEED(!env->finalize());
	NEED(!env_start(abi));
	NEED(!env_start(abi)); /* twice */
	NEED(!env_same("PATH"));
	NEED(!env->finalize() && !env->finalize());
	/* NCCL's atexit handlers may come in any order */
	return env_same("PATH") || env_same("NCCL_NO_SUCH");
}

static int env_nulls(int abi)
{
	NEED(!env_open(abi));
	NEED(!env->get(NULL));
	NEED(!(abi == 1 ? env->init.v1(0, 0, 0, NULL) : env->init.v2(255, 255, 255, NULL, NULL)));
	NEED(!env->get(NULL));
	NEED(!env_same("PATH"));
	return env->finalize();
}

static int env_absurd(int abi)
{
	static const char *const names[] = { "", "=", "A=B", " ", "\xff", "PATH=", "1", "a b" };
	char *big = malloc(MIB + 1);

	NEED(big != NULL);
	memset(big, 'N', MIB);
	big[MIB] = '\0';
	NEED(!env_start(abi));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		NEED(!env_same(names[i]));
	NEED(!env_same(big));
	free(big);
	return env->finalize();
}

static void *env_ask(void *arg)
{
	for (int i = 0; i < 2000; i++)
		if (env_same(i & 1 ? "PATH" : "NCCL_NO_SUCH"))
			return arg;
	return NULL;
}

static int env_concurrent(int abi)
{
	pthread_t t[8];
	void *bad = NULL, *r;

	NEED(!env_start(abi));
	for (int i = 0; i < 8; i++)
		NEED(!pthread_create(&t[i], NULL, env_ask, &shared));
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &r);
		bad = r ? r : bad;
	}
	NEED(!bad);
	return env->finalize();
}

static int env_reload(int abi)
{
	for (int i = 0; i < 5; i++) {
		NEED(!env_start(abi));
		NEED(!env_same("PATH") && !env->finalize());
		dlclose(env_library);
	}
	return 0;
}

static int env_forks(int abi)
{
	int status;
	pid_t pid;

	NEED(!env_start(abi));
	pid = fork();
	if (!pid)
		_exit(env_same("PATH") || env_same("NCCL_NO_SUCH") || env->finalize());
	NEED(waitpid(pid, &status, 0) == pid && status == 0);
	NEED(!env_same("PATH"));
	return env->finalize();
}

struct abi_case {
	const char *name, *policy;
	int (*run)(int abi);
};

static const struct abi_case env_cases[] = {
	{ "asked before init and after the end", NULL, env_out_of_turn },
	{ "NULL everywhere", NULL, env_nulls },
	{ "absurd names", NULL, env_absurd },
	{ "a policy without programs for it", "ring_ll_four", env_absurd },
	{ "eight threads ask", NULL, env_concurrent },
	{ "closed and opened again", NULL, env_reload },
	{ "fork", NULL, env_forks },
};

static const struct abi_case cases[] = {
	{ "without a policy NCCL's choice stands", NULL, no_policy },
	{ "a policy's answer is taken", "ring_ll_four", obeyed },
	{ "an unusable combination is not", "unusable", no_policy },
	{ "answers out of range are not", "wild", no_policy },
	{ "a missing image leaves NCCL's choice", "does_not_exist", no_policy },
	{ "algorithm alone", "only_tree", only_algo },
	{ "protocol alone", "only_ll128", only_proto },
	{ "channels alone", "two_channels", only_channels },
	{ "chunk sizes, where NCCL asks for them", "chunks_of_256k", chunks },
	{ "chunk sizes that are too small", "chunks_of_256", small_chunks },
	{ "ignored entries stay ignored", "ring_ll_four", ignored_stay },
	{ "absurd table sizes and kinds", "ring_ll_four", absurd },
	{ "NULL everywhere", "ring_ll_four", nulls },
	{ "eight threads open and close", "ring_ll_four", concurrent },
	{ "closed and opened again", "ring_ll_four", reload },
	{ "fork", "ring_ll_four", forks },
};

static void one(const struct abi_case *c, int abi, const char *kind)
{
	char policy[4096];
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(600);
		if (c->policy) {
			snprintf(policy, sizeof(policy), "%s/%s.policy", images, c->policy);
			setenv("NCCLBPF_POLICY", policy, 1);
		}
		setenv("NCCL_TUNER_PLUGIN", plugin_path, 1);
		status = c->run(abi);
		fflush(stdout);
		exit(status);
	}
	waitpid(pid, &status, 0);
	printf("%sok %d - %sv%d: %s\n", status ? "not " : "", ++number, kind, abi, c->name);
	if (status) {
		printf("# status %x\n", status);
		failed = 1;
	}
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: abi_check PLUGIN.so FOLDER\n");
		return 64;
	}
	plugin_path = argv[1];
	images = argv[2];
	for (int abi = 2; abi <= 7; abi++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			one(&cases[i], abi, "");
	for (int abi = 1; abi <= 2; abi++)
		for (size_t i = 0; i < sizeof(env_cases) / sizeof(env_cases[0]); i++)
			one(&env_cases[i], abi, "env ");
	printf("1..%d\n", number);
	return failed;
}
