// SPDX-License-Identifier: MIT
// The bodies of core/tbl/helpers.h, one function a row. The verifier has
// checked the arguments: map handles are struct nb_map pointers, keys and
// values point to as many readable bytes as the map says. Bodies run on the
// decision path of any thread: no lock, no allocation, and no system call
// where the vDSO answers. Semantics: bpf-helpers(7).
#include "core/exec/exec.h"

#include <errno.h>
#include <time.h>

#include "core/exec/bodies.h"
#include "core/exec/code.h"
#include "core/exec/trace.h"
#include "core/map/ops.h"

/* Registers hold pointers as numbers. */
static inline struct nb_map *map_of(uint64_t r)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return (struct nb_map *)(uintptr_t)r;
}

static inline void *ptr_of(uint64_t r)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return (void *)(uintptr_t)r;
}

/* The thread's area did not tell at the start of the run. */
static __attribute__((noinline)) uint32_t ask_cpu(struct nb_run *run)
{
	run->cpu = nb_cpu_ask();
	return run->cpu;
}

/* One a run: a policy must see one CPU, though its thread may be moved. */
static inline uint32_t cpu_of(struct nb_run *run)
{
	return __builtin_expect(run->cpu < nb_cpu_limit(), 1) ? run->cpu
							      : ask_cpu(run);
}

static inline uint32_t cpu_for(struct nb_run *run, const struct nb_map *m)
{
	return m->percpu ? cpu_of(run) : 0;
}

static uint64_t errno_value(int rc)
{
	return (uint64_t)(int64_t)rc;
}

/* Counters, mostly: without a frame of its own, and so without the other types'
 * part. */
static __attribute__((noinline)) uint64_t
lookup_other(struct nb_run *run, struct nb_map *m, const void *key)
{
	return (uintptr_t)m->lookup(m, key, cpu_for(run, m));
}

static uint64_t map_lookup_elem(struct nb_run *run, uint64_t r1, uint64_t r2,
				uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct nb_map *m = map_of(r1);

	(void)r3, (void)r4, (void)r5;
	if (m->ops == &nb_map_percpu_array_ops && run->cpu < nb_cpu_limit())
		return (uintptr_t)nb_percpu_array_lookup(m, ptr_of(r2),
							 run->cpu);
	return lookup_other(run, m, ptr_of(r2));
}

static __attribute__((noinline)) uint64_t
update_other(struct nb_run *run, struct nb_map *m, const void *key,
	     const void *value, uint64_t flags)
{
	return errno_value(
		m->ops->update(m, key, value, flags, cpu_for(run, m)));
}

static uint64_t map_update_elem(struct nb_run *run, uint64_t r1, uint64_t r2,
				uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct nb_map *m = map_of(r1);
	uint32_t cpu = run->cpu, index;

	(void)r5;
	if (m->ops == &nb_map_percpu_array_ops && m->def.value_size == 8 &&
	    r4 == NB_ANY && cpu < nb_cpu_limit()) {
		index = nb_array_index(ptr_of(r2)); /* may change: one load */
		if (index < m->max_entries) {
			nb_slot_store(nb_array_element(m, index, cpu),
				      ptr_of(r3), 8);
			return 0;
		}
	}
	return update_other(run, m, ptr_of(r2), ptr_of(r3), r4);
}

static uint64_t map_delete_elem(struct nb_run *run, uint64_t r1, uint64_t r2,
				uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct nb_map *m = map_of(r1);

	(void)run, (void)r3, (void)r4, (void)r5;
	return errno_value(m->ops->remove(m, ptr_of(r2)));
}

static uint64_t map_lookup_percpu_elem(struct nb_run *run, uint64_t r1,
				       uint64_t r2, uint64_t r3, uint64_t r4,
				       uint64_t r5)
{
	struct nb_map *m = map_of(r1);

	(void)run, (void)r4, (void)r5;
	if ((uint32_t)r3 >= nb_ncpus()) /* a u32, as in the kernel */
		return 0;
	return (uintptr_t)m->lookup(m, ptr_of(r2), (uint32_t)r3);
}

static uint64_t map_push_elem(struct nb_run *run, uint64_t r1, uint64_t r2,
			      uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct nb_map *m = map_of(r1);

	(void)run, (void)r4, (void)r5;
	return errno_value(m->ops->push(m, ptr_of(r2), r3));
}

static uint64_t map_pop_elem(struct nb_run *run, uint64_t r1, uint64_t r2,
			     uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct nb_map *m = map_of(r1);

	(void)run, (void)r3, (void)r4, (void)r5;
	return errno_value(m->ops->pop(m, ptr_of(r2)));
}

static uint64_t map_peek_elem(struct nb_run *run, uint64_t r1, uint64_t r2,
			      uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct nb_map *m = map_of(r1);

	(void)run, (void)r3, (void)r4, (void)r5;
	return errno_value(m->ops->peek(m, ptr_of(r2)));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t ktime_get_ns(struct nb_run *run, uint64_t r1, uint64_t r2,
			     uint64_t r3, uint64_t r4, uint64_t r5)
{
	(void)run, (void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return now_ns();
}

static uint64_t trace_printk(struct nb_run *run, uint64_t r1, uint64_t r2,
			     uint64_t r3, uint64_t r4, uint64_t r5)
{
	const uint64_t arg[3] = { r3, r4, r5 };
	char text[NB_TRACE_TEXT];
	int n;

	if (!run->trace)
		return errno_value(-EINVAL);
	n = nb_trace_format(text, sizeof(text), ptr_of(r1), r2, arg);
	if (n >= 0)
		nb_trace_put(run->trace, text, (size_t)n);
	return errno_value(n);
}

/*
 * Counters stepped by an odd constant and mixed: every call gets another
 * state, with one wait-free addition. Not thread-local storage: an object
 * that is opened at run time would allocate it on a thread's first use, or
 * claim some of the little that the loader keeps. @run lies on the caller's
 * stack, so its address spreads threads over cache lines.
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

static uint64_t get_prandom_u32(struct nb_run *run, uint64_t r1, uint64_t r2,
				uint64_t r3, uint64_t r4, uint64_t r5)
{
	const uint64_t step = 0x9e3779b97f4a7c15;
	uint64_t *state = &streams[(uintptr_t)run * step >> 60].state;
	uint64_t x = __atomic_fetch_add(state, step, __ATOMIC_RELAXED);

	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	if (x == 0) /* first use of this stream: start somewhere else */
		x = __atomic_add_fetch(state, mix(now_ns() ^ (uintptr_t)run),
				       __ATOMIC_RELAXED);
	return mix(x) >> 32;
}

static uint64_t get_smp_processor_id(struct nb_run *run, uint64_t r1,
				     uint64_t r2, uint64_t r3, uint64_t r4,
				     uint64_t r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return cpu_of(run);
}

/*
 * The state of an iterator over numbers, in a program's stack. What next
 * answers points to cur. How many are left, and whether they are given
 * although the run has no turns left; 0 is the empty one, and the last of each.
 */
struct numbers {
	int32_t cur;
	uint32_t left : 31, sure : 1;
};

_Static_assert(sizeof(struct numbers) == 8, "as policies declare it");

enum { MAX_NUMBERS = 1 << 23 };

static uint64_t iter_num_new(struct nb_run *run, uint64_t r1, uint64_t r2,
			     uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct numbers *it = ptr_of(r1);
	int32_t start = (int32_t)r2, end = (int32_t)r3;

	(void)r4, (void)r5;
	*it = (struct numbers){ 0 };
	if (start > end)
		return errno_value(-EINVAL);
	if ((int64_t)end - start > MAX_NUMBERS)
		return errno_value(-E2BIG);
	/* one before the first, which may wrap; next adds one first */
	it->cur = (int32_t)((uint32_t)start - 1);
	it->left = ((uint32_t)end - (uint32_t)start) & INT32_MAX;
	if (it->left <= NB_ITER_SURE && it->left <= run->numbers) {
		run->numbers -= it->left;
		it->sure = true;
	}
	return 0;
}

static uint64_t iter_num_next(struct nb_run *run, uint64_t r1, uint64_t r2,
			      uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct numbers *it = ptr_of(r1);

	(void)r2, (void)r3, (void)r4, (void)r5;
	if (!it->left || (!it->sure && !run->turns)) {
		*it = (struct numbers){ 0 };
		return 0;
	}
	if (!it->sure)
		run->turns--;
	it->left--;
	it->cur = (int32_t)((uint32_t)it->cur + 1);
	return (uintptr_t)&it->cur;
}

static uint64_t iter_num_destroy(struct nb_run *run, uint64_t r1, uint64_t r2,
				 uint64_t r3, uint64_t r4, uint64_t r5)
{
	struct numbers *it = ptr_of(r1);

	(void)run, (void)r2, (void)r3, (void)r4, (void)r5;
	*it = (struct numbers){ 0 };
	return 0;
}

__extension__ typedef unsigned __int128 wide;

static uint64_t mul_div(struct nb_run *run, uint64_t r1, uint64_t r2,
			uint64_t r3, uint64_t r4, uint64_t r5)
{
	wide q = (wide)r1 * r2;

	(void)run, (void)r4, (void)r5;
	if (!r3)
		return UINT64_MAX;
	q /= r3;
	return q > UINT64_MAX ? UINT64_MAX : (uint64_t)q;
}

/* Calls and jumps of the engines' own: no body. */
#define tail_call NULL
#define for_each_map_elem NULL
#define loop NULL

/* Bodies in other files. */
#define ringbuf_output nb_body_ringbuf_output
#define ringbuf_reserve nb_body_ringbuf_reserve
#define ringbuf_submit nb_body_ringbuf_submit
#define ringbuf_discard nb_body_ringbuf_discard
#define ringbuf_query nb_body_ringbuf_query
#define dynptr_from_mem nb_body_dynptr_from_mem
#define ringbuf_reserve_dynptr nb_body_ringbuf_reserve_dynptr
#define ringbuf_submit_dynptr nb_body_ringbuf_submit_dynptr
#define ringbuf_discard_dynptr nb_body_ringbuf_discard_dynptr
#define dynptr_read nb_body_dynptr_read
#define dynptr_write nb_body_dynptr_write
#define dynptr_data nb_body_dynptr_data
#define spin_lock nb_body_spin_lock
#define spin_unlock nb_body_spin_unlock

#define strtol nb_body_strtol
#define strtoul nb_body_strtoul
#define snprintf nb_body_snprintf
#define nccl_cost nb_body_nccl_cost
#define nccl_cheapest_proto nb_body_nccl_cheapest_proto
#define nccl_cheapest_algo nb_body_nccl_cheapest_algo

bool nb_each_next(struct nb_run *run, struct nb_each *e)
{
	const struct nb_map *m = e->map;

	if (!run->turns || !m->ops->each ||
	    !m->ops->each(e->map, &e->cursor, cpu_for(run, m)))
		return false;
	run->turns--;
	e->done++;
	return true;
}

const struct nb_link *nb_tail_link(struct nb_run *run, const struct nb_exec *x,
				   const struct nb_map *map, uint32_t index)
{
	const struct nb_links *links = x->links;
	int64_t number = nb_prog_array_at(map, index);
	const struct nb_link *link;

	if (!links || run->tails >= NB_TAIL_MAX || number < 0 ||
	    number >= links->n)
		return NULL;
	link = &links->link[number];
	if (!link->x || run->depth + link->x->depth > NB_MAX_FRAMES)
		return NULL;
	run->tails++;
	return link;
}

const void *nb_tail_body(struct nb_run *run, const struct nb_exec *x,
			 const struct nb_map *map, uint32_t index)
{
	const struct nb_link *link = nb_tail_link(run, x, map, index);

	return link ? link->body : NULL;
}

nb_helper_fn *nb_helper_body(int32_t id)
{
	/* Reads a file the first time: here, where programs are bound, rather
	 * than in the first run that asks for its CPU. */
	nb_cpu_find();
	switch (id) {
#define HELPER(number, name, ret, a1, a2, a3, a4, a5, maps, label, effect, \
	       doc)                                                        \
	case number:                                                       \
		return name;
#include "core/tbl/helpers.h"
	}
	return NULL;
}
