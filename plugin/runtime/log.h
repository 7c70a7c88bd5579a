// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_LOG_H
#define NB_PLUGIN_RUNTIME_LOG_H

#include "core/base/err.h"

/* The values of NCCLBPF_LOG, in order. */
enum nb_log_level { NB_LOG_OFF, NB_LOG_WARN, NB_LOG_INFO, NB_LOG_DEBUG };

/* NCCLBPF_LOG, which nb_params_read sets; lines above it are dropped */
extern enum nb_log_level nb_log_level;

/* Type of NCCL's logger. */
typedef void nb_logger_fn(int level, unsigned long flags, const char *file, int line,
			  const char *fmt, ...);

/*
 * Write one line through NCCL's logger, if NCCLBPF_LOG permits this level.
 * Before NCCL passes a logger, lines are kept up to a limit. Warnings have
 * NCCL's level WARN, all others INFO. Any thread may call it, with or without
 * locks, but never on the decision path.
 */
void nb_log(enum nb_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Log an error as a warning line: "<what>: <text>; <hint>". */
void nb_log_err(const char *what, const struct nb_err *err);

/* Set the logger if none is set. NULL is ignored. Only NCCL's threads may call it. */
void nb_log_to(nb_logger_fn *logger);
/* Write the lines that were kept before there was a logger. */
void nb_log_kept(void);

#endif
