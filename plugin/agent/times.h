// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_TIMES_H
#define NB_PLUGIN_AGENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Leases, time limits, patience and back-offs of the agent, in milliseconds. A
 * large job adds nb_agent_crowd to most time limits. Tests set them by the
 * variable AGENT_TIMES (test/README.md), which no user needs.
 */
// clang-format off
#define NB_AGENT_TIME_ROWS(TIME)                                                               \
	TIME(lease,         10000, "the lease of the agent's keys")                            \
	TIME(keep,           2500, "between two keepalives of the lease")                      \
	TIME(store,          3000, "a request to the store")                                   \
	TIME(retry,           500, "until a failed lease, reading or write is tried again")    \
	TIME(patience,        500, "a rank waits at an undecided fence")                       \
	TIME(scan,            200, "between two scans of the segment")                         \
	TIME(calm_scan,       500, "the same, if the site's keys have not changed for `calm`") \
	TIME(calm,           5000, "until an agent is calm")                                   \
	TIME(describe,       1000, "between two descriptions of the site")                     \
	TIME(compare,        5000, "between two comparisons of the agent's keys with the store") \
	TIME(job,             500, "between two searches for the job")                         \
	TIME(leave,          1000, "the store's reply to the agent's last requests")           \
	TIME(process,       20000, "the answers of the site's processes to an order")          \
	TIME(join,           1500, "until a process that started late gets the generation")    \
	TIME(join_retry,     5000, "until it is tried again; doubles")                         \
	TIME(stage,         20000, "all sites stage a change")                                 \
	TIME(away,           7000, "a change waits for a site whose lease has ended")          \
	TIME(answer,         2000, "all sites answer when a fence is armed")                   \
	TIME(settle,         5000, "all sites commit communicators of one site")               \
	TIME(catch_up,        500, "between two searches for ranks that lack the generation")  \
	TIME(catch_late,    30000, "after catch-ups whose fences ranks waited at for too long") \
	TIME(catch_missed,   2000, "after catch-ups that a site did not answer or stage")      \
	TIME(guard_retry,    5000, "until a refused guard is tried again; doubles")            \
	TIME(start_retry,    5000, "until a refused start is tried again")                     \
	TIME(state_retry,    5000, "until the job's generation is stored again")               \
	TIME(state_refused, 60000, "the same, after a process has refused to export it")       \
	TIME(notes,          5000, "between two changes of order/notes")                       \
	TIME(sweep,       3600000, "between two sweeps of old keys")
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

#endif
