// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_VERBS_UNSEEN_H
#define NB_PLUGIN_VERBS_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What of this process's verbs the tap does not see, as far as it can be known,
 * and the release of NCCL that ends at an adapter of another vendor. Any
 * thread, unless a function says otherwise.
 */

/* Contexts of adapters that are open here, but were not opened through the tap:
 * opened before it, or by a library linked to libibverbs.so.1. 0 without a
 * tap. Reads /proc/self/fd. */
uint64_t nb_verbs_other_contexts(void);

/* May GPUs post through queue pairs that NCCL's GIN makes past libibverbs? */
bool nb_verbs_gpu_posts(void);

/* Is the driver of adapter @name below @sysfs ("/sys") mlx5? */
bool nb_verbs_mlx5(const char *sysfs, const char *name);

/* Find NCCL's version. NCCL's threads only: it asks the loader. */
void nb_verbs_version_find(void);
/* NCCL's number for it, 22809 for 2.28.9; 0: not known. */
int nb_verbs_version(void);

enum nb_gin_crash {
	NB_GIN_CRASH_NONE,     /* another release, or mlx5 alone */
	NB_GIN_CRASH_EXPECTED, /* this NCCL ends while it sets GIN up */
	NB_GIN_CRASH_AVOIDED   /* NCCL_GIN_TYPE keeps it from that */
};
/* @name: an opened adapter. */
enum nb_gin_crash nb_verbs_gin_crash(const char *name);

/* For the tap: an adapter was opened. It warns where NCCL is about to crash. */
void nb_verbs_opened(const char *name);

#endif
