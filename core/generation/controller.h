// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_LOOP_H
#define NB_GENERATION_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/generation/generation.h"

/*
 * What a controller's run is made of: the merged maps of a generation as bytes
 * that other processes read, the generation that controllers run in, and what
 * a run changed, again as bytes, from which each process makes the same new
 * generation. No clock, no I/O, no lock.
 */
enum {
	NB_CONTROLLER_MAPS_BYTES = 1 << 20,   /* merged maps of one process */
	NB_CONTROLLER_CHANGE_BYTES = 1 << 18, /* what one run may change */
	NB_CONTROLLER_CHANGES = 4096	      /* elements, likewise */
};

/* Has it programs for the hook? */
bool nb_controllers_wanted(const struct nb_gen *g);

/*
 * nb_controllers_pack - the merged maps of this process
 *
 * Values of per-CPU maps are merged over the CPUs first. Programs may write
 * meanwhile: each element is one that was there. NB_E_LIMIT: more than
 * NB_CONTROLLER_MAPS_BYTES; NB_E_NOMEM.
 */
int nb_controllers_pack(struct nb_buf *out, const struct nb_gen *g,
			struct nb_err *err);

/*
 * nb_controllers_merge - add what nb_controllers_pack made, here or in another
 * process
 * @bytes: not trusted
 *
 * Maps are told by the policy's digest; of those that @g (of
 * nb_gen_for_controllers) has not nothing is taken, nor of elements that find
 * no room (counted in @lost). false: the bytes are damaged, what came before is
 * merged.
 */
bool nb_controllers_merge(struct nb_gen *g, const void *bytes, size_t size,
			  uint64_t *lost);

/* Run the controllers in order. @ctx as the first one is to see it. */
void nb_controllers_run(struct nb_gen *g, struct ncclbpf_controller *ctx);

/*
 * nb_controllers_diff - what the run in @ran changed of @g's coherent maps
 *
 * *@n elements, 0: nothing. NB_E_LIMIT (NB_CONTROLLER_CHANGES,
 * NB_CONTROLLER_CHANGE_BYTES), NB_E_NOMEM.
 */
int nb_controllers_diff(struct nb_buf *out, uint32_t *n,
			const struct nb_gen *ran, const struct nb_gen *g,
			struct nb_err *err);

/*
 * nb_controllers_apply - @parent with a change of nb_controllers_diff, as
 * nb_gen_changes makes it
 * @bytes: not trusted
 *
 * NB_E_IMAGE: damaged. The errors of nb_gen_changes.
 */
int nb_controllers_apply(struct nb_gen **out, const struct nb_gen *parent,
			 const void *bytes, size_t size, struct nb_err *err);

#endif
