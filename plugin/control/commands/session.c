// SPDX-License-Identifier: MIT
/*
 * Handlers of hello, help, cancel and status: the session of a client, and an
 * overview of the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/liveness.h"
#include "plugin/change/divergence.h"
#include "plugin/change/sync.h"
#include "plugin/comm/overdue.h"
#include "plugin/control/commands/maker.h"
#include "plugin/control/connection.h"
#include "plugin/control/reply.h"
#include "plugin/control/socket.h"
#include "plugin/controller/controller.h"
#include "plugin/job/no_agent.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/history.h"
#include "plugin/policies/load.h"
#include "plugin/runtime/clock.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/params.h"
#include "plugin/wrap/wrapped.h"

static const char *role_word(enum nb_role role)
{
	return role == NB_ROLE_CONTROL ? "control" : "observe";
}

static void session_put_rank(struct nb_json *j)
{
	nb_json_ku64_if(j, "rank", nb_self.dir.rank >= 0, (uint64_t)nb_self.dir.rank);
}

int nb_cmd_hello(struct nb_call *call)
{
	struct nb_json *j = call->out;
	uint64_t version;
	int rc = nb_wire_number(&version, call->req->arg[0], 0, UINT32_MAX, "hello VERSION",
				call->err);

	if (rc)
		return rc;
	if (version != NB_WIRE_VERSION) {
		nb_fail(call->err, NB_E_VERSION, 0,
			"protocol version %llu is requested, this process speaks %d",
			(unsigned long long)version, NB_WIRE_VERSION);
		return nb_hint(call->err, "%s",
			       version > NB_WIRE_VERSION
				       ? "the plugin is older than the shell: update the plugin"
				       : "the shell is older than the plugin: update the shell");
	}
	nb_conn_greet(call->conn);
	nb_json_ku64(j, "protocol", NB_WIRE_VERSION);
	nb_json_kstr(j, "version", NCCLBPF_VERSION);
	nb_json_ku64(j, "pid", (uint64_t)getpid());
	nb_json_ku64(j, "pid_ns", nb_pid_namespace());
	nb_json_ku64(j, "uid", geteuid());
	nb_json_kstr(j, "host", nb_self.host);
	nb_json_kstr(j, "job", nb_self.dir.job);
	session_put_rank(j);
	nb_json_kstr(j, "role", role_word(NB_ROLE_CONTROL));
	nb_json_ku64(j, "tuner_abi", nb_comms.abi);
	return 0;
}

/*
 * Returns true if the command's row matches the words of the request, such as
 * "policy", "policy load" or "status".
 */
static bool help_wanted(const struct nb_cmd_spec *s, const struct nb_request *req)
{
	const char *gap = strchr(s->words, ' ');
	size_t first = gap ? (size_t)(gap - s->words) : strlen(s->words);

	if (!req->narg)
		return true;
	if (strlen(req->arg[0]) != first || memcmp(s->words, req->arg[0], first) != 0)
		return false;
	return req->narg == 1 || (gap && !strcmp(gap + 1, req->arg[1]));
}

static void put_command(struct nb_json *j, const struct nb_cmd_spec *s)
{
	nb_json_obj(j);
	nb_json_kstr(j, "words", s->words);
	nb_json_kstr(j, "syntax", s->syntax);
	nb_json_ku64(j, "least", s->least);
	nb_json_ku64(j, "most", s->most);
	nb_json_kstr(j, "role", role_word(s->role));
	nb_json_kstr(j, "help", s->help);
	nb_json_end_obj(j);
}

static int no_help(struct nb_call *call)
{
	const struct nb_request *req = call->req;
	const char *all[NB_NCMDS], *near[2];
	char text[64];

	for (unsigned c = 0; c < NB_NCMDS; c++)
		all[c] = nb_spec_cmd((enum nb_cmd)c)->words;
	snprintf(text, sizeof(text), "%.30s%s%.30s", req->arg[0], req->narg > 1 ? " " : "",
		 req->narg > 1 ? req->arg[1] : "");
	nb_spec_nearest(text, all, NB_NCMDS, near);
	return nb_fail(call->err, NB_E_NOENT, 1, "help: there is no command \"%s\"%s%s%s%s", text,
		       near[0] ? "; the nearest: " : "", near[0] ? near[0] : "",
		       near[1] ? ", " : "", near[1] ? near[1] : "");
}

int nb_cmd_help(struct nb_call *call)
{
	struct nb_json *j = call->out;
	unsigned n = 0;

	nb_json_karr(j, "commands");
	for (unsigned c = 0; c < NB_NCMDS; c++) {
		const struct nb_cmd_spec *s = nb_spec_cmd((enum nb_cmd)c);

		if (!help_wanted(s, call->req))
			continue;
		put_command(j, s);
		n++;
	}
	nb_json_end_arr(j);
	return n ? 0 : no_help(call);
}

int nb_cmd_cancel(struct nb_call *call)
{
	uint64_t id;
	int rc = nb_wire_number(&id, call->req->arg[0], 0, NB_WIRE_MAX_ID, "cancel ID", call->err);

	if (!rc)
		rc = nb_conn_cancel(call->conn, id, call->err);
	if (rc)
		return rc;
	nb_json_ku64(call->out, "cancelled", id);
	return 0;
}

static uint64_t uptime_s(void)
{
	return (nb_clock_system() - nb_self.started_ns) / 1000000000;
}

static void session_put_generation(struct nb_json *j)
{
	static const uint8_t none[NB_SHA256_SIZE];

	nb_json_ku64(j, "generation", nb_history_number(nb_gens.baseline_number));
	nb_cmd_digest(j, "digest", nb_gens.baseline ? nb_gens.baseline->digest : none);
	nb_json_kobj(j, "made");
	nb_cmd_maker(j, &nb_history.entry[0].maker);
	nb_json_end_obj(j);
	nb_cmd_gen_names(j, nb_gens.baseline);
	nb_cmd_scopes(j, nb_gens.baseline);
}

static void put_counters(struct nb_json *j)
{
	nb_json_kobj(j, "counters");
	for (int w = 1; w < NB_NREFUSED; w++)
		nb_json_ku64(j, nb_refused_word((enum nb_refused)w),
			     nb_comms_refused((enum nb_refused)w));
	nb_json_end_obj(j);
}

static void put_load_error(struct nb_json *j)
{
	if (!nb_load.err.code) {
		nb_json_knull(j, "error");
		return;
	}
	nb_json_kobj(j, "error");
	nb_json_kstr(j, "code", nb_err_word(nb_load.err.code));
	nb_json_kstr(j, "message", nb_load.err.text);
	nb_json_kstr(j, "hint", nb_load.err.hint);
	nb_json_kstr(j, "what", nb_load.what);
	nb_json_end_obj(j);
}

static void put_segment(struct nb_json *j)
{
	struct nb_segment_info info;

	nb_self_segment(&info);
	nb_json_kobj(j, "segment");
	nb_json_kstr(j, "path", info.path[0] ? info.path : NULL);
	nb_json_kbool(j, "shared", info.shared);
	nb_json_ku64(j, "processes", info.processes);
	nb_json_kstr(j, "why", info.why[0] ? info.why : NULL);
	nb_json_end_obj(j);
}

/* Returns how many of the job's communicators have diverged ranks. */
static uint64_t count_diverged(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; nb_self.seg && i < nb_seg_ncomms(nb_self.seg->mem); i++) {
		const struct nb_seg_comm *c = &nb_self.seg->mem->comm[i];

		n += __atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) && nb_divergence_diverged(c);
	}
	return n;
}

/*
 * Write the ranks of this process that have been inside one decision for a
 * second or more.
 */
static void put_overdue(struct nb_json *j)
{
	nb_json_karr(j, "overdue");
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint64_t seq, seconds = nb_overdue_s(c, &seq);

		if (!seconds)
			continue;
		nb_json_obj(j);
		nb_json_kid(j, "comm", c->init.comm_id);
		nb_json_ku64(j, "slot", c->slot_index);
		nb_json_ku64(j, "decision", seq);
		nb_json_ku64(j, "seconds", seconds);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

/*
 * Write the state of the controllers, or null if no policy in use has
 * controllers.
 */
static void session_put_controllers(struct nb_json *j, const struct nb_controllers_info *i)
{
	if (!i->wanted) {
		nb_json_knull(j, "controllers");
		return;
	}
	nb_json_kobj(j, "controllers");
	nb_json_kbool(j, "paused", i->paused);
	nb_json_ku64(j, "elected", i->pid);
	nb_json_ku64(j, "runs", i->state.runs);
	nb_json_ku64(j, "changes", i->state.changes);
	nb_json_ku64(j, "failures", i->state.failures);
	nb_json_kstr(j, "error", i->state.error[0] ? i->state.error : NULL);
	nb_json_end_obj(j);
}

/*
 * Write why policies may not be what the user expects: ranks that are missing
 * or differ, or a store that has lost changes.
 */
static void put_notice(struct nb_json *j)
{
	char text[320] = "", why[NB_STARTUP_WHY];

	for (const struct nb_comm *c = nb_comms.first; c && !*text; c = c->next)
		if (c->seg && nb_comm_differs(c))
			nb_startup_text(nb_self.seg, c->seg, text, sizeof(text));
		else if (nb_params_fleet() && !nb_comm_changeable(c, why))
			snprintf(text, sizeof(text), "%s", why);
	if (!*text)
		nb_store_back_text(text, sizeof(text));
	nb_json_kstr(j, "notice", *text ? text : NULL);
}

int nb_cmd_status(struct nb_call *call)
{
	struct nb_control *control = nb_conn_control(call->conn);
	struct nb_json *j = call->out;
	struct nb_controllers_info loop;
	char library[NB_NCCL_TEXT];

	/* nb_controllers_status takes the lock itself */
	nb_controllers_status(&loop);
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	nb_json_kstr(j, "version", NCCLBPF_VERSION);
	nb_json_ku64(j, "pid", (uint64_t)getpid());
	nb_json_ku64(j, "pid_ns", nb_pid_namespace());
	nb_json_kstr(j, "host", nb_self.host);
	nb_json_kstr(j, "job", nb_self.dir.job);
	session_put_rank(j);
	nb_json_kstr(j, "socket", nb_control_path(control));
	nb_json_ku64(j, "uptime_s", uptime_s());
	nb_json_ku64(j, "tuner_abi", nb_comms.abi);
	nb_nccl_text(library);
	nb_json_kstr(j, "library", library[0] ? library : NULL);
	nb_json_kstr(j, "coherence", nb_params.num[NB_P_COHERENCE] ? "off" : "strict");
	nb_cmd_times_json(j);
	session_put_generation(j);
	nb_json_kstr(j, "uncompiled",
		     nb_gens.baseline ? nb_gen_uncompiled(nb_gens.baseline) : NULL);
	put_notice(j);
	nb_json_kbool(j, "staged", nb_gens.staged != NULL);
	nb_json_ku64(j, "comms", nb_comms.n);
	nb_json_ku64(j, "decisions", nb_comms_decisions());
	nb_json_ku64(j, "diverged", count_diverged());
	put_overdue(j);
	put_counters(j);
	put_load_error(j);
	put_segment(j);
	nb_wrapped_json(j);
	session_put_controllers(j, &loop);
	nb_cmd_net_json(j);
	nb_cmd_gin_json(j);
	nb_cmd_verbs_json(j);
	nb_cmd_lost_json(j, "events_lost");
	nb_cmd_refused_json(j);
	nb_unlock(NB_LOCK_STATE);
	return 0;
}
