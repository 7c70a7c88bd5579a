// SPDX-License-Identifier: MIT
#ifndef NB_TEST_MAP_SPEC_H
#define NB_TEST_MAP_SPEC_H

#include "core/bpf/image/image.h"

/* A row of a table of maps: name, NB_MAP_ of the type, sizes, most entries, NB_MAPF_ tags. */
#define MAP_SPEC(text, kind, key, value, entries, labels)                                  \
	{                                                                                  \
		.name = text, .type = NB_MAP_##kind, .key_size = key, .value_size = value, \
		.max_entries = entries, .tags = labels                                     \
	}

#endif
