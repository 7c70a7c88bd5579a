// SPDX-License-Identifier: MIT
#ifndef NB_MAP_HASH_PERCPU_H
#define NB_MAP_HASH_PERCPU_H

#include "core/map/hash.h"

/* Operations of per-CPU hashes; @cpu NB_ALL_CPUS: a value for each. */
enum { NB_ALL_CPUS = UINT32_MAX };
int nb_hash_percpu_write(struct nb_map *m, const void *key, const void *value,
			 uint64_t flags, uint32_t cpu);
int nb_hash_percpu_read(const struct nb_map *m, const void *key, void *value);

#endif
