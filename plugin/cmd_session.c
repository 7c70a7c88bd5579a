// SPDX-License-Identifier: MIT
// hello, help, cancel, status: the conversation itself and the process at a
// glance.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/exec/spin.h"

#include "plugin/cmd.h"
#include "plugin/conn.h"
#include "plugin/control.h"
#include "plugin/loop.h"
#include "plugin/segment.h"

static const char *role_word(enum nb_role role)
{
	return role == NB_ROLE_CONTROL ? "control" : "observe";
}

static void rank(struct nb_json *j, const struct nb_runtime *rt)
{
	nb_json_key(j, "rank");
	if (rt->place.rank >= 0)
		nb_json_u64(j, (uint64_t)rt->place.rank);
	else
		nb_json_null(j);
}

int nb_cmd_hello(struct nb_call *call)
{
	struct nb_runtime *rt = call->rt;
	struct nb_json *j = call->out;
	uint64_t version;
	int rc = nb_wire_number(&version, call->req->arg[0], 0, UINT32_MAX,
				"hello VERSION", call->err);

	if (rc)
		return rc;
	if (version != NB_WIRE_VERSION) {
		nb_fail(call->err, NB_E_VERSION, 0,
			"protocol version %llu is asked for, this process "
			"speaks %d",
			(unsigned long long)version, NB_WIRE_VERSION);
		return nb_hint(call->err, "%s",
			       version > NB_WIRE_VERSION
				       ? "the plugin is older than the shell: "
					 "update the plugin"
				       : "the shell is older than the plugin: "
					 "update the shell");
	}
	nb_conn_greet(call->conn);
	nb_runtime_lock(rt);
	nb_json_obj(j);
	nb_json_ku64(j, "protocol", NB_WIRE_VERSION);
	nb_json_kstr(j, "version", NCCLBPF_VERSION);
	nb_json_ku64(j, "pid", (uint64_t)getpid());
	nb_json_ku64(j, "uid", geteuid());
	nb_json_kstr(j, "host", rt->host);
	nb_json_kstr(j, "job", rt->place.job);
	rank(j, rt);
	nb_json_kstr(j, "role", role_word(NB_ROLE_CONTROL));
	nb_json_ku64(j, "tuner_abi", rt->tuner_abi);
	nb_json_end_obj(j);
	nb_runtime_unlock(rt);
	return 0;
}

/* Does the row stand for these words: "policy", "policy load", "status"? */
static bool asked(const struct nb_cmd_spec *s, const struct nb_request *req)
{
	const char *gap = strchr(s->words, ' ');
	size_t first = gap ? (size_t)(gap - s->words) : strlen(s->words);

	if (!req->narg)
		return true;
	if (strlen(req->arg[0]) != first ||
	    memcmp(s->words, req->arg[0], first) != 0)
		return false;
	return req->narg == 1 || (gap && !strcmp(gap + 1, req->arg[1]));
}

static void command(struct nb_json *j, const struct nb_cmd_spec *s)
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
	snprintf(text, sizeof(text), "%.30s%s%.30s", req->arg[0],
		 req->narg > 1 ? " " : "", req->narg > 1 ? req->arg[1] : "");
	nb_spec_nearest(text, all, NB_NCMDS, near);
	return nb_fail(call->err, NB_E_NOENT, 1,
		       "help: there is no command \"%s\"%s%s%s%s", text,
		       near[0] ? "; the nearest: " : "", near[0] ? near[0] : "",
		       near[1] ? ", " : "", near[1] ? near[1] : "");
}

int nb_cmd_help(struct nb_call *call)
{
	struct nb_json *j = call->out;
	unsigned n = 0;

	nb_json_obj(j);
	nb_json_key(j, "commands");
	nb_json_arr(j);
	for (unsigned c = 0; c < NB_NCMDS; c++) {
		const struct nb_cmd_spec *s = nb_spec_cmd((enum nb_cmd)c);

		if (!asked(s, call->req))
			continue;
		command(j, s);
		n++;
	}
	nb_json_end_arr(j);
	nb_json_end_obj(j);
	return n ? 0 : no_help(call);
}

int nb_cmd_cancel(struct nb_call *call)
{
	uint64_t id;
	int rc = nb_wire_number(&id, call->req->arg[0], 0, NB_WIRE_MAX_ID,
				"cancel ID", call->err);

	if (!rc)
		rc = nb_conn_cancel(call->conn, id, call->err);
	if (rc)
		return rc;
	nb_json_obj(call->out);
	nb_json_ku64(call->out, "cancelled", id);
	nb_json_end_obj(call->out);
	return 0;
}

/* ---- status ---- */

static uint64_t uptime_s(const struct nb_runtime *rt)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec -
		rt->started_ns) /
	       1000000000;
}

static void generation(struct nb_json *j, const struct nb_runtime *rt)
{
	static const uint8_t none[NB_SHA256_SIZE];

	nb_json_ku64(j, "generation", rt->baseline_number);
	nb_cmd_digest(j, "digest", rt->baseline ? rt->baseline->digest : none);
	nb_cmd_gen_names(j, rt->baseline);
	nb_cmd_scopes(j, rt->baseline);
}

static void counters(struct nb_json *j, const struct nb_runtime *rt)
{
	nb_json_key(j, "counters");
	nb_json_obj(j);
	for (int w = 1; w < NB_NREFUSED; w++)
		nb_json_ku64(j, nb_refused_word((enum nb_refused)w),
			     nb_runtime_refused(rt, (enum nb_refused)w));
	nb_json_end_obj(j);
}

static void load_error(struct nb_json *j, const struct nb_runtime *rt)
{
	nb_json_key(j, "error");
	if (!rt->load_err.code) {
		nb_json_null(j);
		return;
	}
	nb_json_obj(j);
	nb_json_kstr(j, "code", nb_err_word(rt->load_err.code));
	nb_json_kstr(j, "message", rt->load_err.text);
	nb_json_kstr(j, "hint", rt->load_err.hint);
	nb_json_kstr(j, "what", rt->load_what);
	nb_json_end_obj(j);
}

static void segment(struct nb_json *j, struct nb_runtime *rt)
{
	struct nb_segment_info info;

	nb_runtime_segment_info(rt, &info);
	nb_json_key(j, "segment");
	nb_json_obj(j);
	nb_json_kstr(j, "path", info.path[0] ? info.path : NULL);
	nb_json_kbool(j, "shared", info.shared);
	nb_json_ku64(j, "processes", info.processes);
	nb_json_kstr(j, "why", info.why[0] ? info.why : NULL);
	nb_json_end_obj(j);
}

/* Communicators of the job whose ranks were seen to differ. */
static uint64_t diverged(const struct nb_runtime *rt)
{
	uint64_t n = 0;

	for (uint32_t i = 0; rt->seg && i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &rt->seg->mem->comm[i];

		n += __atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE) &&
		     nb_watch_diverged(c);
	}
	return n;
}

/* null: no policy in use has controllers. */
static void controllers(struct nb_json *j, const struct nb_loop_info *i)
{
	nb_json_key(j, "controllers");
	if (!i->wanted) {
		nb_json_null(j);
		return;
	}
	nb_json_obj(j);
	nb_json_kbool(j, "paused", i->paused);
	nb_json_ku64(j, "elected", i->pid);
	nb_json_ku64(j, "runs", i->state.runs);
	nb_json_ku64(j, "changes", i->state.changes);
	nb_json_ku64(j, "failures", i->state.failures);
	nb_json_kstr(j, "error", i->state.error[0] ? i->state.error : NULL);
	nb_json_end_obj(j);
}

int nb_cmd_status(struct nb_call *call)
{
	struct nb_control *control = nb_conn_control(call->conn);
	struct nb_runtime *rt = call->rt;
	struct nb_json *j = call->out;
	struct nb_loop_info loop;

	nb_loop_status(rt, &loop);
	nb_runtime_lock(rt);
	nb_runtime_sync(rt);
	nb_json_obj(j);
	nb_json_kstr(j, "version", NCCLBPF_VERSION);
	nb_json_ku64(j, "pid", (uint64_t)getpid());
	nb_json_kstr(j, "host", rt->host);
	nb_json_kstr(j, "job", rt->place.job);
	rank(j, rt);
	nb_json_kstr(j, "socket", nb_control_path(control));
	nb_json_ku64(j, "uptime_s", uptime_s(rt));
	nb_json_ku64(j, "tuner_abi", rt->tuner_abi);
	nb_json_kstr(j, "coherence",
		     rt->params.num[NB_P_COHERENCE] ? "off" : "strict");
	nb_cmd_times_json(j, rt);
	generation(j, rt);
	nb_json_kbool(j, "staged", rt->staged != NULL);
	nb_json_ku64(j, "comms", rt->ncomms);
	nb_json_ku64(j, "decisions", nb_runtime_decisions(rt));
	nb_json_ku64(j, "diverged", diverged(rt));
	nb_json_ku64(j, "lock_takeovers", nb_spin_takeovers());
	counters(j, rt);
	load_error(j, rt);
	segment(j, rt);
	nb_chain_json(j, rt);
	controllers(j, &loop);
	nb_cmd_net_json(j);
	nb_cmd_lost_json(j, "events_lost");
	nb_json_end_obj(j);
	nb_runtime_unlock(rt);
	return 0;
}
