// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// How an agent reads the store's keys, and what it concludes from the revisions
// of replies, which may come in another order than their requests.
#include "test/unit/segment_file.h"

#include "plugin/agent/agent.h"
#include "plugin/agent/coordinator/coordinator.h"

#define COMM 0xc0
#define KEY "order/record/00000000000000c0"
#define RECORD "{\"id\":3,\"was\":0,\"state\":\"none\"}"

/* The requests that the store has got and not answered, and its watch. */
static nb_store_done_fn *kept, *read_done, *written;
static void *kept_arg, *read_arg, *written_arg;
static nb_store_watch_fn *watch;
static void *watch_arg;

int __wrap_nb_store_lease_keepalive(struct nb_store *s, int64_t lease, nb_store_done_fn *done,
				    void *arg, struct nb_err *err);
int __wrap_nb_store_lease_keepalive(struct nb_store *s, int64_t lease, nb_store_done_fn *done,
				    void *arg, struct nb_err *err)
{
	(void)s;
	(void)lease;
	(void)err;
	kept = done;
	kept_arg = arg;
	return 0;
}

int __wrap_nb_store_do(struct nb_store *s, const struct nb_store_op *op, nb_store_done_fn *done,
		       void *arg, struct nb_err *err);
int __wrap_nb_store_do(struct nb_store *s, const struct nb_store_op *op, nb_store_done_fn *done,
		       void *arg, struct nb_err *err)
{
	(void)s;
	(void)err;
	ck_assert_int_eq(op->kind, NB_STORE_GET_PREFIX);
	ck_assert_str_eq(op->key, "/p/order/");
	ck_assert(!read_done);
	read_done = done;
	read_arg = arg;
	return 0;
}

/* The first transaction writes the agent's keys; those of records get no reply. */
int __wrap_nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *done,
			void *arg, struct nb_err *err);
int __wrap_nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *done,
			void *arg, struct nb_err *err)
{
	(void)s;
	(void)err;
	if (!strncmp(txn->compare[0].key, "/p/order/", 9))
		return 0;
	written = done;
	written_arg = arg;
	return 0;
}

struct nb_store_watch *__wrap_nb_store_watch(struct nb_store *s, const char *prefix,
					     int64_t revision, nb_store_watch_fn *fn, void *arg,
					     struct nb_err *err);
struct nb_store_watch *__wrap_nb_store_watch(struct nb_store *s, const char *prefix,
					     int64_t revision, nb_store_watch_fn *fn, void *arg,
					     struct nb_err *err)
{
	(void)s;
	(void)prefix;
	(void)revision;
	(void)err;
	watch = fn;
	watch_arg = arg;
	return (struct nb_store_watch *)&watch;
}

void __wrap_nb_store_unwatch(struct nb_store_watch *w);
void __wrap_nb_store_unwatch(struct nb_store_watch *w)
{
	(void)w;
	watch = NULL;
}

static struct nb_agent a;
static struct nb_coord *coord;
static struct nb_seg_comm *comm;
static struct nb_seg_agent *self;

/* An agent with a lease, a registered communicator, and a copy of its record. */
static void agent_up(void)
{
	uint32_t slot;

	set_up();
	a = (struct nb_agent){ .name = "x",
			       .lease = 1,
			       .site.seg = attach(),
			       .own = { .prefix = "/p/", .site = a.name, .lease = 1 } };
	self = &a.site.seg->mem->agent;
	self->revision = 100;
	ck_assert_int_eq(join(a.site.seg, COMM, 2, 0, &comm, &slot, NULL), 0);
	comm->fleet = NB_FLEET_BEGUN;
	comm->fleet_id = comm->fleet_copied = 3;
	nb_site_registered(&a.site, 0, 50);
	coord = nb_coord_new(&a);
	ck_assert_ptr_nonnull(coord);
}

static void agent_down(void)
{
	nb_coord_free(coord);
	nb_view_clear(&a.view);
	nb_own_free(&a.own);
	nb_segment_detach(a.site.seg);
	tear_down();
}

static void keepalive_is_answered(int64_t revision)
{
	const struct nb_store_reply r = { .revision = revision, .ttl_s = 10 };

	ck_assert(kept);
	kept(kept_arg, &r);
	kept = NULL;
}

static void writing_is_answered(int64_t revision)
{
	const struct nb_store_reply r = { .succeeded = true, .revision = revision };
	nb_store_done_fn *done = written;

	ck_assert(done);
	written = NULL;
	done(written_arg, &r);
}

static struct nb_store_kv record_kv(bool deleted)
{
	const int64_t mod = deleted ? 110 : 51;

	return (struct nb_store_kv){ .key = "/p/" KEY,
				     .value = RECORD,
				     .size = sizeof(RECORD) - 1,
				     .create_revision = 51,
				     .mod_revision = mod,
				     .deleted = deleted };
}

/* @record: the store has the record */
static void reading_is_answered(int64_t revision, bool record)
{
	const struct nb_store_kv kv[] = {
		{ .key = "/p/order/coordinator",
		  .value = "{\"site\":\"y\"}",
		  .size = 12,
		  .create_revision = 7,
		  .mod_revision = 7 },
		record_kv(false),
	};
	const struct nb_store_reply r = { .revision = revision, .kv = kv, .nkv = 1 + record };
	nb_store_done_fn *done = read_done;

	ck_assert(done);
	read_done = NULL;
	done(read_arg, &r);
	ck_assert_int_eq(a.follow, NB_AGENT_FOLLOWING);
}

/* The watch has ended: the next round reads the keys again. */
static void is_interrupted(void)
{
	const struct nb_err err = { .code = NB_E_STORE };
	const struct nb_store_watch_report r = { .err = &err };

	watch(watch_arg, &r);
	a.follow_ms = 0;
	a.lease_ms = 0; /* a keepalive is due, too */
	(void)nb_agent_tick(&a, coord);
	ck_assert_int_eq(a.follow, NB_AGENT_READING);
}

/* The id of the record for which the site answers. */
static bool answers_for(const char *id)
{
	return a.own.key[NB_OWN_ANSWER].want && strstr(a.own.key[NB_OWN_ANSWER].want, id);
}

/* Otherwise a site with an armed copy would refuse its outcome, and wait for ever. */
TEST(a_keepalive_that_is_answered_before_a_reading_is_no_restore)
{
	agent_up();
	(void)nb_agent_tick(&a, coord);
	ck_assert_int_eq(a.follow, NB_AGENT_READING);
	keepalive_is_answered(102);
	reading_is_answered(100, true);
	ck_assert_uint_eq(self->back_from, 0);
	ck_assert_uint_eq(self->revision, 102);
	(void)nb_agent_tick(&a, coord);
	ck_assert(!nb_site_lost(&a.site, 0));
	ck_assert(answers_for("\"id\":3"));
	/* the next reading has to show what the keepalive has shown */
	is_interrupted();
	keepalive_is_answered(103);
	reading_is_answered(101, true);
	ck_assert_uint_eq(self->back_from, 103);
	ck_assert_uint_eq(self->back_to, 101);
	ck_assert(nb_site_lost(&a.site, 0));
	agent_down();
}

/* A record that is made meanwhile would be older than a second registration. */
TEST(a_registration_that_is_confirmed_before_a_reading_stays)
{
	agent_up();
	nb_site_registered(&a.site, 0, 0);
	(void)nb_agent_tick(&a, coord);
	writing_is_answered(101);
	a.scan_ms = 0;
	(void)nb_agent_tick(&a, coord);
	ck_assert_uint_eq(comm->fleet_since, 101);
	ck_assert_uint_eq(self->revision, 101);
	reading_is_answered(100, true);
	ck_assert_uint_eq(comm->fleet_since, 101);
	/* a restored store has to confirm it again */
	is_interrupted();
	reading_is_answered(60, false);
	a.scan_ms = 0;
	(void)nb_agent_tick(&a, coord);
	ck_assert_uint_eq(self->revision, 60);
	ck_assert_uint_eq(comm->fleet_since, 0);
	agent_down();
}

/* The coordinator must not take the copy for one that the site still answers for. */
TEST(an_answer_does_not_name_a_lost_record)
{
	const struct nb_store_kv deleted = record_kv(true);
	const struct nb_store_watch_report r = { .kv = &deleted, .nkv = 1 };

	agent_up();
	(void)nb_agent_tick(&a, coord);
	reading_is_answered(100, true);
	(void)nb_agent_tick(&a, coord);
	ck_assert(answers_for("\"id\":3"));
	watch(watch_arg, &r);
	(void)nb_agent_tick(&a, coord);
	ck_assert(nb_site_lost(&a.site, 0));
	ck_assert(answers_for("\"id\":0"));
	agent_down();
}

/* Nor if the store has gone back and lacks the record. */
TEST(an_answer_does_not_name_a_record_of_a_store_that_has_gone_back)
{
	agent_up();
	(void)nb_agent_tick(&a, coord);
	reading_is_answered(100, true);
	(void)nb_agent_tick(&a, coord);
	is_interrupted();
	reading_is_answered(60, false);
	(void)nb_agent_tick(&a, coord);
	ck_assert(nb_site_lost(&a.site, 0));
	ck_assert(answers_for("\"id\":0"));
	agent_down();
}

UNIT_MAIN("fleet_follow")
