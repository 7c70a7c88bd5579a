// SPDX-License-Identifier: MIT
#ifndef NB_TEST_MAP_KERNEL_H
#define NB_TEST_MAP_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test/differential/map/sequence.h"

/*
 * The running kernel's maps, by bpf(2), and the parts of map_kernel.c that
 * have files of their own. Everything returns 0 or a negative errno, or what
 * is said below.
 */
int kernel_bpf(enum bpf_cmd cmd, union bpf_attr *attr);
/* A descriptor. */
int kernel_map(const struct nb_map_def *def);
/* What BPF_OBJ_GET_INFO_BY_FD says of a map; 0: nothing. */
uint32_t kernel_map_id(int fd);
/* The side of the map behind @fd, which @s keeps the address of. */
void side_kernel(struct side *s, int *fd);

/* One line of TAP, @why below it where it is bad; the plan and the status. */
void ok(bool good, const char *name, const char *why);
int ok_end(void);

/* Batches of random elements to and from maps that hold the same; 0, or -1
 * and @why. */
int batch_run(const struct shape *shape, uint64_t seed, struct nb_map *m, int fd, char *why,
	      size_t size);
#endif
