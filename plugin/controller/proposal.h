// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_PROPOSAL_H
#define NB_PLUGIN_CONTROLLER_PROPOSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/sha256.h"

/*
 * The controllers' change of a job with NCCLBPF_FLEET (docs/coherence.md). Only the
 * coordinator's site runs controllers. The elected process proposes its change
 * in the segment. The agent fetches it, and the coordinator carries it out on
 * all sites as one of the fleet's changes. A process proposes one change at a
 * time. Only the control thread calls these functions, except
 * nb_proposal_forked.
 */

/* Returns true if the agent of this site coordinates the job's changes. */
bool nb_proposal_coordinates(void);

/*
 * nb_proposal_make - propose a change
 * @from: digest of the generation that the controllers saw
 * @bytes: the change, as nb_controllers_diff packs it; copied
 *
 * Returns 0 or NB_E_NOMEM.
 */
int nb_proposal_make(const uint8_t from[NB_SHA256_SIZE], const void *bytes, size_t size,
		     struct nb_err *err);

/*
 * Returns true when the proposed change has ended: @why then has code 0 if all
 * sites have committed it, and otherwise the reason why they have not.
 */
bool nb_proposal_ended(struct nb_err *why);

/* Drop the proposal, if there is one. */
void nb_proposal_drop(void);
/* Forget the proposal in a forked child. Async-signal-safe. */
void nb_proposal_forked(void);

/*
 * Append the proposed change to @out. Returns 0, NB_E_NOENT (this process
 * proposes nothing) or NB_E_NOMEM.
 */
int nb_proposal_export(struct nb_buf *out, uint8_t from[NB_SHA256_SIZE], struct nb_err *err);

/*
 * nb_proposal_stage - stage a change of controllers in this process
 * @from: digest of the generation that the controllers saw
 * @bytes: the change, as nb_controllers_diff packs it; not trusted
 * @digest: set to the digest of the new generation
 *
 * Returns 0, NB_E_BUSY (another generation is in use), or an error of
 * nb_controllers_apply or nb_change_stage_gen.
 */
int nb_proposal_stage(const uint8_t from[NB_SHA256_SIZE], const void *bytes, size_t size,
		      uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

#endif
