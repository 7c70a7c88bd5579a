// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What must hold for all sites before the coordinator commits a change.
#include "test/unit/unit.h"

#include "plugin/job/segment.h"
#include "test/unit/fleet_view.h"

static void set_up(void)
{
	put_site("a");
	put_site("b");
}

static void tear_down(void)
{
	nb_view_clear(&view);
}

/* A coordinator whose two sites have staged change 1. */
static struct nb_coord *coord_of(struct nb_agent *a, struct nb_segment *seg)
{
	struct nb_coord *c = nb_coord_new(a);

	ck_assert_ptr_nonnull(c);
	a->site.seg = seg;
	put(RECORD, "{\"id\":20,\"state\":\"none\"}", ARMED);
	put("order/coordinator", "{\"site\":\"a\"}", 8);
	members_due("{\"since\":5,\"sites\":[\"a\",\"b\"]}");
	for (const char *s = "a\0b\0"; *s; s += 2) {
		char key[64];

		put_seen(s, ARMED, "below");
		snprintf(key, sizeof(key), "site/%s", s);
		put(key, "{}", 9);
		snprintf(key, sizeof(key), "staged/%s", s);
		put(key,
		    "{\"n\":1,\"state\":\"staged\",\"digest\":\"" DIGEST "\"}",
		    19);
	}
	c->key_mod = 8;
	c->n = 1;
	c->began_ms = nb_agent_ms();
	nb_coord_enter(c, NB_COORD_STAGING, 60000);
	return c;
}

static void look(struct nb_agent *a, struct nb_coord *c)
{
	a->view = view;
	c->look_ns = 0;
	nb_coord_tick(c);
}

/*
 * The watch of site/ may be behind that of comm/, so the store checks that the
 * site has an agent: it might have left, and its ranks continue.
 */
START_TEST(a_commit_requires_that_a_site_has_destroyed_the_communicator)
{
	static struct nb_agent agent = { .name = "a",
					 .lease = 1,
					 .whole = true };
	static struct nb_seg mem;
	struct nb_segment seg = { .mem = &mem };
	struct nb_store_reply r = { .succeeded = false };
	struct nb_coord *c = coord_of(&agent, &seg);

	nb_view_remove(&view, "comm/" COMM "/b");
	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_DECIDING);
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/commit="));
	ck_assert_ptr_nonnull(strstr(txn_compares, "site/b=9\n"));
	/* no key below it was created after that of a */
	ck_assert_ptr_nonnull(strstr(txn_compares, "comm/" COMM "/=6\n"));
	ck_assert_ptr_null(strstr(txn_compares, "site/a="));
	/* the store refused the commit, so the coordinator reads all keys again
	 */
	txn_done(txn_arg, &r);
	ck_assert_int_eq(c->state, NB_COORD_IDLE);
	ck_assert_int_ne(agent.follow, NB_AGENT_FOLLOWING);
	nb_coord_free(c);
}
END_TEST

/*
 * The coordinator's watch of comm/ has shown the key of site b, but the watch
 * of site/ has not. So b must stage the change before the fences are armed.
 */
START_TEST(a_site_that_came_while_others_staged_stages_first)
{
	static struct nb_agent agent = { .name = "a",
					 .lease = 1,
					 .whole = true };
	static struct nb_seg mem;
	struct nb_segment seg = { .mem = &mem };
	struct nb_coord *c = coord_of(&agent, &seg);

	nb_view_remove(&view, "site/b");
	nb_view_remove(&view, "staged/b");
	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_STAGING);
	put("staged/b", "{\"n\":1,\"state\":\"failed\"}", 21);
	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_STAGING);
	put("staged/b",
	    "{\"n\":1,\"state\":\"staged\",\"digest\":\"" DIGEST "\"}", 22);
	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_ARMING);
	nb_coord_free(c);
}
END_TEST

/*
 * All ranks are below the fence, but a process has not staged the change, or
 * the agent of a site has left.
 */
START_TEST(an_armed_change_is_rolled_back_for_a_site)
{
	static const char *const because[] = { "has not staged",
					       "lease has ended" };
	static struct nb_agent agent = { .name = "a",
					 .lease = 1,
					 .whole = true };
	static struct nb_seg mem;
	struct nb_segment seg = { .mem = &mem };
	struct nb_store_reply r = { .succeeded = true, .revision = ARMED + 1 };

	for (int i = 0; i < 2; i++) {
		struct nb_coord *c;

		put_site("b");
		c = coord_of(&agent, &seg);
		look(&agent, c);
		ck_assert_int_eq(c->state, NB_COORD_ARMING);
		txn_done(txn_arg, &r);
		put_seen("a", c->targets.at[0].id, "below");
		put_seen("b", c->targets.at[0].id, i ? "below" : "unstaged");
		if (i) {
			/* another communicator's site has left */
			put("comm/00000000000000c1/a",
			    "{\"since\":5,\"nranks\":4,\"ranks\":2}", 6);
			put("members/00000000000000c1",
			    "{\"since\":5,\"sites\":[\"a\",\"x\"]}", 7);
		}
		look(&agent, c);
		if (i) {
			/* its agent may come back */
			ck_assert_int_eq(c->state, NB_COORD_ARMED);
			c->deadline = 0;
			look(&agent, c);
		}
		ck_assert_int_eq(c->state, NB_COORD_DECIDING);
		ck_assert(!c->commit);
		ck_assert_ptr_nonnull(strstr(c->err.text, because[i]));
		c->round++;
		txn_done(txn_arg, &r);
		nb_coord_free(c);
		nb_view_remove(&view, "members/" COMM);
	}
}
END_TEST

/*
 * A rank stays at the fence and does not announce that it waits. The change is
 * rolled back when the time has passed for which the fence was chosen.
 */
START_TEST(a_rank_at_the_fence_delays_for_one_lead)
{
	static struct nb_agent agent = { .name = "a",
					 .lease = 1,
					 .whole = true };
	static struct nb_seg mem;
	struct nb_segment seg = { .mem = &mem };
	struct nb_store_reply r = { .succeeded = true, .revision = ARMED + 1 };
	struct nb_coord *c = coord_of(&agent, &seg);
	uint64_t lead = nb_coord_lead_ms(c);

	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_ARMING);
	txn_done(txn_arg, &r);
	ck_assert_int_eq(c->state, NB_COORD_ARMED);
	put_seen("a", c->targets.at[0].id, "at");
	put_seen("b", c->targets.at[0].id, "below");
	/* not yet: the fence was chosen for this time */
	c->arming_ms = nb_agent_ms() + lead;
	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_ARMED);
	/* @lead has passed, and the time in which a rank announces that */
	c->arming_ms = nb_agent_ms() - lead - lead / 2;
	look(&agent, c);
	ck_assert_int_eq(c->state, NB_COORD_DECIDING);
	ck_assert(!c->commit);
	c->round++; /* a reply of an earlier round only frees its arguments */
	txn_done(txn_arg, &r);
	nb_coord_free(c);
}
END_TEST

UNIT_MAIN("fleet_commit", tcase_add_checked_fixture(tc, set_up, tear_down);
	  tcase_add_test(
		  tc,
		  a_commit_requires_that_a_site_has_destroyed_the_communicator);
	  tcase_add_test(tc, a_site_that_came_while_others_staged_stages_first);
	  tcase_add_test(tc, a_rank_at_the_fence_delays_for_one_lead);
	  tcase_add_test(tc, an_armed_change_is_rolled_back_for_a_site);)
