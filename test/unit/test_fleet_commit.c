// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What must hold for all sites before the coordinator commits a change, and
// what it does if a transaction is refused.
#include "test/unit/unit.h"

#include "plugin/job/segment.h"
#include "test/unit/fleet_view.h"

enum { OURS = 8 }; /* revision of the coordinator's key */

static struct nb_agent agent = { .name = "a", .lease = 1, .whole = true };
static struct nb_seg mem;
static struct nb_segment seg = { .mem = &mem };
static struct nb_coord *coord;

static bool no_memory;

bool __real_nb_targets_find(struct nb_targets *t, const struct nb_view *v, const char *digest);
bool __wrap_nb_targets_find(struct nb_targets *t, const struct nb_view *v, const char *digest);
bool __wrap_nb_targets_find(struct nb_targets *t, const struct nb_view *v, const char *digest)
{
	return !no_memory && __real_nb_targets_find(t, v, digest);
}

/* A coordinator whose two sites have staged change 1. */
static void set_up(void)
{
	no_memory = false;
	put_site("a");
	put_site("b");
	agent.own.site = agent.name;
	agent.site.seg = &seg;
	coord = nb_coord_new(&agent);
	ck_assert_ptr_nonnull(coord);
	put(RECORD, "{\"id\":20,\"state\":\"none\"}", ARMED);
	put("order/coordinator", "{\"site\":\"a\"}", OURS);
	members_due("{\"since\":5,\"sites\":[\"a\",\"b\"]}");
	put("site/a", "{}", 9);
	put("site/b", "{}", 9);
	for (int i = 0; i < 2; i++)
		snprintf(ordered[i], sizeof(ordered[i]),
			 "\"n\":1,\"state\":\"staged\",\"digest\":\"" DIGEST "\",");
	put_seen("a", ARMED, "below");
	put_seen("b", ARMED, "below");
	coord->key_mod = OURS;
	coord->n = 1;
	coord->began_ms = coord->wait_ms = nb_agent_ms();
	nb_coord_enter(coord, NB_COORD_STAGING, 60000);
}

static void tear_down(void)
{
	struct nb_store_reply r = { .succeeded = true };

	if (coord->sending) {
		coord->term++; /* such a reply only frees its arguments */
		txn_done(txn_arg, &r);
	}
	nb_coord_free(coord);
	nb_view_clear(&view);
	txn_rc = 0;
}

static void look(void)
{
	agent.view = view;
	coord->look_ns = 0;
	nb_coord_tick(coord);
}

/* The store has carried the transaction out, and the watch has shown it. */
static void is_done(const char *state)
{
	struct nb_store_reply r = { .succeeded = true, .revision = view.revision + 1 };
	char value[80];

	ck_assert(coord->sending);
	snprintf(value, sizeof(value), "{\"id\":%lld,\"state\":\"%s\"}",
		 (long long)coord->targets.at[0].next, state);
	txn_done(txn_arg, &r);
	look(); /* the view is late */
	ck_assert(!coord->sending);
	put(RECORD, value, r.revision);
}

/* The store has refused it. @ours: revision of order/coordinator there */
static void is_refused(int64_t ours)
{
	const struct nb_store_kv key = { .key = "order/coordinator", .mod_revision = ours };
	struct nb_store_reply r = { .kv = &key, .nkv = 1, .revision = 99 };

	ck_assert(coord->sending);
	txn_done(txn_arg, &r);
	ck_assert(!coord->sending);
}

static bool compares_facts(void)
{
	char text[80];

	snprintf(text, sizeof(text), "site/<=%lld\nanswer/<=%lld\n", (long long)view.revision,
		 (long long)view.revision);
	return strstr(txn_compares, text) != NULL;
}

TEST(a_commit_is_tried_again_with_newer_facts)
{
	unsigned n;

	nb_view_remove(&view, "comm/" COMM "/b"); /* no fence to arm */
	/* a refusal that a newer view has made obsolete */
	coord->err.code = NB_E_BUSY;
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/commit="));
	ck_assert_ptr_nonnull(strstr(txn_compares, "order/coordinator=8\n"));
	ck_assert(compares_facts());
	n = ntxn;
	is_refused(OURS);
	look();
	ck_assert_uint_eq(ntxn, n); /* the view shows no change yet */
	ck_assert_int_eq(coord->state, NB_COORD_STAGING);
	put("site/c", "{}", 40);
	look();
	ck_assert_uint_eq(ntxn, n); /* the new site has to stage it */
	nb_view_remove(&view, "site/c");
	view.revision++;
	look();
	ck_assert_uint_eq(ntxn, n + 1);
	ck_assert(compares_facts());
	is_done("none");
	ck_assert_int_eq(coord->state, NB_COORD_SETTLING);
	ck_assert_int_eq(coord->err.code, 0);
}

/* Without its communicators the change would be committed, and none would move. */
TEST(without_memory_for_its_communicators_a_change_is_refused)
{
	no_memory = true;
	look();
	ck_assert(coord->sending);
	ck_assert_int_eq(coord->err.code, NB_E_NOMEM);
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/drop="));
	ck_assert_ptr_null(strstr(txn_puts, "order/commit="));
}

TEST(a_late_coordinator_decides_nothing)
{
	look();
	is_done("armed");
	put_seen("a", coord->targets.at[0].id, "below");
	put_seen("b", coord->targets.at[0].id, "below");
	look();
	ck_assert(coord->commit);
	is_refused(OURS + 1);
	ck_assert(coord->lost);
	put("order/coordinator", "{\"site\":\"b\"}", 50);
	agent.whole = false; /* it reads no keys in this test */
	look();
	agent.whole = true;
	ck_assert_int_eq(coord->state, NB_COORD_IDLE);
	ck_assert_int_eq(coord->key_mod, 0);
	ck_assert(!coord->sending);
}

/* A transaction of which the outcome is unknown may arrive late. */
TEST(the_next_term_excludes_the_last_ones_writes)
{
	struct nb_err err = { .code = NB_E_TIMEOUT };
	struct nb_store_reply r = { .err = &err, .unknown = true };

	look();
	txn_done(txn_arg, &r);
	ck_assert(coord->lost);
	look();
	ck_assert(!coord->sending); /* not at the rate of the store's errors */
	coord->lost_ms -= nb_agent_times.retry;
	look();
	ck_assert(coord->sending);
	ck_assert_str_eq(txn_compares, "order/coordinator=8\n");
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/coordinator="));
}

TEST(a_site_that_joins_stages_first)
{
	put("site/b", "{}", 21);
	nb_view_remove(&view, "answer/b");
	look();
	ck_assert(!coord->sending);
	put_seen("b", ARMED, "below");
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"state\":\"armed\""));
	ck_assert(compares_facts());
}

/*
 * All ranks are below the fence, but a process has not staged the change, or
 * the agent of a site has left.
 */
static void rolled_back(bool left, const char *because)
{
	struct nb_store_reply r = { .succeeded = true, .revision = 60 };

	look();
	is_done("armed");
	ck_assert_int_eq(coord->state, NB_COORD_ARMED);
	put_seen("a", coord->targets.at[0].id, "below");
	put_seen("b", coord->targets.at[0].id, left ? "below" : "unstaged");
	if (left) {
		/* another communicator's site has left */
		put("comm/00000000000000c1/a", "{\"since\":5,\"nranks\":4,\"ranks\":2}", 6);
		put("members/00000000000000c1", "{\"since\":5,\"sites\":[\"a\",\"x\"]}", 7);
		look();
		/* its agent may come back */
		ck_assert(!coord->sending);
		coord->deadline = 0;
	}
	look();
	ck_assert(coord->sending && !coord->commit);
	ck_assert_ptr_nonnull(strstr(coord->err.text, because));
	txn_done(txn_arg, &r);
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/drop="));
}

TEST(an_armed_change_is_rolled_back_for_a_process)
{
	rolled_back(false, "has not staged");
}

TEST(an_armed_change_is_rolled_back_for_a_site)
{
	rolled_back(true, "lease has ended");
}

/*
 * A rank stays at the fence and does not announce that it waits. The change is
 * rolled back when the time has passed for which the fence was chosen.
 */
TEST(a_rank_at_the_fence_delays_for_one_lead)
{
	uint64_t lead = nb_coord_lead_ms(coord);

	look();
	is_done("armed");
	put_seen("a", coord->targets.at[0].id, "at");
	put_seen("b", coord->targets.at[0].id, "below");
	/* not yet: the fence was chosen for this time */
	coord->arming_ms = nb_agent_ms() + lead;
	look();
	ck_assert(!coord->sending);
	/* @lead has passed, and the time in which a rank announces that */
	coord->arming_ms = nb_agent_ms() - lead - lead / 2;
	look();
	ck_assert(coord->sending && !coord->commit);
	is_done("none");
	ck_assert_int_eq(coord->state, NB_COORD_STAGING);
	/* the sites have to copy what the fence was rolled back to */
	look();
	ck_assert(!coord->sending);
	put_seen("a", coord->targets.at[0].id, "below");
	put_seen("b", coord->targets.at[0].id, "below");
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"state\":\"armed\""));
	is_done("armed");
	ck_assert_uint_eq(coord->tries, 2);
}

/* A site has rolled the record back, because a rank of it waited too long. */
TEST(a_record_that_a_site_rolled_back_is_armed_again)
{
	look();
	is_done("armed");
	put(RECORD, "{\"id\":77,\"state\":\"none\"}", view.revision + 1);
	look(); /* no record is left to roll back */
	ck_assert(!coord->sending);
	ck_assert_int_eq(coord->state, NB_COORD_STAGING);
	put_seen("a", 77, "below");
	put_seen("b", 77, "below");
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"was\":77"));
}

/*
 * The store has lost the outcome of a fence, and a site has written the armed
 * record again: another one may know the outcome, until it answers.
 */
TEST(a_record_that_was_written_again_waits_for_all_sites)
{
	put(RECORD,
	    "{\"id\":30,\"was\":10,\"over\":20,\"state\":\"armed\",\"back\":{\"state\":\"none\"}}",
	    30);
	put_seen("a", 30, "below");
	agent.view = view;
	for (int term = 0; term < 2; term++) {
		coord->recovered = !term;
		ck_assert(!nb_coord_recovery.due(coord));
		ck_assert(coord->recovered);
	}
	put_seen("b", 30, "below");
	agent.view = view;
	ck_assert(nb_coord_recovery.due(coord));
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"state\":\"none\""));
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"was\":30"));
	ck_assert_ptr_nonnull(strstr(txn_compares, RECORD "=30\n"));
}

/* A request or a catch-up may begin before all sites have answered it. */
TEST(a_change_waits_for_no_record_that_all_sites_have_answered)
{
	put(RECORD,
	    "{\"id\":30,\"was\":10,\"over\":20,\"state\":\"armed\",\"back\":{\"state\":\"none\"}}",
	    30);
	coord->recovered = true;
	put_seen("a", 30, "below");
	look();
	ck_assert(!coord->sending);
	put_seen("b", 30, "below");
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"was\":30"));
	is_done("none");
	ck_assert_int_eq(coord->state, NB_COORD_STAGING);
	put(RECORD, "{\"id\":40,\"was\":30,\"state\":\"none\"}", view.revision + 1);
	put_seen("a", 40, "below");
	put_seen("b", 40, "below");
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"state\":\"armed\""));
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"was\":40"));
}

/* True if a store with the keys of the view would accept the transaction. */
static bool store_takes(void)
{
	char text[sizeof(txn_compares)], *line, *rest = text;

	strcpy(text, txn_compares);
	while ((line = strsep(&rest, "\n")) && *line) {
		char *eq = strchr(line, '=');
		int64_t rev = strtoll(eq + 1, NULL, 10);
		bool prefix = eq[-1] == '<';
		const struct nb_view_key *k;

		eq[prefix ? -1 : 0] = '\0';
		k = nb_view_get(&view, line);
		if (!prefix && (k ? k->mod : 0) != rev)
			return false;
		for (size_t i = nb_view_first(&view, line); prefix && nb_view_below(&view, i, line);
		     i++)
			if (view.at[i].mod > rev)
				return false;
	}
	return true;
}

/* A site writes after the view of the coordinator, before its transaction. */
static void overtaken(const char *site, int64_t rev)
{
	int64_t mod = nb_view_get(&view, RECORD)->mod;
	uint64_t tries = coord->tries;

	ck_assert_ptr_nonnull(strstr(txn_puts, RECORD "={"));
	ck_assert(store_takes());
	put(site, "{}", rev);
	ck_assert(!store_takes());
	is_refused(OURS);
	ck_assert(!coord->lost);
	ck_assert_int_ne(coord->old_rev, 0);
	ck_assert_uint_eq(coord->tries, tries);
	ck_assert_int_eq(nb_view_get(&view, RECORD)->mod, mod);
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, RECORD "={"));
	ck_assert(store_takes());
}

TEST(nothing_is_armed_or_committed_with_old_facts)
{
	look();
	overtaken("site/a", 40);
	is_done("armed");
	put_seen("a", coord->targets.at[0].id, "below");
	put_seen("b", coord->targets.at[0].id, "below");
	look();
	ck_assert(coord->commit);
	overtaken("site/b", coord->targets.at[0].id + 50);
}

TEST(controllers_learn_that_the_outcome_is_unknown)
{
	struct nb_err err = { .code = NB_E_TIMEOUT };
	struct nb_store_reply r = { .err = &err, .unknown = true };

	nb_view_remove(&view, "comm/" COMM "/b"); /* no fence to arm */
	coord->by_controllers = true;
	coord->proposal = 3;
	look();
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/commit="));
	txn_done(txn_arg, &r);
	look();
	ck_assert_uint_eq(mem.agent.finished, 3);
	ck_assert_ptr_nonnull(strstr(mem.agent.refused, "it is unknown"));
}

/* No key names an image yet that is being stored for the job's generation. */
TEST(nothing_is_swept_while_an_image_has_no_name)
{
	unsigned n = ntxn;

	coord->saved = json_object();
	ck_assert(!nb_coord_sweep.due(coord));
	ck_assert_uint_eq(ntxn, n);
}

/* ---- what the store always refuses ---- */

/* The store does not carry the transaction out, and says so. */
static void is_too_large(void)
{
	struct nb_err err = { .code = NB_E_LIMIT, .text = "request is too large" };
	struct nb_store_reply r = { .err = &err };

	ck_assert(coord->sending);
	txn_done(txn_arg, &r);
	ck_assert(!coord->lost);
	look();
}

static void answers(const char *text)
{
	ck_assert(coord->sending);
	ck_assert_msg(strstr(txn_puts, "reply/x={\"ok\":false") != NULL, "%s", txn_puts);
	ck_assert_ptr_nonnull(strstr(txn_puts, text));
	ck_assert_ptr_nonnull(strstr(txn_compares, "request/x=30\n"));
}

static void ordered_of(const char *request)
{
	coord->state = NB_COORD_IDLE;
	coord->recovered = true;
	put("request/x", request, 30);
	look();
}

TEST(a_request_that_the_store_refuses_is_answered)
{
	struct nb_store_reply r = { .succeeded = true, .revision = 60 };

	ordered_of("{\"line\":\"policy use none\",\"audit\":\"e\"}");
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/stage="));
	is_too_large();
	answers("request is too large");
	ck_assert_ptr_nonnull(strstr(txn_puts, "audit/e="));
	is_too_large(); /* nor the entry */
	answers("request is too large");
	ck_assert_ptr_null(strstr(txn_puts, "audit/"));
	txn_done(txn_arg, &r);
	ck_assert_int_eq(coord->state, NB_COORD_IDLE);
	ck_assert_int_eq(coord->key_mod, OURS);
}

/* Order a request as change 2, which site a and then site b answer with @id and @n. */
static void answered_with(int n, int64_t id)
{
	struct nb_store_reply r = { .succeeded = true, .revision = 60 };

	ordered_of("{\"line\":\"policy use none\"}");
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"n\":2"));
	ck_assert_int_ne(coord->order_id, 0);
	txn_done(txn_arg, &r);
	put("order/stage", "{}", r.revision);
	look();
	ck_assert(!coord->sending);
	snprintf(ordered[0], sizeof(ordered[0]),
		 "\"n\":2,\"id\":%lld,\"state\":\"staged\",\"digest\":\"" DIGEST "\",",
		 (long long)coord->order_id);
	snprintf(ordered[1], sizeof(ordered[1]),
		 "\"n\":%d,\"id\":%lld,\"state\":\"committed\",\"digest\":\"" DIGEST "\",", n,
		 (long long)(id ? id : coord->order_id));
	put_seen("a", ARMED, "below");
	look();
	ck_assert(!coord->sending);
	put_seen("b", ARMED, "below");
	look();
	ck_assert(coord->sending);
}

TEST(sites_that_answer_the_order_make_it_armed)
{
	answered_with(2, 0);
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"state\":\"armed\""));
}

/*
 * The store has lost the change that site b carried out as number 2, or as a
 * later one. The site ignores the request, so it is not answered as committed.
 */
static void lost_change(int n)
{
	answered_with(n, 77);
	ck_assert_ptr_null(strstr(txn_puts, "order/record/"));
	answers("site b: has answered a change that the store has lost");
	ck_assert_ptr_nonnull(strstr(txn_puts, "order/drop={\"n\":2}"));
}

TEST(a_request_with_the_number_of_a_lost_change_is_refused)
{
	lost_change(2);
}

TEST(a_request_with_a_number_below_a_lost_change_is_refused)
{
	lost_change(3);
}

/* So it is if the client of the store does not send it. */
TEST(a_request_that_cannot_be_sent_is_answered)
{
	txn_rc = NB_E_ARG;
	ordered_of("{\"line\":\"policy use none\"}");
	txn_rc = 0;
	ck_assert(!coord->lost && !coord->sending);
	ck_assert(nb_coord_busy(coord));
	look();
	answers("too much for the store");
}

/* If no reply can be written either, another try comes later. */
TEST(a_store_that_takes_nothing_ends_the_term)
{
	struct nb_err err = { .code = NB_E_FULL, .text = "no space" };
	struct nb_store_reply r = { .err = &err };

	ordered_of("{\"line\":\"policy use none\"}");
	for (int i = 0; i < 3; i++) {
		ck_assert(!coord->lost);
		txn_done(txn_arg, &r);
		look();
	}
	look();
	ck_assert_int_eq(coord->key_mod, 0);
	ck_assert(!coord->sending);
}

TEST(a_request_whose_copies_do_not_fit_is_answered)
{
	static char request[NB_COORD_REQUEST + 100];
	size_t n = (size_t)snprintf(request, sizeof(request), "{\"audit\":\"e\",\"line\":\"");

	memset(request + n, 'l', sizeof(request) - n);
	strcpy(request + sizeof(request) - 3, "\"}");
	ordered_of(request);
	answers("(allowed: 262144)");
	ck_assert_ptr_null(strstr(txn_puts, "order/stage="));
	is_too_large(); /* with its audit entry, which has the line */
	answers("(allowed: 262144)");
	ck_assert_uint_lt(strlen(txn_puts), 1000);
}

TEST(a_commit_that_the_store_refuses_is_rolled_back)
{
	struct nb_store_reply r = { .succeeded = true, .revision = 60 };

	put("request/x", "{\"line\":\"policy use none\"}", 30);
	strcpy(coord->request, "x");
	look();
	is_done("armed");
	put_seen("a", coord->targets.at[0].id, "below");
	put_seen("b", coord->targets.at[0].id, "below");
	look();
	ck_assert(coord->commit);
	is_too_large();
	ck_assert(coord->sending && !coord->commit);
	ck_assert_ptr_nonnull(strstr(txn_puts, "\"state\":\"none\""));
	txn_done(txn_arg, &r);
	answers("request is too large");
}

UNIT_MAIN_WITH("fleet_commit", tcase_add_checked_fixture(tc, set_up, tear_down);)
