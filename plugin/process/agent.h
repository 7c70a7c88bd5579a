// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROCESS_AGENT_H
#define NB_PLUGIN_PROCESS_AGENT_H

/*
 * The site's agent, as the job's processes see it (docs/fleet.md). With
 * NCCLBPF_FLEET the first process that finds no living agent in the segment
 * starts one; without it nothing here runs.
 */

/*
 * Start an agent if there is none, and end one that has stopped turning, so
 * that the next turn replaces it. Control thread, at each tick.
 */
void nb_agent_turn(void);

#endif
