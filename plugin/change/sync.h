// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_SYNC_H
#define NB_PLUGIN_CHANGE_SYNC_H

#include <stdbool.h>

#include "plugin/change/outcome.h"

/* The last change, protected by NB_LOCK_STATE. */
struct nb_last {
	bool known;
	struct nb_change change;
};
extern struct nb_last nb_last;

/*
 * Apply changes that other processes have committed: update the baseline, its
 * number and the staged generation. The caller holds NB_LOCK_STATE.
 */
void nb_change_sync(void);

/*
 * Report changes for `change status`: whether a change is staged, with its
 * digest in @staged, and the last change that this process committed or saw, in
 * *@out, with the passed ranks counted again. *@has_last is false if there was
 * no change. No argument may be NULL.
 */
void nb_change_status(bool *has_staged, uint8_t staged[NB_SHA256_SIZE], bool *has_last,
		      struct nb_change *out);

#endif
