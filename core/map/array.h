// SPDX-License-Identifier: MIT
#ifndef NB_MAP_ARRAY_H
#define NB_MAP_ARRAY_H

#include "core/map/ops.h"

/* Operations that array types share; see ops.h. */
int nb_array_refuse(const struct nb_map *m, uint32_t index, uint64_t flags);
int nb_array_remove(struct nb_map *m, const void *key);
int nb_array_next(const struct nb_map *m, const void *key, void *next);
bool nb_array_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu);
uint32_t nb_array_count(const struct nb_map *m);

#endif
