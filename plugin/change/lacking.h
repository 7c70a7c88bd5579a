// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_LACKING_H
#define NB_PLUGIN_CHANGE_LACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "plugin/job/startup.h"

/*
 * Communicators that cannot have the replicated maps of a generation, because
 * their ranks do not all count API calls (docs/adr/0018-replicated-state.md). For
 * those of a fleet the segment says so, because its agent has no programs.
 */

/*
 * Returns true if the policies of generation @digest for @c need a clock that @c
 * does not have on this host; @why is then the reason. It takes NB_LOCK_STATE.
 */
bool nb_lacks_calls(const struct nb_seg_comm *c, const uint8_t digest[NB_SHA256_SIZE],
		    char why[NB_STARTUP_WHY]);

/* Index of nb_seg_comm.lacks */
enum nb_lacking { NB_LACKING_STAGED, NB_LACKING_BASELINE };

/* Returns the value of nb_seg_comm.lacks that names generation @digest. */
uint64_t nb_lacking_mark(const uint8_t digest[NB_SHA256_SIZE]);
/*
 * Write into each communicator of the fleet whether it lacks calls for @digest. The
 * caller holds the segment's lock. It takes NB_LOCK_STATE.
 */
void nb_lacking_note(enum nb_lacking which, const uint8_t digest[NB_SHA256_SIZE]);

#endif
