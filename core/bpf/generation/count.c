// SPDX-License-Identifier: MIT
/*
 * Counters of a generation's programs: one thread counts for each communicator;
 * the generation has the sums of communicators that left it.
 */
#include "core/bpf/generation/count.h"

const uint32_t nb_gen_times_ns[NB_GEN_TIMES - 1] = { 50, 100, 200, 500, 1000, 10000, 100000 };

static uint64_t count_load(const uint64_t *n)
{
	return __atomic_load_n(n, __ATOMIC_RELAXED);
}

void nb_gen_count_of(const struct nb_gen_count *count, uint32_t i, struct nb_gen_sum *sum)
{
	sum->runs += count_load(&count->runs);
	sum->overrides += count_load(&count->overrides[i]);
	sum->refused += count_load(&count->refused[i]);
	sum->samples += count_load(&count->samples);
	sum->time_ns += __atomic_load_n(&count->time_ns[i], __ATOMIC_RELAXED);
}

void nb_gen_sum_add(struct nb_gen_sum *to, const struct nb_gen_sum *more)
{
	to->runs += count_load(&more->runs) + count_load(&more->own_runs);
	to->overrides += count_load(&more->overrides);
	to->refused += count_load(&more->refused);
	to->samples += count_load(&more->samples);
	to->time_ns += __atomic_load_n(&more->time_ns, __ATOMIC_RELAXED);
}

void nb_gen_times_add(struct nb_gen_times *to, const struct nb_gen_times *more)
{
	for (int k = 0; k < NB_GEN_TIMES; k++)
		to->n[k] += count_load(&more->n[k]);
}

/* Most counts are 0: skip the atomic addition. */
static void sum_add(uint64_t *to, uint64_t n)
{
	if (n)
		__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void times_move(struct nb_gen_times *to, struct nb_gen_times *from)
{
	for (int k = 0; k < NB_GEN_TIMES; k++) {
		sum_add(&to->n[k], count_load(&from->n[k]));
		__atomic_store_n(&from->n[k], 0, __ATOMIC_RELAXED);
	}
}

void nb_gen_count_add(struct nb_gen *g, struct nb_gen_count *count)
{
	const bool timed = count_load(&count->samples) != 0;

	for (uint32_t i = 0; i < g->nprogs; i++) {
		struct nb_gen_sum more = { 0 }, *to = &g->prog[i].sum;

		nb_gen_count_of(count, i, &more);
		__atomic_store_n(&count->overrides[i], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&count->refused[i], 0, __ATOMIC_RELAXED);
		__atomic_store_n(&count->time_ns[i], 0, __ATOMIC_RELAXED);
		sum_add(&to->runs, more.runs);
		sum_add(&to->overrides, more.overrides);
		sum_add(&to->refused, more.refused);
		sum_add(&to->samples, more.samples);
		if (timed)
			times_move(&g->times[i], &count->times[i]);
		if (more.time_ns)
			__atomic_fetch_add(&to->time_ns, more.time_ns, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&count->runs, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&count->samples, 0, __ATOMIC_RELAXED);
}
