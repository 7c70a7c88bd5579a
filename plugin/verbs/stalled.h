// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_VERBS_STALLED_H
#define NB_PLUGIN_VERBS_STALLED_H

#include <stddef.h>

/*
 * Queue pairs whose sends have waited too long for a completion. NCCL's
 * InfiniBand transport has no time-out of its own: if the adapter loses a
 * completion, the job waits for ever.
 */

/*
 * Look for queue pairs that wait too long, at most once a second, and log each
 * one once. The control thread calls it.
 */
void nb_verbs_watch(void);

/*
 * Write the first queue pairs that wait too long as "queue pair 3 of mlx5_0, to
 * queue pair 9: 1 sends and no completion for 12 s; ...". @text is empty if
 * there are none. Any thread may call it.
 */
void nb_verbs_stalled_text(char *text, size_t size);

#endif
