// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_AGENT_H
#define NB_PLUGIN_AGENT_AGENT_H

#include "plugin/agent/site/state.h"

struct nb_coord;

/* Do all due work. Returns the milliseconds until the next work is due. */
int nb_agent_tick(struct nb_agent *a, struct nb_coord *c);
/* Use what the processes answered to the agent's last order to them. */
void nb_agent_take(struct nb_agent *a, struct nb_coord *c, struct nb_procs_result *r);

#endif
