// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_STAGE_H
#define NB_PLUGIN_CHANGE_STAGE_H

#include <stdint.h>

#include "plugin/change/change.h"

struct nb_selector;

/*
 * Staging replaces this process's staged change, returns the digest, and
 * changes no communicator. Control thread; the functions take NB_LOCK_STATE.
 */

/*
 * Stage policies @names[0..n), each a name or a digest of 8 digits or more, in
 * this order; @n 0: NCCL's own choice everywhere.
 * 0, NB_E_NOENT, NB_E_EXISTS (twice), NB_E_LIMIT, NB_E_NOMEM.
 */
int nb_change_stage_use(const char *const *names, uint32_t n,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);
/* The same for the communicators of @reach alone. Also the errors of
 * nb_selector_check and nb_selector_use. */
int nb_change_stage_for(const struct nb_selector *reach,
			const char *const *names, uint32_t n,
			uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);
/* Stage the removal of the communicators of @reach from their scopes. The
 * errors of nb_selector_check and nb_selector_common. */
int nb_change_stage_common(const struct nb_selector *reach,
			   uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * Stage the baseline's policies with one added, removed or moved, for the
 * communicators of @reach. The errors of nb_selector_check and
 * nb_selector_edit.
 */
struct nb_edit;
int nb_change_stage_edit(const struct nb_edit *edit,
			 const struct nb_selector *reach,
			 uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

/*
 * nb_change_stage_gen - stage a generation that the caller made; takes the
 * reference
 *
 * NB_E_LIMIT, and the errors of nb_segment_lock.
 */
int nb_change_stage_gen(struct nb_gen *g, uint8_t digest[NB_SHA256_SIZE],
			struct nb_err *err);

/* Stage the generation before the last committed change, or generation @to of
 * the history (NB_CHANGE_ANY: the one before). NB_E_NOENT: there is none. */
int nb_change_stage_undo(uint64_t to, uint8_t digest[NB_SHA256_SIZE],
			 struct nb_err *err);

/*
 * Stage a change of a coherent map of the baseline generation.
 * @map: "map" or "policy/map" as nb_held_map_find takes it
 *
 * 0, NB_E_NOENT, NB_E_READONLY (a local map: write it directly), the errors of
 * nb_gen_map_change.
 */
int nb_change_stage_map(const char *map, const struct nb_map_op *ops,
			uint32_t nops, uint8_t digest[NB_SHA256_SIZE],
			struct nb_err *err);

/* Drop what is staged if it is @digest; NB_E_NOENT if it is not. */
int nb_change_abort(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err);

#endif
