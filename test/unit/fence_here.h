// SPDX-License-Identifier: MIT
#ifndef NB_TEST_FENCE_HERE_H
#define NB_TEST_FENCE_HERE_H

/* test_fence.c's record: this host's segment, as in the plugin. */
#include "plugin/job/fence.h"

#define BACK_END "fence"
enum { SECONDS = 3 };

static void back_end_open(void)
{
}

static void back_end_close(void)
{
}

static void back_end_begin_join(void)
{
}

static void back_end_join(struct nb_fence_rank *f, const struct nb_segment *s,
			  struct nb_seg_comm *comm, uint32_t slot)
{
	(void)s, (void)slot;
	f->record = &comm->record;
}

/* What a coordinator has. */
static struct nb_record back_end_record(const struct nb_segment *s,
					struct nb_seg_comm *comm)
{
	return nb_record_here(s, comm, s->membarrier);
}

/* From its return on a coordinator sees what ranks have announced before. */
static inline void back_end_settle(const struct nb_record *r)
{
	(void)r;
}

static uint64_t back_end_word(const struct nb_seg_comm *comm)
{
	return __atomic_load_n(&comm->record.word, __ATOMIC_SEQ_CST);
}

/* What no protocol would write. */
static void back_end_force(struct nb_seg_comm *comm, uint64_t word,
			   uint64_t fallback)
{
	__atomic_store_n(&comm->record.fallback, fallback, __ATOMIC_SEQ_CST);
	__atomic_store_n(&comm->record.word, word, __ATOMIC_SEQ_CST);
}

#endif
