// SPDX-License-Identifier: MIT
#ifndef NB_CSVPOLICY_SWEEP_H
#define NB_CSVPOLICY_SWEEP_H

#include "core/csvpolicy/part.h"

/* An interval: sizes above the previous interval's @last and up to @last
 * get answer @word. */
struct nb_table_interval {
	int64_t last;
	uint64_t word;
};

/* The memory of sweeps for the rows of one table; each set of rows reuses
 * it. @alts has the answers to try after others, each once. */
struct nb_table_sweep {
	const struct nb_table *t;
	struct nb_table_interval *out; /* Room for 2 * rows + 1 intervals. */
	uint32_t nout;
	uint32_t *heap; /* Numbers of rows, by class of answer. */
	uint64_t *ends;
	uint64_t *alts;
	uint32_t nalts, cap_alts;
	uint32_t *slots; /* Hash table of numbers in alts, plus 1. */
	uint32_t nslots;
	uint32_t chain; /* Length of the longest list of answers so far. */
	uint64_t *won;	/* One bit for each row: the row wins somewhere. */
};

/* Fail with NB_E_NOMEM. */
int nb_table_nomem(struct nb_err *err);

int nb_table_sweep_init(struct nb_table_sweep *s, const struct nb_table *t,
			uint64_t *won, struct nb_err *err);
void nb_table_sweep_fini(struct nb_table_sweep *s);

/* Find the answer for each size, and fill @out. @rows: ascending numbers of
 * the rows that match in the other dimensions. Returns 0 or NB_E_NOMEM. */
int nb_table_sweep_run(struct nb_table_sweep *s, const uint32_t *rows,
		       uint32_t n, struct nb_err *err);

#endif
