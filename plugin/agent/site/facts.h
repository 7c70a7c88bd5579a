// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_FACTS_H
#define NB_PLUGIN_AGENT_SITE_FACTS_H

#include "plugin/agent/site/state.h"

/* Set what the key site/SITE says: the facts of this site. */
void nb_agent_describe(struct nb_agent *a);
/*
 * Set what the key answer/SITE says: the result of the last order, and how far
 * the ranks are.
 */
void nb_agent_answer(struct nb_agent *a);

#endif
