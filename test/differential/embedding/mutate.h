// SPDX-License-Identifier: MIT
#ifndef NB_TEST_EMBED_MUTATE_H
#define NB_TEST_EMBED_MUTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/image/image.h"
#include "core/bpf/verify/verify.h"
#include "test/differential/embedding/rng.h"

/* Change @k places of a program at random. */
void slots_mutate(struct nb_slot *slots, uint32_t n, uint32_t k, struct rng *r);

/*
 * Change what a finding complains of into something harmless, so that the
 * next try gets further. false: no idea.
 */
bool slots_repair(struct nb_slot *slots, uint32_t n, const struct nb_finding *f, struct rng *r);

#endif
