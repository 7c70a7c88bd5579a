// SPDX-License-Identifier: MIT
/*
 * Controllers: pack merged maps into bytes, merge such bytes, and pack the
 * changes of a run. Bytes from other processes are bounds-checked, and each
 * index in them is compared with its limit before use.
 */
#include "core/bpf/generation/controller.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/view.h"

/*
 * Merged maps: for each map a struct packed_map, then its elements, a key and
 * a value each, without padding. A change: for each map a struct packed_change,
 * then its elements: a word (1: erase), the key, and the value if it stays.
 */
struct packed_map {
	uint8_t policy[NB_SHA256_SIZE];
	uint32_t map, key_size, value_size, n;
};

struct packed_change {
	uint32_t policy, map, n;
};

bool nb_controllers_wanted(const struct nb_gen *g)
{
	return g->hooks >> NB_HOOK_CONTROLLER & 1;
}

static bool is_merged(const struct nb_map_spec *s)
{
	return s->tags & NB_MAPF_MERGED;
}

/* May controllers change this map? */
static bool is_changeable(const struct nb_map_spec *s)
{
	return s->tags & NB_MAPF_COHERENT && s->origin == NB_ORIGIN_DEFINED;
}

static bool is_percpu(const struct nb_map_spec *s)
{
	return nb_spec_map_type(s->type)->traits & NB_TRAIT_PERCPU;
}

static void merge_words(const struct nb_map_spec *s, void *to, const void *from)
{
	for (uint32_t at = 0; at < s->value_size; at += 8) {
		uint64_t a, b;

		memcpy(&a, (char *)to + at, 8);
		memcpy(&b, (const char *)from + at, 8);
		if (s->tags & NB_MAPF_SUM)
			a += b;
		else if (b > a)
			a = b;
		memcpy((char *)to + at, &a, 8);
	}
}

struct element {
	unsigned char *key, *value, *other;
};

static bool element_new(struct element *e, const struct nb_map *m, struct nb_err *err)
{
	const struct nb_map_def *def = nb_map_definition(m);
	size_t key = def->key_size + 1;
	size_t value = nb_map_user_value_size(m) + 1;

	*e = (struct element){ .key = malloc(key + 2 * value) };
	if (!e->key) {
		nb_fail(err, NB_E_NOMEM, 0, "no memory for an element of map %s (%zu bytes)",
			def->name, key + 2 * value);
		return false;
	}
	e->value = e->key + key;
	e->other = e->value + value;
	return true;
}

/* Is the value zero and the map an array? Such an element changes no sum
 * and no maximum. */
static bool value_is_zero(const struct nb_map_spec *s, const unsigned char *value)
{
	if (nb_spec_map_type(s->type)->keys != NB_KEYS_INDEX)
		return false;
	for (uint32_t i = 0; i < s->value_size; i++)
		if (value[i])
			return false;
	return true;
}

static int pack_map(struct nb_buf *out, const struct nb_gen_policy *gp, uint32_t map,
		    struct nb_err *err)
{
	const struct nb_map_spec *s = &gp->policy->img->maps[map];
	const struct nb_map *m = gp->maps[map];
	struct packed_map head = { { 0 }, map, s->key_size, s->value_size, 0 };
	uint32_t ncpus = is_percpu(s) ? nb_ncpus() : 1;
	size_t at = out->size;
	struct element e;

	if (!element_new(&e, m, err))
		return NB_E_NOMEM;
	memcpy(head.policy, gp->policy->img->digest, NB_SHA256_SIZE);
	nb_buf_bytes(out, &head, sizeof(head));
	for (int end = nb_map_next(m, NULL, e.key); !end; end = nb_map_next(m, e.key, e.key)) {
		if (!nb_buf_ok(out))
			break;
		if (nb_map_read(m, e.key, e.value, NULL))
			continue;
		for (uint32_t c = 1; c < ncpus; c++)
			merge_words(s, e.value, e.value + (size_t)c * s->value_size);
		if (value_is_zero(s, e.value))
			continue;
		nb_buf_bytes(out, e.key, s->key_size);
		nb_buf_bytes(out, e.value, s->value_size);
		head.n++;
	}
	free(e.key);
	if (nb_buf_ok(out))
		memcpy(out->data + at, &head, sizeof(head));
	return 0;
}

int nb_controllers_pack(struct nb_buf *out, const struct nb_gen *g, struct nb_err *err)
{
	int rc = 0;

	nb_buf_init(out, NB_CONTROLLER_MAPS_BYTES);
	for (uint32_t p = 0; !rc && p < g->npolicies; p++) {
		const struct nb_gen_policy *gp = &g->policy[p];

		for (uint32_t i = 0; !rc && i < gp->policy->img->nmaps; i++)
			if (is_merged(&gp->policy->img->maps[i]))
				rc = pack_map(out, gp, i, err);
	}
	if (!rc && out->no_memory)
		rc = nb_fail(err, NB_E_NOMEM, 0, "no memory for the merged maps");
	if (!rc && !nb_buf_ok(out))
		rc = nb_fail(err, NB_E_LIMIT, 0, "the merged maps are over %d bytes",
			     NB_CONTROLLER_MAPS_BYTES);
	if (rc)
		nb_buf_fini(out);
	return rc;
}

/* Copy the merged value to each CPU: a program sees it on any of them. */
static void copy_to_cpus(const struct nb_map_spec *s, unsigned char *value)
{
	uint32_t n = is_percpu(s) ? nb_ncpus() : 1;

	for (uint32_t c = 1; c < n; c++)
		memcpy(value + (size_t)c * s->value_size, value, s->value_size);
}

static void merge_map(struct nb_map *m, const struct nb_map_spec *s, struct nb_view in, uint32_t n,
		      uint64_t *lost)
{
	size_t one = (size_t)s->key_size + s->value_size;
	struct element e;

	if (!element_new(&e, m, NULL))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const unsigned char *key = in.p + i * one;

		memcpy(e.key, key, s->key_size);
		if (nb_map_read(m, e.key, e.value, NULL))
			memset(e.value, 0, nb_map_user_value_size(m));
		merge_words(s, e.value, key + s->key_size);
		copy_to_cpus(s, e.value);
		*lost += nb_map_write(m, e.key, e.value, NB_ANY, NULL) != 0;
	}
	free(e.key);
}

/* One packed map. */
struct packed {
	struct packed_map head;
	const struct nb_gen_policy *gp; /* NULL: @g lacks the policy */
	const struct nb_map_spec *spec; /* NULL: the policy lacks the map */
	struct nb_view elements;
};

/*
 * Read the packed map at *@at, and advance *@at to the next one. Returns false
 * if the bytes are damaged.
 */
static bool read_packed(struct nb_view all, uint64_t *at, const struct nb_gen *g,
			struct packed *out)
{
	const struct packed_map *head = &out->head;
	uint64_t body;

	if (!nb_view_get(all, *at, &out->head, sizeof(out->head)))
		return false;
	*at += sizeof(out->head);
	body = head->n * ((uint64_t)head->key_size + head->value_size);
	if (head->n > NB_CONTROLLER_MAPS_BYTES || head->key_size > NB_CONTROLLER_MAPS_BYTES ||
	    head->value_size > NB_CONTROLLER_MAPS_BYTES || !nb_view_has(all, *at, body))
		return false;
	out->gp = nb_gen_policy_of(g, head->policy);
	out->spec = out->gp && head->map < out->gp->policy->img->nmaps
			    ? &out->gp->policy->img->maps[head->map]
			    : NULL;
	out->elements = nb_view_sub(all, *at, body);
	*at += body;
	return true;
}

static bool has_shape(const struct packed *m)
{
	return m->spec && is_merged(m->spec) && m->spec->key_size == m->head.key_size &&
	       m->spec->value_size == m->head.value_size;
}

bool nb_controllers_merge(struct nb_gen *g, const void *bytes, size_t size, uint64_t *lost)
{
	struct nb_view all = nb_view(bytes, size);
	uint64_t at = 0;
	struct packed m;

	while (at < size) {
		if (!read_packed(all, &at, g, &m))
			return false;
		if (has_shape(&m))
			merge_map(m.gp->maps[m.head.map], m.spec, m.elements, m.head.n, lost);
	}
	return true;
}

/* Are all keys of an array's elements below its number of elements? */
static bool has_keys(const struct packed *m)
{
	size_t one = (size_t)m->head.key_size + m->head.value_size;
	uint32_t key;

	if (nb_spec_map_type(m->spec->type)->keys != NB_KEYS_INDEX)
		return true;
	for (uint32_t i = 0; i < m->head.n; i++)
		if (!nb_view_u32(m->elements, i * one, &key) || key >= m->spec->max_entries)
			return false;
	return true;
}

/* @seen: a bit for each merged map that the bytes have, by policy of @g. */
static int check_answer_whole(const struct nb_gen *g, const uint64_t *seen, struct nb_err *err)
{
	for (uint32_t p = 0; p < g->npolicies; p++) {
		const struct nb_image *img = g->policy[p].policy->img;

		for (uint32_t i = 0; i < img->nmaps; i++)
			if (is_merged(&img->maps[i]) && !(seen[p] >> i & 1))
				return nb_fail(err, NB_E_IMAGE, 0, "map %s of policy %s is missing",
					       img->maps[i].name, img->name);
	}
	return 0;
}

int nb_controllers_check(const struct nb_gen *g, const void *bytes, size_t size, struct nb_err *err)
{
	struct nb_view all = nb_view(bytes, size);
	uint64_t seen[NB_GEN_MAX_POLICIES] = { 0 }, at = 0, bit, *of;
	struct packed m;

	if (size > NB_CONTROLLER_MAPS_BYTES)
		return nb_fail(err, NB_E_IMAGE, 0, "%zu bytes of merged maps (allowed: %d)", size,
			       NB_CONTROLLER_MAPS_BYTES);
	while (at < size) {
		if (!read_packed(all, &at, g, &m))
			return nb_fail(err, NB_E_IMAGE, 0, "merged maps are damaged at byte %llu",
				       (unsigned long long)at);
		if (!m.gp)
			continue;
		if (!has_shape(&m) || m.head.n > m.spec->max_entries || !has_keys(&m))
			return nb_fail(err, NB_E_IMAGE, 0,
				       "policy %s has no merged map %u of that shape",
				       m.gp->policy->img->name, m.head.map);
		of = &seen[m.gp - g->policy];
		bit = UINT64_C(1) << m.head.map;
		if (*of & bit)
			return nb_fail(err, NB_E_IMAGE, 0, "map %s of policy %s comes twice",
				       m.spec->name, m.gp->policy->img->name);
		*of |= bit;
	}
	return check_answer_whole(g, seen, err);
}

_Static_assert(NB_IMAGE_MAX_MAPS <= 64, "a bit for each map of a policy");

void nb_controllers_run(struct nb_gen *g, struct ncclbpf_controller *ctx)
{
	nb_gen_run_event(g, NB_HOOK_CONTROLLER, ctx, sizeof(*ctx), 0);
}

struct diff {
	struct nb_buf *out;
	uint32_t n; /* Number of changed elements of this map. */
	uint32_t *all;
};

static void put_key(struct diff *d, uint32_t erase, const void *key, size_t size)
{
	nb_buf_bytes(d->out, &erase, sizeof(erase));
	nb_buf_bytes(d->out, key, size);
	d->n++;
	++*d->all;
}

static bool diff_has_room(const struct diff *d)
{
	return nb_buf_ok(d->out) && *d->all <= NB_CONTROLLER_CHANGES;
}

/* Pack the elements that were deleted since @before, then those that are new
 * or changed in @now. */
static int diff_map(struct diff *d, const struct nb_map *now, const struct nb_map *before,
		    struct nb_err *err)
{
	size_t key = nb_map_definition(now)->key_size;
	size_t value = nb_map_user_value_size(now);
	struct element e;
	int end;

	if (!element_new(&e, now, err))
		return NB_E_NOMEM;
	for (end = nb_map_next(before, NULL, e.key); !end && diff_has_room(d);
	     end = nb_map_next(before, e.key, e.key))
		if (nb_map_read(now, e.key, e.value, NULL))
			put_key(d, 1, e.key, key);
	for (end = nb_map_next(now, NULL, e.key); !end && diff_has_room(d);
	     end = nb_map_next(now, e.key, e.key)) {
		if (nb_map_read(now, e.key, e.value, NULL) ||
		    (!nb_map_read(before, e.key, e.other, NULL) &&
		     !memcmp(e.value, e.other, value)))
			continue;
		put_key(d, 0, e.key, key);
		nb_buf_bytes(d->out, e.value, value);
	}
	free(e.key);
	return 0;
}

static int diff_one(struct nb_buf *out, uint32_t *all, const struct nb_gen *ran,
		    const struct nb_gen *g, uint32_t policy, uint32_t map, struct nb_err *err)
{
	struct packed_change head = { policy, map, 0 };
	struct diff d = { out, 0, all };
	size_t at = out->size;
	int rc;

	nb_buf_bytes(out, &head, sizeof(head));
	rc = diff_map(&d, ran->policy[policy].maps[map], g->policy[policy].maps[map], err);
	if (rc || !nb_buf_ok(out))
		return rc;
	head.n = d.n;
	if (d.n)
		memcpy(out->data + at, &head, sizeof(head));
	else
		out->size = at;
	return 0;
}

int nb_controllers_diff(struct nb_buf *out, uint32_t *n, const struct nb_gen *ran,
			const struct nb_gen *g, struct nb_err *err)
{
	uint32_t nmaps = 0;
	int rc = 0;

	*n = 0;
	nb_buf_init(out, NB_CONTROLLER_CHANGE_BYTES);
	for (uint32_t p = 0; p < g->npolicies; p++) {
		const struct nb_image *img = g->policy[p].policy->img;

		for (uint32_t i = 0; !rc && i < img->nmaps; i++) {
			uint32_t before = *n;

			if (is_changeable(&img->maps[i]))
				rc = diff_one(out, n, ran, g, p, i, err);
			nmaps += *n > before;
		}
	}
	if (!rc && out->no_memory)
		rc = nb_fail(err, NB_E_NOMEM, 0, "no memory for what a run changed");
	if (!rc && (!nb_buf_ok(out) || *n > NB_CONTROLLER_CHANGES))
		rc = nb_fail(err, NB_E_LIMIT, 0,
			     "a run changed more than %d elements or %d bytes of coherent maps",
			     NB_CONTROLLER_CHANGES, NB_CONTROLLER_CHANGE_BYTES);
	if (!rc && nmaps > NB_GEN_MAX_CHANGES)
		rc = nb_fail(err, NB_E_LIMIT, 0, "a run changed %u coherent maps (allowed: %d)",
			     nmaps, NB_GEN_MAX_CHANGES);
	if (rc)
		nb_buf_fini(out);
	return rc;
}

struct reader {
	struct nb_view in;
	uint64_t at;
	const struct nb_gen *parent;
	struct nb_gen_change change[NB_GEN_MAX_CHANGES];
	uint32_t nchanges, nops;
	struct nb_map_op op[NB_CONTROLLER_CHANGES];
};

static bool read_op(struct reader *r, const struct nb_map *m)
{
	size_t key = nb_map_definition(m)->key_size;
	size_t value = nb_map_user_value_size(m);
	struct nb_map_op *op = &r->op[r->nops];
	uint32_t erase;

	if (r->nops == NB_CONTROLLER_CHANGES || !nb_view_u32(r->in, r->at, &erase) || erase > 1 ||
	    !nb_view_has(r->in, r->at + 4, key))
		return false;
	*op = (struct nb_map_op){ .erase = erase, .key = r->in.p + r->at + 4 };
	r->at += 4 + key;
	r->nops++;
	if (erase)
		return true;
	op->value = nb_view_sub(r->in, r->at, value).p;
	r->at += value;
	return op->value;
}

static bool read_change(struct reader *r)
{
	struct nb_gen_change *c = &r->change[r->nchanges];
	const struct nb_gen_policy *gp;
	struct packed_change head;

	if (r->nchanges == NB_GEN_MAX_CHANGES || !nb_view_get(r->in, r->at, &head, sizeof(head)) ||
	    head.policy >= r->parent->npolicies)
		return false;
	gp = &r->parent->policy[head.policy];
	if (head.map >= gp->policy->img->nmaps || !is_changeable(&gp->policy->img->maps[head.map]))
		return false;
	r->at += sizeof(head);
	*c = (struct nb_gen_change){ head.policy, head.map, &r->op[r->nops], head.n };
	r->nchanges++;
	for (uint32_t i = 0; i < head.n; i++)
		if (!read_op(r, gp->maps[head.map]))
			return false;
	return true;
}

int nb_controllers_apply(struct nb_gen **out, const struct nb_gen *parent, const void *bytes,
			 size_t size, struct nb_err *err)
{
	struct reader *r = malloc(sizeof(*r));
	bool fine = r;
	int rc;

	*out = NULL;
	if (!r)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for a change");
	r->in = nb_view(bytes, size);
	r->at = 0;
	r->parent = parent;
	r->nchanges = r->nops = 0;
	while (fine && r->at < size)
		fine = read_change(r);
	if (fine)
		rc = nb_gen_changes(out, parent, r->change, r->nchanges, err);
	else
		rc = nb_fail(err, NB_E_IMAGE, 0, "a controller's change is damaged at byte %llu",
			     (unsigned long long)r->at);
	free(r);
	return rc;
}
