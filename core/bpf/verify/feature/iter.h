// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_ITER_H
#define NB_VERIFY_FEATURE_ITER_H

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

struct at;

/*
 * Iterators over numbers (bpf_iter_num_new and its companions). An iterator
 * is an object of 8 bytes on the stack with a reference. The program has to
 * end the iterator, which releases the reference.
 */

/*
 * nb_is_iter_next: is this bpf_iter_num_next? nb_is_iter: is this any helper of
 * iterators?
 */
static inline bool nb_is_iter_next(const struct nb_insn *insn)
{
	return nb_insn_effect(insn) == NB_EFFECT_ITER_NEXT;
}

bool nb_is_iter(const struct nb_insn *insn);

/* Check that register @number points to a place for a new iterator, or
 * (below) to an iterator. Both return 0 or NB_E_VERIFY. */
int nb_check_iter_place(const struct at *a, int number);
int nb_check_iter(const struct at *a, int number);

/* Step a helper of iterators other than next; r1 is checked. */
void nb_iter_step(struct nb_env *env, struct nb_state *st, uint32_t pc);

/* Return the reference of the iterator in r1. */
uint32_t nb_iter_ref(const struct nb_state *st);
uint32_t nb_iter_begun_at(const struct nb_state *st);

/* Return how many numbers the iterator requested by r1 to r3 yields, if the
 * count is constant and small, else 0. */
uint32_t nb_iter_times(const struct nb_state *st);
/* Is the reference that of an iterator which still has numbers left? */
bool nb_iter_is_open(const struct nb_state *st, const struct nb_ref *ref);
/* True if the iterator reaches its end in every run; *@times is then raised
 * to the count of its numbers. */
bool nb_iter_is_kept(const struct nb_state *st, uint32_t ref, uint32_t *times);

/* nb_iter_may_go_on: true if bpf_iter_num_next can yield a number.
 * nb_iter_may_end: true if it can yield the end. */
bool nb_iter_may_go_on(const struct nb_state *st);
bool nb_iter_may_end(const struct nb_state *st);

/* Step the iterator: it yields a number (@more) or the end. */
void nb_iter_next(struct nb_env *env, struct nb_state *st, uint32_t pc, bool more);

/* Return the result of loading from the number that iterator @ref yielded. */
struct nb_reg nb_iter_load(const struct nb_state *st, uint32_t ref, const struct nb_mem_access *x);

#endif
