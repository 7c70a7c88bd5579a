// SPDX-License-Identifier: MIT
// Lines for people, through NCCL's logger alone: it knows where they go. Until
// NCCL has given one they are dropped; what must not be lost is kept where
// `status` and `doctor` find it.
#include <stdarg.h>
#include <stdio.h>

#include "plugin/runtime.h"

/* NCCL's numbers (ABI reference, section 0). */
enum { NCCL_WARN = 2, NCCL_INFO = 3 };
enum { NCCL_INIT = 0x1, NCCL_TUNING = 0x40 };

static bool wanted(const struct nb_runtime *rt, enum nb_log_level level)
{
	return (int64_t)level <= rt->params.num[NB_P_LOG];
}

void nb_log(struct nb_runtime *rt, enum nb_log_level level, const char *fmt,
	    ...)
{
	nb_logger_fn *logger = __atomic_load_n(&rt->logger, __ATOMIC_ACQUIRE);
	char text[1024];
	va_list ap;

	if (!logger || level == NB_LOG_OFF || !wanted(rt, level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	logger(level == NB_LOG_WARN ? NCCL_WARN : NCCL_INFO,
	       level == NB_LOG_DEBUG ? NCCL_TUNING : NCCL_INIT | NCCL_TUNING,
	       "ncclbpf", 0, "ncclbpf: %s", text);
}

void nb_log_err(struct nb_runtime *rt, const char *what,
		const struct nb_err *err)
{
	nb_log(rt, NB_LOG_WARN, "%s: %s%s%s", what, err->text,
	       err->hint[0] ? "; " : "", err->hint);
}
