// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What an agent takes from the store's orders, and its own keys there when its
// lease ends while one is being written.
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/agent/agent.h"
#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/agent/keys/keys.h"
#include "plugin/agent/site/order.h"
#include "plugin/agent/site/procs.h"
#include "plugin/job/segment.h"

static struct nb_procs_order order;
static struct nb_err err;

/* The clock: tests step it. */
static uint64_t clock_s = 100;
uint64_t __wrap_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void)
{
	return clock_s * 1000000000;
}

static int line(const char *text)
{
	memset(&order, 0, sizeof(order));
	err.code = 0;
	return nb_procs_order_line(&order, text, &err);
}

TEST(changes_are_taken)
{
	ck_assert_int_eq(line("policy use none"), 0);
	ck_assert_str_eq(order.line, "policy use none");
	ck_assert_int_eq(line("map set m 00 01"), 0);
	ck_assert_int_eq(line("policy undo"), 0);
}

TEST(other_lines_are_not)
{
	ck_assert_int_ne(line("env set NCCL_X 1\npolicy use none"), 0);
	ck_assert_int_ne(line("policy use none\nenv set NCCL_X 1"), 0);
	ck_assert_int_ne(line("env set NCCL_X 1"), 0);
	ck_assert_int_ne(line("policy load x"), 0);
	ck_assert_int_ne(line("change commit x"), 0);
	ck_assert_int_ne(line("@1 policy use none"), 0);
	ck_assert_int_ne(line("policy use none commit=no"), 0);
	ck_assert_int_ne(line("policy use \"none"), 0);
	ck_assert_str_eq(order.line, "");
}

TEST(a_long_line_is_not_cut)
{
	char text[sizeof(order.line) + 1];

	memset(text, ' ', sizeof(text));
	memcpy(text, "policy use none", 15);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(line(text), NB_E_LIMIT);
	text[sizeof(text) - 2] = '\0';
	ck_assert_int_eq(line(text), 0);
}

TEST(names_are_one_word)
{
	static const char *const wrong[] = { "", "a b", "a\nenv set X 1", "a x=1", "\"a\"" };
	struct nb_procs_blob b = { .size = 0 };
	char text[80];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_ne(nb_procs_blob_name(&b, wrong[i], &err), 0);
	memset(text, 'a', sizeof(text));
	text[sizeof(b.name)] = '\0';
	ck_assert_int_eq(nb_procs_blob_name(&b, text, &err), NB_E_LIMIT);
	text[sizeof(b.name) - 1] = '\0';
	ck_assert_int_eq(nb_procs_blob_name(&b, text, &err), 0);
	ck_assert_str_eq(b.name, text);
}

/* ---- own keys ---- */

static nb_store_done_fn *done;
static void *done_arg;
static int64_t put_lease;

static size_t nput, ncompare, ntxn;
static int64_t compared;
static char compared_key[64], put_key[64];

int __wrap_nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *fn,
			void *arg, struct nb_err *e);
int __wrap_nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *fn,
			void *arg, struct nb_err *e)
{
	(void)s;
	(void)e;
	put_lease = txn->nthen ? txn->then[0].lease : 0;
	snprintf(put_key, sizeof(put_key), "%s", txn->nthen ? txn->then[0].key : "");
	nput = txn->nthen;
	ntxn++;
	ncompare = txn->ncompare;
	if (ncompare) {
		compared = txn->compare[0].revision;
		snprintf(compared_key, sizeof(compared_key), "%s", txn->compare[0].key);
	}
	done = fn;
	done_arg = arg;
	return 0;
}

static void reply(int64_t revision)
{
	struct nb_store_reply r = { .succeeded = true, .revision = revision };

	put_lease = 0;
	done(done_arg, &r);
}

static struct nb_own own_new(void)
{
	return (struct nb_own){ .prefix = "/p/", .site = "x", .lease = 1 };
}

static uint64_t set_own(struct nb_own *o, enum nb_own_which which, int a)
{
	return nb_own_set(o, which, json_pack("{s:i}", "a", a));
}

TEST(a_key_of_a_lost_lease_is_written_again)
{
	struct nb_own o = own_new();
	uint64_t n = set_own(&o, NB_OWN_SITE, 1);

	nb_own_flush(&o);
	ck_assert_int_eq(put_lease, 1);
	ck_assert_str_eq(put_key, "/p/site/x");
	ck_assert_int_eq(nb_own_written(&o, NB_OWN_SITE, n), 0);
	/* the lease ends, and another is granted, before the reply */
	nb_own_lease(&o, 0);
	nb_own_lease(&o, 2);
	reply(7);
	ck_assert_int_eq(put_lease, 2);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 0);
	ck_assert_int_eq(nb_own_written(&o, NB_OWN_SITE, n), 7);
	reply(8);
	ck_assert_int_eq(put_lease, 0); /* once */
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 8);
	nb_own_free(&o);
}

/* The store has had each value up to the confirmed one, but no later one. */
TEST(a_value_that_changes_again_and_again_is_written)
{
	struct nb_own o = own_new();
	uint64_t first = set_own(&o, NB_OWN_SITE, 1), last;

	nb_own_flush(&o);
	ck_assert_uint_eq(set_own(&o, NB_OWN_SITE, 1), first);
	last = set_own(&o, NB_OWN_SITE, 2);
	reply(7);
	ck_assert_int_eq(nb_own_written(&o, NB_OWN_SITE, first), 7);
	ck_assert_int_eq(nb_own_written(&o, NB_OWN_SITE, last), 0);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 0);
	reply(8);
	ck_assert_int_eq(nb_own_written(&o, NB_OWN_SITE, last), 8);
	nb_own_free(&o);
}

/*
 * A write that timed out may still take effect. It cannot replace the next one,
 * because each requires the revision that the key had when it was sent.
 */
TEST(a_late_write_cannot_replace_its_successor)
{
	struct nb_own o = own_new();
	struct nb_err late = { .code = NB_E_TIMEOUT };
	struct nb_store_kv found = { .key = "/p/site/x", .mod_revision = 6 };
	struct nb_store_reply r = { .err = &late, .unknown = true };

	set_own(&o, NB_OWN_SITE, 1);
	nb_own_flush(&o);
	ck_assert_uint_eq(ncompare, 1);
	ck_assert_str_eq(compared_key, "/p/site/x");
	ck_assert_int_eq(compared, 0);
	done(done_arg, &r);
	nb_own_flush(&o);
	ck_assert_int_eq(compared, 0); /* it excludes the first write */
	/* the first write took effect, so the store refuses the second */
	r = (struct nb_store_reply){ .kv = &found, .nkv = 1, .revision = 9 };
	put_lease = 0;
	done(done_arg, &r);
	ck_assert_int_eq(put_lease, 1);
	ck_assert_int_eq(compared, 6);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 0);
	reply(10);
	ck_assert_int_eq(put_lease, 0);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 10);
	set_own(&o, NB_OWN_SITE, 2);
	nb_own_flush(&o);
	ck_assert_int_eq(compared, 10);
	/* the store has lost the key since */
	r = (struct nb_store_reply){ .revision = 11 };
	done(done_arg, &r);
	ck_assert_int_eq(compared, 0);
	reply(12);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 12);
	nb_own_free(&o);
}

/* The store never shows an answer before the facts that belong to it. */
TEST(both_keys_are_written_at_once)
{
	struct nb_own o = own_new();

	set_own(&o, NB_OWN_SITE, 1);
	set_own(&o, NB_OWN_ANSWER, 1);
	nb_own_flush(&o);
	ck_assert_uint_eq(nput, 2);
	nput = 0;
	set_own(&o, NB_OWN_ANSWER, 2);
	nb_own_flush(&o);
	ck_assert_uint_eq(nput, 0); /* a write is under way */
	set_own(&o, NB_OWN_SITE, 2);
	reply(7);
	ck_assert_uint_eq(nput, 2);
	reply(8);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 8);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_ANSWER), 8);
	nput = 0;
	set_own(&o, NB_OWN_ANSWER, 3);
	nb_own_flush(&o);
	ck_assert_uint_eq(nput, 1);
	ck_assert_str_eq(put_key, "/p/answer/x");
	nb_own_free(&o); /* with a write under way */
}

TEST(a_key_that_somebody_deleted_is_written_again)
{
	struct nb_own o = own_new();
	struct nb_store_kv found = { .key = "/p/site/x", .mod_revision = 7, .op = 0 };
	struct nb_store_reply r = { .kv = &found, .nkv = 1, .revision = 9 };

	set_own(&o, NB_OWN_SITE, 1);
	set_own(&o, NB_OWN_ANSWER, 1);
	nb_own_flush(&o);
	reply(7);
	nb_own_compare(&o);
	ck_assert_uint_eq(nput, 0);
	ck_assert_uint_eq(ncompare, 2);
	done(done_arg, &r); /* the store has no answer/x */
	ck_assert_uint_eq(nput, 1);
	ck_assert_str_eq(put_key, "/p/answer/x");
	ck_assert_int_eq(compared, 0);
	ck_assert_int_eq(nb_own_confirmed(&o, NB_OWN_SITE), 7);
	nb_own_free(&o);
}

/*
 * The last key of a site, ended/SITE, is refused if the next agent of its
 * segment has registered before the store gets it.
 */
TEST(the_last_key_needs_our_own)
{
	struct nb_own o = own_new();

	ck_assert_int_eq(nb_own_ended(&o, NULL, NULL), NB_E_STALE);
	set_own(&o, NB_OWN_SITE, 1);
	nb_own_flush(&o);
	/* its write is under way */
	ck_assert_int_eq(nb_own_ended(&o, NULL, NULL), NB_E_STALE);
	reply(7);
	nput = 0;
	ck_assert_int_eq(nb_own_ended(&o, NULL, NULL), 0);
	ck_assert_uint_eq(nput, 1);
	ck_assert_str_eq(put_key, "/p/ended/x");
	ck_assert_int_eq(put_lease, 0);
	ck_assert_uint_eq(ncompare, 1);
	ck_assert_str_eq(compared_key, "/p/site/x");
	ck_assert_int_eq(compared, 7);
	nb_own_free(&o);
}

/* ---- processes that started after a change ---- */

static unsigned late, given;
static enum nb_procs_kind given_kind;

unsigned __wrap_nb_site_late(const struct nb_site *s);
unsigned __wrap_nb_site_late(const struct nb_site *s)
{
	(void)s;
	return late;
}

bool __wrap_nb_procs_busy(const struct nb_procs *p);
bool __wrap_nb_procs_busy(const struct nb_procs *p)
{
	(void)p;
	return false;
}

bool __wrap_nb_procs_give(struct nb_procs *p, struct nb_procs_order *o);
bool __wrap_nb_procs_give(struct nb_procs *p, struct nb_procs_order *o)
{
	(void)p;
	given_kind = o->kind;
	nb_procs_order_free(o);
	given++;
	return true;
}

/* Let @seconds pass. The processes refuse each try. */
static unsigned tries_in(struct nb_agent *a, unsigned seconds)
{
	struct nb_procs_result refused = { .kind = NB_PROCS_LATE, .n = 3 };

	nb_fail(&refused.err, NB_E_REFUSED, 0, "its maps have changed");
	given = 0;
	while (seconds--) {
		unsigned before = given;

		clock_s++;
		nb_agent_orders(a);
		if (given == before)
			continue;
		ck_assert_int_eq(given_kind, NB_PROCS_LATE);
		nb_agent_result(a, &refused);
	}
	return given;
}

TEST(what_cannot_succeed_is_tried_ever_less)
{
	static const char value[] = "{\"n\":3,\"digest\":\"d\",\"line\":\"policy use none\"}";
	static struct nb_agent a;
	struct nb_segment seg = { .shared = true };

	seg.mem = calloc(1, sizeof(*seg.mem));
	ck_assert_ptr_nonnull(seg.mem);
	seg.mem->agent.change = 3;
	a.site.seg = &seg;
	ck_assert(nb_view_put(&a.view, "order/commit", value, strlen(value), 1, 1));
	clock_s = 100;
	ck_assert_uint_eq(tries_in(&a, 3600), 0); /* no process lacks it */
	late = 1;
	ck_assert_uint_ge(tries_in(&a, 60), 3);
	ck_assert_uint_le(tries_in(&a, 3600), 20);
	ck_assert_uint_ge(tries_in(&a, 3600), 2); /* but never given up */
	late = 2;				  /* another process has started */
	ck_assert_uint_ge(tries_in(&a, 60), 3);
	nb_view_clear(&a.view);
	free(seg.mem);
}

/* ---- the id of an order ---- */

/* A store that has lost a change may use its number for another one. */
TEST(an_answer_names_the_order_that_was_carried_out)
{
	static const char first[] = "{\"n\":4,\"id\":77}", other[] = "{\"n\":4,\"id\":78}";
	static struct nb_agent a;
	struct nb_segment seg = { .shared = true };

	seg.mem = calloc(1, sizeof(*seg.mem));
	ck_assert_ptr_nonnull(seg.mem);
	a.site.seg = &seg;
	ck_assert(nb_view_put(&a.view, "order/stage", first, strlen(first), 1, 1));
	nb_agent_orders(&a);
	ck_assert_ptr_nonnull(strstr(a.own.key[NB_OWN_ANSWER].want, "\"id\":77,\"n\":4"));
	ck_assert(nb_view_put(&a.view, "order/stage", other, strlen(other), 1, 2));
	nb_agent_orders(&a);
	ck_assert_ptr_nonnull(strstr(a.own.key[NB_OWN_ANSWER].want, "\"id\":77,\"n\":4"));
	json_decref(a.result);
	nb_view_clear(&a.view);
	nb_own_free(&a.own);
	free(seg.mem);
}

/* ---- ranks that switch while their site answers an order ---- */

static struct nb_seg_slot *switching;

json_t *__real_nb_site_seen(const struct nb_site *s);
json_t *__wrap_nb_site_seen(const struct nb_site *s);
json_t *__wrap_nb_site_seen(const struct nb_site *s)
{
	json_t *o = __real_nb_site_seen(s);

	if (switching)
		switching->generation = 7;
	return o;
}

/* The coordinator waits for this news before it arms the next fence. */
TEST(a_rank_that_switches_meanwhile_is_not_forgotten)
{
	struct nb_procs_result staged = { .kind = NB_PROCS_STAGE, .n = 4 };
	static struct nb_agent a;
	struct nb_segment seg = { .shared = true };
	struct nb_seg_comm *c;

	seg.mem = calloc(1, sizeof(*seg.mem));
	ck_assert_ptr_nonnull(seg.mem);
	c = &seg.mem->comm[0];
	c->in_use = c->has_id = 1;
	c->comm_id = 9;
	c->fleet = NB_FLEET_BEGUN;
	c->fleet_since = 1;
	c->slot[0].state = NB_SLOT_LIVE;
	c->slot[0].announced = 101;
	a.site.seg = &seg;
	a.site.comm[0].comm_id = 9;
	a.site.comm[0].word = nb_fence_word(NB_FENCE_COMMIT, 7, 100);
	a.pending = true;
	nb_agent_result(&a, &staged);
	ck_assert(a.pending); /* the rank has yet to switch */
	switching = &c->slot[0];
	staged.n = 5;
	nb_agent_result(&a, &staged);
	switching = NULL;
	ck_assert(!nb_site_pending(&a.site));
	/* the key does not say that the rank has switched; the agent will */
	ck_assert_ptr_nonnull(strstr(a.own.key[NB_OWN_ANSWER].want, "\"taken\":false"));
	ck_assert(a.pending);
	/* a later answer does, so nothing is left to tell */
	staged.n = 6;
	nb_agent_result(&a, &staged);
	ck_assert_ptr_nonnull(strstr(a.own.key[NB_OWN_ANSWER].want, "\"taken\":true"));
	ck_assert(!a.pending);
	nb_own_free(&a.own);
	free(seg.mem);
}

/* ---- ranks that wait at a fence ---- */

/* But not at a fence that was armed again: another site may know its outcome. */
TEST(all_waiting_communicators_are_rolled_back)
{
	static const char armed[] = "{\"state\":\"armed\",\"back\":{\"state\":\"none\"}}";
	static const char again[] =
		"{\"over\":1,\"state\":\"armed\",\"back\":{\"state\":\"none\"}}";
	struct nb_err away = { .code = NB_E_STORE };
	struct nb_store_reply failed = { .err = &away };
	static struct nb_agent a;
	struct nb_coord *coord;
	struct nb_segment seg = { .shared = true };

	seg.mem = calloc(1, sizeof(*seg.mem));
	a = (struct nb_agent){ .site.seg = &seg,
			       .own = { .prefix = "/p/", .site = "x" },
			       .lease_busy = true,
			       .follow = NB_AGENT_FOLLOWING,
			       .scan_ms = UINT64_MAX / 2 };
	coord = nb_coord_new(&a);
	ck_assert(seg.mem && coord);
	for (unsigned i = 0; i < 4; i++) {
		struct nb_seg_comm *c = &seg.mem->comm[i];
		const char *value = i < 3 ? armed : again;
		char key[64];

		c->in_use = c->has_id = 1;
		c->comm_id = 7 + i;
		c->fleet = NB_FLEET_BEGUN;
		c->slot[0].state = NB_SLOT_LIVE;
		c->slot[0].waiting = i != 1;
		a.site.comm[i].copied = 20 + i;
		snprintf(key, sizeof(key), "order/record/%016x", 7 + i);
		ck_assert(nb_view_put(&a.view, key, value, strlen(value), 1, 20 + i));
	}
	ntxn = 0;
	clock_s = 100;
	(void)nb_agent_tick(&a, coord);
	ck_assert_uint_eq(ntxn, 0);
	clock_s++; /* longer than a rank may wait */
	(void)nb_agent_tick(&a, coord);
	(void)nb_agent_tick(&a, coord);
	ck_assert_uint_eq(ntxn, 2);
	ck_assert_str_eq(put_key, "/p/order/record/0000000000000009");
	ck_assert_int_eq(compared, 22);
	/* a failed request is repeated, that one alone */
	done(done_arg, &failed);
	(void)nb_agent_tick(&a, coord);
	ck_assert_uint_eq(ntxn, 3);
	ck_assert_str_eq(put_key, "/p/order/record/0000000000000009");
	nb_coord_free(coord);
	nb_view_clear(&a.view);
	nb_own_free(&a.own);
	free(seg.mem);
}

/* ---- a lost runner ---- */

/*
 * The runner's last request may place the candidate. Its guard is dropped or
 * carried out only after all requests.
 */
TEST(a_guard_does_not_overtake_a_request)
{
	static const char guard[] = "{\"id\":\"r\",\"line\":\"policy use x\"}";
	static const char placed[] = "{\"n\":3,\"rollout\":\"r\"}";
	static const char request[] = "{\"line\":\"policy use y\"}";
	static struct nb_seg mem;
	struct nb_segment seg = { .mem = &mem };
	static struct nb_agent a;
	struct nb_coord *c;

	a = (struct nb_agent){
		.own = own_new(), .site.seg = &seg, .name = "x", .lease = 1, .whole = true
	};
	c = nb_coord_new(&a);
	ck_assert_ptr_nonnull(c);
	c->key_mod = 8;
	ck_assert(nb_view_put(&a.view, "order/coordinator", "{\"site\":\"x\"}", 12, 8, 8));
	ck_assert(nb_view_put(&a.view, "guard/line", guard, strlen(guard), 40, 41));
	ck_assert(nb_view_put(&a.view, "request/q", request, strlen(request), 39, 39));
	nb_coord_tick(c);
	ck_assert_str_eq(put_key, "/p/order/stage");
	ck_assert_str_eq(c->request, "q");
	ck_assert_ptr_null(c->guard);
	nb_view_remove(&a.view, "request/q");
	c->term++;
	reply(50);
	c->sending = false;
	nput = 0;
	ck_assert(nb_coord_guard.due(c));
	ck_assert_uint_eq(nput, 2); /* delete the guard, record that */
	c->term++;
	reply(51);
	c->sending = false;
	ck_assert(nb_view_put(&a.view, "order/commit", placed, strlen(placed), 42, 42));
	c->guard_tries = 0;
	ck_assert(nb_coord_guard.due(c));
	ck_assert_str_eq(put_key, "/p/order/stage");
	ck_assert_ptr_nonnull(c->guard);
	c->term++;
	reply(52);
	nb_coord_free(c);
	nb_view_clear(&a.view);
}

UNIT_MAIN("fleet_order")
