// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_NAMES_H
#define NB_VERIFY_REPORT_NAMES_H

#include "core/bpf/verify/state/env.h"

/*
 * The name of bytes [lo, hi] of a map's key or value.
 *
 *  @text:    "channels[0 to 7].x"; "" if the bytes have no single name
 *  @array:   the first array with more than one possible index; NULL: none
 *  @last:    the smallest object that holds byte lo; NULL: nothing is known
 *  @padding: byte lo lies between the members of @last
 */
struct nb_member {
	const char *text;
	const struct nb_name *array, *last;
	bool padding;
};

struct nb_member nb_member_at(struct nb_env *env, uint32_t map, enum nb_name_part part, uint64_t lo,
			      uint64_t hi);

/*
 * Return the name of byte @off beyond the end of the key or value, as if
 * the array at the end continued ("algo[16]"). @array is NULL if the key or
 * value does not end in an array.
 */
struct nb_member nb_member_beyond(struct nb_env *env, uint32_t map, enum nb_name_part part,
				  uint64_t off);

/* Return the type, for example "struct row"; "" if the image names none. */
const char *nb_say_type(struct nb_env *env, uint32_t map, enum nb_name_part part);

/* Return the name in the source of the object at @off behind @r, for
 * example "ctx->ranks" or "limits.max_bytes"; "" if it has no name. */
const char *nb_say_place(struct nb_env *env, const struct nb_reg *r, const struct nb_range *off);

#endif
