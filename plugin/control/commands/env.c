// SPDX-License-Identifier: MIT
/*
 * Handlers of env list, set, unset and forget. They override variables that
 * NCCL reads. NCCL reads most variables once, so an override affects only
 * future reads.
 */
#include <stdio.h>

#include "plugin/control/reply.h"
#include "plugin/env/override.h"

int nb_cmd_env_list(struct nb_call *call)
{
	nb_override_json(call->out);
	return 0;
}

static int set_variable(struct nb_call *call, const char *value)
{
	int rc = nb_override_set(call->req->arg[0], value, NB_OVERRIDE_SHELL, call->err);

	return rc ? rc : nb_cmd_env_list(call);
}

int nb_cmd_env_set(struct nb_call *call)
{
	return set_variable(call, call->req->arg[1]);
}

int nb_cmd_env_unset(struct nb_call *call)
{
	return set_variable(call, NULL);
}

int nb_cmd_env_remove(struct nb_call *call)
{
	int rc = nb_override_forget(call->req->arg[0], call->err);

	return rc ? rc : nb_cmd_env_list(call);
}
