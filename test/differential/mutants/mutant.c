// SPDX-License-Identifier: MIT
// The mutant of a test program linked with the mutated verifier: NB_MUTANT=n.
#include "test/differential/mutants/mutant.h"

#include <stdlib.h>

int nb_mutant_on;

__attribute__((constructor)) static void choose(void)
{
	const char *s = getenv("NB_MUTANT");

	nb_mutant_on = s ? atoi(s) : 0;
}
