// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_NAMES_H
#define NB_VERIFY_NAMES_H

#include "core/verify/env.h"

/*
 * What bytes [lo, hi] of a map's key or value are called.
 *
 * @text:    "channels[0 to 7].x"; "" when they have no one name
 * @array:   the first array whose index is not one number; NULL: none
 * @last:    the smallest thing that holds byte lo; NULL: nothing is known
 * @padding: lo lies between its members
 */
struct nb_member {
	const char *text;
	const struct nb_name *array, *last;
	bool padding;
};

struct nb_member nb_member_at(struct nb_env *env, uint32_t map,
			      enum nb_name_part part, uint64_t lo, uint64_t hi);

/*
 * The same of byte @off, which lies beyond the key or value: the array at its
 * end, as if that went on ("algo[16]"); @array NULL: it ends in none.
 */
struct nb_member nb_member_beyond(struct nb_env *env, uint32_t map,
				  enum nb_name_part part, uint64_t off);

/* "struct row"; "" when nobody says. */
const char *nb_say_type(struct nb_env *env, uint32_t map,
			enum nb_name_part part);

/*
 * bounds.c: refusals that compute what would be right.
 *
 * nb_refuse_span: @size bytes at @off behind r@number, a map value or memory
 * of @limit bytes, are not inside. nb_refuse_unwritten: of @size bytes at
 * @off of a frame, byte @bad was never written. nb_refuse_frame: they are not
 * all inside the frame. All return NB_E_VERIFY.
 */
int nb_refuse_span(struct nb_env *env, uint32_t pc, int number,
		   const struct nb_reg *r, const struct nb_range *off,
		   uint64_t size, uint64_t limit);
int nb_refuse_unwritten(struct nb_env *env, const struct nb_state *st,
			uint32_t pc, int number, const struct nb_range *off,
			uint64_t size, int64_t bad);
int nb_refuse_frame(struct nb_env *env, const struct nb_state *st, uint32_t pc,
		    int number, const struct nb_range *off, uint64_t size);

#endif
