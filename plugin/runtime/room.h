// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_ROOM_H
#define NB_PLUGIN_RUNTIME_ROOM_H

#include <stdint.h>

/*
 * How much of a resource the limits of this process leave: its control groups
 * (versions 1 and 2, with all their parents), the user's limits, the machine.
 */

/*
 * Threads that must be left where the plugin starts one, or lets NCCL start
 * one: for each of eight ranks of the host, 32 that NCCL starts later.
 */
enum { NB_ROOM_THREADS_KEPT = 256 };

struct nb_room {
	uint64_t left;	 /* UINT64_MAX: no limit was found */
	uint64_t all;	 /* the limit itself */
	char limit[160]; /* name of the limit that leaves the least */
};

/*
 * The functions read files below @root, which is "" except in tests. A file
 * that cannot be read is no limit. They make system calls and take up to some
 * milliseconds. Any thread may call them.
 */

/*
 * Bytes of memory. Pages of files that the kernel may drop at once count as
 * left; pages of tmpfs files do not.
 */
void nb_room_memory(const char *root, struct nb_room *r);
/* Threads that may still be started. */
void nb_room_threads(const char *root, struct nb_room *r);
/* Descriptors that may still be opened. */
void nb_room_descriptors(const char *root, struct nb_room *r);

#endif
