// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What a coordinator concludes from the keys of sites: of those that are there,
// and of those that have gone with their agent's lease.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/fleet_view.h"

static struct nb_targets targets;

static void set_up(void)
{
	put_site("a");
	put_site("b");
	put(RECORD, "{\"id\":10,\"state\":\"none\"}", MADE);
	put_seen("a", MADE, "below");
	put_seen("b", MADE, "below");
	nb_targets_find(&targets, &view, DIGEST);
	ck_assert_uint_eq(targets.n, 1);
	ck_assert_str_eq(targets.at[0].why, "");
	nb_targets_choose(&targets, &view, 0, 20);
	put(RECORD, "{\"id\":20,\"state\":\"armed\"}", ARMED);
	targets.at[0].next = ARMED;
	nb_targets_armed(&targets, ARMED);
}

static void tear_down(void)
{
	nb_targets_free(&targets);
	nb_view_clear(&view);
}

/* How all stand; @missing: the site that has not answered, or NULL. */
static void stands(enum nb_targets_stand want, const char *missing)
{
	const char *site = NULL;

	ck_assert_int_eq(nb_targets_stand(&targets, &view, &site), want);
	if (missing)
		ck_assert_str_eq(site, missing);
}

TEST(all_sites_must_answer)
{
	stands(NB_TARGETS_UNKNOWN, "a");
	put_seen("a", ARMED, "below");
	stands(NB_TARGETS_UNKNOWN, "b");
	put_seen("b", ARMED, "below");
	stands(NB_TARGETS_BELOW, NULL);
	put_seen("b", ARMED, "at");
	stands(NB_TARGETS_AT, NULL);
	put_seen("b", ARMED, "beyond");
	stands(NB_TARGETS_BEYOND, NULL);
}

/* The lease of b's agent ends while its answer is outstanding. */
TEST(a_site_that_has_left_has_not_answered)
{
	put_seen("a", ARMED, "below");
	nb_view_remove(&view, "comm/" COMM "/b");
	nb_view_remove(&view, "answer/b");
	stands(NB_TARGETS_UNKNOWN, "b");
}

TEST(nor_has_one_with_one_of_its_keys)
{
	put_seen("a", ARMED, "below");
	put_seen("b", ARMED, "below");
	nb_view_remove(&view, "comm/" COMM "/b");
	stands(NB_TARGETS_UNKNOWN, "b");
	put_site("b");
	stands(NB_TARGETS_BELOW, NULL);
	nb_view_remove(&view, "answer/b");
	stands(NB_TARGETS_UNKNOWN, "b");
}

/* All agents of a communicator have left: its ranks decide on. */
TEST(no_site_is_no_answer)
{
	nb_view_remove(&view, "comm/" COMM "/a");
	nb_view_remove(&view, "comm/" COMM "/b");
	stands(NB_TARGETS_UNKNOWN, "a");
}

/* One site says that its ranks cannot have the generation's replicated maps. */
TEST(a_communicator_whose_ranks_do_not_count_calls_stays)
{
	char value[300];

	snprintf(value, sizeof(value),
		 "{\"since\":5,\"nranks\":4,\"ranks\":2,\"clock\":\"decisions\",\"settings\":[1],"
		 "\"differs\":\"\",\"lacks\":[\"0000000000000001\",\"%.16s\"]}",
		 DIGEST);
	put("comm/" COMM "/b", value, 5);
	nb_targets_find(&targets, &view, DIGEST);
	ck_assert_uint_eq(targets.n, 1);
	ck_assert_msg(strstr(targets.at[0].why, "on site b the ranks do not all count API calls"),
		      "%s", targets.at[0].why);
	ck_assert_msg(strstr(targets.at[0].why, "NCCLBPF_API_CLOCK=on"), "%s", targets.at[0].why);
	put_site("b");
	nb_targets_find(&targets, &view, DIGEST);
	ck_assert_str_eq(targets.at[0].why, "");
}

/* Says which ranks of four are missing. @who: those that site a has */
static void misses(const char *who, int ranks, const char *words)
{
	char value[200];

	nb_view_clear(&view);
	snprintf(value, sizeof(value),
		 "{\"since\":5,\"nranks\":4,\"ranks\":%d,"
		 "\"clock\":\"decisions\",\"settings\":[1],\"differs\":\"\",\"who\":[%s]}",
		 ranks, who);
	put("comm/" COMM "/a", value, 5);
	nb_targets_find(&targets, &view, DIGEST);
	ck_assert_uint_eq(targets.n, 1);
	ck_assert_msg(strstr(targets.at[0].why, words), "%s", targets.at[0].why);
}

TEST(missing_ranks_are_named_in_whole_sentences)
{
	misses("0,1,3", 3, ", on 1 site: rank 2 has no ncclbpf, no agent");
	misses("0,1", 2, ": ranks 2-3 have no ncclbpf");
	misses("1", 1, ": ranks 0,2-3 have no ncclbpf");
	misses("", 2, ": the others have no ncclbpf");
}

TEST(none_is_armed_while_a_site_is_away)
{
	char why[200];

	nb_targets_free(&targets);
	put(RECORD,
	    "{\"id\":20,\"state\":\"commit\",\"n\":1,\"digest\":\"x\","
	    "\"fence\":9}",
	    ARMED);
	put_seen("a", ARMED, "below");
	put_seen("b", ARMED, "below");
	nb_targets_find(&targets, &view, DIGEST);
	ck_assert(nb_targets_ready(&targets, &view, why, sizeof(why)));
	put_seen("b", ARMED - 1, "below");
	ck_assert(!nb_targets_ready(&targets, &view, why, sizeof(why)));
	ck_assert_str_eq(why, "site b has not reported how far its ranks of "
			      "communicator " COMM " are");
	put_seen("b", ARMED, "below");
	nb_view_remove(&view, "comm/" COMM "/b");
	ck_assert(!nb_targets_ready(&targets, &view, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "site b "));
}

/* The view may lag behind a fence that was put back. */
TEST(an_armed_record_has_no_generation_yet)
{
	static const char none[] = "00000000000000000000000000000000"
				   "00000000000000000000000000000000";
	char why[200];

	nb_targets_find(&targets, &view, none);
	ck_assert_uint_eq(targets.n, 1);
	ck_assert(!nb_targets_ready(&targets, &view, why, sizeof(why)));
	put(RECORD, "{\"state\":\"none\"}", ARMED + 1);
	nb_targets_find(&targets, &view, none);
	ck_assert_uint_eq(targets.n, 0);
}

TEST(a_record_outlives_the_keys_of_sites)
{
	const struct nb_view_key *k = nb_view_get(&view, RECORD);

	ck_assert(!nb_target_is_stale(&view, k));
	nb_view_remove(&view, "comm/" COMM "/a");
	nb_view_remove(&view, "comm/" COMM "/b");
	k = nb_view_get(&view, RECORD);
	ck_assert(!nb_target_is_stale(&view, k));
	/* a communicator of the same identity registers after it was made */
	put("comm/" COMM "/a", "{\"since\":11}", 12);
	k = nb_view_get(&view, RECORD);
	ck_assert(nb_target_is_stale(&view, k));
}

TEST(a_record_is_answered_by_all_sites_of_all_ranks)
{
	const char *record = "{\"id\":20,\"over\":10,\"state\":\"armed\"}";

	put(RECORD, record, ARMED);
	put_seen("a", ARMED, "below");
	ck_assert(!nb_target_answered(&view, nb_view_get(&view, RECORD)));
	put_seen("b", ARMED, "beyond");
	ck_assert(nb_target_answered(&view, nb_view_get(&view, RECORD)));
	/* a site whose agent has left may know the outcome */
	nb_view_remove(&view, "comm/" COMM "/b");
	ck_assert(!nb_target_answered(&view, nb_view_get(&view, RECORD)));
	nb_view_remove(&view, "comm/" COMM "/a");
	ck_assert(!nb_target_answered(&view, nb_view_get(&view, RECORD)));
}

/* A site that has never copied a record copies none that is older than its registration. */
TEST(an_armed_record_that_was_written_again_is_renewed_for_a_late_site)
{
	static const char *const states[] = { "armed", "commit" };
	static const char b[] = "{\"since\":31,\"nranks\":4,\"ranks\":2,\"clock\":\"decisions\","
				"\"settings\":[1],\"differs\":\"\"}";
	char record[64];

	for (int i = 0; i < 2; i++) {
		snprintf(record, sizeof(record), "{\"id\":30,\"over\":20,\"state\":\"%s\"}",
			 states[i]);
		nb_view_remove(&view, RECORD);
		put(RECORD, record, 30);
		put_site("b");
		ck_assert(!nb_target_is_stale(&view, nb_view_get(&view, RECORD)));
		put("comm/" COMM "/b", b, 31);
		ck_assert(nb_target_is_stale(&view, nb_view_get(&view, RECORD)) == !i);
	}
	put(RECORD, "{\"id\":30,\"over\":20,\"state\":\"armed\"}", 32);
	put_seen("a", 30, "below");
	put_seen("b", 30, "below"); /* its copy was an earlier record of the chain */
	ck_assert(!nb_target_is_stale(&view, nb_view_get(&view, RECORD)));
	/* a record that nobody has written again */
	put(RECORD, "{\"id\":40,\"state\":\"armed\"}", 33);
	ck_assert(!nb_target_is_stale(&view, nb_view_get(&view, RECORD)));
}

TEST(no_catch_up_begins_while_a_lost_outcome_is_asked_for)
{
	put("site/a", "{\"baseline\":\"" DIGEST "\"}", 25);
	put("site/b", "{\"baseline\":\"" DIGEST "\"}", 25);
	put(RECORD, "{\"id\":30,\"over\":20,\"state\":\"armed\"}", 30);
	ck_assert(!nb_targets_lacking(&view));
	put(RECORD, "{\"id\":31,\"state\":\"none\"}", 31);
	ck_assert(nb_targets_lacking(&view));
}

/* Sites of another job, too, have a communicator of this identity. */
TEST(a_record_outlives_a_second_communicator)
{
	json_t *notes;

	put("comm/" COMM "/c",
	    "{\"since\":11,\"nranks\":4,\"ranks\":4,\"clock\":\"decisions\","
	    "\"settings\":[1],\"differs\":\"\"}",
	    12);
	ck_assert(!nb_target_is_stale(&view, nb_view_get(&view, RECORD)));
	notes = nb_targets_notes(&view);
	ck_assert_ptr_nonnull(strstr(nb_view_str(notes, COMM), "3 sites report 8 ranks of 4"));
	json_decref(notes);
	/* a site that has yet to register again may still have the first one */
	nb_view_remove(&view, "comm/" COMM "/a");
	ck_assert(!nb_target_is_stale(&view, nb_view_get(&view, RECORD)));
	nb_view_remove(&view, "comm/" COMM "/b");
	ck_assert(nb_target_is_stale(&view, nb_view_get(&view, RECORD)));
}

TEST(a_rank_beyond_the_fence_decides)
{
	const char *site = "";

	put_seen("b", ARMED, "beyond"); /* site a has not answered */
	ck_assert_int_eq(nb_targets_stand(&targets, &view, &site), NB_TARGETS_BEYOND);
	put_seen("b", ARMED, "at");
	ck_assert_int_eq(nb_targets_stand(&targets, &view, &site), NB_TARGETS_UNKNOWN);
	ck_assert_str_eq(site, "a");
}

static void put_rate(const char *site, int announced, int per_s)
{
	char key[32], text[160];

	snprintf(key, sizeof(key), "answer/%s", site);
	snprintf(text, sizeof(text),
		 "{\"comms\":{\"" COMM "\":{\"rev\":%d,\"announced\":%d,"
		 "\"per_s\":%d,\"taken\":true,\"stand\":\"below\"}}}",
		 MADE, announced, per_s);
	put(key, text, MADE);
}

TEST(a_fence_lies_ahead_of_the_fastest_rank)
{
	put_rate("a", 1000, 500);
	put_rate("b", 1010, 450);
	nb_targets_choose(&targets, &view, 0, 40);
	ck_assert_uint_eq(targets.at[0].fence, 1010 + 20);
	/* at least four decisions, and more after each try */
	put_rate("a", 1000, 1);
	put_rate("b", 1010, 1);
	nb_targets_choose(&targets, &view, 0, 40);
	ck_assert_uint_eq(targets.at[0].fence, 1010 + 4);
	nb_targets_choose(&targets, &view, 2, 40);
	ck_assert_uint_eq(targets.at[0].fence, 1010 + 16);
}

/* Note @ms as the time of an answer. */
static void answer_after(struct nb_coord *c, uint64_t ms)
{
	c->arming_ms = nb_agent_ms() - ms;
	nb_coord_answered(c);
}

TEST(one_slow_answer_moves_no_fence)
{
	struct nb_coord *c = nb_coord_new(NULL);

	ck_assert_ptr_nonnull(c);
	/* a few answers already tell more than the assumption before them */
	answer_after(c, 6);
	ck_assert_uint_lt(nb_coord_lead_ms(c), 40);
	answer_after(c, 100);
	ck_assert_uint_lt(nb_coord_lead_ms(c), 40);
	answer_after(c, 100);
	ck_assert_uint_ge(nb_coord_lead_ms(c), 200);
	for (int i = 0; i < 9; i++)
		answer_after(c, 100);
	answer_after(c, 60000);
	ck_assert_uint_ge(nb_coord_lead_ms(c), 200);
	ck_assert_uint_lt(nb_coord_lead_ms(c), 120000);
	answer_after(c, 70000);
	ck_assert_uint_ge(nb_coord_lead_ms(c), 120000);
	for (int i = 0; i < 8; i++)
		answer_after(c, 0);
	ck_assert_uint_lt(nb_coord_lead_ms(c), 120000);
	for (int i = 0; i < 9; i++)
		answer_after(c, 100);
	c->tries = 1;
	ck_assert_uint_ge(nb_coord_lead_ms(c), 400);
	nb_coord_free(c);
}

TEST(time_limits_grow_with_the_number_of_sites)
{
	static struct nb_agent a;
	struct nb_coord *c = nb_coord_new(&a);
	uint64_t few;

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(nb_agent_crowd(&a), 0);
	few = nb_coord_lead_ms(c);
	a.sites = 1000;
	ck_assert_uint_ge(nb_agent_crowd(&a), 1000);
	/* the first armings are as fast as staging was */
	c->stage_ms = 300;
	ck_assert_uint_ge(nb_coord_lead_ms(c), 600);
	ck_assert_uint_lt(nb_coord_lead_ms(c), 1000);
	c->stage_ms = 20000;
	ck_assert_uint_ge(nb_coord_lead_ms(c), 1000);
	ck_assert_uint_lt(nb_coord_lead_ms(c), 20000);
	/* answers tell more than the number of sites */
	for (int i = 0; i < 9; i++)
		answer_after(c, 10);
	ck_assert_uint_lt(nb_coord_lead_ms(c), few);
	a.sites = UINT32_MAX;
	ck_assert_uint_lt(nb_agent_crowd(&a), 10000);
	nb_coord_free(c);
}

/* True, or false and @why contains @site. */
static void whole(bool want, const char *site)
{
	char why[200] = "";

	json_t *notes = nb_targets_notes(&view);
	const char *note = nb_view_str(notes, COMM);

	ck_assert(nb_groups_whole(&view, why, sizeof(why)) == want);
	ck_assert(!strstr(note, "the lease of the agent of site ") == want);
	if (!want) {
		ck_assert_ptr_nonnull(strstr(why, site));
		ck_assert_ptr_nonnull(strstr(note, site));
	}
	json_decref(notes);
}

TEST(a_site_whose_lease_ended_is_missed)
{
	nb_view_remove(&view, "comm/" COMM "/b");
	members_due(NULL); /* not all ranks are there */
	put_site("b");
	members_due("{\"since\":5,\"sites\":[\"a\",\"b\"]}");
	members_due(NULL);
	whole(true, NULL);
	/* the store has not confirmed b's registration: a change waits */
	ck_assert(nb_groups_registered(&view));
	put("comm/" COMM "/b", "{\"since\":0,\"nranks\":4,\"ranks\":2}", 7);
	ck_assert(!nb_groups_registered(&view));
	put("comm/" COMM "/c", "{}", 7);
	nb_view_remove(&view, "comm/" COMM "/a");
	ck_assert(nb_groups_registered(&view));
	nb_view_remove(&view, "comm/" COMM "/c");
	put_site("a");
	nb_view_remove(&view, "comm/" COMM "/b");
	whole(false, "site b ");
	/* its agent lives: its ranks have left the communicator */
	put("site/b", "{}", 31);
	whole(true, NULL);
	nb_view_remove(&view, "site/b");
	whole(false, "site b ");
	/* its processes have ended, now or before it registered its ranks */
	put("ended/b", "{}", 4);
	whole(false, "site b ");
	put("ended/b", "{}", 32);
	whole(true, NULL);
	nb_view_remove(&view, "ended/b");
	whole(false, "site b ");
	/* nobody is left, or another communicator has the identity */
	nb_view_remove(&view, "comm/" COMM "/a");
	whole(true, NULL);
	put("comm/" COMM "/a", "{\"since\":11,\"nranks\":2,\"ranks\":2}", 12);
	whole(true, NULL);
	members_due("{\"since\":11,\"sites\":[\"a\"]}");
}

static void put_staged(const char *site, int64_t n, const char *state)
{
	char key[64], value[100];

	snprintf(key, sizeof(key), "answer/%s", site);
	snprintf(value, sizeof(value), "{\"n\":%lld,\"state\":\"%s\",\"text\":\"no %s\"}",
		 (long long)n, state, site);
	put(key, value, 30);
}

/* Which sites have not committed change 3 on their own, and why. */
static void unsettled(const char *want, bool waiting)
{
	json_t *sites = json_pack("[s,s]", "a", "b");
	bool waits;
	json_t *list = nb_targets_unsettled(&view, sites, 3, 40, &waits);
	char *text = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_str_eq(text, want);
	ck_assert(waits == waiting);
	free(text);
	json_decref(list);
	json_decref(sites);
}

TEST(a_site_that_could_not_commit_is_named)
{
	put_staged("a", 3, "staged");
	put_staged("b", 3, "failed");
	unsettled("[{\"site\":\"a\",\"text\":\"has not reported that it has "
		  "committed\"},{\"site\":\"b\",\"text\":\"no b\"}]",
		  true);
	put_staged("a", 3, "committed");
	unsettled("[{\"site\":\"b\",\"text\":\"no b\"}]", false);
	put_staged("b", 4, "failed"); /* of a later change */
	unsettled("[]", false);
	nb_view_remove(&view, "answer/a"); /* its agent has left */
	put("ended/a", "{}", 40);	   /* of its earlier run */
	unsettled("[{\"site\":\"a\",\"text\":\"has not reported that it has "
		  "committed\"}]",
		  true);
	put("ended/a", "{}", 41);
	unsettled("[]", false);
}

/* The key of a site has the rows of its communicators. */
TEST(a_site_names_its_communicators)
{
	static const char row[] = "comm/00000000000000c1/c";

	put("site/c",
	    "{\"comms\":{\"00000000000000c1\":{\"ranks\":1},"
	    "\"c2\":{\"ranks\":1},\"00000000000000c3\":7}}",
	    30);
	ck_assert_int_eq(nb_view_int(nb_view_get(&view, row)->value, "ranks"), 1);
	/* what is no identity, and what is no object, has none */
	ck_assert_uint_eq(nb_view_first(&view, "comm/d"), nb_view_first(&view, row) + 1);
	put("site/c", "{\"comms\":{\"00000000000000c4\":{}}}", 31);
	ck_assert_ptr_null(nb_view_get(&view, row));
	ck_assert_ptr_nonnull(nb_view_get(&view, "comm/00000000000000c4/c"));
	ck_assert(!nb_view_put(&view, "site/c", "no JSON", 7, 30, 32));
	ck_assert_ptr_null(nb_view_get(&view, "comm/00000000000000c4/c"));
	ck_assert_ptr_nonnull(nb_view_get(&view, "comm/" COMM "/a"));
}

static void notes_say(const char *what)
{
	json_t *notes = nb_targets_notes(&view);

	ck_assert_ptr_nonnull(strstr(nb_view_str(notes, COMM), what));
	ck_assert(*what || !json_object_size(notes));
	json_decref(notes);
}

TEST(sites_that_began_with_different_policies_are_told)
{
	nb_view_remove(&view, RECORD);
	put_seen("a", 0, "below");
	put_seen("b", 0, "below");
	put("site/a", "{\"baseline\":\"11\"}", 7);
	put("site/b", "{\"baseline\":\"22\"}", 7);
	notes_say("different policies");
	put("site/b", "{\"baseline\":\"11\"}", 8);
	notes_say("");
	put("site/b", "{\"baseline\":\"22\"}", 9);
	put(RECORD, "{\"state\":\"none\"}", 10); /* a change has come */
	notes_say("");
}

TEST(communicators_with_the_generation_are_counted)
{
	put(RECORD, "{\"state\":\"commit\",\"n\":1,\"fence\":1,\"digest\":\"" DIGEST "\"}", 40);
	nb_targets_find(&targets, &view, DIGEST);
	ck_assert_uint_eq(targets.n, 0);
	ck_assert_uint_eq(targets.same, 1);
}

TEST(damaged_counts_of_ranks_are_bounded)
{
	static const char *const sites[] = { "comm/" COMM "/a", "comm/" COMM "/b" };
	struct nb_group g;

	for (int i = 0; i < 2; i++)
		put(sites[i], "{\"since\":5,\"nranks\":-1,\"ranks\":9223372036854775807}", 9);
	ck_assert(nb_group_at(&view, nb_view_first(&view, "comm/"), &g));
	ck_assert_int_eq(g.ranks, 2LL * INT32_MAX);
	ck_assert_int_eq(g.nranks, 0);
}

TEST(requests_have_names_that_fit)
{
	char id[140];

	ck_assert(nb_coord_request_valid("9f15c1a0-T:1.2_x"));
	ck_assert(!nb_coord_request_valid(""));
	ck_assert(!nb_coord_request_valid("a/b"));
	ck_assert(!nb_coord_request_valid("\xc3\xa9"));
	memset(id, 'a', sizeof(id));
	id[127] = '\0';
	ck_assert(nb_coord_request_valid(id));
	id[127] = 'a';
	id[128] = '\0';
	ck_assert(!nb_coord_request_valid(id));
}

TEST(text_that_ends_within_a_character_is_a_string)
{
	json_t *o = nb_view_text("a\xc3\xa9 \xc3");

	ck_assert_str_eq(json_string_value(o), "a\xc3\xa9 ?");
	json_decref(o);
}

UNIT_MAIN_WITH("fleet_target", tcase_add_checked_fixture(tc, set_up, tear_down);)
