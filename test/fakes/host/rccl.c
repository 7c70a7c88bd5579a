// SPDX-License-Identifier: MIT
// A librccl.so.1 that has only what tells a plugin RCCL from NCCL: the file's
// name, a function of HIP (hip.c), which RCCL needs, the version, and a logger with
// one level more than NCCL's. RCCL_VERSION: another version than 22707; "fails": no
// version. Without HIP it is an NCCL.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int ncclGetVersion(int *version);
EXPORT void rccl_log(int level, unsigned long flags, const char *file, int line, const char *fmt,
		     ...);

int ncclGetVersion(int *version)
{
	const char *v = getenv("RCCL_VERSION");

	*version = v ? atoi(v) : 22707;
	return v && !strcmp(v, "fails");
}

void rccl_log(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	static const char *const words[] = { "NONE", "ERROR", "VERSION", "WARN",
					     "INFO", "ABORT", "TRACE" };
	enum { WARN = 3, LEVELS = sizeof(words) / sizeof(words[0]) };
	const char *debug = getenv("NCCL_DEBUG");
	char text[1024];
	va_list ap;

	(void)flags;
	if (!debug || (level > WARN && strcmp(debug, "INFO")))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "stand-in: [%d] %s:%d %s %s\n", getpid(), file, line,
		level >= 0 && level < LEVELS ? words[level] : "?", text);
}
