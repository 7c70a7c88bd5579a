// SPDX-License-Identifier: MIT
/*
 * Handler of check agreement. The job segment contains the decisions of all
 * processes of the job on this host, so any process can answer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/job/segment/report.h"
#include "core/job/segment/tracks.h"
#include "core/job/wire/object.h"
#include "plugin/control/reply.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"

static int send_tracks(struct nb_call *call, const struct nb_job *job,
		       const struct nb_comm_option *comm)
{
	struct nb_buf bytes;
	int rc = 0;

	nb_buf_init(&bytes, 2 * NB_TRACKS_ROOM);
	if (!nb_tracks_write(job, comm->given, comm->id, NB_TRACKS_ROOM, &bytes))
		rc = nb_fail(call->err, NB_E_NOMEM, 0, "no memory for tracks");
	else
		call->fd_out = nb_wire_object_file(bytes.data, bytes.size);
	if (!rc && call->fd_out < 0)
		rc = nb_fail(call->err, NB_E_IO, 0,
			     "cannot make a memory file of %zu bytes for the ranks' "
			     "decisions: %s",
			     bytes.size, strerror(errno));
	nb_buf_fini(&bytes);
	return rc;
}

int nb_cmd_check_agreement(struct nb_call *call)
{
	const struct nb_segment *s = nb_self.seg;
	char path[sizeof(nb_self.dir.dir) + sizeof(s->name) + 1];
	struct nb_comm_option comm;
	struct nb_job job;
	int rc = nb_cmd_comm(call, &comm);

	if (rc)
		return rc;
	if (!s)
		return nb_fail(call->err, NB_E_NOENT, 0, "%s: NCCL has made no communicator here",
			       call->req->spec->words);
	job = nb_segment_job(s);
	snprintf(path, sizeof(path), "%s/%s", nb_self.dir.dir, s->name);
	nb_job_json(&job, s->shared ? path : NULL, comm.given, comm.id, NB_CMD_ROOM, call->out);
	return nb_request_yes(call->req, "tracks", false) ? send_tracks(call, &job, &comm) : 0;
}
