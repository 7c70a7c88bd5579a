// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_TIME_H
#define NB_PLUGIN_CONTROL_COMMANDS_TIME_H

#include "core/base/json.h"
#include "plugin/trace/telemetry.h"

/*
 * Write @key with the object
 * {"count","sum_ns","mean_ns","p50_ns","p90_ns","p99_ns","max_ns"}, or with
 * null if nothing was measured. Other threads may be adding to @t.
 */
void nb_cmd_time_json(struct nb_json *j, const char *key, const struct nb_tel_time *t);

#endif
