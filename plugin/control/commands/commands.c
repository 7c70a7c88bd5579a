// SPDX-License-Identifier: MIT
/* The handlers of all commands, which the process gives to its control socket. */
#include "plugin/control/commands/commands.h"

#include <assert.h>

enum { FREE, LOCKED };

const struct nb_handler nb_command_handlers[] = {
#define HANDLER(row, function, hold) [NB_CMD_##row] = { nb_cmd_##function, hold },
#include "plugin/control/handlers.h"
};

static_assert(sizeof(nb_command_handlers) / sizeof(nb_command_handlers[0]) == NB_NCMDS,
	      "each row of core/defs/commands.h has its handler");
