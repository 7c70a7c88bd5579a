// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_PROFILER_RANK_H
#define NB_TEST_UNIT_PROFILER_RANK_H

/* A rank whose profiler is called as NCCL does. */
#include "test/unit/unit.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/job/segment/hist.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/runtime/clock.h"
#include "plugin/profiler/events.h"
#include "plugin/profiler/pools.h"
#include "test/fakes/host/prof.h"
#include "plugin/process/process.h"

static int mask = 0x55;

static const struct nb_profiler *const tables[8] = { NULL,
						     &ncclProfiler_v1,
						     &ncclProfiler_v2,
						     &ncclProfiler_v3,
						     &ncclProfiler_v4,
						     &ncclProfiler_v5,
						     &ncclProfiler_v6,
						     &ncclProfiler_v7 };

static inline void set_up(void)
{
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_profiler", 1);
}

static inline struct host_prof open_rank(int abi, int rank)
{
	struct host_prof c = { .abi = abi,
			       .mask = &mask,
			       .name = "world",
			       .id = 0xabc,
			       .nodes = 1,
			       .ranks = 8,
			       .rank = rank };

	set_up();
	/* the tests do not depend on the room in /dev/shm */
	(void)nb_process_ready(NULL);
	nb_pools_version(23100);
	c.p = (const struct host_profiler *)(const void *)tables[abi];
	ck_assert_int_eq(host_prof_init(&c, NULL), 0);
	ck_assert_ptr_nonnull(c.ctx);
	return c;
}

static inline struct nb_pcomm *comm_of(const struct host_prof *c)
{
	struct nb_pcomm *pc = nb_pcomm_of((uint64_t)(uintptr_t)c->ctx);

	ck_assert_ptr_nonnull(pc);
	return pc;
}

/* The only row that there is. */
static inline const struct nb_tel_row *row_of(const struct host_prof *c)
{
	const struct nb_tel *t = &comm_of(c)->tel;
	const struct nb_tel_row *r = NULL;

	for (int i = 0; i < NB_TEL_ROWS; i++)
		if (t->row[i].key) {
			ck_assert_ptr_null(r);
			r = &t->row[i];
		}
	return r;
}

static const struct host_coll ring = { .func = 4,
				       .algo = 1,
				       .proto = 2,
				       .datatype = 7,
				       .channels = 4,
				       .ops = 4,
				       .steps = 3,
				       .count = 1 << 20,
				       .gpu_from = 1000,
				       .gpu_to = 51000 };

static inline struct host_event coll_event(void)
{
	return (struct host_event){ .type = HOST_COLL,
				    .func = 4,
				    .algo = 1,
				    .proto = 2,
				    .datatype = 7,
				    .channels = 2,
				    .count = 256 };
}

static inline void *kernel(struct host_prof *c, void *task, int channel, uint64_t at)
{
	return host_prof_start(c, &(struct host_event){ .type = HOST_KERNEL_CH,
							.parent = task,
							.channel = channel,
							.timer = at });
}

#endif
