// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_STAGE_H
#define NB_PLUGIN_CHANGE_STAGE_H

#include <stdint.h>

#include "plugin/change/change.h"

struct nb_selector;

/*
 * Staging replaces this process's staged change and returns the digest of the
 * new one. It changes no communicator. The control thread calls these
 * functions, which take NB_LOCK_STATE.
 */

/*
 * Stage policies @names[0..n) in this order for the selected communicators. A
 * name may also be a digest of 8 digits or more. @n 0 stages NCCL's own choice.
 * Returns 0, NB_E_NOENT, NB_E_EXISTS (a policy is named twice), NB_E_LIMIT,
 * NB_E_NOMEM or an error of nb_selector_check or nb_selector_use.
 */
int nb_change_stage_for(const struct nb_selector *reach, const char *const *names, uint32_t n,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * Stage the baseline's policies with an edit for the selected communicators. Returns an error of
 * nb_selector_check or nb_selector_edit.
 */
struct nb_edit;
int nb_change_stage_edit(const struct nb_edit *edit, const struct nb_selector *reach,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * nb_change_stage_gen - stage a generation that the caller made
 *
 * Takes ownership of the reference. Returns 0, NB_E_LIMIT or an error of
 * nb_segment_lock.
 */
int nb_change_stage_gen(struct nb_gen *g, uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * Stage generation @to of the history; NB_CHANGE_ANY stages the generation
 * before the last committed change. Returns NB_E_NOENT if there is none.
 */
int nb_change_stage_undo(uint64_t to, uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * Stage a change of a coherent map of the baseline.
 * @map: "map" or "policy/map", as for nb_held_map_find
 *
 * Returns 0, NB_E_NOENT, NB_E_READONLY (the map is local: write it directly) or
 * an error of nb_gen_changes.
 */
int nb_change_stage_map(const char *map, const struct nb_map_op *ops, uint32_t nops,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/* Drop the staged change if its digest is @digest, else return NB_E_NOENT. */
int nb_change_abort(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

#endif
