// SPDX-License-Identifier: MIT
/*
 * The plugin's life cycle in a process: the order of initialisation, periodic
 * housekeeping, fork, and the end.
 */
#include "plugin/process/process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/change/change.h"
#include "plugin/change/divergence.h"
#include "plugin/change/sync.h"
#include "plugin/comm/overdue.h"
#include "plugin/control/commands/commands.h"
#include "plugin/control/socket.h"
#include "plugin/controller/controller.h"
#include "plugin/env/override.h"
#include "plugin/job/no_agent.h"
#include "plugin/job/self.h"
#include "plugin/gin/gin.h"
#include "plugin/net/net.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"
#include "plugin/policies/host.h"
#include "plugin/policies/load.h"
#include "plugin/profiler/events.h"
#include "plugin/hooks/hooks.h"
#include "plugin/profiler/pools.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/room.h"
#include "plugin/trace/ring.h"
#include "plugin/verbs/stalled.h"
#include "plugin/verbs/unseen.h"
#include "plugin/verbs/verbs.h"
#include "plugin/wrap/wrapped.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static enum { FRESH, MADE, FAILED } made; /* protected by start_lock */
/* this process is a forked child in which NCCL has not called init yet */
static bool forked;
/* the control socket, or NULL if there is none */
static struct nb_control *control;

void nb_process_tick(void)
{
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	nb_gens_sweep();
	if (nb_hooks_use(nb_gens.baseline))
		nb_events_ask();
	for (struct nb_comm *c = nb_comms.first; c; c = c->next) {
		nb_comm_tell_mismatch(c);
		nb_comm_tell_fleet(c);
		nb_gens_tell_missing(c);
		nb_comm_tell_uncounted(c);
		nb_overdue_look(c);
	}
	nb_wrapped_log();
	nb_override_tell();
	nb_unlock(NB_LOCK_STATE);
	nb_no_agent_tick();
	nb_divergence_tick();
	nb_change_catch_up();
	nb_controllers_tick();
	nb_events_tick();
	nb_events_tell();
	nb_verbs_watch();
}

const char *nb_process_socket(void)
{
	return control ? nb_control_path(control) : NULL;
}

static void before_fork(void)
{
	pthread_mutex_lock(&start_lock);
	nb_lock_all();
	nb_control_fork_begin(control);
}

static void after_fork_parent(void)
{
	nb_control_fork_end(control);
	nb_unlock_all();
	pthread_mutex_unlock(&start_lock);
}

/*
 * Reset the plugin in a forked child. The child has copies of everything except
 * the control thread. It is not a rank, so its communicators must not write
 * into the parent's slots.
 */
static void after_fork_child(void)
{
	nb_comms_forked();
	nb_segment_abandon(nb_self.seg);
	nb_self.seg = NULL;
	nb_control_fork_end(control);
	nb_control_forked(control);
	nb_controllers_forked();
	forked = made == MADE;
	nb_hooks_forked();
	nb_trace_ring_forked();
	nb_events_forked();
	nb_net_forked();
	nb_gin_forked();
	nb_verbs_forked();
	nb_unlock_all();
	pthread_mutex_unlock(&start_lock);
}

static bool wants_control(void)
{
	return !nb_params.num[NB_P_CONTROL] && nb_self.dir.dirfd >= 0;
}

/*
 * Load the initial generation from NCCLBPF_POLICY, or use the empty generation
 * if that fails.
 */
static void load_first(void)
{
	const char *list = nb_params.str[NB_P_POLICY];
	struct nb_gen *g = NULL;
	struct nb_err err;

	nb_lock(NB_LOCK_STATE);
	if (*list && !nb_load_policies(list, &g, &err))
		g = nb_gens_keep(g, &err);
	if (g)
		nb_gens.baseline = g;
	nb_gens.first = nb_gens.baseline;
	if (nb_hooks_use(nb_gens.baseline))
		nb_events_ask();
	nb_unlock(NB_LOCK_STATE);
}

static void log_policies(void)
{
	const struct nb_gen *g = nb_gens.baseline;

	if (nb_load.err.code) {
		nb_log_err("NCCLBPF_POLICY cannot be loaded, NCCL decides", &nb_load.err);
		return;
	}
	for (uint32_t i = 0; i < g->npolicies; i++) {
		const struct nb_image *img = g->policy[i].policy->img;
		char digest[65];

		nb_sha256_text(img->digest, digest);
		nb_log(NB_LOG_INFO, "policy %s (%.16s) decides", img->name, digest);
	}
	if (nb_params.num[NB_P_COHERENCE])
		nb_log(NB_LOG_WARN,
		       "NCCLBPF_COHERENCE=off: policies may answer differently on different ranks, "
		       "which hangs a job of more than one process");
}

/*
 * Returns an error if so few threads are left that, with the control socket's
 * thread, NCCL might fail to start one later: NCCL would crash or hang.
 */
static int check_threads(struct nb_err *err)
{
	struct nb_room room;

	nb_room_threads("", &room);
	if (room.left >= NB_ROOM_THREADS_KEPT)
		return 0;
	nb_fail(err, NB_E_FULL, 0, "%s leaves %llu of %llu threads, and NCCL may need %d",
		room.limit, (unsigned long long)room.left, (unsigned long long)room.all,
		NB_ROOM_THREADS_KEPT);
	nb_hint(err, "raise that limit (docker run --pids-limit)");
	return err->code;
}

static void start_control(void)
{
	struct nb_control *made_now = NULL;
	struct nb_err err;

	if (!wants_control())
		return;
	if (check_threads(&err) ||
	    nb_control_start(&made_now, nb_command_handlers, nb_process_tick, &nb_self.dir, &err)) {
		nb_log_err("no control socket", &err);
		nb_self_no_control();
	}
	control = made_now;
}

static int attach_segment(void)
{
	struct nb_err err;
	int rc = nb_self_attach(!nb_params.num[NB_P_CONTROL], &err);

	if (rc)
		nb_log_err("ncclbpf does nothing in this process", &err);
	return rc;
}

static int process_make(void)
{
	struct nb_err err;
	int rc = nb_params_read();

	if (rc || nb_params.num[NB_P_DISABLE])
		return rc ? rc : NB_E_SETTING;
	if (*nb_params.str[NB_P_ENV])
		nb_override_file(nb_params.str[NB_P_ENV]);
	nb_verbs_nccl_find();
	nb_wrapped_open_all();
	nb_self_open();
	rc = nb_gen_new(&nb_gens.empty, NULL, 0, NULL, &err);
	if (rc)
		nb_log_err("ncclbpf does nothing in this process", &err);
	else
		rc = attach_segment();
	if (rc)
		return rc;
	nb_gens.baseline = nb_gens.empty;
	load_first();
	nb_gens_number();
	log_policies();
	pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	start_control();
	return 0;
}

static void free_all(void)
{
	nb_gens_free();
	nb_held_free();
	nb_host_free();
	nb_self_close();
	nb_params_free();
}

/* Initialise the plugin again, because NCCL calls it in a forked child. */
static int process_make_forked(void)
{
	int rc;

	nb_control_abandon(control);
	control = NULL;
	forked = false;
	/* only the parent process has announced the staged generation */
	nb_gens.staged = NULL;
	nb_jobdir_close(&nb_self.dir);
	nb_self_open();
	rc = attach_segment();
	if (rc)
		return rc;
	nb_gens_number();
	start_control();
	return 0;
}

bool nb_process_ready(nb_logger_fn *logger)
{
	bool usable;

	nb_log_to(logger);
	nb_nccl_find((const void *)(uintptr_t)logger);
	if (nb_nccl_version())
		nb_pools_version(nb_nccl_version());
	pthread_mutex_lock(&start_lock);
	if (made == FRESH) {
		made = process_make() ? FAILED : MADE;
		if (made == FAILED)
			free_all();
	} else if (made == MADE && forked && process_make_forked())
		made = FAILED;
	usable = made == MADE;
	if (logger)
		nb_log_kept();
	pthread_mutex_unlock(&start_lock);
	/*
	 * without the lock, because this calls the loader: a fork in another
	 * library's constructor has the loader's lock and takes ours
	 */
	if (usable)
		nb_verbs_attach();
	return usable;
}

bool nb_net_ready(nb_net_logger *logger)
{
	return nb_process_ready(logger);
}

/*
 * Leave the job and free nothing: threads of NCCL and of the application run
 * until the process has ended, and each may be in any function of ours. A
 * control thread that does not end waits for one of them, and its work stays as
 * if the process had been killed. Nothing here waits without a bound.
 */
static void leave_job(void)
{
	bool ended = nb_control_quit(control);

	nb_events_leave();
	if (!ended)
		return;
	nb_controllers_resign();
	nb_self_leave();
}

/*
 * The end of the process: the library is never unloaded (plugin.mk). If another
 * thread is in nb_process_ready, the plugin is not complete and has nothing to
 * leave.
 */
static __attribute__((destructor)) void process_end(void)
{
	if (pthread_mutex_trylock(&start_lock))
		return;
	/* a forked child in a new PID namespace may have its parent's PID */
	if (made == MADE && !forked && nb_self.pid == getpid()) {
		leave_job();
		made = FAILED;
	}
	pthread_mutex_unlock(&start_lock);
}
