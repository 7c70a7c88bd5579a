// SPDX-License-Identifier: MIT
// The tuner from NCCL's side: what is read from a cost table, which answers of
// policies are let through, every version of the ABI with good and bad
// arguments, and changes while ranks decide.
#include "test/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "plugin/abi/tuner_v2.h"
#include "plugin/abi/tuner_v3.h"
#include "plugin/abi/tuner_v4.h"
#include "plugin/abi/tuner_v5.h"
#include "plugin/abi/tuner_v6.h"
#include "plugin/runtime.h"
#include "plugin/reach.h"
#include "plugin/segment.h"
#include "plugin/tuner.h"
#include "test/unit/made.h"

enum { RING = NCCL_ALGO_RING, TREE = NCCL_ALGO_TREE };
enum { LL = NCCL_PROTO_LL, SIMPLE = NCCL_PROTO_SIMPLE };

/* ---- NCCL's side, from ABI reference 1.7 ---- */

/* What NCCL picks; -1: nothing. */
static int pick(const float *t, int n, float limit)
{
	float least = limit;
	int best = -1;

	for (int i = 0; i < n; i++) {
		if (t[i] < 0.0f || !(t[i] < least))
			continue;
		least = t[i];
		best = i;
	}
	return best;
}

static void table(float t[21])
{
	for (int i = 0; i < 21; i++)
		t[i] = 100.0f + (float)(i * 5 % 21);
}

static uint64_t rng = 88172645463325252u;

static uint32_t roll(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static void wild_table(float t[21])
{
	static const float odd[] = { -1.0f,  -1.0f, -0.0f, 0.0f,   -3.0f,
				     3.6e9f, 4e9f,  1.0f,  1e-40f, -1e-40f };

	for (int i = 0; i < 21; i++)
		switch (roll(4)) {
		case 0:
			t[i] = odd[roll(10)];
			break;
		case 1:
			t[i] = roll(2) ? (float)NAN : (float)INFINITY;
			break;
		default:
			t[i] = (float)roll(30);
		}
}

START_TEST(both_readings_of_a_table_agree_with_nccl)
{
	float t[21];

	for (int round = 0; round < 200000; round++) {
		struct nb_costs a, b;
		int best;

		wild_table(t);
		ck_assert(nb_costs_read(t, 7, 3, &a));
		nb_costs_scan(t, 21, &b);
		best = pick(t, 21, 3.6e9f);
		ck_assert_uint_eq(a.usable, b.usable);
		ck_assert_uint_eq(a.best, b.best);
		ck_assert_int_eq(best,
				 a.best == NB_COSTS_NONE ? -1 : (int)a.best);
		ck_assert(a.best_cost == b.best_cost);
	}
}
END_TEST

START_TEST(chosen_entry_is_what_nccl_takes)
{
	float t[21], was[21];

	for (int round = 0; round < 100000; round++) {
		struct nb_costs c;
		uint32_t i = roll(21);

		wild_table(t);
		nb_costs_read(t, 7, 3, &c);
		if (!(c.usable >> i & 1))
			continue;
		memcpy(was, t, sizeof(t));
		nb_costs_choose(t, i, &c);
		ck_assert_int_eq(pick(t, 21, 3.6e9f), (int)i);
		ck_assert_int_eq(pick(t, 21, 3.4e38f), (int)i);
		/* nothing that was not offered is now */
		for (int k = 0; k < 21; k++)
			if (!(was[k] >= 0.0f))
				ck_assert(!(t[k] >= 0.0f));
	}
}
END_TEST

static void flip(float *f, uint32_t bit)
{
	uint32_t u;

	memcpy(&u, f, sizeof(u));
	u ^= UINT32_C(1) << bit;
	memcpy(f, &u, sizeof(u));
}

START_TEST(a_table_is_known_again_by_every_entry)
{
	static struct nb_seen seen[NB_SEEN];
	struct nb_seen *s = nb_seen_slot(seen, 4096, 4);
	float t[21] = { 0 };

	ck_assert(!nb_seen_is(s, t, 4, 4096)); /* zeroed memory is no table */
	for (int n = 0; n < 2000; n++) {
		struct nb_costs c;
		int i = (int)roll(21);
		float before;

		wild_table(t);
		nb_seen_fill(s, t, 7, 3, 4, 4096);
		ck_assert(nb_seen_is(s, t, 4, 4096));
		nb_costs_scan(t, 21, &c);
		ck_assert_uint_eq(s->costs.usable, c.usable);
		ck_assert_uint_eq(s->costs.best, c.best);
		before = t[i];
		flip(&t[i], roll(32));
		ck_assert(!nb_seen_is(s, t, 4, 4096));
		t[i] = before;
		ck_assert(nb_seen_is(s, t, 4, 4096));
	}
	ck_assert(!nb_seen_is(s, t, 3, 4096)); /* another question */
	ck_assert(!nb_seen_is(s, t, 4, 4095));
	nb_seen_fill(s, t, 6, 3, 4, 4096); /* a shape that is not kept */
	ck_assert(!nb_seen_is(s, t, 4, 4096));
	nb_seen_fill(s, t, 7, 3, 5, 4096); /* nor is no collective */
	ck_assert(!nb_seen_is(s, t, 5, 4096));
	nb_seen_fill(s, t, 7, 3, 4, NB_PACKED_BYTES + 1);
	ck_assert(!nb_seen_is(s, t, 4, NB_PACKED_BYTES + 1));
	for (uint64_t b = 0; b < 10000; b++)
		ck_assert(nb_seen_slot(seen, b << 20, (int)roll(5)) <
			  seen + NB_SEEN);
}
END_TEST

START_TEST(sizes_of_one_collective_are_kept_side_by_side)
{
	static struct nb_seen seen[NB_SEEN];

	for (int coll = 0; coll < 5; coll++) {
		bool taken[NB_SEEN] = { false };

		for (unsigned i = 3; i < 40; i++) {
			ptrdiff_t at =
				nb_seen_slot(seen, UINT64_C(1) << i, coll) -
				seen;

			ck_assert(!taken[at]);
			taken[at] = true;
		}
	}
}
END_TEST

START_TEST(packed_decisions_come_back_whole_or_not_at_all)
{
	struct nb_packed p = { { 0 } }, torn;
	struct nb_decision d;

	ck_assert(!nb_unpack(&p, 0, &d)); /* never written */
	nb_packed_store(&p, 70000, NB_PACKED_BYTES,
			UINT64_C(0x3fffff) |
				(UINT64_C(1) << 20) << NB_PACKED_AT_USABLE |
				UINT64_C(1) << NB_PACKED_AT_REG_BUFF,
			4095 | UINT64_C(4) << NB_PACKED_AT_COLL |
				UINT64_C(20) << NB_PACKED_AT_BEST |
				nb_packed_outcome(3, 15, NB_NREFUSED - 1, 64),
			nb_packed_float(1.5f) |
				nb_packed_float(-1.0f)
					<< NB_PACKED_AT_BEST_COST);
	ck_assert(nb_unpack(&p, 70000, &d));
	ck_assert_uint_eq(d.bytes, NB_PACKED_BYTES);
	ck_assert_uint_eq(d.generation, NB_FENCE_MAX_GEN);
	ck_assert_uint_eq(d.usable, 1u << 20);
	ck_assert(d.reg_buff);
	ck_assert_uint_eq(d.pipe_ops, 4095);
	ck_assert_int_eq(d.coll, 4);
	ck_assert_int_eq(d.nccl_algo, 6);
	ck_assert_int_eq(d.nccl_proto, 2);
	ck_assert_int_eq(d.algo, RING);
	ck_assert_int_eq(d.proto, LL);
	ck_assert_int_eq(d.by, 15);
	ck_assert_int_eq(d.refused, NB_NREFUSED - 1);
	ck_assert_uint_eq(d.channels, 64);
	ck_assert(d.cost_us == 1.5 && d.nccl_cost_us == -1.0);
	ck_assert(!nb_unpack(&p, 70000 - NB_RING, &d));
	ck_assert(!nb_unpack(&p, 70000 + NB_RING, &d));
	for (int i = 0; i < NB_PACKED_WORDS; i++) {
		torn = p;
		torn.word[i] += (uint64_t)NB_RING << 48;
		ck_assert(!nb_unpack(&torn, 70000, &d));
		ck_assert(!nb_unpack(&torn, 70000 + NB_RING, &d));
	}
}
END_TEST

START_TEST(tables_of_no_known_shape_are_not_read)
{
	struct nb_costs c;
	float t[48];

	for (int i = 0; i < 48; i++)
		t[i] = (float)(50 - i);
	ck_assert(!nb_costs_read(NULL, 7, 3, &c));
	ck_assert(!nb_costs_read(t, 0, 3, &c));
	ck_assert(!nb_costs_read(t, -7, 3, &c));
	ck_assert(!nb_costs_read(t, 7, 0, &c));
	ck_assert(!nb_costs_read(t, 7, 4, &c));
	ck_assert(!nb_costs_read(t, 1 << 30, 3, &c));
	ck_assert(!nb_costs_read(t, 7, 1 << 30, &c));
	ck_assert_uint_eq(c.usable, 0);
	ck_assert_uint_eq(c.best, NB_COSTS_NONE);
	/* NCCL up to 2.22: six algorithms */
	ck_assert(nb_costs_read(t, 6, 3, &c));
	ck_assert_uint_eq(c.usable, (1u << 18) - 1);
	ck_assert_uint_eq(c.best, 17);
	/* more than we know: theirs may be NCCL's choice, not ours */
	ck_assert(nb_costs_read(t, 9, 3, &c));
	ck_assert_uint_eq(c.usable, (1u << 21) - 1);
	ck_assert_uint_eq(c.best, 26);
}
END_TEST

/* ---- checking answers ---- */

START_TEST(answers_that_nccl_cannot_have_are_refused)
{
	static const struct {
		int algo, proto;
		uint32_t channels, nodes;
		enum nb_refused why;
		int index;
		uint32_t got;
	} c[] = {
		{ -1, -1, 0, 1, NB_REFUSED_NONE, -1, 0 },
		{ 1, 2, 0, 1, NB_REFUSED_NONE, 5, 0 },
		{ 1, 2, 32, 1, NB_REFUSED_NONE, 5, 32 },
		{ 1, 2, 33, 1, NB_REFUSED_CHANNELS_RANGE, 5, 0 },
		{ 1, 2, UINT32_MAX, 1, NB_REFUSED_CHANNELS_RANGE, 5, 0 },
		{ 7, 2, 1, 1, NB_REFUSED_ALGO_RANGE, -1, 0 },
		{ -2, 2, 1, 1, NB_REFUSED_ALGO_RANGE, -1, 0 },
		{ INT32_MIN, INT32_MIN, 1, 1, NB_REFUSED_ALGO_RANGE, -1, 0 },
		{ 1, 3, 1, 1, NB_REFUSED_PROTO_RANGE, -1, 0 },
		{ 1, INT32_MAX, 1, 1, NB_REFUSED_PROTO_RANGE, -1, 0 },
		/* entry 4 (Ring, LL128) is not offered */
		{ 1, 1, 4, 1, NB_REFUSED_UNUSABLE, -1, 0 },
		/* the cheapest partner: 3 is 102, 5 is 101 */
		{ 1, -1, 0, 1, NB_REFUSED_NONE, 5, 0 },
		{ -1, 1, 0, 1, NB_REFUSED_NONE, 10, 0 },
		/* nothing of PAT is offered */
		{ 6, -1, 4, 1, NB_REFUSED_NO_PARTNER, -1, 0 },
		/* NCCL bounds no channels of these */
		{ 2, 2, 4, 1, NB_REFUSED_CHANNELS_ALGO, 8, 0 },
		{ 3, 2, 4, 1, NB_REFUSED_CHANNELS_ALGO, 11, 0 },
		{ 4, 2, 4, 1, NB_REFUSED_NONE, 14, 4 },
		{ 4, 2, 4, 2, NB_REFUSED_CHANNELS_ALGO, 14, 0 },
		{ 5, 2, 4, 2, NB_REFUSED_NONE, 17, 4 },
		/* channels alone: of NCCL's own choice, 10 */
		{ -1, -1, 4, 1, NB_REFUSED_CHANNELS_ALGO, -1, 0 },
	};
	struct nb_costs costs;
	float t[21];

	for (int i = 0; i < 21; i++)
		t[i] = 100.0f;
	t[3] = 102.0f;
	t[5] = 101.0f;
	t[4] = -1.0f;
	t[10] = 50.0f;
	t[18] = t[19] = t[20] = -1.0f;
	nb_costs_read(t, 7, 3, &costs);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct ncclbpf_tuner ctx = { .nodes = c[i].nodes,
					     .algo = c[i].algo,
					     .proto = c[i].proto,
					     .channels = c[i].channels };
		uint32_t index, channels;

		ck_assert_msg(nb_tuner_check(&ctx, &costs, t, 32, &index,
					     &channels) == c[i].why,
			      "case %zu", i);
		ck_assert_msg((index == NB_COSTS_NONE ? -1 : (int)index) ==
				      c[i].index,
			      "case %zu: entry %u", i, index);
		ck_assert_msg(channels == c[i].got, "case %zu: %u", i,
			      channels);
	}
}
END_TEST

START_TEST(each_reason_has_a_word)
{
	ck_assert_ptr_null(nb_refused_word(NB_REFUSED_NONE));
	for (int i = 1; i < NB_NREFUSED; i++) {
		ck_assert_ptr_nonnull(nb_refused_word((enum nb_refused)i));
		ck_assert_ptr_nonnull(nb_refused_text((enum nb_refused)i));
	}
}
END_TEST

/* ---- memory that is not to be had ---- */

static bool no_memory; /* for the next context */

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (no_memory && fd < 0) {
		no_memory = false;
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, n, prot, flags, fd, off);
}

/* ---- a process with a policy ---- */

static char dir[64];
static char lines[8192];

static void logger(int level, unsigned long flags, const char *file, int line,
		   const char *fmt, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	va_list ap;
	size_t n;

	(void)level;
	(void)flags;
	(void)file;
	(void)line;
	pthread_mutex_lock(&lock);
	n = strlen(lines);
	va_start(ap, fmt);
	vsnprintf(lines + n, sizeof(lines) - n, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&lock);
}

static void set_up(void)
{
	strcpy(dir, "/tmp/nbtunerXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "t", 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_LOG", "debug", 1);
	unsetenv("NCCLBPF_POLICY");
	unsetenv("NCCL_ALGO");
	unsetenv("NCCL_PROTO");
}

static void tear_down(void)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static void write_policy(const char *name, const char *text,
			 const struct nb_map_spec *maps, uint32_t nmaps,
			 char path[128])
{
	struct nb_buf b;
	int fd;

	made_image(&b, name, text, maps, nmaps);
	snprintf(path, 128, "%s/%s.policy", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	ck_assert_int_eq(write(fd, b.data, b.size), (ssize_t)b.size);
	close(fd);
	nb_buf_fini(&b);
}

static void begin_with(const char *text)
{
	char path[128];

	write_policy("first", text, NULL, 0, path);
	setenv("NCCLBPF_POLICY", path, 1);
}

static struct nb_comm *rank_of(uint64_t id, size_t ranks)
{
	void *ctx = NULL;
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };

	ck_assert_int_eq(
		ncclTunerPlugin_v5.init(&ctx, id, ranks, 1, logger, &nvl, NULL),
		0);
	return ctx;
}

struct got {
	int index, channels;
};

static struct got ask(struct nb_comm *c, int coll, size_t bytes)
{
	struct got g = { -1, 0 };
	float t[21];

	table(t);
	ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(c, coll, bytes, 1,
							  (float **)(void *)t,
							  7, 3, 0, &g.channels),
			 0);
	g.index = pick(t, 21, 3.6e9f);
	return g;
}

/* Asked for once: nb_runtime_get is not for callers that hold the lock. */
static struct nb_runtime *rt(void)
{
	static struct nb_runtime *known;
	struct nb_runtime *r = __atomic_load_n(&known, __ATOMIC_ACQUIRE);

	if (!r) {
		r = nb_runtime_get(NULL);
		__atomic_store_n(&known, r, __ATOMIC_RELEASE);
	}
	return r;
}

static uint64_t refused(enum nb_refused why)
{
	struct nb_runtime *r = rt();
	uint64_t n;

	nb_runtime_lock(r);
	n = nb_runtime_refused(r, why);
	nb_runtime_unlock(r);
	return n;
}

START_TEST(policy_of_the_environment_decides_in_every_version)
{
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	void *c[7] = { 0 };
	int n[7] = { 0 }, algo = -1, proto = -1;
	size_t chunk = 1 << 17;
	float t[7][21];

	begin_with("stw [%r1+68], 1\nstw [%r1+72], 2\nstw [%r1+76], 9\n"
		   "mov %r0, 0\nexit\n");
	ncclTunerPlugin_v2.init(8, 1, logger, &c[2]);
	ncclTunerPlugin_v3.init(8, 1, logger, &c[3]);
	ncclTunerPlugin_v4.init(8, 1, logger, &c[4]);
	ncclTunerPlugin_v5.init(&c[5], 5, 1, 1, logger, &nvl, NULL);
	ncclTunerPlugin_v6.init(&c[6], 6, 1, 1, logger, NULL, NULL);
	for (int v = 2; v <= 6; v++) {
		ck_assert_ptr_nonnull(c[v]);
		table(t[v]);
	}
#define TABLE(v) (float **)(void *)t[v]
	ncclTunerPlugin_v2.get_coll_info(c[2], 4, 1024, 0, 0, 1, &algo, &proto,
					 &n[2]);
	ncclTunerPlugin_v3.get_coll_info(c[3], 4, 1024, 1, TABLE(3), 7, 3,
					 &n[3]);
	ncclTunerPlugin_v4.get_coll_info(c[4], 4, 1024, 1, TABLE(4), 7, 3, 1,
					 &n[4]);
	ncclTunerPlugin_v5.get_coll_info(c[5], 4, 1024, 1, TABLE(5), 7, 3, 1,
					 &n[5]);
	ncclTunerPlugin_v6.get_coll_info(c[6], 4, 1024, 1, TABLE(6), 7, 3, 1,
					 &n[6]);
#undef TABLE
	ck_assert_int_eq(algo, RING);
	ck_assert_int_eq(proto, SIMPLE);
	for (int v = 2; v <= 6; v++) {
		ck_assert_int_eq(n[v], 9);
		if (v > 2)
			ck_assert_int_eq(pick(t[v], 21, 3.6e9f),
					 RING * 3 + SIMPLE);
	}
	/* policies have no say in it */
	ck_assert_int_eq(ncclTunerPlugin_v6.get_chunk_size(c[6], 4, 1024, 1, 2,
							   1, &chunk),
			 0);
	ck_assert_uint_eq(chunk, 1 << 17);
	ck_assert_int_eq(
		ncclTunerPlugin_v6.get_chunk_size(NULL, 4, 1024, 1, 2, 1, NULL),
		0);
	ncclTunerPlugin_v2.destroy(c[2]);
	ncclTunerPlugin_v3.destroy(c[3]);
	ncclTunerPlugin_v4.destroy(c[4]);
	ncclTunerPlugin_v5.finalize(c[5]);
	ncclTunerPlugin_v6.finalize(c[6]);
}
END_TEST

START_TEST(nothing_that_nccl_passes_is_fatal)
{
	struct nb_comm *c;
	float t[21];
	int n = 0, algo = -1, proto = -1;

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	table(t);
	ck_assert_int_eq(
		ncclTunerPlugin_v5.init(NULL, 1, 1, 1, logger, NULL, NULL), 0);
	for (int coll = -2; coll < 12; coll++)
		ask(c, coll, 1);
	ck_assert_uint_eq(refused(NB_REFUSED_COLLECTIVE), 9);
	ncclTunerPlugin_v5.get_coll_info(c, 4, SIZE_MAX, -5, NULL, 7, 3, -1,
					 NULL);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 0, 1, (float **)(void *)t, 0, 3,
					 0, NULL);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 0, 1, (float **)(void *)t,
					 1 << 30, 1 << 30, 0, &n);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 0, 1, (float **)(void *)t, -1,
					 -1, 0, &n);
	ck_assert_uint_eq(refused(NB_REFUSED_COST_TABLE), 4);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 1, 1, (float **)(void *)t, 7, 3,
					 0, NULL);
	ck_assert_int_eq(pick(t, 21, 3.6e9f), 5);
	ncclTunerPlugin_v5.get_coll_info(NULL, 4, 1, 1, (float **)(void *)t, 7,
					 3, 0, &n);
	ncclTunerPlugin_v2.get_coll_info(NULL, 4, 1, 0, 0, 1, &algo, &proto,
					 &n);
	ck_assert_uint_eq(refused(NB_REFUSED_NO_CONTEXT), 2);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1, 0, 0, 1, NULL, NULL, NULL);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1, 0, 0, 1, &algo, NULL, NULL);
	ck_assert_int_eq(algo, -1);
	ck_assert_int_eq(ncclTunerPlugin_v5.finalize(NULL), 0);
	ck_assert_int_eq(ncclTunerPlugin_v5.finalize(c), 0);
}
END_TEST

START_TEST(v2_answers_only_what_is_safe_unchecked)
{
	void *c;
	int algo = -1, proto = -1, n = 0;

	/* Ring with LL128 depends on hardware that v2 says nothing of */
	begin_with(MADE_CHOOSE(1, 1));
	ncclTunerPlugin_v2.init(8, 1, logger, &c);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1 << 20, 0, 0, 1, &algo, &proto,
					 &n);
	ck_assert_int_eq(algo, -1);
	ck_assert_int_eq(proto, -1);
	ck_assert_uint_eq(refused(NB_REFUSED_UNUSABLE), 1);
}
END_TEST

START_TEST(v2_keeps_the_users_filter)
{
	void *c;
	int algo = -1, proto = -1, n = 0;

	setenv("NCCL_PROTO", "LL", 1);
	begin_with(MADE_CHOOSE(1, 2));
	ncclTunerPlugin_v2.init(8, 1, logger, &c);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1 << 20, 0, 0, 1, &algo, &proto,
					 &n);
	ck_assert_int_eq(algo, -1);
	ck_assert_int_eq(proto, -1);
}
END_TEST

START_TEST(bad_policies_leave_the_choice_to_nccl)
{
	struct nb_comm *c;
	float t[21];

	setenv("NCCLBPF_POLICY", "/nowhere/x.policy", 1);
	setenv("NCCLBPF_MAX_CHANNELS", "65", 1);
	setenv("NCCLBPF_POLISY", "1", 1);
	c = rank_of(1, 1);
	table(t);
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(rt()->load_err.code, NB_E_NOINPUT);
	ck_assert_str_eq(rt()->load_what, "/nowhere/x.policy");
	ck_assert_ptr_nonnull(strstr(lines, "/nowhere/x.policy"));
	ck_assert_ptr_nonnull(strstr(lines, "from 1 to 64"));
	ck_assert_ptr_nonnull(strstr(lines, "did you mean NCCLBPF_POLICY"));
	ck_assert_int_eq(rt()->params.num[NB_P_MAX_CHANNELS], 64);
	nb_comm_free(c);
	unsetenv("NCCLBPF_POLISY");
}
END_TEST

START_TEST(disabled_means_nothing_at_all)
{
	setenv("NCCLBPF_DISABLE", "1", 1);
	begin_with(MADE_CHOOSE(1, 2));
	ck_assert_ptr_null(rank_of(1, 1));
	ck_assert_ptr_null(rt());
	ck_assert_int_eq(ask(NULL, 4, 1).channels, 0);
	unsetenv("NCCLBPF_DISABLE");
}
END_TEST

START_TEST(decisions_can_be_read_back)
{
	struct nb_comm *c;
	struct nb_decision d;

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	for (int i = 0; i < 2000; i++)
		ask(c, i % 5, (size_t)1 << (i % 30));
	nb_runtime_lock(rt());
	ck_assert_uint_eq(nb_comm_decisions(c), 2000);
	ck_assert(!nb_comm_decision(c, 2000, &d));
	ck_assert(!nb_comm_decision(c, 2000 - NB_RING - 1, &d));
	for (uint64_t s = 2000 - NB_RING; s < 2000; s++) {
		ck_assert(nb_comm_decision(c, s, &d));
		ck_assert_uint_eq(d.seq, s);
		ck_assert_int_eq(d.coll, (int)(s % 5));
		ck_assert_uint_eq(d.bytes, (uint64_t)1 << (s % 30));
		ck_assert_int_eq(d.algo, RING);
		ck_assert_int_eq(d.proto, SIMPLE);
		ck_assert_int_eq(d.by, 0);
		ck_assert_uint_eq(d.usable, (1u << 21) - 1);
		ck_assert(d.nccl_cost_us == 100.0);
		ck_assert(d.cost_us == 100.0 + 5 * 5 % 21);
	}
	ck_assert(nb_comm_latest(c, 0, 5, &d));
	ck_assert_uint_eq(d.bytes, 32);
	ck_assert_uint_eq(d.count, 67);
	ck_assert(!nb_comm_latest(c, 0, 4, &d));
	ck_assert(!nb_comm_latest(c, 5, 5, &d));
	ck_assert_str_eq(nb_runtime_policy_name(rt(), d.generation, 0),
			 "first");
	nb_runtime_unlock(rt());
	nb_comm_free(c);
	ck_assert_uint_eq(nb_runtime_decisions(rt()), 2000);
}
END_TEST

START_TEST(numbers_beyond_their_bits_are_clamped)
{
	struct nb_comm *c;
	struct nb_decision d;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	table(t);
	nb_tuner_decide(c, &(struct nb_ask){ .bytes = UINT64_MAX,
					     .coll = 4,
					     .pipe_ops = 1 << 30,
					     .table = t,
					     .nalgo = 7,
					     .nproto = 3 });
	ck_assert(t[5] == 0.0f);
	table(t);
	ncclTunerPlugin_v5.get_coll_info(c, 77, SIZE_MAX, -3,
					 (float **)(void *)t, 7, 3, 0, NULL);
	nb_runtime_lock(rt());
	ck_assert(nb_comm_decision(c, 0, &d));
	ck_assert_uint_eq(d.bytes, NB_PACKED_BYTES);
	ck_assert_uint_eq(d.pipe_ops, NB_PACKED_PIPE);
	ck_assert_int_eq(d.coll, 4);
	ck_assert_int_eq(d.by, 0);
	ck_assert(nb_comm_decision(c, 1, &d));
	ck_assert_int_eq(d.coll, -1);
	ck_assert_int_eq(d.refused, NB_REFUSED_COLLECTIVE);
	ck_assert_uint_eq(d.pipe_ops, 0);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
}
END_TEST

/* ---- changes ---- */

static void hold(const char *name, const char *text,
		 const struct nb_map_spec *maps, uint32_t nmaps)
{
	struct nb_held *held;
	struct nb_err err = { 0 };
	struct nb_buf b;

	made_image(&b, name, text, maps, nmaps);
	nb_runtime_lock(rt());
	ck_assert_msg(!nb_runtime_policy_add(rt(), b.data, b.size, name,
					     NB_SOURCE_SHELL, NULL, NULL, &held,
					     &err),
		      "%s", err.text);
	nb_runtime_unlock(rt());
	nb_buf_fini(&b);
}

static struct nb_change last;

static int commit(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	return nb_change_commit(rt(), digest, NB_CHANGE_ANY, &last, err);
}

static void use(const char *name)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };

	ck_assert_msg(
		!nb_change_stage_use(rt(), &name, name ? 1 : 0, digest, &err),
		"%s", err.text);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
}

START_TEST(change_undo_and_map_change_while_a_job_runs)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	uint32_t key = 0, value = 6;
	struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_err err = { 0 };
	bool staged, has_last;
	struct got before = ask(c, 4, 1024);

	ck_assert_int_eq(
		nb_change_stage_undo(rt(), NB_CHANGE_ANY, digest, &err),
		NB_E_NOENT);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("chan", MADE_CHANNELS_FROM_MAP, &made_coherent, 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
	use("ring");
	ck_assert_int_eq(last.state, NB_CHANGE_COMMITTED);
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_uint_eq(last.comm[0].fence, 2); /* idle: at once */
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	use("chan");
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(
		nb_change_stage_map(rt(), "limits", &op, 1, digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(commit(digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 6);
	ck_assert_int_eq(
		nb_change_stage_undo(rt(), NB_CHANGE_ANY, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(
		nb_change_stage_undo(rt(), NB_CHANGE_ANY, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 6);
	use(NULL);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
	nb_change_status(rt(), &staged, digest, &has_last, &last);
	ck_assert(!staged && has_last);
	ck_assert_uint_eq(last.comm[0].passed, 1);
	/* many more changes than generations can be kept */
	for (int i = 0; i < 3 * NB_MAX_GENS; i++) {
		use(i % 2 ? "ring" : "chan");
		ck_assert_int_eq(ask(c, 4, 1024).index,
				 i % 2 ? 5 : before.index);
	}
	nb_comm_free(c);
}
END_TEST

/* A rank looks at the record at each decision from the arming of a fence to
 * the fence. Nothing is missing then, nor where the change is to no policy. */
START_TEST(nothing_is_missing_before_a_fence_or_without_a_policy)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	uint32_t number;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(nb_change_stage_use(rt(), &name, 1, digest, &err), 0);
	ck_assert_int_eq(nb_segment_gen(rt()->seg, digest, true, &number, NULL),
			 0);
	c->seg->record.word = nb_fence_word(NB_FENCE_COMMIT, number, 5);
	for (int k = 0; k < 5; k++)
		ck_assert_int_ne(ask(c, 4, 1024).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	use(NULL);
	ck_assert_int_ne(ask(c, 4, 1024).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	/* and one that is not held by this process is counted, once */
	memset(digest, 7, sizeof(digest));
	ck_assert_int_eq(nb_segment_gen(rt()->seg, digest, true, &number, NULL),
			 0);
	c->seg->record.word = nb_fence_word(NB_FENCE_COMMIT, number, 0);
	for (int k = 0; k < 5; k++)
		ck_assert_int_ne(ask(c, 4, 1024).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 1);
	nb_comm_free(c);
}
END_TEST

/* Is a generation of that digest kept, after all that nobody needs is gone? */
static bool kept(const uint8_t digest[NB_SHA256_SIZE])
{
	bool is;

	nb_runtime_lock(rt());
	nb_runtime_sweep(rt());
	is = nb_runtime_gen_find(rt(), digest) != NULL;
	nb_runtime_unlock(rt());
	return is;
}

static uint32_t stage_one(const char *name, uint8_t digest[NB_SHA256_SIZE])
{
	struct nb_err err = { 0 };
	uint32_t number;

	ck_assert_msg(!nb_change_stage_use(rt(), &name, 1, digest, &err), "%s",
		      err.text);
	ck_assert(!nb_segment_gen(rt()->seg, digest, true, &number, &err));
	return number;
}

/* What a rank finds on the way to a fence stays, though nothing else leads to
 * it, until the rank has taken it or stands before another fence. */
START_TEST(what_is_behind_a_fence_stays_until_it_is_taken)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t ring[NB_SHA256_SIZE], tree[NB_SHA256_SIZE];

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("tree", MADE_CHOOSE(0, 2), NULL, 0);
	ask(c, 4, 1024);
	for (int taken = 0; taken < 2; taken++) {
		const uint64_t before = c->seg->record.word;
		uint64_t fence = c->fence.seq + 5, to_ring, to_tree;

		to_ring = nb_fence_word(NB_FENCE_COMMIT,
					stage_one("ring", ring), fence);
		c->seg->record.word = to_ring;
		for (int k = 0; k < 4; k++)
			ck_assert_int_ne(ask(c, 4, 1024).index, 5);
		to_tree = nb_fence_word(NB_FENCE_COMMIT,
					stage_one("tree", tree), fence);
		/* nothing but the rank knows of it now */
		c->seg->record.word = before;
		ck_assert(kept(ring));
		c->seg->record.word = taken ? to_ring : to_tree;
		ck_assert_int_ne(ask(c, 4, 1024).index, 5);
		ck_assert_int_eq(kept(ring), taken);
		ck_assert_int_eq(ask(c, 4, 1024).index, taken ? 5 : 2);
		c->seg->record.word = before;
		ck_assert_int_eq(kept(ring), taken);
	}
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	nb_comm_free(c);
}
END_TEST

START_TEST(new_communicators_begin_with_the_last_change)
{
	struct nb_comm *c = rank_of(1, 1), *d;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	d = rank_of(2, 1);
	ck_assert_int_eq(ask(d, 4, 1024).index, 5);
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	nb_comm_free(c);
	nb_comm_free(d);
}
END_TEST

/* Policies for one communicator alone; those that come later have what no
 * scope names. */
START_TEST(a_change_reaches_those_that_it_is_for)
{
	struct nb_comm *c = rank_of(0xaa, 1), *d = rank_of(0xbb, 1), *e;
	const struct nb_reach one = { NB_REACH_SOME, 1, { 0xbb } },
			      none = { NB_REACH_SOME, 1, { 0xcc } };
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	struct got before = ask(c, 4, 1024);

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(
		nb_change_stage_for(rt(), &none, &name, 1, digest, &err),
		NB_E_NOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "00000000000000bb"));
	ck_assert_msg(!nb_change_stage_for(rt(), &one, &name, 1, digest, &err),
		      "%s", err.text);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	e = rank_of(0xcc, 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
	ck_assert_int_eq(ask(d, 4, 1024).index, 5);
	ck_assert_int_eq(ask(e, 4, 1024).index, before.index);
	ck_assert_ptr_eq(nb_gen_whole(c->gen), nb_gen_whole(d->gen));
	nb_comm_free(d);
	/* gone, and still named: one that has its identity begins so */
	d = rank_of(0xbb, 1);
	ck_assert_int_eq(ask(d, 4, 1024).index, 5);
	nb_comm_free(d);
	ck_assert_msg(!nb_change_stage_common(rt(), &one, digest, &err), "%s",
		      err.text);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	d = rank_of(0xbb, 1);
	ck_assert_int_eq(ask(d, 4, 1024).index, before.index);
	/* what a view counted is not lost with it */
	for (int i = 0; i < 3 * NB_MAX_GENS; i++) {
		name = i % 2 ? "ring" : "chan";
		hold("chan", MADE_CHANNELS_FROM_MAP, &made_coherent, 1);
		ck_assert_msg(!nb_change_stage_for(rt(), &one, &name, 1, digest,
						   &err),
			      "%s", err.text);
		ck_assert_msg(!commit(digest, &err), "%s", err.text);
		ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
		ck_assert_int_eq(ask(d, 4, 1024).index,
				 i % 2 ? 5 : before.index);
		ask(e, 4, 1024);
	}
	nb_runtime_lock(rt());
	ck_assert_uint_eq(
		nb_runtime_policy_counts(
			rt(),
			nb_runtime_policy_find(rt(), "ring", NULL)->policy, 0)
			.runs,
		2 + 3 * NB_MAX_GENS / 2);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
	nb_comm_free(d);
	nb_comm_free(e);
}
END_TEST

START_TEST(ranks_elsewhere_refuse_a_change)
{
	struct nb_comm *c = rank_of(0xabc, 4), *d = rank_of(0xabc, 4);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	float t[21];

	table(t);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(nb_change_stage_use(rt(), &name, 1, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "2 of 4 ranks"));
	ck_assert_ptr_nonnull(strstr(err.text, "0abc"));
	ck_assert_int_eq(nb_change_abort(rt(), digest, &err), 0);
	ck_assert_int_eq(nb_change_abort(rt(), digest, &err), NB_E_NOENT);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	/* once it has decided without them they do not come any more */
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	use("ring");
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_UNCHANGEABLE);
	ck_assert_ptr_nonnull(strstr(last.comm[0].why, "2 of 4 ranks"));
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(ask(d, 4, 1024).index, pick(t, 21, 3.6e9f));
	nb_comm_free(c);
	nb_comm_free(d);
}
END_TEST

START_TEST(communicators_without_identity_keep_what_they_have)
{
	struct got got = { -1, 0 };
	float t[21];
	void *c;

	ncclTunerPlugin_v4.init(1, 1, logger, &c);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_UNCHANGEABLE);
	ck_assert_ptr_nonnull(strstr(last.comm[0].why, "v4"));
	table(t);
	ncclTunerPlugin_v4.get_coll_info(c, 4, 1, 1, (float **)(void *)t, 7, 3,
					 0, &got.channels);
	ck_assert_int_ne(pick(t, 21, 3.6e9f), 5);
	ncclTunerPlugin_v4.destroy(c);
	ncclTunerPlugin_v4.init(1, 1, logger, &c);
	table(t);
	ncclTunerPlugin_v4.get_coll_info(c, 4, 1, 1, (float **)(void *)t, 7, 3,
					 0, &got.channels);
	ck_assert_int_eq(pick(t, 21, 3.6e9f), 5);
	ncclTunerPlugin_v4.destroy(c);
}
END_TEST

/* Were the baseline to move between two of its ranks, they would differ. */
START_TEST(change_waits_for_a_communicator_that_is_being_made)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	void *one, *two;

	ncclTunerPlugin_v4.init(2, 1, logger, &one);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(nb_change_stage_use(rt(), &name, 1, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "1 of 2 ranks"));
	ncclTunerPlugin_v4.init(2, 1, logger, &two);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	ncclTunerPlugin_v4.destroy(one);
	ncclTunerPlugin_v4.destroy(two);
	for (int i = 0; i < NB_SEG_COMMS; i++)
		ck_assert_uint_eq(rt()->seg->mem->comm[i].in_use, 0);
}
END_TEST

/* A change reaches this host alone: what spans several must not see it. */
START_TEST(communicators_of_several_hosts_begin_as_the_environment_says)
{
	struct nb_comm *c;
	void *v4, *v5;

	begin_with(MADE_CHOOSE(0, 2));
	c = rank_of(1, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	nb_comm_free(c);
	ncclTunerPlugin_v5.init(&v5, 3, 16, 2, logger, NULL, NULL);
	ck_assert_int_eq(ask(v5, 4, 1024).index, 2);
	ncclTunerPlugin_v5.finalize(v5);
	ncclTunerPlugin_v4.init(16, 2, logger, &v4);
	ck_assert_int_eq(ask(v4, 4, 1024).index, 2);
	/* a later change does not move it, and is not held up by it */
	use(NULL);
	ck_assert_int_eq(ask(v4, 4, 1024).index, 2);
	ncclTunerPlugin_v4.destroy(v4);
}
END_TEST

START_TEST(policy_in_use_is_not_discarded)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_err err = { 0 };

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ask(c, 4, 1);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_runtime_policy_discard(rt(), "ring", &err),
			 NB_E_BUSY);
	nb_runtime_unlock(rt());
	use(NULL);
	ask(c, 4, 1);
	nb_runtime_lock(rt());
	ck_assert_msg(!nb_runtime_policy_discard(rt(), "ring", &err), "%s",
		      err.text);
	ck_assert_uint_eq(rt()->nheld, 0);
	ck_assert_int_eq(nb_runtime_policy_discard(rt(), "ring", &err),
			 NB_E_NOENT);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
}
END_TEST

static int discard(const char *name, struct nb_err *err)
{
	int rc;

	nb_runtime_lock(rt());
	rc = nb_runtime_policy_discard(rt(), name, err);
	nb_runtime_unlock(rt());
	return rc;
}

/* An undo that is staged uses what it goes back to; what the environment named
 * stays for communicators of several hosts. */
START_TEST(staged_undo_and_environment_keep_their_policies)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	struct nb_comm *c;

	begin_with(MADE_CHOOSE(0, 2));
	c = rank_of(1, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	use(NULL);
	ask(c, 4, 1);
	ck_assert_int_eq(
		nb_change_stage_undo(rt(), NB_CHANGE_ANY, digest, &err), 0);
	ck_assert_int_eq(discard("ring", &err), NB_E_BUSY);
	ck_assert_int_eq(nb_change_abort(rt(), digest, &err), 0);
	ck_assert_int_eq(discard("ring", &err), 0);
	ck_assert_int_eq(discard("first", &err), NB_E_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "NCCLBPF_POLICY"));
	nb_comm_free(c);
}
END_TEST

START_TEST(explain_runs_on_copies)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_map_ref ref;
	struct nb_explain ex;
	uint32_t key = 0, value = 0;

	hold("count", MADE_COUNT_IN_MAP, &made_local, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ask(c, 4, 4096);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_comm_explain(c, 4, 5000, &ex, NULL), 0);
	ck_assert(ex.seen);
	ck_assert_uint_eq(ex.order.n, 1);
	ck_assert_str_eq(ex.step[0].policy, "ring");
	ck_assert(ex.step[0].changed);
	ck_assert_int_eq(ex.answer.algo, RING);
	ck_assert_int_eq(ex.answer.by, 0);
	ck_assert_int_eq(nb_comm_explain(c, 2, 5000, &ex, NULL), 0);
	ck_assert(!ex.seen);
	ck_assert_int_eq(nb_comm_explain(c, 9, 5000, &ex, NULL), NB_E_ARG);
	nb_runtime_unlock(rt());
	use("count");
	ask(c, 4, 4096);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_comm_explain(c, 4, 5000, &ex, NULL), 0);
	ck_assert_int_eq(ex.answer.by, -1);
	ck_assert_int_eq(nb_runtime_map_find(rt(), "count/counts", &ref, NULL),
			 0);
	ck_assert_int_eq(nb_map_read(ref.object, &key, &value, NULL), 0);
	ck_assert_uint_eq(value, 1);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
}
END_TEST

/* What was not seen: channels alone are as they would be for most of what NCCL
 * may choose. */
START_TEST(explain_of_what_was_not_seen_has_the_channels)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_explain ex;

	hold("force", "mov %r2, 6\nstxw [%r1+76], %r2\nmov %r0, 0\nexit\n",
	     NULL, 0);
	hold("many", "mov %r2, 999\nstxw [%r1+76], %r2\nmov %r0, 0\nexit\n",
	     NULL, 0);
	use("force");
	ask(c, 4, 4096);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_comm_explain(c, 2, 5000, &ex, NULL), 0);
	ck_assert(!ex.seen);
	ck_assert_uint_eq(ex.answer.channels, 6);
	ck_assert_int_eq(ex.answer.by, 0);
	ck_assert_int_eq(ex.answer.refused, NB_REFUSED_NONE);
	nb_runtime_unlock(rt());
	use("many");
	ask(c, 4, 4096);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_comm_explain(c, 2, 5000, &ex, NULL), 0);
	ck_assert_uint_eq(ex.answer.channels, 0);
	ck_assert_int_eq(ex.answer.by, -1);
	ck_assert_int_eq(ex.answer.refused, NB_REFUSED_CHANNELS_RANGE);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
}
END_TEST

START_TEST(explain_counts_as_decisions_do)
{
	struct nb_comm *c[2] = { rank_of(1, 1), rank_of(2, 1) };
	struct nb_explain ex;

	hold("seq",
	     "ldxdw %r2, [%r1+16]\nstxw [%r1+76], %r2\nmov %r0, 0\nexit\n",
	     NULL, 0);
	use("seq");
	/* the first one's clock counts calls of NCCL's API */
	__atomic_store_n(&c[0]->fence.slot->calls, 1 + 500, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++) {
		ask(c[0], 4, 4096);
		ask(c[1], 4, 4096);
	}
	ck_assert_uint_eq(c[0]->ctx.seq, 500);
	ck_assert_uint_eq(c[1]->ctx.seq, 2);
	__atomic_store_n(&c[0]->fence.slot->calls, 1 + 507, __ATOMIC_RELEASE);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_comm_explain(c[0], 4, 4096, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 507);
	ck_assert_int_eq(nb_comm_explain(c[1], 4, 4096, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 3);
	nb_runtime_unlock(rt());
	ask(c[0], 4, 4096);
	ck_assert_uint_eq(c[0]->ctx.seq, 507);
	nb_comm_free(c[0]);
	nb_comm_free(c[1]);
}
END_TEST

/* channels = cost in ns of the ring's cheapest protocol; the answer: NCCL's
 * cheapest of all */
static const char from_costs[] = "mov %r6, %r1\n"
				 "mov %r2, 1\n"
				 "call 131074\n"
				 "mov %r3, %r0\n"
				 "mov %r1, %r6\n"
				 "mov %r2, 1\n"
				 "call 131073\n"
				 "stxw [%r6+76], %r0\n"
				 "mov %r1, %r6\n"
				 "mov %r2, -1\n"
				 "call 131075\n"
				 "stxw [%r6+68], %r0\n"
				 "mov %r1, %r6\n"
				 "mov %r2, %r0\n"
				 "call 131074\n"
				 "stxw [%r6+72], %r0\n"
				 "mov %r0, 0\nexit\n";

/* Of usable entries of the ring, in ns as the helper answers. */
static uint32_t ring_ns(const float t[21])
{
	double best = -1;

	for (int i = RING * 3; i < RING * 3 + 3; i++)
		if (t[i] >= 0 && t[i] < 3.6e9f &&
		    (best < 0 || (double)t[i] < best))
			best = (double)t[i];
	return best < 0 ? UINT32_MAX
			: (uint32_t)(uint64_t)(best * 1000.0 + 0.5);
}

START_TEST(policies_see_the_costs_of_their_decision)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_explain ex;
	int channels = 0;

	hold("costs", from_costs, NULL, 0);
	use("costs");
	for (uint32_t i = 0; i < 20000; i++) {
		float t[21], was[21];

		wild_table(t);
		memcpy(was, t, sizeof(t));
		ck_assert_int_eq(
			ncclTunerPlugin_v5.get_coll_info(c, 4, 4096 + i % 200,
							 1, (float **)(void *)t,
							 7, 3, 0, &channels),
			0);
		ck_assert_uint_eq(c->ctx.channels, ring_ns(was));
		ck_assert_int_eq(c->ctx.algo, c->ctx.nccl_algo);
		ck_assert_int_eq(c->ctx.proto, c->ctx.nccl_proto);
	}
	/* explain: those of the decision that it starts from */
	ask(c, 4, 5000);
	nb_runtime_lock(rt());
	ck_assert_int_eq(nb_comm_explain(c, 4, 5001, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 104000);
	ck_assert_int_eq(nb_comm_explain(c, 2, 5001, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, UINT32_MAX);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
}
END_TEST

START_TEST(costs_come_in_every_version)
{
	void *c = NULL;
	int n = 0, algo = -1, proto = -1;
	float t[18];

	begin_with(from_costs);
	ncclTunerPlugin_v3.init(8, 1, logger, &c);
	for (int i = 0; i < 18; i++) /* before 2.23: six algorithms */
		t[i] = 100.0f + (float)i;
	ncclTunerPlugin_v3.get_coll_info(c, 4, 1024, 1, (float **)(void *)t, 6,
					 3, &n);
	ck_assert_uint_eq(((struct nb_comm *)c)->ctx.channels, 103000);
	ck_assert_int_eq(((struct nb_comm *)c)->ctx.algo, TREE);
	ncclTunerPlugin_v3.destroy(c);
	/* v2 tells what is offered, not what it costs */
	ncclTunerPlugin_v2.init(8, 1, logger, &c);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1024, 0, 0, 1, &algo, &proto,
					 &n);
	ck_assert_uint_eq(((struct nb_comm *)c)->ctx.channels, UINT32_MAX);
	ck_assert_int_eq(((struct nb_comm *)c)->ctx.algo, -1);
	ncclTunerPlugin_v2.destroy(c);
}
END_TEST

START_TEST(counters_outlive_generations)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_gen_sum sum;
	struct nb_held *h;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("noop", MADE_NOOP, NULL, 0);
	for (int i = 0; i < 3; i++) {
		use("ring");
		ask(c, 4, 1);
		ask(c, 4, 1);
		use("noop");
		ask(c, 4, 1);
		use(NULL);
		ask(c, 4, 1);
	}
	nb_runtime_lock(rt());
	h = nb_runtime_policy_find(rt(), "ring", NULL);
	sum = nb_runtime_policy_counts(rt(), h->policy, 0);
	ck_assert_uint_eq(sum.runs, 6);
	ck_assert_uint_eq(sum.overrides, 6);
	h = nb_runtime_policy_find(rt(), "noop", NULL);
	sum = nb_runtime_policy_counts(rt(), h->policy, 0);
	ck_assert_uint_eq(sum.runs, 3);
	ck_assert_uint_eq(sum.overrides, 0);
	nb_runtime_unlock(rt());
	nb_comm_free(c);
}
END_TEST

/* All that its histogram has. */
static uint64_t timed_runs(const char *name)
{
	struct nb_gen_times t;
	uint64_t n = 0;

	nb_runtime_lock(rt());
	t = nb_runtime_policy_times(
		rt(), nb_runtime_policy_find(rt(), name, NULL)->policy, 0);
	nb_runtime_unlock(rt());
	for (int k = 0; k < NB_GEN_TIMES; k++)
		n += t.n[k];
	return n;
}

START_TEST(some_runs_are_timed_when_asked_for)
{
	struct nb_comm *c = rank_of(1, 1), *later;
	struct nb_gen_sum sum;
	struct nb_held *h;

	/* 0 to 640 runs without, 640 with the clock */
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	for (int on = 0; on < 2; on++) {
		nb_runtime_lock(rt());
		nb_runtime_time(rt(), on);
		nb_runtime_unlock(rt());
		for (int i = 0; i < 640; i++)
			ck_assert_int_eq(ask(c, 4, 1).index, RING * 3 + SIMPLE);
		nb_runtime_lock(rt());
		h = nb_runtime_policy_find(rt(), "ring", NULL);
		sum = nb_runtime_policy_counts(rt(), h->policy, 0);
		nb_runtime_unlock(rt());
		ck_assert_uint_eq(sum.runs, 640u * (unsigned)(on + 1));
		ck_assert_uint_eq(sum.overrides, sum.runs);
		ck_assert_uint_eq(sum.samples, on ? 10 : 0);
		ck_assert(on || !sum.time_ns);
		ck_assert_uint_eq(timed_runs("ring"), sum.samples);
	}
	/* of generations that are gone too */
	use(NULL);
	ask(c, 4, 1);
	ck_assert_uint_eq(timed_runs("ring"), 10);
	/* what comes later is timed too */
	later = rank_of(2, 1);
	ck_assert(later->timed);
	nb_runtime_lock(rt());
	nb_runtime_time(rt(), false);
	ck_assert(!later->timed && !c->timed);
	nb_runtime_unlock(rt());
	nb_comm_free(later);
	nb_comm_free(c);
}
END_TEST

START_TEST(refusals_are_counted_where_they_come_from)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_gen_sum sum;
	struct nb_held *h;

	hold("bad", MADE_CHOOSE(9, 2), NULL, 0);
	use("bad");
	ask(c, 4, 1);
	ask(c, 4, 1);
	use(NULL);
	ask(c, 4, 1);
	nb_runtime_lock(rt());
	h = nb_runtime_policy_find(rt(), "bad", NULL);
	sum = nb_runtime_policy_counts(rt(), h->policy, 0);
	nb_runtime_unlock(rt());
	ck_assert_uint_eq(sum.runs, 2);
	ck_assert_uint_eq(sum.refused, 2);
	nb_comm_free(c);
}
END_TEST

/* ---- many threads ---- */

enum { RANKS = 8, COMMITS = 60, KEPT = 1 << 20 };

static uint8_t answer[RANKS][KEPT];
static uint64_t made[RANKS];
static uint32_t stop;

struct rank {
	struct nb_comm *c;
	int index;
};

static uint64_t slowest(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < RANKS; i++) {
		uint64_t n = __atomic_load_n(&made[i], __ATOMIC_ACQUIRE);

		if (n < least)
			least = n;
	}
	return least;
}

static void *decide(void *arg)
{
	struct rank *r = arg;

	for (uint64_t k = 0; k < KEPT; k++) {
		if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
			break;
		answer[r->index][k] = (uint8_t)ask(r->c, 4, 1 << 20).channels;
		__atomic_store_n(&made[r->index], k + 1, __ATOMIC_RELEASE);
		if (k % 256 == 255)
			usleep(100);
		/* NCCL's ranks wait for each other's kernels in the end */
		while (k > slowest() + 1000 &&
		       !__atomic_load_n(&stop, __ATOMIC_RELAXED))
			sched_yield();
	}
	return NULL;
}

static void compare_answers(void)
{
	uint64_t least = KEPT;
	unsigned seen = 0;

	for (int i = 0; i < RANKS; i++)
		if (made[i] < least)
			least = made[i];
	for (uint64_t k = 0; k < least; k++) {
		seen |= 1u << answer[0][k];
		for (int i = 1; i < RANKS; i++)
			ck_assert_msg(answer[i][k] == answer[0][k],
				      "decision %llu: rank 0 %d, rank %d %d",
				      (unsigned long long)k, answer[0][k], i,
				      answer[i][k]);
	}
	ck_assert_uint_eq(seen, 1u << 0 | 1u << 3 | 1u << 5);
	ck_assert_uint_gt(least, 1000);
}

/* Readers like the control thread's, all the time. */
static void *read_all(void *arg)
{
	struct nb_decision d;
	uint64_t whole = 0;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		nb_runtime_lock(rt());
		for (const struct nb_comm *c = rt()->comms; c; c = c->next) {
			uint64_t n = nb_comm_decisions(c);

			if (n && nb_comm_decision(c, n - 1, &d))
				whole += d.bytes == 1 << 20 && d.channels < 6;
			if (nb_comm_latest(c, 4, 20, &d))
				ck_assert_uint_eq(d.bytes, 1 << 20);
		}
		nb_runtime_unlock(rt());
		nb_runtime_tick(rt());
		usleep(200);
	}
	ck_assert_uint_gt(whole, 0);
	return NULL;
}

/* Ranks on a busy machine may run past every fence that is tried. */
static void use_in_the_end(const char *name)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	int rc = NB_E_BUSY;

	for (int i = 0; i < 20 && rc == NB_E_BUSY; i++) {
		ck_assert_int_eq(nb_change_stage_use(rt(), &name, name ? 1 : 0,
						     digest, &err),
				 0);
		rc = commit(digest, &err);
	}
	ck_assert_msg(!rc, "%s", err.text);
}

/* Until every rank has made so many decisions. */
static void come_to(uint64_t decisions)
{
	while (slowest() < (decisions < KEPT ? decisions : KEPT))
		usleep(200);
}

START_TEST(eight_ranks_change_at_the_same_decision)
{
	const time_t end = time(NULL) + 20;
	struct rank r[RANKS];
	pthread_t t[RANKS], reader;

	for (int i = 0; i < RANKS; i++)
		r[i] = (struct rank){ rank_of(9, RANKS), i };
	hold("three",
	     "stw [%r1+68], 1\nstw [%r1+72], 2\nstw [%r1+76], 3\n"
	     "mov %r0, 0\nexit\n",
	     NULL, 0);
	hold("five",
	     "stw [%r1+68], 1\nstw [%r1+72], 2\nstw [%r1+76], 5\n"
	     "mov %r0, 0\nexit\n",
	     NULL, 0);
	pthread_create(&reader, NULL, read_all, NULL);
	for (int i = 0; i < RANKS; i++)
		pthread_create(&t[i], NULL, decide, &r[i]);
	come_to(1000);
	/* a busy machine gets by with fewer */
	for (int i = 0; i < COMMITS && (i < 6 || time(NULL) < end); i++) {
		use_in_the_end(i % 3 == 2 ? NULL : i % 3 ? "five" : "three");
		come_to(last.comm[0].fence + 100);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
	pthread_join(reader, NULL);
	compare_answers();
	for (int i = 0; i < RANKS; i++)
		nb_comm_free(r[i].c);
}
END_TEST

static void *come_and_go(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct nb_comm *c = rank_of((uint64_t)(uintptr_t)arg, 1);

		for (int k = 0; k < 20; k++)
			ask(c, 4, 1024);
		ncclTunerPlugin_v5.finalize(c);
	}
	return NULL;
}

START_TEST(communicators_come_and_go_on_many_threads)
{
	pthread_t t[RANKS];

	begin_with(MADE_CHOOSE(1, 2));
	for (int i = 0; i < RANKS; i++)
		pthread_create(&t[i], NULL, come_and_go,
			       (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(rt()->ncomms, 0);
	ck_assert_uint_eq(nb_runtime_decisions(rt()), RANKS * 200 * 20);
	for (int i = 0; i < NB_SEG_COMMS; i++)
		ck_assert_uint_eq(rt()->seg->mem->comm[i].in_use, 0);
}
END_TEST

/* ---- several processes ---- */

START_TEST(forked_child_leaves_the_parents_ranks_alone)
{
	struct nb_comm *c;
	int status;
	pid_t pid;

	/* TSan allows no thread after a fork; a fork beside a thread may find
	 * the locks of ASan's allocator taken for ever. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	setenv("NCCLBPF_CONTROL", "on", 1);
#endif
	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	ask(c, 4, 1);
	c->searching = 1; /* as if its thread were in the slow path now */
	pid = fork();
	if (!pid) {
		uint8_t digest[NB_SHA256_SIZE];
		const char *more = "more";
		struct nb_comm *own;

		alarm(100);

		for (int i = 0; i < 100; i++)
			if (ask(c, 4, 1).index != 5)
				_exit(1);
		if (c->seg || rt()->pid != getpid())
			_exit(2);
		own = rank_of(1, 1);
		if (ask(own, 4, 1).index != 5 || !own->seg ||
		    !rt()->seg->shared)
			_exit(3);
		/* a sweep waits for threads that search; there are none */
		hold("more", MADE_CHOOSE(1, 1), NULL, 0);
		if (nb_change_stage_use(rt(), &more, 1, digest, NULL) ||
		    nb_change_stage_use(rt(), NULL, 0, digest, NULL))
			_exit(4);
		nb_comm_free(own);
		nb_comm_free(c);
		exit(0);
	}
	c->searching = 0;
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(c->fence.slot->announced, 1);
	ask(c, 4, 1);
	ck_assert_uint_eq(c->fence.slot->announced, 2);
	nb_comm_free(c);
}
END_TEST

/* Another process of the job with its own policy; @here: told when it has
 * joined; @go: when to decide. */
static int other_rank(const char *text, int here, int go)
{
	struct nb_comm *c;
	char ch;

	begin_with(text);
	c = rank_of(5, 2);
	if (write(here, "x", 1) != 1)
		return -1;
	if (read(go, &ch, 1) < 0) /* NCCL's barrier after init */
		return -1;
	return ask(c, 4, 1024).index;
}

START_TEST(processes_that_begin_differently_use_no_policy)
{
	int here[2], go[2], status;
	float t[21];
	pid_t pid[2];
	char ch;

	table(t);
	ck_assert_int_eq(pipe(here), 0);
	ck_assert_int_eq(pipe(go), 0);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(go[1]);
			_exit(other_rank(i ? MADE_CHOOSE(1, 2)
					   : MADE_CHOOSE(0, 0),
					 here[1], go[0]));
		}
		ck_assert_int_eq(read(here[0], &ch, 1), 1);
	}
	close(go[1]);
	for (int i = 0; i < 2; i++) {
		waitpid(pid[i], &status, 0);
		ck_assert_int_eq(WEXITSTATUS(status), pick(t, 21, 3.6e9f));
	}
}
END_TEST

/* A rank that came first hears of the difference too, and once. */
START_TEST(mismatch_is_logged_in_every_process)
{
	const char *said;
	struct nb_comm *c;
	int go[2], status;
	pid_t pid;
	char ch;

	ck_assert_int_eq(pipe(go), 0);
	pid = fork(); /* before the plugin begins here */
	if (!pid) {
		if (read(go[0], &ch, 1) != 1)
			_exit(1);
		rank_of(5, 2);
		_exit(0);
	}
	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(5, 2);
	nb_runtime_tick(rt());
	ck_assert_ptr_null(strstr(lines, "began with different"));
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	nb_runtime_tick(rt());
	nb_runtime_tick(rt());
	said = strstr(lines, "began with different");
	ck_assert_ptr_nonnull(said);
	ck_assert_ptr_null(strstr(said + 1, "began with different"));
	nb_comm_free(c);
}
END_TEST

/* Two ranks of which one cannot register: both leave it to NCCL. */
START_TEST(rank_without_a_place_makes_its_peers_use_no_policy)
{
	struct nb_seg_comm *entry;
	struct nb_comm *a, *b;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	table(t);
	a = rank_of(5, 2);
	entry = a->seg;
	ck_assert_ptr_nonnull(entry);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		__atomic_store_n(&rt()->seg->mem->comm[i].in_use, 1,
				 __ATOMIC_RELEASE);
	entry->nranks = 1; /* full: the other finds neither place nor entry */
	b = rank_of(5, 2);
	ck_assert_ptr_null(b->seg);
	entry->nranks = 2;
	ck_assert_int_eq(ask(b, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(ask(a, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_uint_eq(refused(NB_REFUSED_MISMATCH), 2);
	nb_runtime_tick(rt());
	ck_assert_ptr_nonnull(strstr(lines, "this rank could not register"));
	ck_assert_ptr_nonnull(
		strstr(lines, "one of its ranks could not register"));
	nb_comm_free(b);
	nb_comm_free(a);
	/* the mark is gone with it */
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		__atomic_store_n(&rt()->seg->mem->comm[i].in_use, 0,
				 __ATOMIC_RELEASE);
	a = rank_of(5, 2);
	b = rank_of(5, 2);
	ck_assert_int_ne(ask(a, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_ne(ask(b, 4, 1024).index, pick(t, 21, 3.6e9f));
	nb_comm_free(b);
	nb_comm_free(a);
}
END_TEST

static int asked_first;

static int count_asked(const struct nb_chained *p, const struct nb_ask *ask)
{
	(void)p, (void)ask;
	asked_first++;
	return 0;
}

/* Likewise a tuner that is asked first: by neither of them. */
START_TEST(rank_without_a_place_does_not_ask_the_chained_tuner)
{
	struct nb_seg_comm *entry;
	struct nb_comm *a, *b;

	a = rank_of(5, 2);
	entry = a->seg;
	ck_assert_ptr_nonnull(entry);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		__atomic_store_n(&rt()->seg->mem->comm[i].in_use, 1,
				 __ATOMIC_RELEASE);
	entry->nranks = 1;
	b = rank_of(5, 2);
	ck_assert_ptr_null(b->seg);
	entry->nranks = 2;
	a->peer.ask = b->peer.ask = count_asked;
	a->chained = b->chained = true;
	for (int i = 0; i < 3; i++) {
		ask(b, 4, 1024);
		ask(a, 4, 1024);
	}
	/* the first decision is where a rank sees the mark */
	ck_assert_int_eq(asked_first, 0);
	a->peer.ask = b->peer.ask = NULL;
	a->chained = b->chained = false;
	nb_comm_free(b);
	nb_comm_free(a);
}
END_TEST

/* One that is not there at all is missed by the others. */
START_TEST(rank_without_memory_makes_its_peers_use_no_policy)
{
	struct nb_comm *a;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	table(t);
	a = rank_of(5, 2);
	no_memory = true;
	ck_assert_ptr_null(rank_of(5, 2));
	ck_assert(!no_memory);
	ck_assert_int_eq(ask(NULL, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(ask(a, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_uint_eq(refused(NB_REFUSED_MISMATCH), 1);
	nb_runtime_tick(rt());
	ck_assert_ptr_nonnull(strstr(lines, "no memory for a communicator"));
	ck_assert_ptr_nonnull(strstr(lines, "1 of 2 ranks had not registered"));
	nb_comm_free(a);
}
END_TEST

/* The first process finds no room for the file, the second does. */
START_TEST(process_without_room_for_the_segment_decides_as_its_peers)
{
	const struct rlimit small = { 4096, 4096 };
	int go[2], ready[2], status;
	struct nb_comm *c;
	float t[21];
	char ch;
	pid_t pid;

	begin_with(MADE_CHOOSE(1, 2));
	table(t);
	ck_assert_int_eq(pipe(go) | pipe(ready), 0);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_FSIZE, &small);
		c = rank_of(5, 2);
		if (rt()->seg->shared || write(ready[1], "x", 1) != 1 ||
		    read(go[0], &ch, 1) != 1)
			_exit(1);
		_exit(ask(c, 4, 1024).index == pick(t, 21, 3.6e9f) ? 0 : 2);
	}
	ck_assert_int_eq(read(ready[0], &ch, 1), 1);
	c = rank_of(5, 2);
	ck_assert(rt()->seg->shared);
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	nb_comm_free(c);
}
END_TEST

START_TEST(process_without_a_socket_says_so)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/t.-.%d.sock", dir, (int)getpid());
	ck_assert_int_eq(mkdir(path, 0700), 0); /* in the way */
	unsetenv("RANK");
	setenv("NCCLBPF_CONTROL", "on", 1);
	nb_comm_free(rank_of(1, 1));
	ck_assert_ptr_null(rt()->control);
	ck_assert_uint_eq(rt()->seg->mem->proc[rt()->seg->proc].flags &
				  NB_SEG_PROC_CONTROL,
			  0);
}
END_TEST

START_TEST(process_that_has_not_staged_stops_a_change)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	int ready[2];
	pid_t pid;
	char ch;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		rank_of(2, 1);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &ch, 1), 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(nb_change_stage_use(rt(), &name, 1, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "process"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* it is gone: no longer in the way */
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	ck_assert_int_eq(ask(c, 4, 1).index, 5);
	nb_comm_free(c);
}
END_TEST

UNIT_MAIN(
	"tuner", tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, both_readings_of_a_table_agree_with_nccl);
	tcase_add_test(tc, chosen_entry_is_what_nccl_takes);
	tcase_add_test(tc, a_table_is_known_again_by_every_entry);
	tcase_add_test(tc, sizes_of_one_collective_are_kept_side_by_side);
	tcase_add_test(tc, sizes_of_one_collective_are_kept_side_by_side);
	tcase_add_test(tc, packed_decisions_come_back_whole_or_not_at_all);
	tcase_add_test(tc, numbers_beyond_their_bits_are_clamped);
	tcase_add_test(tc, tables_of_no_known_shape_are_not_read);
	tcase_add_test(tc, answers_that_nccl_cannot_have_are_refused);
	tcase_add_test(tc, each_reason_has_a_word);
	tcase_add_test(tc, policy_of_the_environment_decides_in_every_version);
	tcase_add_test(tc, nothing_that_nccl_passes_is_fatal);
	tcase_add_test(tc, v2_answers_only_what_is_safe_unchecked);
	tcase_add_test(tc, v2_keeps_the_users_filter);
	tcase_add_test(tc, bad_policies_leave_the_choice_to_nccl);
	tcase_add_test(tc, disabled_means_nothing_at_all);
	tcase_add_test(tc, decisions_can_be_read_back);
	tcase_add_test(tc, change_undo_and_map_change_while_a_job_runs);
	tcase_add_test(tc,
		       nothing_is_missing_before_a_fence_or_without_a_policy);
	tcase_add_test(tc, what_is_behind_a_fence_stays_until_it_is_taken);
	tcase_add_test(tc, new_communicators_begin_with_the_last_change);
	tcase_add_test(tc, a_change_reaches_those_that_it_is_for);
	tcase_add_test(tc, ranks_elsewhere_refuse_a_change);
	tcase_add_test(tc, rank_without_memory_makes_its_peers_use_no_policy);
	tcase_add_test(
		tc, process_without_room_for_the_segment_decides_as_its_peers);
	tcase_add_test(tc, communicators_without_identity_keep_what_they_have);
	tcase_add_test(tc, change_waits_for_a_communicator_that_is_being_made);
	tcase_add_test(
		tc,
		communicators_of_several_hosts_begin_as_the_environment_says);
	tcase_add_test(tc, policy_in_use_is_not_discarded);
	tcase_add_test(tc, staged_undo_and_environment_keep_their_policies);
	tcase_add_test(tc, explain_runs_on_copies);
	tcase_add_test(tc, explain_counts_as_decisions_do);
	tcase_add_test(tc, explain_of_what_was_not_seen_has_the_channels);
	tcase_add_test(tc, policies_see_the_costs_of_their_decision);
	tcase_add_test(tc, costs_come_in_every_version);
	tcase_add_test(tc, counters_outlive_generations);
	tcase_add_test(tc, some_runs_are_timed_when_asked_for);
	tcase_add_test(tc, refusals_are_counted_where_they_come_from);
	tcase_add_test(tc, eight_ranks_change_at_the_same_decision);
	tcase_add_test(tc, communicators_come_and_go_on_many_threads);
	tcase_add_test(tc, forked_child_leaves_the_parents_ranks_alone);
	tcase_add_test(tc, processes_that_begin_differently_use_no_policy);
	tcase_add_test(tc, mismatch_is_logged_in_every_process);
	tcase_add_test(tc, rank_without_a_place_makes_its_peers_use_no_policy);
	tcase_add_test(tc, rank_without_a_place_does_not_ask_the_chained_tuner);
	tcase_add_test(tc, process_without_a_socket_says_so);
	tcase_add_test(tc, process_that_has_not_staged_stops_a_change);)
