// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_GENERATIONS_H
#define NB_PLUGIN_POLICIES_GENERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/generation/generation.h"

enum { NB_MAX_GENS = 64 };

/* Names of a generation's policies, kept after the generation is freed. */
struct nb_past {
	uint32_t number, n;
	char name[NB_GEN_MAX_POLICIES][NB_IMAGE_NAME];
};

/* The generations of this process, protected by NB_LOCK_STATE. */
struct nb_gens {
	/*
	 * Generations that a communicator may use. Accessed atomically, because
	 * the slow path of a decision searches without the lock.
	 */
	struct nb_gen *kept[NB_MAX_GENS];
	/* has no policy, an all-zero digest and number 0 */
	struct nb_gen *empty;
	/* generation made from NCCLBPF_POLICY, kept until the process ends */
	struct nb_gen *first;
	/* generation that new communicators start with */
	struct nb_gen *baseline;
	uint32_t baseline_number;
	/* the baseline before the current one, or NULL */
	struct nb_gen *previous;
	struct nb_gen *staged; /* the staged generation, or NULL */
	struct nb_past past[NB_MAX_GENS];
};
extern struct nb_gens nb_gens;

/* Returns the kept generation with digest @digest, or NULL. */
struct nb_gen *nb_gens_find(const uint8_t digest[NB_SHA256_SIZE]);
/* What to do where nb_gen_uncompiled says why. */
#define NB_GENS_UNCOMPILED_HINT                                    \
	"allow executable memory (SELinux: execmem; systemd: "     \
	"MemoryDenyWriteExecute=no; prctl PR_SET_MDWE; seccomp), " \
	"or set NCCLBPF_JIT=off if this is intended"

/*
 * Keep a generation, and take ownership of the caller's reference. Returns the
 * generation, or a kept one with the same digest. It lives until a sweep finds
 * that no communicator can use it. Returns NULL with NB_E_LIMIT if NB_MAX_GENS
 * are kept.
 */
struct nb_gen *nb_gens_keep(struct nb_gen *g, struct nb_err *err);
/* Free generations that no communicator can use. */
void nb_gens_sweep(void);

/*
 * Give the initial generation a number; processes with equal generations get
 * the same number. If the segment stays locked for too long, the first
 * communicator does this instead. Takes the locks.
 */
void nb_gens_number(void);
/* Write the number of this process's baseline into the segment. */
void nb_gens_tell_baseline(uint32_t number);
/*
 * Log once that a rank had to adopt a generation that this process does not
 * hold, and uses no policy.
 */
struct nb_comm;
void nb_gens_tell_missing(struct nb_comm *c);
/* Free all generations. No communicator may exist. */
void nb_gens_free(void);

/* Record the policy names of generation @number for nb_gens_policy_name. */
void nb_gens_remember(uint32_t number, const struct nb_gen *g);
/*
 * Record the policy names in the segment too, for other processes. The caller
 * also holds the segment's lock.
 */
void nb_gens_publish(uint32_t number, const struct nb_gen *g);
/*
 * Returns the name of policy @index of generation @number, even if the
 * generation is freed. Returns NULL if it is not known or @index is -1.
 */
const char *nb_gens_policy_name(uint32_t number, int index);

/* Returns the position (from 0) of a policy in the baseline, or -1. */
int nb_gens_position(const struct nb_policy *p);

#endif
