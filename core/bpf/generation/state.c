// SPDX-License-Identifier: MIT
/*
 * A generation as bytes, little-endian:
 *
 *   8 bytes   "nbstate1"
 *   u32       number of policies; for each: digest and history, 32 bytes each
 *   order     the common order: u32 length, one byte a policy
 *   u32       number of scopes; for each: order, u32 length, u64 identities
 *   maps      for each policy with a history, for each coherent map: u32 number
 *             of elements, then keys and values
 *
 * A policy without a history has the contents of its image. An array's elements
 * that are zero are left out.
 */
#include "core/bpf/generation/state.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/view.h"
#include "core/spec/spec.h"

static const char magic[8] = { 'n', 'b', 's', 't', 'a', 't', 'e', '1' };

static bool bytes_are_zero(const void *p, size_t size)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < size; i++)
		if (c[i])
			return false;
	return true;
}

/* Is @m an array whose elements are always present? */
static bool is_filled(const struct nb_map *m)
{
	const struct nb_map_type_spec *t = nb_spec_map_type(nb_map_definition(m)->type);

	return t->keys == NB_KEYS_INDEX;
}

/* Can a change have written to map @i? */
static bool is_written(const struct nb_gen_policy *gp, uint32_t i)
{
	const struct nb_map_spec *s = &gp->policy->img->maps[i];

	return gp->maps[i] && s->tags & NB_MAPF_COHERENT && s->origin != NB_ORIGIN_RODATA &&
	       !bytes_are_zero(gp->history, sizeof(gp->history));
}

static void state_put_u32(struct nb_buf *b, uint32_t n)
{
	nb_buf_bytes(b, &n, sizeof(n));
}

static void put_order(struct nb_buf *b, const struct nb_order *o)
{
	state_put_u32(b, o->n);
	nb_buf_bytes(b, o->at, o->n);
}

static int state_fail_memory(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "no memory for a generation");
}

static int put_map(struct nb_buf *b, const struct nb_gen_policy *gp, uint32_t i, struct nb_err *err)
{
	const struct nb_map *m = gp->maps[i];
	const struct nb_map_def *def = nb_map_definition(m);
	size_t at = b->size, size = nb_map_user_value_size(m);
	unsigned char *key = calloc(1, def->key_size + size + 1);
	uint32_t n = 0;

	if (!key)
		return state_fail_memory(err);
	state_put_u32(b, 0);
	for (int rc = nb_map_next(m, NULL, key); !rc; rc = nb_map_next(m, key, key)) {
		if (nb_map_read(m, key, key + def->key_size, NULL) ||
		    (is_filled(m) && bytes_are_zero(key + def->key_size, size)))
			continue;
		nb_buf_bytes(b, key, def->key_size + size);
		n++;
	}
	free(key);
	if (nb_buf_ok(b))
		memcpy(b->data + at, &n, sizeof(n));
	return 0;
}

static int put_maps(struct nb_buf *b, const struct nb_gen_policy *gp, struct nb_err *err)
{
	const struct nb_image *img = gp->policy->img;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < img->nmaps; i++) {
		if (!is_written(gp, i))
			continue;
		rc = put_map(b, gp, i, err);
	}
	return rc;
}

int nb_gen_state_write(struct nb_buf *out, const struct nb_gen *g, struct nb_err *err)
{
	int rc = 0;

	nb_buf_bytes(out, magic, sizeof(magic));
	state_put_u32(out, g->npolicies);
	for (uint32_t i = 0; i < g->npolicies; i++) {
		nb_buf_bytes(out, g->policy[i].policy->img->digest, NB_SHA256_SIZE);
		nb_buf_bytes(out, g->policy[i].history, NB_SHA256_SIZE);
	}
	put_order(out, &g->order);
	state_put_u32(out, g->scopes.n);
	for (uint32_t i = 0; i < g->scopes.n; i++) {
		const struct nb_scope *s = &g->scopes.scope[i];

		put_order(out, &s->order);
		state_put_u32(out, s->ncomms);
		nb_buf_bytes(out, s->comm, s->ncomms * sizeof(s->comm[0]));
	}
	for (uint32_t i = 0; !rc && i < g->npolicies; i++)
		rc = put_maps(out, &g->policy[i], err);
	if (rc || nb_buf_ok(out))
		return rc;
	return out->no_memory ? state_fail_memory(err)
			      : nb_fail(err, NB_E_LIMIT, 0,
					"the coherent maps have more than %zu bytes", out->limit);
}

/* The bytes that are still to be read. */
struct reader {
	struct nb_view v;
	size_t at;
	uint8_t history[NB_GEN_MAX_POLICIES][NB_SHA256_SIZE];
};

static bool take(struct reader *r, void *to, size_t size)
{
	bool fine = nb_view_get(r->v, r->at, to, size);

	r->at += fine ? size : 0;
	return fine;
}

/* Read a number that is at most @most. */
static bool take_count(struct reader *r, uint32_t *to, uint32_t most)
{
	return take(r, to, sizeof(*to)) && *to <= most;
}

static bool take_order(struct reader *r, struct nb_order *o)
{
	return take_count(r, &o->n, NB_GEN_MAX_POLICIES) && take(r, o->at, o->n);
}

static bool take_scopes(struct reader *r, struct nb_scopes *s)
{
	if (!take_count(r, &s->n, NB_GEN_MAX_SCOPES))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		struct nb_scope *c = &s->scope[i];

		if (!take_order(r, &c->order) || !take_count(r, &c->ncomms, NB_SCOPE_MAX_COMMS) ||
		    !take(r, c->comm, c->ncomms * sizeof(c->comm[0])))
			return false;
	}
	return true;
}

static int fail_format(const struct reader *r, struct nb_err *err)
{
	return nb_fail(err, NB_E_FORMAT, (uint32_t)r->at,
		       "the bytes are no generation (byte %zu of %zu)", r->at, r->v.size);
}

static int take_policies(struct reader *r, struct nb_gen_list *l, nb_gen_find_fn *find,
			 struct nb_err *err)
{
	uint8_t digest[NB_SHA256_SIZE];
	char text[2 * NB_SHA256_SIZE + 1];

	if (!take_count(r, &l->n, NB_GEN_MAX_POLICIES))
		return fail_format(r, err);
	for (uint32_t i = 0; i < l->n; i++) {
		if (!take(r, digest, sizeof(digest)) || !take(r, r->history[i], NB_SHA256_SIZE))
			return fail_format(r, err);
		l->policy[i] = find(digest);
		nb_sha256_text(digest, text);
		if (!l->policy[i])
			return nb_fail(err, NB_E_NOENT, i, "no policy of digest %.12s is held",
				       text);
	}
	return 0;
}

/* Remove the elements with which the image starts. */
static int clear_map(struct nb_map *m, unsigned char *key, struct nb_err *err)
{
	uint32_t key_size = nb_map_definition(m)->key_size;
	bool filled = is_filled(m);
	int rc = 0;

	for (int end = nb_map_next(m, NULL, key); !end && !rc; end = nb_map_next(m, key, key))
		rc = filled ? nb_map_write(m, key, key + key_size, NB_ANY, err)
			    : nb_map_erase(m, key, err);
	return rc;
}

static int read_map(struct reader *r, struct nb_map *m, struct nb_err *err)
{
	size_t key_size = nb_map_definition(m)->key_size;
	size_t size = key_size + nb_map_user_value_size(m);
	unsigned char *key = calloc(1, size + 1);
	struct nb_view all;
	uint32_t n;
	int rc;

	if (!key)
		return state_fail_memory(err);
	if (!take(r, &n, sizeof(n)) || !nb_view_has(r->v, r->at, (uint64_t)n * size)) {
		free(key);
		return fail_format(r, err);
	}
	all = nb_view_sub(r->v, r->at, n * size);
	r->at += n * size;
	rc = clear_map(m, key, err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		(void)nb_view_get(all, i * size, key, size);
		rc = nb_map_write(m, key, key + key_size, NB_ANY, err);
	}
	free(key);
	return rc;
}

static int state_read_maps(void *arg, uint32_t policy, struct nb_gen_policy *gp, struct nb_err *err)
{
	const struct nb_image *img = gp->policy->img;
	struct reader *r = arg;
	int rc = 0;

	memcpy(gp->history, r->history[policy], NB_SHA256_SIZE);
	for (uint32_t i = 0; !rc && i < img->nmaps; i++) {
		if (!is_written(gp, i))
			continue;
		rc = read_map(r, gp->maps[i], err);
	}
	return rc;
}

int nb_gen_state_read(struct nb_gen **out, const void *bytes, size_t size, nb_gen_find_fn *find,
		      struct nb_err *err)
{
	struct reader r = { .v = nb_view(bytes, size) };
	struct nb_gen_list l = { .n = 0 };
	char head[sizeof(magic)];
	int rc;

	*out = NULL;
	if (!take(&r, head, sizeof(head)) || memcmp(head, magic, sizeof(magic)) != 0)
		return fail_format(&r, err);
	rc = take_policies(&r, &l, find, err);
	if (rc)
		return rc;
	if (!take_order(&r, &l.common) || !take_scopes(&r, &l.scopes))
		return fail_format(&r, err);
	rc = nb_gen_filled(out, &l, state_read_maps, &r, err);
	if (rc || r.at == r.v.size)
		return rc;
	nb_gen_put(*out);
	*out = NULL;
	return fail_format(&r, err);
}
