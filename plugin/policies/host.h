// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HOST_H
#define NB_PLUGIN_POLICIES_HOST_H

#include "core/base/err.h"
#include "core/bpf/generation/policy.h"

/*
 * Host maps of the held policies (core/bpf/map/host.h). They are attached by
 * name: all host maps of a name show the same descriptor, also those of
 * policies loaded later. The functions need NB_LOCK_STATE.
 */
enum { NB_MAX_HOST_MAPS = 16 }; /* most names that can be attached */

/*
 * nb_host_show - show the memory of @fd in all host maps called @name
 * @fd: passes to this function on success; -1: zeroes, to detach the maps
 *
 * Returns how many maps of held policies show it; those of older policies with
 * another shape show zeroes, which is logged. On failure all maps show what
 * they showed before, or zeroes if the kernel has no memory: NB_E_NOENT (no
 * held policy has such a map, or nothing is attached), NB_E_LIMIT
 * (NB_MAX_HOST_MAPS names are attached), or an error of nb_map_host_attach.
 */
int nb_host_show(const char *name, int fd, struct nb_err *err);

/*
 * Attach the host maps of the new policy @p to the descriptors of their names.
 * If a descriptor does not fit, this is logged, and the map shows zeroes.
 */
void nb_host_join(const struct nb_policy *p);
/* Close all descriptors when the process ends. */
void nb_host_free(void);

#endif
