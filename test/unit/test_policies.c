// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The policies of policies/ and test/corpus/, compiled for each -mcpu: the
// verdict is the one that the first line of a corpus file expects, and what
// the shipped policies decide is what their comments promise, at the edges of
// each range.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/exec/run/exec.h"
#include "core/image/image.h"
#include "core/load/object.h"
#include "core/defs/ctx.h"
#include "core/verify/verify.h"
#include "test/unit/unit.h"
#include "test/unit/verify_near.h"

enum { MAX = 1 << 20 };

static const char *const cpus[] = { "v1", "v2", "v3" };
/* v2 is v1 with more jumps, all of which v3 has. */
static const char *const far_cpus[] = { "v1", "v3" };

static const char *top(void)
{
	const char *t = getenv("TOP");

	return t ? t : ".";
}

/* The image of policy @path (below the top), compiled for @cpu. */
static struct nb_image *image_of(const char *path, const char *cpu)
{
	static unsigned char bytes[MAX];
	const char *clang = getenv("CLANG");
	char o[] = "/tmp/ncclbpf-policies-XXXXXX", command[4096];
	int fd = mkstemp(o);
	struct nb_err err = { .text = "" };
	struct nb_image *img;
	struct nb_buf out;
	size_t size;
	FILE *f;

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command),
		 "cd '%s' && %s -target bpf -mcpu=%s -O2 -g -I. -Ipolicies "
		 "-Wall -Wno-unknown-attributes -Wno-unused -c -o %s %s",
		 top(), clang ? clang : "clang", cpu, o, path);
	ck_assert_msg(system(command) == 0, "%s", command);
	f = fopen(o, "rb");
	ck_assert_ptr_nonnull(f);
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	unlink(o);
	nb_buf_init(&out, 0);
	ck_assert_msg(!nb_object_image(&out, bytes, size, "test", &err),
		      "%s: %s", path, err.text);
	ck_assert_msg(!nb_image_read(&img, out.data, out.size, &err), "%s: %s",
		      path, err.text);
	nb_buf_fini(&out);
	return img;
}

static const char *word(const struct nb_verdict *v)
{
	static const char *const words[] = {
		[NB_FIND_NONE] = "accepted",
#define FINDING(name, word, text, hint) [NB_FIND_##name] = word,
#include "core/defs/findings.h"
	};

	return v->accepted ? words[NB_FIND_NONE] : words[v->finding.cls];
}

/* The policy gets the verdict @want: all of its programs are accepted, or one
 * is refused for this reason and none for another. */
static void check_verdict(const char *path, const char *cpu, const char *want)
{
	struct nb_image *img = image_of(path, cpu);
	bool met = !strcmp(want, "accepted");

	for (uint32_t i = 0; i < img->nprogs; i++) {
		struct nb_verdict *v;
		struct nb_buf text;

		nb_buf_init(&text, 0);
		ck_assert(!nb_verify(&v, img, i, NULL, NULL));
		if (!v->accepted)
			nb_verdict_text(v, img, i, &text);
		met |= !strcmp(word(v), want);
		ck_assert_msg(v->accepted || !strcmp(word(v), want),
			      "%s, %s: %s, not %s\n%s", path, cpu, word(v),
			      want, nb_buf_text(&text));
		nb_buf_fini(&text);
		nb_verdict_free(v);
	}
	ck_assert_msg(met, "%s, %s: accepted, not %s", path, cpu, want);
	nb_image_free(img);
}

/* The word after EXPECT: in the first line of a corpus file. */
static void expected(const char *path, char want[64])
{
	char whole[2048], line[128];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s/%s", top(), path);
	f = fopen(whole, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	fclose(f);
	ck_assert_msg(sscanf(line, "// EXPECT: %63s", want) == 1, "%s", path);
}

/* All policies of a folder; @fixed: their verdict, NULL: in the file. */
static unsigned check_folder(const char *folder, const char *cpu,
			     const char *fixed)
{
	char whole[512], path[1024], want[64] = "";
	unsigned n = 0;
	struct dirent *e;
	DIR *d;

	snprintf(whole, sizeof(whole), "%s/%s", top(), folder);
	d = opendir(whole);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".bpf.c"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (fixed)
			snprintf(want, sizeof(want), "%s", fixed);
		else
			expected(path, want);
		check_verdict(path, cpu, want);
		n++;
	}
	closedir(d);
	return n;
}

START_TEST(shipped_policies_are_accepted)
{
	ck_assert_uint_ge(check_folder("policies", cpus[_i], "accepted"), 6);
}
END_TEST

START_TEST(safe_policies_are_accepted)
{
	ck_assert_uint_ge(
		check_folder("test/corpus/accept", far_cpus[_i], "accepted"),
		10);
}
END_TEST

START_TEST(unsafe_policies_are_refused_for_their_reason)
{
	ck_assert_uint_ge(
		check_folder("test/corpus/reject", far_cpus[_i], NULL), 10);
}
END_TEST

/* Beside the refused policy @path stands one that is accepted, and is near:
 * test/unit/verify_near.h. */
static void check_twin(const char *path)
{
	static char text[1 << 14], twin[1 << 14];
	const char *name = strrchr(path, '/') + 1;
	char whole[2048], c[256];
	FILE *f;
	size_t n;
	int fd;

	/* XXXXXX is made another each time; the name is for messages. */
	snprintf(c, sizeof(c), "/tmp/twin-%.*s-XXXXXX.bpf.c",
		 (int)strcspn(name, "."), name);
	fd = mkstemps(c, sizeof(".bpf.c") - 1);
	ck_assert_int_ge(fd, 0);
	snprintf(whole, sizeof(whole), "%s/%s", top(), path);
	f = fopen(whole, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	n = near_policy(twin, sizeof(twin), text);
	ck_assert_msg(n > 0, "%s: no // near: OLD => NEW", path);
	n = strlen(twin);
	ck_assert(write(fd, twin, n) == (ssize_t)n);
	close(fd);
	check_verdict(c, "v3", "accepted");
	unlink(c);
}

START_TEST(each_unsafe_policy_has_a_safe_twin)
{
	char whole[512], path[1024];
	struct dirent *e;
	unsigned n = 0;
	DIR *d;

	snprintf(whole, sizeof(whole), "%s/test/corpus/reject", top());
	d = opendir(whole);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".bpf.c"))
			continue;
		snprintf(path, sizeof(path), "test/corpus/reject/%s",
			 e->d_name);
		check_twin(path);
		n++;
	}
	closedir(d);
	ck_assert_uint_ge(n, 60);
}
END_TEST

/* ---- what they decide ---- */

struct policy {
	struct nb_image *img;
	struct nb_map *maps[NB_IMAGE_MAX_MAPS];
	struct nb_exec *exec;
};

static struct policy open_policy(const char *path)
{
	struct policy p = { .img = image_of(path, "v3") };
	struct nb_err err = { .text = "" };

	for (uint32_t i = 0; i < p.img->nmaps; i++) {
		const struct nb_map_spec *m = &p.img->maps[i];
		const struct nb_map_def def = { m->name,	m->type,
						m->key_size,	m->value_size,
						m->max_entries, m->flags };

		ck_assert_msg(!nb_map_new(&p.maps[i], &def, &err), "%s",
			      err.text);
	}
	ck_assert_msg(!nb_exec_new(&p.exec, p.img, 0, p.maps, NULL, &err), "%s",
		      err.text);
	return p;
}

static void close_policy(struct policy *p)
{
	nb_exec_free(p->exec);
	for (uint32_t i = 0; i < p->img->nmaps; i++)
		nb_map_put(p->maps[i]);
	nb_image_free(p->img);
}

static void set(const struct policy *p, const char *map, const void *key,
		const void *value)
{
	ck_assert(!nb_map_write(p->maps[nb_image_map(p->img, map)], key, value,
				NB_ANY, NULL));
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

static void check_answer(const struct policy *p, uint64_t bytes, int algo,
			 int proto)
{
	struct ncclbpf_tuner ctx = call(bytes);

	decide(p, &ctx);
	ck_assert_msg(ctx.algo == algo && ctx.proto == proto &&
			      ctx.channels == 0,
		      "%llu bytes: %d %d, not %d %d", (unsigned long long)bytes,
		      ctx.algo, ctx.proto, algo, proto);
}

#define MIB(n) ((uint64_t)(n) << 20)

START_TEST(noop_has_no_opinion)
{
	struct policy p = open_policy("policies/noop.bpf.c");

	check_answer(&p, 4096, NCCL_ALGO_UNDEF, NCCL_PROTO_UNDEF);
	close_policy(&p);
}
END_TEST

START_TEST(size_aware_goes_by_size)
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
END_TEST

START_TEST(cheap_ring_pays_a_tenth_at_most)
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
		ck_assert_int_eq(ctx.algo, ring <= 110.0f ? NCCL_ALGO_RING
							  : NCCL_ALGO_UNDEF);
		ck_assert_int_eq(ctx.proto, ring <= 110.0f ? NCCL_PROTO_LL128
							   : NCCL_PROTO_UNDEF);
	}
	close_policy(&p);
}
END_TEST

START_TEST(nvlink_ring_mid_keeps_to_its_ranges)
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
END_TEST

START_TEST(force_does_what_its_map_says)
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
END_TEST

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

START_TEST(adaptive_channels_reads_and_counts)
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
END_TEST

START_TEST(size_classes_are_logarithms)
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
END_TEST

struct slo_key {
	uint32_t coll, class;
};

START_TEST(slo_enforcer_mends_what_would_miss)
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
	ck_assert(!nb_map_read(p.maps[nb_image_map(p.img, "outcomes")], &key,
			       outcome, NULL));
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
END_TEST

START_TEST(division_by_zero_has_its_defined_result)
{
	struct policy p = open_policy(
		"test/corpus/accept/division_by_zero_is_zero.bpf.c");
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
END_TEST

UNIT_MAIN("policies",
	  tcase_add_loop_test(tc, shipped_policies_are_accepted, 0, 3);
	  tcase_add_loop_test(tc, safe_policies_are_accepted, 0, 2);
	  tcase_add_loop_test(tc, unsafe_policies_are_refused_for_their_reason,
			      0, 2);
	  tcase_add_test(tc, each_unsafe_policy_has_a_safe_twin);
	  tcase_add_test(tc, noop_has_no_opinion);
	  tcase_add_test(tc, size_aware_goes_by_size);
	  tcase_add_test(tc, cheap_ring_pays_a_tenth_at_most);
	  tcase_add_test(tc, nvlink_ring_mid_keeps_to_its_ranges);
	  tcase_add_test(tc, force_does_what_its_map_says);
	  tcase_add_test(tc, adaptive_channels_reads_and_counts);
	  tcase_add_test(tc, size_classes_are_logarithms);
	  tcase_add_test(tc, slo_enforcer_mends_what_would_miss);
	  tcase_add_test(tc, division_by_zero_has_its_defined_result);)
