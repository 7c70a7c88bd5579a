// SPDX-License-Identifier: MIT
#ifndef NB_MAP_CPU_H
#define NB_MAP_CPU_H

#include <stdint.h>

/*
 * The CPU that a thread runs on, for per-CPU maps. Linux keeps its number in an
 * area that the C library registers for each thread (rseq(2)), so reading it is
 * one load. Without that area (glibc before 2.35, qemu-user, other C libraries,
 * GLIBC_TUNABLES=glibc.pthread.rseq=0) we call sched_getcpu.
 */

/* Return one more than the highest number of a possible CPU. Any thread. */
uint32_t nb_ncpus(void);

/*
 * Read it through the functions below.
 * @area: bytes from the thread pointer to the CPU's number; 0: no area; set
 *        when this code is loaded
 * @n:    nb_ncpus(), set by nb_cpu_find. A test stores another number before it
 * makes maps, to imitate another host.
 */
struct nb_cpu_known {
	int32_t area;
	uint32_t n;
};
extern struct nb_cpu_known nb_cpu_known;

/* Find the CPUs. Call it before programs are bound; any thread, any number
 * of times. */
void nb_cpu_find(void);
/* Return sched_getcpu's result modulo nb_ncpus(), or 0 if it fails. */
uint32_t nb_cpu_ask(void);

/* Return the number of CPUs without a call; 0 before nb_cpu_find. */
static inline uint32_t nb_cpu_limit(void)
{
	return __atomic_load_n(&nb_cpu_known.n, __ATOMIC_RELAXED);
}

static inline int32_t nb_cpu_area(void)
{
	return __atomic_load_n(&nb_cpu_known.area, __ATOMIC_RELAXED);
}

/*
 * Return the number in the thread's area; nb_ncpus() or more means unknown.
 * The kernel may write the area between any two instructions, so this is
 * one load.
 */
static inline uint32_t nb_cpu_seen(void)
{
	int64_t area = nb_cpu_area();
	uint32_t cpu = UINT32_MAX;

	if (!area)
		return cpu;
#if defined(__x86_64__)
	__asm__ volatile("movl %%fs:(%1), %0" : "=r"(cpu) : "r"(area));
#elif defined(__aarch64__)
	{
		const unsigned char *thread;

		__asm__("mrs %0, tpidr_el0" : "=r"(thread));
		cpu = __atomic_load_n((const uint32_t *)(const void *)(thread + area),
				      __ATOMIC_RELAXED);
	}
#endif
	return cpu;
}

#endif
