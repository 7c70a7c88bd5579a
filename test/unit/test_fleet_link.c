// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The links between the agents and the coordinator: the server by the requests
// of a client, and an agent's end by that server. All of them run in one event
// loop, as in an agent.
#include "plugin/agent/gather.h"
#include "plugin/agent/link.h"
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/agent.h"

static struct nb_err err;
static struct nb_http *http;
static struct nb_view view;
static struct nb_gather *gather;
static char secret[NB_GATHER_SECRET];

static void put(struct nb_view *v, const char *key, int64_t mod,
		const char *value)
{
	ck_assert(nb_view_put(v, key, value, strlen(value), 1, mod));
}

/* Let the key of site @name have the hash of @of. */
static void put_site(const char *name, const char *of)
{
	char key[96], hash[65], value[99];

	nb_gather_hash(of, hash);
	snprintf(key, sizeof(key), "site/%s", name);
	snprintf(value, sizeof(value), "{\"life\":\"%s\"}", hash);
	put(&view, key, 2, value);
	nb_gather_site(gather, name);
}

static void open_gather(void)
{
	struct nb_listen_config at = { .listen = "127.0.0.1" };

	ck_assert_int_eq(nb_http_new(&http, &err), 0);
	ck_assert_msg(!nb_gather_open(&gather, http, &view, &at, &err), "%s",
		      err.text);
	ck_assert(nb_gather_draw(secret));
	nb_gather_allow(gather, true);
	put(&view, "order/stage", 10, "{\"n\":1}");
	put(&view, "order/commit", 20, "{\"n\":1}");
	nb_gather_news(gather, 25, 0);
	put_site("x", secret);
}

static void close_gather(void)
{
	nb_gather_close(gather);
	gather = NULL;
	nb_view_clear(&view);
	nb_http_free(http);
}

/* ---- a client ---- */

struct answer {
	bool done;
	long status;
	json_t *body;
};

static void keep_answer(void *arg, const struct nb_http_reply *r)
{
	struct answer *a = arg;

	a->done = true;
	a->status = r->status;
	a->body = json_loadb(nb_buf_text(r->body), r->body->size, 0, NULL);
}

static void post_as(struct answer *a, const char *path, const char *site,
		    const char *with, const char *body, size_t size)
{
	char url[500], name[200], header[200];
	struct nb_http_request q = { .url = url,
				     .body = body,
				     .body_size = size,
				     .header = { name, header },
				     .connect_ms = 5000,
				     .timeout_ms = 60000,
				     .limit = 1 << 20,
				     .done = keep_answer,
				     .arg = a };

	memset(a, 0, sizeof(*a));
	snprintf(url, sizeof(url), "%s%s", nb_gather_address(gather), path);
	snprintf(name, sizeof(name), "Ncclbpf-Site: %s", site);
	snprintf(header, sizeof(header), "Ncclbpf-Secret: %s", with);
	ck_assert_ptr_nonnull(nb_http_start(http, &q, &err));
}

static void turn(int ms)
{
	nb_http_wait(http, ms);
	nb_gather_tick(gather);
}

/* Let a request that waits reach the server. */
static void settle(void)
{
	for (int i = 0; i < 10; i++)
		turn(5);
}

/* Wait for the reply; @a->body is then valid until drop(). */
static void await(struct answer *a)
{
	while (!a->done)
		turn(20);
}

static void drop(struct answer *a)
{
	json_decref(a->body);
	a->body = NULL;
}

/* Returns the status of a request whose reply comes at once. */
static long status_of(const char *path, const char *site, const char *with,
		      const char *body, size_t size)
{
	struct answer a;

	post_as(&a, path, site, with, body, size);
	await(&a);
	drop(&a);
	return a.status;
}

static void ask(struct answer *a, const char *body)
{
	post_as(a, "/v1/link", "x", secret, body, strlen(body));
}

static int64_t int_at(const char *key, const char *member)
{
	const struct nb_view_key *k = nb_view_get(&view, key);

	return k ? nb_view_int(k->value, member) : -1;
}

#define FULL_OF(answers) \
	"{\"have\":25,\"wait\":0,\"full\":true,\"answers\":{" answers "}}"

static bool is_again(const struct answer *a)
{
	return json_is_true(json_object_get(a->body, "again"));
}

/* ---- the server ---- */

START_TEST(a_request_needs_the_secret_of_the_site)
{
	static const char body[] = FULL_OF("\"staged\":{\"n\":7,\"at\":1}");
	char other[NB_GATHER_SECRET], longer[120];
	size_t size = sizeof(body) - 1;

	open_gather();
	ck_assert(nb_gather_draw(other));
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	ck_assert_int_eq(status_of("/v1/link", "x", other, body, size), 409);
	ck_assert_int_eq(status_of("/v1/link", "x", "", body, size), 403);
	ck_assert_int_eq(status_of("/v1/link", "x", longer, body, size), 403);
	ck_assert_int_eq(status_of("/v1/link", "y", secret, body, size), 409);
	ck_assert_int_eq(status_of("/v1/link", longer, secret, body, size),
			 403);
	ck_assert_int_eq(status_of("/v1/line", "x", secret, body, size), 404);
	ck_assert_int_eq(status_of("/v1/link", "x", secret, NULL, 0), 404);
	ck_assert_ptr_null(nb_view_get(&view, "staged/x"));
	/* a key without a hash is that of an agent that does not link */
	put(&view, "site/old", 2, "{}");
	ck_assert_int_eq(status_of("/v1/link", "old", secret, body, size), 409);
	ck_assert_int_eq(status_of("/v1/link", "x", secret, body, size), 200);
	ck_assert_int_eq(int_at("staged/x", "n"), 7);
	close_gather();
}
END_TEST

START_TEST(bad_bodies_change_nothing)
{
	static const char *const bad[] = {
		"x",
		"[]",
		"{",
		"{\"have\":1,\"answers\":[]}",
		"{\"have\":\"1\",\"answers\":{}}",
		"{\"have\":-1,\"answers\":{}}",
		"{\"have\":1,\"have\":2,\"answers\":{}}",
		"{\"answers\":{\"staged\":{\"n\":7,\"at\":1}}}",
		"{\"have\":1e3,\"full\":true,\"answers\":{\"staged\":{\"n\":7}}}",
		"{\"have\":1,\"answers\":{}} {}",
	};
	char *large = malloc(NB_GATHER_BODY + 2);

	ck_assert_ptr_nonnull(large);
	open_gather();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(status_of("/v1/link", "x", secret, bad[i],
					strlen(bad[i])) == 400,
			      "%s", bad[i]);
	memset(large, '[', NB_GATHER_BODY + 1);
	large[NB_GATHER_BODY + 1] = '\0';
	ck_assert_int_eq(status_of("/v1/link", "x", secret, large, 99999), 400);
	ck_assert_int_ne(
		status_of("/v1/link", "x", secret, large, NB_GATHER_BODY + 1),
		200);
	free(large);
	/* answers that are no objects are none */
	ck_assert_int_eq(
		status_of("/v1/link", "x", secret,
			  FULL_OF("\"staged\":7,\"seen\":null"),
			  strlen(FULL_OF("\"staged\":7,\"seen\":null"))),
		200);
	ck_assert_ptr_null(nb_view_get(&view, "staged/x"));
	ck_assert_ptr_null(nb_view_get(&view, "seen/x"));
	close_gather();
}
END_TEST

START_TEST(an_older_answer_does_not_replace_a_newer_one)
{
	struct answer a;
	json_t *old;

	open_gather();
	/* the first request must be full */
	ask(&a,
	    "{\"have\":25,\"wait\":9,\"answers\":{\"staged\":{\"n\":1,\"at\":5}}}");
	await(&a);
	ck_assert(is_again(&a));
	drop(&a);
	ck_assert_ptr_null(nb_view_get(&view, "staged/x"));
	ask(&a, FULL_OF("\"staged\":{\"n\":2,\"at\":6}"));
	await(&a);
	ck_assert(!is_again(&a));
	drop(&a);
	ask(&a,
	    "{\"have\":25,\"wait\":0,\"answers\":{\"staged\":{\"n\":1,\"at\":5}}}");
	await(&a);
	drop(&a);
	ck_assert_int_eq(int_at("staged/x", "n"), 2);
	/* what the agent wrote to the store before is older, too */
	old = json_pack("{s:i,s:i}", "n", 1, "at", 5);
	ck_assert(nb_view_put_answer(&view, "staged/x", old, 1, 9));
	json_decref(old);
	ck_assert_int_eq(int_at("staged/x", "n"), 2);
	ask(&a,
	    "{\"have\":25,\"wait\":0,\"answers\":{\"staged\":{\"n\":3,\"at\":7}}}");
	await(&a);
	drop(&a);
	ck_assert_int_eq(int_at("staged/x", "n"), 3);
	close_gather();
}
END_TEST

/* A wrong time in the store must not hide the answers that follow. */
START_TEST(the_newest_answer_of_the_store_counts)
{
	json_t *wrong =
		json_pack("{s:i,s:I}", "n", 1, "at", (json_int_t)INT64_MAX);
	json_t *next = json_pack("{s:i,s:i}", "n", 2, "at", 5);

	ck_assert(nb_view_put_answer(&view, "staged/x", wrong, 1, 8));
	ck_assert(nb_view_put_answer(&view, "staged/x", next, 1, 9));
	ck_assert_int_eq(int_at("staged/x", "n"), 2);
	ck_assert(nb_view_put_answer(&view, "staged/x", wrong, 1, 8));
	ck_assert_int_eq(int_at("staged/x", "n"), 2);
	json_decref(wrong);
	json_decref(next);
	nb_view_clear(&view);
}
END_TEST

START_TEST(answers_survive_a_reading_of_the_store)
{
	struct answer a;

	open_gather();
	ask(&a, FULL_OF("\"staged\":{\"n\":2,\"at\":6},\"seen\":{\"at\":6}"));
	await(&a);
	drop(&a);
	nb_view_clear(&view);
	put_site("x", secret);
	put(&view, "staged/x", 3, "{\"n\":1,\"at\":2}");
	nb_gather_reread(gather);
	ck_assert_int_eq(int_at("staged/x", "n"), 2);
	ck_assert_int_eq(int_at("seen/x", "at"), 6);
	/* the store's key goes with the lease of an earlier agent */
	nb_view_remove(&view, "staged/x");
	nb_gather_restore(gather, "staged/x");
	ck_assert_int_eq(int_at("staged/x", "n"), 2);
	close_gather();
}
END_TEST

START_TEST(answers_end_with_the_agent)
{
	char next[NB_GATHER_SECRET];
	struct answer a;

	open_gather();
	ck_assert(nb_gather_draw(next));
	ask(&a, FULL_OF("\"staged\":{\"n\":2,\"at\":6}"));
	await(&a);
	drop(&a);
	ask(&a, "{\"have\":25,\"wait\":60000,\"answers\":{}}");
	settle();
	/* its lease ends: a request that waits comes back */
	nb_view_remove(&view, "site/x");
	nb_gather_site(gather, "x");
	ck_assert_ptr_null(nb_view_get(&view, "staged/x"));
	await(&a);
	ck_assert(is_again(&a));
	drop(&a);
	/* another agent of the site */
	put_site("x", next);
	ask(&a, FULL_OF("\"staged\":{\"n\":9,\"at\":9}"));
	await(&a);
	drop(&a);
	ck_assert_int_eq(a.status, 409);
	ck_assert_ptr_null(nb_view_get(&view, "staged/x"));
	ck_assert_uint_eq(nb_gather_sites(gather), 0);
	close_gather();
}
END_TEST

static size_t keys_of(const struct answer *a)
{
	return json_array_size(json_object_get(a->body, "order"));
}

START_TEST(a_waiting_request_gets_what_is_newer)
{
	struct answer a, b;

	open_gather();
	ask(&a, FULL_OF(""));
	await(&a);
	ck_assert_uint_eq(keys_of(&a), 0);
	drop(&a);
	/* one that lacks the second key */
	ask(&a, "{\"have\":15,\"wait\":60000,\"answers\":{}}");
	await(&a);
	ck_assert_uint_eq(keys_of(&a), 1);
	ck_assert_int_eq(nb_view_int(a.body, "rev"), 25);
	drop(&a);
	ask(&a, "{\"have\":25,\"wait\":60000,\"answers\":{}}");
	for (int i = 0; i < 5; i++)
		turn(20);
	ck_assert(!a.done);
	put(&view, "order/stage", 30, "{\"n\":2}");
	nb_gather_news(gather, 30, 0);
	await(&a);
	ck_assert_uint_eq(keys_of(&a), 1);
	ck_assert(!json_is_true(json_object_get(a.body, "list")));
	ck_assert_int_eq(nb_view_int(a.body, "rev"), 30);
	drop(&a);
	/* a key is deleted: all that are left */
	nb_view_remove(&view, "order/commit");
	nb_gather_news(gather, 40, 40);
	ask(&a, "{\"have\":30,\"wait\":60000,\"answers\":{}}");
	await(&a);
	ck_assert(json_is_true(json_object_get(a.body, "list")));
	ck_assert_uint_eq(keys_of(&a), 1);
	drop(&a);
	/* a second request of the site ends the first one */
	ask(&a, "{\"have\":40,\"wait\":60000,\"answers\":{}}");
	settle();
	ask(&b, "{\"have\":40,\"wait\":60000,\"answers\":{}}");
	await(&a);
	ck_assert_int_eq(a.status, 200);
	drop(&a);
	/* the time is over */
	ask(&a, "{\"have\":40,\"wait\":50,\"answers\":{}}");
	await(&a);
	await(&b);
	ck_assert_uint_eq(keys_of(&a), 0);
	drop(&a);
	drop(&b);
	/* the coordinator cannot vouch for its state */
	ask(&a, "{\"have\":40,\"wait\":60000,\"answers\":{}}");
	settle();
	nb_gather_allow(gather, false);
	await(&a);
	ck_assert_int_eq(a.status, 503);
	drop(&a);
	/* a request that waits does not outlive the server */
	nb_gather_allow(gather, true);
	ask(&a, "{\"have\":40,\"wait\":60000,\"answers\":{}}");
	settle();
	close_gather();
}
END_TEST

/* ---- an agent ---- */

static unsigned followed, unwatched;

void __wrap_nb_agent_follow(struct nb_agent *a, bool whole);
void __wrap_nb_agent_follow(struct nb_agent *a, bool whole)
{
	ck_assert(!whole);
	a->follow = NB_AGENT_READING;
	followed++;
}

void __wrap_nb_store_unwatch(struct nb_store_watch *w);
void __wrap_nb_store_unwatch(struct nb_store_watch *w)
{
	(void)w;
	unwatched++;
}

void __wrap_nb_store_set_timeout(struct nb_store *s, unsigned ms);
void __wrap_nb_store_set_timeout(struct nb_store *s, unsigned ms)
{
	(void)s;
	(void)ms;
}

int64_t __wrap_nb_own_confirmed(struct nb_own *o, const char *key);
int64_t __wrap_nb_own_confirmed(struct nb_own *o, const char *key)
{
	(void)o;
	ck_assert_str_eq(key, "site/y");
	return 1;
}

bool __wrap_nb_procs_busy(const struct nb_procs *p);
bool __wrap_nb_procs_busy(const struct nb_procs *p)
{
	(void)p;
	return false;
}

static void put_coordinator(struct nb_agent *a, int64_t mod, const char *url,
			    const char *proof, const char *host)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:s}", "site", "c", "link", url,
			      "proof", proof, "host", host);

	ck_assert(nb_view_put_json(&a->view, "order/coordinator", o, 1, mod));
	json_decref(o);
}

static void open_agent(struct nb_agent *a)
{
	char key[] = "site/y", *text;
	json_t *o;

	memset(a, 0, sizeof(*a));
	open_gather();
	followed = unwatched = 0;
	a->http = http;
	a->follow = NB_AGENT_FOLLOWING;
	a->order_rev = 15;
	snprintf(a->name, sizeof(a->name), "y");
	snprintf(a->host, sizeof(a->host), "h");
	snprintf(a->own.prefix, sizeof(a->own.prefix), "/p/");
	a->link = nb_link_new(a);
	ck_assert_ptr_nonnull(a->link);
	o = json_pack("{s:s}", "life", nb_link_life(a->link));
	text = json_dumps(o, 0);
	put(&view, key, 3, text);
	free(text);
	json_decref(o);
	put(&a->view, "order/stage", 10, "{\"n\":1}");
	put_coordinator(a, 5, nb_gather_address(gather),
			nb_gather_proof(gather), "h");
}

static void close_agent(struct nb_agent *a)
{
	nb_link_free(a->link);
	nb_own_free(&a->own);
	nb_view_clear(&a->view);
	close_gather();
}

static void tick_both(struct nb_agent *a, int ms)
{
	turn(ms);
	nb_link_check(a->link);
	nb_link_tick(a->link);
}

static void await_link(struct nb_agent *a)
{
	while (!nb_link_on(a->link))
		tick_both(a, 10);
}

START_TEST(an_agent_gets_orders_and_gives_answers)
{
	static struct nb_agent a;

	open_agent(&a);
	nb_own_answer(&a.own, "staged/y", json_pack("{s:i}", "n", 1));
	await_link(&a);
	ck_assert_uint_eq(unwatched, 1);
	ck_assert(a.own.linked);
	/* the first reply brings what the agent lacked */
	ck_assert_ptr_nonnull(nb_view_get(&a.view, "order/commit"));
	ck_assert_int_eq(a.order_rev, 25);
	ck_assert_int_eq(int_at("staged/y", "n"), 1);
	/* an urgent answer overtakes the request that waits */
	for (int i = 0; i < 5; i++)
		tick_both(&a, 10);
	nb_own_answer(&a.own, "staged/y", json_pack("{s:i}", "n", 2));
	nb_link_hurry(a.link);
	while (int_at("staged/y", "n") != 2)
		tick_both(&a, 10);
	/* the same value is not sent, and has the same time */
	ck_assert_uint_eq(a.own.answered, 2);
	nb_own_answer(&a.own, "staged/y", json_pack("{s:i}", "n", 2));
	ck_assert_uint_eq(a.own.answered, 2);
	put(&view, "order/stage", 30, "{\"n\":2}");
	nb_gather_news(gather, 30, 0);
	while (a.order_rev != 30)
		tick_both(&a, 10);
	ck_assert_int_eq(nb_view_get(&a.view, "order/stage")->mod, 30);
	ck_assert_uint_eq(followed, 0);
	close_agent(&a);
}
END_TEST

START_TEST(what_is_old_changes_nothing)
{
	static struct nb_agent a;
	json_t *o;

	open_agent(&a);
	a.order_rev = 15;
	o = json_pack("{s:I,s:b,s:[{s:s,s:I,s:I,s:{s:i}}]}", "rev",
		      (json_int_t)14, "list", 1, "order", "key", "order/stage",
		      "made", (json_int_t)1, "mod", (json_int_t)14, "value",
		      "n", 9);
	/* a list from before our own reading of the store */
	nb_agent_news(&a, o);
	ck_assert_int_eq(nb_view_get(&a.view, "order/stage")->mod, 10);
	ck_assert_ptr_nonnull(nb_view_get(&a.view, "order/coordinator"));
	/* a key that has not changed since */
	json_object_set_new(o, "rev", json_integer(16));
	json_object_set_new(o, "list", json_false());
	nb_agent_news(&a, o);
	ck_assert_int_eq(nb_view_get(&a.view, "order/stage")->mod, 10);
	ck_assert_int_eq(a.order_rev, 16);
	/* a list of now */
	json_object_set_new(o, "rev", json_integer(18));
	json_object_set_new(o, "list", json_true());
	json_object_set_new(json_array_get(json_object_get(o, "order"), 0),
			    "mod", json_integer(17));
	nb_agent_news(&a, o);
	ck_assert_int_eq(nb_view_get(&a.view, "order/stage")->mod, 17);
	ck_assert_ptr_null(nb_view_get(&a.view, "order/coordinator"));
	/* keys of other families do not come from there */
	json_object_set_new(o, "rev", json_integer(20));
	json_object_set_new(o, "list", json_false());
	json_object_set_new(json_array_get(json_object_get(o, "order"), 0),
			    "mod", json_integer(19));
	json_object_set_new(json_array_get(json_object_get(o, "order"), 0),
			    "key", json_string("site/y"));
	nb_agent_news(&a, o);
	ck_assert_ptr_null(nb_view_get(&a.view, "site/y"));
	json_decref(o);
	close_agent(&a);
}
END_TEST

START_TEST(an_agent_whose_link_ends_reads_the_store)
{
	static struct nb_agent a;

	/* the coordinator ends it */
	open_agent(&a);
	await_link(&a);
	nb_gather_allow(gather, false);
	while (nb_link_on(a.link))
		tick_both(&a, 10);
	ck_assert_uint_eq(followed, 1);
	ck_assert(!a.own.linked);
	/* and the agent links again */
	a.follow = NB_AGENT_FOLLOWING;
	nb_gather_allow(gather, true);
	await_link(&a);
	/* another coordinator has come */
	put_coordinator(&a, 26, "http://127.0.0.1:1", nb_gather_proof(gather),
			"h");
	tick_both(&a, 0);
	ck_assert(!nb_link_on(a.link));
	ck_assert_uint_eq(followed, 2);
	/* whose server cannot be reached */
	a.follow = NB_AGENT_FOLLOWING;
	for (int i = 0; i < 60; i++)
		tick_both(&a, 10);
	ck_assert(!nb_link_on(a.link));
	ck_assert_int_eq(a.follow, NB_AGENT_FOLLOWING);
	close_agent(&a);
}
END_TEST

/* Is the server of @url, with @proof and @host, believed? */
static bool believes(const char *proof, const char *host)
{
	static struct nb_agent a;
	bool on;

	open_agent(&a);
	put_coordinator(&a, 6, nb_gather_address(gather),
			proof ? proof : nb_gather_proof(gather), host);
	for (int i = 0; i < 100 && !nb_link_on(a.link); i++)
		tick_both(&a, 10);
	on = nb_link_on(a.link);
	ck_assert_int_eq(a.order_rev, on ? 25 : 15);
	close_agent(&a);
	return on;
}

START_TEST(another_program_is_not_believed)
{
	char hash[65];

	ck_assert(believes(NULL, "h"));
	nb_gather_hash("another secret", hash);
	ck_assert(!believes(hash, "h"));
	ck_assert(!believes("", "h"));
	/* the loopback address of another host */
	ck_assert(!believes(NULL, "i"));
}
END_TEST

UNIT_MAIN("fleet_link",
	  tcase_add_test(tc, a_request_needs_the_secret_of_the_site);
	  tcase_add_test(tc, bad_bodies_change_nothing);
	  tcase_add_test(tc, an_older_answer_does_not_replace_a_newer_one);
	  tcase_add_test(tc, the_newest_answer_of_the_store_counts);
	  tcase_add_test(tc, answers_survive_a_reading_of_the_store);
	  tcase_add_test(tc, answers_end_with_the_agent);
	  tcase_add_test(tc, a_waiting_request_gets_what_is_newer);
	  tcase_add_test(tc, an_agent_gets_orders_and_gives_answers);
	  tcase_add_test(tc, what_is_old_changes_nothing);
	  tcase_add_test(tc, an_agent_whose_link_ends_reads_the_store);
	  tcase_add_test(tc, another_program_is_not_believed);)
