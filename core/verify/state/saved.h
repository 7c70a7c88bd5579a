// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SAVED_H
#define NB_VERIFY_STATE_SAVED_H

#include "core/verify/state/state.h"

/* A saved state: a copy without dead registers and unused stack cells. */
struct nb_saved;

/* Registers that are live in each frame, bit i for ri. */
struct nb_live {
	uint16_t regs[NB_MAX_FRAMES];
};

/*
 * Make the registers outside @live NB_REG_UNINIT. Call it before saving a
 * state: a dead register may be linked to a live one, and the copy would lose
 * that link.
 */
void nb_state_forget(struct nb_state *st, const struct nb_live *live);

/* Bytes nb_state_save needs. */
size_t nb_state_size(const struct nb_state *st, const struct nb_live *live);
void nb_state_save(struct nb_saved *to, const struct nb_state *st,
		   const struct nb_live *live);
/* Registers that were dead come back as NB_REG_UNINIT. */
void nb_state_restore(struct nb_state *st, const struct nb_saved *from);

/*
 * Constant registers of the top frame, hashed to six bits each. A saved state
 * subsumes another one only if their bits in @mask are the same.
 */
struct nb_key {
	uint64_t value, mask;
};

uint64_t nb_state_key(const struct nb_state *st);
/* The key of registers that are in @precise or have no nb_reg.deps. */
struct nb_key nb_saved_key(const struct nb_saved *saved, uint64_t precise);

/* Record in @saved which of its cells later code read. */
void nb_state_note_read(struct nb_saved *saved, const struct nb_cells *read);

/*
 * The first register of the top frame whose value differs: its number, and
 * its values *@was and *@is; -1: none.
 */
int nb_saved_change(const struct nb_saved *old, const struct nb_saved *now,
		    struct nb_reg *was, struct nb_reg *is);

#endif
