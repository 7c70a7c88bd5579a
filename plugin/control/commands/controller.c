// SPDX-License-Identifier: MIT
/*
 * Handlers of controller status|pause|resume for the controllers of the job on
 * this host, and of controller export|import, which carry their change to all
 * sites of a fleet.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/wire/object.h"
#include "plugin/control/reply.h"
#include "plugin/control/sealed.h"
#include "plugin/controller/controller.h"
#include "plugin/controller/proposal.h"
#include "plugin/runtime/digest.h"

static void controller_put_all(struct nb_json *j, const struct nb_controllers_info *i)
{
	const struct nb_controllers_state *s = &i->state;

	nb_json_ku64(j, "runs", s->runs);
	nb_json_ku64(j, "changes", s->changes);
	nb_json_ku64(j, "failures", s->failures);
	nb_json_ku64(j, "incomplete", s->incomplete);
	nb_json_ku64(j, "missing", s->missing);
	nb_json_ku64(j, "lost", s->lost);
	nb_json_ku64(j, "interval_us", s->interval_ns / 1000);
	nb_json_ku64(j, "run_ns", s->run_ns);
	nb_json_ku64(j, "elected_us", s->elected_us);
	nb_json_kstr(j, "error", s->error[0] ? s->error : NULL);
}

static int reply_status(struct nb_call *call)
{
	struct nb_json *j = call->out;
	struct nb_controllers_info i;

	nb_controllers_status(&i);
	nb_json_kbool(j, "controllers", i.wanted);
	nb_json_kbool(j, "paused", i.paused);
	nb_json_ku64_if(j, "elected", i.pid, i.pid);
	nb_json_kbool(j, "here", i.here);
	nb_json_kbool(j, "known", i.known);
	controller_put_all(j, &i);
	return 0;
}

int nb_cmd_controller_status(struct nb_call *call)
{
	return reply_status(call);
}

int nb_cmd_controller_pause(struct nb_call *call)
{
	nb_controllers_pause(true);
	snprintf(call->note, sizeof(call->note), "controllers paused");
	return reply_status(call);
}

int nb_cmd_controller_resume(struct nb_call *call)
{
	nb_controllers_pause(false);
	snprintf(call->note, sizeof(call->note), "controllers resumed");
	return reply_status(call);
}

int nb_cmd_controller_export(struct nb_call *call)
{
	uint8_t from[NB_SHA256_SIZE];
	struct nb_buf bytes;
	int rc;

	nb_buf_init(&bytes, 0);
	rc = nb_proposal_export(&bytes, from, call->err);
	if (!rc)
		call->fd_out = nb_wire_object_file(bytes.data, bytes.size);
	if (!rc && call->fd_out < 0)
		rc = nb_fail(call->err, NB_E_IO, 0, "memory file for a change: %s",
			     strerror(errno));
	if (!rc)
		nb_cmd_digest(call->out, "change", from);
	nb_buf_fini(&bytes);
	return rc;
}

int nb_cmd_controller_import(struct nb_call *call)
{
	uint8_t from[NB_SHA256_SIZE], digest[NB_SHA256_SIZE];
	void *bytes = NULL;
	size_t size;
	int rc = nb_digest_parse(from, call->req->arg[0], call->err);

	if (!rc)
		rc = nb_sealed_take(call, "the change", &bytes, &size);
	if (!rc)
		rc = nb_proposal_stage(from, bytes, size, digest, call->err);
	free(bytes);
	return rc ? rc : nb_cmd_finish_change(call, digest);
}
