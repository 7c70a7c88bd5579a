// SPDX-License-Identifier: MIT
// Configuration, clock and log of the virtual GPUs.
//
// Every variable is optional; a value that cannot be read is logged and the
// default stands, since a typing error must not look like a result.
#include "test/fakes/vgpu/vgpu.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct vg_kind kinds[] = {
	{ "h100", "Virtual H100", 9, 0, 132, (size_t)80 << 30 },
	{ "b300", "Virtual B300", 10, 3, 148, (size_t)268 << 30 },
};
static const struct vg_kind *kind = &kinds[0];

static void kind_init(void)
{
	const char *want = getenv("VGPU_GPU");

	if (!want || !*want)
		return;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!strcmp(kinds[i].name, want)) {
			kind = &kinds[i];
			return;
		}
	}
	vg_log("VGPU_GPU: \"%s\" is neither h100 nor b300; using %s", want, kind->name);
}

const struct vg_kind *vg_kind(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, kind_init);
	return kind;
}

static const char *env_text(const char *name)
{
	const char *s = getenv(name);

	return s && *s ? s : NULL;
}

long vg_env(const char *name, long dflt)
{
	const char *s = env_text(name);
	char *end;

	if (!s)
		return dflt;
	errno = 0;
	long v = strtol(s, &end, 0);
	if (errno || end == s || *end) {
		vg_log("%s: \"%s\" is not an integer; using %ld", name, s, dflt);
		return dflt;
	}
	return v;
}

double vg_envf(const char *name, double dflt)
{
	const char *s = env_text(name);
	char *end;

	if (!s)
		return dflt;
	double v = strtod(s, &end);
	if (end == s || *end || !(v > 0 && v < 1e12)) {
		vg_log("%s: \"%s\" is not a positive number; using %g", name, s, dflt);
		return dflt;
	}
	return v;
}

static int in_range(const char *name, long dflt, long least, long most)
{
	long v = vg_env(name, dflt);

	if (v >= least && v <= most)
		return (int)v;
	vg_log("%s: %ld is not in %ld..%ld; using %ld", name, v, least, most, dflt);
	return (int)dflt;
}

static int count, nvlinks;

static void counts_init(void)
{
	count = in_range("VGPU_COUNT", 8, 1, VG_MAX_DEV);
	nvlinks = in_range("VGPU_NVLINKS", 18, 0, 18);
}

static void counts(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, counts_init);
}

int vg_count(void)
{
	counts();
	return count;
}

int vg_nvlinks(void)
{
	counts();
	return nvlinks;
}

int vg_bus(int dev)
{
	return 0x10 + 8 * dev;
}

uint64_t vg_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void *vg_calloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p)
		return p;
	vg_log("out of memory: %zu x %zu bytes", n, size);
	_exit(70);
}

void vg_log(const char *fmt, ...)
{
	char line[4608];
	va_list ap;
	int n = snprintf(line, 32, "[vgpu %d] ", (int)getpid());
	size_t at = (size_t)n;

	va_start(ap, fmt);
	n = vsnprintf(line + at, sizeof line - at - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	at += (size_t)n;
	if (at > sizeof line - 2)
		at = sizeof line - 2;
	line[at++] = '\n';
	ssize_t done = write(STDERR_FILENO, line, at);
	(void)done; // nowhere left to complain
}

void vg_skip(const char *what, const char *why)
{
	enum { SKIP_STATUS = 77 };
	char line[4400];
	int n = snprintf(line, sizeof line, "vgpu: SKIP: %s%s\n", what, why);
	ssize_t done = write(STDERR_FILENO, line, (size_t)n);

	(void)done;
	_exit(SKIP_STATUS);
}
