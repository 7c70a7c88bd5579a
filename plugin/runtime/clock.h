// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_CLOCK_H
#define NB_PLUGIN_RUNTIME_CLOCK_H

#include <stdint.h>

/*
 * The clock of all events, waits and time limits, CLOCK_MONOTONIC in
 * nanoseconds, and the sleep that goes with it. Tests put their own in the
 * place of both (ld --wrap), so waits use no other clock and no other sleep
 * (lint/clocks.awk). The C library reads the clock without a system call.
 */
uint64_t nb_clock_system(void);
void nb_clock_sleep(uint64_t ns);
/* Returns the processor time of this thread in nanoseconds. */
uint64_t nb_clock_thread(void);

#endif
