// SPDX-License-Identifier: MIT
/*
 * The number of possible CPUs, and where a thread finds the number of its own.
 * glibc before 2.35 has no rseq area, so its symbols are looked up by name.
 */
#include "core/bpf/map/cpu.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Offsets in struct rseq (linux/rseq.h). cpu_id is its second word, and
 * negative while the thread is not registered. */
enum { CPU_ID = 4, CPU_ID_END = 8 };

struct nb_cpu_known nb_cpu_known;

/*
 * Return the highest number in a list such as "0-3,8-11", plus one; 0 if
 * there is none. Possible CPUs may have gaps, and a CPU's number must be a
 * valid index.
 */
static uint32_t parse_cpus(const char *list)
{
	uint32_t n = 0;

	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long cpu = strtoul(list, &end, 10);

		if (cpu < 1u << 20 && cpu + 1 > n)
			n = (uint32_t)cpu + 1;
		if (*end != '-' && *end != ',')
			break;
		list = end + 1;
	}
	return n;
}

static uint32_t possible_cpus(void)
{
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	char list[512] = "";
	ssize_t got;
	long conf;
	uint32_t n = 0;

	if (fd >= 0) {
		got = read(fd, list, sizeof(list) - 1);
		close(fd);
		list[got > 0 ? got : 0] = '\0';
		n = parse_cpus(list);
	}
	if (n == 0) {
		conf = sysconf(_SC_NPROCESSORS_CONF);
		n = conf > 0 ? (uint32_t)conf : 1;
	}
	return n;
}

/*
 * Find the offset of cpu_id from the thread pointer; 0 if the thread has
 * no such area. glibc 2.35 and later (sys/rseq.h) give the offset of struct
 * rseq and the number of its bytes that the kernel has accepted. It runs when
 * this code is loaded, because the plugin's control thread, which makes maps,
 * must not call the loader: a dlclose may wait for that thread.
 */
static __attribute__((constructor)) void find_area(void)
{
	const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	const unsigned int *size = dlsym(RTLD_DEFAULT, "__rseq_size");
	ptrdiff_t at;

	if (!offset || !size || *size < CPU_ID_END)
		return;
	at = *offset + CPU_ID;
	if (at == (int32_t)at)
		nb_cpu_known.area = (int32_t)at;
}

/* Threads may race here, because all of them store the same values. */
void nb_cpu_find(void)
{
	if (nb_cpu_limit())
		return;
	__atomic_store_n(&nb_cpu_known.n, possible_cpus(), __ATOMIC_RELAXED);
}

uint32_t nb_ncpus(void)
{
	nb_cpu_find();
	return nb_cpu_limit();
}

uint32_t nb_cpu_ask(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu % nb_ncpus();
}
