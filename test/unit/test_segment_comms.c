// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What a segment holds: communicators, generations, and everything bounded.
#include "test/unit/segment_file.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(ranks_find_their_communicator)
{
	struct nb_segment *s = attach();
	struct nb_seg_comm *a, *b, *c;
	uint32_t sa, sb, sc;

	ck_assert_int_eq(join(s, 7, 2, 0, &a, &sa, NULL), 0);
	ck_assert_int_eq(join(s, 7, 2, 0, &b, &sb, NULL), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_ne(sa, sb);
	/* complete: a third rank of that id is of another communicator */
	ck_assert_int_eq(join(s, 7, 2, 0, &c, &sc, NULL), 0);
	ck_assert_ptr_ne(a, c);
	nb_segment_lock(s, 1000, NULL);
	nb_segment_leave(s, a, sa);
	ck_assert_uint_eq(a->in_use, 1);
	nb_segment_leave(s, b, sb);
	ck_assert_uint_eq(a->in_use, 0);
	nb_segment_unlock(s);
	nb_segment_detach(s);
}

TEST(ranks_that_begin_differently_use_no_policy)
{
	struct nb_segment *s = attach();
	uint32_t one = number(s, 1), two = number(s, 2);
	struct nb_seg_comm *a, *b;
	uint32_t slot;

	ck_assert_uint_ne(one, two);
	ck_assert_uint_eq(number(s, 1), one);
	ck_assert_uint_eq(number(s, 0), 0);
	ck_assert_int_eq(join(s, 7, 2, one, &a, &slot, NULL), 0);
	ck_assert_uint_eq(a->record.word, 0);
	ck_assert_int_eq(join(s, 7, 2, two, &b, &slot, NULL), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_eq(a->mismatch, 1);
	ck_assert_uint_eq(a->record.word, nb_fence_word(NB_FENCE_COMMIT, 0, 0));
	nb_segment_detach(s);
}

/* A process may wrap a tuner for one communicator and not for the next. */
TEST(settings_of_a_communicator_are_its_own)
{
	struct nb_segment *s = attach();
	uint32_t *mine = s->mem->proc[s->proc].setting, slot;
	struct nb_seg_comm *a, *b;

	mine[NB_SETTING_CHAIN_TUNER] = 1;
	ck_assert_int_eq(join(s, 7, 3, 0, &a, &slot, NULL), 0);
	mine[NB_SETTING_CHAIN_TUNER] = 0;
	ck_assert_int_eq(join(s, 8, 2, 0, &b, &slot, NULL), 0);
	/* one that began as the first did */
	mine[NB_SETTING_CHAIN_TUNER] = 1;
	ck_assert_int_eq(join(s, 7, 3, 0, &a, &slot, NULL), 0);
	ck_assert_uint_eq(a->mismatch, 0);
	/* and one that did not, though its process last began like that */
	mine[NB_SETTING_CHAIN_TUNER] = 0;
	ck_assert_int_eq(join(s, 7, 3, 0, &a, &slot, NULL), 0);
	ck_assert_uint_eq(a->mismatch, 1);
	ck_assert_uint_eq(a->differs, NB_DIFFER_SETTING + NB_SETTING_CHAIN_TUNER);
	ck_assert_int_eq(join(s, 8, 2, 0, &b, &slot, NULL), 0);
	ck_assert_uint_eq(b->mismatch, 0);
	nb_segment_detach(s);
}

/*
 * Decisions are a clock only if NCCL asks all ranks alike, and calls only if
 * all ranks see them.
 */
TEST(ranks_without_a_common_clock_do_not_change)
{
	struct nb_segment *s = attach();
	char why[NB_STARTUP_WHY];
	struct nb_seg_comm *c;
	uint32_t slot[2];

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(join(s, 7, 2, 0, &c, &slot[i], NULL), 0);
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_DECISIONS);
	ck_assert(!nb_startup_fixed(s, c, why));
	ck_assert_str_eq(why, "");
	c->asks_some = 1;
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_NONE);
	c->slot[slot[0]].calls = 1;
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_NONE);
	ck_assert(nb_startup_fixed(s, c, why));
	ck_assert_ptr_nonnull(strstr(why, "1 of 2 ranks count no API calls"));
	ck_assert_ptr_nonnull(strstr(why, "unset NCCLBPF_API_CLOCK"));
	c->slot[slot[1]].calls = 1;
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_CALLS);
	ck_assert(!nb_startup_fixed(s, c, why));
	/* on a site of a fleet, a rank without calls may register after the first decision */
	c->clock = NB_CLOCK_CALLS;
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_CALLS);
	c->slot[slot[1]].calls = 0;
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_NONE);
	ck_assert(nb_startup_fixed(s, c, why));
	/* what the first decision has recorded stays */
	c->slot[slot[1]].calls = 1;
	c->clock = NB_CLOCK_NONE;
	ck_assert(nb_startup_fixed(s, c, why));
	c->clock = 4711;
	ck_assert_int_eq(nb_startup_clock(c), NB_CLOCK_NONE);
	nb_segment_detach(s);
}

/* Each entry has a page of its own; the pages of the others must stay out of memory. */
TEST(only_entries_that_were_used_are_looked_at)
{
	struct nb_segment *s = attach();
	struct nb_seg_comm *c[3], *again;
	uint32_t slot;

	ck_assert_uint_eq(nb_seg_ncomms(s->mem), 0);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(join(s, i + 1, 2, 0, &c[i], &slot, NULL), 0);
		ck_assert_uint_eq(nb_seg_ncomms(s->mem), i + 1);
	}
	nb_segment_leave(s, c[1], 0);
	ck_assert_int_eq(join(s, 9, 2, 0, &again, &slot, NULL), 0);
	ck_assert_ptr_eq(again, c[1]);
	ck_assert_uint_eq(nb_seg_ncomms(s->mem), 3);
	ck_assert_int_eq(join(s, 3, 2, 0, &again, &slot, NULL), 0);
	ck_assert_ptr_eq(again, c[2]);
	s->mem->ncomms = UINT32_MAX;
	ck_assert_uint_eq(nb_seg_ncomms(s->mem), NB_SEG_COMMS);
	nb_segment_detach(s);
}

TEST(everything_has_a_bound)
{
	struct nb_segment *s = attach();
	struct nb_err err = { 0 };
	struct nb_seg_comm *c;
	uint32_t slot, n;
	uint8_t digest[NB_SHA256_SIZE] = { 1 };

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		ck_assert_int_eq(join(s, 1, 1000, 0, &c, &slot, NULL), 0);
	for (uint64_t i = 1; i < NB_SEG_COMMS; i++)
		ck_assert_int_eq(join(s, i + 1, 2, 0, &c, &slot, NULL), 0);
	ck_assert_int_eq(join(s, 1, 1000, 0, &c, &slot, &err), NB_E_LIMIT);
	ck_assert_int_eq(join(s, 5000, 2, 0, &c, &slot, &err), NB_E_LIMIT);
	ck_assert_ptr_null(c);
	s->mem->next_gen = NB_FENCE_MAX_GEN;
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, NULL), 0);
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, &err), NB_E_LIMIT);
	nb_segment_detach(s);
}

TEST(old_generation_numbers_are_forgotten)
{
	struct nb_segment *s = attach();
	uint8_t digest[NB_SHA256_SIZE] = { 1 }, have[NB_SHA256_SIZE];
	uint32_t first, n = 0;

	ck_assert_int_eq(nb_segment_gen(s, digest, true, &first, NULL), 0);
	ck_assert(nb_segment_digest(s, first, have));
	ck_assert_mem_eq(have, digest, sizeof(have));
	for (int i = 0; i < NB_SEG_GENS; i++) {
		digest[1] = (uint8_t)i;
		nb_segment_gen(s, digest, true, &n, NULL);
	}
	ck_assert(!nb_segment_digest(s, first, have));
	ck_assert(nb_segment_digest(s, n, have));
	ck_assert(nb_segment_digest(s, 0, have));
	nb_segment_detach(s);
}

/* A rank that comes to its fence after many more numbers were given, or a
 * process that looks for the baseline, finds what it needs. */
TEST(numbers_that_are_wanted_are_not_forgotten)
{
	struct nb_segment *s = attach();
	uint8_t digest[NB_SHA256_SIZE] = { 1 }, have[NB_SHA256_SIZE];
	uint32_t first, fenced, baseline, slot, n = 0;
	struct nb_seg_comm *c;

	nb_segment_gen(s, digest, true, &first, NULL);
	digest[0] = 2;
	nb_segment_gen(s, digest, true, &fenced, NULL);
	digest[0] = 3;
	nb_segment_gen(s, digest, true, &baseline, NULL);
	ck_assert_int_eq(join(s, 5, 2, first, &c, &slot, NULL), 0);
	c->record.word = nb_fence_word(NB_FENCE_COMMIT, fenced, 9);
	s->mem->baseline = baseline;
	for (int i = 0; i < 3 * NB_SEG_GENS; i++) {
		digest[1] = (uint8_t)(i + 1);
		nb_segment_gen(s, digest, true, &n, NULL);
	}
	ck_assert_uint_gt(n, 3 * NB_SEG_GENS);
	ck_assert(nb_segment_digest(s, first, have));
	ck_assert_uint_eq(have[0], 1);
	ck_assert(nb_segment_digest(s, fenced, have));
	ck_assert_uint_eq(have[0], 2);
	ck_assert(nb_segment_digest(s, baseline, have));
	ck_assert_uint_eq(have[0], 3);
	/* once all ranks are there, none is compared with the first */
	ck_assert_int_eq(join(s, 5, 2, first, &c, &slot, NULL), 0);
	for (int i = 0; i < NB_SEG_GENS; i++)
		nb_segment_gen(s, digest, true, &n, NULL);
	ck_assert(!nb_segment_digest(s, first, have));
	ck_assert(nb_segment_digest(s, fenced, have));
	nb_segment_detach(s);
}

/* Overwritten, it would be missing in the ranks that reach their fence later. */
TEST(a_number_that_is_wanted_is_not_overwritten)
{
	struct nb_segment *s = attach();
	uint8_t digest[NB_SHA256_SIZE] = { 1 }, have[NB_SHA256_SIZE];
	struct nb_seg_comm *c[NB_SEG_GENS];
	struct nb_err err = { 0 };
	uint32_t slot, n;

	for (int i = 0; i < NB_SEG_GENS; i++) {
		digest[1] = (uint8_t)i;
		ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, &err), 0);
		ck_assert_int_eq(join(s, (uint64_t)i + 1, 1, n, &c[i], &slot, NULL), 0);
		c[i]->record.word = nb_fence_word(NB_FENCE_COMMIT, n, 9);
	}
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, &err), NB_E_LIMIT);
	ck_assert_ptr_nonnull(strstr(err.text, "need all 64 generations"));
	ck_assert_uint_eq(n, 0);
	nb_segment_leave(s, c[7], 0);
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, &err), 0);
	for (int i = 0; i < NB_SEG_GENS; i++)
		ck_assert_int_eq(nb_segment_digest(s, nb_fence_word_gen(c[i]->record.word), have),
				 i != 7);
	nb_segment_detach(s);
}

/* A neighbour writes anything anywhere, time and again, while we work. */
TEST(hostile_contents_do_not_crash)
{
	struct nb_segment *s = attach();
	uint64_t x = 88172645463325252u;

	for (int round = 0; round < 60; round++) {
		uint64_t *words = (uint64_t *)s->mem;
		struct nb_seg_comm *c = NULL;
		struct nb_fence_opts opts = { .margin = 64,
					      .timeout_ms = 1,
					      .idle = round & 1,
					      .once = round % 3 == 0,
					      .membarrier = true };
		struct nb_fence_result r;
		uint32_t slot, n;
		uint8_t digest[NB_SHA256_SIZE];

		for (size_t i = 0; i < sizeof(*s->mem) / 8; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			/* pids stay out of it: reaping asks the kernel */
			if (i * 8 >= offsetof(struct nb_seg, gen) ||
			    i * 8 < offsetof(struct nb_seg, proc))
				words[i] = round % 3 ? x : x & 3;
		}
		ck_assert_int_eq(nb_segment_lock(s, 1000, NULL), 0);
		nb_segment_reap(s);
		nb_segment_gen(s, digest, round & 1, &n, NULL);
		if (!nb_segment_join(s,
				     &(struct nb_joining){ .has_id = true,
							   .comm_id = x,
							   .nranks = 2,
							   .nnodes = 1,
							   .first = (uint32_t)x },
				     &c, &slot, NULL))
			nb_segment_leave(s, c, slot);
		for (int i = 0; i < NB_SEG_COMMS; i += 50) {
			nb_fence_recover(&s->mem->comm[i]);
			nb_fence_commit(&s->mem->comm[i], 1, &opts, &r);
			nb_seg_registered(&s->mem->comm[i]);
			nb_fence_passed(&s->mem->comm[i], x);
			nb_fence_behind(&s->mem->comm[i], x);
			nb_segment_leave(s, &s->mem->comm[i], (uint32_t)x);
		}
		nb_segment_digest(s, (uint32_t)x, digest);
		nb_segment_unlock(s);
	}
	nb_segment_detach(s);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { FULL_HOUSE = 64 };
#else
enum { FULL_HOUSE = NB_SEG_PROCS };
#endif

/* What a process does until its first decision may come. */
static char register_rank(int index)
{
	struct nb_segment *s = attach();
	struct nb_seg_comm *c;
	uint32_t slot;

	if (!s->shared || nb_segment_lock(s, 30000, NULL))
		return 'a';
	if (nb_segment_join(s,
			    &(struct nb_joining){ .has_id = true,
						  .comm_id = 1 + (uint64_t)(index / 64),
						  .nranks = 64,
						  .nnodes = 1,
						  .first = 0 },
			    &c, &slot, NULL))
		return 'j';
	nb_segment_ring(s, c, slot);
	nb_segment_unlock(s);
	return 'y';
}

/* As many as there is room for, on however few CPUs: all have a place. */
TEST(a_full_house_starts_at_once)
{
	static pid_t pid[FULL_HOUSE];
	int ready[2], go[2], end[2];
	uint32_t told[128] = { 0 };
	char c;

	ck_assert_int_eq(pipe(ready) | pipe(go) | pipe(end), 0);
	for (int i = 0; i < FULL_HOUSE; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		close(go[1]);
		close(end[1]);
		if (read(go[0], &c, 1) < 0)
			_exit(2);
		c = register_rank(i);
		if (write(ready[1], &c, 1) != 1 || read(end[0], &c, 1) < 0)
			_exit(2);
		_exit(0);
	}
	close(go[1]);
	for (int i = 0; i < FULL_HOUSE; i++) {
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
		told[c & 127]++;
	}
	close(end[1]);
	for (int i = 0; i < FULL_HOUSE; i++)
		waitpid(pid[i], NULL, 0);
	ck_assert_uint_eq(told['y'], FULL_HOUSE);
}

/* Many start at once, as ranks do: one segment comes of it. */
TEST(processes_that_start_at_once_share_one_segment)
{
	enum { N = 16 };
	struct nb_segment *s;
	int ready[2], go[2];
	pid_t pid[N];
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(go), 0);
	for (int i = 0; i < N; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			s = attach();
			if (write(ready[1], s->shared ? "y" : "n", 1) != 1)
				_exit(2);
			close(go[1]);
			if (read(go[0], &c, 1) < 0)
				_exit(2);
			nb_segment_detach(s);
			_exit(0);
		}
	}
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
		ck_assert_int_eq(c, 'y');
	}
	s = attach();
	ck_assert_uint_eq(nb_segment_procs(s), N + 1);
	close(go[1]);
	for (int i = 0; i < N; i++)
		waitpid(pid[i], NULL, 0);
	ck_assert_uint_eq(nb_segment_procs(s), 1);
	nb_segment_detach(s);
}

UNIT_MAIN_WITH("segment_comms", tcase_add_checked_fixture(tc, set_up, tear_down);)
