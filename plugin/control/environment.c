// SPDX-License-Identifier: MIT
/* A copy of the environment, made when the control socket is created. */
#include "plugin/control/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char prefix[] = "NCCLBPF_";

static void copy_text(char to[NB_ENV_TEXT], const char *from)
{
	snprintf(to, NB_ENV_TEXT, "%s", from ? from : "");
}

/* Returns the index of the parameter with this name, or NB_NPARAMS. */
static unsigned find_parameter(const char *name)
{
	unsigned p = 0;

	while (p < NB_NPARAMS &&
	       strcmp(nb_spec_param((enum nb_param)p)->name, name) != 0)
		p++;
	return p;
}

void nb_env_read(struct nb_env *env)
{
	memset(env, 0, sizeof(*env));
	copy_text(env->algo, getenv("NCCL_ALGO"));
	copy_text(env->proto, getenv("NCCL_PROTO"));
	copy_text(env->tuner_plugin, getenv("NCCL_TUNER_PLUGIN"));
	for (char **e = environ; e && *e; e++) {
		char name[NB_ENV_TEXT];
		size_t n = strcspn(*e, "=");
		unsigned p;

		if (strncmp(*e, prefix, sizeof(prefix) - 1) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(n < 90 ? n : 90),
			 *e);
		p = find_parameter(name + sizeof(prefix) - 1);
		if (p < NB_NPARAMS) {
			env->given[p] = (*e)[n] == '=' && (*e)[n + 1];
			continue;
		}
		if (env->nunknown < NB_ENV_UNKNOWN)
			copy_text(env->unknown[env->nunknown], name);
		env->nunknown++;
	}
}
