// SPDX-License-Identifier: MIT
/*
 * Handlers of map attach|detach, which choose what host maps show. The client
 * sends the descriptor with the request line, and the map's owner checks it.
 */
#include <stdio.h>
#include <unistd.h>

#include "plugin/control/connection.h"
#include "plugin/control/reply.h"
#include "plugin/policies/host.h"
#include "plugin/runtime/lock.h"

static int answer(struct nb_call *call, int maps, const char *what)
{
	const char *name = call->req->arg[0];

	if (maps < 0)
		return maps;
	snprintf(call->note, sizeof(call->note), "%.64s %s", name, what);
	nb_json_kstr(call->out, "map", name);
	nb_json_ku64(call->out, "maps", (uint64_t)maps);
	return 0;
}

int nb_cmd_map_attach(struct nb_call *call)
{
	int fd = nb_conn_take_fd(call->conn), maps;

	if (fd < 0) {
		nb_fail(call->err, NB_E_ARG, 0,
			"map attach %.64s: the request has no file descriptor",
			call->req->arg[0]);
		return nb_hint(
			call->err,
			"send the descriptor of a frozen BPF array or of a sealed memory file "
			"(SCM_RIGHTS) with the line's first byte");
	}
	nb_lock(NB_LOCK_STATE);
	maps = nb_host_attach(call->req->arg[0], fd, call->err);
	nb_unlock(NB_LOCK_STATE);
	return answer(call, maps, "attached");
}

int nb_cmd_map_detach(struct nb_call *call)
{
	int maps;

	nb_lock(NB_LOCK_STATE);
	maps = nb_host_detach(call->req->arg[0], call->err);
	nb_unlock(NB_LOCK_STATE);
	return answer(call, maps, "detached");
}
