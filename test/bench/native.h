// SPDX-License-Identifier: MIT
// Put before a policy's C so that the host's compiler makes a plain function
// of it: what a policy costs natively, on the same maps. A map variable's
// first word, which the BPF loader never reads, is set to the struct nb_map at
// run time; helpers become calls of the map's own operations.
#ifndef NB_TEST_BENCH_NATIVE_H
#define NB_TEST_BENCH_NATIVE_H

#include "policies/ncclbpf_policy.h"

#include "core/bpf/exec/run/bodies.h"
#include "core/bpf/map/ops.h"

#undef SEC
#define SEC(name)
#undef __coherent
#define __coherent
#undef __shared
#define __shared
#undef __merged
#define __merged(rule)

static inline struct nb_map *native_map(const void *variable)
{
	return *(struct nb_map *const *)variable;
}

/* As the helpers do it, for types that have a value for each CPU. */
static inline uint32_t native_cpu(const struct nb_map *m)
{
	uint32_t cpu = m->percpu ? nb_cpu_seen() : 0;

	return __builtin_expect(cpu < nb_cpu_limit(), 1) ? cpu : nb_cpu_ask();
}

static inline void *native_lookup(const void *map, const void *key)
{
	struct nb_map *m = native_map(map);

	return m->lookup(m, key, native_cpu(m));
}

static inline long native_update(const void *map, const void *key, const void *value,
				 uint64_t flags)
{
	struct nb_map *m = native_map(map);

	return m->ops->update(m, key, value, flags, native_cpu(m));
}

#define bpf_map_lookup_elem native_lookup
#define bpf_map_update_elem native_update

/* Helpers that are one body for all engines: called directly. */
static inline uint64_t native_cost(struct ncclbpf_tuner *ctx, int algo, int proto)
{
	return helper_nccl_cost(NULL, (uintptr_t)ctx, (uint64_t)algo, (uint64_t)proto, 0, 0);
}

static inline int native_cheapest_proto(struct ncclbpf_tuner *ctx, int algo)
{
	return (int)helper_nccl_cheapest_proto(NULL, (uintptr_t)ctx, (uint64_t)algo, 0, 0, 0);
}

static inline uint64_t native_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	return helper_mul_div(NULL, a, b, c, 0, 0);
}

#define bpf_mul_div native_mul_div
#define ncclbpf_cost native_cost
#define ncclbpf_cheapest_proto native_cheapest_proto

#endif
