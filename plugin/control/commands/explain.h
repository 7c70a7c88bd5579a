// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_EXPLAIN_H
#define NB_PLUGIN_CONTROL_COMMANDS_EXPLAIN_H

#include "core/base/json.h"
#include "plugin/comm/comm.h"
#include "plugin/tuner/explain.h"

/*
 * nb_explain_json - write why `explain` gives its answer, as members of an open
 * object
 * @e: result of nb_comm_explain, under the same hold of NB_LOCK_STATE
 *
 * - context: the fields that policies saw
 * - costs_us: NCCL's cost table, or null
 * - why: for each policy, the instructions that wrote its answer, and the
 *   comparisons of fields on the path to them, with source lines
 *
 * docs/protocol.md describes the form.
 */
void nb_explain_json(struct nb_json *j, const struct nb_comm *c, const struct nb_explain *e);

#endif
