// SPDX-License-Identifier: MIT
#ifndef NB_TEST_BENCH_SWITCH_NATIVE_H
#define NB_TEST_BENCH_SWITCH_NATIVE_H

/*
 * bench_switch_native - nanoseconds that the first call of code which another
 * thread has just written takes over other calls; the median of @n, at most
 * 1000. Negative: it cannot be had here. Once a process.
 */
double bench_switch_native(int n);

#endif
