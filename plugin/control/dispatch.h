// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_DISPATCH_H
#define NB_PLUGIN_CONTROL_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/job/wire/wire.h"

/*
 * Handlers of commands, one for each row of core/defs/commands.h. A new command
 * needs a row there, a function in plugin/control/commands/, and a row of
 * plugin/control/handlers.h.
 */
struct nb_conn;

/* The client. SO_PEERCRED gives its process ID, user and group. */
struct nb_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	bool greeted; /* the client has sent hello */
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

struct nb_handler {
	nb_handler_fn *fn;
	/*
	 * the handler runs with NB_LOCK_STATE, and sees what other processes
	 * have committed; false: it takes the lock when it needs it, or waits
	 */
	bool locked;
};

#define HANDLER(row, function, hold) nb_handler_fn nb_cmd_##function;
#include "plugin/control/handlers.h"

/*
 * nb_command_answer - answer one request line with one reply line
 * @handlers: by the rows of core/defs/commands.h
 * @line: @size bytes without the line feed; it is modified, also one byte after
 *   it
 * @out: the reply is appended: at most NB_WIRE_REPLY bytes with the line feed
 * @fd_out: descriptor to send beside the reply, owned by the caller; -1: none
 *
 * Every line gets a reply. A request of the control role writes one line to the
 * log. Returns false if there is no memory even for an error.
 */
bool nb_command_answer(const struct nb_handler *handlers, struct nb_conn *conn,
		       const struct nb_peer *peer, char *line, size_t size, struct nb_buf *out,
		       int *fd_out);

#endif
