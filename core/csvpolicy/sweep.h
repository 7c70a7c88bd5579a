// SPDX-License-Identifier: MIT
#ifndef NB_CSVPOLICY_SWEEP_H
#define NB_CSVPOLICY_SWEEP_H

#include "core/csvpolicy/part.h"

/* Sizes up to @last, from behind the interval before, get answer @word. */
struct nb_table_interval {
	int64_t last;
	uint64_t word;
};

/*
 * Memory of the sweep, for tables of so many rows; used again for each set of
 * rows. Answers after the first of a chain stand in @alts, each once.
 */
struct nb_table_sweep {
	const struct nb_table *t;
	struct nb_table_interval *out; /* 2 * rows + 1 */
	uint32_t nout;
	uint32_t *heap; /* rows, by class of answer */
	uint64_t *ends;
	uint64_t *alts;
	uint32_t nalts, cap_alts;
	uint32_t *slots; /* of alts by hash, plus 1 */
	uint32_t nslots;
	uint32_t chain; /* longest so far */
	uint64_t *won;	/* a bit a row */
};

int nb_table_sweep_init(struct nb_table_sweep *s, const struct nb_table *t,
			uint64_t *won, struct nb_err *err);
void nb_table_sweep_fini(struct nb_table_sweep *s);

/*
 * Which answers sizes from 0 on get, of @rows (ascending numbers, whose
 * conditions but bytes hold): fills @out. 0 or NB_E_NOMEM.
 */
int nb_table_sweep_run(struct nb_table_sweep *s, const uint32_t *rows,
		       uint32_t n, struct nb_err *err);

#endif
