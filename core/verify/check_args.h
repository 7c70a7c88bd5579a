// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_CHECK_ARGS_H
#define NB_VERIFY_CHECK_ARGS_H

#include "core/verify/env.h"

struct at;

/* 0, or NB_E_VERIFY with the finding filled: the helper exists; r1-r5 fit. */
int nb_check_helper(const struct at *a);
int nb_check_args(const struct at *a);

/* The map among a helper's arguments, or NULL. */
const struct nb_map_spec *nb_helper_map(const struct nb_env *env,
					const struct nb_state *st,
					const struct nb_helper_spec *h);

/* What argument @arg (0 to 4) of @h is with the map that is given: peek reads
 * the value of a bloom filter, and writes that of other maps. */
enum nb_arg nb_helper_arg(const struct nb_env *env, const struct nb_state *st,
			  const struct nb_helper_spec *h, unsigned arg);

/* Most and least bytes that memory argument @arg (0 to 4) of @h has. */
struct nb_extent {
	uint64_t min, max;
};
struct nb_extent nb_helper_extent(const struct nb_env *env,
				  const struct nb_state *st,
				  const struct nb_helper_spec *h, unsigned arg);

#endif
