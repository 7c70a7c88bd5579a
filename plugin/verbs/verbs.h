// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_VERBS_VERBS_H
#define NB_PLUGIN_VERBS_VERBS_H

#include <stdbool.h>

#include "plugin/tap/tap.h"

/*
 * The tap around NCCL's own InfiniBand transport, as this library sees it:
 * opened as libncclbpf.so is loaded where NCCLBPF_VERBS=on, found where
 * somebody else has opened it (LD_LIBRARY_PATH, NCCL_IBVERBS_LIB), and given
 * the programs of verbs/... to run.
 */

/* Give the tap, where one is loaded, our programs. Cheap once it is done. In
 * NCCL's threads only: it asks the loader, whose lock dlclose holds while our
 * destructor waits for the control thread. */
void nb_verbs_attach(void);
/* At the end of the process or of this library: no programs any more. */
void nb_verbs_end(void);

/* NULL: no tap is loaded. Its functions may be called by any thread. */
const struct nb_tap_api *nb_verbs_tap(void);
/* Why there is no tap where NCCLBPF_VERBS=on; NULL: no reason is known. */
const char *nb_verbs_trouble(void);
/* Has this process libibverbs open without the tap? Any thread. */
bool nb_verbs_bypassed(void);

#endif
