// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_DISPATCH_H
#define NB_PLUGIN_CONTROL_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/wire/wire.h"

/*
 * Handlers of commands, one for each row of core/defs/commands.h, in
 * plugin/control/commands/. A new command needs a row there, a function, and a
 * line in the table of dispatch.c.
 */
struct nb_conn;

/* The client. SO_PEERCRED gives its process ID, user and group. */
struct nb_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	bool greeted; /* it has sent hello */
};

/*
 * A call of a handler. The handler writes members of the reply's open object
 * and returns 0, or it fills @err and returns the error's code; its output is
 * then dropped. Handlers run on the control thread only.
 *
 * @fd_out: descriptor that the handler sends beside the reply, which the caller
 *   closes; -1: none
 * @note: outcome for the log line, set by handlers of the control role ("digest
 *   12ab34cd, generation 5")
 * @finding: JSON object for the error's member "finding"; empty: none
 * @text: value of the error's member "text"; empty: none
 */
struct nb_call {
	struct nb_conn *conn;
	const struct nb_request *req;
	const struct nb_peer *peer;
	struct nb_json *out;
	struct nb_err *err;
	int fd_out;
	char note[160];
	struct nb_buf finding, text;
};

typedef int nb_handler_fn(struct nb_call *call);

nb_handler_fn nb_cmd_hello, nb_cmd_help, nb_cmd_cancel, nb_cmd_status,
	nb_cmd_doctor;
nb_handler_fn nb_cmd_policy_list, nb_cmd_policy_load, nb_cmd_policy_export,
	nb_cmd_policy_dump, nb_cmd_policy_show, nb_cmd_policy_time,
	nb_cmd_policy_use, nb_cmd_policy_add, nb_cmd_policy_remove,
	nb_cmd_policy_move, nb_cmd_policy_undo, nb_cmd_policy_unload,
	nb_cmd_policy_history;
nb_handler_fn nb_cmd_map_list, nb_cmd_map_show, nb_cmd_map_dump, nb_cmd_map_get,
	nb_cmd_map_set, nb_cmd_map_remove, nb_cmd_map_load, nb_cmd_map_pop,
	nb_cmd_map_attach, nb_cmd_map_detach;
nb_handler_fn nb_cmd_change_status, nb_cmd_change_check, nb_cmd_change_commit,
	nb_cmd_change_abort, nb_cmd_change_export, nb_cmd_change_import;
nb_handler_fn nb_cmd_check_agreement;
nb_handler_fn nb_cmd_controller_status, nb_cmd_controller_pause,
	nb_cmd_controller_resume;
nb_handler_fn nb_cmd_comm_list, nb_cmd_comm_show, nb_cmd_explain,
	nb_cmd_decision_tail, nb_cmd_trace_tail;
nb_handler_fn nb_cmd_trace_start, nb_cmd_trace_stop, nb_cmd_trace_status,
	nb_cmd_trace_read;
nb_handler_fn nb_cmd_env_list, nb_cmd_env_set, nb_cmd_env_unset,
	nb_cmd_env_remove;
nb_handler_fn nb_cmd_net, nb_cmd_gin, nb_cmd_verbs;
nb_handler_fn nb_cmd_telemetry, nb_cmd_stats, nb_cmd_sample_tail;

/*
 * nb_command_answer - answer one request line with one reply line
 * @line: @size bytes without the line feed; it is modified, also one byte after
 *   it
 * @out: the reply is appended: at most NB_WIRE_REPLY bytes with the line feed
 * @fd_out: descriptor to send beside the reply, owned by the caller; -1: none
 *
 * Every line gets a reply. A request of the control role writes one line to the
 * log. Returns false if there is no memory even for an error.
 */
bool nb_command_answer(struct nb_conn *conn, const struct nb_peer *peer,
		       char *line, size_t size, struct nb_buf *out,
		       int *fd_out);

#endif
