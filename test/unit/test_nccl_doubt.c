// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// An NCCL that is not as it should be: newer than every known release, of a
// version that its interfaces contradict or that no release has, with more
// algorithms than are known, or with an event mask that somebody else has set.
// The job goes on by the safe reading, and log and doctor say why.
#include "test/unit/tuner_job.h"

#include <dlfcn.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/control/dispatch.h"
#include "plugin/profiler/events.h"
#include "plugin/profiler/pools.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/nccl_doubt.h"
#include "test/fakes/host/prof.h"

/* The reply of doctor. */
static const char *doctor(void)
{
	static struct nb_buf b;
	struct nb_err err = { 0 };
	struct nb_json j;
	struct nb_call call = { .out = &j, .err = &err, .fd_out = -1 };

	nb_buf_fini(&b);
	nb_buf_init(&b, 0);
	nb_json_init(&j, &b);
	nb_json_obj(&j);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_cmd_doctor(&call), 0);
	nb_unlock(NB_LOCK_STATE);
	nb_json_end_obj(&j);
	ck_assert(nb_buf_ok(&b));
	return nb_buf_text(&b);
}

static void says(const char *check, const char *level, const char *text)
{
	const char *reply = doctor();
	char head[96];
	const char *row;

	snprintf(head, sizeof(head), "{\"name\":\"%s\",\"level\":\"%s\",\"text\":\"", check, level);
	row = strstr(reply, head);
	ck_assert_msg(row && !strncmp(row + strlen(head), text, strlen(text)), "%s%s in %s", head,
		      text, reply);
}

static void says_nothing_of(const char *check)
{
	const char *reply = doctor(), *row;
	char head[96];

	snprintf(head, sizeof(head), "{\"name\":\"%s\"", check);
	row = strstr(reply, head);
	ck_assert_msg(!row, "%s", row);
}

static unsigned lines_with(const char *text)
{
	unsigned n = 0;

	for (const char *at = lines; (at = strstr(at, text)); at++)
		n++;
	return n;
}

/* ---- versions ---- */

TEST(a_known_release_is_not_doubted)
{
	rank_of(1, 2);
	says("nccl", "ok", "NCCL 2.28.9\"");
	says_nothing_of("cost_table");
	ck_assert(!nb_nccl_asks_some(5, 5));
	ck_assert_uint_eq(lines_with("newer than"), 0);
}

TEST(the_newest_known_release_is_not_doubted)
{
	nccl_version = 23207;
	rank_of(1, 2);
	says("nccl", "ok", "NCCL 2.32.7\"");
}

TEST_EACH(a_newer_release_has_the_rules_of_the_newest_known, 0, 3)
{
	static const int versions[] = { 23208, 23300, 30102 };
	static const char *const words[] = { "NCCL 2.32.8 is newer than 2.32.7, ",
					     "NCCL 2.33.0 is newer than 2.32.7, ",
					     "NCCL 3.1.2 is newer than 2.32.7, " };
	struct nb_comm *c;

	nccl_version = versions[_i];
	c = rank_of(1, 2);
	rank_of(1, 2);
	says("nccl", "warn", words[_i]);
	ck_assert_uint_eq(lines_with(words[_i]), 1);
	/* no change without a clock of API calls */
	ck_assert(c->init.asks_some);
	ck_assert(nb_nccl_asks_some(5, 5));
	ck_assert(nb_nccl_last_of_equal());
}

/* The library tells 2.28.9 and calls what 2.30.3 brought. */
TEST(an_interface_counts_more_than_the_version)
{
	struct nb_comm *c = NULL;

	for (unsigned i = 1; i <= 3; i++) {
		ck_assert_int_eq(ncclTunerPlugin_v6.init((void **)&c, i, 2, 1, logger, NULL, NULL),
				 0);
		ck_assert(c->init.asks_some);
	}
	says("nccl", "warn",
	     "NCCL says that it is 2.28.9, but calls tuner interface 6, which came with NCCL "
	     "2.30.3, in 3 inits: ncclbpf goes by the interface");
	ck_assert_uint_eq(lines_with("says that it is 2.28.9"), 1);
	ck_assert_uint_eq(lines_with("in 1 init: "), 1);
	ck_assert(!nb_nccl_last_of_equal()); /* as 2.30 */
}

TEST(an_interface_tells_the_rule_of_equal_costs)
{
	rank_of(1, 2);
	ck_assert(!nb_nccl_last_of_equal());
	nb_nccl_calls(NB_NCCL_TUNER, 7);
	ck_assert(nb_nccl_last_of_equal());
	says("nccl", "warn",
	     "NCCL says that it is 2.28.9, but calls tuner interface 7, "
	     "which came with NCCL 2.32.6, in 1 init: ");
}

TEST(an_interface_of_the_same_release_contradicts_nothing)
{
	nccl_version = 23203; /* 2.32.6, another 2.32, was the first with tuner v7 */
	rank_of(1, 2);
	nb_nccl_calls(NB_NCCL_TUNER, 7);
	nb_nccl_calls(NB_NCCL_PROFILER, 7);
	nb_nccl_calls(NB_NCCL_TUNER, 8); /* nobody knows when this came */
	says("nccl", "ok", "NCCL 2.32.3\"");
}

TEST(a_profiler_of_2_29_may_ask_some_ranks_only)
{
	rank_of(1, 2);
	ck_assert(!nb_nccl_asks_some(5, 5));
	ck_assert(nb_nccl_asks_some(5, 6));
	nb_nccl_calls(NB_NCCL_PROFILER, 6);
	says("nccl", "warn",
	     "NCCL says that it is 2.28.9, but calls profiler interface 6, "
	     "which came with NCCL 2.29.2, in 1 init: ");
}

TEST_EACH(a_version_that_no_release_has_is_not_used, 0, 4)
{
	static const int versions[] = { -5, 7, 2709, INT32_MAX };
	char text[96];

	nccl_version = versions[_i];
	ck_assert(rank_of(1, 2)->init.asks_some);
	ck_assert_int_eq(nb_nccl_version(), 0);
	snprintf(text, sizeof(text), "NCCL says that its version is %d, which no release has",
		 versions[_i]);
	says("nccl", "warn", text);
	ck_assert_uint_eq(lines_with(text), 1);
	/* as without a version: the interfaces tell it */
	ck_assert(!nb_nccl_asks_some(4, 0));
	ck_assert(!nb_nccl_asks_some(5, 5));
	ck_assert(nb_nccl_asks_some(6, 5));
	ck_assert(nb_nccl_asks_some(5, 6));
	ck_assert(!nb_nccl_last_of_equal());
}

TEST_EACH(without_a_version_the_interfaces_tell_the_rules, 5, 8)
{
	nccl_version = 0;
	ck_assert(nb_process_ready(logger));
	nb_nccl_calls(NB_NCCL_PROFILER, (uint32_t)_i); /* before the tuner's, as NCCL does */
	rank_of(1, 2);
	says("nccl", "ok", "NCCL does not tell its version");
	ck_assert_int_eq(nb_nccl_last_of_equal(), _i == 7);
}

/* ---- algorithms ---- */

enum { NINE = 9 * 3 };

/* Ask with a table of @n algorithms, of which the last has the least cost. */
static void ask_n(struct nb_comm *c, float t[NINE], int n)
{
	int channels = 0;

	for (int i = 0; i < n * 3; i++)
		t[i] = 100.0f + (float)i;
	t[n * 3 - 1] = 1.0f;
	ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(c, 4, 1 << 20, 1, (float **)(void *)t, n,
							  3, 0, &channels),
			 0);
}

TEST(nine_algorithms_are_said_and_policies_choose_among_seven)
{
	struct nb_comm *c;
	float t[NINE];

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	ask(c, 4, 1 << 20);
	says_nothing_of("cost_table");
	for (int i = 0; i < 3; i++) {
		ask_n(c, t, 9);
		ck_assert_int_eq(pick(t, NINE, 3.6e9f), RING * 3 + SIMPLE);
		for (int k = 0; k < NINE - 1; k++)
			ck_assert(k == RING * 3 + SIMPLE || t[k] == 100.0f + (float)k);
	}
	says("cost_table", "warn",
	     "NCCL has 9 algorithms, and ncclbpf knows 7: "
	     "policies can choose only these (3 decisions)");
	ck_assert_uint_eq(refused(NB_REFUSED_COST_TABLE), 0);
}

TEST(a_table_of_seventeen_algorithms_is_left_alone)
{
	float t[17 * 3], was[17 * 3];
	struct nb_comm *c;
	int channels = 0;

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	for (int i = 0; i < 17 * 3; i++)
		t[i] = was[i] = (float)(100 - i);
	ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(c, 4, 1 << 20, 1, (float **)(void *)t, 17,
							  3, 0, &channels),
			 0);
	ck_assert_mem_eq(t, was, sizeof(t));
	ck_assert_uint_eq(refused(NB_REFUSED_COST_TABLE), 1);
	says_nothing_of("cost_table");
	says("refused", "warn", "cost_table, 1 times: ");
}

/* RCCL that says so of its version calls. */
static void rccl_calls(const char *version)
{
	const char *build = getenv("B");
	char path[600];
	void *rccl;

	snprintf(path, sizeof(path), "%s/test/fakes/host/librccl.so.1",
		 build ? build : "build/debug");
	rccl = dlopen(path, RTLD_NOW);
	ck_assert_msg(rccl, "%s", dlerror());
	setenv("RCCL_VERSION", version, 1);
	nb_nccl_find(dlsym(rccl, "rccl_log"));
}

TEST(rccl_that_does_not_tell_its_version_is_named)
{
	nccl_version = 0;
	rccl_calls("fails");
	rank_of(1, 2);
	says("nccl", "ok", "RCCL does not tell its version: its interfaces tell which rules");
	says("rccl", "ok", "the library is RCCL: no policy is in use");
}

TEST(rccl_that_lies_about_its_version_is_named)
{
	nccl_version = 0;
	rccl_calls("7");
	rank_of(1, 2);
	says("nccl", "warn", "RCCL says that its version is 7, which no release has: ");
	ck_assert_uint_eq(lines_with("RCCL says that its version is 7"), 1);
}

/* RCCL's table may have 8. */
TEST(rccl_is_named_and_may_have_eight_algorithms)
{
	struct nb_comm *c;
	float t[NINE];

	rccl_calls("23300");
	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	says("nccl", "warn", "RCCL 2.33.0 is newer than 2.32.7, ");
	ask_n(c, t, 8);
	says("cost_table", "ok", "RCCL has 8 algorithms, and ncclbpf knows 7: ");
	ask_n(c, t, 9);
	says("cost_table", "warn", "RCCL has 9 algorithms, and ncclbpf knows 7: ");
}

/* ---- the event mask ---- */

static int mask = 0x55;

static struct host_prof prof_of(uint64_t id, int abi)
{
	struct host_prof p = { .abi = abi,
			       .mask = &mask,
			       .name = "world",
			       .id = id,
			       .nodes = 1,
			       .ranks = 1,
			       .rank = 0 };

	p.p = abi == 6 ? (const struct host_profiler *)(const void *)&ncclProfiler_v6
		       : (const struct host_profiler *)(const void *)&ncclProfiler_v5;
	ck_assert_int_eq(host_prof_init(&p, logger), 0);
	ck_assert_ptr_nonnull(p.ctx);
	return p;
}

/* NCCL's RAS writes the mask: CONTROL PROFILER_MASK. */
TEST(an_event_mask_of_somebody_else_is_said)
{
	struct host_prof a = prof_of(1, 5), b;

	says_nothing_of("event_mask");
	mask = HOST_GROUP;
	says("event_mask", "warn",
	     "somebody else has set NCCL's event mask: asked for none, NCCL reports group\"");
	nb_events_telemetry(NB_TEL_ON);
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P);
	says_nothing_of("event_mask");
	mask = 0;
	says("event_mask", "warn",
	     "somebody else has set NCCL's event mask: asked for coll, p2p, NCCL reports none\"");
	/* a new communicator's init writes ours, and RAS after it its own */
	b = prof_of(2, 5);
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P);
	says_nothing_of("event_mask");
	mask = HOST_COLL;
	says("event_mask", "warn",
	     "somebody else has set NCCL's event mask: asked for coll, p2p, NCCL reports coll\"");
	/* ncclbpf does not write its mask again while it needs the same events */
	nb_events_ask();
	nb_events_tick();
	ck_assert_int_eq(mask, HOST_COLL);
	nb_events_telemetry(NB_TEL_ON);
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P);
	says_nothing_of("event_mask");
	mask = 0;
	host_prof_fini(&a);
	host_prof_fini(&b);
	says_nothing_of("event_mask"); /* nobody is left */
}

/* The mask of one communicator is that of all; each knows what was written. */
TEST(a_mask_that_changes_for_one_communicator_is_ours)
{
	struct host_event call = { .type = HOST_COLL_API, .func = 0, .count = 1, .datatype = 7 };
	struct host_prof a, b;

	nccl_version = 23007;
	a = prof_of(1, 6);
	b = prof_of(2, 6);
	nb_pools_version(23100); /* the test does not depend on the room in /dev/shm */
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	ck_assert_int_eq(mask & HOST_KERNEL_CH, HOST_KERNEL_CH);
	for (call.peer = 1; call.peer <= 2; call.peer++) /* broadcasts of two roots */
		host_prof_stop(&a, host_prof_start(&a, &call));
	ck_assert_int_eq(mask & HOST_KERNEL_CH, 0);
	says_nothing_of("event_mask");
	host_prof_fini(&a);
	host_prof_fini(&b);
}

/* A rank of communicator @id, whose API calls the profiler counts. */
static struct nb_comm *rank_with_calls(uint64_t id, struct host_prof *p)
{
	struct nb_comm *c = NULL;

	nccl_version = 23007;
	*p = prof_of(id, 6);
	ck_assert_int_eq(ncclTunerPlugin_v6.init((void **)&c, id, 1, 1, logger, NULL, NULL), 0);
	ck_assert_int_eq(mask, HOST_COLL_API);
	return c;
}

static void call_api(struct host_prof *p, struct nb_comm *c)
{
	static const struct host_event call = {
		.type = HOST_COLL_API, .func = 4, .count = 1, .datatype = 7
	};

	host_prof_stop(p, host_prof_start(p, &call));
	ask(c, 4, 1 << 20);
}

/* The communicator takes part in no change, and its count stands still. */
static void has_no_clock(struct host_prof *p, struct nb_comm *c)
{
	uint64_t calls = c->fence.slot->calls;

	ck_assert_int_eq(c->seg->clock, NB_CLOCK_NONE);
	call_api(p, c);
	ck_assert_uint_eq(c->fence.slot->calls, calls);
	use("next");
	ck_assert_int_eq(last.state, NB_CHANGE_UNCHANGEABLE);
	ck_assert_ptr_nonnull(strstr(last.comm[0].why, "CONTROL PROFILER_MASK"));
	ck_assert_uint_eq(c->seg->record.word, 0);
}

enum ender { BY_TELEMETRY, BY_TICK, BY_STAGING, BY_A_NEW_COMMUNICATOR, ENDERS };

/*
 * RAS has stopped the calls, and each process would count on from another one. The next
 * that this process does ends the clock: also before it writes its own mask again.
 */
TEST_EACH(calls_that_nobody_reported_end_the_clock, 0, ENDERS)
{
	struct host_prof p, other;
	struct nb_comm *c = rank_with_calls(1, &p);
	struct nb_err err = { 0 };
	uint8_t digest[NB_SHA256_SIZE];
	const char *next = "next";

	hold("next", MADE_CHOOSE(1, 2), NULL, 0);
	call_api(&p, c);
	ck_assert_int_eq(c->seg->clock, NB_CLOCK_CALLS);
	says_nothing_of("event_mask");
	mask = HOST_COLL; /* brings the calls as well */
	says("event_mask", "warn", "somebody else has set NCCL's event mask: asked for coll_api, ");
	nb_events_tick();
	ck_assert_int_eq(c->seg->clock, NB_CLOCK_CALLS);
	mask = 0;
	switch ((enum ender)_i) {
	case BY_TELEMETRY:
		nb_events_telemetry(NB_TEL_ON);
		ck_assert_int_ne(mask, 0);
		break;
	case BY_TICK:
		nb_events_tick();
		break;
	case BY_STAGING:
		ck_assert_int_eq(stage_use(&next, 1, digest, &err), 0);
		break;
	case BY_A_NEW_COMMUNICATOR:
		other = prof_of(2, 6);
		break;
	case ENDERS:
		break;
	}
	ck_assert_uint_eq(lines_with("so API calls were missed: 1 ranks"), 1);
	mask = HOST_COLL_API; /* whoever sets it */
	has_no_clock(&p, c);
	says("communicator", "warn", "communicator 0000000000000001 rank slot 0 cannot be changed");
	if (_i == BY_A_NEW_COMMUNICATOR)
		host_prof_fini(&other);
	host_prof_fini(&p);
}

/* The clock has ended before the first decision, which would record another. */
TEST(a_clock_that_has_ended_is_not_begun)
{
	struct host_prof p;
	struct nb_comm *c = rank_with_calls(1, &p);

	hold("next", MADE_CHOOSE(1, 2), NULL, 0);
	mask = 0;
	nb_events_tick();
	mask = HOST_COLL_API;
	call_api(&p, c);
	ck_assert_uint_eq(c->fence.odd & NB_FENCE_NO_CLOCK, NB_FENCE_NO_CLOCK);
	has_no_clock(&p, c);
	host_prof_fini(&p);
}

UNIT_MAIN_WITH("nccl_doubt", tcase_add_checked_fixture(tc, set_up, tear_down);)
