// SPDX-License-Identifier: MIT
#ifndef NB_HOOK_LOOP_H
#define NB_HOOK_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/hook/gen.h"

/*
 * What a controller's run is made of: the merged maps of a generation as bytes
 * that other processes read, the generation that controllers run in, and what
 * a run changed, again as bytes, from which each process makes the same new
 * generation. No clock, no I/O, no lock.
 */
enum {
	NB_LOOP_MAPS_BYTES = 1 << 20,	/* merged maps of one process */
	NB_LOOP_CHANGE_BYTES = 1 << 18, /* what one run may change */
	NB_LOOP_CHANGES = 4096		/* elements, likewise */
};

/* Has it programs for the hook? */
bool nb_loop_wanted(const struct nb_gen *g);

/*
 * nb_loop_pack - the merged maps of this process
 *
 * Values of per-CPU maps are merged over the CPUs first. Programs may write
 * meanwhile: each element is one that was there. NB_E_LIMIT: more than
 * NB_LOOP_MAPS_BYTES; NB_E_NOMEM.
 */
int nb_loop_pack(struct nb_buf *out, const struct nb_gen *g,
		 struct nb_err *err);

/*
 * nb_loop_gen - what controllers of @g run in
 *
 * Copies of the coherent maps, empty merged maps, and @g's other local maps
 * themselves. One reference. NB_E_NOMEM and others of nb_gen_new.
 */
int nb_loop_gen(struct nb_gen **out, const struct nb_gen *g,
		struct nb_err *err);

/*
 * nb_loop_merge - add what nb_loop_pack made, here or in another process
 * @bytes: not trusted
 *
 * Maps are told by the policy's digest; of those that @g (of nb_loop_gen) has
 * not nothing is taken, nor of elements that find no room (counted in @lost).
 * false: the bytes are damaged, what came before is merged.
 */
bool nb_loop_merge(struct nb_gen *g, const void *bytes, size_t size,
		   uint64_t *lost);

/* Run the controllers in order. @ctx as the first one is to see it. */
void nb_loop_run(struct nb_gen *g, struct ncclbpf_controller *ctx);

/*
 * nb_loop_diff - what the run in @ran changed of @g's coherent maps
 *
 * *@n elements, 0: nothing. NB_E_LIMIT (NB_LOOP_CHANGES, NB_LOOP_CHANGE_BYTES),
 * NB_E_NOMEM.
 */
int nb_loop_diff(struct nb_buf *out, uint32_t *n, const struct nb_gen *ran,
		 const struct nb_gen *g, struct nb_err *err);

/*
 * nb_loop_apply - @parent with a change of nb_loop_diff, as nb_gen_changes
 * makes it
 * @bytes: not trusted
 *
 * NB_E_IMAGE: damaged. The errors of nb_gen_changes.
 */
int nb_loop_apply(struct nb_gen **out, const struct nb_gen *parent,
		  const void *bytes, size_t size, struct nb_err *err);

#endif
