// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_TRACE_H
#define NB_EXEC_RUN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/*
 * A bounded ring of lines. Running programs write lines, and the control
 * thread reads them. Any number of threads may write; they never wait and
 * never allocate: the newest line overwrites the oldest. Readers copy a
 * line and learn whether it was overwritten meanwhile.
 */
enum { NB_TRACE_LINES = 1024, NB_TRACE_TEXT = 112 };

struct nb_trace_line {
	/* Number of the line since the ring was created: 0, 1, 2 … */
	uint64_t number;
	uint64_t time_ns; /* Nanoseconds of CLOCK_REALTIME. */
	char text[NB_TRACE_TEXT];
};

struct nb_trace;

/* Allocate a ring; returns NULL if out of memory. */
struct nb_trace *nb_trace_new(void);
void nb_trace_free(struct nb_trace *t);
void nb_trace_put(struct nb_trace *t, const char *text, size_t size);
/* Return the number of the next line. */
uint64_t nb_trace_next(const struct nb_trace *t);
/* Copy line @number; returns false if it was overwritten, or is not written
 * yet. */
bool nb_trace_read(const struct nb_trace *t, uint64_t number, struct nb_trace_line *out);

/*
 * Format as bpf_trace_printk does: %d %i %u %x %p with l or ll, %c, %%; at most
 * @most values. Returns the length of the whole text, of which @out gets at most
 * @size - 1 characters and a NUL; @size may be 0. Returns -EINVAL for anything
 * else in @fmt (@fmt_size bytes, need not be terminated).
 */
int nb_trace_format(char *out, size_t size, const char *fmt, size_t fmt_size, const uint64_t *arg,
		    int most);

#endif
