// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_ITER_H
#define NB_VERIFY_FEATURE_ITER_H

#include "core/verify/state/env.h"
#include "core/verify/state/operands.h"

struct at;

/*
 * Iterators over numbers (bpf_iter_num_new and its companions): an object of
 * 8 bytes on the stack that has to be ended, and with it a reference.
 */

/* Is this bpf_iter_num_next, or another helper about iterators? */
static inline bool nb_is_iter_next(const struct nb_insn *insn)
{
	return nb_insn_effect(insn) == NB_EFFECT_ITER_NEXT;
}

bool nb_is_iter(const struct nb_insn *insn);

/* r@number: a place for an iterator; an iterator. 0, or NB_E_VERIFY. */
int nb_check_iter_place(const struct at *a, const struct nb_helper_spec *h,
			int number);
int nb_check_iter(const struct at *a, const struct nb_helper_spec *h,
		  int number);

/* The helpers but next; r1 is checked. */
void nb_iter_step(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* The iterator in r1: its reference; the call that began it. */
uint32_t nb_iter_ref(const struct nb_state *st);
uint32_t nb_iter_begun_at(const struct nb_state *st);

/* Numbers of the iterator that r1 to r3 ask for if that is a constant and few,
 * else 0. */
uint32_t nb_iter_times(const struct nb_state *st);
/* The iterator with reference @ref: has it not found its end? */
bool nb_iter_is_open(const struct nb_state *st, uint32_t ref);
/* Does it find its end in every run? Then *@times is raised to its numbers. */
bool nb_iter_is_kept(const struct nb_state *st, uint32_t ref, uint32_t *times);

/* Can bpf_iter_num_next find a number; can it find the end? */
bool nb_iter_may_go_on(const struct nb_state *st);
bool nb_iter_may_end(const struct nb_state *st);

/* It finds a number (@more) or the end. */
void nb_iter_next(struct nb_env *env, struct nb_state *st, uint32_t pc,
		  bool more);

/* What a load of @size bytes at @off of the number behind @ptr gives. */
struct nb_reg nb_iter_load(const struct nb_state *st, const struct nb_reg *ptr,
			   const struct nb_range *off, uint32_t size);

#endif
