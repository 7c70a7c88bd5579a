// SPDX-License-Identifier: MIT
/*
 * The functions for core/defs/helpers.h, one for each row. The verifier has
 * checked the arguments: map handles are struct nb_map pointers, and keys
 * and values point to as many readable bytes as the map says. These
 * functions run on the decision path of any thread: they take no lock,
 * allocate nothing, and make no system call that the vDSO can answer.
 * Semantics: bpf-helpers(7).
 */
#include "core/bpf/exec/run/helpers.h"

#include <errno.h>

#include "core/base/clock.h"
#include "core/bpf/exec/run/bodies.h"
#include "core/bpf/exec/run/code.h"
#include "core/bpf/exec/run/trace.h"
#include "core/bpf/map/map.h"
#include "core/bpf/map/ops.h"

/* Look-up for all map types except per-CPU arrays. It is not inlined, so
 * that look-ups in per-CPU arrays, mostly counters, set up no stack frame. */
static __attribute__((noinline)) uint64_t lookup_other(struct nb_run *run, struct nb_map *m,
						       const void *key)
{
	if (m->replicated)
		return (uintptr_t)nb_map_state(m, nb_array_index(key), run->state);
	return (uintptr_t)m->lookup(m, key, nb_run_cpu_for(run, m));
}

uint64_t helper_map_lookup_elem(NB_HELPER_ARGS)
{
	struct nb_map *m = nb_body_ptr(r1);

	if (m->ops == &nb_map_percpu_array_ops && run->cpu < nb_cpu_limit())
		return (uintptr_t)nb_percpu_array_lookup(m, nb_body_ptr(r2), run->cpu);
	return lookup_other(run, m, nb_body_ptr(r2));
}

static __attribute__((noinline)) uint64_t update_other(struct nb_run *run, struct nb_map *m,
						       const void *key, const void *value,
						       uint64_t flags)
{
	return nb_body_errno(nb_map_update(m, key, value, flags, nb_run_cpu_for(run, m)));
}

uint64_t helper_map_update_elem(NB_HELPER_ARGS)
{
	struct nb_map *m = nb_body_ptr(r1);
	uint32_t cpu = run->cpu, index;

	if (m->ops == &nb_map_percpu_array_ops && m->def.value_size == 8 && r4 == NB_ANY &&
	    cpu < nb_cpu_limit()) {
		index = nb_array_index(
			/* The element may change, so it is loaded once. */
			nb_body_ptr(r2));
		if (index < m->max_entries) {
			nb_slot_store(nb_array_element(m, index, cpu), nb_body_ptr(r3), 8);
			return 0;
		}
	}
	return update_other(run, m, nb_body_ptr(r2), nb_body_ptr(r3), r4);
}

uint64_t helper_map_delete_elem(NB_HELPER_ARGS)
{
	struct nb_map *m = nb_body_ptr(r1);

	return nb_body_errno(nb_map_delete(m, nb_body_ptr(r2)));
}

uint64_t helper_map_lookup_percpu_elem(NB_HELPER_ARGS)
{
	struct nb_map *m = nb_body_ptr(r1);

	/* The flags are a u32, as in the kernel. */
	if ((uint32_t)r3 >= nb_ncpus())
		return 0;
	return (uintptr_t)m->lookup(m, nb_body_ptr(r2), (uint32_t)r3);
}

/* What bpf_ktime_get_ns returns; 0: the time. */
static uint64_t stopped_ns;

void nb_helper_stop_clock(uint64_t ns)
{
	stopped_ns = ns;
}

uint64_t helper_ktime_get_ns(NB_HELPER_ARGS)
{
	return stopped_ns ? stopped_ns : nb_now_ns();
}

uint64_t helper_trace_printk(NB_HELPER_ARGS)
{
	const uint64_t arg[3] = { r3, r4, r5 };
	char text[NB_TRACE_TEXT];
	int n;

	if (!run->trace)
		return nb_body_errno(-EINVAL);
	n = nb_trace_format(text, sizeof(text), nb_body_ptr(r1), r2, arg, 3);
	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	if (n >= 0)
		nb_trace_put(run->trace, text, (size_t)n);
	return nb_body_errno(n);
}

/*
 * State of the random numbers. Each stream is a counter that is stepped by
 * an odd constant and then mixed: every call gets another state, with one
 * wait-free addition. It is not thread-local storage: an object opened at
 * run time would allocate that on a thread's first use, or use up some of
 * the little that the loader reserves. @run lies on the caller's stack, so
 * its address spreads threads over cache lines.
 */
static struct {
	_Alignas(NB_CACHE_LINE) uint64_t state;
} streams[16];

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t helper_get_prandom_u32(NB_HELPER_ARGS)
{
	const uint64_t step = 0x9e3779b97f4a7c15;
	uint64_t *state = &streams[(uintptr_t)run * step >> 60].state;
	uint64_t x = __atomic_fetch_add(state, step, __ATOMIC_RELAXED);

	/* This is the first use of the stream: start at another number. */
	if (x == 0)
		x = __atomic_add_fetch(state, mix(nb_now_ns() ^ (uintptr_t)run), __ATOMIC_RELAXED);
	return mix(x) >> 32;
}

uint64_t helper_get_smp_processor_id(NB_HELPER_ARGS)
{
	return nb_run_cpu(run);
}

/*
 * The state of a number iterator, in a program's stack. @cur: the current
 * number, to which next returns a pointer. @left: count of numbers still to
 * come. @sure: the iterator returns these numbers even if the run has no
 * iterations left. All members are 0 after the end.
 */
struct num_iter {
	int32_t cur;
	uint32_t left : 31, sure : 1;
};

_Static_assert(sizeof(struct num_iter) == 8, "as policies declare it");

uint64_t helper_iter_num_new(NB_HELPER_ARGS)
{
	struct num_iter *it = nb_body_ptr(r1);
	int32_t start = (int32_t)r2, end = (int32_t)r3;

	*it = (struct num_iter){ 0 };
	if (start > end)
		return nb_body_errno(-EINVAL);
	if ((int64_t)end - start > NB_LOOP_MAX)
		return nb_body_errno(-E2BIG);
	/* The first call of next adds one before it returns the number, so
	 * begin one below @start; the subtraction may wrap. */
	it->cur = (int32_t)((uint32_t)start - 1);
	it->left = ((uint32_t)end - (uint32_t)start) & INT32_MAX;
	if (it->left <= NB_MAX_COUNTED_RANGE && it->left <= run->iter_steps) {
		run->iter_steps -= it->left;
		it->sure = true;
	}
	return 0;
}

uint64_t helper_iter_num_next(NB_HELPER_ARGS)
{
	struct num_iter *it = nb_body_ptr(r1);

	if (!it->left || (!it->sure && !run->iterations)) {
		*it = (struct num_iter){ 0 };
		return 0;
	}
	if (!it->sure)
		run->iterations--;
	it->left--;
	it->cur = (int32_t)((uint32_t)it->cur + 1);
	return (uintptr_t)&it->cur;
}

uint64_t helper_iter_num_destroy(NB_HELPER_ARGS)
{
	struct num_iter *it = nb_body_ptr(r1);

	*it = (struct num_iter){ 0 };
	return 0;
}

__extension__ typedef unsigned __int128 wide;

uint64_t helper_mul_div(NB_HELPER_ARGS)
{
	wide q = (wide)r1 * r2;

	if (!r3)
		return UINT64_MAX;
	q /= r3;
	return q > UINT64_MAX ? UINT64_MAX : (uint64_t)q;
}

/* The engines execute these helpers themselves. */
#define helper_for_each_map_elem NULL
#define helper_loop NULL

nb_helper_fn *nb_helper_body(int32_t id)
{
	/* Find the CPU now: the first call reads a file. Programs are bound
	 * off the decision path, but their first run is on it. */
	nb_cpu_find();
	switch (id) {
#define HELPER(number, name, ...) \
	case number:              \
		return helper_##name;
#include "core/defs/helpers.h"
	}
	return NULL;
}
