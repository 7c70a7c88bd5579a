// SPDX-License-Identifier: MIT
#ifndef NB_MAP_CPU_H
#define NB_MAP_CPU_H

#include <stdint.h>

/*
 * Which CPU a thread runs on, for maps with a value for each. Linux keeps the
 * number in an area that the C library has registered for each thread
 * (rseq(2)); asking is then one load. Where there is none (glibc before 2.35,
 * GLIBC_TUNABLES=glibc.pthread.rseq=0, qemu-user, other libraries) the C
 * library's function is called.
 */

/* Possible CPUs: their numbers are below it. Any thread. */
uint32_t nb_ncpus(void);

/*
 * What is known once nb_cpu_find was called; read it through the functions.
 * @area: where the number is, in bytes from the thread pointer; 0: nowhere
 * @n:    nb_ncpus(). Tests store another number before they make maps, to
 *        pretend that they run on another host.
 */
struct nb_cpu_known {
	int32_t area;
	uint32_t n;
};
extern struct nb_cpu_known nb_cpu_known;

/* Before programs are bound; any thread, any number of times. */
void nb_cpu_find(void);
/* The C library's answer, below nb_ncpus() even where it has none. */
uint32_t nb_cpu_ask(void);

/* The number of CPUs without a call; 0 before nb_cpu_find. */
static inline uint32_t nb_cpu_limit(void)
{
	return __atomic_load_n(&nb_cpu_known.n, __ATOMIC_RELAXED);
}

static inline int32_t nb_cpu_area(void)
{
	return __atomic_load_n(&nb_cpu_known.area, __ATOMIC_RELAXED);
}

/*
 * What the thread's area says: a number at or above nb_ncpus() means that it
 * is not known there. The area is the kernel's to write, between any two
 * instructions: one load.
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
		cpu = __atomic_load_n(
			(const uint32_t *)(const void *)(thread + area),
			__ATOMIC_RELAXED);
	}
#endif
	return cpu;
}

/* The CPU that the calling thread is on, or was a moment ago. */
static inline uint32_t nb_cpu_now(void)
{
	uint32_t cpu = nb_cpu_seen();

	return __builtin_expect(cpu < nb_cpu_limit(), 1) ? cpu : nb_cpu_ask();
}

#endif
