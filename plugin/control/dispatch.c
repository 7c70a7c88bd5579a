// SPDX-License-Identifier: MIT
/*
 * Turns a request line into a reply: parses it, calls the handler, and wraps
 * the answer or error in the envelope. It logs requests of the control role.
 */
#include "plugin/control/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/change/sync.h"
#include "plugin/runtime/lock.h"
#include "plugin/runtime/log.h"

/* Write the members of an error besides its code and text. */
static void put_extra(struct nb_json *j, void *arg)
{
	struct nb_call *call = arg;

	if (call->finding.size && nb_buf_ok(&call->finding)) {
		nb_json_key(j, "finding");
		nb_json_raw(j, nb_buf_text(&call->finding));
	}
	if (call->text.size && nb_buf_ok(&call->text))
		nb_json_kstr(j, "text", nb_buf_text(&call->text));
}

/* Write the request as text for the log, with long arguments truncated. */
static void describe_request(const struct nb_request *req, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "%s", req->spec->words);

	for (unsigned i = 0; i < req->narg && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, " %.40s", req->arg[i]);
	for (unsigned i = 0; i < req->nopt && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, " %s=%.20s", req->opt[i].name,
				      req->opt[i].value);
}

static void log_change(const struct nb_call *call, int rc)
{
	char what[160];

	describe_request(call->req, what, sizeof(what));
	if (rc)
		nb_log(NB_LOG_WARN, "control: uid %u pid %d asked \"%s\": %s: %.200s",
		       (unsigned)call->peer->uid, (int)call->peer->pid, what, nb_err_word(rc),
		       call->err->text);
	else
		nb_log(NB_LOG_INFO, "control: uid %u pid %d asked \"%s\": done%s%s",
		       (unsigned)call->peer->uid, (int)call->peer->pid, what,
		       call->note[0] ? ", " : "", call->note);
}

static int run_handler(const struct nb_handler *handler, struct nb_call *call)
{
	const struct nb_request *req = call->req;
	int rc;

	if (!call->peer->greeted && req->cmd != NB_CMD_HELLO) {
		nb_fail(call->err, NB_E_PROTOCOL, 0,
			"\"%s\" before hello: the first request must be \"hello %d\"",
			req->spec->words, NB_WIRE_VERSION);
		return call->err->code;
	}
	if (!handler->locked)
		return handler->fn(call);
	nb_lock(NB_LOCK_STATE);
	nb_change_sync();
	rc = handler->fn(call);
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

/* Build the reply to a parsed request. */
static int make_reply(const struct nb_handler *handler, struct nb_call *call, struct nb_buf *out)
{
	int rc;

	nb_reply_open(call->out, out, call->req);
	nb_json_obj(call->out);
	rc = run_handler(handler, call);
	if (!rc) {
		nb_json_end_obj(call->out);
		nb_reply_close(call->out);
	}
	if (call->req->spec->role == NB_ROLE_CONTROL)
		log_change(call, rc);
	return rc;
}

/*
 * Memory for the reply is reserved before the handler runs, because a change
 * must not go unreported.
 */
enum { ANSWER = 16 << 10 };

static int reserve_reply(const struct nb_request *req, struct nb_buf *one, struct nb_buf *out,
			 struct nb_err *err)
{
	if (req->spec->role != NB_ROLE_CONTROL ||
	    (nb_buf_reserve(one, ANSWER) && nb_buf_reserve(out, ANSWER)))
		return 0;
	return nb_fail(err, NB_E_NOMEM, 0, "%s: no memory for the answer; nothing was done",
		       req->spec->words);
}

bool nb_command_answer(const struct nb_handler *handlers, struct nb_conn *conn,
		       const struct nb_peer *peer, char *line, size_t size, struct nb_buf *out,
		       int *fd_out)
{
	struct nb_request req;
	struct nb_err err = { .code = 0 };
	struct nb_json json;
	struct nb_call call = {
		.conn = conn, .req = &req, .peer = peer, .out = &json, .err = &err, .fd_out = -1
	};
	struct nb_buf one;
	int rc;

	nb_buf_init(&one, NB_WIRE_REPLY);
	nb_buf_init(&call.finding, NB_WIRE_REPLY / 4);
	nb_buf_init(&call.text, NB_WIRE_REPLY / 4);
	rc = nb_request_parse(&req, line, size, &err);
	if (!rc)
		rc = reserve_reply(&req, &one, out, &err);
	if (!rc)
		rc = make_reply(&handlers[req.cmd], &call, &one);
	if (!rc && one.no_memory)
		rc = nb_fail(&err, NB_E_NOMEM, 0, "%s: no memory for the answer", req.spec->words);
	else if (!rc && !nb_buf_ok(&one))
		rc = nb_fail(&err, NB_E_LIMIT, 0,
			     "%s: the answer is longer than %d bytes, the limit of a reply",
			     req.spec->words, NB_WIRE_REPLY);
	if (rc) {
		nb_buf_fini(&one);
		nb_buf_init(&one, NB_WIRE_REPLY);
		nb_reply_error(&one, &req, &err, put_extra, &call);
		if (call.fd_out >= 0)
			close(call.fd_out);
		call.fd_out = -1;
	}
	*fd_out = call.fd_out;
	nb_buf_bytes(out, one.data, nb_buf_ok(&one) ? one.size : 0);
	rc = nb_buf_ok(&one) ? 0 : NB_E_NOMEM;
	nb_buf_fini(&one);
	nb_buf_fini(&call.finding);
	nb_buf_fini(&call.text);
	return !rc;
}
