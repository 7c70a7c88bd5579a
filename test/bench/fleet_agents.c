// SPDX-License-Identifier: MIT
/*
 * fleet_agents ENDPOINTS JOB SITES RANKS RATE: the agents of SITES simulated
 * sites with RANKS ranks each, which decide RATE times a second. Each agent is
 * the real one (plugin/agent) with connections, lease and watches of its own;
 * one of them coordinates. SIGTERM ends the program.
 *
 * Prints "registered" once the store has all sites' communicators, and
 * "taken GENERATION MS" when all ranks of all sites have taken a generation
 * (CLOCK_MONOTONIC); at the end the counts. Status 3: two sites made one
 * decision with different generations.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "plugin/agent/agent.h"
#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/job/segment.h"
#include "test/bench/fleet_site.h"

enum { EVENTS = 256, RAMP_MS = 2 /* between the starts of two agents */ };

static volatile sig_atomic_t stopped;

static struct {
	struct sim *at;
	size_t n, started;
	int epoll;
	uint64_t made, due_ms; /* decisions; when the next one begins */
	int64_t taken;
	bool registered;
	uint64_t diverged;
} fleet;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "fleet_agents: %s: %s\n", what, why);
	exit(1);
}

/* ---- agents ---- */

static void start_agent(size_t i, const char *endpoints, const char *job)
{
	struct sim *s = &fleet.at[i];
	struct nb_agent *a = &s->agent;
	struct nb_store_config config = { .endpoints = endpoints,
					  .timeout_ms = (unsigned)nb_agent_times.store,
					  .first = (unsigned)i };
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = s };
	struct nb_err err = { .code = 0 };

	if (!sim_open(s))
		fail("site", "no memory");
	s->announced = fleet.made;
	snprintf(a->dir.job, sizeof(a->dir.job), "%s", job);
	snprintf(a->name, sizeof(a->name), "site%04zu", i);
	snprintf(a->host, sizeof(a->host), "host");
	snprintf(a->own.prefix, sizeof(a->own.prefix), "/ncclbpf/1/%s/", job);
	a->address = "";
	if (nb_http_new(&a->http, &err) || nb_store_open(&a->store, a->http, &config, &err))
		fail(a->name, err.text);
	a->own.store = a->store;
	s->coord = nb_coord_new(a);
	if (!s->coord || epoll_ctl(fleet.epoll, EPOLL_CTL_ADD, nb_http_fd(a->http), &e))
		fail(a->name, strerror(errno));
}

static void turn(struct sim *s)
{
	struct nb_procs_result r;
	int ms = nb_agent_tick(&s->agent, s->coord);

	if (nb_procs_take(s->agent.procs, &r)) {
		nb_agent_take(&s->agent, s->coord, &r);
		ms = nb_agent_tick(&s->agent, s->coord);
	}
	s->due = nb_agent_ms() + (uint64_t)ms;
}

/* Turn the agents that have something to do. */
static void tick_agents(void)
{
	struct epoll_event e[EVENTS];
	int n = epoll_wait(fleet.epoll, e, EVENTS, 1);
	uint64_t now;

	for (int i = 0; i < n; i++) {
		struct sim *s = e[i].data.ptr;

		nb_http_tick(s->agent.http);
		turn(s);
	}
	now = nb_agent_ms();
	for (size_t i = 0; i < fleet.started; i++)
		if (now >= fleet.at[i].due)
			turn(&fleet.at[i]);
}

/* ---- ranks ---- */

/* One decision of all ranks. It is made when no site waits any more. */
static void decide(void)
{
	uint64_t now = nb_agent_ms();
	bool all = true, alike = true, taken;

	if (!fleet.registered || now < fleet.due_ms)
		return;
	for (size_t i = 0; i < fleet.n; i++) {
		struct sim *s = &fleet.at[i];

		if (!s->decided)
			s->decided = sim_decide(s, fleet.made + 1);
		all &= s->decided;
	}
	if (!all)
		return;
	for (size_t i = 0; i < fleet.n; i++) {
		alike &= fleet.at[i].generation == fleet.at[0].generation;
		fleet.at[i].decided = false;
	}
	fleet.diverged += !alike;
	fleet.made++;
	fleet.due_ms = now + 1000 / sim_job.per_s;
	taken = fleet.at[0].generation != fleet.taken;
	if (!alike || !taken)
		return;
	fleet.taken = fleet.at[0].generation;
	printf("taken %" PRId64 " %" PRIu64 "\n", fleet.taken, nb_agent_ms());
	fflush(stdout);
}

static void look_at_registration(void)
{
	if (fleet.registered || fleet.started < fleet.n)
		return;
	for (size_t i = 0; i < fleet.n; i++)
		if (!fleet.at[i].seg->mem->comm[0].fleet_since)
			return;
	fleet.registered = true;
	puts("registered");
	fflush(stdout);
}

static void end(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("decisions %" PRIu64 " waits %" PRIu64 " diverged %" PRIu64 " cpu_ms %ld\n",
	       fleet.made, sim_job.waits, fleet.diverged,
	       (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
		       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000);
}

static size_t number(const char *text)
{
	char *end_of;
	unsigned long n = strtoul(text, &end_of, 10);

	if (!n || *end_of || n > 100000)
		fail(text, "no number from 1 to 100000");
	return n;
}

int main(int argc, char **argv)
{
	const char *times = getenv("AGENT_TIMES");
	struct rlimit files;
	uint64_t next = 0;

	if (argc != 6) {
		fprintf(stderr, "usage: fleet_agents ENDPOINTS JOB SITES RANKS RATE\n");
		return 64;
	}
	if (times && !nb_agent_times_set(times))
		fail("AGENT_TIMES", times);
	fleet.n = number(argv[3]);
	sim_job.ranks = (int64_t)number(argv[4]);
	sim_job.per_s = number(argv[5]);
	sim_job.nranks = sim_job.ranks * (int64_t)fleet.n;
	fleet.at = calloc(fleet.n, sizeof(*fleet.at));
	fleet.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!fleet.at || fleet.epoll < 0)
		fail("start", strerror(errno));
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, on_signal);
	while (!stopped) {
		if (fleet.started < fleet.n && nb_agent_ms() >= next) {
			start_agent(fleet.started++, argv[1], argv[2]);
			next = nb_agent_ms() + RAMP_MS;
		}
		tick_agents();
		look_at_registration();
		decide();
	}
	end();
	return fleet.diverged ? 3 : 0;
}
