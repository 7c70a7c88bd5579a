// SPDX-License-Identifier: MIT
#ifndef NB_TEST_MAP_SEQUENCE_H
#define NB_TEST_MAP_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bpf/map/map.h"
#include "core/bpf/map/ops.h"

/*
 * Random sequences of map operations, run on two implementations at once and
 * compared step by step: return values, values read, keys walked. The unit
 * test compares with a model, test/differential/map/map_kernel.c with the
 * running kernel.
 */

/* One implementation. Results are 0 or a negative errno; values are those of
 * the bpf() system call (all CPUs' for per-CPU types). */
struct side {
	const char *name;
	void *self;
	int (*lookup)(void *self, const void *key, void *value);
	int (*update)(void *self, const void *key, const void *value, uint64_t flags);
	int (*remove)(void *self, const void *key);
	/* @key NULL: the first */
	int (*next)(void *self, const void *key, void *next);
};

struct shape {
	const char *name;
	struct nb_map_def def;
};

/* Shapes that are worth a sequence. */
extern const struct shape shapes[];
extern const size_t nshapes;

/* Our map through the management calls, and through the program's. */
void side_manage(struct side *s, struct nb_map *m);
void side_program(struct side *s, struct nb_map *m);

/* Facts about a shape's type. */
enum nb_map_keys shape_keys(const struct nb_map_def *def);
bool shape_percpu(const struct nb_map_def *def);

/* Bytes of a value as the sides have it. */
size_t side_value_size(const struct nb_map_def *def);

/*
 * Runs @steps steps chosen by @seed. 0, or -1 with the first difference in
 * @why (of @why_size bytes).
 */
int sequence_run(const struct shape *shape, uint64_t seed, int steps, const struct side *a,
		 const struct side *b, char *why, size_t why_size);

/* A seed from the clock, or from the variable SEED. */
uint64_t sequence_seed(void);
uint64_t sequence_random(uint64_t *state);

#endif
