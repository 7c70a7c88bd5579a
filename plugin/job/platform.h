// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_PLATFORM_H
#define NB_PLUGIN_JOB_PLATFORM_H

#include <stdint.h>

#include "core/job/segment/format.h"

/*
 * nb_platform_read - read the facts about this host (core/defs/platform.h)
 * @root: descriptor of the directory that contains sys; a file's content is not trusted
 * @fact: set to the facts; 0 where the files do not tell one, NCCLBPF_MIXED if the GPUs of the
 *        host differ in it
 *
 * It reads files only, loads no library, and never fails. No GPU's driver is called: NVIDIA's GPUs
 * are found by their PCI IDs, AMD's by the topology that their driver KFD has written. The driver
 * of an RDMA adapter queries the port when its state and rate are read.
 */
void nb_platform_read(int root, uint32_t fact[NB_NFACTS]);

/*
 * nb_platform_set - replace facts by those of NCCLBPF_PLATFORM
 * @text: NAME=NUMBER, separated by commas
 *
 * An item of another form is logged and ignored.
 */
void nb_platform_set(const char *text, uint32_t fact[NB_NFACTS]);

/* Get the facts that this process publishes: those of this host, or of NCCLBPF_PLATFORM. */
void nb_platform_facts(uint32_t fact[NB_NFACTS]);

#endif
