// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SAVED_H
#define NB_VERIFY_STATE_SAVED_H

#include "core/bpf/verify/state/state.h"

/* A saved state is a copy without dead registers and unused stack cells. */
struct nb_saved;

/* The live registers of each frame: bit i stands for register ri. */
struct nb_live {
	uint16_t regs[NB_MAX_FRAMES];
};

/* Set the registers outside @live to NB_REG_UNINIT. Call it before saving a
 * state: a dead register may be linked to a live one, and the copy would
 * lose that link. */
void nb_state_forget(struct nb_state *st, const struct nb_live *live);

/* Return the number of bytes that nb_state_save needs. */
size_t nb_state_size(const struct nb_state *st, const struct nb_live *live);
void nb_state_save(struct nb_saved *to, const struct nb_state *st, const struct nb_live *live);
/* Restore a saved state. Registers that were dead become NB_REG_UNINIT. */
void nb_state_restore(struct nb_state *st, const struct nb_saved *from);

/* A hash of the constant registers of the top frame, six bits for each. A
 * saved state subsumes another one only if the two keys agree in the bits
 * of @mask. */
struct nb_key {
	uint64_t value, mask;
};

uint64_t nb_state_key(const struct nb_state *st);
/* Return the key of the registers that are in @precise or have no
 * nb_reg.deps. */
struct nb_key nb_saved_key(const struct nb_saved *saved, uint64_t precise);

/* Mark the cells of the saved state @saved that later code reads. */
void nb_state_note_read(struct nb_saved *saved, const struct nb_cells *read);

/* Find the first register of the top frame whose value differs. Returns its
 * number and stores its values in *@was and *@is; returns -1 if none
 * differs. */
int nb_saved_change(const struct nb_saved *old, const struct nb_saved *now, struct nb_reg *was,
		    struct nb_reg *is);

#endif
