// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_REGISTRY_H
#define NB_PLUGIN_JOB_REGISTRY_H

#include "plugin/job/segment.h"

/* ---- with the segment's lock ---- */

/*
 * The number of the generation with this digest, registering it if it is new;
 * @fresh: always a new number. 0 for the digest of zeroes unless @fresh.
 * NB_E_LIMIT when numbers are used up.
 */
int nb_segment_gen(struct nb_segment *s, const uint8_t digest[NB_SHA256_SIZE],
		   bool fresh, uint32_t *number, struct nb_err *err);

/*
 * nb_segment_join - find or make the communicator's entry and take a slot
 * @has_id: false: NCCL gives no identity; ranks are put together as they come
 * @first: number of the generation it begins with if it is made now;
 *         its digest is compared if it exists
 *
 * *@slot gets the slot's index; the slot is zeroed and LIVE. A rank whose
 * digest differs from the entry's marks the entry: from then on all its ranks
 * decide with no policy; so does one whose settings differ (begin.h).
 * (*comm)->slot[*slot].generation is what to begin with. NB_E_LIMIT when
 * entries or slots are used up.
 */
int nb_segment_join(struct nb_segment *s, bool has_id, uint64_t comm_id,
		    uint32_t nranks, uint32_t nnodes, uint32_t first,
		    struct nb_seg_comm **comm, uint32_t *slot,
		    struct nb_err *err);
/* Release the slot; the last rank frees the entry. */
void nb_segment_leave(struct nb_segment *s, struct nb_seg_comm *comm,
		      uint32_t slot);

/* Free the entry if no rank decides with it any more. */
void nb_segment_free_if_left(struct nb_seg_comm *comm);

/* For people: the policies of generation @number, separated by blanks. */
void nb_segment_name(struct nb_segment *s, uint32_t number, const char *names);

/* For people: who asked for generation @number, and now as the time; @pid 0:
 * nobody. */
void nb_segment_sign(struct nb_segment *s, uint32_t number, uint32_t uid,
		     uint32_t pid);

/* ---- without the lock ---- */

/* False: generation @number is overwritten, or not signed. */
bool nb_segment_signed(const struct nb_segment *s, uint32_t number,
		       uint64_t *at_s, uint32_t *uid, uint32_t *pid);

/* Digest of generation @number; false when it is not there (any more). */
bool nb_segment_digest(const struct nb_segment *s, uint32_t number,
		       uint8_t digest[NB_SHA256_SIZE]);
/* Ask for the memory that nb_segment_digest reads. */
void nb_segment_prefetch(const struct nb_segment *s, uint32_t number);
/* Slots of @comm that are in use or were: LIVE and GONE. */
uint32_t nb_seg_registered(const struct nb_seg_comm *comm);

#endif
