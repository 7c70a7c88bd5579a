// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// An agent's copies of records in its segment: which records make sense, and
// that a site answers for one only after its barrier.
#include "test/unit/segment_file.h"

#include "plugin/agent/keys/view.h"
#include "plugin/agent/site/state.h"
#include "plugin/job/fence.h"

#define COMM 0xc0
#define DIGEST "1111111111111111111111111111111111111111111111111111111111111111"

static bool refused;
bool __wrap_nb_segment_membarrier(void);
bool __wrap_nb_segment_membarrier(void)
{
	return !refused;
}

static struct nb_site site;
static struct nb_seg_comm *comm;

static void site_up(void)
{
	uint32_t slot;

	set_up();
	site = (struct nb_site){ .seg = attach() };
	ck_assert_int_eq(join(site.seg, COMM, 2, 0, &comm, &slot, NULL), 0);
	comm->fleet = NB_FLEET_BEGUN;
	site.seg->mem->proc[0].flags |= NB_SEG_PROC_MEMBARRIER;
	nb_site_registered(&site, 0, 5);
	nb_site_measure(&site);
	refused = false;
}

static void site_down(void)
{
	nb_segment_detach(site.seg);
	tear_down();
}

static uint64_t copy(const char *text, int64_t mod)
{
	json_t *record = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(record);
	ck_assert(nb_site_copy(&site, COMM, record, 6, mod));
	json_decref(record);
	return comm->record.word;
}

/* The revision for which the site answers. */
static int64_t answer(void)
{
	json_t *o = nb_site_seen(&site);
	json_t *c = json_object_get(json_object_get(o, "comms"), "00000000000000c0");
	int64_t rev = json_integer_value(json_object_get(c, "rev"));

	ck_assert(json_is_object(c));
	json_decref(o);
	return rev;
}

/* A record with its place in the chain. */
#define LINK(id, was, state, n, fence)                                                        \
	"{\"id\":" id ",\"was\":" was ",\"state\":" state ",\"n\":" n ",\"digest\":\"" DIGEST \
	"\",\"fence\":" fence "}"
/* One that begins the chain. */
#define RECORD(state, n, fence) LINK("3", "0", state, n, fence)

TEST(records_that_make_sense_are_copied)
{
	uint64_t armed = copy(RECORD("\"armed\"", "1", "7"), 10);
	uint64_t commit = copy(LINK("4", "3", "\"commit\"", "1", "7"), 11);

	ck_assert_uint_eq(nb_fence_word_state(armed), NB_FENCE_ARMED);
	ck_assert_uint_eq(nb_fence_word_state(commit), NB_FENCE_COMMIT);
	ck_assert_uint_eq(nb_fence_word_seq(commit), 7);
	ck_assert_uint_eq(copy("{\"id\":5,\"was\":4,\"state\":\"none\"}", 12), 0);
}

TEST(others_are_nobodys)
{
	static const char *const wrong[] = {
		RECORD("\"comitt\"", "1", "8"),
		RECORD("\"COMMIT\"", "1", "8"),
		RECORD("\"\"", "1", "8"),
		RECORD("1", "1", "8"),
		RECORD("\"commit\"", "-1", "8"),
		RECORD("\"commit\"", "1", "-1"),
		RECORD("\"commit\"", "1", "\"8\""),
		RECORD("\"commit\"", "1", "1099511627777"),
		"{\"state\":\"commit\",\"n\":1,\"digest\":\"" DIGEST "\"}",
		"{}",
	};
	uint64_t word = copy(RECORD("\"commit\"", "1", "7"), 10);

	ck_assert(nb_site_barrier(&site));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ck_assert_msg(copy(wrong[i], 11) == word, "%s", wrong[i]);
		ck_assert(nb_site_barrier(&site));
		ck_assert_int_eq(answer(), 10);
	}
}

TEST(no_answer_without_a_barrier)
{
	copy(RECORD("\"armed\"", "1", "7"), 10);
	ck_assert_int_eq(answer(), 0);
	refused = true;
	ck_assert(!nb_site_barrier(&site));
	ck_assert_int_eq(answer(), 0);
	refused = false;
	ck_assert(nb_site_barrier(&site));
	ck_assert_int_eq(answer(), 10);
	copy(LINK("4", "3", "\"commit\"", "1", "7"), 11);
	ck_assert_int_eq(answer(), 0);
}

/* Ranks decide in bursts, so a rate over a short time would be far too high. */
TEST(a_rate_is_not_of_a_moment)
{
	struct nb_site_comm *k = &site.comm[0];
	uint64_t now_us = nb_agent_ms() * 1000;

	comm->slot[0].announced = 1000;
	k->at_us = now_us + 10000000; /* the last measurement is recent */
	nb_site_measure(&site);
	ck_assert_uint_eq(k->per_s, 0);
	k->at_us = now_us - 1000000;
	nb_site_measure(&site);
	ck_assert_uint_gt(k->per_s, 0);
	ck_assert_uint_le(k->per_s, 1000);
	ck_assert_uint_eq(k->announced, 1000);
}

TEST(each_communicator_with_a_waiting_rank_is_found)
{
	struct nb_seg_comm *c;
	uint32_t slot;

	for (uint64_t id = COMM + 1; id < COMM + 3; id++) {
		ck_assert_int_eq(join(site.seg, id, 2, 0, &c, &slot, NULL), 0);
		c->fleet = NB_FLEET_BEGUN;
	}
	ck_assert_uint_eq(nb_site_waiting(&site, 0), NB_SEG_COMMS);
	comm->slot[0].waiting = c->slot[0].waiting = 1;
	ck_assert_uint_eq(nb_site_waiting(&site, 0), 0);
	ck_assert_uint_eq(nb_site_waiting(&site, 1), 2);
	ck_assert_uint_eq(nb_site_waiting(&site, 3), NB_SEG_COMMS);
}

/* The stand that the site answers for the armed record. */
static void stands(const char *want)
{
	json_t *o = nb_site_seen(&site);
	const json_t *c = json_object_get(json_object_get(o, "comms"), "00000000000000c0");

	ck_assert_str_eq(nb_view_str(c, "stand"), want);
	json_decref(o);
}

/*
 * A process that started after the site had staged the change would adopt no
 * policy at the fence.
 */
TEST(a_rank_whose_process_lacks_the_generation_is_told)
{
	struct nb_seg_proc *p = &site.seg->mem->proc[comm->slot[0].proc];
	uint64_t word;

	word = copy(RECORD("\"armed\"", "1", "7"), 10);
	stands("unstaged");
	memset(p->digest, 0x11, sizeof(p->digest));
	stands("unstaged"); /* it has taken that change back */
	p->staged = 1;
	stands("below");
	p->digest[31] = 0;
	stands("unstaged");
	p->baseline = nb_fence_word_gen(word);
	stands("below");
	comm->slot[0].state = NB_SLOT_GONE;
	p->baseline = 0;
	stands("below");
	/* no policies: nothing is needed */
	comm->slot[0].state = NB_SLOT_LIVE;
	copy("{\"id\":4,\"was\":3,\"state\":\"armed\",\"n\":2,\"fence\":7,\"digest\":"
	     "\"0000000000000000000000000000000000000000000000000000000000000000"
	     "\"}",
	     11);
	stands("below");
}

/* A record that is copied again is not rolled back a second time. */
TEST(a_copy_keeps_what_was_asked)
{
	site.comm[0].asked = 10;
	copy(RECORD("\"armed\"", "1", "7"), 10);
	ck_assert_int_eq(site.comm[0].asked, 10);
}

/* ---- a store that goes back ---- */

#define ARM(id, was, n, fence) LINK(id, was, "\"armed\"", n, fence)
#define COMMIT(id, was, n, fence) LINK(id, was, "\"commit\"", n, fence)
/* A record that a site has written again, over an armed one or 0. */
#define AGAIN(id, was, over, n, fence)                                                   \
	"{\"id\":" id ",\"was\":" was ",\"over\":" over ",\"state\":\"commit\",\"n\":" n \
	",\"digest\":\"" DIGEST "\",\"fence\":" fence "}"

/* Change 1 is committed, with fence 7, and record 2 says so. */
static uint64_t commit_first(void)
{
	comm->fleet_id = comm->fleet_copied = comm->fleet_lost = 0;
	comm->record.word = site.comm[0].word = 0;
	copy(ARM("1", "0", "1", "7"), 7);
	return copy(COMMIT("2", "1", "1", "7"), 8);
}

/* The site writes @want again over the armed record @over; NULL: it writes nothing. */
static void again(int64_t over, const char *want)
{
	json_t *o = nb_site_again(&site, 0, over), *is = want ? json_loads(want, 0, NULL) : NULL;

	ck_assert(want ? json_equal(o, is) : !o);
	json_decref(o);
	json_decref(is);
}

/*
 * Changes 1 and 2 are committed, then the store is restored to change 1. The
 * agent may be a new one, and the store's revisions may be beyond the former
 * ones.
 */
TEST(a_copy_never_goes_back)
{
	static const int64_t later[] = { 8, 10, 11, 12, 50 };

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		uint64_t word;

		commit_first();
		copy(ARM("3", "2", "2", "20"), 10);
		word = copy(COMMIT("4", "3", "2", "20"), 11);
		ck_assert(!nb_site_lost(&site, 0));
		if (i % 2) /* another agent */
			memset(&site.comm, 0, sizeof(site.comm));
		nb_site_measure(&site);
		ck_assert_uint_eq(copy(COMMIT("2", "1", "1", "7"), later[i]), word);
		ck_assert(nb_site_lost(&site, 0));
		/* nor does it follow what the restored store does next */
		ck_assert_uint_eq(copy(ARM("5", "2", "3", "90"), 51), word);
		ck_assert_uint_eq(copy(COMMIT("6", "5", "3", "90"), 52), word);
		ck_assert(nb_site_barrier(&site));
		again(5, AGAIN("4", "3", "5", "2", "20"));
		ck_assert_uint_eq(copy(AGAIN("4", "3", "5", "2", "20"), 53), word);
		ck_assert(!nb_site_lost(&site, 0));
	}
}

/* Does the site tell why the ranks wait at the fence? */
static bool told_lost(void)
{
	json_t *o = nb_site_describe(&site, 0);
	bool told = strstr(nb_view_str(o, "differs"), "until the agents of all sites") != NULL;

	json_decref(o);
	return told;
}

/*
 * A fence was armed, and the store is restored to the time before it. Another
 * site may have copied its outcome, and then writes it again.
 */
TEST(an_armed_copy_waits_for_the_outcome_of_its_own_fence)
{
	uint64_t word;

	commit_first();
	word = copy(ARM("3", "2", "2", "20"), 10);
	ck_assert(!told_lost());
	ck_assert_uint_eq(copy(COMMIT("2", "1", "1", "7"), 8), word);
	ck_assert(nb_site_lost(&site, 0) && told_lost());
	/* the restored store arms and rolls back that fence, or another one */
	ck_assert_uint_eq(copy(COMMIT("6", "3", "1", "7"), 60), word);
	ck_assert_uint_eq(copy(COMMIT("6", "5", "1", "7"), 60), word);
	ck_assert_uint_eq(copy(AGAIN("6", "5", "0", "1", "7"), 60), word);
	ck_assert(nb_site_lost(&site, 0));
	ck_assert_uint_ne(copy(AGAIN("4", "3", "6", "2", "20"), 61), word);
	ck_assert(!nb_site_lost(&site, 0) && !told_lost());
}

/* The id for which the site answers. */
static int64_t answered(void)
{
	json_t *o = nb_site_seen(&site);
	int64_t id =
		nb_view_int(json_object_get(json_object_get(o, "comms"), "00000000000000c0"), "id");

	json_decref(o);
	return id;
}

/*
 * The store has lost the outcome of an armed fence. The site writes the arming
 * again, with another id, and answers for it: the other sites have copied the
 * same arming, the record before it, or an outcome.
 */
TEST(an_armed_copy_is_written_again_under_another_id)
{
	struct nb_seg_proc *p = &site.seg->mem->proc[comm->slot[0].proc];
	uint64_t base = commit_first(), word;
	json_t *o;
	int64_t id;
	char *text;

	memset(p->digest, 0x11, sizeof(p->digest));
	p->staged = 1;
	word = copy("{\"id\":3,\"was\":2,\"state\":\"armed\",\"n\":2,\"digest\":\"" DIGEST
		    "\",\"fence\":20,\"back\":{\"state\":\"commit\",\"n\":1,\"digest\":\"" DIGEST
		    "\",\"fence\":7}}",
		    10);
	nb_site_suspect(&site);
	again(9, NULL); /* another fence is armed, and ends by itself */
	o = nb_site_again(&site, 0, 3);
	id = nb_record_id(o);
	ck_assert(id && id != 3 && nb_record_again(o));
	ck_assert_int_eq(nb_view_int(o, "was"), 2);
	ck_assert_int_eq(nb_view_int(o, "over"), 3);
	ck_assert_str_eq(nb_view_str(o, "state"), "armed");
	ck_assert_int_eq(nb_view_int(json_object_get(o, "back"), "n"), 1);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	ck_assert(nb_site_barrier(&site));
	ck_assert_int_eq(answered(), 0);
	ck_assert_uint_eq(copy(text, 60), word);
	ck_assert(!nb_site_lost(&site, 0) && nb_site_barrier(&site));
	ck_assert_int_eq(answered(), id);
	/* the other sites have yet to answer */
	ck_assert(nb_site_outcome_lost(&site, 0) && told_lost());
	/* another site has written it again, before it saw this */
	nb_site_suspect(&site);
	ck_assert_uint_eq(copy("{\"id\":70,\"was\":2,\"over\":3,\"state\":\"armed\",\"n\":2,"
			       "\"digest\":\"" DIGEST "\",\"fence\":20}",
			       61),
			  word);
	ck_assert(!nb_site_lost(&site, 0));
	/* an armed record with the same fence, but of another change, is not the one of the copy */
	ck_assert_uint_eq(copy(ARM("80", "75", "2", "20"), 62), word);
	ck_assert(nb_site_lost(&site, 0));
	/* a site that has not copied the arming does so now */
	ck_assert_uint_eq(commit_first(), base);
	nb_site_suspect(&site);
	ck_assert_uint_eq(copy(text, 63), word);
	ck_assert(!nb_site_lost(&site, 0));
	/* one that has copied an outcome does not */
	commit_first();
	copy(ARM("3", "2", "2", "20"), 10);
	word = copy(COMMIT("4", "3", "2", "20"), 11);
	ck_assert_uint_eq(copy(text, 64), word);
	ck_assert(nb_site_lost(&site, 0));
	o = nb_site_again(&site, 0, id);
	ck_assert_int_eq(nb_record_id(o), 4);
	ck_assert_int_eq(nb_view_int(o, "over"), id);
	json_decref(o);
	free(text);
}

/* The roll-back of a fence that this site has never copied changes nothing. */
TEST(a_rolled_back_fence_may_be_missed)
{
	uint64_t word = commit_first();

	ck_assert_uint_eq(copy(COMMIT("4", "3", "1", "7"), 12), word);
	ck_assert(!nb_site_lost(&site, 0));
	/* but not its commit: this site has not answered */
	ck_assert_uint_eq(copy(COMMIT("6", "5", "2", "20"), 15), word);
	ck_assert(nb_site_lost(&site, 0));
}

/* A restored store armed a fence, and a site with a later outcome replaced it. */
TEST(an_outcome_that_is_written_again_ends_the_arming_that_it_replaces)
{
	uint64_t word = commit_first(), armed = copy(ARM("9", "2", "3", "30"), 20);

	ck_assert_uint_eq(copy(AGAIN("5", "4", "8", "1", "7"), 21), armed);
	comm->fleet_lost = 0;
	ck_assert_uint_eq(copy(AGAIN("5", "4", "9", "1", "7"), 21), word);
	/* a site without a copy takes none that others have made */
	comm->fleet_id = comm->fleet_copied = 0;
	comm->record.word = site.comm[0].word = 0;
	ck_assert_uint_eq(copy(AGAIN("5", "4", "0", "1", "7"), 22), 0);
}

/*
 * A store that has lost its data gets the record from a site that registers
 * first. An earlier communicator's record follows no copy.
 */
TEST(a_record_that_follows_is_older_than_the_registration)
{
	uint64_t word = commit_first();

	nb_site_missing(&site, 0);
	ck_assert(nb_site_lost(&site, 0));
	nb_site_registered(&site, 0, 40);
	copy(COMMIT("6", "5", "2", "20"), 30);
	ck_assert_uint_eq(copy(AGAIN("2", "1", "0", "1", "7"), 31), word);
	ck_assert(!nb_site_lost(&site, 0));
	ck_assert_uint_ne(copy(ARM("7", "2", "2", "20"), 32), word);
	comm->fleet_id = 0;
	ck_assert_uint_ne(copy(COMMIT("8", "0", "1", "7"), 33), word);
	ck_assert(!nb_site_lost(&site, 0));
}

/*
 * After the store has gone back, each site writes its outcome again, because
 * another one may have an armed copy.
 */
TEST(a_copy_is_suspect_when_the_store_has_gone_back)
{
	nb_site_suspect(&site);
	ck_assert(!nb_site_lost(&site, 0));
	copy(ARM("1", "0", "1", "7"), 7);
	nb_site_suspect(&site);
	ck_assert(nb_site_lost(&site, 0));
	commit_first();
	nb_site_suspect(&site);
	copy(COMMIT("2", "1", "1", "7"), 8);
	ck_assert(nb_site_lost(&site, 0));
	copy(AGAIN("2", "1", "0", "1", "7"), 9);
	ck_assert(!nb_site_lost(&site, 0));
}

/* An agent died while it wrote a copy: nobody knows which word ranks have read.
 */
TEST(half_a_copy_is_not_written_again)
{
	commit_first();
	comm->fleet_id = 9;
	again(0, NULL);
	comm->fleet_id = 2;
	again(0, AGAIN("2", "1", "0", "1", "7"));
	comm->mismatch = 1;
	again(0, NULL);
}

UNIT_MAIN_WITH("fleet_site", tcase_add_checked_fixture(tc, site_up, site_down);)
