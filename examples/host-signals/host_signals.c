// SPDX-License-Identifier: MIT
// host_signals: shows policies what happens on this host, in a sealed memory
// file with the layout of the host map of rail_backoff.
//
//	host_signals [--kernel OBJECT] [--interval-ms N] [--sys DIR]
//	             [--stat FILE]
//
// Prints "signals PATH" for `map attach host PATH`, and "kernel id:N", the
// kernel's own frozen array, or "kernel none: WHY". It runs until it is killed;
// the values stay then and grow old. --sys and --stat replace
// /sys/class/infiniband and /proc/stat.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "examples/host-signals/host_signals.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static const char *sys = "/sys/class/infiniband", *stat_file = "/proc/stat";
static struct host_signal *shown;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- sources: counters that only rise ---- */

struct source {
	uint64_t count, at_ns; /* last reading; at_ns 0: no reading yet */
};

/*
 * Count the events per second between the last reading in @s and @count. A
 * counter that decreased was reset.
 */
static uint64_t rate(struct source *s, uint64_t count)
{
	uint64_t now = now_ns(), per_s = 0;

	if (s->at_ns && now > s->at_ns && count > s->count)
		per_s = (uint64_t)((double)(count - s->count) * 1e9 / (double)(now - s->at_ns));
	*s = (struct source){ count, now };
	return per_s;
}

/*
 * Counters of a port that show packet loss, by their names in mlx5 and in
 * SoftRoCE.
 */
static const char *const troubles[] = {
	"out_of_sequence",   "packet_seq_err",	    "local_ack_timeout_err", "rnr_nak_retry_err",
	"duplicate_request", "completer_retry_err", "out_of_seq_request",    "rcvd_seq_err",
};
enum { NTROUBLES = sizeof(troubles) / sizeof(troubles[0]) };

/* Add the number in the file @path to @sum; false: it cannot be read now. */
static bool add_file(const char *path, uint64_t *sum)
{
	FILE *f = fopen(path, "r");
	unsigned long long n = 0;
	bool good = f && fscanf(f, "%llu", &n) == 1;

	if (f)
		fclose(f);
	*sum += n;
	return good;
}

/*
 * Add up the loss counters of the device at @path; false: it has none of these
 * counters.
 */
static bool read_troubles(const char *path, uint64_t *sum)
{
	char pattern[512];
	bool found = false;

	*sum = 0;
	for (unsigned i = 0; i < NTROUBLES; i++) {
		glob_t files;

		snprintf(pattern, sizeof(pattern), "%s/ports/*/hw_counters/%s", path, troubles[i]);
		if (glob(pattern, 0, NULL, &files))
			continue;
		for (size_t k = 0; k < files.gl_pathc; k++)
			found |= add_file(files.gl_pathv[k], sum);
		globfree(&files);
	}
	return found;
}

/*
 * Return the share of CPU time since the last call that the hypervisor gave to
 * other machines, in thousandths.
 */
static uint64_t steal_permille(void)
{
	static uint64_t all_before, steal_before;
	unsigned long long t[8] = { 0 };
	uint64_t all = 0, permille = 0;
	FILE *f = fopen(stat_file, "r");

	if (f && fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
			&t[3], &t[4], &t[5], &t[6], &t[7]) == 8) {
		for (int i = 0; i < 8; i++)
			all += t[i];
		if (all_before && all > all_before && t[7] >= steal_before)
			permille = 1000 * (t[7] - steal_before) / (all - all_before);
		all_before = all;
		steal_before = t[7];
	}
	if (f)
		fclose(f);
	return permille;
}

/* ---- the kernel's counts ---- */

static const struct kernel_count *counts; /* NULL: not permitted */

static int why_none(const char *what)
{
	printf("kernel none: %s: %s\n", what, strerror(errno));
	return -1;
}

/* Load and attach the programs, freeze their array and map it. */
static int load_kernel(const char *path)
{
	struct bpf_object *o;
	struct bpf_program *p;
	struct bpf_map_info info = { 0 };
	unsigned size = sizeof(info);
	int fd;

	libbpf_set_print(NULL);
	o = bpf_object__open(path);
	if (!o || bpf_object__load(o))
		return why_none(path);
	bpf_object__for_each_program(p, o) if (!bpf_program__attach(p))
		fprintf(stderr, "host_signals: %s is not attached\n", bpf_program__name(p));
	fd = bpf_map__fd(bpf_object__find_map_by_name(o, "counts"));
	if (fd < 0 || bpf_map_freeze(fd) || bpf_obj_get_info_by_fd(fd, &info, &size))
		return why_none("counts");
	counts = mmap(NULL, KERNEL_CPUS * sizeof(*counts), PROT_READ, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED) {
		counts = NULL;
		return why_none("counts");
	}
	printf("kernel id:%u\n", info.id);
	return 0;
}

/* ---- what is shown ---- */

static void show(unsigned element, const struct host_signal *s)
{
	struct host_signal *to = &shown[element];

	__atomic_store_n(&to->troubles_per_s, s->troubles_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&to->retransmits_per_s, s->retransmits_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&to->switches_per_s, s->switches_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&to->steal_permille, s->steal_permille, __ATOMIC_RELAXED);
	__atomic_store_n(&to->written_ns, now_ns(), __ATOMIC_RELEASE);
}

static void show_host(void)
{
	static struct source switches, retransmits;
	struct host_signal s = { .steal_permille = steal_permille() };
	uint64_t nswitches = 0, nretransmits = 0;

	for (unsigned cpu = 0; counts && cpu < KERNEL_CPUS; cpu++) {
		nswitches += __atomic_load_n(&counts[cpu].switches, __ATOMIC_RELAXED);
		nretransmits += __atomic_load_n(&counts[cpu].retransmits, __ATOMIC_RELAXED);
	}
	s.switches_per_s = rate(&switches, nswitches);
	s.retransmits_per_s = rate(&retransmits, nretransmits);
	show(0, &s);
}

static void show_rails(void)
{
	static struct source rails[HOST_RAILS];
	char pattern[512];
	glob_t devices;

	snprintf(pattern, sizeof(pattern), "%s/*", sys);
	if (glob(pattern, 0, NULL, &devices))
		return;
	for (unsigned i = 0; i < HOST_RAILS && i < devices.gl_pathc; i++) {
		struct host_signal s = { 0 };
		uint64_t sum;

		/*
		 * a rail without counters stays an element that was never
		 * written
		 */
		if (!read_troubles(devices.gl_pathv[i], &sum))
			continue;
		s.troubles_per_s = rate(&rails[i], sum);
		show(1 + i, &s);
	}
	globfree(&devices);
}

static int share(void)
{
	size_t size = HOST_ELEMENTS * sizeof(*shown);
	int fd = memfd_create("host-signals", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -1;
	shown = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shown == MAP_FAILED || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE))
		return -1;
	printf("signals /proc/%d/fd/%d\n", (int)getpid(), fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec wait = { .tv_nsec = 250000000 };
	const char *kernel = NULL;
	long ms;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--kernel"))
			kernel = argv[i + 1];
		else if (!strcmp(argv[i], "--sys"))
			sys = argv[i + 1];
		else if (!strcmp(argv[i], "--stat"))
			stat_file = argv[i + 1];
		else if (!strcmp(argv[i], "--interval-ms") &&
			 (ms = strtol(argv[i + 1], NULL, 10)) > 0)
			wait = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
		else
			argc = 0;
	}
	if (argc % 2 == 0) {
		fputs("usage: host_signals [--kernel OBJECT] [--interval-ms N] "
		      "[--sys DIR] [--stat FILE]\n",
		      stderr);
		return 2;
	}
	if (share()) {
		perror("host_signals: memory file");
		return 1;
	}
	if (kernel)
		load_kernel(kernel);
	fflush(stdout);
	for (;;) {
		show_host();
		show_rails();
		nanosleep(&wait, NULL);
	}
}
