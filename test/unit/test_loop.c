// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The closed loop's parts: merged maps as bytes and back, what a run changed
// and the generation it makes, and the mailbox that carries both. What comes
// from another process may be cut off or scribbled over anywhere.
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bpf/generation/controller.h"
#include "core/defs/ctx.h"
#include "plugin/controller/mailbox.h"
#include "plugin/controller/controller.h"
#include "plugin/controller/election.h"
#include "test/unit/loop.h"

/* A histogram is a sum: bucket by bucket, with nothing between them. */
TEST(histograms_are_merged_bucket_by_bucket)
{
	struct process p[2] = { process(), process() };
	struct nb_gen *own = own_of(p[0].gen);
	const uint32_t key = 7;
	struct two v = { UINT32_MAX, 1 };
	uint64_t lost = 0;

	put(p[0].gen, SUM, key, &v);
	put(p[1].gen, SUM, key, &(struct two){ 1, UINT64_C(1) << 40 });
	for (int i = 0; i < 2; i++) {
		struct nb_buf b = packed(p[i].gen);

		ck_assert(nb_controllers_merge(own, b.data, b.size, &lost));
		nb_buf_fini(&b);
	}
	ck_assert_uint_eq(lost, 0);
	ck_assert_int_eq(nb_map_read(map(own, SUM), &key, &v, NULL), 0);
	ck_assert_uint_eq(v.n, UINT64_C(1) << 32);
	ck_assert_uint_eq(v.ns, (UINT64_C(1) << 40) + 1);
	nb_gen_put(own);
	process_end(&p[0]);
	process_end(&p[1]);
}

TEST(maps_of_processes_are_merged)
{
	struct process p[2] = { process(), process() };
	struct nb_gen *own = own_of(p[0].gen);
	uint64_t lost = 0;

	for (uint32_t k = 0; k < 3; k++) {
		put_sum(p[0].gen, k, 10 + k);
		put_sum(p[1].gen, k + 2, 100 + k);
		put_most(p[0].gen, k, 7 * k + 1);
		put_most(p[1].gen, k, 20 - 7 * k);
	}
	for (int i = 0; i < 2; i++) {
		struct nb_buf b = packed(p[i].gen);

		ck_assert(nb_controllers_merge(own, b.data, b.size, &lost));
		nb_buf_fini(&b);
	}
	/* of five keys one finds no room among four */
	ck_assert_uint_eq(lost, 1);
	ck_assert_uint_eq(sum_of(own, 0) + sum_of(own, 1) + sum_of(own, 2), 10 + 11 + 12 + 100);
	ck_assert_uint_eq(most_of(own, 0), 20);
	ck_assert_uint_eq(most_of(own, 1), 13);
	ck_assert_uint_eq(most_of(own, 2), 15);
	/* what the processes have is as it was */
	ck_assert_uint_eq(sum_of(p[0].gen, 2), 12);
	nb_gen_put(own);
	process_end(&p[0]);
	process_end(&p[1]);
}

TEST(damaged_maps_are_survived)
{
	struct process p = process();
	struct nb_buf b;
	uint64_t lost;
	int whole = 0;

	put_sum(p.gen, 1, 5);
	put_sum(p.gen, 2, 6);
	put_most(p.gen, 1, 9);
	b = packed(p.gen);
	for (size_t n = 0; n < b.size; n++) {
		struct nb_gen *own = own_of(p.gen);
		void *cut = exactly(b.data, n);

		lost = 0;
		whole += nb_controllers_merge(own, cut, n, &lost);
		ck_assert_uint_eq(lost, 0);
		ck_assert_uint_le(sum_of(own, 1), 5);
		free(cut);
		nb_gen_put(own);
	}
	/* nothing, and the first maps of three */
	ck_assert_int_eq(whole, 3);
	for (int i = 0; i < 3000; i++) {
		struct nb_gen *own = own_of(p.gen);
		uint8_t *bad = exactly(b.data, b.size);

		scribble(bad, b.size);
		nb_controllers_merge(own, bad, b.size, &lost);
		free(bad);
		nb_gen_put(own);
	}
	nb_buf_fini(&b);
	process_end(&p);
}

/* What a run does: `want` and `table` are written, one element is erased. */
static struct nb_buf a_change(const struct process *p, uint32_t elements)
{
	struct nb_gen *own = own_of(p->gen);
	struct nb_err err = { 0 };
	struct nb_buf b;
	uint32_t n, key = 2;

	put(own, WANT, 1, &(uint64_t){ 12 });
	put(own, WANT, 3, &(uint64_t){ 4 });
	put(own, TABLE, 5, "twelve bytes");
	nb_map_erase(map(own, TABLE), &key, NULL);
	ck_assert_msg(!nb_controllers_diff(&b, &n, own, p->gen, &err), "%s", err.text);
	ck_assert_uint_eq(n, elements);
	nb_gen_put(own);
	return b;
}

/* Two policies of 33 coherent maps each, of which a run changes @changed. Returns what
 * nb_controllers_diff says; 0: the change makes a generation. */
static int change_many(uint32_t changed, struct nb_err *err)
{
	enum { MAPS = 33 };
	static const char *const policies[] = { "many", "more" };
	static char names[MAPS][8];
	struct nb_map_spec spec[MAPS];
	struct nb_policy *p[2];
	struct nb_gen *g, *own, *made;
	const uint64_t value = 1;
	const uint32_t key = 0;
	struct nb_buf b;
	uint32_t n;
	int rc;

	for (uint32_t i = 0; i < MAPS; i++) {
		snprintf(names[i], sizeof(names[i]), "m%u", i);
		spec[i] = maps[WANT];
		spec[i].name = names[i];
	}
	for (int i = 0; i < 2; i++) {
		struct nb_image *img;

		made_image(&b, policies[i], MADE_NOOP, spec, MAPS);
		ck_assert_msg(!nb_image_read(&img, b.data, b.size, err), "%s", err->text);
		nb_buf_fini(&b);
		ck_assert_msg(!nb_policy_make(&p[i], img, NULL, NULL, 0, err), "%s", err->text);
	}
	ck_assert_msg(!nb_gen_new(&g, p, 2, NULL, err), "%s", err->text);
	own = own_of(g);
	for (uint32_t i = 0; i < changed; i++)
		ck_assert_int_eq(nb_map_write(own->policy[i / MAPS].maps[i % MAPS], &key, &value,
					      NB_ANY, NULL),
				 0);
	rc = nb_controllers_diff(&b, &n, own, g, err);
	if (!rc) {
		ck_assert_uint_eq(n, changed);
		ck_assert_msg(!nb_controllers_apply(&made, g, b.data, b.size, err), "%s",
			      err->text);
		nb_gen_put(made);
		nb_buf_fini(&b);
	}
	nb_gen_put(own);
	nb_gen_put(g);
	nb_policy_put(p[0]);
	nb_policy_put(p[1]);
	return rc;
}

TEST(a_run_changes_no_more_maps_than_a_process_takes)
{
	struct nb_err err = { 0 };

	ck_assert_int_eq(change_many(NB_GEN_MAX_CHANGES, &err), 0);
	ck_assert_int_eq(change_many(NB_GEN_MAX_CHANGES + 1, &err), NB_E_LIMIT);
}

TEST(what_a_run_changed_makes_the_same_everywhere)
{
	struct process p[2] = { process(), process() };
	struct nb_gen *g[2];
	uint32_t key = 3;
	uint64_t v;
	struct nb_buf b;

	put(p[0].gen, TABLE, 2, "to be erased");
	put(p[1].gen, TABLE, 2, "to be erased");
	b = a_change(&p[0], 4);
	for (int i = 0; i < 2; i++) {
		struct nb_err err = { 0 };

		ck_assert_msg(!nb_controllers_apply(&g[i], p[i].gen, b.data, b.size, &err), "%s",
			      err.text);
		ck_assert_int_eq(nb_map_read(map(g[i], WANT), &key, &v, NULL), 0);
		ck_assert_uint_eq(v, 4);
		ck_assert(nb_map_read(map(g[i], TABLE), &(uint32_t){ 2 }, &(char[12]){ 0 }, NULL));
	}
	ck_assert_mem_eq(g[0]->digest, g[1]->digest, NB_SHA256_SIZE);
	ck_assert_mem_ne(g[0]->digest, p[0].gen->digest, NB_SHA256_SIZE);
	/* the generation before has what it had */
	ck_assert_int_eq(nb_map_read(map(p[0].gen, WANT), &key, &v, NULL), 0);
	ck_assert_uint_eq(v, 0);
	nb_buf_fini(&b);
	for (int i = 0; i < 2; i++) {
		nb_gen_put(g[i]);
		process_end(&p[i]);
	}
}

TEST(damaged_changes_are_survived)
{
	struct process p = process();
	struct nb_err err = { 0 };
	struct nb_gen *g;
	struct nb_buf b = a_change(&p, 3);
	int made = 0;

	for (size_t n = 0; n < b.size; n++) {
		void *cut = exactly(b.data, n);
		int rc = nb_controllers_apply(&g, p.gen, cut, n, &err);

		if (!rc)
			made++;
		else if (n)
			ck_assert_int_eq(rc, NB_E_IMAGE);
		ck_assert(rc ? !g : g != NULL);
		nb_gen_put(g);
		free(cut);
	}
	ck_assert_int_eq(made, 1); /* the first map alone */
	for (int i = 0; i < 3000; i++) {
		uint8_t *bad = exactly(b.data, b.size);

		scribble(bad, b.size);
		nb_controllers_apply(&g, p.gen, bad, b.size, NULL);
		nb_gen_put(g);
		free(bad);
	}
	nb_buf_fini(&b);
	process_end(&p);
}

/* ---- the mailbox ---- */

static void post(uint32_t place, enum nb_mailbox_record record, const char *text)
{
	ck_assert_int_eq(nb_mailbox_post(&mailbox, place, record, text, strlen(text), NULL), 0);
}

static bool is(uint32_t place, enum nb_mailbox_record record, const char *text)
{
	struct nb_buf b;
	bool fine;

	if (!nb_mailbox_read(&mailbox, place, record, &b))
		return !text;
	fine = text && b.size == strlen(text) && (!b.size || !memcmp(b.data, text, b.size));
	nb_buf_fini(&b);
	return fine;
}

TEST(records_are_read_whole_or_not_at_all)
{
	uint8_t byte;

	open_mailbox();
	for (int s = 0; s < NB_MAILBOX_RECORDS; s++)
		ck_assert(is(3, (enum nb_mailbox_record)s, NULL));
	post(3, NB_MAILBOX_CHANGE, "a change");
	post(3, NB_MAILBOX_MAPS, "");
	post(511, NB_MAILBOX_MAPS, "the last place");
	ck_assert(is(3, NB_MAILBOX_CHANGE, "a change"));
	ck_assert(is(3, NB_MAILBOX_MAPS, ""));
	ck_assert(is(3, NB_MAILBOX_STATE, NULL));
	ck_assert(is(2, NB_MAILBOX_CHANGE, NULL));
	ck_assert(is(511, NB_MAILBOX_MAPS, "the last place"));
	post(3, NB_MAILBOX_CHANGE, "shorter");
	ck_assert(is(3, NB_MAILBOX_CHANGE, "shorter"));
	ck_assert(nb_mailbox_begins(&mailbox, 3, NB_MAILBOX_CHANGE, "short", 5));
	ck_assert(nb_mailbox_begins(&mailbox, 3, NB_MAILBOX_CHANGE, "shorter", 7));
	ck_assert(!nb_mailbox_begins(&mailbox, 3, NB_MAILBOX_CHANGE, "shorter!", 8));
	ck_assert(!nb_mailbox_begins(&mailbox, 3, NB_MAILBOX_CHANGE, "shart", 5));
	ck_assert(!nb_mailbox_begins(&mailbox, 4, NB_MAILBOX_CHANGE, "", 0));
	/* any byte of head or text that is another one is seen */
	for (off_t at = 0; at < 56 + 7; at++) {
		off_t place = 3 * ((off_t)1 << 21) + 4096 + at;

		ck_assert_int_eq(pread(mailbox.fd, &byte, 1, place), 1);
		byte ^= 0x40;
		ck_assert_int_eq(pwrite(mailbox.fd, &byte, 1, place), 1);
		ck_assert(is(3, NB_MAILBOX_CHANGE, NULL));
		byte ^= 0x40;
		ck_assert_int_eq(pwrite(mailbox.fd, &byte, 1, place), 1);
	}
	ck_assert(is(3, NB_MAILBOX_CHANGE, "shorter"));
	/* the file ends in the middle of one */
	ck_assert_int_eq(ftruncate(mailbox.fd, 3 * ((off_t)1 << 21) + 4096 + 60), 0);
	ck_assert(is(3, NB_MAILBOX_CHANGE, NULL));
	ck_assert(is(511, NB_MAILBOX_MAPS, NULL));
	close_mailbox();
}

TEST(what_is_no_mailbox_of_ours_is_refused)
{
	static char much[NB_CONTROLLER_MAPS_BYTES + 257];
	struct nb_mailbox other;
	struct nb_err err = { 0 };

	open_mailbox();
	ck_assert_int_eq(nb_mailbox_post(&mailbox, 0, NB_MAILBOX_MAPS, much, sizeof(much), &err),
			 NB_E_LIMIT);
	ck_assert_ptr_nonnull(strstr(err.text, "1048833 bytes"));
	ck_assert_int_eq(mkfifoat(jobdir.dirfd, "fifo", 0600), 0);
	ck_assert_int_eq(nb_mailbox_open(&other, &jobdir, "fifo", &err), NB_E_IO);
	ck_assert_msg(strstr(err.text, loop_dir) && strstr(err.text, "/fifo is not a file of uid "),
		      "%s", err.text);
	ck_assert_int_eq(symlinkat("b", jobdir.dirfd, "link"), 0);
	ck_assert_int_eq(nb_mailbox_open(&other, &jobdir, "link", &err), NB_E_IO);
	ck_assert_int_eq(other.fd, -1);
	ck_assert_int_ne(nb_mailbox_post(&other, 0, NB_MAILBOX_STATE, "", 0, NULL), 0);
	unlinkat(jobdir.dirfd, "fifo", 0);
	unlinkat(jobdir.dirfd, "link", 0);
	close_mailbox();
}

static void answer_of(uint32_t place, const struct nb_controllers_maps *head)
{
	char bytes[sizeof(*head) + 4] = "";

	memcpy(bytes, head, sizeof(*head));
	ck_assert_int_eq(
		nb_mailbox_post(&mailbox, place, NB_MAILBOX_MAPS, bytes, sizeof(bytes), NULL), 0);
}

/* The process that @head names has posted @values as its answer. */
static void answer_with(uint32_t place, const struct nb_controllers_maps *head,
			const struct nb_buf *values)
{
	struct nb_buf all;

	nb_buf_init(&all, 0);
	nb_buf_bytes(&all, head, sizeof(*head));
	nb_buf_bytes(&all, values->data, values->size);
	ck_assert_int_eq(
		nb_mailbox_post(&mailbox, place, NB_MAILBOX_MAPS, all.data, all.size, NULL), 0);
	nb_buf_fini(&all);
}

/* An entry may be another process's before all have answered. */
TEST(an_answer_is_its_process_s_alone)
{
	static struct nb_controllers l;
	const struct nb_controllers_maps one = { 100, 1 };
	const struct nb_controllers_maps other[] = { { 200, 1 }, { 100, 2 } };

	open_mailbox();
	l.mailbox = mailbox;
	ck_assert(!nb_controllers_answered(&l, 5, &one));
	answer_of(5, &one);
	ck_assert(!nb_controllers_answered(&l, 4, &one));
	ck_assert(nb_controllers_answered(&l, 5, &one));
	for (int i = 0; i < 2; i++) {
		ck_assert(!nb_controllers_answered(&l, 5, &other[i]));
		ck_assert(nb_controllers_answered(&l, 5, &one));
	}
	for (int i = 0; i < 2; i++) {
		answer_of(5, &other[i]);
		ck_assert(nb_controllers_answered(&l, 5, &other[i]));
		ck_assert(!nb_controllers_answered(&l, 5, &one));
	}
	close_mailbox();
}

/* Does process @pid's answer count? @sum: what key 1 has after that. */
static bool merges(struct nb_controllers *l, struct nb_gen *own, uint64_t sum)
{
	const struct nb_election_other m = { .entry = 5, .token = 100 };
	bool fits = nb_controllers_merge_answer(l, own, &m);

	ck_assert_uint_eq(sum_of(own, 1), sum);
	return fits;
}

/* Sums do not fall while a process is late, and rise again by all that it added. */
TEST(the_last_answer_of_a_late_process_counts)
{
	static struct nb_controllers l = { .state.request = 7 };
	const struct nb_controllers_maps late = { 100, 6 }, other = { 200, 7 };
	struct process p = process();
	struct nb_gen *own = own_of(p.gen);
	struct nb_buf b;

	open_mailbox();
	l.mailbox = mailbox;
	put_sum(p.gen, 1, 5);
	b = packed(p.gen);
	answer_with(5, &late, &b);
	ck_assert(!merges(&l, own, 5));
	ck_assert(!nb_controllers_answered(&l, 5, &(struct nb_controllers_maps){ 100, 7 }));
	/* the entry's former process is another one */
	answer_with(5, &other, &b);
	ck_assert(!merges(&l, own, 5));
	nb_buf_fini(&b);
	nb_gen_put(own);
	process_end(&p);
	close_mailbox();
}

ssize_t __real_pread(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at);

/* number of reads of more than a header that meet a write */
static int torn;

ssize_t __wrap_pread(int fd, void *to, size_t size, off_t at)
{
	ssize_t n = __real_pread(fd, to, size, at);

	if (n > 64 && torn-- > 0)
		((char *)to)[n - 1] ^= 1;
	return n;
}

/* A late process may be posting at last while the others' maps are merged. */
TEST(an_answer_that_is_being_written_is_read_again)
{
	static struct nb_controllers l = { .state.request = 7 };
	const struct nb_controllers_maps late = { 100, 6 };
	struct process p = process();
	struct nb_gen *own = own_of(p.gen);
	struct nb_buf b;

	open_mailbox();
	l.mailbox = mailbox;
	put_sum(p.gen, 1, 5);
	b = packed(p.gen);
	answer_with(5, &late, &b);
	torn = 2;
	ck_assert(!merges(&l, own, 5));
	torn = 1000; /* a damaged file */
	ck_assert(!merges(&l, own, 5));
	torn = 0;
	ck_assert(!merges(&l, own, 10));
	nb_buf_fini(&b);
	nb_gen_put(own);
	process_end(&p);
	close_mailbox();
}

/* A process that has another policy already has no part in the merged maps. */
TEST(an_answer_with_maps_of_another_policy_is_missing)
{
	static struct nb_controllers l = { .state.request = 1 };
	const struct nb_controllers_maps head = { 100, 1 };
	struct process p = process();
	struct nb_gen *own = own_of(p.gen);
	struct nb_buf b;

	open_mailbox();
	l.mailbox = mailbox;
	put_sum(p.gen, 1, 5);
	b = packed(p.gen);
	ck_assert(!merges(&l, own, 0));
	answer_of(5, &head);
	ck_assert(!merges(&l, own, 0));
	for (int part = 0; part < 2; part++) {
		const struct nb_buf some = { .data = b.data, .size = part ? b.size : b.size / 2 };

		answer_with(5, &head, &some);
		ck_assert_int_eq(merges(&l, own, part ? 5 : 0), part);
	}
	nb_buf_fini(&b);
	nb_gen_put(own);
	process_end(&p);
	close_mailbox();
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

UNIT_MAIN("loop")
