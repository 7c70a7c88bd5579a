// SPDX-License-Identifier: MIT
#ifndef NB_MAP_ARRAY_H
#define NB_MAP_ARRAY_H

#include "core/map/map.h"
#include "core/map/ops.h"

/* Operations of types whose keys are indices; see ops.h. */
int nb_array_next(struct nb_map *m, const void *key, void *next);
void nb_array_copy(struct nb_map *to, struct nb_map *from);

#endif
