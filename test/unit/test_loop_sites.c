// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The maps of other sites: merged on their own site, packed once more, posted
// by an agent, checked, and merged into what the controllers see. What another
// site sends may be cut off, scribbled over, or made by somebody else.
#include "test/unit/loop.h"

#include <stdio.h>

#include "plugin/controller/controller.h"
#include "plugin/controller/sites.h"

/* What the elected process of a site with @n processes sends. */
static struct nb_buf site_maps(const struct process *p, int n)
{
	struct nb_gen *own = own_of(p[0].gen);
	struct nb_err err = { 0 };
	struct nb_buf out;
	uint64_t lost = 0;

	for (int i = 0; i < n; i++) {
		struct nb_buf b = packed(p[i].gen);

		ck_assert(nb_controllers_merge(own, b.data, b.size, &lost));
		nb_buf_fini(&b);
	}
	ck_assert_msg(!nb_controllers_pack_merged(&out, own, &err), "%s", err.text);
	nb_gen_put(own);
	return out;
}

/* Each CPU of a merged map has the value of all; it counts once. */
TEST(a_site_counts_once)
{
	struct process p[3] = { process(), process(), process() };
	struct nb_gen *own = own_of(p[2].gen);
	struct nb_buf b;
	struct nb_err err = { 0 };
	uint64_t lost = 0;

	put_sum(p[0].gen, 1, 5);
	put_sum(p[1].gen, 1, 7);
	put_most(p[0].gen, 2, 30);
	put_most(p[1].gen, 2, 20);
	put_counts(p[0].gen, 1, 3);
	put_counts(p[1].gen, 1, 4);
	b = site_maps(p, 2);
	ck_assert_int_eq(nb_controllers_check(own, b.data, b.size, &err), 0);
	ck_assert(nb_controllers_merge(own, b.data, b.size, &lost));
	ck_assert(nb_controllers_merge(own, b.data, b.size, &lost));
	ck_assert_uint_eq(sum_of(own, 1), 24);
	ck_assert_uint_eq(most_of(own, 2), 30);
	ck_assert_uint_eq(counts_of(own, 1), 2 * 7 * nb_ncpus());
	ck_assert(nb_controllers_merges(own));
	nb_buf_fini(&b);
	nb_gen_put(own);
	for (int i = 0; i < 3; i++)
		process_end(&p[i]);
}

/* Offsets in a packed map: its head, then key and value. */
enum { MAP = 32, KEY_SIZE = 36, VALUE_SIZE = 40, N = 44, FIRST_KEY = 48 };

static int check_with(const struct nb_gen *g, const struct nb_buf *b, size_t at, uint32_t word,
		      struct nb_err *err)
{
	uint8_t *bad = exactly(b->data, b->size);
	int rc;

	memcpy(bad + at, &word, sizeof(word));
	rc = nb_controllers_check(g, bad, b->size, err);
	free(bad);
	return rc;
}

TEST(maps_of_another_shape_are_refused)
{
	struct process p = process();
	struct nb_err err = { 0 };
	struct nb_buf b, twice;
	size_t most;

	put_sum(p.gen, 1, 5);
	put_most(p.gen, 2, 9);
	b = packed(p.gen);
	/* the map `most` follows one element of the map `sum` */
	most = FIRST_KEY + 4 + sizeof(struct two);
	ck_assert_int_eq(nb_controllers_check(p.gen, b.data, b.size, &err), 0);
	ck_assert_int_eq(nb_controllers_check(p.gen, b.data, 0, &err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "map sum of policy loop is missing"));
	ck_assert_int_eq(check_with(p.gen, &b, KEY_SIZE, 8, &err), NB_E_IMAGE);
	ck_assert_int_eq(check_with(p.gen, &b, VALUE_SIZE, 8, &err), NB_E_IMAGE);
	ck_assert_int_eq(check_with(p.gen, &b, N, 3, &err), NB_E_IMAGE);
	ck_assert_int_eq(check_with(p.gen, &b, MAP, WANT, &err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "no merged map 2"));
	ck_assert_int_eq(check_with(p.gen, &b, MAP, NMAPS, &err), NB_E_IMAGE);
	ck_assert_int_eq(check_with(p.gen, &b, MAP, UINT32_MAX, &err), NB_E_IMAGE);
	/* an array's last key, and the one after it */
	ck_assert_int_eq(check_with(p.gen, &b, most + FIRST_KEY, 2, &err), 0);
	ck_assert_int_eq(check_with(p.gen, &b, most + FIRST_KEY, 3, &err), NB_E_IMAGE);
	/* the map `most` of another policy, which has the same name */
	ck_assert_int_eq(check_with(p.gen, &b, most, 0x12345678, &err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "map most of policy loop is missing"));
	/* another policy's maps may have any shape that fits into the bytes */
	nb_buf_init(&twice, 0);
	nb_buf_bytes(&twice, b.data, b.size);
	nb_buf_bytes(&twice, b.data, most);
	memset(twice.data + b.size, 0x12, 32);
	ck_assert_int_eq(nb_controllers_check(p.gen, twice.data, twice.size, &err), 0);
	nb_buf_fini(&twice);
	nb_buf_init(&twice, 0);
	nb_buf_bytes(&twice, b.data, b.size);
	nb_buf_bytes(&twice, b.data, b.size);
	ck_assert_int_eq(nb_controllers_check(p.gen, twice.data, twice.size, &err), NB_E_IMAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "map sum of policy loop"));
	nb_buf_fini(&twice);
	nb_buf_fini(&b);
	process_end(&p);
}

/* No damage is a crash, and what passes the check is merged as a whole. */
TEST(damaged_maps_are_refused_whole)
{
	struct process p = process();
	struct nb_buf b;
	int fine = 0;

	for (uint32_t k = 0; k < 4; k++)
		put_sum(p.gen, k, 5 + k);
	put_most(p.gen, 1, 9);
	b = packed(p.gen);
	for (size_t n = 0; n < b.size; n++) {
		void *cut = exactly(b.data, n);

		fine += !nb_controllers_check(p.gen, cut, n, NULL);
		free(cut);
	}
	/* a part of the maps is not enough, also where it ends with a map */
	ck_assert_int_eq(fine, 0);
	for (int i = 0; i < 20000; i++) {
		uint8_t *bad = exactly(b.data, b.size);
		uint64_t lost = 0;
		struct nb_gen *own;

		scribble(bad, b.size);
		if (!nb_controllers_check(p.gen, bad, b.size, NULL)) {
			own = own_of(p.gen);
			ck_assert(nb_controllers_merge(own, bad, b.size, &lost));
			/* four keys at most have room for four elements */
			ck_assert_uint_eq(lost, 0);
			nb_gen_put(own);
			fine++;
		}
		free(bad);
	}
	ck_assert_int_gt(fine, 1000);
	nb_buf_fini(&b);
	process_end(&p);
}

enum { NOW = 100000 };

static void list(uint32_t n, uint32_t more, uint64_t until)
{
	const struct nb_sites_list l = { n, more, until };

	ck_assert_int_eq(nb_sites_post_list(&board, &l, NULL), 0);
}

static void site(uint32_t i, const char *name, uint32_t processes, const char *why)
{
	struct nb_sites_state s = { .processes = processes };

	snprintf(s.site, sizeof(s.site), "%s", name);
	snprintf(s.why, sizeof(s.why), "%s", why);
	ck_assert_int_eq(nb_sites_post_state(&board, i, &s, NULL), 0);
}

static void maps_at(uint32_t i, const char *name, uint64_t until, const void *bytes, size_t size)
{
	struct nb_sites_maps h = {
		.taken_ms = until - 5000, .until_ms = until, .processes = 8, .missing = 1
	};

	snprintf(h.site, sizeof(h.site), "%s", name);
	ck_assert_int_eq(nb_sites_post_maps(&board, i, &h, bytes, size, NULL), 0);
}

static struct nb_sites_result merged(const struct process *p, uint64_t *sum)
{
	struct nb_gen *own = own_of(p->gen);
	struct nb_sites_result r;
	uint64_t lost = 0;

	nb_sites_merge(&board, own, NOW, &lost, &r);
	*sum = sum_of(own, 1);
	nb_gen_put(own);
	return r;
}

TEST(sites_are_merged_or_named)
{
	struct process p = process();
	struct nb_sites_result r;
	struct nb_buf b;
	uint64_t sum;

	put_sum(p.gen, 1, 5);
	b = packed(p.gen);
	open_board();
	r = merged(&p, &sum);
	ck_assert_uint_eq(r.sites + r.missing_sites + sum, 0);
	list(2, 0, NOW + 1);
	site(0, "north", 8, "");
	site(1, "south", 4, "");
	maps_at(0, "north", NOW + 1, b.data, b.size);
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum, 5);
	ck_assert_uint_eq(r.sites, 2);
	ck_assert_uint_eq(r.missing_sites, 1);
	ck_assert_uint_eq(r.processes, 12);
	ck_assert_uint_eq(r.missing, 5);
	ck_assert_str_eq(r.text, "site south: has not answered yet");
	/* another site had the place before */
	maps_at(1, "east", NOW + 1, b.data, b.size);
	site(1, "south", 4, "no route");
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum, 5);
	ck_assert_str_eq(r.text, "site south: no route");
	/* too old, by a millisecond */
	maps_at(1, "south", NOW, b.data, b.size);
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum, 5);
	ck_assert_str_eq(r.text, "site south: the maps are 5 s old: no route");
	maps_at(1, "south", NOW + 1, b.data, b.size);
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum, 10);
	ck_assert_uint_eq(r.missing_sites, 0);
	ck_assert_uint_eq(r.missing, 2);
	ck_assert_str_eq(r.text, "");
	/* bytes that the check refuses */
	maps_at(1, "south", NOW + 1, b.data, b.size - 1);
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum, 5);
	ck_assert_ptr_nonnull(strstr(r.text, "site south: refused: "));
	/* a place without a site, and sites without a place */
	site(1, "", 0, "");
	list(2, 3, NOW + 1);
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum, 5);
	ck_assert_uint_eq(r.sites, 4);
	ck_assert_str_eq(r.text, "3 more sites");
	/* an agent that has gone leaves an old list */
	list(2, 0, NOW);
	r = merged(&p, &sum);
	ck_assert_uint_eq(sum + r.sites, 0);
	close_board();
	nb_buf_fini(&b);
	process_end(&p);
}

/* The text has room for some sites; the others are counted. */
TEST(many_missing_sites_are_counted)
{
	struct process p = process();
	struct nb_sites_result r;
	uint64_t sum;
	char name[32];

	open_board();
	list(100, 0, NOW + 1);
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "host-%03u", i);
		site(i, name, 8, "");
	}
	r = merged(&p, &sum);
	ck_assert_uint_eq(r.missing_sites, 100);
	ck_assert_uint_eq(r.missing, 800);
	ck_assert_ptr_nonnull(strstr(r.text, "site host-000: "));
	ck_assert_ptr_nonnull(strstr(r.text, " more sites"));
	ck_assert_uint_lt(strlen(r.text), sizeof(r.text) - 1);
	close_board();
	process_end(&p);
}

/* A record of any size and contents is no site. */
TEST(damaged_records_are_survived)
{
	struct process p = process();
	struct nb_sites_result r;
	uint8_t bytes[400];
	uint64_t sum;

	open_board();
	for (int i = 0; i < 300; i++) {
		list(2, 0, NOW + 1);
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)random32();
		/* the places of the list and of two sites */
		for (uint32_t place = 512 + (uint32_t)(i % 2); place < 515; place++) {
			size_t size = random32() % sizeof(bytes);
			enum nb_mailbox_record record =
				random32() % 2 ? NB_MAILBOX_STATE : NB_MAILBOX_MAPS;

			/* some have the right size */
			if (record == NB_MAILBOX_STATE && random32() % 2)
				size = place == 512 ? sizeof(struct nb_sites_list)
						    : sizeof(struct nb_sites_state);
			ck_assert_int_eq(nb_mailbox_post(&board, place, record, bytes, size, NULL),
					 0);
		}
		r = merged(&p, &sum);
		ck_assert_uint_eq(sum, 0);
		ck_assert_uint_le(strlen(r.text), sizeof(r.text) - 1);
	}
	close_board();
	process_end(&p);
}

UNIT_MAIN("loop_sites")
