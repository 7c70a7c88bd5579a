// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_WITNESS_NOTES_H
#define NB_VERIFY_WITNESS_NOTES_H

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/operands.h"

/* A step of the path: the registers of the top frame before slot @pc, and its access if it is a
 * load, store or atomic. */
struct nb_trail_step {
	uint32_t pc, nframes;
	struct nb_region region;
	struct nb_mem_access access;
	struct nb_reg regs[NB_NREGS];
};

enum { NB_TRAIL_STEPS = 1024 };

/* The last steps of the path, [first, n): at most NB_TRAIL_STEPS. */
struct nb_trail {
	struct nb_env *env;
	struct nb_trail_step *ring;
	uint32_t first, n;
};

static inline const struct nb_trail_step *nb_trail_at(const struct nb_trail *t, uint32_t i)
{
	return &t->ring[i % NB_TRAIL_STEPS];
}

/* Say what the branch at step @i - 1 means on the path that continues at step @i. */
const char *nb_trail_branch(const struct nb_trail *t, uint32_t i);
/* Fill the finding's notes: where the values come from that it rests on, as
 * expressions in the source's names ("ctx->ranks * 4"). */
void nb_trail_notes(const struct nb_trail *t, struct nb_finding *f);

#endif
