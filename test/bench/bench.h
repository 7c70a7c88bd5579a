// SPDX-License-Identifier: MIT
#ifndef NB_TEST_BENCH_BENCH_H
#define NB_TEST_BENCH_BENCH_H

/*
 * What the benchmarks share: the clock, medians, and the rows of the table
 * that `make bench` prints (test/bench/run.sh). Not for threads.
 */

double bench_now(void);		       /* nanoseconds */
double bench_median(double *v, int n); /* sorts @v */

/*
 * The yardstick: call it once a round, beside what is measured. It times what
 * an empty native plugin costs: a cost table is copied and a function that
 * does nothing is called with NCCL's nine arguments. On the machine that the
 * budgets in nanoseconds are meant for, when it is quiet, that takes 1.65.
 */
void bench_yardstick(void);
/* The median of this process's rounds; 0 before the first. */
double bench_unit(void);

/*
 * bench_row - one row of the table, where $BENCH_ROWS names its file
 * @key:    stable name
 * @text:   what was measured
 * @unit:   "ns", "us" and "ms" are scaled by the yardstick; others are not
 * @budget: at most this; 0: reported only
 */
void bench_row(const char *key, const char *text, double value, const char *unit, double budget);
/* For the table of anchors: what program @name took natively and by us, ns;
 * those of which no other runtime's figure is known are left out there. */
void bench_anchor(const char *name, double native, double ours);
/* A row that cannot be had here. */
void bench_skip(const char *key, const char *text, const char *why);

#endif
