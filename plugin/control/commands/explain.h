// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_COMMANDS_EXPLAIN_H
#define NB_PLUGIN_CONTROL_COMMANDS_EXPLAIN_H

#include "core/base/json.h"
#include "plugin/comm/comm.h"
#include "plugin/control/commands/explain.h"
#include "plugin/tuner/explain.h"

/*
 * nb_explain_json - why `explain` gives its answer, as members of an open
 * object
 * @e: of nb_comm_explain for @bytes
 *
 * "context": what policies saw; "costs_us": NCCL's table, or null; "why": for
 * each policy the instructions that wrote its answer and the comparisons over
 * fields that lay on the way, with their source lines; "would": fields whose
 * next value beyond such a comparison changes the answer, tried by running
 * the policies once more; "would_stopped": there was more to try, but 32 tries
 * or 50 ms of processor time were spent, or 12 were found. docs/protocol.md has
 * the form. Runs policies on copies of their maps. With NB_LOCK_STATE;
 * not for a decision path. 0 or NB_E_NOMEM, then nothing was written.
 */
int nb_explain_json(struct nb_json *j, const struct nb_comm *c,
		    const struct nb_explain *e, uint64_t bytes,
		    struct nb_err *err);

#endif
