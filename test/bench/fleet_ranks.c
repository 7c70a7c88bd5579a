// SPDX-License-Identifier: MIT
/*
 * fleet_ranks RANKS SEGMENT...: print "taken GENERATION MS" when all RANKS
 * ranks of the sites with these job segments have taken a generation of the
 * fleet (MS: CLOCK_MONOTONIC). It reads the ranks' own words once a
 * millisecond, so that the time has neither the agents' reports nor the store
 * in it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "core/job/segment/format.h"

enum { SITES = 64 };

static const struct nb_seg *site[SITES];
static int ncomms[SITES]; /* entries of communicators when we began */
static int nsites;

static const struct nb_seg *map_site(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, sizeof(struct nb_seg), PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	return p;
}

/* Add the ranks of a site that have taken fleet generation @n. */
static unsigned count_taken(const struct nb_seg *s, int comms, uint64_t n)
{
	unsigned taken = 0;

	for (int c = 0; c < comms; c++) {
		const struct nb_seg_comm *k = &s->comm[c];

		if (!__atomic_load_n(&k->in_use, __ATOMIC_ACQUIRE))
			continue;
		for (int i = 0; i < NB_SEG_SLOTS; i++) {
			uint32_t g = __atomic_load_n(&k->slot[i].generation, __ATOMIC_ACQUIRE);

			taken += k->slot[i].state == NB_SLOT_LIVE && g &&
				 s->gen[g % NB_SEG_GENS].number == g &&
				 s->gen[g % NB_SEG_GENS].fleet == n;
		}
	}
	return taken;
}

/* Number of the newest generation that any site has got from the fleet. */
static uint64_t newest(void)
{
	uint64_t most = 0;

	for (int s = 0; s < nsites; s++)
		for (int g = 0; g < NB_SEG_GENS; g++)
			if (site[s]->gen[g].fleet > most)
				most = site[s]->gen[g].fleet;
	return most;
}

int main(int argc, char **argv)
{
	unsigned ranks = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	uint64_t last = 0;

	if (argc < 3 || argc > SITES + 2)
		return 64;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while (nsites < argc - 2) {
		site[nsites] = map_site(argv[nsites + 2]);
		for (int c = 0; c < NB_SEG_COMMS; c++)
			if (site[nsites]->comm[c].in_use)
				ncomms[nsites] = c + 1;
		nsites++;
	}
	for (;;) {
		struct timespec ms = { .tv_nsec = 1000000 }, t;
		uint64_t n = newest();
		unsigned taken = 0;

		for (int s = 0; s < nsites && n > last; s++)
			taken += count_taken(site[s], ncomms[s], n);
		if (taken == ranks) {
			clock_gettime(CLOCK_MONOTONIC, &t);
			printf("taken %" PRIu64 " %.1f\n", n,
			       (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6);
			fflush(stdout);
			last = n;
		}
		nanosleep(&ms, NULL);
	}
}
