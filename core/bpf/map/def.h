// SPDX-License-Identifier: MIT
#ifndef NB_MAP_DEF_H
#define NB_MAP_DEF_H

#include <stdint.h>

#include "core/base/err.h"

/* A map's definition, as in the kernel's union bpf_attr. */
struct nb_map_def {
	const char *name; /* The name is copied, at most 63 bytes of it. */
	uint32_t type;	  /* One of enum nb_map_type */
	uint32_t key_size, value_size, max_entries, flags;
};

/*
 * nb_map_def_check - check a definition against the rules of its type
 *
 * Images and maps use the same rules; the limits of images are narrower.
 * Returns 0 or NB_E_MAPDEF. Pure.
 */
enum { NB_MAP_NAME = 64 }; /* Size in bytes, including the NUL. */
int nb_map_def_check(const struct nb_map_def *def, struct nb_err *err);

#endif
