// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_VERBS_VERBS_H
#define NB_PLUGIN_VERBS_VERBS_H

#include <stdbool.h>

#include "plugin/tap/api.h"

/*
 * The tap around NCCL's own InfiniBand transport. With NCCLBPF_VERBS=on it is
 * opened when libncclbpf.so is loaded. Otherwise it is found if somebody else
 * has opened it (LD_LIBRARY_PATH, NCCL_IBVERBS_LIB). It then gets the programs
 * of verbs/... to run.
 */

/*
 * Give a loaded tap our programs, which it runs until the process ends. Further
 * calls are cheap. Only NCCL's threads may call it: it takes the loader's lock,
 * and the holder of that lock may wait for the control thread.
 */
void nb_verbs_attach(void);

/* Make the lock anew in a forked child. */
void nb_verbs_forked(void);

/*
 * Returns the tap's functions, or NULL if no tap is loaded. Any thread may call
 * these functions.
 */
const struct nb_tap_api *nb_verbs_tap(void);
/*
 * Returns why there is no tap despite NCCLBPF_VERBS=on, or NULL if no reason is
 * known.
 */
const char *nb_verbs_trouble(void);
/*
 * Returns true if this process has opened libibverbs without the tap. Any
 * thread may call it.
 */
bool nb_verbs_bypassed(void);

#endif
