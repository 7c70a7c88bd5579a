// SPDX-License-Identifier: MIT
// NCCL's side of the env plugin: finds the library that NCCL_ENV_PLUGIN names,
// calls it once before all else, and asks it for the variables named on
// standard input, one a line, as NCCL does: from any thread, with the logger's
// own lock held, keeping the texts. "@tuner" makes and ends a communicator,
// "@many" has four threads ask at once, "@keep" checks all texts ever given.
//
//	env_host VERSION (the newest that is looked for; 1 or 2)
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fakes/host/env.h"

enum { KEPT = 512 };

static const struct host_env *plugin;
static bool ready; /* the plugin's init has returned */
static pthread_mutex_t debug_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *given;
	char *copy;
} kept[KEPT];
static int nkept;

/* NCCL's logger looks variables up with its own lock held; before init has
 * returned that would never end. */
static void logger(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	(void)level, (void)flags, (void)file, (void)line;
	if (!ready) {
		printf("# a line in the log before init has returned\n");
		exit(3);
	}
	pthread_mutex_lock(&debug_lock);
	plugin->get("NCCL_DEBUG_SUBSYS");
	plugin->get("NCCL_TEST_REPLACED");
	va_start(ap, fmt);
	printf("log: ");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
	pthread_mutex_unlock(&debug_lock);
}

static int start(void *library, int newest)
{
	for (int v = newest; v >= 1; v--) {
		char symbol[40];

		snprintf(symbol, sizeof(symbol), "ncclEnvPlugin_v%d", v);
		plugin = dlsym(library, symbol);
		if (!plugin)
			continue;
		printf("%s v%d\n", plugin->name, v);
		return v > 1 ? plugin->init.v2(2, 30, 7, "", logger)
			     : plugin->init.v1(2, 28, 9, "");
	}
	return 1;
}

static void ask(const char *name)
{
	const char *v = plugin->get(name);

	printf(v ? "%s=%s\n" : "%s is not set\n", name, v);
	if (v && nkept < KEPT) {
		kept[nkept].given = v;
		kept[nkept++].copy = strdup(v);
	}
}

static void check_kept(void)
{
	int bad = 0;

	for (int i = 0; i < nkept; i++)
		bad += strcmp(kept[i].given, kept[i].copy) != 0;
	printf("%d of %d texts have changed\n", bad, nkept);
}

static void tuner(void *library)
{
	const struct host_tuner_v5 *t = dlsym(library, "ncclTunerPlugin_v5");
	struct host_nvl_domain_info nvl = { 1, 1, 1 };
	double constants[144] = { 0 };
	void *ctx = NULL;

	printf("tuner %d\n", t->init(&ctx, 7, 1, 1, logger, &nvl, constants));
	t->finalize(ctx);
}

static void *many(void *arg)
{
	static const char *const names[] = { "NCCL_TEST_REPLACED", "NCCL_TEST_HIDDEN",
					     "NCCL_TEST_FILE", "HOME", "NO" };

	(void)arg;
	for (int i = 0; i < 20000; i++) {
		const char *v = plugin->get(names[i % 5]);

		if (v && strlen(v) > 4096)
			return arg;
	}
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("asked by many\n");
}

int main(int argc, char **argv)
{
	const char *name = getenv("NCCL_ENV_PLUGIN");
	void *library = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
	char line[512];
	int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2 || !library)
		return 64;
	rc = start(library, atoi(argv[1]));
	ready = true;
	printf("init %d\n", rc);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "@tuner"))
			tuner(library);
		else if (!strcmp(line, "@many"))
			threads();
		else if (!strcmp(line, "@keep"))
			check_kept();
		else
			ask(line);
	}
	printf("null: %s\n", plugin->get(NULL) ? "something" : "nothing");
	printf("finalize %d\n", plugin->finalize());
	ask("NCCL_TEST_FILE"); /* some ask after the end */
	return rc;
}
