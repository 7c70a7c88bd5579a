// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_CHECK_ARGS_H
#define NB_VERIFY_INSN_CHECK_ARGS_H

#include "core/bpf/verify/state/env.h"

struct at;

/* Check that the helper exists and that r1-r5 fit it: 0, or NB_E_VERIFY with
 * the finding filled. */
int nb_check_helper(const struct at *a);

#endif
