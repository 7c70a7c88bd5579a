// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_NCCL_H
#define NB_PLUGIN_RUNTIME_NCCL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The library that calls this plugin, NCCL or RCCL: its version, and rules that
 * depend on it. RCCL's version is that of the NCCL that it is made of.
 */

/*
 * Find NCCL's version. @inside: an address in NCCL's code, such as its logger,
 * or NULL. Only NCCL's threads may call it, because it calls the loader.
 */
void nb_nccl_find(const void *inside);

/*
 * Returns NCCL's version, such as 22907 for 2.29.7, or 0 if it is unknown. If
 * several call this plugin, it is the oldest one's.
 */
int nb_nccl_version(void);

/*
 * Returns true if the library is RCCL, NCCL for AMD's GPUs. Before a library
 * has called this plugin, it is about the one that is loaded. Any thread.
 */
bool nb_nccl_is_rccl(void);

/* Returns true if the library that called nb_nccl_find last in this thread is RCCL. */
bool nb_nccl_caller_is_rccl(void);

/*
 * Write the library's name and version, such as "RCCL 2.27.7". If the version
 * is unknown, it is "RCCL", or "" for NCCL. Any thread.
 */
enum { NB_NCCL_TEXT = 32 };
void nb_nccl_text(char text[NB_NCCL_TEXT]);

/* Returns the most channels that a communicator of the library can have. Any thread. */
uint32_t nb_nccl_channels(void);

/* The numbers of two levels of a library's logger. */
struct nb_nccl_levels {
	int warn, info;
};

/*
 * Returns the numbers of the levels of @logger. RCCL of ROCm 7.2 and later has
 * one level more than NCCL, below both. RCCL 2.27.7 is also that of ROCm 7.1,
 * which counts as 7.2 if its file's name has no version, such as
 * librccl.so.1.0.70101. Only NCCL's threads may call it, because it calls the
 * loader.
 */
struct nb_nccl_levels nb_nccl_levels(const void *logger);

/*
 * nb_nccl_asks_some - may NCCL ask the tuners of some ranks only?
 * @tuner, @profiler: versions of the interfaces that NCCL calls; 0: none
 *
 * NCCL 2.29 and later may: for symmetric windows, for example. This is about
 * the NCCL that called nb_nccl_find last in this thread. An interface of 2.29 or
 * later counts more than the version that the library tells. If NCCL's version
 * is unknown, the interfaces tell it, and in doubt the result is true.
 */
bool nb_nccl_asks_some(uint32_t tuner, uint32_t profiler);

/*
 * Returns true if NCCL chooses the last of equal costs, as 2.31 and later do.
 * Older versions choose the first. If several call this plugin, it is the rule
 * of the first one. Any thread.
 */
bool nb_nccl_last_of_equal(void);

/* Returns the newest version of those that call this plugin, or are loaded, or 0. Any thread. */
int nb_nccl_newest(void);
/* Returns a number that a library told, but no release has, or 0. Any thread. */
int nb_nccl_senseless(void);
/*
 * Returns the version of the NCCL that called nb_nccl_find last in this thread,
 * or if it has told none, nb_nccl_version.
 */
int nb_nccl_told(void);
/*
 * Note that the NCCL that tells version @told, or 0, calls an interface that
 * came with version @least, so that its rule of equal costs is that of @least.
 */
void nb_nccl_at_least(int told, int least);

#endif
