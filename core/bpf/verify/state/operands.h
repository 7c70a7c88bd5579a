// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_OPERANDS_H
#define NB_VERIFY_STATE_OPERANDS_H

#include "core/bpf/verify/state/env.h"

/* Does the map hold data that differs between ranks? */
static inline bool nb_map_is_local(const struct nb_map_spec *m)
{
	return !(m->tags & (NB_MAPF_COHERENT | NB_MAPF_REPLICATED)) &&
	       m->origin != NB_ORIGIN_RODATA;
}

/* An access to memory: @size bytes at @off of what register @reg points into.
 * Checks, labels and steps share this record, so each access is decoded and
 * resolved once. Its bounds hold only after nb_check. */
struct nb_mem_access {
	int8_t reg;
	int8_t value; /* The register stored; -1 for a number. */
	bool loads, stores;
	uint8_t kind;  /* enum nb_reg_kind of the pointer. */
	uint8_t frame; /* STACK: index of the frame. */
	/* The memory holds data that differs between ranks. Of the stack and
	 * of iterators each value has its own label. */
	bool local;
	uint64_t size;
	uint64_t limit;		       /* VALUE, MEM and RDONLY: bytes of the memory. */
	const struct nb_map_spec *map; /* VALUE: the map; else NULL. */
	/* CTX: the field at @off; NULL if there is none or @off is not known. */
	const struct nb_field_spec *field;
	struct nb_range off;
};

/* Resolve the access of the load, store or atomic @insn. Does nothing for
 * another instruction. */
void nb_access_resolve(const struct nb_program *program, const struct nb_state *st,
		       const struct nb_insn *insn, struct nb_mem_access *x);

/* Return the offset behind the last byte that the access may touch. */
static inline int64_t nb_access_end(const struct nb_mem_access *x)
{
	return x->off.smax + (int64_t)x->size;
}

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

/* Does rank-local data decide which elements exist in @m, or how many? */
bool nb_map_elements_are_local(const struct nb_map_spec *m);

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

/* Return the access of a helper to the memory behind argument @arg. */
struct nb_mem_access nb_access_of_arg(const struct nb_program *program, const struct nb_state *st,
				      const struct nb_helper_spec *h, unsigned arg);

#endif
