// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_VERBS_UNSEEN_H
#define NB_PLUGIN_VERBS_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/tap/api.h"

/*
 * What the tap cannot observe of this process's verbs calls, as far as this can
 * be known, and whether NCCL's release crashes on an adapter of another vendor.
 * Any thread may call these functions, unless one says otherwise.
 */

/*
 * Returns how many adapter contexts are open in this process that were not
 * opened through the tap: they were opened before it was loaded, or by a
 * library linked to libibverbs.so.1. @s: the tap's sums. It reads
 * /proc/self/fd.
 */
uint64_t nb_verbs_other_contexts(const struct nb_tap_sums *s);

/*
 * Returns true if GPUs may post through queue pairs that NCCL's GIN creates
 * without libibverbs. @sysfs: "/sys"
 */
bool nb_verbs_gpu_posts(const char *sysfs, const struct nb_tap_api *tap);

/* Returns true if the driver of adapter @name is mlx5. @sysfs: "/sys" */
bool nb_verbs_mlx5(const char *sysfs, const char *name);

/*
 * Find NCCL's version and its variable NCCL_GIN_TYPE. Only NCCL's threads may
 * call it, because it calls the loader and reads the environment.
 */
void nb_verbs_nccl_find(void);

#endif
