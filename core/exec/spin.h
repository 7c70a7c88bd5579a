// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_SPIN_H
#define NB_EXEC_SPIN_H

#include <stdint.h>

/* How often a lock was taken from a holder that did not give it back in
 * time, in this process. Any thread. */
uint64_t nb_spin_takeovers(void);

#endif
