// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HOST_H
#define NB_PLUGIN_POLICIES_HOST_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/generation/policy.h"

/*
 * Host maps of the held policies (core/map/host.h), attached by name: all host
 * maps of that name show the same descriptor, also those of policies loaded
 * later. All functions need NB_LOCK_STATE.
 */
enum { NB_MAX_HOST_MAPS = 16 }; /* names that are attached */

/*
 * nb_host_attach - show the pages of descriptor @fd in the host maps @name
 * @fd: taken, also on failure
 *
 * Returns how many maps of held policies show it, 1 or more. On failure all of
 * them show what they showed before. NB_E_NOENT (no held policy has such a
 * map), NB_E_LIMIT (NB_MAX_HOST_MAPS names), the errors of nb_map_host_attach.
 */
int nb_host_attach(const char *name, int fd, struct nb_err *err);
/* Show zeroes again. Returns how many maps do. NB_E_NOENT: nothing of that name
 * is attached. */
int nb_host_detach(const char *name, struct nb_err *err);
/* Attach the host maps of @p, which is new, to what is attached by name. What
 * does not fit is logged, and the map shows zeroes. */
void nb_host_join(const struct nb_policy *p);
/* At the end: close all descriptors. */
void nb_host_free(void);

#endif
