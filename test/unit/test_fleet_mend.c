// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What the coordinator makes of the copies of a record that the store has lost.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "plugin/job/segment.h"
#include "test/unit/fleet_view.h"

static struct nb_agent agent;
static struct nb_coord *coord;

static void set_up(void)
{
	view.revision = 0;
	coord = nb_coord_new(&agent);
	ck_assert_ptr_nonnull(coord);
	*txn_puts = '\0';
}

static void tear_down(void)
{
	struct nb_store_reply r = { .succeeded = true };

	if (coord->sending)
		txn_done(txn_arg, &r);
	nb_coord_free(coord);
	nb_view_clear(&view);
}

/* @copy: JSON of the site's copy; NULL: it has lost none */
static void put_copy(const char *site, const char *copy)
{
	char key[64], value[400];

	snprintf(key, sizeof(key), "comm/" COMM "/%s", site);
	snprintf(value, sizeof(value), "{\"since\":5,\"nranks\":4,\"ranks\":2%s%s}",
		 copy ? ",\"copy\":" : "", copy ? copy : "");
	put(key, value, 6);
}

/* Returns what the coordinator writes; "" if nothing. */
static const char *mend(void)
{
	struct nb_store_reply r = { .succeeded = true };

	if (coord->sending)
		txn_done(txn_arg, &r);
	*txn_puts = '\0';
	agent.view = view;
	(void)nb_coord_mend.due(coord);
	return txn_puts;
}

#define NONE "{\"id\":0,\"was\":0,\"base\":0,\"state\":\"none\"}"
#define FIRST "{\"id\":2,\"was\":1,\"base\":0," FIRST_STATE "}"
#define FIRST_STATE "\"state\":\"commit\",\"n\":1,\"digest\":\"d1\",\"fence\":7"
#define ARMED2                                                        \
	"{\"id\":3,\"was\":2,\"base\":0,\"state\":\"armed\",\"n\":2," \
	"\"digest\":\"d2\",\"fence\":20,\"back\":{" FIRST_STATE "}}"
#define SECOND                                                         \
	"{\"id\":4,\"was\":3,\"base\":2,\"state\":\"commit\",\"n\":2," \
	"\"digest\":\"d2\",\"fence\":20}"
#define UNDONE2 "{\"id\":5,\"was\":3,\"base\":2," FIRST_STATE "}"

static void both(const char *a, const char *b, const char *digest, const char *from)
{
	const char *made;

	for (int turned = 0; turned < 2; turned++) {
		put_copy("a", turned ? b : a);
		put_copy("b", turned ? a : b);
		made = mend();
		ck_assert_msg(strstr(made, digest) != NULL, "%s", made);
		ck_assert_ptr_null(strstr(made, "armed"));
		if (!turned)
			ck_assert_msg(strstr(made, from) != NULL, "%s", made);
		ck_assert_ptr_nonnull(strstr(txn_compares, RECORD "="));
		ck_assert_ptr_nonnull(strstr(txn_compares, "site/<=10\n"));
	}
}

TEST(the_last_copy_counts)
{
	put(RECORD, FIRST, 10);
	both(SECOND, SECOND, "d2", "\"from\":{\"a\":4,\"b\":4}");
	both(SECOND, ARMED2, "d2", "\"from\":{\"a\":4,\"b\":3}");
	both(UNDONE2, ARMED2, "d1", "\"from\":{\"a\":5,\"b\":3}");
	both(FIRST, FIRST, "d1", "\"from\":{\"a\":2,\"b\":2}");
	/* nobody has seen an outcome, so there is none */
	both(ARMED2, ARMED2, "d1", "\"from\":{\"a\":3,\"b\":3}");
	both(ARMED2, FIRST, "d1", "\"from\":{\"a\":3,\"b\":2}");
	/* a site that never copied the arming */
	both(UNDONE2, FIRST, "d1", "\"from\":{\"a\":5,\"b\":2}");
	/* the restored store has rolled the arming back again */
	both(UNDONE2, "{\"id\":6,\"was\":3,\"base\":2," FIRST_STATE "}", "d1",
	     "\"from\":{\"a\":5,\"b\":6}");
}

TEST(copies_of_two_chains_stay)
{
	put(RECORD, FIRST, 10);
	put_copy("a", SECOND);
	put_copy("b", UNDONE2);
	ck_assert_str_eq(mend(), "");
	/* a commit that a site never answered */
	put_copy("b", FIRST);
	ck_assert_str_eq(mend(), "");
	put_copy("b", NONE);
	ck_assert_str_eq(mend(), "");
}

TEST(all_sites_say_what_they_have_first)
{
	put(RECORD, FIRST, 10);
	put_copy("a", SECOND);
	put_copy("b", NULL);
	ck_assert_ptr_nonnull(strstr(mend(), "\"state\":\"lost\""));
	put(RECORD, "{\"id\":9,\"state\":\"lost\"}", 11);
	ck_assert_str_eq(mend(), "");
	put_copy("b", SECOND);
	ck_assert_ptr_nonnull(strstr(mend(), "\"from\":{\"a\":4,\"b\":4}"));
	/* the sites have yet to copy it */
	put(RECORD, "{\"id\":10,\"state\":\"commit\",\"from\":{\"a\":4,\"b\":4}}", 12);
	ck_assert_str_eq(mend(), "");
	put_copy("a", NULL);
	ck_assert_str_eq(mend(), "");
	put_copy("b", NULL);
	ck_assert_str_eq(mend(), "");
	/* the store goes back to before the change that was made since */
	put_copy("a", "{\"id\":12,\"was\":11,\"base\":10,\"state\":\"none\"}");
	ck_assert_ptr_nonnull(strstr(mend(), "\"state\":\"lost\""));
}

TEST(not_all_ranks_are_there)
{
	put_copy("a", SECOND);
	ck_assert_str_eq(mend(), "");
	put_copy("b", SECOND);
	ck_assert_ptr_nonnull(strstr(mend(), "d2"));
	ck_assert_ptr_nonnull(strstr(txn_compares, RECORD "=0\n"));
}

static void put_change(const char *site, int n, const char *digest)
{
	char key[64], value[120];

	snprintf(key, sizeof(key), "site/%s", site);
	snprintf(value, sizeof(value), "{\"change\":%d,\"baseline\":\"%s\"}", n, digest);
	put(key, value, 30);
}

TEST(a_lost_change_is_written_again)
{
	put("order/commit", "{\"n\":3,\"digest\":\"d3\"}", 20);
	put_change("a", 3, "d3");
	put_change("b", 3, "d3");
	ck_assert_str_eq(mend(), "");
	put_change("a", 4, "d4");
	ck_assert_str_eq(mend(), "");
	put_change("b", 4, "d5");
	ck_assert_str_eq(mend(), "");
	put_change("b", 4, "d4");
	ck_assert_ptr_nonnull(strstr(mend(), "\"n\":4,\"digest\":\"d4\""));
	ck_assert_ptr_nonnull(strstr(txn_compares, "order/commit=20\n"));
}

UNIT_MAIN_WITH("fleet_mend", tcase_add_checked_fixture(tc, set_up, tear_down);)
