// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_CHECK_H
#define NB_VERIFY_CHECK_H

#include "core/verify/env.h"

/*
 * nb_check - does @st grant what the instruction at @pc needs?
 *
 * 0, or NB_E_VERIFY with the finding filled. Does not change @st.
 */
int nb_check(struct nb_env *env, const struct nb_state *st, uint32_t pc);

/* Offset of an access through @r at constant @off, all of it. */
struct nb_range nb_access_offset(const struct nb_reg *r, int32_t off);

/* Do bytes [lo, hi) of a frame's stack hold only written data? */
bool nb_stack_written(const struct nb_frame *f, int64_t lo, int64_t hi,
		      int64_t *bad);

/* Function of frame @frame when the top frame is at @pc. */
uint32_t nb_frame_func(const struct nb_env *env, const struct nb_state *st,
		       uint32_t frame, uint32_t pc);

#endif
