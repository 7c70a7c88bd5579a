// SPDX-License-Identifier: MIT
/*
 * The log. Lines are written only through NCCL's logger, because NCCL knows the
 * destination. Until NCCL passes a logger, the first lines are kept. `status`
 * and `doctor` show the important facts in any case.
 */
#include "plugin/runtime/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "plugin/runtime/nccl.h"

/* Subsystems of NCCL's logger. */
enum { NCCL_INIT = 0x1, NCCL_TUNING = 0x40 };

enum nb_log_level nb_log_level;

/* NCCL's logger; NULL: lines are kept; accessed atomically */
static nb_logger_fn *log_target;
/* the levels of log_target, set before it */
static struct nb_nccl_levels levels;

/* Lines logged before NCCL passed a logger. */
enum { EARLY = 16 };
static struct {
	/* 1 if the line is complete and must be written; accessed atomically */
	uint32_t ready;
	enum nb_log_level level;
	char text[400];
} early[EARLY];
/* number of entries of early[] in use; accessed atomically */
static uint32_t nearly;

static void log_keep(enum nb_log_level level, const char *text)
{
	uint32_t n = __atomic_fetch_add(&nearly, 1, __ATOMIC_RELAXED);

	if (n >= EARLY) {
		__atomic_fetch_sub(&nearly, 1, __ATOMIC_RELAXED);
		return;
	}
	early[n].level = level;
	snprintf(early[n].text, sizeof(early[n].text), "%.399s", text);
	__atomic_store_n(&early[n].ready, 1, __ATOMIC_RELEASE);
}

static void log_put(nb_logger_fn *logger, enum nb_log_level level, const char *text)
{
	logger(level == NB_LOG_WARN ? levels.warn : levels.info,
	       level == NB_LOG_DEBUG ? NCCL_TUNING : NCCL_INIT | NCCL_TUNING, "ncclbpf", 0,
	       "ncclbpf: %s", text);
}

void nb_log_kept(void)
{
	nb_logger_fn *logger = __atomic_load_n(&log_target, __ATOMIC_ACQUIRE);

	for (int i = 0; logger && i < EARLY; i++)
		if (__atomic_load_n(&early[i].ready, __ATOMIC_RELAXED) &&
		    __atomic_exchange_n(&early[i].ready, 0, __ATOMIC_ACQUIRE))
			log_put(logger, early[i].level, early[i].text);
}

void nb_log(enum nb_log_level level, const char *fmt, ...)
{
	nb_logger_fn *logger = __atomic_load_n(&log_target, __ATOMIC_ACQUIRE);
	char text[1024];
	va_list ap;

	if (level == NB_LOG_OFF || level > nb_log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!logger) {
		log_keep(level, text);
		return;
	}
	nb_log_kept();
	log_put(logger, level, text);
}

void nb_log_err(const char *what, const struct nb_err *err)
{
	nb_log(NB_LOG_WARN, "%s: %s%s%s", what, err->text, err->hint[0] ? "; " : "", err->hint);
}

void nb_log_to(nb_logger_fn *logger)
{
	static bool taken; /* accessed atomically */

	if (!logger || __atomic_exchange_n(&taken, true, __ATOMIC_RELAXED))
		return;
	levels = nb_nccl_levels((const void *)(uintptr_t)logger);
	__atomic_store_n(&log_target, logger, __ATOMIC_RELEASE);
}
