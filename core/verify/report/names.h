// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_NAMES_H
#define NB_VERIFY_REPORT_NAMES_H

#include "core/verify/state/env.h"

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

/* What is at @off behind @r in the source's terms: "ctx->ranks",
 * "limits.max_bytes"; "" when nobody says. */
const char *nb_say_place(struct nb_env *env, const struct nb_reg *r,
			 const struct nb_range *off);
/* Why the instruction at @pc, run with @regs, makes local data. */
const char *nb_say_local(struct nb_env *env, const struct nb_reg *regs,
			 uint32_t pc);
/* What to do instead; "" for the class's own hint. */
const char *nb_say_local_hint(struct nb_env *env, const struct nb_reg *regs,
			      uint32_t pc);

#endif
