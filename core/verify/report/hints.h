// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_HINTS_H
#define NB_VERIFY_REPORT_HINTS_H

#include "core/verify/state/env.h"

/*
 * Refusals that compute what would be right.
 *
 * nb_refuse_span: @size bytes at @off behind r@number, a map value or memory
 * of @limit bytes, are not inside. nb_refuse_unwritten: of @size bytes at
 * @off of a frame, byte @bad was never written. nb_refuse_frame: they are not
 * all inside the frame. All return NB_E_VERIFY.
 */
int nb_refuse_span(struct nb_env *env, uint32_t pc, int number,
		   const struct nb_reg *r, const struct nb_range *off,
		   uint64_t size, uint64_t limit);
int nb_refuse_unwritten(struct nb_env *env, const struct nb_state *st,
			uint32_t pc, int number, const struct nb_range *off,
			uint64_t size, int64_t bad);
int nb_refuse_frame(struct nb_env *env, const struct nb_state *st, uint32_t pc,
		    int number, const struct nb_range *off, uint64_t size);

#endif
