// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_INSN_ANSWERS_H
#define NB_VERIFY_INSN_ANSWERS_H

#include "core/bpf/verify/access/access.h"

/*
 * nb_note_answer - record for the notes that store @x at @a sets output @f
 *
 * The store may cover neighbouring fields too.
 */
void nb_note_answer(const struct at *a, const struct nb_mem_access *x,
		    const struct nb_field_spec *f);

#endif
