// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The policies of policies/ and test/corpus/, as make has compiled them: the
// verdict is the one that the first line of a corpus file expects, and what
// the shipped policies decide is what their comments promise, at the edges of
// each range. test_policies_cpus.c compiles them for other -mcpu.
#include "test/unit/policy_verdict.h"

TEST(shipped_policies_are_accepted)
{
	ck_assert_uint_ge(check_folder("policies", NULL, "accepted"), 6);
}

TEST(safe_policies_are_accepted)
{
	ck_assert_uint_ge(check_folder("test/corpus/accept", NULL, "accepted"), 10);
}

TEST(unsafe_policies_are_refused_for_their_reason)
{
	ck_assert_uint_ge(check_folder("test/corpus/reject", NULL, NULL), 10);
}

/* ---- what they decide ---- */

struct policy {
	struct nb_image *img;
	struct nb_map *maps[NB_IMAGE_MAX_MAPS];
	struct nb_exec *exec;
};

static struct policy open_policy(const char *path)
{
	struct policy p = { .img = image_of(path, NULL) };
	struct nb_err err = { .text = "" };

	for (uint32_t i = 0; i < p.img->nmaps; i++) {
		const struct nb_map_spec *m = &p.img->maps[i];
		const struct nb_map_def def = { m->name,       m->type,	       m->key_size,
						m->value_size, m->max_entries, m->flags };

		ck_assert_msg(!nb_map_new(&p.maps[i], &def, &err), "%s", err.text);
	}
	ck_assert_msg(!nb_exec_new(&p.exec, p.img, 0, p.maps, NULL, &err), "%s", err.text);
	return p;
}

static void close_policy(struct policy *p)
{
	nb_exec_free(p->exec);
	for (uint32_t i = 0; i < p->img->nmaps; i++)
		nb_map_put(p->maps[i]);
	nb_image_free(p->img);
}

static void set(const struct policy *p, const char *map, const void *key, const void *value)
{
	ck_assert(!nb_map_write(p->maps[nb_image_map(p->img, map)], key, value, NB_ANY, NULL));
}

/* An AllReduce of @bytes on 8 ranks of one NVLink node. */
static struct ncclbpf_tuner call(uint64_t bytes)
{
	return (struct ncclbpf_tuner){
		.bytes = bytes,
		.coll = NCCL_COLL_ALL_REDUCE,
		.ranks = 8,
		.nodes = 1,
		.pipe_ops = 1,
		.nvl_domains = 1,
		.nvl_min_ranks = 8,
		.nvl_max_ranks = 8,
		.usable = (1u << 21) - 1,
		.nccl_algo = NCCL_ALGO_NVLS,
		.nccl_proto = NCCL_PROTO_SIMPLE,
		.algo = NCCL_ALGO_UNDEF,
		.proto = NCCL_PROTO_UNDEF,
	};
}

static void decide(const struct policy *p, struct ncclbpf_tuner *ctx)
{
	ck_assert_uint_eq(nb_exec_run(p->exec, ctx, sizeof(*ctx)), 0);
}

static void check_answer(const struct policy *p, uint64_t bytes, int algo, int proto)
{
	struct ncclbpf_tuner ctx = call(bytes);

	decide(p, &ctx);
	ck_assert_msg(ctx.algo == algo && ctx.proto == proto && ctx.channels == 0,
		      "%llu bytes: %d %d, not %d %d", (unsigned long long)bytes, ctx.algo,
		      ctx.proto, algo, proto);
}

#define MIB(n) ((uint64_t)(n) << 20)

TEST(noop_has_no_opinion)
{
	struct policy p = open_policy("policies/noop.bpf.c");

	check_answer(&p, 4096, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	close_policy(&p);
}

TEST(size_aware_goes_by_size)
{
	struct policy p = open_policy("policies/size_aware.bpf.c");
	struct ncclbpf_tuner ctx;

	check_answer(&p, 1, NCCL_ALGO_TREE, NCCL_PROTO_LL);
	check_answer(&p, 32 << 10, NCCL_ALGO_TREE, NCCL_PROTO_LL);
	check_answer(&p, (32 << 10) + 1, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	check_answer(&p, MIB(4), NCCL_ALGO_RING, NCCL_PROTO_LL128);
	check_answer(&p, MIB(4) + 1, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	ctx = call(1);
	ctx.usable = 1u << (NCCL_ALGO_RING * 3 + NCCL_PROTO_LL);
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_RING);
	ctx = call(1);
	ctx.usable = 0;
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	close_policy(&p);
}

TEST(cheap_ring_pays_a_tenth_at_most)
{
	struct policy p = open_policy("policies/cheap_ring.bpf.c");
	float costs[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];
	struct ncclbpf_tuner ctx = call(4096);

	decide(&p, &ctx); /* costs are not known */
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	for (int i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		costs[i] = 500.0f;
	costs[NCCL_ALGO_NVLS * 3 + NCCL_PROTO_SIMPLE] = 100.0f;
	for (float ring = 109.0f; ring < 112.0f; ring += 1.0f) {
		costs[NCCL_ALGO_RING * 3 + NCCL_PROTO_LL128] = ring;
		ctx = call(4096);
		ctx.costs = costs;
		decide(&p, &ctx);
		ck_assert_int_eq(ctx.algo, ring <= 110.0f ? NCCL_ALGO_RING : NCCL_ALGO_UNDEF);
		ck_assert_int_eq(ctx.proto, ring <= 110.0f ? NCCL_PROTO_LL128 : NCCL_PROTO_UNDEF);
	}
	close_policy(&p);
}

TEST(nvlink_ring_mid_keeps_to_its_ranges)
{
	struct policy p = open_policy("policies/nvlink_ring_mid.bpf.c");
	struct ncclbpf_tuner ctx;

	check_answer(&p, MIB(4) - 1, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	check_answer(&p, MIB(4), NCCL_ALGO_RING, NCCL_PROTO_LL128);
	check_answer(&p, MIB(32), NCCL_ALGO_RING, NCCL_PROTO_LL128);
	check_answer(&p, MIB(32) + 1, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	check_answer(&p, MIB(64) - 1, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	check_answer(&p, MIB(64), NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	check_answer(&p, MIB(192), NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
	check_answer(&p, MIB(192) + 1, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	ctx = call(MIB(8));
	ctx.nodes = 2;
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	ctx = call(MIB(8));
	ctx.nvl_min_ranks = 0;
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	ctx = call(MIB(8));
	ctx.coll = NCCL_COLL_ALL_GATHER;
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	close_policy(&p);
}

/* The last size of each rule, and its answer; the next size begins the next rule. */
struct rule {
	uint64_t last;
	int algo, proto;
	uint32_t channels;
};

static void check_rule(const struct policy *p, uint32_t nodes, uint64_t bytes, const struct rule *r)
{
	struct ncclbpf_tuner ctx = call(bytes);

	ctx.nodes = nodes;
	ctx.ranks = 8 * nodes;
	decide(p, &ctx);
	ck_assert_msg(ctx.algo == r->algo && ctx.proto == r->proto && ctx.channels == r->channels,
		      "%u nodes, %llu bytes: %d %d %u", nodes, (unsigned long long)bytes, ctx.algo,
		      ctx.proto, ctx.channels);
}

static void check_rules(const struct policy *p, uint32_t nodes, const struct rule *r)
{
	for (uint64_t first = 0;; first = r++->last + 1) {
		check_rule(p, nodes, first, r);
		check_rule(p, nodes, r->last, r);
		if (r->last == UINT64_MAX)
			return;
	}
}

TEST(gfx950_allreduce_has_the_rules_that_rccl_leaves_out)
{
	static const struct rule one_node[] = { { 16383, NCCL_ALGO_TREE, NCCL_PROTO_LL, 1 },
						{ 524287, NCCL_ALGO_RING, NCCL_PROTO_LL, 0 },
						{ 1048575, NCCL_ALGO_RING, NCCL_PROTO_LL, 32 },
						{ 2097000, NCCL_ALGO_RING, NCCL_PROTO_LL, 56 },
						{ UINT64_MAX, -1, -1, 0 } };
	static const struct rule two_nodes[] = {
		{ 33554431, -1, -1, 0 },
		{ 54525951, NCCL_ALGO_RING, NCCL_PROTO_LL128, 64 },
		{ 117440511, NCCL_ALGO_TREE, NCCL_PROTO_SIMPLE, 64 },
		{ 234881024, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE, 48 },
		{ UINT64_MAX, -1, -1, 0 }
	};
	struct policy p = open_policy("policies/gfx950_allreduce.bpf.c");
	struct ncclbpf_tuner ctx;

	check_rules(&p, 1, one_node);
	check_rules(&p, 2, two_nodes);
	for (int other = 0; other < 4; other++) {
		ctx = call(4096);
		if (other == 0)
			ctx.ranks = 7;
		else if (other == 1)
			ctx.nodes = 3;
		else if (other == 2)
			ctx.coll = NCCL_COLL_REDUCE_SCATTER;
		else
			ctx.usable = 0;
		decide(&p, &ctx);
		ck_assert(ctx.algo == -1 && ctx.proto == -1 && ctx.channels == 0);
	}
	close_policy(&p);
}

TEST(force_does_what_its_map_says)
{
	struct policy p = open_policy("policies/force.bpf.c");
	const struct {
		int32_t algo, proto;
		uint32_t channels, enabled;
	} off = { 1, 2, 16, 0 }, on = { 1, 2, 16, 1 }, some = { -1, -1, 16, 1 };
	struct ncclbpf_tuner ctx = call(4096);
	uint32_t key = 0;

	check_answer(&p, 4096, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	set(&p, "force", &key, &off);
	check_answer(&p, 4096, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	set(&p, "force", &key, &on);
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, 1);
	ck_assert_int_eq(ctx.proto, 2);
	ck_assert_uint_eq(ctx.channels, 16);
	/* what is not forced stays as the policy before it left it */
	set(&p, "force", &key, &some);
	ctx = call(4096);
	ctx.algo = NCCL_ALGO_NVLS;
	ctx.proto = NCCL_PROTO_LL;
	ctx.channels = 3;
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_NVLS);
	ck_assert_int_eq(ctx.proto, NCCL_PROTO_LL);
	ck_assert_uint_eq(ctx.channels, 16);
	close_policy(&p);
}

/* Sum over the CPUs of a per-CPU element of 8 bytes. */
static uint64_t sum(const struct policy *p, const char *map, uint32_t key)
{
	const struct nb_map *m = p->maps[nb_image_map(p->img, map)];
	uint64_t *all = calloc(1, nb_map_user_value_size(m)), total = 0;

	ck_assert(!nb_map_read(m, &key, all, NULL));
	for (uint32_t i = 0; i < nb_ncpus(); i++)
		total += all[i];
	free(all);
	return total;
}

TEST(adaptive_channels_reads_and_counts)
{
	struct policy p = open_policy("policies/adaptive_channels.bpf.c");
	const struct {
		uint32_t channels, min_ranks;
	} wanted = { 12, 8 };
	struct ncclbpf_tuner ctx;
	uint32_t class = 20;

	set(&p, "channels", &class, &wanted);
	for (unsigned i = 0; i < 3; i++) {
		ctx = call(MIB(1) + i);
		decide(&p, &ctx);
		ck_assert_uint_eq(ctx.channels, 12);
	}
	ctx = call(MIB(1));
	ctx.ranks = 7;
	decide(&p, &ctx);
	ck_assert_uint_eq(ctx.channels, 0);
	ctx = call(MIB(1) - 1);
	decide(&p, &ctx);
	ck_assert_uint_eq(ctx.channels, 0);
	ck_assert_uint_eq(sum(&p, "decided", 20), 4);
	ck_assert_uint_eq(sum(&p, "decided", 19), 1);
	ctx = call(UINT64_MAX);
	decide(&p, &ctx);
	ctx = call(0);
	decide(&p, &ctx);
	ck_assert_uint_eq(sum(&p, "decided", 39), 1);
	ck_assert_uint_eq(sum(&p, "decided", 0), 1);
	close_policy(&p);
}

/* adaptive_channels with all its programs, in the class of 64 MiB */
struct loop {
	struct policy p;
	struct nb_exec *measure, *adapt;
};

static const uint32_t loop_class = 26;

static struct nb_exec *exec_of(const struct policy *p, const char *program)
{
	struct nb_exec *exec = NULL;

	for (uint32_t i = 0; i < p->img->nprogs; i++)
		if (!strcmp(p->img->progs[i].name, program))
			ck_assert(!nb_exec_new(&exec, p->img, i, (void *)(uintptr_t)p->maps, NULL,
					       NULL));
	ck_assert_ptr_nonnull(exec);
	return exec;
}

static struct loop open_loop(void)
{
	struct loop l = { .p = open_policy("policies/adaptive_channels.bpf.c") };

	l.measure = exec_of(&l.p, "time_class");
	l.adapt = exec_of(&l.p, "adapt_channels");
	return l;
}

static void close_loop(struct loop *l)
{
	nb_exec_free(l->measure);
	nb_exec_free(l->adapt);
	close_policy(&l->p);
}

/* @n collectives end that used @channels and took @us. */
static void took(const struct loop *l, unsigned n, uint32_t channels, uint64_t us)
{
	struct ncclbpf_coll_done ctx = { .bytes = MIB(64),
					 .coll = NCCL_COLL_ALL_REDUCE,
					 .channels = channels,
					 .exec_ns = us * 1000 };

	while (n-- > 0)
		nb_exec_run(l->measure, &ctx, sizeof(ctx));
}

static uint32_t processes = 1;

/* The controller runs. Returns the channels that it wants after that. */
static uint32_t adapted(const struct loop *l)
{
	struct ncclbpf_controller ctx = { .processes = processes };
	struct {
		uint32_t channels, min_ranks;
	} is;

	nb_exec_run(l->adapt, &ctx, sizeof(ctx));
	ck_assert(!nb_map_read(l->p.maps[nb_image_map(l->p.img, "channels")], &loop_class, &is,
			       NULL));
	return is.channels;
}

/* An interval with @channels, after the run that notices the change to them. */
static uint32_t interval(const struct loop *l, uint32_t channels, uint64_t us)
{
	ck_assert_uint_eq(adapted(l), channels);
	took(l, 16, channels, us);
	return adapted(l);
}

static void climb(const struct loop *l)
{
	for (uint32_t channels = 2; channels < 12; channels += 2)
		ck_assert_uint_eq(interval(l, channels, 4800 / channels), channels + 2);
	ck_assert_uint_eq(interval(l, 12, 400), 12);
}

/* The fence of a change may be many collectives later than the change. */
TEST(adaptive_channels_learns_no_time_of_more_channels)
{
	struct loop l = open_loop();

	took(&l, 16, 24, 200);
	ck_assert_uint_eq(adapted(&l), 2);
	for (int i = 0; i < 4; i++) {
		took(&l, 64, 24, 200);
		ck_assert_uint_eq(adapted(&l), 2);
	}
	climb(&l);
	took(&l, 16, 12, 4000);
	ck_assert_uint_eq(adapted(&l), 2);
	took(&l, 64, 12, 4000);
	ck_assert_uint_eq(interval(&l, 2, 24000), 2);
	ck_assert_uint_eq(interval(&l, 2, 24000), 2);
	took(&l, 16, 2, 2400);
	ck_assert_uint_eq(adapted(&l), 4);
	/* NCCL may use fewer channels than it is asked for */
	ck_assert_uint_eq(adapted(&l), 4);
	took(&l, 16, 2, 2400);
	ck_assert_uint_eq(adapted(&l), 6);
	close_loop(&l);
}

/* NCCL's thread may read a GPU's time stamp 64 collectives late. */
TEST(adaptive_channels_bears_single_long_times)
{
	struct loop l = open_loop();

	took(&l, 16, 24, 200);
	ck_assert_uint_eq(adapted(&l), 2);
	climb(&l);
	for (int i = 0; i < 4; i++) {
		took(&l, 14, 12, 400);
		took(&l, 2, 12, 64 * 400);
		ck_assert_uint_eq(adapted(&l), 12);
	}
	took(&l, 16, 12, 4000);
	ck_assert_uint_eq(adapted(&l), 2);
	ck_assert_uint_eq(adapted(&l), 2);
	took(&l, 14, 2, 2400);
	took(&l, 2, 2, 64 * 2400);
	ck_assert_uint_eq(adapted(&l), 4);
	close_loop(&l);
}

/* What the controller has learned is lost with the elected process. */
TEST(adaptive_channels_starts_again_in_another_process)
{
	static const unsigned char nothing[256];
	struct loop l = open_loop();

	took(&l, 16, 24, 200);
	ck_assert_uint_eq(adapted(&l), 2);
	climb(&l);
	set(&l.p, "learned", &loop_class, nothing);
	ck_assert_uint_eq(interval(&l, 12, 400), 2);
	climb(&l);
	close_loop(&l);
}

/* Others may have added more than the process that has ended takes away. */
TEST(adaptive_channels_compares_no_sums_across_the_end_of_a_process)
{
	static const unsigned char nothing[1 << 16];
	struct loop l = open_loop();

	processes = 2;
	took(&l, 16, 24, 200);
	ck_assert_uint_eq(adapted(&l), 2);
	climb(&l);
	set(&l.p, "took", &loop_class, nothing);
	took(&l, 400, 12, 400);
	processes = 1;
	ck_assert_uint_eq(adapted(&l), 12);
	took(&l, 16, 12, 400);
	ck_assert_uint_eq(adapted(&l), 12);
	took(&l, 16, 12, 4000);
	ck_assert_uint_eq(adapted(&l), 2);
	close_loop(&l);
}

TEST(size_classes_are_logarithms)
{
	struct policy p = open_policy("policies/adaptive_channels.bpf.c");

	for (uint32_t i = 0; i < 40; i++) {
		struct ncclbpf_tuner low = call(1ull << i);
		struct ncclbpf_tuner high = call((2ull << i) - 1);

		decide(&p, &low);
		decide(&p, &high);
		ck_assert_msg(sum(&p, "decided", i) == 2, "class %u", i);
	}
	close_policy(&p);
}

struct slo_key {
	uint32_t coll, class;
};

TEST(slo_enforcer_mends_what_would_miss)
{
	struct policy p = open_policy("policies/slo_enforcer.bpf.c");
	const struct slo_key any = { NCCL_COLL_ALL_REDUCE, 64 };
	const struct slo_key key = { NCCL_COLL_ALL_REDUCE, 26 };
	struct {
		uint64_t time_ns;
		uint32_t max_channels, min_ranks;
	} target = { 1000000, 8, 2 };
	const struct {
		uint64_t base_ns, ns_per_mib, known;
	} slow = { 100000, 500000, 1 }, fast = { 100000, 50000, 1 };
	uint32_t nvls = NCCL_ALGO_NVLS * 3 + NCCL_PROTO_SIMPLE;
	uint32_t ring = NCCL_ALGO_RING * 3 + NCCL_PROTO_SIMPLE;
	uint64_t outcome[3];
	struct ncclbpf_tuner ctx;

	/* no target: no opinion, nothing counted */
	check_answer(&p, MIB(64), NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	set(&p, "targets", &any, &target);
	set(&p, "model", &nvls, &slow);
	set(&p, "model", &ring, &fast);
	/* 64 MiB: NVLS 100 us + 4 ms, ring 100 us + 400 us */
	ctx = call(MIB(64));
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_RING);
	ck_assert_int_eq(ctx.proto, NCCL_PROTO_SIMPLE);
	ck_assert_uint_eq(ctx.channels, 8);
	/* the class's own target goes before the one for all sizes */
	target.time_ns = 5000000;
	target.max_channels = 8;
	set(&p, "targets", &key, &target);
	ctx = call(MIB(64));
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	/* neither meets it: NCCL's choice, within the budget */
	target.time_ns = 1000;
	set(&p, "targets", &key, &target);
	ctx = call(MIB(64));
	decide(&p, &ctx);
	ck_assert_int_eq(ctx.algo, NCCL_ALGO_UNDEF);
	ck_assert_uint_eq(ctx.channels, 8);
	ck_assert(!nb_map_read(p.maps[nb_image_map(p.img, "outcomes")], &key, outcome, NULL));
	ck_assert_uint_eq(outcome[0], 3);
	ck_assert_uint_eq(outcome[1], 2);
	ck_assert_uint_eq(outcome[2], 1);
	/* too small a communicator is left alone */
	ctx = call(MIB(64));
	ctx.ranks = 1;
	decide(&p, &ctx);
	ck_assert_uint_eq(ctx.channels, 0);
	close_policy(&p);
}

TEST(division_by_zero_has_its_defined_result)
{
	struct policy p = open_policy("test/corpus/accept/division_by_zero_is_zero.bpf.c");
	struct ncclbpf_tuner ctx = call(4096 + 17);

	ctx.nvl_domains = 0;
	ctx.channels = 5;
	decide(&p, &ctx);
	ck_assert_uint_eq(ctx.channels, 0);
	ctx.nvl_domains = 1;
	decide(&p, &ctx);
	ck_assert_uint_eq(ctx.channels, 17);
	close_policy(&p);
}

UNIT_MAIN("policies")
