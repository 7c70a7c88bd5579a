// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_NO_AGENT_H
#define NB_PLUGIN_JOB_NO_AGENT_H

#include <stddef.h>

/*
 * A site of a fleet without a working agent. The operator starts the agent
 * (docs/fleet.md); the job's processes say that it is missing, and which line
 * starts it. Without NCCLBPF_FLEET nothing here does anything.
 */

/* Log a missing or silent agent. The control thread calls it at each tick. */
void nb_no_agent_tick(void);

/*
 * Returns how to start this site's agent. Only the control thread calls it; the
 * text is valid until the next call.
 */
const char *nb_no_agent_hint(void);

/*
 * Describe in @text (@size bytes) that the store has gone back in this run of
 * the job; "" if it has not. Any thread may call it.
 */
void nb_store_back_text(char *text, size_t size);

#endif
