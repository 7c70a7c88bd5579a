// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_MAKER_H
#define NB_PLUGIN_CONTROL_COMMANDS_MAKER_H

#include "core/base/json.h"
#include "core/job/segment/format.h"

/* Write the members that name the maker of a generation (docs/protocol.md). */
void nb_cmd_maker(struct nb_json *j, const struct nb_seg_maker *maker);

#endif
