// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_EXPLAIN_H
#define NB_PLUGIN_CONTROL_COMMANDS_EXPLAIN_H

#include "core/base/json.h"
#include "plugin/comm/comm.h"
#include "plugin/control/commands/explain.h"
#include "plugin/tuner/explain.h"

/*
 * nb_explain_json - write why `explain` gives its answer, as members of an open
 * object
 * @e: result of nb_comm_explain for @bytes
 *
 * - context: the fields that policies saw
 * - costs_us: NCCL's cost table, or null
 * - why: for each policy, the instructions that wrote its answer, and the
 *   comparisons of fields on the path to them, with source lines
 * - would: fields whose next value beyond such a comparison changes the answer,
 *   found by running the policies again
 * - would_stopped: the search ended at a limit (32 tries, 12 results, or 50 ms
 *   of processor time)
 *
 * docs/protocol.md describes the form. It runs policies on copies of their
 * maps. The caller holds NB_LOCK_STATE and is not on a decision path. Returns
 * 0, or NB_E_NOMEM with nothing written.
 */
int nb_explain_json(struct nb_json *j, const struct nb_comm *c, const struct nb_explain *e,
		    uint64_t bytes, struct nb_err *err);

#endif
