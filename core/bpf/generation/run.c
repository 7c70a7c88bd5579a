// SPDX-License-Identifier: MIT
/* Run the programs of a generation, and measure some of the runs. */
#include "core/bpf/generation/run.h"

#include "core/base/clock.h"

/* Add to a counter with one writer and many readers. */
static void add_ns(int64_t *to, int64_t ns)
{
	__atomic_store_n(to, __atomic_load_n(to, __ATOMIC_RELAXED) + ns, __ATOMIC_RELAXED);
}

static void count_time(struct nb_gen_count *count, uint32_t i, int64_t ns)
{
	uint32_t k = 0;

	while (k + 1 < NB_GEN_TIMES && ns > (int64_t)nb_gen_times_ns[k])
		k++;
	nb_gen_bump(&count->times[i].n[k]);
	add_ns(&count->time_ns[i], ns);
}

int nb_gen_run_all(const struct nb_gen *g, struct ncclbpf_tuner *ctx, struct nb_gen_count *count)
{
	int by = -1;

	nb_gen_bump(&count->runs);
	for (uint32_t i = 0; i < g->nprogs; i++)
		if (nb_gen_step(g, i, ctx, count))
			by = (int)i;
	return by;
}

int nb_gen_run_timed(const struct nb_gen *g, struct ncclbpf_tuner *ctx, struct nb_gen_count *count)
{
	int by = -1;

	if (count->runs % NB_GEN_SAMPLE)
		return nb_gen_run_tuner(g, ctx, count);
	nb_gen_bump(&count->runs);
	nb_gen_bump(&count->samples);
	for (uint32_t i = 0; i < g->nprogs; i++) {
		int64_t before = (int64_t)nb_now_ns();
		int64_t begin = (int64_t)nb_now_ns();

		if (nb_gen_step(g, i, ctx, count))
			by = (int)i;
		count_time(count, i, (int64_t)nb_now_ns() - begin - (begin - before));
	}
	return by;
}
