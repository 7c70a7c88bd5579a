// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_JIT_LOWER_H
#define NB_EXEC_JIT_LOWER_H

#include "core/bpf/exec/jit/machine.h"

/* Emit slot @pc, perhaps fused with the next one; returns how many slots
 * were emitted. */
uint32_t nb_lower_slot(struct nb_jit_ctx *c, uint32_t pc);

/* For back ends: list the machine registers of r6 to r9, without the registers
 * that the program never changes; return their number. */
unsigned nb_lower_saved(const struct nb_jit_ctx *c, unsigned list[4]);
/* For back ends: set up the run's data; struct nb_exec is still in arg[0]. */
void nb_lower_run_data(struct nb_jit_ctx *c);
/* For back ends: call the lookup operation of map @m; r0 is its result. The
 * CPU's number, if the operation needs it, is in the scratch register cpu. */
void nb_lower_map_lookup(struct nb_jit_ctx *c, struct nb_map *m);

#endif
