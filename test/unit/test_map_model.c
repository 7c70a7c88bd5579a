// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Random sequences of operations on each map type beside a model of it, and
// with allocations that fail one after the other.
#include "test/unit/map_alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- against a model ---------------------------------------------------- */

/* As plain as can be: elements in a list, searched from the start. */
struct model {
	const struct nb_map_def *def;
	size_t value_size;
	uint32_t n;
	unsigned char *key, *value; /* n of them, max_entries at most */
};

static bool is_array(const struct model *m)
{
	return shape_keys(m->def) == NB_KEYS_INDEX;
}

static void model_init(struct model *m, const struct nb_map_def *def)
{
	m->def = def;
	m->value_size = side_value_size(def);
	m->n = 0;
	m->key = calloc(def->max_entries, def->key_size + 1u);
	m->value = calloc(def->max_entries, m->value_size);
	for (uint32_t i = 0; is_array(m) && i < def->max_entries; i++)
		memcpy(m->key + 4 * m->n++, &i, 4);
}

static uint32_t model_find(const struct model *m, const void *key)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (memcmp(m->key + i * m->def->key_size, key, m->def->key_size) == 0)
			return i;
	return UINT32_MAX;
}

static int model_lookup(void *self, const void *key, void *value)
{
	const struct model *m = self;
	uint32_t i = model_find(m, key);

	if (i == UINT32_MAX)
		return -ENOENT;
	memcpy(value, m->value + i * m->value_size, m->value_size);
	return 0;
}

static int model_update(void *self, const void *key, const void *value, uint64_t flags)
{
	struct model *m = self;
	uint32_t i;

	if (flags > 2)
		return -EINVAL;
	i = model_find(m, key);
	if (i != UINT32_MAX && flags == 1)
		return -EEXIST;
	if (i == UINT32_MAX && is_array(m))
		return -E2BIG;
	if (i == UINT32_MAX && flags == 2)
		return -ENOENT;
	if (i == UINT32_MAX) {
		if (m->n == m->def->max_entries)
			return -E2BIG;
		i = m->n++;
		memcpy(m->key + i * m->def->key_size, key, m->def->key_size);
	}
	memcpy(m->value + i * m->value_size, value, m->value_size);
	return 0;
}

static int model_remove(void *self, const void *key)
{
	struct model *m = self;
	uint32_t i, k = m->def->key_size;

	if (is_array(m))
		return -EINVAL;
	i = model_find(m, key);
	if (i == UINT32_MAX)
		return -ENOENT;
	m->n--;
	memmove(m->key + i * k, m->key + m->n * k, k);
	memmove(m->value + i * m->value_size, m->value + m->n * m->value_size, m->value_size);
	return 0;
}

static int model_next(void *self, const void *key, void *next)
{
	const struct model *m = self;
	uint32_t i;

	i = key ? model_find(m, key) + 1 : 0; /* absent: wraps to 0 */
	if (i >= m->n)
		return -ENOENT;
	memcpy(next, m->key + i * m->def->key_size, m->def->key_size);
	return 0;
}

static void against_model(void (*side)(struct side *, struct nb_map *), int steps)
{
	uint64_t seed = sequence_seed();

	for (size_t i = 0; i < nshapes; i++) {
		struct model model;
		struct side ours, theirs = { "model",	   &model,	 model_lookup,
					     model_update, model_remove, model_next };
		struct nb_map *m;
		char why[512];

		model_init(&model, &shapes[i].def);
		ck_assert_int_eq(nb_map_new(&m, &shapes[i].def, NULL), 0);
		side(&ours, m);
		ck_assert_msg(sequence_run(&shapes[i], seed + i, steps, &ours, &theirs, why,
					   sizeof(why)) == 0,
			      "SEED=%llu: %s", (unsigned long long)seed, why);
		ck_assert_uint_eq(nb_map_count(m), model.n);
		nb_map_put(m);
		free(model.key);
		free(model.value);
	}
}

TEST(management_calls_act_as_the_model)
{
	against_model(side_manage, 5000);
}

TEST(program_calls_act_as_the_model)
{
	against_model(side_program, 5000);
}

/* ---- memory that runs out ----------------------------------------------- */

/* 0, or NB_E_NOMEM as it has to be; anything else is a failed test. */
static int make_and_clone(const struct nb_map_def *def, struct nb_err *err)
{
	struct nb_map *m, *copy = NULL;
	int rc = nb_map_new(&m, def, err);

	if (rc)
		return m ? NB_E_BUG : rc;
	rc = nb_map_clone(&copy, m, err);
	if (rc && copy)
		rc = NB_E_BUG;
	nb_map_put(copy);
	nb_map_put(m);
	return rc;
}

TEST(failed_allocation_is_an_error_and_leaks_nothing)
{
	for (size_t i = 0; i < nshapes; i++) {
		int rc = NB_E_NOMEM, k;

		for (k = 0; rc; k++) {
			struct nb_err err = { 0 };

			watch(k);
			rc = make_and_clone(&shapes[i].def, &err);
			unwatch();
			ck_assert_int_eq(live, 0);
			if (!rc)
				break;
			ck_assert_int_eq(rc, NB_E_NOMEM);
			ck_assert_ptr_nonnull(strstr(err.text, "no memory"));
			ck_assert_int_lt(k, 100);
		}
		ck_assert_int_ge(k, 2); /* one of each, at least, did fail */
	}
}

/* Nothing but making a map allocates. */
TEST(operations_never_allocate)
{
	for (size_t i = 0; i < nshapes; i++) {
		struct side a;
		struct nb_map *m;
		unsigned char key[600] = { 0 }, *value;

		value = calloc(1, side_value_size(&shapes[i].def));
		ck_assert_int_eq(nb_map_new(&m, &shapes[i].def, NULL), 0);
		watch(0); /* the first one would fail and be counted */
		for (int side = 0; side < 2; side++) {
			(side ? side_program : side_manage)(&a, m);
			for (uint32_t k = 0; k < 300; k++) {
				memcpy(key, &k, shapes[i].def.key_size < 4 ? 1 : 4);
				a.update(a.self, key, value, 0);
				a.lookup(a.self, key, value);
				a.next(a.self, key, key);
				if (k % 3 == 0)
					a.remove(a.self, key);
			}
		}
		unwatch();
		ck_assert_int_eq(fail_at, 0);
		nb_map_put(m);
		free(value);
	}
}

UNIT_MAIN("map_model")
