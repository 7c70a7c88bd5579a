// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_ORDER_H
#define NB_PLUGIN_AGENT_SITE_ORDER_H

#include "plugin/agent/site/state.h"

/* The coordinator's orders, carried out with the processes of this site. */

void nb_agent_orders(struct nb_agent *a);
/* Returns true if the site has staged a change and not committed it. */
bool nb_agent_staged(const struct nb_agent *a);
/* Report to the coordinator what the processes answered. */
void nb_agent_result(struct nb_agent *a, struct nb_procs_result *r);

#endif
