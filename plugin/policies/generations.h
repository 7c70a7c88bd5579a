// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_GENERATIONS_H
#define NB_PLUGIN_POLICIES_GENERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/generation/generation.h"

enum { NB_MAX_GENS = 64 };

/* Names of the policies of a generation, kept after it is freed. */
struct nb_past {
	uint32_t number, n;
	char name[NB_GEN_MAX_POLICIES][NB_IMAGE_NAME];
};

/* The generations of this process. With NB_LOCK_STATE, except as marked. */
struct nb_gens {
	/* the generations that a communicator can reach; atomic, because the
	 * slow path of a decision searches without the lock */
	struct nb_gen *kept[NB_MAX_GENS];
	struct nb_gen *empty;	 /* no policy; digest zeroes, number 0 */
	struct nb_gen *first;	 /* made from NCCLBPF_POLICY; kept */
	struct nb_gen *baseline; /* for new communicators */
	uint32_t baseline_number;
	struct nb_gen *previous; /* the baseline before it; NULL: none */
	struct nb_gen *staged;	 /* NULL: none */
	struct nb_past past[NB_MAX_GENS];
};
extern struct nb_gens nb_gens;

/* The kept generation of that digest, or NULL. */
struct nb_gen *nb_gens_find(const uint8_t digest[NB_SHA256_SIZE]);
/*
 * Keep a generation; *takes* the reference. Returns it, or the kept one of the
 * same digest. It lives until a sweep finds that no communicator can reach it.
 * NULL and NB_E_LIMIT: NB_MAX_GENS are kept.
 */
struct nb_gen *nb_gens_keep(struct nb_gen *g, struct nb_err *err);
/* Free generations that no communicator can reach. */
void nb_gens_sweep(void);

/*
 * Number the initial generation: processes with equal ones get the same
 * number. If the segment is locked for too long, the first communicator does
 * it. Takes the locks.
 */
void nb_gens_number(void);
/* Enter the number of this process's baseline in the segment. */
void nb_gens_tell_baseline(uint32_t number);
/* Free all generations, when no communicator exists. */
void nb_gens_free(void);

/* Record the policies of generation @number, for nb_gens_policy_name. */
void nb_gens_remember(uint32_t number, const struct nb_gen *g);
/* Record them in the segment as well, for other processes; with its lock too.
 */
void nb_gens_publish(uint32_t number, const struct nb_gen *g);
/* Name of policy @index of generation @number, freed or not. NULL: unknown, or
 * @index is -1. */
const char *nb_gens_policy_name(uint32_t number, int index);

/* Does @g, which may be NULL, have policy @p? */
bool nb_gen_has(const struct nb_gen *g, const struct nb_policy *p);
/* Position (from 0) of a policy in the baseline generation, or -1. */
int nb_gens_position(const struct nb_policy *p);

#endif
