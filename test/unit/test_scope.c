// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Policies for some communicators: scopes as data, and generations with views.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "core/defs/ctx.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

static struct nb_policy *policy(const char *name, const char *text, const struct nb_map_spec *maps,
				uint32_t nmaps)
{
	struct nb_policy *p;
	struct nb_image *img;
	struct nb_err err = { 0 };
	struct nb_buf b;

	made_image(&b, name, text, maps, nmaps);
	ck_assert_msg(!nb_image_read(&img, b.data, b.size, &err), "%s", err.text);
	nb_buf_fini(&b);
	ck_assert_msg(!nb_policy_make(&p, img, NULL, NULL, 0, &err), "%s", err.text);
	return p;
}

static struct ncclbpf_tuner answer(struct nb_gen *g, uint64_t comm)
{
	struct ncclbpf_tuner ctx = { .bytes = 1024, .ranks = 8, .algo = -1, .proto = -1 };
	struct nb_gen_count count = { 0 };
	struct nb_gen *mine = nb_gen_of(g, comm);

	nb_gen_run_tuner(mine, &ctx, &count);
	nb_gen_count_add(mine, &count);
	return ctx;
}

static struct nb_order order(uint32_t n, uint8_t a, uint8_t b)
{
	return (struct nb_order){ .n = n, .at = { a, b } };
}

static void put(struct nb_scopes *s, uint64_t comm, struct nb_order o)
{
	struct nb_err err = { 0 };

	ck_assert_msg(!nb_scopes_put(s, &comm, 1, &o, &err), "%s", err.text);
}

TEST(a_communicator_stands_in_one_scope)
{
	struct nb_scopes s = { .n = 0 };

	ck_assert_int_eq(nb_scopes_find(&s, 7), -1);
	put(&s, 7, order(1, 0, 0));
	put(&s, 5, order(1, 0, 0));
	put(&s, 9, order(2, 1, 0));
	ck_assert_uint_eq(s.n, 2);
	ck_assert_uint_eq(s.scope[0].ncomms, 2);
	ck_assert_uint_eq(s.scope[0].comm[0], 5);
	ck_assert_int_eq(nb_scopes_find(&s, 7), 0);
	ck_assert_int_eq(nb_scopes_find(&s, 9), 1);
	put(&s, 7, order(2, 1, 0));
	ck_assert_int_eq(nb_scopes_find(&s, 7), 1);
	ck_assert_uint_eq(s.scope[0].ncomms, 1);
	nb_scopes_drop(&s, 5);
	ck_assert_uint_eq(s.n, 1);
	ck_assert_int_eq(nb_scopes_find(&s, 9), 0);
	nb_scopes_drop(&s, 5);
	nb_scopes_drop(&s, 9);
	nb_scopes_drop(&s, 7);
	ck_assert_uint_eq(s.n, 0);
}

TEST(scopes_are_bounded)
{
	struct nb_scopes s = { .n = 0 };
	struct nb_order o = order(1, 0, 0);
	struct nb_err err = { 0 };
	uint64_t comm;

	for (comm = 1; comm <= NB_SCOPE_MAX_COMMS; comm++)
		put(&s, comm, o);
	ck_assert_int_eq(nb_scopes_put(&s, &comm, 1, &o, &err), NB_E_LIMIT);
	ck_assert_ptr_nonnull(strstr(err.text, "16 communicators"));
	s.n = 0;
	for (comm = 1; comm <= NB_GEN_MAX_SCOPES; comm++)
		put(&s, comm, order(1, (uint8_t)comm, 0));
	ck_assert_int_eq(nb_scopes_put(&s, &comm, 1, &o, &err), NB_E_LIMIT);
}

TEST(scopes_that_cannot_be_are_refused)
{
	struct nb_policy *p[] = { policy("a", MADE_NOOP, NULL, 0) };
	struct nb_order all = nb_order_all(1), bad = order(1, 1, 0), twice = order(2, 0, 0);
	struct nb_scopes s = { .n = 0 };
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_int_eq(nb_gen_scoped(&g, p, 1, &bad, NULL, NULL, &err), NB_E_ARG);
	ck_assert_int_eq(nb_gen_scoped(&g, p, 1, &twice, NULL, NULL, &err), NB_E_ARG);
	put(&s, 3, order(1, 1, 0));
	ck_assert_int_eq(nb_gen_scoped(&g, p, 1, &all, &s, NULL, &err), NB_E_ARG);
	s.scope[0].order = all;
	s.scope[0].ncomms = 2;
	s.scope[0].comm[1] = 3;
	ck_assert_int_eq(nb_gen_scoped(&g, p, 1, &all, &s, NULL, &err), NB_E_ARG);
	s.scope[0].comm[1] = 0;
	ck_assert_int_eq(nb_gen_scoped(&g, p, 1, &all, &s, NULL, &err), NB_E_ARG);
	s.scope[0].ncomms = 0;
	ck_assert_int_eq(nb_gen_scoped(&g, p, 1, &all, &s, NULL, &err), NB_E_LIMIT);
	ck_assert_ptr_null(g);
	nb_policy_put(p[0]);
}

TEST(each_communicator_decides_with_its_own)
{
	struct nb_policy *p[] = { policy("ring", MADE_CHOOSE(1, 2), NULL, 0),
				  policy("tree", MADE_CHOOSE(0, 1), NULL, 0) };
	struct nb_order common = order(1, 0, 0);
	struct nb_scopes s = { .n = 0 };
	struct nb_gen_sum sum = { 0 };
	struct nb_gen *g, *plain;

	put(&s, 7, order(1, 1, 0));
	put(&s, 8, order(2, 1, 0));
	put(&s, 9, order(0, 0, 0));
	ck_assert_int_eq(nb_gen_scoped(&g, p, 2, &common, &s, NULL, NULL), 0);
	ck_assert_int_eq(nb_gen_new(&plain, p, 2, NULL, NULL), 0);
	ck_assert_int_eq(answer(g, 1).algo, 1);
	ck_assert_int_eq(answer(g, 0).algo, 1);
	ck_assert_int_eq(answer(g, 7).algo, 0);
	ck_assert_int_eq(answer(g, 8).algo, 1); /* ring has the last word */
	ck_assert_int_eq(answer(g, 9).algo, -1);
	ck_assert_mem_ne(g->digest, plain->digest, NB_SHA256_SIZE);
	/* what a communicator counts stands under the policy's number */
	for (uint32_t i = 0; nb_gen_part(g, i); i++) {
		const struct nb_gen *part = nb_gen_part(g, i);

		ck_assert_ptr_eq(nb_gen_whole(part), g);
		ck_assert_mem_eq(part->digest, g->digest, NB_SHA256_SIZE);
		for (uint32_t k = 0; k < part->nprogs; k++)
			if (part->policy[part->prog[k].policy].policy == p[1])
				nb_gen_sum_add(&sum, &part->prog[k].sum);
	}
	ck_assert_uint_eq(sum.runs, 2);
	nb_gen_put(g);
	nb_gen_put(plain);
	nb_policy_put(p[0]);
	nb_policy_put(p[1]);
}

TEST(the_digest_tells_scopes_apart)
{
	struct nb_policy *p[] = { policy("a", MADE_NOOP, NULL, 0),
				  policy("b", MADE_CHOOSE(1, 2), NULL, 0) };
	struct nb_order common = order(1, 0, 0);
	struct nb_gen *g[5];
	struct nb_scopes s = { .n = 0 };

	put(&s, 7, order(1, 1, 0));
	ck_assert_int_eq(nb_gen_scoped(&g[0], p, 2, &common, &s, NULL, NULL), 0);
	ck_assert_int_eq(nb_gen_scoped(&g[1], p, 2, &common, &s, NULL, NULL), 0);
	nb_scopes_drop(&s, 7);
	put(&s, 8, order(1, 1, 0));
	ck_assert_int_eq(nb_gen_scoped(&g[2], p, 2, &common, &s, NULL, NULL), 0);
	put(&s, 8, order(2, 1, 0));
	ck_assert_int_eq(nb_gen_scoped(&g[3], p, 2, &common, &s, NULL, NULL), 0);
	common = order(0, 0, 0);
	ck_assert_int_eq(nb_gen_scoped(&g[4], p, 2, &common, &s, NULL, NULL), 0);
	ck_assert_mem_eq(g[0]->digest, g[1]->digest, NB_SHA256_SIZE);
	for (int i = 1; i < 5; i++)
		for (int k = i + 1; k < 5; k++)
			ck_assert_mem_ne(g[i]->digest, g[k]->digest, NB_SHA256_SIZE);
	for (int i = 0; i < 5; i++)
		nb_gen_put(g[i]);
	nb_policy_put(p[0]);
	nb_policy_put(p[1]);
}

/* The map belongs to the policy, whoever decides with it, and what changes a
 * map keeps the scopes. */
TEST(maps_are_those_of_the_policy)
{
	struct nb_policy *p[] = { policy("counter", MADE_COUNT_IN_MAP, &made_local, 1),
				  policy("limits", MADE_CHANNELS_FROM_MAP, &made_coherent, 1) };
	struct nb_order common = order(1, 0, 0);
	struct nb_scopes s = { .n = 0 };
	uint32_t key = 0, value = 6;
	struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_gen *g, *next, *all;

	put(&s, 7, order(2, 0, 1));
	ck_assert_int_eq(nb_gen_scoped(&g, p, 2, &common, &s, NULL, NULL), 0);
	answer(g, 1);
	answer(g, 7);
	value = 0;
	ck_assert_int_eq(nb_map_read(p[0]->maps[0], &key, &value, NULL), 0);
	ck_assert_uint_eq(value, 2);
	value = 6;
	ck_assert_int_eq(nb_gen_changes(&next, g, &(struct nb_gen_change){ 1, 0, &op, 1 }, 1, NULL),
			 0);
	ck_assert_uint_eq(answer(g, 7).channels, 0);
	ck_assert_uint_eq(answer(next, 7).channels, 6);
	ck_assert_uint_eq(answer(next, 1).channels, 0);
	/* promoted: with what the map has by then */
	ck_assert_int_eq(nb_gen_new(&all, p, 2, next, NULL), 0);
	nb_gen_put(g);
	nb_gen_put(next);
	ck_assert_uint_eq(answer(all, 1).channels, 6);
	nb_gen_put(all);
	nb_policy_put(p[0]);
	nb_policy_put(p[1]);
}

TEST(a_view_can_be_rehearsed)
{
	struct nb_policy *p[] = { policy("ring", MADE_CHOOSE(1, 2), NULL, 0),
				  policy("counter", MADE_COUNT_IN_MAP, &made_local, 1) };
	struct nb_order common = order(1, 0, 0);
	struct nb_scopes s = { .n = 0 };
	struct nb_gen *g, *copy;
	uint32_t key = 0, value = 7;

	put(&s, 7, order(1, 1, 0));
	ck_assert_int_eq(nb_gen_scoped(&g, p, 2, &common, &s, NULL, NULL), 0);
	ck_assert_int_eq(nb_gen_rehearsal(&copy, nb_gen_of(g, 7), NULL), 0);
	ck_assert_int_eq(answer(copy, 0).algo, -1);
	ck_assert_uint_eq(copy->order.n, 1);
	ck_assert_uint_eq(copy->order.at[0], 1);
	ck_assert_int_eq(nb_map_read(p[1]->maps[0], &key, &value, NULL), 0);
	ck_assert_uint_eq(value, 0);
	nb_gen_put(copy);
	nb_gen_put(g);
	nb_policy_put(p[0]);
	nb_policy_put(p[1]);
}

/* One that counts events of @hook and does nothing else. */
static struct nb_policy *listener(const char *name, const char *section, enum nb_hook hook)
{
	const struct nb_func func = { .name = "f", .end = 2 };
	struct nb_slot slots[2];
	struct nb_prog prog = { .name = "f",
				.section = section,
				.hook = hook,
				.slots = slots,
				.nslots = 2,
				.funcs = &func,
				.nfuncs = 1 };
	const struct nb_image made = { .name = name, .progs = &prog, .nprogs = 1 };
	struct nb_err err = { 0 };
	struct nb_image *img;
	struct nb_policy *p;
	struct nb_buf b;
	size_t n;

	ck_assert_int_eq(nb_asm(slots, 2, &n, MADE_NOOP, &err), 0);
	nb_buf_init(&b, 0);
	ck_assert_int_eq(nb_image_write(&b, &made, &err), 0);
	ck_assert_int_eq(nb_image_read(&img, b.data, b.size, &err), 0);
	nb_buf_fini(&b);
	ck_assert_int_eq(nb_policy_make(&p, img, NULL, NULL, 0, &err), 0);
	return p;
}

static uint64_t heard(struct nb_gen *g, enum nb_hook hook)
{
	struct ncclbpf_coll_done ctx = { .comm_id = 7 };

	nb_gen_run_event(g, hook, &ctx, sizeof(ctx), 0);
	return g->nevents ? g->event[0].sum.runs : 0;
}

TEST(events_are_heard_by_the_policies_of_their_communicator)
{
	struct nb_policy *p[] = { policy("ring", MADE_CHOOSE(1, 2), NULL, 0),
				  listener("l", "profiler/coll_done", NB_HOOK_COLL_DONE),
				  listener("c", "controller", NB_HOOK_CONTROLLER) };
	struct nb_order common = order(1, 0, 0);
	struct nb_scopes s = { .n = 0 };
	struct nb_gen *g;

	put(&s, 7, order(2, 1, 2));
	ck_assert_int_eq(nb_gen_scoped(&g, p, 3, &common, &s, NULL, NULL), 0);
	ck_assert_uint_eq(heard(nb_gen_of(g, 7), NB_HOOK_COLL_DONE), 1);
	ck_assert_uint_eq(heard(nb_gen_of(g, 1), NB_HOOK_COLL_DONE), 0);
	/* NCCL is asked for events where anybody wants them */
	ck_assert_uint_eq(g->hooks, 1u << NB_HOOK_COLL_DONE | 1u << NB_HOOK_CONTROLLER);
	/* one that knows no communicator is the whole's */
	ck_assert_uint_eq(nb_gen_of(g, 7)->nevents, 1);
	ck_assert_uint_eq(g->nevents, 1);
	ck_assert_int_eq(g->event[0].hook, NB_HOOK_CONTROLLER);
	ck_assert_ptr_nonnull(nb_gen_exec(g, p[1], 0));
	nb_gen_put(g);
	for (int i = 0; i < 3; i++)
		nb_policy_put(p[i]);
}

/* The first holder counts alone; other holders and threads without a record
 * share a count. */
TEST(runs_of_all_holders_add_up)
{
	static const uint16_t holders[] = { 0, 3, 3, 5, 3, 0 };
	struct nb_policy *p = listener("l", "profiler/coll_done", NB_HOOK_COLL_DONE);
	struct nb_order common = order(1, 0, 0);
	struct nb_scopes s = { .n = 0 };
	struct ncclbpf_coll_done ctx = { .comm_id = 7 };
	struct nb_gen_sum sum = { 0 };
	struct nb_gen *g;

	ck_assert_int_eq(nb_gen_scoped(&g, &p, 1, &common, &s, NULL, NULL), 0);
	for (int i = 0; i < 6; i++)
		nb_gen_run_event(g, NB_HOOK_COLL_DONE, &ctx, sizeof(ctx), holders[i]);
	ck_assert_uint_eq(g->event[0].sum.own_runs, 3);
	ck_assert_uint_eq(g->event[0].sum.runs, 3);
	nb_gen_sum_add(&sum, &g->event[0].sum);
	ck_assert_uint_eq(sum.runs, 6);
	nb_gen_put(g);
	nb_policy_put(p);
}

UNIT_MAIN("scope")
