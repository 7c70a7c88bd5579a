// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_GEN_NUMBERS_H
#define NB_PLUGIN_JOB_GEN_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"

struct nb_segment;

/* ---- with the segment's lock ---- */

/*
 * The number of the generation with this digest, registering it if it is new;
 * @fresh: always a new number. 0 for the digest of zeroes unless @fresh.
 * NB_E_LIMIT when numbers are used up.
 */
int nb_segment_gen(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE],
		   bool fresh, uint32_t *number, struct nb_err *err);

/*
 * The number of the generation that is @fleet in the fleet, registering it if
 * it is new; @fleet 0: as nb_segment_gen, not fresh.
 */
int nb_segment_gen_of_fleet(struct nb_segment *s, uint64_t fleet,
			    const uint8_t digest[NB_SHA256_SIZE],
			    uint32_t *number, struct nb_err *err);

/* For people: the policies of generation @number, separated by blanks. */
void nb_segment_name(struct nb_segment *s, uint32_t number, const char *names);

/* For people: record the client that asked for generation @number, and the
 * time; @pid 0: no client. */
void nb_segment_sign(struct nb_segment *s, uint32_t number, uint32_t uid,
		     uint32_t pid);

/* False: generation @number is overwritten, or not signed. */
bool nb_segment_signed(const struct nb_segment *s, uint32_t number,
		       uint64_t *at_s, uint32_t *uid, uint32_t *pid);

/* Digest of generation @number; false if it is unknown or overwritten. */
bool nb_segment_digest(const struct nb_segment *s, uint32_t number,
		       uint8_t digest[NB_SHA256_SIZE]);
/* Prefetch the memory that nb_segment_digest reads. */
void nb_segment_prefetch(const struct nb_segment *s, uint32_t number);

#endif
