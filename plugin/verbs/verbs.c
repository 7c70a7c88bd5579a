// SPDX-License-Identifier: MIT
/*
 * Loads the tap, or finds a loaded one, and gives it this library's programs.
 */
#include "plugin/verbs/verbs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/hooks/hooks.h"
#include "plugin/trace/ring.h"
#include "plugin/runtime/log.h"
#include "plugin/verbs/spans.h"
#include "plugin/verbs/unseen.h"

/*
 * NCCL opens a library of this name, so the loader must know the tap by this
 * name.
 */
#define TAP_SONAME "libibverbs.so"
#define TAP_FILE "ncclbpf/libncclbpf-verbs.so"

static pthread_mutex_t verbs_lock = PTHREAD_MUTEX_INITIALIZER;
/* functions of the tap; NULL: there is no tap yet; accessed atomically */
static const struct nb_tap_api *tap;
/* why there is no tap, or "" if no reason is known; protected by verbs_lock */
static char trouble[512];

static void verbs_run(enum nb_hook hook, void *ctx, uint64_t size)
{
	if (nb_trace_ring_wanted() & NB_TRACE_VERBS)
		nb_verbs_span(hook, ctx);
	nb_hooks_run(hook, ctx, size);
}

static const struct nb_tap_sink sink = { &nb_hooks.tapped, &nb_hooks.tap_timed, verbs_run,
					 nb_hooks_run_untimed };

static bool file_beside_us(char *path, size_t size)
{
	static const char here;
	Dl_info info;
	const char *slash;
	int n;

	if (!dladdr(&here, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	n = snprintf(path, size, "%.*s%s", slash ? (int)(slash + 1 - info.dli_fname) : 0,
		     info.dli_fname, TAP_FILE);
	return n > 0 && (size_t)n < size;
}

static const struct nb_tap_api *tap_loaded(void)
{
	void *lib = dlopen(TAP_SONAME, RTLD_NOW | RTLD_NOLOAD);
	const struct nb_tap_api *api = lib ? dlsym(lib, NB_TAP_SYMBOL) : NULL;

	if (lib && !api)
		dlclose(lib);
	return api;
}

/*
 * Returns true if libibverbs is open without the tap. It reads the process's
 * mappings instead of calling the loader, because a thread that waits for this
 * one may hold the loader's lock.
 */
bool nb_verbs_bypassed(void)
{
	FILE *f = nb_verbs_tap() ? NULL : fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, "/libibverbs.so") != NULL;
	if (f)
		fclose(f);
	return found;
}

/*
 * Open the tap in the constructor. NCCL 2.28 opens libibverbs after it has
 * opened the net plugin's file and before it calls the plugin's init. At this
 * time no parameter has been read, and there is no logger.
 */
static __attribute__((constructor)) void tap_open(void)
{
	const char *wanted = getenv("NCCLBPF_VERBS");
	char path[4096];

	if (!wanted || strcmp(wanted, "on") != 0)
		return;
	if (nb_verbs_bypassed())
		snprintf(trouble, sizeof(trouble),
			 "libibverbs was open before libncclbpf.so: "
			 "name ncclbpf in NCCL_NET_PLUGIN or NCCL_ENV_PLUGIN");
	else if (!file_beside_us(path, sizeof(path)))
		snprintf(trouble, sizeof(trouble), "the directory of libncclbpf.so is not known");
	else if (!dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
		snprintf(trouble, sizeof(trouble), "%s", dlerror());
}

static void tell_trouble(void)
{
	static bool told;

	if (*trouble && !told)
		nb_log(NB_LOG_WARN, "NCCLBPF_VERBS=on: the tap sees no verbs calls: %s", trouble);
	told = true;
}

/* Other threads wait for verbs_lock, so the loader is called without it. */
void nb_verbs_attach(void)
{
	const struct nb_tap_api *api;
	bool ours;

	if (__atomic_load_n(&tap, __ATOMIC_ACQUIRE))
		return;
	api = tap_loaded();
	ours = api && !strcmp(api->build, NB_TAP_BUILD);
	if (ours)
		nb_verbs_nccl_find();
	pthread_mutex_lock(&verbs_lock);
	tell_trouble();
	if (!api) {
		pthread_mutex_unlock(&verbs_lock);
		return;
	}
	if (!ours) {
		if (!*trouble) {
			snprintf(trouble, sizeof(trouble),
				 "the tap is of build %.60s, libncclbpf.so of build %s: "
				 "install both from one package",
				 api->build, NB_TAP_BUILD);
			nb_log(NB_LOG_WARN, "no verbs are seen: %s", trouble);
		}
	} else if (!tap) {
		api->attach(&sink);
		__atomic_store_n(&tap, api, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&verbs_lock);
}

/* Another thread may have held the lock when this process was forked. */
void nb_verbs_forked(void)
{
	pthread_mutex_init(&verbs_lock, NULL);
}

const struct nb_tap_api *nb_verbs_tap(void)
{
	return __atomic_load_n(&tap, __ATOMIC_ACQUIRE);
}

const char *nb_verbs_trouble(void)
{
	const char *why;

	pthread_mutex_lock(&verbs_lock);
	why = *trouble ? trouble : NULL;
	pthread_mutex_unlock(&verbs_lock);
	return why;
}
