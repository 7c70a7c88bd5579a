// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_OPERANDS_H
#define NB_VERIFY_STATE_OPERANDS_H

#include "core/bpf/verify/state/env.h"

/* Return the offset of an access through @r: the pointer's own offset plus
 * the constant @off. */
struct nb_range nb_access_offset(const struct nb_reg *r, int32_t off);

/* Do bytes [lo, hi) of a frame's stack hold only written data? */
bool nb_stack_written(const struct nb_frame *f, int64_t lo, int64_t hi, int64_t *bad);

/* Return the function of frame @frame when the top frame executes @pc. */
uint32_t nb_frame_func(const struct nb_program *program, const struct nb_state *st, uint32_t frame,
		       uint32_t pc);

/* Return the effect of the helper that @insn calls; NONE if @insn calls no
 * helper. */
enum nb_effect nb_insn_effect(const struct nb_insn *insn);

/* Do all elements of the map exist from the start, in the order of their
 * index? */
static inline bool nb_map_is_array(const struct nb_map_spec *m)
{
	return m->type == NB_MAP_ARRAY || m->type == NB_MAP_PERCPU_ARRAY;
}

/* Return the index (0 to 4) of the argument of @h of this kind; -1 if there is
 * none. */
int nb_arg_of(const struct nb_helper_spec *h, enum nb_arg kind);

/* Return the map among a helper's arguments, or NULL if there is none. */
const struct nb_map_spec *nb_helper_map(const struct nb_program *program, const struct nb_state *st,
					const struct nb_helper_spec *h);

/* Does a helper read, or write, the memory behind an argument of this kind? */
bool nb_arg_reads(enum nb_arg kind);
bool nb_arg_writes(enum nb_arg kind);

/* Least and most bytes of the memory behind argument @arg (0 to 4) of @h. */
struct nb_extent {
	uint64_t min, max;
};
struct nb_extent nb_helper_extent(const struct nb_program *program, const struct nb_state *st,
				  const struct nb_helper_spec *h, unsigned arg);

#endif
