// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_STEP_H
#define NB_VERIFY_INSN_STEP_H

#include "core/bpf/verify/state/operands.h"

/*
 * Functions that change the state as instructions do. They require that
 * nb_check accepted the instruction at @pc; then the new state includes
 * every concrete outcome.
 */

/* Set the program's first state: r1 is the context, r10 the frame pointer. */
void nb_step_init(struct nb_env *env, struct nb_state *st);

/* May a pointer be passed where the helper accepts any number? Not if the
 * walk relies on the number. */
bool nb_takes_address(const struct nb_helper_spec *h);
/* Before the call of the helper at @pc: turn such pointers into numbers. */
void nb_step_addresses(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Step any instruction except jumps, local calls and exit. @x: the access of a
 * load, store or atomic (nb_access_resolve). */
void nb_step(struct nb_env *env, struct nb_state *st, uint32_t pc, const struct nb_mem_access *x);

#endif
