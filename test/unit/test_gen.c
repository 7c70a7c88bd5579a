// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Policies and generations: what follows from what, and what a change leaves
// alone.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "core/defs/ctx.h"
#include "test/unit/made.h"

static struct nb_policy *policy(const char *name, const char *text, const struct nb_map_spec *maps,
				uint32_t nmaps, struct nb_policy *const *peers, uint32_t npeers)
{
	struct nb_policy *p;
	struct nb_image *img;
	struct nb_err err = { 0 };
	struct nb_buf b;

	made_image(&b, name, text, maps, nmaps);
	ck_assert_msg(!nb_image_read(&img, b.data, b.size, &err), "%s", err.text);
	nb_buf_fini(&b);
	ck_assert_msg(!nb_policy_make(&p, img, NULL, peers, npeers, &err), "%s", err.text);
	return p;
}

static struct nb_policy *plain(const char *name, const char *text)
{
	return policy(name, text, NULL, 0, NULL, 0);
}

static struct nb_gen *gen(struct nb_policy *const *p, uint32_t n, const struct nb_gen *parent)
{
	struct nb_gen *g;
	struct nb_err err = { 0 };

	ck_assert_msg(!nb_gen_new(&g, p, n, parent, &err), "%s", err.text);
	return g;
}

static struct ncclbpf_tuner ask(void)
{
	return (struct ncclbpf_tuner){ .bytes = 1024, .ranks = 8, .algo = -1, .proto = -1 };
}

static uint32_t channels_of(const struct nb_gen *g)
{
	struct ncclbpf_tuner ctx = ask();
	struct nb_gen_count count = { 0 };

	nb_gen_run_tuner(g, &ctx, &count);
	return ctx.channels;
}

static bool same(const struct nb_gen *a, const struct nb_gen *b)
{
	return !memcmp(a->digest, b->digest, NB_SHA256_SIZE);
}

static uint32_t first_of(const struct nb_map *m)
{
	uint32_t key = 0, value = 0;

	ck_assert_int_eq(nb_map_read(m, &key, &value, NULL), 0);
	return value;
}

static struct nb_gen *set_limit(const struct nb_gen *from, uint32_t policy_at, uint32_t value)
{
	uint32_t key = 0;
	struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_msg(
		!nb_gen_changes(&g, from, &(struct nb_gen_change){ policy_at, 0, &op, 1 }, 1, &err),
		"%s", err.text);
	return g;
}

TEST(no_policy_is_all_zeroes)
{
	static const uint8_t zero[NB_SHA256_SIZE];
	struct ncclbpf_tuner ctx = ask();
	struct nb_gen_count count = { 0 };
	struct nb_gen *g = gen(NULL, 0, NULL);

	ck_assert_mem_eq(g->digest, zero, sizeof(zero));
	ck_assert_int_eq(nb_gen_run_tuner(g, &ctx, &count), -1);
	nb_gen_put(g);
}

TEST(digest_follows_policies_and_order)
{
	struct nb_policy *a = plain("a", MADE_NOOP);
	struct nb_policy *b = plain("b", MADE_CHOOSE(1, 2));
	struct nb_policy *again = plain("a", MADE_NOOP);
	struct nb_policy *ab[] = { a, b }, *ba[] = { b, a }, *aab[] = { again, b };
	struct nb_gen *g[] = { gen(ab, 2, NULL), gen(ba, 2, NULL), gen(ab, 1, NULL),
			       gen(aab, 2, NULL) };

	ck_assert(!same(g[0], g[1]));
	ck_assert(!same(g[0], g[2]));
	ck_assert(same(g[0], g[3]));
	for (int i = 0; i < 4; i++)
		nb_gen_put(g[i]);
	nb_policy_put(a);
	nb_policy_put(b);
	nb_policy_put(again);
}

TEST(each_policy_sees_the_answer_so_far)
{
	/* b answers Tree where a has answered Ring */
	struct nb_policy *a = plain("a", MADE_CHOOSE(1, 2));
	struct nb_policy *b = plain("b", "ldxw %r2, [%r1+68]\n"
					 "jne %r2, 1, +1\n"
					 "stw [%r1+68], 0\n"
					 "mov %r0, 0\nexit\n");
	struct nb_policy *c = plain("c", MADE_NOOP);
	struct nb_policy *abc[] = { a, b, c }, *ba[] = { b, a };
	struct nb_gen_count count = { 0 };
	struct ncclbpf_tuner ctx = ask();
	struct nb_gen *g = gen(abc, 3, NULL);

	ck_assert_int_eq(nb_gen_run_tuner(g, &ctx, &count), 1);
	ck_assert_int_eq(ctx.algo, 0);
	ck_assert_int_eq(ctx.proto, 2);
	ck_assert_uint_eq(count.runs, 1);
	ck_assert_uint_eq(count.overrides[0], 1);
	ck_assert_uint_eq(count.overrides[1], 1);
	ck_assert_uint_eq(count.overrides[2], 0);
	nb_gen_count_add(g, &count);
	ck_assert_uint_eq(count.runs, 0);
	ck_assert_uint_eq(g->prog[2].sum.runs, 1);
	ck_assert_uint_eq(g->prog[1].sum.overrides, 1);
	nb_gen_put(g);

	g = gen(ba, 2, NULL);
	ctx = ask();
	ck_assert_int_eq(nb_gen_run_tuner(g, &ctx, &count), 1);
	ck_assert_int_eq(ctx.algo, 1);
	nb_gen_put(g);
	nb_policy_put(a);
	nb_policy_put(b);
	nb_policy_put(c);
}

TEST(coherent_map_changes_with_a_generation_alone)
{
	struct nb_policy *p = policy("p", MADE_CHANNELS_FROM_MAP, &made_coherent, 1, NULL, 0);
	struct nb_policy *other = plain("other", MADE_NOOP);
	struct nb_policy *both[] = { other, p };
	struct nb_gen *g0 = gen(&p, 1, NULL), *g8, *g8b, *g9, *kept, *fresh;

	ck_assert_ptr_null(p->maps[0]);
	g8 = set_limit(g0, 0, 8);
	g8b = set_limit(g0, 0, 8);
	g9 = set_limit(g8, 0, 9);
	ck_assert_uint_eq(channels_of(g0), 0);
	ck_assert_uint_eq(channels_of(g8), 8);
	ck_assert_uint_eq(channels_of(g9), 9);
	ck_assert(same(g8, g8b));
	ck_assert(!same(g0, g8));
	ck_assert(!same(g8, g9));
	/* another set of policies carries the contents on */
	kept = gen(both, 2, g9);
	ck_assert_uint_eq(channels_of(kept), 9);
	fresh = gen(both, 2, NULL);
	ck_assert_uint_eq(channels_of(fresh), 0);
	ck_assert(!same(kept, fresh));
	nb_gen_put(g0);
	nb_gen_put(g8);
	nb_gen_put(g8b);
	nb_gen_put(g9);
	ck_assert_uint_eq(channels_of(kept), 9);
	nb_gen_put(kept);
	nb_gen_put(fresh);
	nb_policy_put(p);
	nb_policy_put(other);
}

TEST(history_tells_how_contents_came_to_be)
{
	/* back to the first contents, but not to the first history: two
	 * processes agree on a digest only if they were asked the same */
	struct nb_policy *p = policy("p", MADE_CHANNELS_FROM_MAP, &made_coherent, 1, NULL, 0);
	struct nb_gen *g0 = gen(&p, 1, NULL), *g1 = set_limit(g0, 0, 8), *g2 = set_limit(g1, 0, 0);

	ck_assert_uint_eq(channels_of(g2), channels_of(g0));
	ck_assert(!same(g0, g2));
	nb_gen_put(g0);
	nb_gen_put(g1);
	nb_gen_put(g2);
	nb_policy_put(p);
}

TEST(local_map_lives_as_long_as_the_policy)
{
	struct nb_policy *p = policy("p", MADE_COUNT_IN_MAP, &made_local, 1, NULL, 0);
	struct nb_gen *g = gen(&p, 1, NULL), *h;

	channels_of(g);
	channels_of(g);
	h = gen(&p, 1, g);
	nb_gen_put(g);
	channels_of(h);
	ck_assert_uint_eq(first_of(p->maps[0]), 3);
	nb_gen_put(h);
	nb_policy_put(p);
}

TEST(one_bad_operation_fails_the_change)
{
	struct nb_policy *p = policy("p", MADE_CHANNELS_FROM_MAP, &made_coherent, 1, NULL, 0);
	struct nb_gen *g = gen(&p, 1, NULL), *out;
	uint32_t good = 0, bad = 2, value = 7;
	struct nb_map_op ops[] = { { .key = &good, .value = &value },
				   { .key = &bad, .value = &value } };
	struct nb_err err = { 0 };

	ck_assert_int_lt(nb_gen_changes(&out, g, &(struct nb_gen_change){ 0, 0, ops, 2 }, 1, &err),
			 0);
	ck_assert_ptr_null(out);
	ck_assert_uint_eq(err.at, 2);
	ck_assert_uint_eq(channels_of(g), 0);
	ck_assert_int_eq(nb_gen_changes(&out, g, &(struct nb_gen_change){ 0, 0, ops, 0 }, 1, &err),
			 NB_E_ARG);
	ck_assert_int_eq(nb_gen_changes(&out, g, &(struct nb_gen_change){ 1, 0, ops, 1 }, 1, &err),
			 NB_E_ARG);
	ck_assert_int_eq(nb_gen_changes(&out, g, &(struct nb_gen_change){ 0, 1, ops, 1 }, 1, &err),
			 NB_E_ARG);
	nb_gen_put(g);
	nb_policy_put(p);
}

TEST(local_map_is_not_changed_by_a_generation)
{
	struct nb_policy *p = policy("p", MADE_COUNT_IN_MAP, &made_local, 1, NULL, 0);
	struct nb_gen *g = gen(&p, 1, NULL), *out;
	uint32_t key = 0, value = 7;
	struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_err err = { 0 };

	ck_assert_int_eq(nb_gen_changes(&out, g, &(struct nb_gen_change){ 0, 0, &op, 1 }, 1, &err),
			 NB_E_READONLY);
	ck_assert_ptr_nonnull(strstr(err.text, "counts"));
	nb_gen_put(g);
	nb_policy_put(p);
}

TEST(policies_stand_once_and_at_most_sixteen)
{
	struct nb_policy *p[NB_GEN_MAX_POLICIES + 1], *twice[2];
	struct nb_gen *g;
	struct nb_err err = { 0 };
	char name[16];

	for (int i = 0; i <= NB_GEN_MAX_POLICIES; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		p[i] = plain(name, MADE_NOOP);
	}
	ck_assert_int_eq(nb_gen_new(&g, p, NB_GEN_MAX_POLICIES + 1, NULL, &err), NB_E_LIMIT);
	ck_assert_int_eq(nb_gen_new(&g, p, NB_GEN_MAX_POLICIES, NULL, &err), 0);
	nb_gen_put(g);
	twice[0] = twice[1] = p[3];
	ck_assert_int_eq(nb_gen_new(&g, twice, 2, NULL, &err), NB_E_EXISTS);
	ck_assert_ptr_nonnull(strstr(err.text, "p3"));
	for (int i = 0; i <= NB_GEN_MAX_POLICIES; i++)
		nb_policy_put(p[i]);
}

TEST(shared_maps_are_joined_by_name_and_shape)
{
	struct nb_map_spec shared = made_local, wider = made_local;
	struct nb_policy *a, *b, *c, *d;

	shared.tags = NB_MAPF_SHARED;
	wider.tags = NB_MAPF_SHARED;
	wider.max_entries = 2;
	a = policy("a", MADE_COUNT_IN_MAP, &shared, 1, NULL, 0);
	b = policy("b", MADE_COUNT_IN_MAP, &shared, 1, &a, 1);
	c = policy("c", MADE_COUNT_IN_MAP, &wider, 1, &a, 1);
	d = policy("d", MADE_COUNT_IN_MAP, &made_local, 1, &a, 1);
	ck_assert_ptr_eq(a->maps[0], b->maps[0]);
	ck_assert_ptr_ne(a->maps[0], c->maps[0]);
	ck_assert_ptr_ne(a->maps[0], d->maps[0]);
	nb_policy_put(a);
	ck_assert_uint_eq(first_of(b->maps[0]), 0);
	nb_policy_put(b);
	nb_policy_put(c);
	nb_policy_put(d);
}

TEST(rehearsal_disturbs_nobody)
{
	struct nb_policy *p = policy("p", MADE_COUNT_IN_MAP, &made_local, 1, NULL, 0);
	struct nb_gen *g = gen(&p, 1, NULL), *r;

	channels_of(g);
	ck_assert_int_eq(nb_gen_rehearsal(&r, g, NULL), 0);
	channels_of(r);
	channels_of(r);
	ck_assert_uint_eq(first_of(g->policy[0].maps[0]), 1);
	ck_assert_uint_eq(first_of(r->policy[0].maps[0]), 3);
	nb_gen_put(r);
	nb_gen_put(g);
	nb_policy_put(p);
}

TEST(refused_program_says_why_in_two_forms)
{
	struct nb_buf b, text, json;
	struct nb_policy_opts opts = { .finding_text = &text, .finding_json = &json };
	struct nb_err err = { 0 };
	struct nb_policy *p;

	nb_buf_init(&text, 0);
	nb_buf_init(&json, 0);
	/* writes the input field bytes */
	made_image(&b, "bad", "stdw [%r1+8], 0\nmov %r0, 0\nexit\n", NULL, 0);
	ck_assert_int_eq(nb_policy_new(&p, b.data, b.size, &opts, &err), NB_E_VERIFY);
	ck_assert_ptr_null(p);
	ck_assert_uint_gt(strlen(err.text), 0);
	ck_assert_uint_gt(text.size, 0);
	ck_assert_ptr_nonnull(strstr(nb_buf_text(&json), "\"class\":"));
	nb_buf_fini(&b);
	nb_buf_fini(&text);
	nb_buf_fini(&json);
	made_image(&b, "good", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_msg(!nb_policy_new(&p, b.data, b.size, NULL, &err), "%s", err.text);
	ck_assert_uint_gt(p->effort[0].stats.insns_walked, 0);
	nb_policy_put(p);
	nb_buf_fini(&b);
}

/* ---- replicated maps ---- */

static const struct nb_map_spec made_state =
	MAP_SPEC("state", ARRAY, 4, 8, 256, NB_MAPF_REPLICATED);

static struct nb_policy *counts(const char *name)
{
	return policy(name, "mov %r0, 0\nexit\n", &made_state, 1, NULL, 0);
}

TEST(replicated_maps_of_all_policies_have_room_for_4_KiB)
{
	struct nb_policy *p[3] = { counts("a"), counts("b"), counts("c") };
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_msg(!nb_gen_new(&g, p, 2, NULL, &err), "%s", err.text);
	ck_assert_uint_eq(g->state_size, NB_MAP_MAX_STATE);
	nb_gen_put(g);
	ck_assert_int_eq(nb_gen_new(&g, p, 3, NULL, &err), NB_E_LIMIT);
	ck_assert_ptr_nonnull(strstr(err.text, "policy c: with map state"));
	for (int i = 0; i < 3; i++)
		nb_policy_put(p[i]);
}

/* A communicator keeps the contents from one generation to another with an equal digest. */
TEST(state_depends_on_the_policies_that_have_some_and_on_their_order)
{
	struct nb_policy *a = counts("a"), *b = counts("b");
	struct nb_policy *plain = policy("plain", MADE_CHOOSE(1, 2), NULL, 0, NULL, 0);
	struct nb_policy *const lists[][3] = {
		{ a, b }, { a, b, plain }, { plain, a, b }, { b, a }, { a }, { plain },
	};
	uint8_t digest[6][NB_SHA256_SIZE];

	for (int i = 0; i < 6; i++) {
		uint32_t n = i < 1 ? 2 : i < 3 ? 3 : i < 4 ? 2 : 1;
		struct nb_gen *g;

		ck_assert_int_eq(nb_gen_new(&g, lists[i], n, NULL, NULL), 0);
		memcpy(digest[i], g->state_digest, NB_SHA256_SIZE);
		ck_assert_uint_eq(g->state_size != 0, i < 5);
		nb_gen_put(g);
		for (int k = 0; k < i; k++)
			ck_assert_int_eq(!memcmp(digest[i], digest[k], NB_SHA256_SIZE), i < 3);
	}
	nb_policy_put(a);
	nb_policy_put(b);
	nb_policy_put(plain);
}

UNIT_MAIN("gen")
