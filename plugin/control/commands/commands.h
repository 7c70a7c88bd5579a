// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_COMMANDS_H
#define NB_PLUGIN_CONTROL_COMMANDS_COMMANDS_H

#include "plugin/control/dispatch.h"

/* Handlers by the rows of core/defs/commands.h. */
extern const struct nb_handler nb_command_handlers[];

#endif
