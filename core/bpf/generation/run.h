// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_RUN_H
#define NB_GENERATION_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/generation/count.h"
#include "core/bpf/generation/gen.h"
#include "core/spec/spec.h"
#include "core/defs/ctx.h"

/* Run program @i. Returns true if it changed the answer. */
static inline bool nb_gen_step(const struct nb_gen *g, uint32_t i, struct ncclbpf_tuner *ctx,
			       struct nb_gen_count *count)
{
	int32_t algo = ctx->algo, proto = ctx->proto;
	uint32_t channels = ctx->channels, chunk_size = ctx->chunk_size;

	nb_exec_run(g->prog[i].exec, ctx, sizeof(*ctx));
	if (ctx->algo == algo && ctx->proto == proto && ctx->channels == channels &&
	    ctx->chunk_size == chunk_size)
		return false;
	nb_gen_bump(&count->overrides[i]);
	return true;
}

/* Run the first program, which always finds an empty answer. Returns true
 * if it set an answer. */
static inline bool nb_gen_run_first(const struct nb_gen *g, struct ncclbpf_tuner *ctx,
				    struct nb_gen_count *count)
{
	nb_gen_bump(&count->runs);
	nb_exec_run(g->prog[0].exec, ctx, sizeof(*ctx));
	if (ctx->algo == NCCL_ALGO_UNDEF && ctx->proto == NCCL_PROTO_UNDEF &&
	    !(ctx->channels | ctx->chunk_size))
		return false;
	nb_gen_bump(&count->overrides[0]);
	return true;
}

/*
 * The loop of nb_gen_run_tuner. It is not inlined, because then decisions of one
 * program would save and restore the registers that the loop needs.
 */
int nb_gen_run_all(const struct nb_gen *g, struct ncclbpf_tuner *ctx, struct nb_gen_count *count);

/*
 * nb_gen_run_tuner - run the tuner programs in order; each sees the answer so
 * far
 * @ctx:   all fields filled; the outputs hold "no opinion"
 * @count: the caller's counters for this generation
 *
 * Returns the index (gen->prog) of the last program that changed the answer,
 * -1 if none did. No lock, allocation or system call. Any thread; @ctx and
 * @count are the caller's alone.
 */
static inline int nb_gen_run_tuner(const struct nb_gen *g, struct ncclbpf_tuner *ctx,
				   struct nb_gen_count *count)
{
	if (__builtin_expect(g->nprogs == 1, 1))
		return nb_gen_run_first(g, ctx, count) ? 0 : -1;
	return nb_gen_run_all(g, ctx, count);
}

/*
 * Count a run. The thread of the first record counts without a locked
 * instruction, which would take as long as a short program.
 */
static inline void nb_gen_count_event(struct nb_gen_prog *p, uint16_t holder)
{
	uint16_t counter = __atomic_load_n(&p->counter, __ATOMIC_RELAXED);

	if (!counter && holder &&
	    __atomic_compare_exchange_n(&p->counter, &counter, holder, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		counter = holder;
	if (holder && counter == holder)
		nb_gen_bump(&p->sum.own_runs);
	else
		__atomic_fetch_add(&p->sum.runs, 1, __ATOMIC_RELAXED);
}

/*
 * nb_gen_run_event - run the programs of a profiler's hook in order
 * @ctx: the hook's context, @size bytes that programs may see
 * @holder: number of a record that this thread alone holds, from 1 on; 0: none
 *
 * Any thread, concurrently; the caller keeps @g alive. Takes no lock and
 * allocates nothing.
 */
static inline void nb_gen_run_event(struct nb_gen *g, enum nb_hook hook, void *ctx, uint64_t size,
				    uint16_t holder)
{
	for (uint32_t i = 0; i < g->nevents; i++) {
		if (g->event[i].hook != hook)
			continue;
		nb_exec_run(g->event[i].exec, ctx, size);
		nb_gen_count_event(&g->event[i], holder);
	}
}

/*
 * nb_gen_run_timed - like nb_gen_run_tuner, but measure every NB_GEN_SAMPLE-th
 * run
 *
 * A measured run adds each program's time, minus the time that the clock
 * itself takes.
 */
enum { NB_GEN_SAMPLE = 64 };
int nb_gen_run_timed(const struct nb_gen *g, struct ncclbpf_tuner *ctx, struct nb_gen_count *count);

#endif
