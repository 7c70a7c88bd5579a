// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_LAST_H
#define NB_PLUGIN_CHANGE_LAST_H

#include "plugin/change/change.h"

/* With NB_LOCK_STATE. */
struct nb_last {
	bool known;
	struct nb_change change;
};
extern struct nb_last nb_last;

/*
 * Take over changes that other processes committed: updates the baseline, its
 * number and the staged generation. With NB_LOCK_STATE.
 */
void nb_change_sync(void);

/*
 * The state for `change status`: whether a change is staged (its digest in
 * @staged), and the last change that this process committed or saw committed
 * (*@out, passed ranks
 * counted anew). @has_last false: none yet. @staged, @out may not be NULL.
 */
void nb_change_status(bool *has_staged, uint8_t staged[NB_SHA256_SIZE],
		      bool *has_last, struct nb_change *out);

#endif
