// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_REPLAY_H
#define NB_TEST_HOST_REPLAY_H

#include <stddef.h>

struct replay;

/*
 * A table of bus bandwidths (the CSV of test/fakes/vgpu: collective, algorithm,
 * protocol, channels, bytes, busbw_gbs; * for any). NULL with a message on
 * stderr when it cannot be read.
 */
struct replay *replay_open(const char *path);
void replay_close(struct replay *r);

/*
 * Microseconds of @coll ("allreduce") over @ranks with NCCL's numbers of
 * algorithm and protocol: log-log between the table's sizes, the first
 * size's time below it, the last one's bandwidth above it. -1: no row.
 */
double replay_us(const struct replay *r, const char *coll, int algo, int proto, int channels,
		 size_t bytes, int ranks);

/* Bus bandwidth as nccl-tests counts it, GB/s. */
double replay_busbw(const char *coll, size_t bytes, int ranks, double us);

#endif
