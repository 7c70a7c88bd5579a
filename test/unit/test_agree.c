// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Agreement of ranks, judged from the job segment alone: equal and different
// histories, ranks that are far apart or dead, segments that are damaged.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/job/segment/agree.h"
#include "core/defs/ctx.h"
#include "core/job/segment/report.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/segment.h"
#include "plugin/job/registry.h"
#include "test/unit/packed.h"

enum { COMM = 0x77, ALLREDUCE = NCCL_COLL_ALL_REDUCE };

static char dir[] = "/tmp/ncclbpf-agree-XXXXXX";
static char path[64];
static int dirfd;
static struct nb_segment *shared;
static struct nb_seg_comm *comm;
static struct nb_packed *ring[NB_SEG_SLOTS];

static void set_up(void)
{
	strcpy(strrchr(dir, '-'), "-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.seg", dir);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(nb_segment_attach(&shared, dirfd, "t", 0, true, NULL), 0);
	ck_assert(shared->shared);
}

static void tear_down(void)
{
	nb_segment_detach(shared);
	shared = NULL;
	close(dirfd);
	unlink(path);
	rmdir(dir);
}

static void join(uint32_t n)
{
	uint32_t slot;

	for (uint32_t i = 0; i < n; i++) {
		ck_assert_int_eq(nb_segment_lock(shared, 1000, NULL), 0);
		ck_assert_int_eq(nb_segment_join(shared,
						 &(struct nb_joining){ .has_id = true,
								       .comm_id = COMM,
								       .nranks = n,
								       .nnodes = 1,
								       .first = 0 },
						 &comm, &slot, NULL),
				 0);
		ring[slot] = nb_segment_ring(shared, comm, slot);
		nb_segment_unlock(shared);
		ck_assert_ptr_nonnull(ring[slot]);
	}
}

/* What a rank writes down of one decision (plugin/tuner/decide.h). */
static void decide(uint32_t rank, uint64_t bytes, uint32_t entry)
{
	struct nb_seg_slot *slot = &comm->slot[rank];
	uint64_t k = slot->announced;
	uint64_t w2 = (uint64_t)ALLREDUCE << NB_PACKED_AT_COLL |
		      nb_packed_outcome(entry, NB_PACKED_POLICY, 0, 0);

	slot->announced = k + 1;
	packed_store(&ring[rank][k % NB_RING], k, bytes, 0, w2, 0);
	slot->hash = hash_extend(slot->hash, k, bytes, w2);
}

static void run(uint32_t rank, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t k = comm->slot[rank].announced;

		decide(rank, 1024 + k * 8, (uint32_t)(k % 21));
	}
}

static struct nb_agree a; /* large: not on the stack */

static void look(void)
{
	struct nb_job job = { shared->mem, NB_SEG_SPAN, NULL };

	ck_assert(nb_agree(&job, 0, &a));
}

/*
 * A decision after @calls calls of the API, where these are the clock. @usable:
 * NCCL's offer
 */
static void decide_offer(uint32_t rank, uint32_t calls, uint64_t bytes, uint32_t entry,
			 uint32_t usable)
{
	struct nb_seg_slot *slot = &comm->slot[rank];
	uint64_t k = slot->decisions;
	uint64_t w2 = (uint64_t)ALLREDUCE << NB_PACKED_AT_COLL |
		      nb_packed_outcome(entry, NB_PACKED_POLICY, 0, 0);

	comm->clock = NB_CLOCK_CALLS;
	slot->calls = calls + 1;
	slot->announced = calls + 1;
	slot->decisions = k + 1;
	nb_seg_clocks(ring[rank])[k % NB_RING] = calls;
	packed_store(&ring[rank][k % NB_RING], k, bytes, (uint64_t)usable << NB_PACKED_AT_USABLE,
		     w2, 0);
	slot->hash = hash_extend(slot->hash, k, bytes, w2);
}

static void decide_after(uint32_t rank, uint32_t calls, uint64_t bytes, uint32_t entry)
{
	decide_offer(rank, calls, bytes, entry, 0);
}

/* NCCL 2.31 looks for a symmetric kernel with a table that offers nothing. */
static void ask_nothing(uint32_t rank, uint32_t calls, uint64_t bytes)
{
	decide_offer(rank, calls, bytes, NB_PACKED_ENTRY, 0);
}

/* NCCL asks rank 0 alone, and all ranks later; no clock tells what is what. */
TEST(counts_that_differ_are_no_difference)
{
	join(2);
	comm->clock = NB_CLOCK_NONE;
	look();
	ck_assert_int_eq(a.verdict, NB_ALONE);
	for (int i = 0; i < 5; i++)
		decide(0, 8192, 5);
	look();
	ck_assert_int_eq(a.verdict, NB_COUNTS_DIFFER);
	ck_assert_uint_eq(a.least, 0);
	ck_assert_uint_eq(a.most, 5);
	for (uint64_t k = 0; k < 9; k++)
		for (uint32_t i = 0; i < 2; i++)
			decide(i, 64 * (k % 3), 5);
	look();
	ck_assert_int_eq(a.verdict, NB_COUNTS_DIFFER);
	ck_assert_int_eq(a.clock, NB_CLOCK_NONE);
	ck_assert(!nb_agree_broken(&a));
}

TEST(another_answer_to_one_question_is_a_difference)
{
	join(2);
	comm->clock = NB_CLOCK_NONE;
	decide(0, 8192, 5);
	decide(1, 8192, 7);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
}

/* The size is in a word of its own, behind the ring's decisions. */
static void decide_chunk(uint32_t rank, uint32_t chunk_size)
{
	struct nb_seg_slot *slot = &comm->slot[rank];
	uint64_t k = slot->announced;
	uint64_t w2 = (uint64_t)ALLREDUCE << NB_PACKED_AT_COLL |
		      nb_packed_outcome(5, NB_PACKED_POLICY, 0, 0) |
		      UINT64_C(1) << NB_PACKED_AT_CHUNK;

	slot->announced = k + 1;
	nb_seg_chunks(ring[rank])[k % NB_RING] = nb_packed_tag(k) | chunk_size;
	packed_store(&ring[rank][k % NB_RING], k, 8192, 0, w2, 0);
	slot->hash = nb_hash_add(slot->hash, k, nb_hash_step(8192, w2) ^ nb_hash_chunk(chunk_size));
}

TEST(another_chunk_size_is_a_difference)
{
	join(2);
	for (uint32_t i = 0; i < 2; i++) {
		decide_chunk(i, 65536);
		run(i, 10);
		decide_chunk(i, 288000);
	}
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	decide_chunk(0, 288000);
	decide_chunk(1, 289920);
	/* later decisions are alike again, and hashes are rolled back over them */
	run(0, 5);
	run(1, 5);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert_uint_eq(a.seq, 12);
	ck_assert(!a.earlier);
	ck_assert_uint_eq(a.rank[0].decision.chunk_size, 288000);
	ck_assert_uint_eq(a.rank[1].decision.chunk_size, 289920);
}

TEST(ranks_are_compared_call_by_call)
{
	join(3);
	/* more decisions than are kept, from a number that wraps */
	for (uint32_t c = 0; c < 3000; c++)
		for (uint32_t i = 0; i < 3; i++)
			decide_after(i, UINT32_MAX - 1500 + c, 64 * (c % 9), 5);
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	ck_assert_int_eq(a.clock, NB_CLOCK_CALLS);
	/* rank 1 is asked once more, then all go on alike */
	for (uint32_t i = 0; i < 3; i++)
		decide_after(i, 1500, 4096, 7);
	decide_after(1, 1500, 4096, 7);
	for (uint32_t c = 1501; c < 1510; c++)
		for (uint32_t i = 0; i < 3; i++)
			decide_after(i, c, 64 * (c % 9), 5);
	look();
	ck_assert_int_eq(a.verdict, NB_TUNER_CALLS_DIFFER);
	ck_assert(!nb_agree_broken(&a));
	ck_assert_uint_eq(a.extra, 1);
	ck_assert_uint_eq(a.extra_slot, 1);
	ck_assert_uint_eq(a.seq, 3001);
	ck_assert_uint_eq(a.rank[1].decisions, a.rank[0].decisions + 1);
	ck_assert_uint_eq(a.rank[1].calls, a.rank[0].calls);
	/* and the answers after one call differ: the last one, as in a hang */
	decide_after(0, 1510, 1 << 20, 5);
	decide_after(1, 1510, 1 << 20, 5);
	decide_after(2, 1510, 1 << 20, 6);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert(a.aligned && nb_agree_broken(&a));
	ck_assert(a.rank[2].differs && a.rank[2].has && a.rank[1].has);
	ck_assert_int_eq(a.rank[2].decision.algo, 6 / 3);
}

/* A group may hold any number: one question more at its begin moves all that
 * follow. */
TEST(many_decisions_of_one_call_are_compared_as_a_set)
{
	join(2);
	for (uint32_t i = 0; i < 2; i++)
		decide_after(i, 0, 8, 5);
	decide_after(1, 1, 1 << 20, 7);
	for (uint32_t k = 0; k < 100; k++)
		for (uint32_t i = 0; i < 2; i++)
			decide_after(i, 1, 4096 + 64 * k, k % 21);
	for (uint32_t i = 0; i < 2; i++)
		decide_after(i, 2, 8, 5);
	look();
	ck_assert_int_eq(a.verdict, NB_TUNER_CALLS_DIFFER);
	ck_assert(!nb_agree_broken(&a));
	ck_assert_uint_eq(a.extra, 1);
	ck_assert_uint_eq(a.extra_slot, 1);
	/* what one was asked and the other was not is still found */
	for (uint32_t k = 0; k < 100; k++)
		for (uint32_t i = 0; i < 2; i++)
			decide_after(i, 3, 64 * (k == 50 && i ? 200 : k), 5);
	for (uint32_t i = 0; i < 2; i++)
		decide_after(i, 4, 8, 5);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert(!a.aligned && nb_agree_broken(&a));
}

/* Calls may have configurations of their own, but the same on all ranks. */
TEST(ranks_that_were_offered_different_choices_are_named)
{
	enum { ALL = 0x1fffff, SOME = 0x38 };
	uint32_t c = 0;

	join(2);
	for (; c < 20; c++)
		for (uint32_t i = 0; i < 2; i++)
			decide_offer(i, c, 4096, 5, c % 2 ? SOME : ALL);
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	ck_assert(!a.offers);
	/* the answers are the same */
	decide_offer(0, c, 8192, 5, ALL);
	decide_offer(1, c++, 8192, 5, SOME);
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	ck_assert(a.offers);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(a.offer[i].seq, 20);
		ck_assert_uint_eq(a.offer[i].usable, a.offer_rank[i] ? SOME : ALL);
	}
	/* also where one rank was asked more often */
	decide_after(1, c, 64, 5);
	for (uint32_t i = 0; i < 2; i++)
		decide_offer(i, c, 4096, 5, ALL);
	decide_after(0, c + 1, 64, 5);
	decide_after(1, c + 1, 64, 5);
	look();
	ck_assert_int_eq(a.verdict, NB_TUNER_CALLS_DIFFER);
	ck_assert(a.offers);
	ck_assert_uint_eq(a.offer[0].seq, 20);
	/* an answer that differs is explained by its own offers alone */
	decide_offer(0, c + 2, 64, 7, ALL);
	decide_offer(1, c + 2, 64, 5, ALL);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert(!a.offers);
}

TEST(an_answer_to_another_offer_is_explained_by_it)
{
	char text[320];

	join(2);
	for (uint32_t i = 0; i < 2; i++)
		decide_offer(i, 0, 64, 5, 0x38);
	decide_offer(0, 1, 64, 5, 0x38);
	decide_offer(1, 1, 64, 2, 0x7);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert(a.aligned && a.offers);
	ck_assert_uint_eq(a.offer[0].usable + a.offer[1].usable, 0x38 + 0x7);
	nb_agree_text(&a, text, sizeof(text));
	ck_assert_msg(strstr(text, "different choices") != NULL, "%s", text);
}

TEST(questions_without_an_offer_are_not_compared)
{
	join(2);
	for (uint32_t c = 0; c < 10; c++) {
		ask_nothing(0, c, 64);
		decide_offer(0, c, 64, 5, 0x38);
		decide_offer(1, c, 64, 5, 0x38);
	}
	look();
	ck_assert_int_eq(a.verdict, NB_TUNER_CALLS_DIFFER);
	ck_assert_uint_eq(a.extra, 0);
	/* one rank looks for a symmetric kernel, and the other one is asked */
	ask_nothing(0, 10, 64);
	ask_nothing(0, 10, 64);
	decide_offer(1, 10, 64, 5, 0x38);
	for (uint32_t i = 0; i < 2; i++)
		decide_offer(i, 11, 64, 5, 0x38);
	look();
	ck_assert_int_eq(a.verdict, NB_TUNER_CALLS_DIFFER);
	ck_assert_uint_eq(a.extra, 1);
	ck_assert_uint_eq(a.extra_slot, 1);
	/* what differs is still found */
	ask_nothing(0, 12, 64);
	decide_offer(0, 12, 64, 3, 0x38);
	decide_offer(1, 12, 64, 5, 0x38);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
}

TEST(ranks_that_call_differently_are_found)
{
	join(2);
	for (uint32_t c = 0; c < 40; c++) {
		decide_after(0, c, 64 * (c % 9), 5);
		decide_after(1, c + (c >= 20), 64 * (c % 9), 5);
	}
	look();
	ck_assert_int_eq(a.verdict, NB_API_CALLS_DIFFER);
	ck_assert(nb_agree_broken(&a) && !a.aligned);
	ck_assert_uint_eq(a.seq, 21);
	/* ranks too far apart have no call in common */
	for (uint32_t c = 41; c < 3000; c++)
		decide_after(0, c, 8, 5);
	look();
	ck_assert_int_eq(a.verdict, NB_TOO_FAR);
}

/* Hashes of replicated maps are compared after the same calls. */
TEST(replicated_maps_that_differ_are_found)
{
	static const uint64_t calls[2][3] = { { 64, 128, 192 }, { 128, 192, 256 } };
	struct nb_seg_state *s[2];

	join(2);
	for (uint32_t r = 0; r < 2; r++) {
		run(r, 8);
		s[r] = nb_seg_states(ring[r]);
		for (int i = 0; i < 3; i++)
			s[r][calls[r][i] / NB_STATE_EVERY % NB_STATES] =
				(struct nb_seg_state){ calls[r][i], 1000 + calls[r][i] };
	}
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	ck_assert(!nb_agree_broken(&a));
	s[1][3].hash++;
	look();
	ck_assert_int_eq(a.verdict, NB_STATE_DIFFERS);
	ck_assert_uint_eq(a.seq, 192);
	ck_assert(a.aligned && nb_agree_broken(&a));
	/* the first of several */
	s[0][2].hash++;
	look();
	ck_assert_uint_eq(a.seq, 128);
}

/* A rank announces calls before its first decision. */
TEST(calls_are_no_decision_that_was_begun)
{
	struct nb_seg_slot *slot;
	uint64_t seq;

	join(1);
	slot = &comm->slot[0];
	slot->announced = 1;
	ck_assert(nb_job_undecided(slot, &seq) && seq == 0);
	slot->calls = 2;
	slot->announced = 2;
	ck_assert(!nb_job_undecided(slot, &seq));
	ck_assert_uint_eq(nb_job_decisions(slot), 0);
}

TEST(a_hash_can_be_taken_back)
{
	uint64_t hash[100] = { 0 };

	for (uint64_t k = 0; k < 99; k++)
		hash[k + 1] = hash_extend(hash[k], k, k * 77, k << 22);
	for (uint64_t k = 99; k > 0; k--)
		ck_assert_uint_eq(nb_hash_back(hash[k], (k - 1) * 77, (k - 1) << 22, 0),
				  hash[k - 1] & NB_HASH_MASK);
	ck_assert_uint_eq(hash[99] >> 48, 99);
	/* what is no answer changes nothing; what is one does */
	ck_assert_uint_eq(hash_extend(1, 2, 3, 4095), hash_extend(1, 2, 3, 0));
	ck_assert_uint_ne(hash_extend(1, 2, 3, UINT64_C(1) << 22), hash_extend(1, 2, 3, 0));
}

TEST(ranks_that_decide_alike_agree_wherever_they_stand)
{
	join(4);
	look();
	ck_assert_int_eq(a.verdict, NB_ALONE);
	run(0, 5000);
	run(1, 4100);
	run(2, 5001);
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	ck_assert_uint_eq(a.to, 4100);
	ck_assert_uint_eq(a.n, 4);
	run(3, 3000); /* too far behind to be held against rank 2 */
	look();
	ck_assert_int_eq(a.verdict, NB_TOO_FAR);
	run(3, 1000);
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
	ck_assert_uint_eq(a.to, 4000);
	run(0, 70000); /* tags wrap */
	run(1, 70000);
	run(2, 70000);
	run(3, 71000);
	look();
	ck_assert_int_eq(a.verdict, NB_AGREED);
}

TEST(the_first_decision_that_differs_is_named)
{
	char text[320];

	join(3);
	for (uint32_t r = 0; r < 3; r++)
		run(r, 700);
	decide(0, 4096, 5);
	decide(1, 4096, 3);
	decide(2, 4096, 5);
	for (uint32_t r = 0; r < 3; r++)
		run(r, 50 + r * 100);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert_uint_eq(a.seq, 700);
	ck_assert(!a.earlier);
	ck_assert(a.rank[0].has && a.rank[1].has && a.rank[2].has);
	ck_assert(!a.rank[0].differs && a.rank[1].differs && !a.rank[2].differs);
	ck_assert_int_eq(a.rank[0].decision.algo, 1);
	ck_assert_int_eq(a.rank[0].decision.proto, 2);
	ck_assert_int_eq(a.rank[1].decision.proto, 0);
	ck_assert_uint_eq(a.rank[1].decision.bytes, 4096);
	ck_assert_uint_eq(a.extra, 0);
	ck_assert(a.aligned); /* they were asked the same */
	nb_agree_text(&a, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "differs is number 700: slot 0 "));
	ck_assert_ptr_nonnull(strstr(text, "4096 bytes ring/simple"));
	ck_assert_ptr_nonnull(strstr(text, "; slot 1 "));
	nb_agree_text(&a, text, 20);
	ck_assert_str_eq(text, "the first decision ");
}

TEST(a_difference_before_what_is_kept_is_seen)
{
	join(2);
	decide(0, 8, 1);
	decide(1, 8, 2);
	run(0, 3000);
	run(1, 3000);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED_BEFORE);
	ck_assert_uint_eq(a.seq, 3001 - NB_RING);
	decide(0, 8, 1);
	decide(1, 8, 2);
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert_uint_eq(a.seq, 3001);
	ck_assert(a.earlier);
}

TEST(decisions_that_one_rank_made_more_are_seen_as_such)
{
	char text[320];

	join(2);
	run(0, 100);
	run(1, 100);
	decide(1, 1, 7); /* a simulation, say */
	decide(1, 2, 8);
	for (uint64_t i = 0; i < 20; i++) {
		decide(0, 64 + i, 9);
		decide(1, 64 + i, 9);
	}
	look();
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert_uint_eq(a.seq, 100);
	ck_assert_uint_eq(a.extra, 2);
	ck_assert_uint_eq(a.extra_slot, 1);
	ck_assert(!a.aligned);
	nb_agree_text(&a, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "from decision 100 on slot 1 has "
					   "made 2 decisions that others"));
}

TEST(the_dead_can_be_read_from_the_file)
{
	struct nb_job job;
	struct nb_err err;
	char text[64];
	pid_t pid = fork();
	int status;

	if (!pid) {
		uint32_t number;

		join(2);
		run(0, 10);
		run(1, 10);
		decide(0, 77, 5);
		decide(1, 78, 5);
		nb_segment_gen(shared, (const uint8_t[NB_SHA256_SIZE]){ 1 }, true, &number, NULL);
		nb_segment_name(shared, number, "size_aware noop");
		_exit(number == 1 ? 0 : 9);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_msg(!nb_job_read(&job, path, &err), "%s", err.text);
	ck_assert(nb_agree(&job, 0, &a));
	ck_assert_int_eq(a.verdict, NB_DIVERGED);
	ck_assert_uint_eq(a.seq, 10);
	ck_assert_uint_eq(a.rank[0].pid, (uint32_t)pid);
	ck_assert_uint_eq(a.rank[1].decision.bytes, 78);
	nb_job_policies(&job, 1, text, sizeof(text));
	ck_assert_str_eq(text, "size_aware noop");
	nb_job_policies(&job, 1, text, 6);
	ck_assert_str_eq(text, "size_");
	nb_job_policies(&job, 65, text, sizeof(text));
	ck_assert_str_eq(text, "");
	nb_job_free(&job);
}

static void write_file(const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, n), (int)n);
	close(fd);
}

TEST(what_is_no_segment_is_refused)
{
	char version[16];
	static _Alignas(64) char bytes[sizeof(struct nb_seg)];
	struct nb_seg *seg = (void *)bytes;
	struct nb_err err;
	struct nb_job job;

	nb_segment_detach(shared); /* the last one takes the file away */
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(nb_job_read(&job, path, &err), NB_E_NOINPUT);
	ck_assert_int_eq(nb_job_read(&job, dir, &err), NB_E_NOINPUT);
	write_file(bytes, 100);
	ck_assert_int_eq(nb_job_read(&job, path, &err), NB_E_IMAGE);
	write_file(bytes, sizeof(bytes));
	ck_assert_int_eq(nb_job_read(&job, path, &err), NB_E_IMAGE);
	seg->magic = NB_SEG_MAGIC;
	seg->version = NB_SEG_VERSION + 1;
	seg->size = sizeof(*seg);
	write_file(bytes, sizeof(bytes));
	ck_assert_int_eq(nb_job_read(&job, path, &err), NB_E_VERSION);
	snprintf(version, sizeof(version), "version %d", NB_SEG_VERSION);
	ck_assert_ptr_nonnull(strstr(err.text, version));
	ck_assert_int_eq(nb_segment_attach(&shared, dirfd, "t", 0, true, NULL), 0);
}

/* Any bytes at all: no crash, no endless loop. */
TEST(scribbled_segments_are_survived)
{
	size_t size = NB_SEG_RINGS_AT + 3 * NB_SEG_RING_SIZE - 100;
	unsigned char *bytes = aligned_alloc(64, (size + 63) / 64 * 64);
	struct nb_seg *seg = (void *)bytes;
	struct nb_job job = { seg, size, NULL };
	uint64_t x = 88172645463325252u;

	ck_assert_ptr_nonnull(bytes);
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i + 8 <= sizeof(*seg); i += 8) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			memcpy(bytes + i, &x, 8);
		}
		for (uint32_t i = 0; i < 4; i++)
			for (uint32_t k = 0; k < NB_SEG_SLOTS; k++)
				seg->comm[i].slot[k].ring %= 5;
		for (uint32_t i = 0; i < 4; i++)
			nb_agree(&job, i, &a);
	}
	free(bytes);
}

UNIT_MAIN_WITH("agree", tcase_add_checked_fixture(tc, set_up, tear_down);)
