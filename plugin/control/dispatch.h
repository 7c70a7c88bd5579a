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
 * One handler for each row of core/defs/commands.h, in
 * plugin/control/commands/. A new command needs a row there, a function, and
 * a line in the table of dispatch.c.
 */
struct nb_conn;

/* The client, by SO_PEERCRED. */
struct nb_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

/*
 * A handler writes the members of the reply's object, which is open, and
 * returns 0; or it fills @err and returns its code, and what it has written is
 * dropped. On the control thread only.
 *
 * @fd_out:  set by the handler to send one beside the reply; the caller
 *           closes it. -1: none
 * @note:    set by handlers of the control role: the outcome, for the log line
 * ("digest 12ab34cd, generation 5")
 * @finding: JSON object for the error's member "finding"; empty: none
 * @text:    for the error's member "text"; empty: none
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
	nb_cmd_map_set, nb_cmd_map_remove, nb_cmd_map_load, nb_cmd_map_pop;
nb_handler_fn nb_cmd_change_status, nb_cmd_change_check, nb_cmd_change_commit,
	nb_cmd_change_abort;
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
 * nb_command_answer - one line in, one reply line out
 * @line:   @size bytes without the line feed; changed, one byte more written
 * @out:    the reply is appended: at most NB_WIRE_REPLY bytes, ended by a
 *          line feed
 * @fd_out: a descriptor to send beside it, which is the caller's then; or -1
 *
 * Whatever the line, there is a reply. A request of the control role leaves
 * one line in the log. False when not even an error could be written (no
 * memory).
 */
bool nb_command_answer(struct nb_conn *conn, const struct nb_peer *peer,
		       char *line, size_t size, struct nb_buf *out,
		       int *fd_out);

#endif
