// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_CONTROLLER_H
#define NB_GENERATION_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/bpf/generation/generation.h"

/*
 * The steps of a controller's run. Each process packs its merged maps into
 * bytes. One process merges them, runs the controllers in a generation of their
 * own, and packs the changes of coherent maps. From these bytes each process
 * makes the same new generation. No clock, no I/O, no lock.
 */
enum {
	/* Largest number of bytes of the merged maps of one process. */
	NB_CONTROLLER_MAPS_BYTES = 1 << 20,
	/* Largest number of bytes of the changes of one run. */
	NB_CONTROLLER_CHANGE_BYTES = 1 << 18,
	/* Largest number of elements that one run may change. */
	NB_CONTROLLER_CHANGES = 4096
};

/* Does @g have controllers? */
bool nb_controllers_wanted(const struct nb_gen *g);

/*
 * nb_controllers_pack - pack the merged maps of this process
 *
 * Merges the values of per-CPU maps over the CPUs first. Programs may write
 * meanwhile: each packed element was in the map at some moment. Returns 0,
 * NB_E_LIMIT (more than NB_CONTROLLER_MAPS_BYTES) or NB_E_NOMEM.
 */
int nb_controllers_pack(struct nb_buf *out, const struct nb_gen *g, struct nb_err *err);
/*
 * nb_controllers_check - check another process's packed maps before their merge
 * @g:     the generation into which they would be merged
 * @bytes: not trusted
 *
 * The bytes must have all merged maps of @g. Processes change at different
 * moments, so a process may have packed the maps of another policy. These are
 * allowed beside the maps of @g, but do not replace them, because a sum without
 * the process would look complete. Each map of @g that the bytes name must be a merged map with
 * this size of keys and values, occur once, and have no more elements than it
 * has room for. Returns 0 or NB_E_IMAGE.
 */
int nb_controllers_check(const struct nb_gen *g, const void *bytes, size_t size,
			 struct nb_err *err);

/*
 * nb_controllers_merge - merge a process's packed maps into @g
 * @g:     made by nb_gen_for_controllers
 * @bytes: of nb_controllers_pack; not trusted
 * @lost:  incremented for each element without room
 *
 * The policy's digest identifies a map. Maps that @g lacks are skipped.
 * Returns false if the bytes are damaged; the bytes before the damage are
 * merged.
 */
bool nb_controllers_merge(struct nb_gen *g, const void *bytes, size_t size, uint64_t *lost);

/* Run the controllers in order. @ctx: the context that the first one sees. */
void nb_controllers_run(struct nb_gen *g, struct ncclbpf_controller *ctx);

/*
 * nb_controllers_diff - pack the coherent elements of @g that @ran changed
 * @n: set to the number of elements
 *
 * Returns 0, NB_E_LIMIT (NB_CONTROLLER_CHANGES, NB_CONTROLLER_CHANGE_BYTES) or
 * NB_E_NOMEM.
 */
int nb_controllers_diff(struct nb_buf *out, uint32_t *n, const struct nb_gen *ran,
			const struct nb_gen *g, struct nb_err *err);

/*
 * nb_controllers_apply - make a generation from @parent with packed changes
 * @bytes: the change, as nb_controllers_diff packs it; not trusted
 *
 * Returns 0, NB_E_IMAGE (the bytes are damaged) or an error of nb_gen_changes.
 */
int nb_controllers_apply(struct nb_gen **out, const struct nb_gen *parent, const void *bytes,
			 size_t size, struct nb_err *err);

#endif
