// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COSTS_H
#define NB_PLUGIN_COSTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * NCCL's cost table as the tuner gets it (ABI reference, section 1.7): one
 * block of floats, row = algorithm, column = protocol; predicted
 * microseconds, -1.0 for what NCCL does not offer.
 */
enum {
	NB_COSTS_PROTOS = 3,
	NB_COSTS_KNOWN = 21,	 /* entries of the algorithms that we know */
	NB_COSTS_MAX_ALGOS = 16, /* more rows than that are no cost table */
	NB_COSTS_NONE = 255
};

/* What NCCL would make of a table. */
struct nb_costs {
	uint32_t usable; /* bit algo * 3 + proto, of the known algorithms */
	uint32_t best;	 /* index of NCCL's own choice, or NB_COSTS_NONE */
	float best_cost; /* -1 where there is none */
};

/*
 * nb_costs_read - the usable entries and NCCL's choice
 * @table: @nalgo * @nproto floats; may be NULL
 *
 * An entry counts when it is not negative, no NaN and below 3.6e9, the limit
 * of NCCL up to 2.28.9; the choice is the smallest, the first of equals.
 * False, and nothing usable: no table, or a shape that is not known.
 */
bool nb_costs_read(const float *table, int nalgo, int nproto,
		   struct nb_costs *out);

/* The same without vector instructions, for tests and other machines. */
void nb_costs_scan(const float *table, uint32_t n, struct nb_costs *out);

/*
 * Make NCCL choose entry @index, which must be usable: it becomes 0, and an
 * entry before it that is 0 as well becomes the smallest positive number,
 * since NCCL takes the first of equals.
 */
void nb_costs_choose(float *table, uint32_t index, const struct nb_costs *was);

#endif
