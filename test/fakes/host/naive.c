// SPDX-License-Identifier: MIT
// naive DIR JOB: what reloading without a fence does. Every process takes the
// staged change at its own next decision, wherever it stands then. A test
// tool: ranks of a running job part, hang on real GPUs, and `check agreement`
// must find where.
//
// Writes the segment of DIR/JOB.seg as a process of the job. Exit status: 0;
// 1 with a line on stderr.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/job/gen_numbers.h"
#include "plugin/job/segment.h"
#include "plugin/job/registry.h"

/* The digest that processes have staged; false: none has. */
static bool staged(const struct nb_seg *mem, uint8_t digest[NB_SHA256_SIZE])
{
	for (int i = 0; i < NB_SEG_PROCS; i++) {
		if (!mem->proc[i].pid || !mem->proc[i].staged)
			continue;
		memcpy(digest, mem->proc[i].digest, NB_SHA256_SIZE);
		return true;
	}
	return false;
}

static unsigned set_all(struct nb_segment *s, uint32_t number)
{
	unsigned n = 0;

	for (int i = 0; i < NB_SEG_COMMS; i++) {
		struct nb_seg_comm *c = &s->mem->comm[i];

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE))
			continue;
		/* "from decision 0 on": that is, from the next one of each */
		__atomic_store_n(&c->record.word, nb_fence_word(NB_FENCE_COMMIT, number, 0),
				 __ATOMIC_SEQ_CST);
		n++;
	}
	return n;
}

static int fail(const char *what)
{
	fprintf(stderr, "naive: %s\n", what);
	return 1;
}

int main(int argc, char **argv)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_segment *s;
	uint32_t number;
	int dirfd, rc = 0;

	if (argc != 3)
		return fail("usage: naive DIR JOB");
	dirfd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0 || nb_segment_attach(&s, dirfd, argv[2], 0, true, NULL))
		return fail("cannot attach");
	if (!s->shared || nb_segment_lock(s, 3000, NULL))
		rc = fail("no segment of a running job");
	if (!rc && !staged(s->mem, digest))
		rc = fail("no process has staged a change");
	if (!rc && nb_segment_gen(s, digest, true, &number, NULL))
		rc = fail("no generation numbers left");
	if (!rc) {
		printf("naive: %u communicator(s), each rank from its own next "
		       "decision on\n",
		       set_all(s, number));
		nb_segment_unlock(s);
	}
	nb_segment_detach(s);
	close(dirfd);
	return rc;
}
