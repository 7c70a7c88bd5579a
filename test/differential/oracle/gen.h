// SPDX-License-Identifier: MIT
#ifndef NB_TEST_GEN_H
#define NB_TEST_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/image/image.h"
#include "core/bpf/verify/verify.h"
#include "test/differential/oracle/rng.h"

/*
 * Random programs of which a verifier should take many: operands are written
 * before they are read, offsets are bounded before they are used (mostly),
 * look-ups are tested (mostly).
 */
struct gen_opts {
	const struct nb_map_spec *maps;
	uint32_t nmaps;
	/* the context: the tuner's, or plain memory of ctx_size bytes that
	 * may be read but not written */
	bool tuner;
	uint32_t ctx_size;
	bool kernel; /* only what a kernel's verifier knows as well */
	uint32_t max_stmts;
};

enum { GEN_MAX_SLOTS = 1024 };

/* Slots written to @out, GEN_MAX_SLOTS at most; never fails. */
uint32_t gen_program(struct nb_slot *out, const struct gen_opts *o, struct rng *r);

/* Change @k places of a program at random. */
void gen_mutate(struct nb_slot *slots, uint32_t n, uint32_t k, struct rng *r);

/*
 * Change what a finding complains of into something harmless, so that the
 * next try gets further. false: no idea.
 */
bool gen_repair(struct nb_slot *slots, uint32_t n, const struct nb_finding *f, struct rng *r);

/* Is this slot the second half of an LDDW? */
bool gen_is_high(const struct nb_slot *slots, uint32_t pc);

#endif
