// SPDX-License-Identifier: MIT
/*
 * Continues a rollout whose runner is lost. When the coordinator has restored
 * the baseline, and the plan has on_lost = "resume", it starts the program that
 * NCCLBPF_FLEET_RUNNER names, which is the shell or a script that starts it.
 * The shell then makes a new runner, which judges with the stored blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/agent/coord.h"
#include "plugin/runtime/params.h"

/*
 * Execute the program in this new process. The agent has several threads, so
 * only functions that are safe after fork may be called here.
 */
static void become(char *const argv[])
{
	int null = open("/dev/null", O_RDWR);
	struct sigaction def = { .sa_handler = SIG_DFL };

	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &def, NULL);
	dup2(null, 0);
	dup2(null, 1);
#ifdef SYS_close_range
	/* the agent's connections; Linux before 5.9 keeps them open */
	(void)syscall(SYS_close_range, 3U, ~0U, 0U);
#endif
	execvp(argv[0], argv);
	_exit(127);
}

static void start(struct nb_coord *c)
{
	char job[] = "-J", rollout[] = "rollout", resume[] = "resume",
	     follow[] = "follow=no";
	char *argv[] = { nb_params.str[NB_P_FLEET_RUNNER],
			 job,
			 c->a->dir.job,
			 rollout,
			 resume,
			 follow,
			 NULL };
	pid_t pid = fork();

	if (!pid)
		become(argv);
	c->runner = pid > 0 ? pid : 0;
	if (pid < 0)
		nb_agent_log("the rollout stays paused: fork: %s",
			     strerror(errno));
	else
		nb_agent_log("%s resumes the rollout (process %d)", argv[0],
			     (int)pid);
}

static void claimed(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord *c = nb_coord_reply(arg, r);

	if (!c)
		return;
	c->state = NB_COORD_IDLE;
	start(c);
}

/* Report how the program ended, once it has. */
static void reap_runner(struct nb_coord *c)
{
	int status = 0;

	if (!c->runner || waitpid(c->runner, &status, WNOHANG) != c->runner)
		return;
	c->runner = 0;
	if (status)
		nb_agent_log("the rollout stays paused: %s ended with %s %d",
			     nb_params.str[NB_P_FLEET_RUNNER],
			     WIFEXITED(status) ? "status" : "signal",
			     WIFEXITED(status) ? WEXITSTATUS(status)
					       : WTERMSIG(status));
}

/*
 * The member resume of guard/undone is true until one coordinator has cleared
 * it, so only one program is started.
 */
bool nb_coord_resume(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "guard/undone");
	const char *program = nb_params.str[NB_P_FLEET_RUNNER];
	struct nb_coord_txn *t;
	json_t *value;

	reap_runner(c);
	if (!k || !json_is_true(json_object_get(k->value, "resume")) ||
	    !program || !*program || nb_view_get(&c->a->view, "guard/runner"))
		return false;
	t = nb_coord_txn_new(c);
	value = json_copy(k->value);
	if (!t || !value)
		return false;
	json_object_del(value, "resume");
	json_object_set_new(value, "heir", json_string(c->a->name));
	nb_coord_txn_compare(c, t, "guard/undone", k->mod);
	nb_coord_txn_compare(c, t, "guard/runner", 0);
	nb_coord_txn_put(c, t, "guard/undone", value, 0);
	nb_coord_enter(c, NB_COORD_CLEANING, 0);
	nb_coord_txn_send(c, t, claimed);
	return true;
}
