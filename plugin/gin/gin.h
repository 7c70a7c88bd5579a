// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_GIN_H
#define NB_PLUGIN_GIN_GIN_H

#include "plugin/gin/calls.h"

/*
 * GPU-initiated networking (GIN): kernels post one-sided puts and signals, and
 * a thread of NCCL passes them to a plugin. Our GIN plugin (calls.h) owns
 * contexts and operations, runs the programs of the hooks gin/..., and calls
 * the wrapped plugin to move the data (wrapped.c).
 *
 * The first init chooses the transport (choice.h). If there is none,
 * nb_gin_devices reports 0 devices, and NCCL uses another GIN plugin.
 * nb_gin_connect ignores the fields ctx, arrived and arg of its argument.
 */

/* Get what GIN v14 and v15 ask for in addition to the properties. */
int nb_gin_get_signals(struct nb_gin_signals *signals);

/*
 * Returns the name of the transport in use, or NULL if there is none. *@devices
 * is set to the number of devices last reported to NCCL.
 */
const char *nb_gin_used(int *devices);
/* Reset the GIN state in a forked child. */
void nb_gin_forked(void);

#endif
