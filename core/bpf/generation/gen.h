// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_GEN_H
#define NB_GENERATION_GEN_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/generation/policy.h"
#include "core/bpf/generation/scope.h"
#include "core/bpf/map/map.h"

/* Largest number of programs of a generation. */
enum { NB_GEN_MAX_PROGS = 64 };

/* Counters of a program, summed over communicators. */
struct nb_gen_sum {
	uint64_t runs;
	/* Further runs, counted without atomic additions by one thread. */
	uint64_t own_runs;
	uint64_t overrides; /* Runs that changed the answer. */
	uint64_t refused;   /* Answers of the program that NCCL cannot run. */
	uint64_t samples;   /* Number of measured runs. */
	int64_t time_ns;    /* Total time of the measured runs. */
};

/* Numbers of measured runs by duration: up to 50, 100, 200, 500 ns, 1, 10
 * and 100 us, and longer. */
enum { NB_GEN_TIMES = 8 };
struct nb_gen_times {
	uint64_t n[NB_GEN_TIMES];
};
/*
 * A generation: the policies, maps and bound programs that a communicator
 * decides with. Immutable, including the contents of coherent maps: a change
 * makes another generation. Reference-counted. At most NB_GEN_MAX_PROGS
 * programs of NB_GEN_MAX_POLICIES policies.
 */

struct nb_gen_policy {
	/* The policy; this holds a reference to it. */
	struct nb_policy *policy;
	/* The policy->img->nmaps maps, with a reference to each; never
	 * NULL. Coherent and replicated maps belong to this generation, all
	 * others to the policy. */
	struct nb_map **maps;
	/* Digest of all changes of the coherent maps: zeroes at first, then
	 * SHA-256 of (history before, the change). */
	uint8_t history[NB_SHA256_SIZE];
};

/* A program, in the order of running. */
struct nb_gen_prog {
	struct nb_exec *exec;
	uint16_t policy; /* Index into gen->policy. */
	uint16_t prog;	 /* Index into the programs of the policy's image. */
	uint16_t hook;	 /* The hook, an enum nb_hook. */
	/*
	 * Number of the communicator record whose thread counts sum.own_runs;
	 * 0: none yet; atomic.
	 */
	uint16_t counter;
	/* Sums for communicators that moved to another generation
	 * (nb_gen_count_add); atomic. */
	struct nb_gen_sum sum;
};

struct nb_gen {
	/* SHA-256 of the policies' digests and histories in order, and of
	 * the scopes. Equal requests give equal digests in all processes.
	 * It is all zeroes if there is no policy. */
	uint8_t digest[NB_SHA256_SIZE];
	uint16_t npolicies, nviews;
	uint32_t nprogs;
	/* Programs of the hook tuner, near nprogs: a decision reads both. */
	struct nb_gen_prog prog[NB_GEN_MAX_PROGS];
	struct nb_gen_policy policy[NB_GEN_MAX_POLICIES];
	/* @hooks: bits 1 << enum nb_hook of the programs in @event.
	 * @timed: bits of the hooks whose programs read a field in ns. */
	uint32_t nevents, hooks, timed;
	/* Programs of all other hooks. */
	struct nb_gen_prog event[NB_GEN_MAX_PROGS];
	/* Bytes of all replicated maps; these bytes if a policy that has such maps
	 * runs here, else 0; and the digest of the policies that have some and
	 * of whether they run here. A communicator's contents stay valid from
	 * one generation to another with the same digest. */
	uint32_t state_room, state_size;
	uint8_t state_digest[NB_SHA256_SIZE];
	uint32_t refs; /* The reference count; atomic. */

	/* The order of the policies, and the scopes of communicators with
	 * another order. Each scope has a view: a generation with the same
	 * policies, maps, numbers and digest, but its own order. @whole owns
	 * its views; it is NULL unless this is a view. Hooks without a
	 * communicator run in the whole only. */
	struct nb_order order;
	struct nb_scopes scopes;
	struct nb_gen *view[NB_GEN_MAX_SCOPES], *whole;

	/* Why the programs could not be compiled; code 0: they are. */
	struct nb_err uncompiled;

	/* Durations of each program's measured runs, in the order of prog[]. */
	struct nb_gen_times times[NB_GEN_MAX_PROGS];
};

#endif
