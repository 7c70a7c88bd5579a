// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Tracks of several sites: ranks that agree and that do not, sites of which one
// rank stands for all, and bytes that are damaged.
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/job/segment/tracks.h"
#include "test/unit/packed.h"

enum { SITES = 3, RANKS = 2, COMM = 0x77 };

/* A segment of one communicator, with a ring for each rank. */
struct site {
	struct nb_seg seg;
	char pad[NB_SEG_RINGS_AT - sizeof(struct nb_seg)];
	char ring[RANKS][NB_SEG_RING_SIZE];
};

static struct site *site[SITES];
static struct nb_buf track[SITES], text;
static struct nb_err err;

static struct nb_seg_slot *slot_of(int s, int rank)
{
	return &site[s]->seg.comm[0].slot[rank];
}

static void set_up(void)
{
	for (int s = 0; s < SITES; s++) {
		site[s] = aligned_alloc(4096, (sizeof(struct site) + 4095) / 4096 * 4096);
		ck_assert_ptr_nonnull(site[s]);
		memset(site[s], 0, sizeof(struct site));
		site[s]->seg.ncomms = 1;
		site[s]->seg.comm[0].comm_id = COMM;
		site[s]->seg.comm[0].in_use = 1;
		site[s]->seg.comm[0].has_id = 1;
		site[s]->seg.comm[0].nranks = SITES * RANKS;
		for (int r = 0; r < RANKS; r++) {
			slot_of(s, r)->state = NB_SLOT_LIVE;
			slot_of(s, r)->ring = (uint32_t)r + 1;
			slot_of(s, r)->rank = s * RANKS + r;
			slot_of(s, r)->pid = (uint32_t)(100 + s * RANKS + r);
		}
		nb_buf_init(&track[s], 0);
	}
	nb_buf_init(&text, 0);
	err.code = 0;
}

static void tear_down(void)
{
	for (int s = 0; s < SITES; s++) {
		free(site[s]);
		nb_buf_fini(&track[s]);
	}
	nb_buf_fini(&text);
}

static void decide_offer(int s, int rank, uint64_t bytes, uint64_t usable)
{
	struct nb_seg_slot *slot = slot_of(s, rank);
	struct nb_packed *ring = (void *)site[s]->ring[rank];
	uint64_t k = slot->announced;
	uint64_t w2 = (uint64_t)NCCL_COLL_ALL_REDUCE << NB_PACKED_AT_COLL |
		      nb_packed_outcome(3, NB_PACKED_POLICY, 0, 0);

	slot->announced = k + 1;
	packed_store(&ring[k % NB_RING], k, bytes, usable << NB_PACKED_AT_USABLE, w2, 0);
	slot->hash = hash_extend(slot->hash, k, bytes, w2);
}

static void decide(int s, int rank, uint64_t bytes)
{
	decide_offer(s, rank, bytes, 0);
}

static void all_decide(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		for (int s = 0; s < SITES; s++)
			for (int r = 0; r < RANKS; r++)
				decide(s, r, 1024 + slot_of(s, r)->announced);
}

static void write_all(void)
{
	for (int s = 0; s < SITES; s++) {
		struct nb_job job = { &site[s]->seg, sizeof(struct site), NULL };

		nb_buf_clear(&track[s]);
		ck_assert(nb_tracks_write(&job, false, 0, NB_TRACKS_ROOM, &track[s]));
	}
}

static int compare(size_t n, bool one)
{
	static const char *const names[] = { "west", "east", "south" };
	struct nb_tracks all[SITES];
	struct nb_json j;
	int rc;

	for (size_t s = 0; s < n; s++)
		all[s] = (struct nb_tracks){ names[s], track[s].data, track[s].size };
	nb_buf_clear(&text);
	nb_json_init(&j, &text);
	nb_json_obj(&j);
	rc = nb_tracks_json(all, n, one, COMM, 1 << 20, &j, &err);
	if (!rc)
		nb_json_end_obj(&j);
	return rc;
}

static bool says(const char *what)
{
	return strstr(nb_buf_text(&text), what) != NULL;
}

TEST(sites_that_agree_send_one_ring_each)
{
	all_decide(3000);
	decide(1, 1, 5000); /* ahead of all others */
	write_all();
	ck_assert_uint_lt(track[0].size, 2 * NB_SEG_RING_SIZE);
	ck_assert_int_eq(compare(SITES, true), 0);
	ck_assert_msg(says("\"verdict\":\"agreed\""), "%s", nb_buf_text(&text));
	ck_assert(says("\"agree\":true") && says("\"compared_to\":3000"));
	ck_assert(says("\"ranks\":6,\"here\":6") && says("\"sites\":3"));
	ck_assert(says("\"site\":\"south\",\"slot\":1,\"rank\":5,\"pid\":105"));
}

TEST(a_slow_rank_bounds_the_comparison)
{
	all_decide(100);
	decide(0, 0, 1);
	decide(0, 0, 1);
	decide(0, 1, 1);
	write_all();
	ck_assert_int_eq(compare(SITES, false), 0);
	ck_assert_msg(says("\"compared_to\":100"), "%s", nb_buf_text(&text));
	ck_assert(says("\"members\":[]"));
}

TEST(a_site_that_differs_is_found)
{
	all_decide(400);
	for (int s = 0; s < SITES; s++)
		for (int r = 0; r < RANKS; r++)
			decide(s, r, s == 2 ? 7 : 8);
	all_decide(10);
	write_all();
	ck_assert_int_eq(compare(SITES, false), 0);
	ck_assert_msg(says("\"verdict\":\"diverged\""), "%s", nb_buf_text(&text));
	ck_assert(says("\"agree\":false") && says("\"seq\":400"));
	/* both ranks of the site, also the one whose ring did not travel */
	ck_assert(says("\"site\":\"south\",\"slot\":0,\"rank\":4") && says("\"bytes\":7") &&
		  says("\"bytes\":8"));
	ck_assert(strstr(strstr(nb_buf_text(&text), "\"rank\":5"), "\"differs\":true") != NULL);
	/* without that site nothing differs */
	ck_assert_int_eq(compare(2, false), 0);
	ck_assert(says("\"verdict\":\"agreed\"") && says("\"here\":4"));
}

TEST(a_rank_that_differs_within_its_site_is_found)
{
	all_decide(50);
	for (int s = 0; s < SITES; s++)
		for (int r = 0; r < RANKS; r++)
			decide(s, r, s == 1 && r == 1 ? 7 : 8);
	all_decide(5);
	write_all();
	ck_assert_int_eq(compare(SITES, false), 0);
	ck_assert(says("\"verdict\":\"diverged\"") && says("\"seq\":50"));
	ck_assert(strstr(strstr(nb_buf_text(&text), "\"rank\":3"), "\"differs\":true") != NULL);
	ck_assert(strstr(strstr(nb_buf_text(&text), "\"rank\":2"), "\"differs\":false") != NULL);
}

/* Ranks that were offered different choices may still decide alike. */
TEST(an_offer_of_one_rank_is_found_within_its_site)
{
	all_decide(10);
	for (int s = 0; s < SITES; s++)
		for (int r = 0; r < RANKS; r++)
			decide_offer(s, r, 64, s == 1 && r == 0 ? 0x8 : 0x38);
	write_all();
	ck_assert_int_eq(compare(SITES, true), 0);
	ck_assert_msg(says("\"verdict\":\"agreed\"") && says("\"offers\":[{\"site\":"), "%s",
		      nb_buf_text(&text));
	ck_assert(says("\"site\":\"east\",\"slot\":0,\"rank\":2,\"seq\":10,"
		       "\"coll\":\"allreduce\",\"bytes\":64,\"usable\":8"));
}

TEST(communicators_of_one_site_stay_at_home)
{
	all_decide(10);
	site[0]->seg.comm[0].nranks = RANKS;
	write_all();
	ck_assert_int_eq(compare(1, false), 0);
	ck_assert(says("\"comms\":[]"));
}

TEST(what_does_not_fit_is_counted)
{
	struct nb_job job = { &site[0]->seg, sizeof(struct site), NULL };

	all_decide(10);
	ck_assert(nb_tracks_write(&job, false, 0, 1000, &track[0]));
	ck_assert_int_eq(compare(1, false), 0);
	ck_assert(says("\"comms\":[]") && says("\"left_out\":1"));
}

TEST(damaged_bytes_are_refused)
{
	uint64_t x = 88172645463325252u;
	size_t size;

	all_decide(10);
	write_all();
	size = track[1].size;
	for (size_t n = 0; n < size; n += n < 400 ? 1 : 997) {
		track[1].size = n;
		ck_assert_int_eq(compare(SITES, false), NB_E_FORMAT);
		ck_assert_ptr_nonnull(strstr(err.text, "east"));
	}
	track[1].size = size;
	track[1].data[8]++;
	ck_assert_int_eq(compare(SITES, false), NB_E_VERSION);
	track[1].data[8]--;
	/* any other bytes: no crash, no endless loop */
	for (int round = 0; round < 2000; round++) {
		size_t at;
		char was;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		at = (size_t)(x % (round % 2 ? 500 : size));
		was = track[1].data[at];
		track[1].data[at] = (char)(x >> 56);
		(void)compare(SITES, round % 4 == 0);
		if (round % 3)
			track[1].data[at] = was;
	}
}

UNIT_MAIN_WITH("tracks", tcase_add_checked_fixture(tc, set_up, tear_down);)
