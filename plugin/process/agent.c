// SPDX-License-Identifier: MIT
/*
 * Starts the site's agent. The agent does not stay a child of the job: the
 * program forks and its first process exits at once. The application therefore
 * sees no unknown child process.
 */
#include "plugin/process/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/liveness.h"
#include "plugin/job/registry.h"
#include "plugin/job/self.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"

enum {
	/* time in which only the first process of the site starts the agent */
	FIRST_MS = 3000,
	RETRY_MS = 2000,
	/* an agent that makes no progress for this time is ended */
	STUCK_MS = 5000,
	/* log a warning if the site has no agent for this time */
	ABSENT_MS = 8000
};

/* State of starting an agent. Only the control thread uses it. */
static struct {
	/* time since which the site has no agent; 0: it has one */
	uint64_t missing_ms;
	uint64_t tried_ms;
	/* our child process, which exits when the agent runs; 0: none */
	pid_t starter;
	bool told;
	bool told_absent;
} agent;

static uint64_t now_ms(void)
{
	return nb_clock_read(CLOCK_MONOTONIC) / 1000000;
}

/*
 * Returns true if this process has the first entry of all living processes of
 * the job.
 */
static bool is_first(const struct nb_segment *s)
{
	for (uint32_t i = 0; i < s->proc; i++)
		if (s->mem->proc[i].pid &&
		    !(s->mem->proc[i].flags & NB_SEG_PROC_AGENT) &&
		    nb_segment_entry_alive(s, i, NB_QUICK))
			return false;
	return true;
}

/*
 * Find the agent's program: NCCLBPF_AGENT, or a file beside this library or in
 * ../bin.
 */
static bool find_program(char path[PATH_MAX])
{
	const char *set = nb_params.str[NB_P_AGENT];
	static const char *const places[] = { "ncclbpf-agent",
					      "../bin/ncclbpf-agent" };
	Dl_info info;
	char *slash;

	if (*set) {
		snprintf(path, PATH_MAX, "%s", set);
		return access(path, X_OK) == 0;
	}
	if (!dladdr(&agent, &info) || !info.dli_fname)
		return false;
	for (int i = 0; i < 2; i++) {
		snprintf(path, PATH_MAX - 32, "%s", info.dli_fname);
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		snprintf(slash + 1, 32, "%s", places[i]);
		if (!access(path, X_OK))
			return true;
	}
	return false;
}

/*
 * Returns the job's environment without LD_PRELOAD and LD_AUDIT, which would
 * load the job's libraries into the agent.
 */
static char **agent_environment(void)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) &&
		    strncmp(environ[i], "LD_AUDIT=", 9))
			env[k++] = environ[i];
	return env;
}

/*
 * Start the agent's program. Returns 0 or an errno. It does not wait for the
 * program's first process.
 */
static int spawn_agent(const char *path)
{
	char name[] = "ncclbpf-agent", job[] = "--job", dir[] = "--dir",
	     started[] = "--started";
	char *argv[] = { name,	  job, nb_self.dir.job, dir, nb_self.dir.dir,
			 started, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	char **env = agent_environment();
	int rc = ENOMEM;

	if (!env)
		return ENOMEM;
	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawn_file_actions_init(&files))
		goto out;
	if (posix_spawnattr_init(&attr))
		goto out_files;
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	rc = posix_spawn(&agent.starter, path, &files, &attr, argv, env);
	if (rc)
		agent.starter = 0;
	posix_spawnattr_destroy(&attr);
out_files:
	posix_spawn_file_actions_destroy(&files);
out:
	free(env);
	return rc;
}

static void start_agent(void)
{
	char path[PATH_MAX];
	int rc;

	if (!find_program(path)) {
		const char *set = nb_params.str[NB_P_AGENT];

		if (!agent.told && *set)
			nb_log(NB_LOG_WARN,
			       "NCCLBPF_AGENT=%s: %s: no change reaches "
			       "communicators of several hosts",
			       set, strerror(errno));
		else if (!agent.told)
			nb_log(NB_LOG_WARN,
			       "ncclbpf-agent is neither beside libncclbpf.so nor in ../bin "
			       "from there: no change reaches communicators of several hosts; "
			       "NCCLBPF_AGENT names it");
		agent.told = true;
		return;
	}
	rc = spawn_agent(path);
	nb_log(rc ? NB_LOG_WARN : NB_LOG_INFO, "agent %s: %s", path,
	       rc ? strerror(rc) : "started");
}

/*
 * Reap the program's first process. The control thread never waits for it,
 * because it serves the sockets and decides fences. A first process that hangs
 * is ended, because no other agent is started while it runs.
 */
static void reap_starter(uint64_t now)
{
	int status = 0;
	pid_t pid;

	if (!agent.starter)
		return;
	pid = waitpid(agent.starter, &status, WNOHANG);
	if (!pid && now >= agent.tried_ms + STUCK_MS) {
		nb_log(NB_LOG_WARN,
		       "agent: its first process %d has not exited for %d ms, so it is killed",
		       (int)agent.starter, STUCK_MS);
		kill(agent.starter, SIGKILL);
	}
	if (!pid || (pid < 0 && errno == EINTR))
		return;
	/*
	 * ECHILD: the application has reaped the process, or we are a forked
	 *   child
	 */
	agent.starter = 0;
	if (pid > 0 && status)
		nb_log(NB_LOG_WARN,
		       "agent: the program's first process ended with %s %d",
		       WIFEXITED(status) ? "status" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status)
					 : WTERMSIG(status));
}

/* End an agent that hangs, because ranks at a fence wait for it. */
static void end_if_stuck(const struct nb_segment *s, uint64_t pid,
			 uint64_t start, uint64_t now)
{
	uint64_t beat =
		__atomic_load_n(&s->mem->agent.beat_ms, __ATOMIC_ACQUIRE);

	if (!pid || !beat || now < beat + STUCK_MS ||
	    !nb_process_alive(pid, start))
		return;
	nb_log(NB_LOG_WARN,
	       "agent %llu has been silent for %llu ms: it is killed and started again",
	       (unsigned long long)pid, (unsigned long long)(now - beat));
	kill((pid_t)pid, SIGKILL);
}

/*
 * Warn that the site has no agent. Nothing else can end the wait of a rank at
 * an armed fence, because the rank cannot know what the other sites have
 * decided.
 */
static void tell_absent(uint64_t now)
{
	if (agent.told_absent || now < agent.missing_ms + ABSENT_MS)
		return;
	nb_log(NB_LOG_WARN,
	       "no agent has run on this site for %d s: "
	       "no change reaches the site, "
	       "and a rank at an armed fence waits until an agent runs. "
	       "Start ncclbpf-agent; as a service it needs Restart=always",
	       ABSENT_MS / 1000);
	agent.told_absent = true;
}

static void agent_is_there(void)
{
	if (agent.told_absent)
		nb_log(NB_LOG_INFO, "an agent runs on this site again");
	agent.told_absent = false;
	agent.missing_ms = 0;
}

void nb_agent_supervise(void)
{
	struct nb_segment *s = nb_self.seg;
	uint64_t now, pid, start;

	if (!nb_params_fleet() || !s || !s->shared)
		return;
	now = now_ms();
	reap_starter(now);
	if (nb_segment_agent(s, &pid, &start)) {
		agent_is_there();
		if (strcmp(nb_params.str[NB_P_AGENT], "none") != 0)
			end_if_stuck(s, pid, start, now);
		return;
	}
	if (!agent.missing_ms)
		agent.missing_ms = now;
	tell_absent(now);
	if (!strcmp(nb_params.str[NB_P_AGENT], "none") || agent.starter ||
	    (agent.tried_ms && now < agent.tried_ms + RETRY_MS) ||
	    (!is_first(s) && now < agent.missing_ms + FIRST_MS))
		return;
	agent.tried_ms = now;
	start_agent();
}
