// SPDX-License-Identifier: MIT
/*
 * Only the list of held policies. It has a file of its own, because held.c
 * calls other files that also read the list.
 */
#include "plugin/policies/held_list.h"

struct nb_held_list nb_held;
