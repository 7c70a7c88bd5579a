// SPDX-License-Identifier: MIT
/* The list alone: rooms below held.c read it, which held.c uses. */
#include "plugin/policies/held_list.h"

struct nb_held_list nb_held;
