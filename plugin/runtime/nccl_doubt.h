// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_NCCL_DOUBT_H
#define NB_PLUGIN_RUNTIME_NCCL_DOUBT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an NCCL tells that cannot be true or is not known: its version, which its
 * interfaces may contradict, and the algorithms of its cost tables. The job goes
 * on; log and `doctor` say it. Any thread may call these functions.
 */

enum nb_nccl_interface { NB_NCCL_TUNER, NB_NCCL_PROFILER };
/*
 * Compare the version that NCCL tells with an interface that it calls, after
 * nb_nccl_find in the same thread. The log has a line if they contradict each
 * other, and one if the version is doubtful in another way.
 */
void nb_nccl_calls(enum nb_nccl_interface interface, uint32_t abi);
/*
 * Write one line about NCCL's version. Returns true if it is doubtful: newer
 * than all known ones, senseless, or older than an interface that NCCL calls.
 */
bool nb_nccl_doubt(char *text, size_t size);

/* Count a cost table of @algos algorithms, more than are known. */
void nb_nccl_odd_table(uint32_t algos);
/* Returns the most algorithms of such a table, or 0; *@n: how many there were. */
uint32_t nb_nccl_odd_tables(uint64_t *n);

#endif
