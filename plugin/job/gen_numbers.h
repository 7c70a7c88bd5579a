// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_GEN_NUMBERS_H
#define NB_PLUGIN_JOB_GEN_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"

struct nb_segment;

/* The functions down to nb_segment_sign need the segment's lock. */

/*
 * Find the number of the generation with this digest, and register the
 * generation if it is new. @fresh: always register a new number. The digest of
 * zeroes has number 0 unless @fresh. Returns NB_E_LIMIT if all numbers are
 * used.
 */
int nb_segment_gen(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE], bool fresh,
		   uint32_t *number, struct nb_err *err);

/*
 * Find the number of the generation that has number @fleet in the fleet, and
 * register it if it is new. If @fleet is 0, it works like nb_segment_gen
 * without @fresh.
 */
int nb_segment_gen_of_fleet(struct nb_segment *s, uint64_t fleet,
			    const uint8_t digest[NB_SHA256_SIZE], uint32_t *number,
			    struct nb_err *err);

/*
 * Record the policy names of generation @number, separated by blanks, for
 * people.
 */
void nb_segment_name(struct nb_segment *s, uint32_t number, const char *names);

/* Record who asked for generation @number, and the time. */
struct nb_seg_maker;
void nb_segment_sign(struct nb_segment *s, uint32_t number, const struct nb_seg_maker *maker);

/*
 * Get the client and the time of generation @number. Returns false if the
 * generation is overwritten or neither was recorded.
 */
bool nb_segment_signed(const struct nb_segment *s, uint32_t number, uint64_t *at_s,
		       struct nb_seg_maker *maker);

/*
 * Get the digest of generation @number. Returns false if the generation is
 * unknown or overwritten.
 */
bool nb_segment_digest(const struct nb_segment *s, uint32_t number, uint8_t digest[NB_SHA256_SIZE]);
/*
 * Returns the fleet's number of generation @number, or 0 if the fleet did not
 * make it or the generation is overwritten.
 */
uint64_t nb_segment_fleet_number(const struct nb_segment *s, uint32_t number);
/* Prefetch the memory that nb_segment_digest reads. */
void nb_segment_prefetch(const struct nb_segment *s, uint32_t number);

#endif
