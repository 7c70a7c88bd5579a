// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_KEYS_TIMES_H
#define NB_PLUGIN_AGENT_KEYS_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Leases, time limits, patience and back-offs of the agent, in milliseconds. A
 * large job adds nb_agent_crowd to most time limits. Tests set them by the
 * variable AGENT_TIMES (test/README.md), which no user needs.
 */
// clang-format off
#define NB_AGENT_TIME_ROWS(TIME)                                                                 \
	TIME(lease,           10000, "lease of the agent's keys")                                \
	TIME(keep,             2500, "interval of lease keepalives")                             \
	TIME(store,            3000, "time limit of a store request")                            \
	TIME(retry,             500, "back-off after a failed lease, read or write")             \
	TIME(patience,          500, "longest wait of a rank at an undecided fence")             \
	TIME(scan,              200, "interval of segment scans")                                \
	TIME(calm_scan,         500, "interval of segment scans while the agent is calm")        \
	TIME(calm,             5000, "time without changed keys after which the agent is calm")  \
	TIME(compare,          5000, "interval of comparisons of its keys with the store")       \
	TIME(job,               500, "interval of searches for the job")                         \
	TIME(leave,            1000, "time limit of the agent's last store requests")            \
	TIME(process,         20000, "time limit of the processes' answers to an order")         \
	TIME(join,             1500, "delay until a late process is given the generation")       \
	TIME(join_retry,       5000, "back-off of that attempt; doubles")                        \
	TIME(stage,           20000, "time limit for all sites to stage a change")               \
	TIME(away,             7000, "longest wait for a site whose lease has ended")            \
	TIME(answer,           2000, "time limit for all sites to answer an armed fence")        \
	TIME(settle,           5000, "time limit for sites to commit their own communicators")   \
	TIME(catch_up,          500, "interval of searches for ranks without the generation")    \
	TIME(catch_late,      30000, "back-off after a catch-up that delayed ranks too long")    \
	TIME(catch_missed,     2000, "back-off after a catch-up that a site has missed")         \
	TIME(guard_retry,      5000, "back-off after a refused guard; doubles")                  \
	TIME(start_retry,      5000, "back-off after a refused start")                           \
	TIME(state_retry,      5000, "back-off after the job's generation was not stored")       \
	TIME(state_refused,   60000, "the same if a process refuses to export the generation")   \
	TIME(notes,            5000, "shortest interval of writes to order/notes")               \
	TIME(sweep,         3600000, "interval of deletions of old keys")
// clang-format on

struct nb_agent_times {
#define TIME(name, ms, what) uint64_t name;
	NB_AGENT_TIME_ROWS(TIME)
#undef TIME
};
extern struct nb_agent_times nb_agent_times;

/*
 * Set the times that @text names: NAME=MS, with commas. Returns false if a name
 * is unknown or a number is missing. Call it before the agent starts.
 */
bool nb_agent_times_set(const char *text);

/* Returns the ms since a moment in the past (nb_clock_system). Any thread. */
uint64_t nb_agent_ms(void);

#endif
