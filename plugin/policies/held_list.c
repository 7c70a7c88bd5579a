// SPDX-License-Identifier: MIT
/*
 * Only the list of held policies: rooms below held.c read the list, and held.c
 * uses those rooms.
 */
#include "plugin/policies/held_list.h"

struct nb_held_list nb_held;
