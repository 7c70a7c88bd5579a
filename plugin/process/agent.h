// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROCESS_AGENT_H
#define NB_PLUGIN_PROCESS_AGENT_H

/*
 * The site's agent, from the view of the job's processes (docs/fleet.md). With
 * NCCLBPF_FLEET, the first process that finds no living agent in the segment
 * starts one. Without NCCLBPF_FLEET nothing here runs.
 */

/*
 * Start an agent if there is none. End an agent that hangs, so that the next
 * call replaces it. The control thread calls it at each tick.
 */
void nb_agent_supervise(void);

#endif
