// SPDX-License-Identifier: MIT
#ifndef NB_TEST_BENCH_EVENT_PEER_H
#define NB_TEST_BENCH_EVENT_PEER_H

/*
 * event_peers - other profilers beside ours
 * @list: BENCH_PEER: libraries, colon-separated; NULL: there is none
 *
 * One that has ncclProfiler_v1 to _v6 is told a collective as NCCL tells it,
 * in turns with ours through the same version of the interface; its row and
 * ours are added to the table. Libraries without a profiler are passed over.
 * Exits with a word where one cannot be opened.
 */
void event_peers(const char *list);

#endif
