// SPDX-License-Identifier: MIT
/*
 * Handlers of map attach|detach, which choose what host maps show. The client
 * sends the descriptor with the request line, and the map's owner checks it. A
 * client of several processes stages the change in all of them, and commits it
 * if all have accepted it; the connection keeps the change until step=done.
 */
#include <stdio.h>
#include <string.h>

#include "plugin/control/connection.h"
#include "plugin/control/reply.h"
#include "plugin/policies/host.h"
#include "plugin/runtime/lock.h"

static void put_state(struct nb_call *call, const char *state)
{
	snprintf(call->note, sizeof(call->note), "%.64s %s", call->req->arg[0], state);
	nb_json_kstr(call->out, "map", call->req->arg[0]);
	nb_json_kstr(call->out, "state", state);
}

static int commit(struct nb_call *call, struct nb_host_change *c, const char *state)
{
	int maps;

	nb_lock(NB_LOCK_STATE);
	maps = nb_host_commit(c, call->err);
	nb_unlock(NB_LOCK_STATE);
	if (maps < 0)
		return maps;
	put_state(call, state);
	nb_json_ku64(call->out, "maps", (uint64_t)maps);
	return 0;
}

static void free_change(void *change)
{
	nb_host_change_free(change);
}

/* Stage a change, and commit it unless the client will. */
static int map_host_begin(struct nb_call *call, int fd, bool stage, const char *state)
{
	struct nb_host_change *c;
	int rc = nb_host_stage(&c, call->req->arg[0], fd, call->err);

	if (rc)
		return rc;
	if (stage) {
		nb_conn_keep(call->conn, c, free_change);
		put_state(call, "staged");
		return 0;
	}
	rc = commit(call, c, state);
	nb_host_change_free(c);
	return rc;
}

/* The change that the connection keeps for this map, or NULL. */
static struct nb_host_change *kept(const struct nb_call *call)
{
	struct nb_host_change *c = nb_conn_kept(call->conn);

	return c && !strcmp(nb_host_change_name(c), call->req->arg[0]) ? c : NULL;
}

static int undo(struct nb_call *call, struct nb_host_change *c)
{
	int rc;

	nb_lock(NB_LOCK_STATE);
	rc = nb_host_undo(c, call->err);
	nb_unlock(NB_LOCK_STATE);
	if (rc)
		return rc;
	nb_conn_keep(call->conn, NULL, NULL);
	put_state(call, "undone");
	return 0;
}

/* Handle step=commit, step=undo and step=done. */
static int go_on(struct nb_call *call, const char *step, const char *state)
{
	struct nb_host_change *c = kept(call);

	if (strcmp(step, "commit") && strcmp(step, "undo") && strcmp(step, "done"))
		return nb_fail(call->err, NB_E_ARG, 0,
			       "option step=%.40s: stage, commit, undo and done "
			       "are known",
			       step);
	if (!c)
		return nb_fail(call->err, NB_E_NOENT, 0,
			       "map %.64s: this connection has staged nothing", call->req->arg[0]);
	if (!strcmp(step, "commit"))
		return commit(call, c, state);
	if (!strcmp(step, "undo"))
		return undo(call, c);
	nb_conn_keep(call->conn, NULL, NULL);
	put_state(call, "done");
	return 0;
}

int nb_cmd_map_attach(struct nb_call *call)
{
	const char *step = nb_request_opt(call->req, "step");
	bool stage = step && !strcmp(step, "stage");
	int fd;

	if (step && !stage)
		return go_on(call, step, "attached");
	fd = nb_conn_take_fd(call->conn);
	if (fd < 0) {
		nb_fail(call->err, NB_E_ARG, 0,
			"map attach %.64s: the request has no file descriptor", call->req->arg[0]);
		return nb_hint(
			call->err,
			"send the descriptor of a frozen BPF array or of a sealed memory file "
			"(SCM_RIGHTS) with the line's first byte");
	}
	return map_host_begin(call, fd, stage, "attached");
}

int nb_cmd_map_detach(struct nb_call *call)
{
	const char *step = nb_request_opt(call->req, "step");
	bool stage = step && !strcmp(step, "stage");

	if (step && !stage)
		return go_on(call, step, "detached");
	return map_host_begin(call, -1, stage, "detached");
}
