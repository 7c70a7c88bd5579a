// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROLLER_COUNTS_H
#define NB_PLUGIN_CONTROLLER_COUNTS_H

#include <stdint.h>

struct nb_gen;
struct nb_seg;
struct ncclbpf_controller;

/* Set ctx->comms and ctx->ranks: the communicators and ranks of the segment. */
void nb_run_count_ranks(const struct nb_seg *mem, struct ncclbpf_controller *ctx);
/*
 * Add the runs of the controllers in @own, the generation that ran, to the
 * counts of @g, the one in use (`policy show`).
 */
void nb_run_count_policies(struct nb_gen *g, const struct nb_gen *own);

/*
 * nb_controllers_rest_ns - returns the least time between two changes by
 * controllers
 * @next_gen: the number that the job's next generation gets
 *
 * It is 0 while half of the numbers are left: 11 hours with a change every 20
 * ms. Then it grows, so that each 8 weeks use two thirds of the remaining
 * numbers. Controllers alone need at least 11 months to use all numbers.
 */
uint64_t nb_controllers_rest_ns(uint64_t next_gen);

#endif
