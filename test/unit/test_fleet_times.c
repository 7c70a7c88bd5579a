// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 60
// The agent's times: what AGENT_TIMES sets, and what it refuses.
#include "plugin/agent/keys/times.h"
#include "test/unit/unit.h"

TEST(named_times_are_set)
{
	const struct nb_agent_times before = nb_agent_times;

	ck_assert(nb_agent_times_set(""));
	ck_assert_uint_eq(nb_agent_times.lease, before.lease);
	ck_assert(nb_agent_times_set("lease=60000,calm_scan=7"));
	ck_assert_uint_eq(nb_agent_times.lease, 60000);
	ck_assert_uint_eq(nb_agent_times.calm_scan, 7);
	ck_assert_uint_eq(nb_agent_times.scan, before.scan);
	ck_assert_uint_eq(nb_agent_times.keep, before.keep);
}

TEST(others_are_refused)
{
	static const char *const wrong[] = { "leas=1", "leases=1", "lease",
					     "lease=", "lease=1s", "lease=1;",
					     "=1",     ",",	   "lease=1,x=1" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_msg(!nb_agent_times_set(wrong[i]), "%s", wrong[i]);
}

UNIT_MAIN("fleet_times")
