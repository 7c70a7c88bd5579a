// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GIN_POST_H
#define NB_PLUGIN_GIN_POST_H

#include "plugin/gin/calls.h"
#include "plugin/gin/hooks.h"

/*
 * End the operations that programs delay, because the context or the collComm
 * is about to be closed. They are sent if the plugin's memory handles are
 * numbers that it checks (nb_gin_extension.region). Another plugin does not get
 * them: NCCL deregisters memory first, and the plugin's handles may be freed.
 */
void nb_gin_end_held(struct nb_gin_context *x);

#endif
