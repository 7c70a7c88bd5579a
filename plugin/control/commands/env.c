// SPDX-License-Identifier: MIT
// env list, set, unset, forget: variables that NCCL finds in place of the
// environment's. They take effect from NCCL's next look on; most variables it
// reads once.
#include <stdio.h>

#include "plugin/control/reply.h"
#include "plugin/env/override.h"
#include "plugin/runtime/lock.h"

static int answer(struct nb_call *call, int rc)
{
	if (!rc)
		nb_override_json(call->out);
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

int nb_cmd_env_list(struct nb_call *call)
{
	nb_lock(NB_LOCK_STATE);
	return answer(call, 0);
}

int nb_cmd_env_set(struct nb_call *call)
{
	nb_lock(NB_LOCK_STATE);
	return answer(call,
		      nb_override_set(call->req->arg[0], call->req->arg[1],
				      NB_OVERRIDE_SHELL, call->err));
}

int nb_cmd_env_unset(struct nb_call *call)
{
	nb_lock(NB_LOCK_STATE);
	return answer(call, nb_override_set(call->req->arg[0], NULL,
					    NB_OVERRIDE_SHELL, call->err));
}

int nb_cmd_env_forget(struct nb_call *call)
{
	nb_lock(NB_LOCK_STATE);
	return answer(call, nb_override_forget(call->req->arg[0], call->err));
}
