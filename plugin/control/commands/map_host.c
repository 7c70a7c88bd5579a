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

static int map_host_show(struct nb_call *call, int fd, const char *state)
{
	const char *name = call->req->arg[0];
	int maps = nb_host_show(name, fd, call->err);

	if (maps < 0)
		return maps;
	snprintf(call->note, sizeof(call->note), "%.64s %s", name, state);
	nb_json_kstr(call->out, "map", name);
	nb_json_kstr(call->out, "state", state);
	nb_json_ku64(call->out, "maps", (uint64_t)maps);
	return 0;
}

int nb_cmd_map_attach(struct nb_call *call)
{
	int fd = nb_conn_take_fd(call->conn), rc;

	if (fd < 0) {
		nb_fail(call->err, NB_E_ARG, 0,
			"map attach %.64s: the request has no file descriptor", call->req->arg[0]);
		return nb_hint(
			call->err,
			"send the descriptor of a frozen BPF array or of a sealed memory file "
			"(SCM_RIGHTS) with the line's first byte");
	}
	rc = map_host_show(call, fd, "attached");
	if (rc)
		close(fd);
	return rc;
}

int nb_cmd_map_detach(struct nb_call *call)
{
	return map_host_show(call, -1, "detached");
}
