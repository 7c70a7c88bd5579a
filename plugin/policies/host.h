// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_POLICIES_HOST_H
#define NB_PLUGIN_POLICIES_HOST_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/generation/policy.h"

/*
 * Host maps of the held policies (core/bpf/map/host.h). They are attached by
 * name: all host maps of a name show the same descriptor, also those of
 * policies loaded later. The functions need NB_LOCK_STATE unless they say
 * otherwise.
 */
enum { NB_MAX_HOST_MAPS = 16 }; /* most names that can be attached */

/*
 * nb_host_stage - prepare what the host maps called @name will show
 * @fd: the descriptor, whose ownership passes to this function, also on
 *   failure; -1: zeroes, to detach the maps
 *
 * It takes NB_LOCK_STATE itself, but maps the pages without the lock. The maps
 * do not change yet. The caller frees *@out. On failure *@out is NULL:
 * NB_E_NOENT (no held policy has such a map, or nothing is attached),
 * NB_E_LIMIT (NB_MAX_HOST_MAPS names are attached), NB_E_NOMEM, or an error of
 * nb_map_host_prepare.
 */
struct nb_host_change;
int nb_host_stage(struct nb_host_change **out, const char *name, int fd, struct nb_err *err);
/*
 * Show what was prepared, once. Returns how many maps of held policies show it;
 * those of older policies with another shape show zeroes, which is logged. On
 * failure, all maps show what they showed before, or zeroes if the kernel has
 * no memory; the errors are those of nb_host_stage and nb_map_host_show.
 */
int nb_host_commit(struct nb_host_change *c, struct nb_err *err);
/*
 * Show what the maps showed before the commit, if there was one. Returns 0,
 * NB_E_STALE (a later commit has changed these maps; they stay), or an error of
 * nb_map_host_attach.
 */
int nb_host_undo(struct nb_host_change *c, struct nb_err *err);
const char *nb_host_change_name(const struct nb_host_change *c);
/*
 * Free a prepared change; a committed change stays in effect. @c may be NULL.
 * The lock is not needed.
 */
void nb_host_change_free(struct nb_host_change *c);

/*
 * Attach the host maps of the new policy @p to the descriptors of their names.
 * If a descriptor does not fit, this is logged, and the map shows zeroes.
 */
void nb_host_join(const struct nb_policy *p);
/* Close all descriptors when the process ends. */
void nb_host_free(void);

#endif
