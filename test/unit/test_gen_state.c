// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A generation as bytes: a process that holds the policies makes the same
// generation of them, and no damaged bytes are taken.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/generation/state.h"
#include "core/ncclbpf.h"
#include "test/unit/made.h"

enum { KEYS = 48 };

static const struct nb_map_spec specs[] = {
	MAP_SPEC("limits", ARRAY, 4, 4, 3, NB_MAPF_COHERENT),
	MAP_SPEC("sizes", HASH, 8, 12, 64, NB_MAPF_COHERENT),
	MAP_SPEC("counts", ARRAY, 4, 4, 1, 0),
};

static struct nb_policy *held[2];

static struct nb_policy *find(const uint8_t *digest)
{
	for (size_t i = 0; i < 2; i++)
		if (held[i] && !memcmp(held[i]->img->digest, digest, NB_SHA256_SIZE))
			return held[i];
	return NULL;
}

static struct nb_policy *policy(const char *name, const char *text, const struct nb_map_spec *maps,
				uint32_t n)
{
	struct nb_policy *p;
	struct nb_image *img;
	struct nb_buf b;

	made_image(&b, name, text, maps, n);
	ck_assert_int_eq(nb_image_read(&img, b.data, b.size, NULL), 0);
	nb_buf_fini(&b);
	ck_assert_int_eq(nb_policy_make(&p, img, NULL, NULL, 0, NULL), 0);
	return p;
}

/* Policies a and b of this process, as @nmaps of a's maps say. */
static void hold(uint32_t nmaps)
{
	held[0] = policy("a", MADE_CHANNELS_FROM_MAP, specs, nmaps);
	held[1] = policy("b", MADE_CHOOSE(1, 2), NULL, 0);
}

static void drop(void)
{
	nb_policy_put(held[0]);
	nb_policy_put(held[1]);
	held[0] = held[1] = NULL;
}

static struct nb_gen *write_map(struct nb_gen *g, uint32_t policy_at, uint32_t map, const void *key,
				const void *value, bool erase)
{
	const struct nb_map_op op = { .erase = erase, .key = key, .value = value };
	struct nb_err err = { 0 };
	struct nb_gen *next;

	ck_assert_msg(!nb_gen_changes(&next, g, &(struct nb_gen_change){ policy_at, map, &op, 1 },
				      1, &err),
		      "%s", err.text);
	nb_gen_put(g);
	return next;
}

/* b for all communicators but 5, which has a alone. Maps of a are written. */
static struct nb_gen *sample(void)
{
	struct nb_policy *ba[] = { held[1], held[0] };
	const struct nb_order common = { .n = 1 };
	const struct nb_order scoped = { .n = 1, .at = { 1 } };
	struct nb_scopes scopes = { .n = 0 };
	const uint64_t comm = 5;
	struct nb_gen *g;
	uint32_t index = 2, seven = 7, value[3] = { 1, 2, 3 };

	ck_assert_int_eq(nb_scopes_put(&scopes, &comm, 1, &scoped, NULL), 0);
	ck_assert_int_eq(nb_gen_scoped(&g, ba, 2, &common, &scopes, NULL, NULL), 0);
	g = write_map(g, 1, 0, &index, &seven, false);
	index = 0;
	g = write_map(g, 1, 0, &index, &seven, false);
	for (uint64_t key = 0; key < KEYS; key++) {
		value[0] = (uint32_t)key * 3;
		g = write_map(g, 1, 1, &key, value, false);
	}
	for (uint64_t key = 0; key < KEYS; key += 5)
		g = write_map(g, 1, 1, &key, NULL, true);
	return g;
}

static void put(struct nb_buf *b, const struct nb_gen *g)
{
	struct nb_err err = { 0 };

	nb_buf_init(b, 1 << 20);
	ck_assert_msg(!nb_gen_state_write(b, g, &err), "%s", err.text);
}

static void same_map(const struct nb_map *a, const struct nb_map *b)
{
	unsigned char x[16], y[16], v[16] = { 0 }, w[16] = { 0 };
	int i = nb_map_next(a, NULL, x), k = nb_map_next(b, NULL, y);

	while (!i && !k) {
		ck_assert_mem_eq(x, y, nb_map_definition(a)->key_size);
		ck_assert_int_eq(nb_map_read(a, x, v, NULL), 0);
		ck_assert_int_eq(nb_map_read(b, y, w, NULL), 0);
		ck_assert_mem_eq(v, w, sizeof(v));
		i = nb_map_next(a, x, x);
		k = nb_map_next(b, y, y);
	}
	ck_assert_int_eq(i, k);
}

static uint32_t channels(struct nb_gen *g, uint64_t comm)
{
	struct ncclbpf_tuner ctx = { .bytes = 1024, .ranks = 8, .algo = -1, .proto = -1 };
	struct nb_gen_count count = { 0 };

	nb_gen_run_tuner(nb_gen_of(g, comm), &ctx, &count);
	return ctx.channels;
}

TEST(another_process_makes_the_same_generation)
{
	struct nb_policy *here[2];
	struct nb_gen *g, *made;
	struct nb_err err = { 0 };
	struct nb_buf bytes;

	hold(3);
	g = sample();
	put(&bytes, g);
	memcpy(here, held, sizeof(here));
	hold(3); /* the other process */
	ck_assert_msg(!nb_gen_state_read(&made, bytes.data, bytes.size, find, &err), "%s",
		      err.text);
	ck_assert_mem_eq(made->digest, g->digest, NB_SHA256_SIZE);
	same_map(g->policy[1].maps[0], made->policy[1].maps[0]);
	same_map(g->policy[1].maps[1], made->policy[1].maps[1]);
	ck_assert_uint_eq(nb_map_count(made->policy[1].maps[1]), 38);
	ck_assert_uint_eq(channels(made, 5), 7);
	ck_assert_uint_eq(channels(made, 6), 0);
	/* local maps are the process's own */
	ck_assert_ptr_eq(made->policy[1].maps[2], held[0]->maps[2]);
	/* the next change makes the same generation in both processes */
	{
		const uint64_t key = 1000;
		const uint32_t value[3] = { 9 };

		g = write_map(g, 1, 1, &key, value, false);
		made = write_map(made, 1, 1, &key, value, false);
		ck_assert_mem_eq(made->digest, g->digest, NB_SHA256_SIZE);
	}
	nb_gen_put(made);
	nb_gen_put(g);
	drop();
	memcpy(held, here, sizeof(here));
	drop();
	nb_buf_fini(&bytes);
}

TEST(nccls_own_choice_is_a_generation_too)
{
	struct nb_gen *g, *made;
	struct nb_buf bytes;

	ck_assert_int_eq(nb_gen_new(&g, NULL, 0, NULL, NULL), 0);
	put(&bytes, g);
	ck_assert_int_eq(nb_gen_state_read(&made, bytes.data, bytes.size, find, NULL), 0);
	ck_assert_mem_eq(made->digest, g->digest, NB_SHA256_SIZE);
	nb_gen_put(made);
	nb_gen_put(g);
	nb_buf_fini(&bytes);
}

TEST(a_policy_that_is_not_held_is_named)
{
	struct nb_gen *g, *made = NULL;
	struct nb_err err = { 0 };
	struct nb_buf bytes;
	struct nb_policy *b;

	hold(3);
	g = sample();
	put(&bytes, g);
	b = held[1];
	held[1] = NULL;
	ck_assert_int_eq(nb_gen_state_read(&made, bytes.data, bytes.size, find, &err), NB_E_NOENT);
	ck_assert_ptr_null(made);
	held[1] = b;
	nb_gen_put(g);
	drop();
	nb_buf_fini(&bytes);
}

TEST(cut_bytes_are_refused)
{
	struct nb_gen *g, *made;
	struct nb_buf bytes;

	hold(3);
	g = sample();
	put(&bytes, g);
	for (size_t n = 0; n < bytes.size; n++) {
		/* exactly n bytes, so that ASan sees a read beyond them */
		char *part = malloc(n + !n);

		memcpy(part, bytes.data, n);
		ck_assert_int_eq(nb_gen_state_read(&made, part, n, find, NULL), NB_E_FORMAT);
		ck_assert_ptr_null(made);
		free(part);
	}
	nb_buf_char(&bytes, 0);
	ck_assert_int_eq(nb_gen_state_read(&made, bytes.data, bytes.size, find, NULL), NB_E_FORMAT);
	nb_gen_put(g);
	drop();
	nb_buf_fini(&bytes);
}

TEST(damaged_bytes_do_no_harm)
{
	struct nb_gen *g, *made;
	struct nb_buf bytes;
	int taken = 0, refused = 0;

	hold(3);
	g = sample();
	put(&bytes, g);
	for (size_t i = 0; i < bytes.size; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			bytes.data[i] ^= (char)(1 << bit);
			if (nb_gen_state_read(&made, bytes.data, bytes.size, find, NULL))
				refused++;
			else
				taken++;
			nb_gen_put(made);
			bytes.data[i] ^= (char)(1 << bit);
		}
	/* histories, keys and values have no wrong values */
	ck_assert_int_gt(taken, 0);
	/* each bit of the magic and of the digests, at least */
	ck_assert_int_ge(refused, 8 * (8 + 2 * NB_SHA256_SIZE));
	nb_gen_put(g);
	drop();
	nb_buf_fini(&bytes);
}

TEST(too_many_bytes_are_refused)
{
	struct nb_err err = { 0 };
	struct nb_buf bytes;
	struct nb_gen *g;

	hold(3);
	g = sample();
	put(&bytes, g);
	{
		struct nb_buf less;

		nb_buf_init(&less, bytes.size - 1);
		ck_assert_int_eq(nb_gen_state_write(&less, g, &err), NB_E_LIMIT);
		nb_buf_fini(&less);
	}
	nb_gen_put(g);
	drop();
	nb_buf_fini(&bytes);
}

UNIT_MAIN("gen_state")
