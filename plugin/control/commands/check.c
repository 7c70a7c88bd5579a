// SPDX-License-Identifier: MIT
// check agreement: the job segment has the decisions of all processes of the
// job on this host, so any of them can answer.
#include <stdio.h>

#include "core/jobseg/report.h"
#include "plugin/control/reply.h"
#include "plugin/job/segment.h"
#include "plugin/job/self.h"

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
		return nb_fail(call->err, NB_E_NOENT, 0,
			       "%s: NCCL has made no communicator here",
			       call->req->spec->words);
	job = nb_segment_job(s);
	snprintf(path, sizeof(path), "%s/%s", nb_self.dir.dir, s->name);
	nb_job_json(&job, s->shared ? path : NULL, comm.given, comm.id,
		    NB_CMD_ROOM, call->out);
	return 0;
}
