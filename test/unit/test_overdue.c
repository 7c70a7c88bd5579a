// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A rank that stays inside one decision is named once; one that goes on, waits
// at a fence or has finished is not.
#include "test/unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/job/segment/packed.h"
#include "plugin/comm/overdue.h"
#include "plugin/runtime/log.h"

static struct nb_comm comm;
static unsigned lines;
static char last[512];

static void logger(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	(void)level, (void)flags, (void)file, (void)line;
	va_start(args, fmt);
	vsnprintf(last, sizeof(last), fmt, args);
	va_end(args);
	lines++;
}

static struct nb_seg_slot *slot(void)
{
	nb_log_to(logger);
	nb_log_level = NB_LOG_DEBUG;
	comm.init.comm_id = 0xab;
	comm.slot_index = 5;
	comm.fence.slot = &comm.own_slot;
	return &comm.own_slot;
}

static void begin(uint64_t seq)
{
	slot()->announced = seq + 1;
}

static void finish(uint64_t seq)
{
	slot()->hash = nb_hash_add(slot()->hash, seq, 7);
}

/* A second passes: what began did so a second earlier. */
static void second_passes(void)
{
	if (comm.overdue.since_ns)
		comm.overdue.since_ns -= 1000000000;
}

TEST(a_rank_inside_one_decision_is_named_once)
{
	uint64_t seq = 0;

	for (uint64_t k = 0; k < 7; k++) {
		begin(k);
		finish(k);
	}
	begin(7);
	nb_overdue_look(&comm);
	ck_assert_uint_eq(nb_overdue_s(&comm, &seq), 0);
	ck_assert_uint_eq(lines, 0);
	second_passes();
	nb_overdue_look(&comm);
	ck_assert_uint_ge(nb_overdue_s(&comm, &seq), 1);
	ck_assert_uint_eq(seq, 7);
	ck_assert_uint_eq(lines, 1);
	ck_assert_msg(strstr(last, "rank slot 5: decision 7"), "%s", last);
	nb_overdue_look(&comm);
	ck_assert_uint_eq(lines, 1);
	finish(7);
	ck_assert_uint_eq(nb_overdue_s(&comm, &seq), 0);
	nb_overdue_look(&comm);
	begin(8);
	nb_overdue_look(&comm);
	ck_assert_uint_eq(nb_overdue_s(&comm, &seq), 0);
	ck_assert_uint_eq(lines, 1);
}

TEST(ranks_that_go_on_or_wait_are_not_named)
{
	uint64_t seq = 0;

	slot()->waiting = 1;
	begin(0);
	nb_overdue_look(&comm); /* at a fence */
	second_passes();
	nb_overdue_look(&comm);
	ck_assert_uint_eq(nb_overdue_s(&comm, &seq), 0);
	slot()->waiting = 0;
	for (uint64_t k = 0; k < 25; k++) { /* inside another one each time */
		nb_overdue_look(&comm);
		ck_assert_uint_eq(nb_overdue_s(&comm, &seq), 0);
		second_passes();
		finish(k);
		begin(k + 1);
	}
	ck_assert_uint_eq(lines, 0);
}

UNIT_MAIN("overdue")
