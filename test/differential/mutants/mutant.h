// SPDX-License-Identifier: MIT
#ifndef NB_TEST_MUTANT_H
#define NB_TEST_MUTANT_H

#include <stdbool.h>

/* Which check is switched off; 0: none. */
extern int nb_mutant_on;

#define NB_MUTANT(n) (nb_mutant_on == (n))

#endif
