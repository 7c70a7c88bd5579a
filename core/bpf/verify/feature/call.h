// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CALL_H
#define NB_VERIFY_FEATURE_CALL_H

#include "core/bpf/verify/state/env.h"

/* nb_call_enter enters the function that the local call at @pc names;
 * nb_call_leave returns from it. */
void nb_call_enter(struct nb_state *st, uint32_t pc);
void nb_call_leave(struct nb_env *env, struct nb_state *st);
/* Leave the top frame, at its exit, and return r0. */
struct nb_reg nb_frame_leave(struct nb_env *env, struct nb_state *st);

#endif
